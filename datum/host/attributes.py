"""Owner, mode, access control lists, extended attributes and capabilities, always on an open descriptor.

Owner comes before mode: a change of owner clears setuid and setgid, even for root (resource-types 6.33).
"""

import errno
import os
import stat
from collections.abc import Callable, Container, Mapping
from typing import Final

from datum.host.failures import host_error, unsafe_path
from datum.host.place import Place
from datum.provider.host import HostError

_CAPABILITY: Final = "security.capability"
_ACL: Final = "system.posix_acl_access"
# Hashes over content that the kernel keeps itself.
_KERNELS_OWN: Final = frozenset({"security.ima", "security.evm"})
_NO_SUCH: Final = frozenset({errno.ENODATA, errno.ENOTSUP, errno.ENOSYS})
# What a file system, or the kernel for this caller, never lets be set (setxattr(2)): trying again is of no use. An
# account that a user namespace does not map makes a list invalid. Every other error fails the write.
_NOT_HERE: Final = frozenset({errno.ENOTSUP, errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EINVAL})


def own(fd: int, path: str, uid: int, gid: int) -> None:
    """Give an open file to an owner, unless it is theirs.

    Raises:
        HostError: only root may.
        OSError: the system does not let us.
    """
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) == (uid, gid):
        return
    try:
        os.chown(_handle(fd), uid, gid)
    except OSError as error:
        if error.errno != errno.EPERM or not os.geteuid():
            raise
        raise host_error(
            error, f"give to uid {uid}, gid {gid}", path, hint="only root gives files to others"
        ) from error


def read_extended(fd: int) -> Mapping[str, bytes]:
    """Return what a replacement has to keep: `user.*`, `security.*` and the access control list; none where there are
    none.

    Raises:
        OSError: they are there and cannot be read.
    """
    handle = _handle(fd)
    try:
        names = os.listxattr(handle)
        return {name: os.getxattr(handle, name) for name in names if _is_kept(name)}
    except OSError as error:
        if error.errno in _NO_SUCH:
            return {}
        raise


def keep_extended(fd: int, kept: Mapping[str, bytes], remark: Callable[[str], None]) -> None:
    """Set extended attributes on a new file, all but capabilities, which the last writer has to set.

    A list that the folder's default gave the new file is dropped when the replaced one had none.

    Raises:
        OSError: one cannot be kept although it could be here: the disk is full, or broken.
    """
    handle = _handle(fd)
    if _ACL not in kept:
        _try(lambda: os.removexattr(handle, _ACL), _NO_SUCH | _NOT_HERE)
    for name, value in kept.items():
        if name != _CAPABILITY:
            _set(handle, name, value, remark)


def keep_capabilities(fd: int, kept: Mapping[str, bytes], remark: Callable[[str], None]) -> None:
    """Set a file's capabilities; to be done after owner, mode and content, each of which clears them.

    Raises:
        OSError: they cannot be kept although they could be here: the disk is full, or broken.
    """
    if _CAPABILITY in kept:
        _set(_handle(fd), _CAPABILITY, kept[_CAPABILITY], remark)


def change_attributes(
    place: Place,
    *,
    mode: str | None,
    uid: int | None,
    gid: int | None,
    from_anybody: bool,
    remark: Callable[[str], None],
) -> None:
    """Change owner, then mode, of what stands at a place; its bytes and its inode stay.

    Raises:
        HostError: nothing stands there, it is not safely ours to change, or the system does not let us.
    """
    with place.failing("change the attributes of"):
        fd = os.open(place.name or ".", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder.fd)
        try:
            status = os.fstat(fd)
            is_strange = place.is_strange(status)
            check_change(place, status, mode, from_anybody=from_anybody)
            if stat.S_ISLNK(status.st_mode):
                # By its handle: the name may be another file's by now.
                own(fd, place.path, _or(uid, status.st_uid), _or(gid, status.st_gid))
            else:
                owner = _or(uid, status.st_uid), _or(gid, status.st_gid)
                _change(fd, place, mode, owner, None if is_strange else remark)
            _sync(fd, status)
        finally:
            os.close(fd)


