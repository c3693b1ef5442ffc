"""Lets one group read a store of this process's, and nobody else. Effects: group and modes below the folders given.

What is written into a store later is its writer's alone again, until it is shared anew.
"""

import os
import stat
from pathlib import Path
from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import StateError

_FOLDER_MODE: Final = 0o750


def share_store(store: Path, gid: int) -> None:
    """Let a group read a bare repository and the one that it builds upon, if they are there.

    The folders that hold them are made passable, not readable, for it; those above are somebody else's.

    Raises:
        OSError: rights cannot be changed.
        StateError: a folder above shuts the group out.
    """
    for each in (store, *_alternates(store)):
        if not each.is_dir():
            continue
        _make_passable(each.parent, gid)
        for folder, _, names in os.walk(each):
            _show(Path(folder), gid, _FOLDER_MODE)
            for name in names:
                path = Path(folder, name)
                _show(path, gid, stat.S_IMODE(path.lstat().st_mode) | stat.S_IRGRP)


def _alternates(store: Path) -> tuple[Path, ...]:
    """Return the stores that this process's own store builds upon."""
    try:
        lines = (store / "objects/info/alternates").read_bytes().splitlines()
    except OSError:
        return ()
    return tuple(Path(os.fsdecode(line)).parent for line in lines)


def _make_passable(folder: Path, gid: int) -> None:
    status = folder.stat()
    mode = stat.S_IMODE(status.st_mode)
    if not mode & stat.S_IXOTH and not (status.st_gid == gid and mode & stat.S_IXGRP):
        os.chown(folder, -1, gid)
        folder.chmod(mode & ~stat.S_IRWXG | stat.S_IXGRP)
    for above in folder.resolve().parents:
        status = above.stat()
        mode = stat.S_IMODE(status.st_mode)
        if not mode & stat.S_IXOTH and not (status.st_gid == gid and mode & stat.S_IXGRP):
            raise StateError(
                Diagnostic(
                    code="resolver-shut-out",
                    summary="What reads revisions is shut out.",
                    detail=f"Revisions are read under an account without rights, of the group {gid}, which may not "
                    f"enter {above}, mode {mode:04o}; {folder} lies below it.",
                    hint=f"chmod o+x {above}, or keep the state elsewhere (state_dir)",
                )
            )


def _show(path: Path, gid: int, mode: int) -> None:
    status = path.lstat()
    if status.st_gid != gid:
        os.chown(path, -1, gid, follow_symlinks=False)
    if stat.S_IMODE(status.st_mode) != mode and not stat.S_ISLNK(status.st_mode):
        path.chmod(mode)
