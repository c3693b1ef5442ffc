"""Renames beside a place that os.rename does not know: exchange, and never over anything (renameat2(2))."""

import errno
import os
from typing import Final

from datum.host.identity import acting_as
from datum.host.place import Place

_NO_REPLACE: Final = 1
_EXCHANGE: Final = 2
# What a file system, or a kernel, says that has no such rename.
_NOT_KNOWN: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def exchange(place: Place, name: str) -> bool:
    """Let a name beside a place and the place itself change what they name, in one step.

    Returns:
        False where the file system cannot, or something is mounted there.

    Raises:
        OSError: it failed for another reason.
    """
    try:
        _rename(place, name, _EXCHANGE)
    except OSError as error:
        if error.errno in _NOT_KNOWN | {errno.EBUSY}:
            return False
        raise
    return True


def rename_new(place: Place, name: str) -> None:
    """Rename what has a name beside a place to the place, where nothing stands.

    Raises:
        OSError: EEXIST: something does; or it failed for another reason.
    """
    try:
        _rename(place, name, _NO_REPLACE)
    except OSError as error:
        if error.errno not in _NOT_KNOWN:
            raise
        if place.now() is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        rename_over(place, name)


def rename_over(place: Place, name: str) -> None:
    """Rename what has a name beside a place to the place, over what may stand there.

    Raises:
        OSError: it failed.
    """
    with acting_as(place.actor):
        os.rename(name, place.name, src_dir_fd=place.folder.fd, dst_dir_fd=place.folder.fd)


def _rename(place: Place, name: str, flags: int) -> None:
    # Only for what is rare: it costs milliseconds.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    folder = place.folder.fd
    with acting_as(place.actor):
        failed = libc.renameat2(folder, os.fsencode(name), folder, os.fsencode(place.name), ctypes.c_uint(flags))
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
