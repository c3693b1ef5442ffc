"""What a host has changed on its disk: the whole upper folder of its overlay, compared with below.

Read only; the overlay is made without redirects, so the upper folder is complete.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from attrs import field, frozen

_OPAQUE: Final = "trusted.overlay.opaque"
_OWN: Final = "trusted.overlay."


class Kind(StrEnum):
    """How an entry differs from the fresh host."""

    CREATED = "created"
    DELETED = "deleted"
    MODIFIED = "modified"
    TOUCHED = "touched"  # opened for writing, or a folder in which something came and went


@frozen
class Entry:
    """One file, folder, link or device, by all that a reader of the host can see but times."""

    mode: int  # type and permissions, as st_mode
    uid: int
    gid: int
    size: int  # 0 for folders
    content: str  # SHA-256 of a file, target of a link, number of a device
    attributes: tuple[tuple[str, bytes], ...]  # extended ones but the overlay's own
    modified: int = field(eq=False)  # in nanoseconds; not compared

    @classmethod
    def read(cls, path: Path) -> "Entry":
        """Read the entry at a path itself, not what it may link to."""
        status = path.lstat()
        folder = stat.S_ISDIR(status.st_mode)
        return cls(
            mode=status.st_mode,
            uid=status.st_uid,
            gid=status.st_gid,
            size=0 if folder else status.st_size,
            content=_content(path, status),
            attributes=tuple(
                (name, os.getxattr(path, name, follow_symlinks=False))
                for name in sorted(os.listxattr(path, follow_symlinks=False))
                if not name.startswith(_OWN)
            ),
            modified=status.st_mtime_ns,
        )


@frozen
class Change:
    """One entry of the difference; equal changes have equal entries."""

    kind: Kind
    entry: Entry | None  # as it is now; None when deleted


def list_changes(upper: Path, lowers: tuple[Path, ...]) -> dict[str, Change]:
    """Return what ``upper`` changes, by absolute path in the host.

    A folder that is here only because something in it changed is left out; one in which nothing
    differs any more, but something was opened or came and went, is ``touched``.
    """
    return dict(_walk(upper, "", lowers))


def _walk(upper: Path, place: str, lowers: tuple[Path, ...]) -> Iterator[tuple[str, Change]]:
    with os.scandir(upper) as listing:
        names = sorted(item.name for item in listing)
    for name in names:
        path = f"{place}/{name}"
        found = upper / name
        status = found.lstat()
        below = tuple(lower / name for lower in lowers if os.path.lexists(lower / name))
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if below:
                yield path, Change(Kind.DELETED, None)
        elif stat.S_ISDIR(status.st_mode):
            yield from _walk_folder(found, path, below)
        else:
            entry = Entry.read(found)
            yield path, Change(_compare(entry, below), entry)


def _walk_folder(found: Path, path: str, below: tuple[Path, ...]) -> Iterator[tuple[str, Change]]:
    """List one folder of the upper layer: itself where it differs, and what is in it."""
    entry = Entry.read(found)
    kind = _compare(entry, below)
    if _is_opaque(found):  # a new folder in the place of an old one
        kind = Kind.MODIFIED if below else Kind.CREATED
        below = ()
    inside = list(_walk(found, path, below))
    if kind is not Kind.TOUCHED or not inside:
        yield path, Change(kind, entry)
    yield from inside


def _compare(entry: Entry, below: tuple[Path, ...]) -> Kind:
    if not below:
        return Kind.CREATED
    return Kind.TOUCHED if Entry.read(below[0]) == entry else Kind.MODIFIED


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:
        return False


def _content(path: Path, status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if stat.S_ISLNK(status.st_mode):
        return str(path.readlink())
    return str(status.st_rdev)
