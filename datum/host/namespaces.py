"""Private namespaces for one child: the system calls that Python 3.11 lacks, and the steps made of them.

Everything here acts on the calling process and belongs into a forked child that is about to become a program;
all of it ends with that child. Each function raises `OSError` whose text names the call that was refused.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from datum.host.mounts import MountTable

_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 1 << 1
_MS_NODEV: Final = 1 << 2
_MS_NOEXEC: Final = 1 << 3
_MS_BIND: Final = 1 << 12
_MS_REC: Final = 1 << 14
_MS_PRIVATE: Final = 1 << 18

_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_CLONE_NEWIPC: Final = 0x08000000

# Numbers of 5.2 and later are the same on every architecture that Debian builds for; MIPS answers ENOSYS.
_OPEN_TREE: Final = 428
_MOVE_MOUNT: Final = 429
_MOUNT_SETATTR: Final = 442
_OPEN_TREE_CLONE: Final = 1
_MOVE_MOUNT_F_EMPTY_PATH: Final = 4
_MOUNT_ATTR_RDONLY: Final = 1
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000

_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1

# procfs always has it, nothing is ever read there, and no file of a host is managed below it.
WORKSPACE: Final = "/proc/driver"
_DEVICES: Final = ("full", "null", "random", "urandom", "zero")
# What a program writes there while it only asks is thrown away.
_SCRATCH: Final = ("/tmp", "/var/tmp")  # noqa: S108 - shown to a program, never used by this one
# A check may bind the addresses of the host, which the empty network does not have.
_FOREIGN_ADDRESSES: Final = (
    "/proc/sys/net/ipv4/ip_nonlocal_bind",
    "/proc/sys/net/ipv6/ip_nonlocal_bind",
)

_libc: Final = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, what: str, *arguments: int | bytes) -> int:
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _check(int(_libc.syscall(ctypes.c_long(number), *words)), what)


def mount(source: str, target: str, file_system: str, *, flags: int = 0, data: str = "") -> None:
    """Make a file system show at a path, or change one that does: the system call of that name."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), file_system.encode(), ctypes.c_ulong(flags), data.encode() or None
    )
    _check(result, f"mount {file_system or source} on {target}")


def bind(source: str, target: str, *, recursive: bool = False) -> None:
    """Show a file or directory at another place too."""
    mount(source, target, "", flags=_MS_BIND | (_MS_REC if recursive else 0))


