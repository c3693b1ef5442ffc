"""Removes what a program that is not trusted may have put there. Effects: removes, and renames below what is removed.

Nothing recurses, no link is followed, no path is longer than three names, and at most four folders are open, however
deep it is: a folder below another is lifted to the top first, so the time is linear in what is there. Stopped after any
step, it does the rest when it is called again.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_whatever(path: Path) -> None:
    """Remove whatever stands at a path, if anything does.

    Nobody else may be at work there: names that come while it works, it may not see.

    Raises:
        OSError: it cannot be removed.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        path.unlink(missing_ok=True)
        return
    _open_up(str(path), None)
    top = os.open(path, _FOLDER)
    try:
        _empty(top)
    finally:
        os.close(top)
    path.rmdir()


def _empty(top: int) -> None:
    lift = _Lift(top)
    while folders := _sweep(top):
        for name in folders:
            folder = os.open(name, _FOLDER, dir_fd=top)
            try:
                for inner in _sweep(folder):
                    lift.up(inner, folder)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _sweep(folder: int) -> list[str]:
    """Remove all but the folders in an open folder, and return their names: they can be entered then."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _open_up(entry.name, folder)
                found.append(entry.name)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=folder)
    return found


def _open_up(name: str, folder: int | None) -> None:
    """Let this user enter and change a folder; root may anyway."""
    if os.geteuid():
        os.chmod(name, stat.S_IRWXU, dir_fd=folder)


class _Lift:
    """Moves folders to the top, under names that nothing has there."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._prefix = os.urandom(8).hex()
        self._count = 0

    def up(self, name: str, folder: int) -> None:
        self._count += 1
        os.rename(name, f"{self._prefix}-{self._count}", src_dir_fd=folder, dst_dir_fd=self._top)
