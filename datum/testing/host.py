"""A host in memory that implements the real protocols, goes wrong on demand, and remembers what was done to it."""

import errno
import io
from collections.abc import Collection, Mapping
from typing import BinaryIO

from attrs import evolve

from datum.model.content import Content
from datum.model.observation import Cause, Machine
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, FileKind, FileWrite, HostError
from datum.provider.paths import parents
from datum.testing.reader import FakeReader
from datum.testing.world import Answer, Check, FakeFile, FakeWorld, Fault, JournalEntry, system_error

_OTHERS_WRITE = 0o022
_STICKY = 0o1000
_SPECIAL_BITS = 0o7000


class FakeWriter(FakeReader):
    """`HostWriter` over a `FakeWorld`; one per action, as with the real host."""

    def __init__(self, world: FakeWorld, *, machine: Machine, caller: tuple[int, int], is_running_system: bool) -> None:
        super().__init__(world, machine=machine, caller=caller, is_running_system=is_running_system)
        self.remarks: list[str] = []

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """As `HostWriter`."""
        self._world.enter("write_file", path)
        old = self._place(path, wanted.uid)
        _refuse_directory(path, old, "write")
        with self.open_content(wanted.content) as stream:
            data = stream.read()
        if wanted.validate:
            self._check(path, wanted, data)
        self._world.journal.append(JournalEntry("write_file", path, wanted=wanted))
        new = FakeFile(data=data, uid=self._caller[0], gid=self._caller[1])
        if old is not None and old.kind is FileKind.REGULAR:
            new = evolve(old, data=data, links=1)
        without = self._without(self._world.real(path))
        if "mode" not in without:
            new.mode = wanted.mode or new.mode
        if "owner" not in without:
            new.uid, new.gid = _first(wanted.uid, new.uid), _first(wanted.gid, new.gid)
        if new.is_mount_point:
            self.remark("not_atomic")
        self._put(path, new)
        self._world.residues.discard(self._world.real(path))
        self._world.leave("write_file", path)

    def set_attributes(
        self, path: str, *, mode: str | None = None, uid: int | None = None, gid: int | None = None
    ) -> None:
        """As `HostWriter`; a change of owner clears the special bits of a mode that is not given."""
        self._world.enter("set_attributes", path)
        found = self._place(path, uid)
        if found is None:
            raise system_error(errno.ENOENT, path, "change the attributes of")
        given: dict[str, str | int | None] = {"mode": mode, "uid": uid, "gid": gid}
        attributes = {name: value for name, value in given.items() if value is not None}
        self._world.journal.append(JournalEntry("set_attributes", path, attributes=attributes))
        changed = evolve(found, uid=_first(uid, found.uid), gid=_first(gid, found.gid))
        if (changed.uid, changed.gid) != (found.uid, found.gid) and found.kind is FileKind.REGULAR:
            changed.mode = f"{int(found.mode, 8) & ~_SPECIAL_BITS:04o}"
        if mode is not None:
            changed.mode = mode
        self._put(path, changed)
        self._world.leave("set_attributes", path)

    def remove_file(self, path: str) -> None:
        """As `HostWriter`; nothing there is what was wanted."""
        self._world.enter("remove_file", path)
        found = self._place(path, self._user_of(path))
        _refuse_directory(path, found, "remove")
        if found is not None and found.is_mount_point:
            raise system_error(errno.EBUSY, path, "remove")
        real = self._world.real(path)
        self._world.files.pop(real, None)
        self._world.journal.append(JournalEntry("remove_file", path))
        self._world.residues.discard(real)
        self._world.leave("remove_file", path)

    def remove_residue(self, path: str) -> None:
        """As `HostWriter`; no leftover there is what was wanted."""
        self._world.enter("remove_residue", path)
        self._place(path, self._user_of(path))
        self._world.journal.append(JournalEntry("remove_residue", path))
        self._world.residues.discard(self._world.real(path))
        self._world.leave("remove_residue", path)

    def run(self, command: Command) -> CommandOutcome:
        """As `HostWriter`; a program that the fake does not know is refused."""
        text = " ".join(command.argv)
        self._world.enter("run", text)
        self._world.journal.append(JournalEntry("run", text))
        outcome = self._answer(command, self._world.programs, "run")
        self._world.leave("run", text)
        return outcome

    def open_content(self, content: Content) -> BinaryIO:
        """As `HostWriter`."""
        self._world.enter("open_content", content.blob)
        data = content.inline if content.inline is not None else self._world.blobs.get(content.blob)
        if data is None:
            raise HostError(f"The object {content.blob} is not in the repository.", code="missing-object")
        return io.BytesIO(data)

    def remark(self, text: str) -> None:
        """As `HostWriter`."""
        self.remarks.append(text)

    def _put(self, path: str, file: FakeFile) -> None:
        self._world.files[self._world.real(path)] = file

    def _place(self, path: str, owner: int | None) -> FakeFile | None:
        """Return what stands at a path that may be written; refuse what the real host refuses."""
        missing = self._walk(path)
        if missing is not None:
            raise HostError(
                f"Cannot write '{path}': there is no directory '{missing}'.",
                code="missing-directory",
                hint=f"declare directory:{missing}, or make it",
            )
        old = self._world.files.get(self._world.real(path))
        trusted = {0, self._caller[0], old.uid if owner is None and old is not None else owner}
        for folder in parents(self._world.real(path))[:-1]:
            _refuse_unsafe(folder, self._world.files[folder], trusted)
        if old is not None and old.is_immutable:
            raise system_error(errno.EPERM, path, "change")
        return old

    def _user_of(self, path: str) -> int:
        """Return the owner of the topmost directory that is not root's: things are removed with their rights."""
        above = reversed(parents(self._world.real(path))[:-1])
        found = (self._world.files[folder].uid for folder in above if folder in self._world.files)
        return next((uid for uid in found if uid), 0)

    def _check(self, path: str, wanted: FileWrite, data: bytes) -> None:
        argv = tuple(word.replace("{path}", path) for word in wanted.validate)
        check = self._world.checks.get(argv[0])
        if check is None:
            raise HostError(f"The fake host knows no check {argv[0]}.", code="unknown-program")
        complaint = check(argv, data)
        if complaint:
            raise HostError(
                f"{' '.join(argv)} refused the candidate: {complaint}",
                code="check-failed",
                failure=FailureCause.CHECK,
            )


def _first(wanted: int | None, otherwise: int) -> int:
    return otherwise if wanted is None else wanted


def _refuse_unsafe(folder: str, found: FakeFile, trusted: Collection[int | None]) -> None:
    bits = int(found.mode, 8)
    if found.uid not in trusted or (bits & _OTHERS_WRITE and not bits & _STICKY):
        raise HostError(
            f"'{folder}' (mode {found.mode}, uid {found.uid}) lets others than root and the owner write.",
            code="unsafe-path",
            cause=Cause.UNSAFE_PATH,
        )


def _refuse_directory(path: str, found: FakeFile | None, doing: str) -> None:
    if found is not None and found.kind is FileKind.DIRECTORY:
        raise HostError(f"Cannot {doing} '{path}': a directory stands there.", code="directory-in-the-way")


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
        return FakeWriter(
            self._world,
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
