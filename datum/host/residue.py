"""Leftovers of killed writes: how the name before the rename is made, found again and cleared (design 4.7).

Every reader of a drop-in folder must ignore the name: it starts with a dot and ends in `.dpkg-tmp`, which cron,
run-parts, sudoers.d, logrotate, apt, systemd, sysctl.d and profile.d pass over.
"""

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Collection
from typing import Final

from datum.host.failures import unsafe_path
from datum.host.walk import Folder
from datum.provider.paths import NAME_MAX

_SUFFIX: Final = ".datum.dpkg-tmp"
_RANDOM_DIGITS: Final = 8


def residue_name(name: str, *, is_sticky: bool = False) -> str:
    """Return the name that a replacement of `name` has before its rename; random digits where others make names."""
    token = f".{secrets.token_hex(_RANDOM_DIGITS // 2)}" if is_sticky else ""
    return f".{_stem(name, len(token))}{token}{_SUFFIX}"


def residue_names(folder: Folder, name: str, owners: Collection[int]) -> list[str]:
    """Return the leftovers beside a name.

    Args:
        folder: where to look.
        name: the file's own.
        owners: in a sticky folder, uids whose files count; anyone may make such names there.

    Raises:
        OSError: the folder cannot be looked at.
    """
    plain = residue_name(name)
    if not folder.is_sticky:
        # `access` asks without raising, which matters ten thousand times.
        is_there = os.access(plain, os.F_OK, dir_fd=folder.fd, follow_symlinks=False)
        return [plain] if is_there else []
    pattern = re.compile(rf"\.{re.escape(_stem(name, _RANDOM_DIGITS + 1))}\.[0-9a-f]{{{_RANDOM_DIGITS}}}{_SUFFIX}")
    return [
        found for found in sorted(names_in(folder.fd)) if pattern.fullmatch(found) and _is_of(folder, found, owners)
    ]


def check_leftover(folder: Folder, name: str, owners: Collection[int]) -> None:
    """See that what has the name is a leftover: a regular file of one of these uids, with one link.

    Raises:
        HostError: it is something else, which nobody may remove unasked; or it cannot be looked at.
    """
    status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode) and status.st_uid in owners and status.st_nlink == 1:
        return
    where = f"{folder.path.rstrip('/')}/{name}"
    raise unsafe_path(
        f"'{where}' has the name that a new file needs before it is renamed, and is no leftover of such a write: "
        f"{stat.filemode(status.st_mode)}, uid {status.st_uid}, {status.st_nlink} links.",
        hint=f"look at it, then remove '{where}'",
    )


def names_in(folder_fd: int) -> list[str]:
    """Return the names in a folder that was opened with O_PATH.

    Raises:
        OSError: it cannot be read.
    """
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        return os.listdir(fd)  # noqa: PTH208 - an open folder
    finally:
        os.close(fd)


def _stem(name: str, extra: int) -> str:
    """Return what stands for a name in a name with `extra` more bytes than usual."""
    raw = os.fsencode(name)
    if len(raw) + extra + len(_SUFFIX) + 1 <= NAME_MAX:
        return name
    return hashlib.sha256(raw).hexdigest()[:16]


def _is_of(folder: Folder, name: str, owners: Collection[int]) -> bool:
    try:
        status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid in owners
