"""The system's own words become one `HostError`: which errno says what of the host, and what a person can do."""

import errno
import fcntl
import os
import struct
from typing import Final

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError

_CAUSES: Final = {
    errno.EACCES: Cause.DENIED,
    errno.EPERM: Cause.DENIED,
    errno.ELOOP: Cause.LOOP,
    errno.EIO: Cause.IO,
    errno.EROFS: Cause.READ_ONLY,
    errno.ENOMEM: Cause.NO_MEMORY,
    errno.EMFILE: Cause.TOO_MANY_FILES,
    errno.ENFILE: Cause.TOO_MANY_FILES,
    errno.ETIMEDOUT: Cause.DEADLINE,
}

_FAILURES: Final = {
    errno.ENOSPC: FailureCause.NO_SPACE,
    errno.EDQUOT: FailureCause.NO_SPACE,
    errno.EROFS: FailureCause.READ_ONLY,
    errno.EBUSY: FailureCause.BUSY,
    errno.ETXTBSY: FailureCause.BUSY,
    errno.ETIMEDOUT: FailureCause.NETWORK,
    errno.EHOSTDOWN: FailureCause.NETWORK,
    errno.EHOSTUNREACH: FailureCause.NETWORK,
    errno.ENETDOWN: FailureCause.NETWORK,
    errno.ENETUNREACH: FailureCause.NETWORK,
}

_HINTS: Final = {
    errno.ENOSPC: "free space on this file system; the next pass tries again",
    errno.EDQUOT: "the quota of the owner is used up; raise it or free space",
    errno.EROFS: "the file system is mounted read-only; see `dmesg` for why, then remount it",
    errno.ETXTBSY: "a running program is executed from it; stop it first",
}

# ioctl_iflags(2): `_IOR('f', 1, long)`; the answer fits 32 bits on every architecture.
_FS_IOC_GETFLAGS: Final = 0x80006601 | (struct.calcsize("l") << 16)
_FS_IMMUTABLE_FL: Final = 0x00000010
_FS_APPEND_FL: Final = 0x00000020


def host_error(error: OSError, doing: str, path: str, *, hint: str = "", discounted: bool = False) -> HostError:
    """Return what to raise for an error of the system.

    Args:
        error: what the system said.
        doing: what was tried, as in "Cannot <doing> '<path>'".
        path: path below the root.
        hint: what a person can do; a general one for the errno if empty.
        discounted: see `Unobservable.discounted`.
    """
    code = error.errno or 0
    return HostError(
        f"Cannot {doing} '{path}': {os.strerror(code) if code else error}.",
        cause=_CAUSES.get(code, Cause.OTHER),
        failure=_FAILURES.get(code, FailureCause.OTHER),
        hint=hint or _HINTS.get(code, ""),
        discounted=discounted,
    )


def unsafe_path(detail: str, *, hint: str = "") -> HostError:
    """Return the refusal of a path that somebody else could turn under the writer."""
    return HostError(detail, code="unsafe-path", cause=Cause.UNSAFE_PATH, hint=hint)


def immutable_hint(path: str, folder_fd: int, name: str) -> str:
    """Return the command that lifts the flag because of which the system said EPERM, or nothing.

    The file's own flags are looked at, and those of the folder, which hold for every name in it.
    """
    for what, where in ((name, path), (".", path.rpartition("/")[0] or "/")):
        flags = _flags(folder_fd, what)
        if flags & _FS_IMMUTABLE_FL:
            return f"it is immutable; `chattr -i {where}` makes it changeable"
        if flags & _FS_APPEND_FL:
            return f"it is append-only; `chattr -a {where}` makes it changeable"
    return ""


def _flags(folder_fd: int, name: str) -> int:
    """Return the inode flags of a regular file or directory, 0 where there are none."""
    answer = bytearray(8)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=folder_fd)
    except OSError:
        return 0
    try:
        fcntl.ioctl(fd, _FS_IOC_GETFLAGS, answer)
    except OSError:
        return 0
    finally:
        os.close(fd)
    return int.from_bytes(answer[:4], "little" if struct.pack("=I", 1)[0] else "big")
