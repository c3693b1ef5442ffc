"""A path that may be written: walked, judged safe, and with the user whose names these are."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from datum.host.failures import host_error, immutable_hint
from datum.host.identity import Actor
from datum.host.look import kind_of
from datum.host.mounts import MountTable
from datum.host.walk import Folder, Trail
from datum.provider.host import FileKind, HostError

_WORDS: Final = {
    FileKind.REGULAR: "a regular file",
    FileKind.DIRECTORY: "a directory",
    FileKind.SYMLINK: "a symbolic link",
    FileKind.FIFO: "a FIFO",
    FileKind.SOCKET: "a socket",
    FileKind.BLOCK_DEVICE: "a block device",
    FileKind.CHARACTER_DEVICE: "a character device",
}


@frozen
class Place:
    """Where one resource stands. Open only as long as its trail is."""

    trail: Trail
    # What stands there, not followed; None if nothing does.
    existing: os.stat_result | None
    # Uid of the resource's owner.
    owner: int
    # This process.
    caller: tuple[int, int]
    # In whose name names are made below a user's directory; None: in the process's own.
    actor: Actor | None
    # What is mounted below the root.
    mounts: MountTable

    @property
    def path(self) -> str:
        """As it was asked for."""
        return self.trail.path

    @property
    def name(self) -> str:
        """The last component."""
        return self.trail.name

    @property
    def folder(self) -> Folder:
        """The folder that holds it."""
        return self.trail.folder

    @property
    def trusted(self) -> frozenset[int]:
        """Uids whose files here may be taken for our own leftovers."""
        return frozenset({0, self.owner, self.caller[0]})

    @property
    def makers(self) -> frozenset[int]:
        """Uids that may own what we made and took, whoever else may make names here."""
        return frozenset({0, self.caller[0]})

    @property
    def without(self) -> frozenset[str]:
        """Fields that the file system cannot hold."""
        return self.mounts.without(self.trail.normal)

    @property
    def regular(self) -> os.stat_result | None:
        """What stands there if it is a regular file."""
        return self.existing if self.existing and stat.S_ISREG(self.existing.st_mode) else None

    @property
    def predecessor(self) -> os.stat_result | None:
        """The regular file that stands there, if what replaces it may keep its attributes."""
        return None if self.regular is None or self.is_strange(self.regular) else self.regular

    def is_strange(self, status: os.stat_result) -> bool:
        """Whether somebody may have put an inode there so that what replaces it gets its mode or access control list.

        In a directory where others make names that is all but files of root, of the caller and of the owner, under one
        name; below a user's directory, not what is that user's.
        """
        if not self.folder.is_exposed or (self.trail.user and status.st_uid == self.trail.user):
            return False
        return status.st_uid not in self.trusted or status.st_nlink > 1

    @property
    def directory(self) -> os.stat_result | None:
        """What stands there if it is a directory."""
        return self.existing if self.existing and stat.S_ISDIR(self.existing.st_mode) else None

    def now(self) -> os.stat_result | None:
        """Look once more at what stands there, not following a link.

        Raises:
            OSError: it cannot be looked at.
        """
        try:
            return os.stat(self.name, dir_fd=self.folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def refuse_directory(self, doing: str) -> None:
        """Refuse where a directory stands.

        Raises:
            HostError: one does.
        """
        if self.directory is not None:
            raise in_the_way(self.path, doing, FileKind.DIRECTORY)

    def refuse_no_directory(self, doing: str) -> None:
        """Refuse where something else than a directory stands, and the root itself.

        Raises:
            HostError: `not-a-directory`, `bad-path`.
        """
        if not self.name:
            raise HostError(f"Cannot {doing} '{self.path}': it is the root.", code="bad-path")
        if self.existing is not None and self.directory is None:
            raise HostError(
                f"Cannot {doing} '{self.path}': {_WORDS[kind_of(self.existing)]} stands there, and no directory.",
                code="not-a-directory",
                hint=f"look at it; `rm {self.path}` removes it",
            )

    def refuse_other_kind(self, kind: FileKind, *, gives_way: bool) -> None:
        """Refuse where something stands that cannot be replaced by something of this kind.

        Args:
            kind: what is to stand there.
            gives_way: whether something of another kind may be replaced.

        Raises:
            HostError: `kind-in-the-way`. The root itself never gives way, and no directory to a directory.
        """
        if self.existing is None:
            return
        found = kind_of(self.existing)
        if not self.name or FileKind.DIRECTORY is found is kind or (found is not kind and not gives_way):
            raise in_the_way(self.path, "write", found)

    @contextlib.contextmanager
    def failing(self, doing: str) -> Iterator[None]:
        """Turn an `OSError` of the block into a `HostError` that says what to do about it."""
        try:
            yield
        except OSError as error:
            if error.errno in {errno.EISDIR, errno.ENOTEMPTY}:
                raise in_the_way(self.path, doing, FileKind.DIRECTORY) from error
            if error.errno == errno.EEXIST:
                raise in_the_way(self.path, doing, None) from error
            raise host_error(error, doing, self.path, hint=self._hint(error.errno)) from error

    def _hint(self, code: int | None) -> str:
        if code == errno.EBUSY:
            return f"something is mounted there; `umount {self.path}` first"
        return immutable_hint(self.path, self.folder.fd, self.name) if code == errno.EPERM else ""

    def sync_folder(self) -> None:
        """Make the folder's names durable.

        Raises:
            OSError: that failed.
        """
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder.fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def status_of(trail: Trail) -> os.stat_result | None:
    """Look at the end of a trail, not following a link; None if nothing is there.

    Raises:
        HostError: it cannot be looked at.
    """
    try:
        return os.stat(trail.name or ".", dir_fd=trail.folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise host_error(error, "look at", trail.path) from error


def in_the_way(path: str, doing: str, found: FileKind | None) -> HostError:
    """Return the refusal to take something for what it is not; `found` is None for what arrived meanwhile."""
    what = _WORDS[found] if found else "something else"
    return HostError(
        f"Cannot {doing} '{path}': {what} stands there.",
        code="directory-in-the-way" if doing == "remove" else "kind-in-the-way",
        hint=f"move it away: `mv {path} {path}.old`",
    )
