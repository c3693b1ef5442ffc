"""What is new and complete before it has its place: a file, a link or a directory (design 4.7).

A file is unnamed, checked, owned, labelled and synced as soon as it is prepared, and costs one descriptor; a link or a
directory is made when it is put. None of them changes what the host shows until it is put.
"""

import contextlib
import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from attrs import define, field, frozen

from datum.host.attributes import keep_capabilities, keep_extended, own, read_extended
from datum.host.failures import host_error, unsafe_path
from datum.host.identity import Actor, acting_as
from datum.host.leftovers import remove_leftover
from datum.host.place import Place
from datum.host.residue import residue_name
from datum.host.streams import copy_over
from datum.provider.host import FileKind, HostError

TEMPORARY_MODE: Final = 0o600
_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Remark = Callable[[str], None]


@frozen
class Attributes:
    """What something new shall have."""

    mode: int
    uid: int
    gid: int


@define
class Candidate(ABC):
    """Something complete and new. `discard` it in the end, whatever became of it."""

    kind: ClassVar[FileKind]
    attributes: Attributes
    # Its name before it has its place; empty while it has none, or has its place.
    name: str = field(default="", init=False)
    # The folder in which it has that name, and in whose name names are made there.
    folder_fd: int = field(default=-1, init=False)
    actor: Actor | None = field(default=None, init=False)

    @abstractmethod
    def make(self, place: Place, name: str) -> None:
        """Make it stand in a place's folder under this name, as it shall be, and durable.

        Raises:
            FileExistsError: the name is taken, and nothing was made.
            OSError: it could not be made.
            HostError: likewise.
        """

    @abstractmethod
    def unlink(self) -> None:
        """Take its name away.

        Raises:
            OSError: that failed.
        """

    def stand_beside(self, place: Place) -> str:
        """Return its name beside the place, which it gets if it has none there.

        Raises:
            OSError: it cannot get it.
            HostError: the name is taken by something that is no leftover.
        """
        if self.name and os.path.samestat(os.fstat(self.folder_fd), place.folder.status):
            return self.name
        self.discard_name()
        name = residue_name(place.name, place.folder.path, is_random=place.folder.is_sticky)
        despite_leftover(place, name, lambda: self.make(place, name))
        self.has_name(place, name)
        return name

    def stamp(self) -> None:
        """Give it the time of now, directly before it gets its place: who started before has not read it (ADR 0044).

        It may have been made long before, to be judged. Where the system refuses, it keeps the time that it has.
        """
        with contextlib.suppress(OSError), acting_as(self.actor):
            os.utime(self.name, dir_fd=self.folder_fd, follow_symlinks=False)

    def has_name(self, place: Place, name: str) -> None:
        """Note the name that it has in a place's folder; to be taken away unless it gets its place."""
        self.let_go()
        self.name, self.folder_fd, self.actor = name, os.dup(place.folder.fd), place.actor

    def let_go(self) -> None:
        """Note that it has no name of its own any more."""
        self.name = ""
        if self.folder_fd >= 0:
            os.close(self.folder_fd)
            self.folder_fd = -1

    def discard_name(self) -> None:
        """Take its name away, if it has one; what fails is left as a leftover."""
        if self.name:
            with contextlib.suppress(OSError):
                self.unlink()
        self.let_go()

    def discard(self) -> None:
        """Let go of all that was made and has no place; more than once does no harm."""
        self.discard_name()


@define
class FileCandidate(Candidate):
    """A complete new regular file."""

    kind = FileKind.REGULAR
    # -1: let go of.
    fd: int
    remark: Remark
    # Whether it can get a name; else it is copied into a file that has one.
    is_linkable: bool = True

    def make(self, place: Place, name: str) -> None:
        """Link it; or copy it, where it is on another mount or can have no name."""
        if not (self.is_linkable and self._link(place, name)):
            self._copy(place, name)

    def _link(self, place: Place, name: str) -> bool:
        """Give it this name; False if it lies on another mount."""
        try:
            with acting_as(place.actor):
                # Without src_dir_fd Python calls link(2), which does not follow the handle.
                os.link(
                    f"/proc/self/fd/{self.fd}",
                    name,
                    src_dir_fd=place.folder.fd,
                    dst_dir_fd=place.folder.fd,
                    follow_symlinks=True,
                )
        except OSError as error:
            if error.errno == errno.EXDEV:
                return False
            raise
        return True

    def _copy(self, place: Place, name: str) -> None:
        """Make a copy of this name, which is the candidate from then on."""
        fd = create_named(place, name)
        try:
            self.has_name(place, name)
            copy_over(fd, self.fd)
            dress(fd, place, self.attributes, self.remark)
            os.fsync(fd)
        except BaseException:
            os.close(fd)
            raise
        os.close(self.fd)
        self.fd = fd

    def unlink(self) -> None:
        """Take its name away."""
        with acting_as(self.actor):
            os.unlink(self.name, dir_fd=self.folder_fd)

    def discard(self) -> None:
        """Take its name away and close it."""
        self.discard_name()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@define
