"""A host in memory that implements the real protocols, goes wrong on demand, and remembers what was done to it."""

from collections.abc import Mapping

from attrs import evolve

from datum.model.content import Content
from datum.model.observation import Machine
from datum.provider.host import CommandOutcome, FileKind
from datum.provider.paths import parents
from datum.testing.reader import FakeReader
from datum.testing.staging import FakeStaging
from datum.testing.world import Answer, Check, FakeFile, FakeWorld, Fault, JournalEntry, system_error
from datum.testing.writer import FakeWriter


class FakeHost(FakeWriter):
    """A whole host: readers and writers, and the means to arrange it and to look at it from outside.

    Has root's accounts, the directories of `folders`, and nothing else.
    """

    def __init__(
        self,
        *,
        folders: tuple[str, ...] = ("/etc", "/tmp", "/usr", "/var"),  # noqa: S108 - a name in the fake's memory
        machine: Machine | None = None,
        caller: tuple[int, int] = (0, 0),
        is_running_system: bool = True,
    ) -> None:
        world = FakeWorld(users={"root": 0}, groups={"root": 0})
        super().__init__(world, machine=machine or Machine(), caller=caller, is_running_system=is_running_system)
        for folder in folders:
            self.add_directory(folder, mode="1777" if folder == "/tmp" else "0755")  # noqa: S108

    @property
    def files(self) -> dict[str, FakeFile]:
        """What stands where; may be changed."""
        return self._world.files

    @property
    def world(self) -> FakeWorld:
        """Everything the host consists of; may be changed."""
        return self._world

    @property
    def journal(self) -> list[JournalEntry]:
        """What was done to it, in order."""
        return self._world.journal

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Every call with its subject, looking included, in order."""
        return self._world.calls

    def reader(self) -> FakeReader:
        """Return what an observation gets."""
        return FakeReader(
            self._world,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def writer(self) -> FakeWriter:
        """Return what one action gets."""
        return self._writer_of(self._world)

    def _writer_of(self, world: FakeWorld) -> FakeWriter:
        return FakeWriter(
            world,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def staging(self) -> FakeStaging:
        """Return what one set of candidates gets."""
        return FakeStaging(
            self._world,
            self._writer_of,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def add(self, path: str, file: FakeFile) -> None:
        """Put something at a path, and directories above it where there are none."""
        for folder in reversed(parents(path)[:-1]):
            self._world.files.setdefault(folder, FakeFile(FileKind.DIRECTORY, "0755"))
        self._world.files[path] = file

    def add_file(self, path: str, data: bytes = b"", *, mode: str = "0644", uid: int = 0, gid: int = 0) -> None:
        """Put a regular file at a path."""
        self.add(path, FakeFile(mode=mode, uid=uid, gid=gid, data=data))

    def add_directory(self, path: str, *, mode: str = "0755", uid: int = 0, gid: int = 0) -> None:
        """Put a directory at a path."""
        self.add(path, FakeFile(FileKind.DIRECTORY, mode, uid, gid))

    def add_link(self, path: str, target: str, *, uid: int = 0, gid: int = 0) -> None:
        """Put a symbolic link at a path."""
        self.add(path, FakeFile(FileKind.SYMLINK, "0777", uid, gid, link=target))

    def add_content(self, content: Content, data: bytes) -> None:
        """Make the repository hold the bytes that a `Content` names."""
        self._world.blobs[content.blob] = data

    def add_user(self, name: str, uid: int, *, gid: int | None = None) -> None:
        """Make a user, and a group of the same name when `gid` is given."""
        self._world.users[name] = uid
        if gid is not None:
            self._world.groups[name] = gid

    def add_check(self, program: str, check: Check) -> None:
        """Teach it a program that judges candidates."""
        self._world.checks[program] = check

    def add_query(self, argv: tuple[str, ...], stdout: bytes = b"", *, exit_code: int = 0) -> None:
        """Teach it a program that only asks."""
        outcome = CommandOutcome(exit_code, stdout, b"")
        self._world.queries[argv] = lambda _world: outcome

    def add_program(self, argv: tuple[str, ...], answer: Answer) -> None:
        """Teach it a program that may change the world it is given."""
        self._world.programs[argv] = answer

    def fail(
        self,
        error: BaseException | int,
        *,
        method: str = "*",
        subject: str = "*",
        skip: int = 0,
        times: int | None = None,
        after: bool = False,
    ) -> None:
        """Let calls go wrong.

        Args:
            error: what is raised; an `errno` becomes the `HostError` that the real host makes of it.
            method: a method of the protocol, `*` for any.
            subject: path, argv, account or blob it is called with; `*` for any.
            skip: how many calls that match go well before.
            times: how many go wrong; None for every one.
            after: do the work first.
        """
        raised = system_error(error, subject) if isinstance(error, int) else error
        self._world.faults.append(Fault(raised, method, subject, skip=skip, times=times, after=after))

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        self._world.faults.clear()

    def snapshot(self) -> Mapping[str, FakeFile]:
        """Return what stands where now, to compare with later."""
        return {path: evolve(file) for path, file in sorted(self._world.files.items())}
