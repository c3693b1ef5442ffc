"""The kernel's word on the clock: whether something keeps it synchronized. Effects: one system call; sets nothing."""

import ctypes
import os
from typing import Final

from attrs import frozen

_TIME_ERROR: Final = 5
_STA_UNSYNC: Final = 0x0040


class _Timex(ctypes.Structure):
    """`struct timex` as far as it is read here (adjtimex(2)); with `modes` 0 nothing is set."""

    _fields_ = [  # type: ignore[mutable-override]  # the form of ctypes
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 512),
    ]


@frozen
class KernelClock:
    """What the kernel says."""

    is_synchronized: bool
    # Microseconds by which the clock can be off at most, as whoever keeps it says.
    maximal_error: int


def read_kernel_clock() -> KernelClock:
    """Ask the kernel.

    Raises:
        OSError: it refuses, as under a filter of system calls.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    asked = _Timex()
    state = libc.adjtimex(ctypes.byref(asked))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return KernelClock(state != _TIME_ERROR and not asked.status & _STA_UNSYNC, asked.maxerror)
