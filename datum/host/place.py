"""A path that may be written: walked, judged safe, and with the user whose names these are."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from attrs import frozen

from datum.host.failures import host_error, immutable_hint
from datum.host.identity import Actor
from datum.host.walk import Folder, Trail
from datum.provider.host import HostError


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
    # Fields that the file system cannot hold.
    without: frozenset[str]

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
    def regular(self) -> os.stat_result | None:
        """What stands there if it is a regular file."""
        return self.existing if self.existing and stat.S_ISREG(self.existing.st_mode) else None

    def refuse_directory(self, doing: str) -> None:
        """Refuse where a directory stands.

        Raises:
            HostError: one does.
        """
        if self.existing and stat.S_ISDIR(self.existing.st_mode):
            raise directory_in_the_way(self.path, doing)

    @contextlib.contextmanager
    def failing(self, doing: str) -> Iterator[None]:
        """Turn an `OSError` of the block into a `HostError` that says what to do about it."""
        try:
            yield
        except OSError as error:
            if error.errno in {errno.EISDIR, errno.ENOTEMPTY}:
                raise directory_in_the_way(self.path, doing) from error
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


def directory_in_the_way(path: str, doing: str) -> HostError:
    """Return the refusal to take a directory for a file."""
    return HostError(
        f"Cannot {doing} '{path}': a directory stands there.",
        code="directory-in-the-way",
        hint=f"move it away: `mv {path} {path}.old`",
    )
