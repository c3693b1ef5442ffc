"""No core of this process is written, whatever ends it. Effects: on this process.

Its memory may hold what servers are shown, and a core is read by whoever may read the place where it falls, or is sent
somewhere. Forks of it are kept so, too. A program that one of them becomes is asked anew (prctl(2)), and limits stay as
they are: a service that an action starts writes its cores as ever.
"""

import ctypes
import os
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def write_no_core() -> None:
    """Have the kernel write no core of this process; a core pattern that is a program gets none either.

    Raises:
        OSError: the kernel refuses it, or something before it does.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