def clone_tree(path: str) -> int:
    """Return a descriptor of a detached copy of the mounts at and below a path."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    return _syscall(_OPEN_TREE, f"open_tree {path}", _AT_FDCWD, os.fsencode(path), flags)


def attach_tree(tree: int, path: str) -> None:
    """Mount a detached tree at a path, and close its descriptor."""
    try:
        what = f"move_mount to {path}"
        _syscall(_MOVE_MOUNT, what, tree, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def make_read_only(path: str = "/", *, recursive: bool = True) -> None:
    """Make what is mounted at a path read-only, with all that is mounted below; by default every mount."""
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    what = f"mount_setattr {path}"
    _syscall(_MOUNT_SETATTR, what, _AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes))


def enter(*, is_offline: bool, inside_uid: int) -> None:
    """Give this process mounts of its own and, if offline, an empty network.

    An ordinary user gets a user namespace with it, where the own ids stand as `inside_uid`, user and group, and
    every other id as nobody.
    """
    uid, gid = os.geteuid(), os.getegid()
    user = _CLONE_NEWUSER if uid else 0
    network = _CLONE_NEWNET if is_offline else 0
    names = "NEWNS" + (", NEWUSER" if user else "") + (", NEWNET" if network else "")
    _check(_libc.unshare(_CLONE_NEWNS | user | network), f"unshare {names}")
    if user:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{inside_uid} {uid} 1"),
            ("gid_map", f"{inside_uid and gid} {gid} 1"),
        ):
            _write(f"/proc/self/{name}", text)
    mount("none", "/", "", flags=_MS_REC | _MS_PRIVATE)
    if is_offline:
        _prepare_network()


def seclude() -> None:
    """Give this process, the first of its namespace, what leaves it alone.

    That is: mounts that are all read-only, a /proc of its own processes, and a network and System V objects of which
    there are none. Nothing of it is prepared: not even loopback is up.
    """
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC), "unshare NEWNS, NEWNET, NEWIPC")
    mount("none", "/", "", flags=_MS_REC | _MS_PRIVATE)
    make_read_only()
    # Last: where /proc cannot be mounted, as below another one of which parts are covered, all else holds.
    show_own_processes()


def show_own_processes() -> None:
    """Show below /proc the processes of this namespace alone: no other's command line or environment is to be seen."""
    mount("proc", "/proc", "proc", flags=_MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def own_objects() -> None:
    """Give this process System V objects and message queues of its own, which end with the last process of it."""
    _check(_libc.unshare(_CLONE_NEWIPC), "unshare NEWIPC")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"write {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _prepare_network() -> None:
    """Switch on loopback and let addresses of the host be bound; best effort."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        answer = fcntl.ioctl(device, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(device, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
    for path in _FOREIGN_ADDRESSES:
        with contextlib.suppress(OSError):
            _write(path, "1")


def enclose(root: str, *, is_offline: bool) -> MountTable:
    """Put this process into private namespaces where everything is read-only, with `root` as its root.

    The working directory is then an empty throw-away file system, the only writable place, outside of `root`. Below
    another root than `/` the caller stands as root, the devices every program wants are there, and /proc.

    Returns:
        The mounts below the root.
    """
    is_other = root != "/"
    enter(is_offline=is_offline, inside_uid=0 if is_other or is_offline else os.geteuid())
    make_read_only()
    if is_other:
        _furnish(root)
    mount("datum", WORKSPACE, "tmpfs", flags=_MS_NOSUID | _MS_NODEV, data="mode=700")
    os.chdir(WORKSPACE)
    table = MountTable.read(root)
    if is_other:
        os.chroot(root)
    return table


def change_root(root: str, directory: str) -> None:
    """Make a directory the root of this process; an ordinary user stands as root there."""
    if os.geteuid():
        enter(is_offline=False, inside_uid=0)
    os.chroot(root)
    os.chdir(directory)


def only_read(root: str, directory: str) -> None:
    """Make everything read-only for this process, but for throw-away copies of /tmp and /var/tmp."""
    table = enclose(root, is_offline=False)
    for number, folder in enumerate(_SCRATCH):
        if is_directory(folder):
            # left read-only where this file system takes no overlay
            with contextlib.suppress(OSError):
                throw_away(folder, str(number), table.below(folder))
    os.chdir(directory)


def _furnish(root: str) -> None:
    """Show devices and /proc below a root that has the directories for them and nothing inside."""
    folder = f"{root}/dev"
    if is_directory(folder) and not os.path.lexists(f"{folder}/null"):
        mount("datum", folder, "tmpfs", flags=_MS_NOSUID | _MS_NOEXEC, data="mode=755")
        for name in _DEVICES:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            bind(f"/dev/{name}", f"{folder}/{name}")
    if is_directory(f"{root}/proc") and not os.path.lexists(f"{root}/proc/self"):
        bind("/proc", f"{root}/proc", recursive=True)


def is_directory(path: str) -> bool:
    """Whether a directory, and no link to one, stands at a path."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def throw_away(folder: str, work: str, below: Iterable[str]) -> None:
    """Lay an overlay over a directory: it can be written, and what is written ends with this namespace.

    Args:
        folder: absolute path; `/` makes the overlay the root of this process.
        work: name of a new directory in the working directory, which `enclose` made.
        below: the mount points below the folder that no other one of these holds; they are shown again.
    """
    lower, upper, scratch = f"{work}/lower", f"{work}/upper", f"{work}/scratch"
    for path in (work, lower, upper, scratch):
        Path(path).mkdir()
    facts = Path(folder).stat()
    # ids that a user namespace does not map cannot be given
    with contextlib.suppress(OSError):
        os.chown(upper, facts.st_uid, facts.st_gid)
    Path(upper).chmod(stat.S_IMODE(facts.st_mode))
    bind(folder, lower)
    kept = [(path, clone_tree(path)) for path in below]
    target = folder
    if folder == "/":
        target = f"{work}/root"
        Path(target).mkdir()
    layers = f"lowerdir={lower},upperdir={upper},workdir={scratch}"
    try:
        mount("overlay", target, "overlay", data=f"{layers},{_own_attributes(upper)}")
    except OSError:
        mount("overlay", target, "overlay", data=layers)
    for path, tree in kept:
        attach_tree(tree, path if folder != "/" else target + path)
    if folder == "/":
        os.chroot(target)


def _own_attributes(upper: str) -> str:
    """Return the overlay's option for where it may keep notes of its own.

    As root a change of a file's attributes then does not copy its bytes into memory; an ordinary user needs it to
    remove directories (overlayfs: whiteouts, and marks of directories that hide what is below them).
    """
    try:
        os.setxattr(upper, "trusted.datum", b"")
    except OSError:
        return "userxattr"
    return "metacopy=on"
