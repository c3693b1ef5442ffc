"""Changing one root: `HostWriter` on this machine or an image (design 4.7). Effects: writes.

Every change walks anew, is refused where somebody else could turn the way, and is synced when it is done.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from datum.host.atomic import (
    prepare_candidate,
    prepare_directory,
    prepare_link,
    put,
    remove_directory,
    wanted_attributes,
)
from datum.host.attributes import change_attributes
from datum.host.booted import is_booted
from datum.host.candidates import Candidate
from datum.host.identity import Actor, acting_as
from datum.host.leftovers import check_leftover, remove_leftover
from datum.host.mounts import MountTable
from datum.host.place import Place, status_of
from datum.host.reader import LocalReader
from datum.host.residue import residue_names
from datum.host.root import HostRoot
from datum.host.walk import Trail
from datum.model.check import Check
from datum.model.content import Content
from datum.provider.host import Command, CommandOutcome, DirectoryWrite, FileKind, FileWrite, HostError, LinkWrite
from datum.provider.manager import ManagerWriter

if TYPE_CHECKING:
    from datum.host.slow import FileReader


class StagedSet(Protocol):
    """A set of changes that checks judge before it is made."""

    @property
    def remarks(self) -> Sequence[str]:
        """What the result has to tell."""
        ...

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """Prepare a regular file; its `validate` becomes a check."""
        ...

    def judge(self, checks: Sequence[Check]) -> None:
        """Run the checks of the files, and these."""
        ...

    def commit(self) -> None:
        """Make the changes."""
        ...

    def discard(self) -> None:
        """Let go of what was prepared and not made."""
        ...


class LocalWriter(LocalReader):
    """`HostWriter` of one root, for one action; `remarks` is what its result has to tell."""

    def __init__(
        self,
        root: HostRoot,
        slow: "Callable[[MountTable], FileReader] | None",
        new_set: Callable[[], StagedSet] | None = None,
    ) -> None:
        """Change a root.

        Args:
            root: what to change.
            slow: see `LocalReader`.
            new_set: returns an empty set of changes; None in the writer of such a set, which has checked already.
        """
        super().__init__(root, slow)
        self._new_set: Final = new_set
        self.remarks: Final[list[str]] = []

    def write_file(self, path: str, wanted: FileWrite) -> None:
        """Create or replace a regular file; its directory must exist.

        Raises:
            HostError: it was not written, and what stood there still does; but see `put`.
        """
        if wanted.validate:
            self._write_checked(path, wanted)
            return
        with self.changing(path, wanted.uid, takes_name=True) as place:
            place.refuse_other_kind(FileKind.REGULAR, gives_way=wanted.takes is not None)
            attributes = wanted_attributes(place, wanted)
            with contextlib.closing(self.open_content(wanted.content)) as source:
                candidate = prepare_candidate(place, source, wanted.content, attributes, self.remark)
            self._put(place, candidate, wanted.takes)

    def write_link(self, path: str, wanted: LinkWrite) -> None:
        """Create a symbolic link, or replace one, in one rename; its directory must exist.

        Raises:
            HostError: it was not made, and what stood there still does; but see `put`.
        """
        with self.changing(path, self._or_caller(wanted.uid), takes_name=True) as place:
            self._put(place, prepare_link(place, wanted), wanted.takes)

    def make_directory(self, path: str, wanted: DirectoryWrite) -> None:
        """Create a directory, complete before it has its name; its directory must exist.

        Raises:
            HostError: it was not made, and what stood there still does; but see `put`.
        """
        # A new directory on the way to what is protected takes nothing from it.
        with self.changing(path, self._or_caller(wanted.uid), takes_name=wanted.replaces) as place:
            self._put(place, prepare_directory(place, wanted), () if wanted.replaces else None)

    def set_attributes(
        self,
        path: str,
        *,
        mode: str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        from_anybody: bool = False,
    ) -> None:
        """Change owner, then mode, of what stands at the path, without rewriting it.

        As the kernel has it: a change of a file's owner clears setuid and setgid bits of a mode not given, while
        those of a directory stay; a mode is set to the last bit, also setgid of a directory, which chmod(1) would keep;
        where an access control list is, the group's bits of the mode are its mask, and its other entries stay.

        A file that is taken from anybody loses capabilities, too: who has it open may have written to it.

        Raises:
            HostError: nothing stands there, or it could not be changed.
        """
        with self.changing(path, uid, removes=from_anybody and uid is None) as place:
            change_attributes(place, mode=mode, uid=uid, gid=gid, from_anybody=from_anybody, remark=self.remark)

    def remove_file(self, path: str) -> None:
        """Unlink what stands at the path, anything but a directory, and a leftover beside it; nothing is no error.

        Raises:
            HostError: it could not be unlinked.
        """
        with self.changing(path, takes_name=True, removes=True) as place:
            place.refuse_directory("remove")
            with place.failing("remove"):
                leftovers = self._leftovers(place)
                if place.existing is not None:
                    with acting_as(place.actor), contextlib.suppress(FileNotFoundError):
                        os.unlink(place.name, dir_fd=place.folder.fd)
                self._unlink(place, leftovers)

    def remove_directory(self, path: str, *, takes: tuple[str, ...] = ()) -> None:
        """Remove a directory and exactly these paths below it, deepest first, and a leftover beside it.

        What is gone already is no error, the directory itself included. Leftovers of killed writes below it go with it.
        Each name is compared with what was looked at right before it goes.

        Raises:
            HostError: `directory-not-empty`, `holds-mount`: something else lies in it, or something is mounted there;
                nothing was changed. `changed-meanwhile`, `directory-not-empty` or an error of the system while it was
                removed: what had gone before stays gone, the rest is as it was.
        """
        with self.changing(path, takes_name=True, removes=True) as place:
            place.refuse_no_directory("remove")
            with place.failing("remove"):
                leftovers = self._leftovers(place)
                remove_directory(place, takes)
                self._unlink(place, leftovers)

    def remove_residue(self, path: str) -> None:
        """Remove the leftover of a killed write beside the path: a file, a link, or a directory that gave way.

        Raises:
            HostError: it is no such leftover, or could not be removed.
        """
        with self.changing(path, removes=True) as place, place.failing("remove the leftover beside"):
            self._unlink(place, self._leftovers(place))

    def run(self, command: Command) -> CommandOutcome:
        """Run a program that may change anything.

        One with a `scope` is waited for longer than its `timeout`; the remark `ran_past_timeout` says so.

        Raises:
            HostError: see `run_program`; `programs-not-run`.
        """

        def late() -> None:
            self.remark(f"ran_past_timeout: {command.argv[0]}")

        try:
            return self._root.run(command, self._account, read_only=False, late=late)
        finally:
            self._root.note_change(by_program=True)

    def manager(self) -> ManagerWriter | None:
        """Return the service manager of the running system; None where systemd is not process 1, or below another root.

        It is not asked yet: each of its methods tells where it does not answer.
        """
        if not self.is_running_system or not is_booted():
            return None
        # jeepney costs milliseconds that a pass without services need not pay
        from datum.host.manager_jobs import LocalManagerWriter

        return LocalManagerWriter()

    def set_kernel_value(self, path: str, value: bytes) -> None:
        """Set a key of the running kernel, in one write.

        Raises:
            HostError: see `write_kernel_value`; or this is another root.
        """
        from datum.host.kernel import no_kernel, write_kernel_value

        if not self.is_running_system:
            raise no_kernel(path)
        write_kernel_value(path, value)

    def open_content(self, content: Content) -> BinaryIO:
        """Return a stream over the bytes that a `Content` names.

        Raises:
            HostError: they cannot be had.
        """
        return self._root.open_content(content)

    def remark(self, text: str) -> None:
        """Add a remark to the result of the action in hand."""
        self.remarks.append(text)

    @contextlib.contextmanager
    def changing(
        self,
        path: str,
        uid: int | None = None,
        *,
        takes_name: bool = False,
        removes: bool = False,
        coming: Collection[str] = (),
    ) -> Iterator[Place]:
        """Walk to a path for one change.

        Args:
            path: where.
            uid: the owner that it shall have, None: as it is, else the caller.
            takes_name: whether what stands there loses its name.
            removes: whether nothing is left there that has an owner, or it does not matter who that is. Then the change
                may be made in any one user's directories: names are made and taken with that user's rights.
            coming: normal paths of directories that will stand before the change is made; see `Walker.trail`.

        Raises:
            HostError: the path is protected or unsafe.
        """
        try:
            with self._walker.trail(path, coming) as trail:
                existing = None if trail.coming else status_of(trail)
                mounts = self._mounts()
                self._root.protection.check(
                    trail,
                    existing,
                    spelling=self._walker.normal,
                    is_mount_point=mounts.is_mount_point,
                    takes_name=takes_name,
                )
                owner = trail.user if removes else self._owner(trail, existing, uid, is_new=takes_name)
                trail.check(owner, self.caller[0], self._shared_gid)
                yield Place(trail, existing, owner, self.caller, self._actor(trail), mounts)
        finally:
            self._root.note_change()

    def _owner(self, trail: Trail, existing: os.stat_result | None, uid: int | None, *, is_new: bool) -> int:
        if uid is not None:
            return uid
        if existing is None or (is_new and not self._hands_on(trail, existing)):
            return self.caller[0]
        return existing.st_uid

    def _hands_on(self, trail: Trail, existing: os.stat_result) -> bool:
        """Whether what replaces something belongs to its owner: not to a stranger who put it there."""
        is_known = not trail.folder.is_exposed or existing.st_uid in {0, self.caller[0], trail.user}
        return is_known and stat.S_ISREG(existing.st_mode)

    def _or_caller(self, uid: int | None) -> int:
        return self.caller[0] if uid is None else uid

    def _put(self, place: Place, candidate: Candidate, takes: tuple[str, ...] | None) -> None:
        try:
            put(place, candidate, takes, self.remark)
        finally:
            candidate.discard()

    def _actor(self, trail: Trail) -> Actor | None:
        """Return the user in whose directory names are made, None where they are root's, or this is no root."""
        if self.caller[0] or not trail.user:
            return None
        group = self._names().primary_group(trail.user)
        return Actor(trail.user, trail.folder.status.st_gid if group is None else group)

    def _leftovers(self, place: Place) -> dict[str, frozenset[int]]:
        """Return the leftovers beside a place, with the uids that they may have; where only root makes names, any.

        Raises:
            HostError: something else has the name of one.
        """
        owners = place.trusted | ({place.existing.st_uid} if place.existing else set())
        found: dict[str, frozenset[int]] = {}
        for name in residue_names(place.folder, place.name, owners):
            status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
            found[name] = owners if place.folder.is_exposed else owners | {status.st_uid}
            check_leftover(place, name, found[name])
        return found

    def _unlink(self, place: Place, leftovers: dict[str, frozenset[int]]) -> None:
        for name, owners in leftovers.items():
            remove_leftover(place, name, owners)
        place.sync_folder()

    def _write_checked(self, path: str, wanted: FileWrite) -> None:
        """Write what its program accepts: a staged set of one."""
        if self._new_set is None:
            raise HostError(f"'{path}' has a check, and nothing can be checked here.", code="cannot-be-staged")
        staging = self._new_set()
        try:
            staging.write_file(path, wanted)
            staging.judge(())
            staging.commit()
        finally:
            staging.discard()
            self.remarks.extend(staging.remarks)