class LinkCandidate(Candidate):
    """A new symbolic link; a mode is none of its attributes."""

    kind = FileKind.SYMLINK
    target: str

    def make(self, place: Place, name: str) -> None:
        """Make the link, then give it to its owner."""
        with acting_as(place.actor):
            os.symlink(self.target, name, dir_fd=place.folder.fd)
        self.has_name(place, name)
        if "owner" not in place.without:
            self._own(place)

    def unlink(self) -> None:
        """Take its name away."""
        with acting_as(self.actor):
            os.unlink(self.name, dir_fd=self.folder_fd)

    def _own(self, place: Place) -> None:
        fd = os.open(self.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder.fd)
        try:
            status = os.fstat(fd)
            is_ours = stat.S_ISLNK(status.st_mode) and status.st_nlink == 1 and status.st_uid == _maker(place)
            if not is_ours:
                raise replaced_by_other(place, self.name, status.st_uid)
            give(fd, place, self.attributes)
        finally:
            os.close(fd)


@define
class DirectoryCandidate(Candidate):
    """A new, empty directory."""

    kind = FileKind.DIRECTORY

    def make(self, place: Place, name: str) -> None:
        """Make the directory, then give it owner and mode; a default access control list of the folder is inherited.

        The mode is what was asked for, whatever umask and list say; as `chmod` does, it sets the list's mask.
        """
        with acting_as(place.actor):
            os.mkdir(name, 0o700, dir_fd=place.folder.fd)
        self.has_name(place, name)
        fd = os.open(name, _OPEN_FOLDER, dir_fd=place.folder.fd)
        try:
            status = os.fstat(fd)
            if status.st_uid != _maker(place):
                raise replaced_by_other(place, name, status.st_uid)
            own_and_mode(fd, place, self.attributes)
            os.fsync(fd)
        finally:
            os.close(fd)

    def unlink(self) -> None:
        """Take its name away, which it has while it is empty."""
        with acting_as(self.actor):
            os.rmdir(self.name, dir_fd=self.folder_fd)


def dress(fd: int, place: Place, attributes: Attributes, remark: Remark) -> None:
    """Set the attributes of the replaced file, then owner, mode and capabilities: each may clear what follows."""
    kept = _extended_of(place)
    if kept is not None:
        # Before the mode: it is the mode that says what the list's mask is.
        keep_extended(fd, kept, remark)
    own_and_mode(fd, place, attributes)
    keep_capabilities(fd, kept or {}, remark)


def own_and_mode(fd: int, place: Place, attributes: Attributes) -> None:
    """Set owner, then mode, as far as the file system has them."""
    if "owner" not in place.without:
        give(fd, place, attributes)
    if "mode" not in place.without:
        os.fchmod(fd, attributes.mode)


def give(fd: int, place: Place, attributes: Attributes) -> None:
    """Give what was just made to its owner.

    Raises:
        HostError: the file system does not let even root do that.
        OSError: it failed otherwise.
    """
    try:
        own(fd, place.path, attributes.uid, attributes.gid)
    except PermissionError as error:
        doing = f"give to uid {attributes.uid}, gid {attributes.gid}"
        raise host_error(error, doing, place.path, hint=_squashed(place, os.fstat(fd).st_uid)) from error


def create_named(place: Place, name: str) -> int:
    """Open a new file of this name that only we can read.

    Raises:
        OSError: it cannot be made.
    """
    with acting_as(place.actor):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, TEMPORARY_MODE, dir_fd=place.folder.fd)


def despite_leftover(place: Place, name: str, make: Callable[[], None]) -> None:
    """Make a name; if a leftover has it, remove that and try once more.

    Raises:
        OSError: it cannot be made.
        HostError: something has the name that is no leftover.
    """
    try:
        make()
    except FileExistsError:
        remove_leftover(place, name, place.trusted)
        make()


def replaced_by_other(place: Place, name: str, owner: int) -> HostError:
    """Return the refusal of what has our name and does not seem to be made by us: it is this user's."""
    where = f"{place.path.rpartition('/')[0]}/{name}"
    detail = (
        f"'{where}' was made by uid {_maker(place)} and belongs to uid {owner}: somebody else replaced it meanwhile, "
        "or the file system gives away what is made there."
    )
    return unsafe_path(detail, hint=_squashed(place, owner))


def _squashed(place: Place, owner: int) -> str:
    """Return what to do where a server takes root for somebody else, who then owns what root makes."""
    return (
        f"where a server gives what root makes to uid {owner}, let '{place.folder.path}' belong to a user that it "
        "knows, and declare that owner"
    )


def _maker(place: Place) -> int:
    """Return the uid that new names in a place's folder have."""
    return place.actor.uid if place.actor else place.caller[0]


def _extended_of(place: Place) -> "Mapping[str, bytes] | None":
    """Return the extended attributes of the regular file at the place, None if there is none that gives any."""
    if place.predecessor is None:
        return None
    try:
        fd = os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder.fd)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        is_giving = stat.S_ISREG(status.st_mode) and not place.is_strange(status)
        return dict(read_extended(fd)) if is_giving else None
    finally:
        os.close(fd)
