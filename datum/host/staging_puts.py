"""What is new in a staged set: a file, a link or a directory that waits beside its place. Effects: writes.

It has the name of a leftover from the moment it is staged: what has no name cannot be mounted anywhere, and the name
costs no descriptor. A directory is filled there before it has its place, so that all of it comes in one rename.
"""

import contextlib
import enum
import errno
import os
import stat
from collections.abc import Iterator
from typing import Final

from attrs import asdict, define, field, frozen

from datum.host.atomic import prepare_candidate, put, swap_in
from datum.host.candidates import Attributes, Candidate, DirectoryCandidate, FileCandidate, LinkCandidate
from datum.host.identity import acting_as
from datum.host.inplace import write_in_place
from datum.host.leftovers import survey_beside
from datum.host.look import hash_open, open_regular
from datum.host.place import Place
from datum.host.renames import exchange, rename_new, rename_over
from datum.host.residue import residue_name
from datum.host.showing import Shown, ShownCandidate
from datum.host.staging_changes import (
    Change,
    cannot_restore,
    check_identity,
    drop_kept,
    refuse_unkept,
    rename,
    unlink,
)
from datum.host.trees import Identity, Removal, identity_of
from datum.host.writer import LocalWriter
from datum.model.content import Content
from datum.provider.host import FileKind, HostError

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NO_LINK: Final = frozenset({errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS})
_MARK_MODE: Final = 0o700


class _How(enum.Enum):
    """How the candidate came to its place before it was judged; what has its other name meanwhile."""

    # Nothing stood there: the same file or link.
    LINKED = enum.auto()
    # Nothing stood there, and it cannot have two names: nothing.
    MOVED = enum.auto()
    # Nothing stood there: an empty directory.
    MADE = enum.auto()
    # What stood there.
    SWAPPED = enum.auto()
    # A second name, or a copy, of what stood there.
    COPIED = enum.auto()


@frozen
class _UnsyncedPlace(Place):
    """A place in a folder that is synced once for the whole set, so that its renames come back to back."""

    def sync_folder(self) -> None:
        """Do nothing."""