def _change(
    fd: int, place: Place, mode: str | None, owner: tuple[int, int], remark: Callable[[str], None] | None
) -> None:
    """Change an inode that is no link, keeping its capabilities; without `remark` they are lost, as the kernel has it.

    A stranger who has it open for writing could put other bytes under them.
    """
    kept = {} if remark is None else read_extended(fd)
    own(fd, place.path, *owner)
    if mode is not None and stat.S_IMODE(os.fstat(fd).st_mode) != int(mode, 8):
        os.chmod(_handle(fd), int(mode, 8))  # noqa: PTH101 - what is open, by its handle
    if remark is not None and _CAPABILITY in kept and _CAPABILITY not in read_extended(fd):
        keep_capabilities(fd, kept, remark)


def check_change(place: Place, status: os.stat_result, mode: str | None, *, from_anybody: bool = False) -> None:
    """Refuse what is not safely ours to change, and a mode of a link.

    Args:
        place: where it stands.
        status: what stands there.
        mode: the mode that it shall have, None: as it is.
        from_anybody: as of `set_attributes`.

    Raises:
        HostError: `unsafe-path`, `link-has-no-mode`.
    """
    _check_inode(place, status, from_anybody=from_anybody)
    if stat.S_ISLNK(status.st_mode) and mode is not None:
        raise HostError(f"'{place.path}' is a symbolic link, which has no mode of its own.", code="link-has-no-mode")


def _check_inode(place: Place, status: os.stat_result, *, from_anybody: bool) -> None:
    """Refuse an inode that another user placed, or may hold open, where others make names.

    There a hard link to a file of somebody else may stand under any name, and who opened a file for writing keeps
    that right after the change.

    Raises:
        HostError: `unsafe-path`.
    """
    if stat.S_ISDIR(status.st_mode):
        _check_directory(place, status)
        return
    if not place.folder.is_exposed:
        return
    is_given = from_anybody and not place.folder.is_sticky
    if status.st_uid not in place.trusted and not is_given:
        raise unsafe_path(
            f"'{place.path}' belongs to uid {status.st_uid}, in a directory where others than root make names: it may "
            "still be open for writing there.",
            hint=f"remove it: `rm {place.path}`; the next pass makes a new one",
        )
    if status.st_nlink > 1:
        raise unsafe_path(
            f"'{place.path}' has {status.st_nlink} links, in a directory where others than root make names: it may be "
            "another file under this name.",
            hint=f"`find / -xdev -inum {status.st_ino}` shows the other names; remove the wrong one",
        )


def _check_directory(place: Place, status: os.stat_result) -> None:
    """Refuse a directory that a stranger made where everybody may: what lies in it, and its default access control
    list, would stay that user's.

    Raises:
        HostError: `unsafe-path`.
    """
    if place.folder.is_sticky and place.folder.is_exposed and status.st_uid not in place.trusted:
        raise unsafe_path(
            f"'{place.path}' belongs to uid {status.st_uid}, in a directory where everybody makes names: what lies in "
            "it, and what its access control list gives away, would stay.",
            hint=f"look at it, and remove it: `rm -r {place.path}`; the next pass makes a new one",
        )


def _sync(fd: int, status: os.stat_result) -> None:
    """Make attributes durable, as far as the file can be opened at all."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return
    try:
        opened = os.open(_handle(fd), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _set(handle: str, name: str, value: bytes, remark: Callable[[str], None]) -> None:
    error = _try(lambda: os.setxattr(handle, name, value), _NOT_HERE)
    if error is not None:
        remark(f"attribute_not_kept: {name} ({error.strerror})")


def _try(change: Callable[[], None], harmless: Container[int]) -> OSError | None:
    """Try a change; return the error if it is one of the harmless ones."""
    try:
        change()
    except OSError as error:
        if error.errno not in harmless:
            raise
        return error
    return None


def _is_kept(name: str) -> bool:
    return name == _ACL or (name.startswith(("user.", "security.")) and name not in _KERNELS_OWN)


def _handle(fd: int) -> str:
    """Return a path to what is open, for calls that take no descriptor of O_PATH."""
    return f"/proc/self/fd/{fd}"


def _or(wanted: int | None, otherwise: int) -> int:
    return otherwise if wanted is None else wanted
