"""The few system calls that Python 3.11 lacks, and a name for a process that is never recycled."""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final, Self

from attrs import frozen

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
NOTHING_SPECIAL: Final = MS_NOSUID | MS_NODEV | MS_NOEXEC

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_OPENAT2: Final = 437  # the same on every architecture
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_IN_ROOT: Final = 0x10
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_PR_CAPBSET_DROP: Final = 24
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_EXT4_IOC_SHUTDOWN: Final = 0x8004587D
_WITHOUT_LOG_FLUSH: Final = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(source: str, target: str, kind: str = "", *, flags: int = 0, data: str = "") -> None:
    """Mount a file system; empty texts stand for NULL."""
    texts = [os.fsencode(text) if text else None for text in (source, target, kind)]
    options = data.encode() if data else None
    result = _libc.mount(*texts, ctypes.c_ulong(flags), options)
    _check(result, f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    """Unmount a file system that nothing uses any more."""
    _check(_libc.umount2(os.fsencode(target), 0), f"umount {target}")


def shut_ext4_down(path: str) -> None:
    """Stop an ext4 as a power cut does: what is not on the disk by now never gets there."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(fd, _EXT4_IOC_SHUTDOWN, struct.pack("I", _WITHOUT_LOG_FLUSH))
    finally:
        os.close(fd)


def bind(source: str, target: str, *, read_only: bool = False, flags: int = 0) -> None:
    """Show ``source`` at ``target`` too, with all mounts below it."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        mount("", target, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def unshare(flags: int) -> None:
    """Give this process new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def rejoin_own_pid_namespace() -> None:
    """Undo ``unshare(CLONE_NEWPID)``: the next child is born beside this process again."""
    fd = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        _check(_libc.setns(fd, CLONE_NEWPID), "setns")
    finally:
        os.close(fd)


def pivot_into_working_directory() -> None:
    """Make the working directory, a mount point, the root, and let go of the old root."""
    number = _PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount the old root")
    os.chdir("/")


def die_with_parent(signal: int) -> None:
    """Have the kernel send this process a signal when the process that started it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl")


def drop_from_bounding_set(capability: int) -> None:
    """Give a capability up for good; one that this kernel does not know is given up already."""
    _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def bring_loopback_up() -> None:
    """Switch on ``lo`` of this network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0)
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def open_in_root(root: Path, path: str, flags: int, mode: int = 0) -> int:
    """Open a path as a process whose root is ``root`` would: no link leads out of it."""
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        resolve = _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS
        how = struct.pack("QQQ", flags | os.O_CLOEXEC, mode, resolve)
        result = _libc.syscall(_OPENAT2, fd, os.fsencode(path), how, len(how))
        return _check(result, f"open {path} of the host")
    finally:
        os.close(fd)


@frozen
class Process:
    """One process for ever: a recycled pid has another start time."""

    pid: int
    start: int  # in clock ticks since boot, field 22 of /proc/PID/stat

    @classmethod
    def find(cls, pid: int) -> Self | None:
        """Return the process that has this pid now, or None; a zombie counts as gone."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    def is_alive(self) -> bool:
        """Tell whether this very process still runs."""
        return Process.find(self.pid) == self