@define
class Put(Change):
    """A candidate takes its place."""

    # The owner that it shall have, as asked.
    uid: int | None
    takes: tuple[str, ...] | None
    kind: FileKind
    attributes: Attributes
    # Text of a link.
    target: str
    # Name beside the place, and what that is; the name is empty once it has its place.
    name: str
    identity: Identity
    _how: _How | None = field(default=None, init=False)
    _kept: "Identity | None" = field(default=None, init=False)

    @classmethod
    def stage(cls, place: Place, candidate: Candidate, uid: int | None, takes: tuple[str, ...] | None) -> "Put":
        """Let a candidate stand beside its place, and let go of what is open of it.

        Raises:
            HostError: it cannot, and nothing is left of it.
        """
        try:
            with place.failing("write"):
                name = candidate.stand_beside(place)
                status = os.stat(name, dir_fd=place.folder.fd, follow_symlinks=False)
            candidate.let_go()
        finally:
            candidate.discard()
        target = candidate.target if isinstance(candidate, LinkCandidate) else ""
        return cls(
            place.path, place.trail.normal, uid, takes, candidate.kind, candidate.attributes, target, name,
            identity_of(status),
        )  # fmt: skip

    @property
    def hidden(self) -> str:
        """Where it waits, absolute."""
        return f"{self.normal.rpartition('/')[0]}/{self.name}"

    def note_attributes(self, mode: str | None, uid: int | None, gid: int | None) -> None:
        """Note that it has another owner or mode by now."""
        old = self.attributes
        self.attributes = Attributes(
            old.mode if mode is None else int(mode, 8), old.uid if uid is None else uid, old.gid if gid is None else gid
        )

    def shown(self) -> Shown:
        """It stands at its path."""
        return ShownCandidate(self.normal, self.hidden)

    def commit(self, writer: LocalWriter) -> None:
        """Rename it, or exchange it with what gives way; a rename is left to `sync`."""
        with self._changing(writer) as place, self._candidate(place, writer) as candidate:
            is_rename = place.directory is None and self.kind is not FileKind.DIRECTORY
            here = _UnsyncedPlace(**asdict(place, recurse=False)) if is_rename else place
            put(here, candidate, self.takes, writer.remark)
            self.name = ""

    def sync(self, writer: LocalWriter) -> None:
        """Make the names in its folder durable.

        Raises:
            HostError: that failed.
        """
        with self._changing(writer) as place, place.failing("make durable"):
            place.sync_folder()

    def keep(self, writer: LocalWriter) -> None:
        """Let it stand at its place, and beside it what stood there, or its own other name.

        A new directory can have no two names: between two system calls nothing stands beside it.
        """
        with self._changing(writer) as place, place.failing("write"):
            place.refuse_other_kind(self.kind, gives_way=self.takes is not None)
            if place.existing is None:
                self._create(place)
            else:
                self._replace(place, writer)
            place.sync_folder()

    def _create(self, place: Place) -> None:
        check_identity(place, self.name, self.identity)
        if self.kind is FileKind.DIRECTORY:
            self._how = _How.MADE
            rename_new(place, self.name)
            with acting_as(place.actor):
                os.mkdir(self.name, _MARK_MODE, dir_fd=place.folder.fd)
            return
        folder = place.folder.fd
        self._how = _How.LINKED
        try:
            with acting_as(place.actor):
                os.link(self.name, place.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            self._how = _How.MOVED
            rename_new(place, self.name)

    def _replace(self, place: Place, writer: LocalWriter) -> None:
        refuse_unkept(place)
        self._kept = place.existing and identity_of(place.existing)
        self._how = _How.SWAPPED
        with self._candidate(place, writer) as candidate:
            if not swap_in(place, candidate, self.takes):
                self._how = None
                self._keep_copy(place, writer)
        if place.regular is not None and place.regular.st_nlink > 1:
            writer.remark(f"hard_links_broken: {place.regular.st_nlink - 1}")

    def _keep_copy(self, place: Place, writer: LocalWriter) -> None:
        """Let what stands there have a second name, or a copy, where names cannot be exchanged."""
        if place.directory is not None or self.kind is FileKind.DIRECTORY:
            raise cannot_restore(self.path)
        if place.regular is not None and place.mounts.is_mount_point(place.trail.normal):
            self._keep_mounted(place, writer)
            return
        # for this moment only, since the other name is needed for what is kept
        other = residue_name(place.name, place.folder.path, is_random=True)
        rename(place, self.name, other)
        try:
            self._second_name(place, writer)
            self._how = _How.COPIED
            if not self._put_over(place, other, self.attributes):
                writer.remark("not_atomic")
        except BaseException:
            unlink(place, other)
            raise

    def _keep_mounted(self, place: Place, writer: LocalWriter) -> None:
        """Write it in place, and keep a copy of what stood there.

        That takes long, and a kill would leave a third name, which nobody finds: what is open needs none.
        """
        if self.kind is not FileKind.REGULAR:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        fd = os.open(self.name, _READ, dir_fd=place.folder.fd)
        try:
            unlink(place, self.name)
            self._second_name(place, writer)
            self._how = _How.COPIED
            write_in_place(place, fd, self.attributes)
            writer.remark("not_atomic")
        finally:
            os.close(fd)

    def _second_name(self, place: Place, writer: LocalWriter) -> None:
        folder = place.folder.fd
        with contextlib.suppress(OSError), acting_as(place.actor):
            os.link(place.name, self.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            return
        if place.regular is None:
            raise cannot_restore(self.path)
        fd = open_regular(folder, place.name, place.regular.st_uid)
        with os.fdopen(fd, "rb") as stream:
            found = hash_open(fd, "sha1")
            status = os.fstat(fd)
            attributes = Attributes(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
            content = Content(found.blob if found else "")
            copy = prepare_candidate(place, stream, content, attributes, writer.remark)
        try:
            self.name = copy.stand_beside(place)
            copy.let_go()
        finally:
            copy.discard()

    def _put_over(self, place: Place, name: str, attributes: Attributes) -> bool:
        """Rename over the place; write in place where it is a mount point, and return False."""
        try:
            rename_over(place, name)
        except OSError as error:
            if error.errno != errno.EBUSY or self.kind is not FileKind.REGULAR:
                raise
        else:
            return True
        fd = os.open(name, _READ, dir_fd=place.folder.fd)
        try:
            write_in_place(place, fd, attributes)
        finally:
            os.close(fd)
        unlink(place, name)
        return False

    def restore(self, writer: LocalWriter) -> None:
        """Let what stood there stand there again; where the candidate did not come to its place, it does."""
        how, self._how = self._how, None
        if how is None:
            return
        with self._changing(writer) as place, place.failing("put back what stood at"):
            if how is _How.COPIED:
                self._put_copy_back(place)
            elif place.existing is not None and identity_of(place.existing) == self.identity:
                self._take_back(place, how)
            place.sync_folder()

    def _take_back(self, place: Place, how: _How) -> None:
        if how is _How.LINKED:
            unlink(place, place.name)
        elif how is _How.SWAPPED:
            check_identity(place, self.name, self._kept)
            if not exchange(place, self.name):
                raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        else:
            rename(place, place.name, self.name)

    def _put_copy_back(self, place: Place) -> None:
        status = os.stat(self.name, dir_fd=place.folder.fd, follow_symlinks=False)
        self._put_over(place, self.name, Attributes(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid))
        # a rename of one name of a file to another one of its names does nothing
        unlink(place, self.name)
        self.name = ""

    def drop(self, writer: LocalWriter) -> None:
        """Remove what has the other name."""
        how = self._how
        if how is None:
            return
        with self._changing(writer) as place, place.failing("remove what gave way to"):
            if how is _How.SWAPPED:
                drop_kept(place, self.name, self._kept, self.takes)
            elif how is _How.MADE:
                with contextlib.suppress(FileNotFoundError), acting_as(place.actor):
                    os.rmdir(self.name, dir_fd=place.folder.fd)
            elif how is not _How.MOVED:
                unlink(place, self.name)
            place.sync_folder()
        self._how, self.name = None, ""

    def discard(self, writer: LocalWriter) -> None:
        """Remove it, if it waits still."""
        if not self.name or self._how is not None:
            return
        with contextlib.suppress(HostError, OSError), self._changing(writer) as place:
            self._unlink(place)
            self.name = ""
            place.sync_folder()

    def _unlink(self, place: Place) -> None:
        check_identity(place, self.name, self.identity)
        tree = survey_beside(place, self.name) if self.kind is FileKind.DIRECTORY else None
        if tree is None:
            unlink(place, self.name)
        else:
            is_root = not place.caller[0]
            Removal(tree, self.hidden, is_root=is_root).remove(place.folder.fd, self.name, place.actor)

    def _changing(self, writer: LocalWriter) -> "contextlib.AbstractContextManager[Place]":
        return writer.changing(self.path, self.uid, takes_name=True)

    @contextlib.contextmanager
    def _candidate(self, place: Place, writer: LocalWriter) -> Iterator[Candidate]:
        """Give what waits as a candidate once more; it keeps the name that it has at the end."""
        check_identity(place, self.name, self.identity)
        candidate: Candidate
        if self.kind is FileKind.SYMLINK:
            candidate = LinkCandidate(self.attributes, self.target)
        elif self.kind is FileKind.DIRECTORY:
            candidate = DirectoryCandidate(self.attributes)
        else:
            # opened for nothing but writing in place
            fd = -1
            with place.failing("write"), contextlib.suppress(PermissionError):
                fd = os.open(self.name, _READ, dir_fd=place.folder.fd)
            candidate = FileCandidate(self.attributes, fd, writer.remark)
        candidate.has_name(place, self.name)
        try:
            yield candidate
        finally:
            candidate.let_go()
            candidate.discard()
