"""Leftovers of killed writes: how the name before the rename is made, found again and cleared (design 4.7).

Every reader of a drop-in folder must ignore the name (ADR 0031): the dot keeps it from globs, `.dpkg-tmp` from what
knows dpkg, and the tilde from the namespaces that run-parts takes by `--lsbsysinit`.
"""

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Collection
from typing import Final

from datum.host.walk import Folder
from datum.provider.paths import NAME_MAX

_SUFFIX: Final = ".datum~.dpkg-tmp"
_RANDOM_DIGITS: Final = 8
# logrotate passes over names by their end, unless they begin with a dot (fnmatch(3), FNM_PERIOD).
_WITHOUT_DOT: Final = ("/logrotate.d",)
# Kinds that writes leave behind.
_LEFT: Final = frozenset({stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR})


def residue_name(name: str, folder: str, *, is_random: bool = False) -> str:
    """Return the name that a replacement has before its rename.

    Args:
        name: the one it will have.
        folder: path of its folder.
        is_random: add random digits, as where others make names.
    """
    token = f".{secrets.token_hex(_RANDOM_DIGITS // 2)}" if is_random else ""
    return f"{_dot(folder)}{_stem(name, len(token))}{token}{_SUFFIX}"


def is_residue_name(name: str) -> bool:
    """Whether a name has the form of one before its rename."""
    return name.endswith(_SUFFIX)


def residue_names(folder: Folder, name: str, owners: Collection[int]) -> list[str]:
    """Return the leftovers beside a name.

    Args:
        folder: where to look.
        name: the file's own.
        owners: in a sticky folder, uids whose files count; anyone may make such names there.

    Raises:
        OSError: the folder cannot be looked at.
    """
    plain = residue_name(name, folder.path)
    if not folder.is_sticky:
        # `access` asks without raising, which matters ten thousand times.
        is_there = os.access(plain, os.F_OK, dir_fd=folder.fd, follow_symlinks=False)
        return [plain] if is_there else []
    start = re.escape(_dot(folder.path) + _stem(name, _RANDOM_DIGITS + 1))
    pattern = re.compile(rf"{start}\.[0-9a-f]{{{_RANDOM_DIGITS}}}{re.escape(_SUFFIX)}")
    return [
        found for found in sorted(names_in(folder.fd)) if pattern.fullmatch(found) and _is_of(folder, found, owners)
    ]


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


def _dot(folder: str) -> str:
    return "" if folder.endswith(_WITHOUT_DOT) else "."


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
    return stat.S_IFMT(status.st_mode) in _LEFT and status.st_uid in owners
