"""One look at one name in an open folder: what stands there, and which git object its bytes would be.

Devices, FIFOs and sockets are never opened. A file that is replaced or grows while it is read is read once more.
"""

import errno
import hashlib
import os
import stat
from typing import Final

from attrs import frozen

from datum.provider.host import FileKind

_CHUNK: Final = 1 << 20
_REGULAR: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MOVED_ON: Final = frozenset({errno.EINVAL, errno.ELOOP, errno.ENOENT, errno.ENXIO})

_KINDS: Final = {
    stat.S_IFREG: FileKind.REGULAR,
    stat.S_IFDIR: FileKind.DIRECTORY,
    stat.S_IFLNK: FileKind.SYMLINK,
    stat.S_IFIFO: FileKind.FIFO,
    stat.S_IFSOCK: FileKind.SOCKET,
    stat.S_IFBLK: FileKind.BLOCK_DEVICE,
    stat.S_IFCHR: FileKind.CHARACTER_DEVICE,
}

# By their constructors: by name it takes five times as long, for each look at a file.
_HASHES: Final = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}


class UnsteadyFileError(Exception):
    """The file changed under every attempt to read it."""


@frozen
class Look:
    """What one look saw."""

    status: os.stat_result
    # Empty unless it was asked for and this is a regular file.
    blob: str = ""
    # Text of a symbolic link.
    link: str = ""

    @property
    def kind(self) -> FileKind:
        """What stands there."""
        return kind_of(self.status)


def kind_of(status: os.stat_result) -> FileKind:
    """Return what has this status."""
    return _KINDS[stat.S_IFMT(status.st_mode)]


def look_at(folder_fd: int, name: str, algorithm: str) -> Look:
    """Look at a name; hash a regular file's bytes if an algorithm is named.

    Raises:
        OSError: nothing is there (ENOENT), or it cannot be looked at.
        UnsteadyFileError: see there.
    """
    for _ in range(2):
        status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        try:
            found = _look_closer(folder_fd, name, status, algorithm)
        except OSError as error:
            if error.errno in _MOVED_ON:
                continue
            raise
        if found is not None:
            return found
    raise UnsteadyFileError


def _look_closer(folder_fd: int, name: str, status: os.stat_result, algorithm: str) -> Look | None:
    """Read a link, or hash a file if that is asked for; None if it changed meanwhile."""
    if stat.S_ISLNK(status.st_mode):
        return Look(status, link=os.readlink(name, dir_fd=folder_fd))
    if not algorithm or not stat.S_ISREG(status.st_mode):
        return Look(status)
    fd = open_regular(folder_fd, name, status.st_uid)
    try:
        return hash_open(fd, algorithm)
    finally:
        os.close(fd)


def open_regular(folder_fd: int, name: str, owner: int) -> int:
    """Open a regular file for reading, without touching its access time where the system lets us.

    Raises:
        OSError: it cannot be opened.
    """
    if os.geteuid() in {0, owner}:
        try:
            return os.open(name, _REGULAR | os.O_NOATIME, dir_fd=folder_fd)
        except PermissionError:
            # Root of a user namespace does not own it; what is denied in earnest is denied again below.
            pass
    return os.open(name, _REGULAR, dir_fd=folder_fd)


def hash_open(fd: int, algorithm: str) -> Look | None:
    """Hash what is open, from the start of the file; None if it is no regular file or its size changed meanwhile.

    Raises:
        OSError: it cannot be read.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return None
    size = status.st_size
    hasher = _HASHES[algorithm](b"blob %d\0" % size, usedforsecurity=False)
    read = 0
    is_end = False
    while not is_end:
        # One byte more than there should be shows that it grew; fewer than asked for are the end.
        wanted = min(size + 1 - read, _CHUNK)
        chunk = os.pread(fd, wanted, read)
        hasher.update(chunk)
        read += len(chunk)
        is_end = len(chunk) < wanted or read > size
    return Look(status, hasher.hexdigest()) if read == size else None


def read_up_to(fd: int, limit: int) -> bytes:
    """Return at most `limit` bytes from the start of an open file.

    Raises:
        OSError: it cannot be read.
    """
    chunks: list[bytes] = []
    read = 0
    while chunk := os.pread(fd, min(limit - read, _CHUNK), read):
        chunks.append(chunk)
        read += len(chunk)
    return b"".join(chunks)
