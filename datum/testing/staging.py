"""Staged sets of a fake host: prepared on a copy of it, judged there, and done to it on `commit`."""

from collections.abc import Callable, Sequence

from attrs import evolve

from datum.host.refusing import RefusingManager
from datum.host.staging_checks import CheckError, Judge
from datum.host.staging_set import cannot_be_staged
from datum.model.check import Check
from datum.model.observation import Machine
from datum.provider.host import Command, CommandOutcome, DirectoryWrite, FileWrite, HostError, LinkWrite
from datum.provider.manager import ManagerWriter
from datum.testing.reader import FakeReader
from datum.testing.world import FakeFile, FakeWorld
from datum.testing.writer import FakeWriter

Change = Callable[[FakeWriter], None]


class FakeStaging(FakeWriter):
    """A `HostWriter` that changes nothing before `commit`; one per set, as with the real host.

    Every call is recorded as `stage_write_file` and so on, as are `judge`, `commit` and `discard`, and can go wrong by
    that name. A check gets the staged bytes of the files that its arguments name.
    """

    def __init__(
        self,
        world: FakeWorld,
        writer: Callable[[FakeWorld], FakeWriter],
        *,
        machine: Machine,
        caller: tuple[int, int],
        is_running_system: bool,
    ) -> None:
        """Stage changes of a world; `writer` returns who makes changes of one."""
        super().__init__(world, machine=machine, caller=caller, is_running_system=is_running_system)
        self._writer = writer
        self._copy = evolve(
            world,
            files={path: evolve(file) for path, file in world.files.items()},
            residues=set(world.residues),
            faults=[],
            journal=[],
            calls=[],
        )
        self._changes: list[Change] = []
        self._judges: list[Judge] = []

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """As `HostWriter`; `validate` becomes one more check."""
        bare = evolve(wanted, validate=())
        self._stage("write_file", path, lambda writer: writer.write_file(path, bare))
        if wanted.validate:
            self._judges.append(Judge.of_file(path, wanted))

    def write_link(self, path: str, wanted: LinkWrite) -> None:
        """As `HostWriter`."""
        self._stage("write_link", path, lambda writer: writer.write_link(path, wanted))

    def make_directory(self, path: str, wanted: DirectoryWrite) -> None:
        """As `HostWriter`."""
        self._stage("make_directory", path, lambda writer: writer.make_directory(path, wanted))

    def set_attributes(
        self,
        path: str,
        *,
        mode: str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        from_anybody: bool = False,
    ) -> None:
        """As `HostWriter`; what a stranger may hold cannot be given back, so it is not staged."""
        if from_anybody:
            raise HostError(f"'{path}' cannot change in a set that is checked.", code="cannot-be-staged")
        self._stage("set_attributes", path, lambda writer: writer.set_attributes(path, mode=mode, uid=uid, gid=gid))

    def remove_file(self, path: str) -> None:
        """As `HostWriter`."""
        self._stage("remove_file", path, lambda writer: writer.remove_file(path))

    def remove_directory(self, path: str, *, takes: tuple[str, ...] = ()) -> None:
        """As `HostWriter`."""
        self._stage("remove_directory", path, lambda writer: writer.remove_directory(path, takes=takes))

    def remove_residue(self, path: str) -> None:
        """As `HostWriter`."""
        self._stage("remove_residue", path, lambda writer: writer.remove_residue(path))

    def run(self, command: Command) -> CommandOutcome:
        """Refuse, as the real one does."""
        raise HostError(f"'{command.argv[0]}' cannot be run for a candidate.", code="cannot-be-staged")

    def manager(self) -> ManagerWriter | None:
        """Return a manager that can be asked and refuses to do anything, as the real one does."""
        asked = FakeReader.manager(self)
        return None if asked is None else RefusingManager(asked)

    def set_kernel_value(self, path: str, value: bytes) -> None:  # noqa: ARG002 - refused, whatever it is
        """Refuse, as the real one does."""
        raise cannot_be_staged(f"'{path}' cannot be set for a candidate.")

    def judge(self, checks: Sequence[Check], *, writes: bool = True) -> None:  # noqa: ARG002 - everything can be shown
        """Let the checks of the files, then these, see the copy.

        Args:
            checks: the programs.
            writes: as with the real host, where not everything can be shown.

        Raises:
            HostError: `check-failed` or `check-not-run`, with the resource of the check as `check`.
        """
        for judge in (*self._judges, *(Judge.of_check(check) for check in checks)):
            whose = str(judge.check) if judge.check else judge.path
            self._world.enter("judge", whose)
            self._ask(judge, whose)

    def commit(self) -> None:
        """Do to the host what was staged, in that order.

        Raises:
            HostError: one change failed, and the later ones were not tried.
        """
        self._world.enter("commit", "")
        writer = self._writer(self._world)
        try:
            for change in self._changes:
                change(writer)
        finally:
            self.remarks.extend(writer.remarks)
            self._changes.clear()
        self._world.leave("commit", "")

    def discard(self) -> None:
        """Forget what was staged."""
        self._world.enter("discard", "")
        self._changes.clear()
        self._judges.clear()

    @property
    def staged(self) -> dict[str, FakeFile]:
        """What would stand where."""
        return self._copy.files

    def _stage(self, method: str, path: str, change: Change) -> None:
        self._world.enter(f"stage_{method}", path)
        change(self._writer(self._copy))
        self._changes.append(change)
        self._world.leave(f"stage_{method}", path)

    def _ask(self, judge: Judge, whose: str) -> None:
        argv = judge.command.argv
        check = self._world.checks.get(argv[0])
        if check is None:
            cause = HostError(f"The fake host knows no check {argv[0]}.", code="program-missing")
            raise CheckError(judge, f"{whose} could not be run. {cause.detail}", cause)
        named = (self._copy.files.get(self._world.real(word)) for word in argv)
        complaint = check(argv, b"".join(file.data for file in named if file is not None))
        if complaint:
            raise CheckError(judge, f"{' '.join(argv)} refused the candidates: {complaint}")
