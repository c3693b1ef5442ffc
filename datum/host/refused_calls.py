"""Has the kernel refuse system calls that this process and its children never need: a filter of seccomp(2).

Effects: on the calling process, for good; it needs `no_new_privs`. A namespace of networks leaves the sockets of the
file system open, and processes of one user may trace each other: a filter ends both. The rest of the list is what
holes of the kernel were found in, and what a process without powers has no use for.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
# BPF: load a word of the data at an offset; jump if equal, or if greater or equal; return (bpf(4), seccomp(2)).
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
# On amd64 the calls of the x32 ABI begin here; elsewhere nothing does.
_FOREIGN: Final = 0x40000000

# linux/audit.h, and the numbers of unistd.h in the order of `REFUSED`.
_AMD64: Final = (0xC000003E, (41, 101, 310, 311, 272, 308, 165, 321, 248, 249, 250, 425, 323, 298))
_GENERIC: Final = (198, 117, 270, 271, 97, 268, 40, 280, 217, 218, 219, 425, 282, 241)
_MACHINES: Final[Mapping[str, tuple[int, tuple[int, ...]]]] = MappingProxyType(
    {"x86_64": _AMD64, "aarch64": (0xC00000B7, _GENERIC), "riscv64": (0xC00000F3, _GENERIC)}
)

REFUSED: Final = (
    "socket",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "unshare",
    "setns",
    "mount",
    "bpf",
    "add_key",
    "request_key",
    "keyctl",
    "io_uring_setup",
    "userfaultfd",
    "perf_event_open",
)
"""The calls that fail with EPERM."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


def refuse_calls() -> bool:
    """Install the filter; return whether this machine has one: elsewhere the numbers are not known.

    Raises:
        OSError: the kernel refused it.
    """
    known = _MACHINES.get(platform.machine())
    if known is None:
        return False
    code = filter_of(*known)
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: how many steps, and where they are.
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "prctl SECCOMP")
    return True


def filter_of(architecture: int, numbers: tuple[int, ...]) -> bytes:
    """Return the program: what another architecture or ABI calls is refused, and these numbers; all else goes on."""
    steps = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_IF_EQUAL, 1, 0, architecture), _refusal()]
    steps += [(_LOAD, 0, 0, _NUMBER_AT), (_IF_AT_LEAST, 0, 1, _FOREIGN), _refusal()]
    for number in numbers:
        steps += [(_IF_EQUAL, 0, 1, number), _refusal()]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _refusal() -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | errno.EPERM)
