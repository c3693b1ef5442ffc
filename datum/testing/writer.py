"""Writing to a host in memory, refused where the real host refuses."""

import errno
import io
from collections.abc import Collection
from typing import BinaryIO

from attrs import evolve

from datum.host.jobs import scope_in_use
from datum.host.kernel import check_kernel_path, kernel_error, no_kernel
from datum.model.content import Content
from datum.model.observation import Cause, Machine
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, DirectoryWrite, FileKind, FileWrite, HostError, LinkWrite
from datum.provider.manager import ManagerWriter
from datum.provider.paths import parents
from datum.testing.manager import FakeManagerWriter
from datum.testing.reader import FakeReader
from datum.testing.world import OTHERS_WRITE, STICKY, FakeFile, FakeWorld, JournalEntry, system_error

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
        self._refuse_kind(path, old, FileKind.REGULAR, wanted.takes)
        with self.open_content(wanted.content) as stream:
            data = stream.read()
        if wanted.validate:
            self._check(path, wanted, data)
        self._world.journal.append(JournalEntry("write_file", path, wanted=wanted))
        new = FakeFile(data=data, uid=self._caller[0], gid=self._caller[1])
        if old is not None and old.kind is FileKind.REGULAR:
            new = evolve(old, data=data, links=1)
            self._remark_replaced(old)
        without = self._without(self._world.real(path))
        if "mode" not in without:
            new.mode = wanted.mode or new.mode
        if "owner" not in without:
            new.uid, new.gid = _first(wanted.uid, new.uid), _first(wanted.gid, new.gid)
        self._put(path, new)
        self._world.leave("write_file", path)

    def write_link(self, path: str, wanted: LinkWrite) -> None:
        """As `HostWriter`."""
        self._world.enter("write_link", path)
        old = self._place(path, _first(wanted.uid, self._caller[0]))
        self._refuse_kind(path, old, FileKind.SYMLINK, wanted.takes)
        self._world.journal.append(JournalEntry("write_link", path, wanted=wanted))
        uid, gid = _first(wanted.uid, self._caller[0]), _first(wanted.gid, self._caller[1])
        self._put(path, FakeFile(FileKind.SYMLINK, "0777", uid, gid, link=wanted.target))
        self._world.leave("write_link", path)

    def make_directory(self, path: str, wanted: DirectoryWrite) -> None:
        """As `HostWriter`."""
        self._world.enter("make_directory", path)
        old = self._place(path, _first(wanted.uid, self._caller[0]))
        self._refuse_kind(path, old, FileKind.DIRECTORY, () if wanted.replaces else None)
        self._world.journal.append(JournalEntry("make_directory", path, wanted=wanted))
        uid, gid = _first(wanted.uid, self._caller[0]), _first(wanted.gid, self._caller[1])
        self._put(path, FakeFile(FileKind.DIRECTORY, wanted.mode or "0755", uid, gid))
        self._world.leave("make_directory", path)

    def set_attributes(
        self,
        path: str,
        *,
        mode: str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        from_anybody: bool = False,  # noqa: ARG002 - nobody else is on this host
    ) -> None:
        """As `HostWriter`; a change of owner clears the special bits of a mode that is not given."""
        self._world.enter("set_attributes", path)
        found = self._place(path, uid)
        if found is None:
            raise system_error(errno.ENOENT, path, "change the attributes of")
        if found.kind is FileKind.SYMLINK and mode is not None:
            raise HostError(f"'{path}' is a symbolic link, which has no mode of its own.", code="link-has-no-mode")
        given: dict[str, str | int | None] = {"mode": mode, "uid": uid, "gid": gid}
        attributes = {name: value for name, value in given.items() if value is not None}
        self._world.journal.append(JournalEntry("set_attributes", path, attributes=attributes))
        changed = evolve(found, uid=_first(uid, found.uid), gid=_first(gid, found.gid))
        if (changed.uid, changed.gid) != (found.uid, found.gid) and found.kind is FileKind.REGULAR:
            changed.mode = f"{int(found.mode, 8) & ~_SPECIAL_BITS:04o}"
        if mode is not None:
            changed.mode = mode
        self._world.files[self._world.real(path)] = changed
        self._world.leave("set_attributes", path)

    def remove_file(self, path: str) -> None:
        """As `HostWriter`; nothing there is what was wanted."""
        self._world.enter("remove_file", path)
        found = self._place(path, self._user_of(path))
        _refuse_directory(path, found, "remove")
        if found is not None and self._world.is_mount_point(self._world.real(path)):
            raise system_error(errno.EBUSY, path, "remove")
        real = self._world.real(path)
        self._world.files.pop(real, None)
        self._world.journal.append(JournalEntry("remove_file", path))
        self._world.residues.discard(real)
        self._world.leave("remove_file", path)

    def remove_directory(self, path: str, *, takes: tuple[str, ...] = ()) -> None:
        """As `HostWriter`; nothing there is what was wanted."""
        self._world.enter("remove_directory", path)
        found = self._place(path, self._user_of(path))
        if found is not None and found.kind is not FileKind.DIRECTORY:
            raise HostError(f"Cannot remove '{path}': no directory stands there.", code="not-a-directory")
        if found is not None:
            self._refuse_more(path, takes)
        self._world.remove(self._world.real(path))
        self._world.journal.append(JournalEntry("remove_directory", path, takes=takes))
        self._world.leave("remove_directory", path)

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
        if command.scope in self._world.scopes:
            raise scope_in_use(command.scope)
        self._world.journal.append(JournalEntry("run", text, user=command.user, scope=command.scope))
        outcome = self._answer(command, self._world.programs, self._world.players, "run")
        self._world.leave("run", text)
        return outcome

    def manager(self) -> ManagerWriter | None:
        """As `HostWriter`."""
        return FakeManagerWriter(self._world) if self._has_manager() else None

    def set_kernel_value(self, path: str, value: bytes) -> None:
        """As `HostWriter`."""
        self._world.enter("set_kernel_value", path)
        check_kernel_path(path)
        if not self._is_running_system:
            raise no_kernel(path)
        key = self._world.kernel.get(path)
        if key is None:
            raise kernel_error(errno.ENOENT, path, "write", value)
        if key.is_read_only:
            raise kernel_error(errno.EROFS, path, "write", value)
        answer = value.rstrip(b"\n") + b"\n" if key.writes is None else key.writes(value)
        self._world.journal.append(JournalEntry("set_kernel_value", path, value=value))
        if isinstance(answer, int):
            raise kernel_error(answer, path, "write", value)
        key.data = answer
        self._world.leave("set_kernel_value", path)

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
        real = self._world.real(path)
        self._world.remove(real)
        self._world.files[real] = file

    def _remark_replaced(self, old: FakeFile) -> None:
        if old.is_mount_point:
            self.remark("not_atomic")
        elif old.links > 1:
            self.remark(f"hard_links_broken: {old.links - 1}")

    def _refuse_kind(self, path: str, old: FakeFile | None, kind: FileKind, takes: tuple[str, ...] | None) -> None:
        """Refuse what stands there and may not give way, or not with all that it holds."""
        if old is None or (old.kind is kind and kind is not FileKind.DIRECTORY):
            return
        if takes is None or old.kind is kind:
            raise HostError(f"Cannot write '{path}': a {old.kind} stands there.", code="kind-in-the-way")
        if old.kind is FileKind.DIRECTORY:
            self._refuse_more(path, takes)
        elif old.is_mount_point:
            raise system_error(errno.EBUSY, path, "write")

    def _refuse_more(self, path: str, takes: tuple[str, ...]) -> None:
        """Refuse to remove a directory in which something is mounted, or lies that may not go."""
        real = self._world.real(path)
        found = self._world.below(real)
        if any(self._world.is_mount_point(other) for other in (real, *found)):
            raise HostError(
                f"Cannot remove '{path}': something is mounted in it.", code="holds-mount", failure=FailureCause.BUSY
            )
        more = [other for other in found if other not in {self._world.real(taken) for taken in takes}]
        if more:
            raise HostError(f"Cannot remove '{path}': in it lies '{more[0]}'.", code="directory-not-empty")
        if any(self._world.files[other].is_immutable for other in found):
            raise system_error(errno.EPERM, path, "remove")

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
    if found.uid not in trusted or (bits & OTHERS_WRITE and not bits & STICKY):
        raise HostError(
            f"'{folder}' (mode {found.mode}, uid {found.uid}) lets others than root and the owner write.",
            code="unsafe-path",
            cause=Cause.UNSAFE_PATH,
        )


def _refuse_directory(path: str, found: FakeFile | None, doing: str) -> None:
    if found is not None and found.kind is FileKind.DIRECTORY:
        raise HostError(f"Cannot {doing} '{path}': a directory stands there.", code="directory-in-the-way")
