"""Makes a child that is the first process of a namespace of processes: with it everything that it started ends.

Effects: a process. Needs CAP_SYS_ADMIN.
"""

import ctypes
import os
from typing import Final

_CLONE_NEWPID: Final = 0x20000000
_OWN: Final = "/proc/self/ns/pid"

_libc: Final = ctypes.CDLL(None, use_errno=True)


def fork_apart() -> int:
    """Fork as `os.fork` does; the child is process 1 of a new namespace, and this process stays in its own.

    Raises:
        OSError: there is no such namespace to be had, and no child was made.
    """
    own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The way back is tried before it is needed.
        _check(_libc.setns(own, _CLONE_NEWPID), "setns")
        _check(_libc.unshare(_CLONE_NEWPID), "unshare NEWPID")
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid:
                _check(_libc.setns(own, _CLONE_NEWPID), "setns")
    finally:
        os.close(own)
    return pid


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
