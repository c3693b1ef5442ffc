"""Has the kernel refuse system calls that this process and its children never need: a filter of seccomp(2).

Effects: on the calling process, for good; it needs `no_new_privs`. A namespace of networks leaves the sockets of the
file system open, and processes of one user may trace each other: a filter ends both. A user namespace gives every
capability inside, and with it much of the kernel that only root reaches otherwise: none is made, nor any other. The
rest of the list is what holes of the kernel were found in, and what a process without powers has no use for. Processes
and threads can be started as ever.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
# BPF: load a word of the data at an offset; jump if equal, if greater or equal, if one of some bits is set; return
# (bpf(4), seccomp(2)).
_LOAD: Final = 0x20
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
# The low half of the first argument, on machines whose low bytes come first, as all of these.
_FIRST_ARGUMENT_AT: Final = 16
# On amd64 the calls of the x32 ABI begin here; elsewhere nothing does.
_FOREIGN: Final = 0x40000000

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of clone(2). NEWTIME is for clone3 and unshare alone.
_NAMESPACES: Final = 0x7E020000
# Its flags lie in memory, where a filter sees nothing. The C library takes clone for it where it is missing.
_CLONE3: Final = 435


@frozen
class Machine:
    """What the kernel calls a machine, and its numbers of calls."""

    # linux/audit.h
    architecture: int
    # Of unistd.h, in the order of `REFUSED`.
    numbers: tuple[int, ...]
    # Flags are the first argument of it on all of these.
    clone: int


# open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, pidfd_getfd: the same everywhere.
_MOUNTING: Final = (428, 429, 430, 431, 432, 433, 442, 438)
_OLD_AMD64: Final = (41, 53, 101, 310, 311, 272, 308, 165, 321, 248, 249, 250, 425, 323, 298, 29, 64, 68)
_OLD_GENERIC: Final = (198, 199, 117, 270, 271, 97, 268, 40, 280, 217, 218, 219, 425, 282, 241, 194, 190, 186)
_MACHINES: Final[Mapping[str, Machine]] = MappingProxyType(
    {
        "x86_64": Machine(0xC000003E, (*_OLD_AMD64, *_MOUNTING), 56),
        "aarch64": Machine(0xC00000B7, (*_OLD_GENERIC, *_MOUNTING), 220),
        "riscv64": Machine(0xC00000F3, (*_OLD_GENERIC, *_MOUNTING), 220),
    }
)

REFUSED: Final = (
    "socket",
    # One of datagrams sends to any socket of the file system.
    "socketpair",
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
    # What is made by these outlives who made it.
    "shmget",
    "semget",
    "msgget",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pidfd_getfd",
)
"""The calls that fail with EPERM, whatever is asked. So does clone for a namespace; clone3 fails with ENOSYS."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


def refuse_calls() -> bool:
    """Install the filter; return whether this machine has one: elsewhere the numbers are not known.

    Raises:
        OSError: the kernel refused it.
    """
    known = _MACHINES.get(platform.machine())
    if known is None:
        return False
    code = filter_of(known)
    buffer = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: how many steps, and where they are.
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "prctl SECCOMP")
    return True


def filter_of(machine: Machine) -> bytes:
    """Return the program: it refuses what another architecture or ABI calls, and what `REFUSED` says, and no more."""
    steps = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_IF_EQUAL, 1, 0, machine.architecture), _refusal()]
    steps += [(_LOAD, 0, 0, _NUMBER_AT), (_IF_AT_LEAST, 0, 1, _FOREIGN), _refusal()]
    for number in machine.numbers:
        steps += [(_IF_EQUAL, 0, 1, number), _refusal()]
    steps += [(_IF_EQUAL, 0, 1, _CLONE3), _refusal(errno.ENOSYS)]
    # All but clone jumps over the look at its flags.
    steps += [(_IF_EQUAL, 0, 3, machine.clone), (_LOAD, 0, 0, _FIRST_ARGUMENT_AT), (_IF_ANY_BIT, 0, 1, _NAMESPACES)]
    steps += [_refusal(), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _refusal(number: int = errno.EPERM) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | number)
