"""Lets one group read a store of this process's, and nobody else. Effects: group and modes below the folders given.

What is written into a store later is its writer's alone again, until it is shared anew.
"""

import os
import stat
from contextlib import suppress
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
            show(Path(folder), gid, _FOLDER_MODE)
            for name in names:
                show(Path(folder, name), gid)


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


def show(path: Path, gid: int, mode: int | None = None) -> None:
    """Give a file or folder to a group. What is gone is passed over: a pass names and drops what it writes meanwhile.

    Args:
        path: what; a link is not followed.
        gid: the group.
        mode: of it; None: as it is, and readable for the group.

    Raises:
        OSError: rights cannot be changed.
    """
    with suppress(FileNotFoundError):
        status = path.lstat()
        before = stat.S_IMODE(status.st_mode)
        if mode is None:
            mode = before | stat.S_IRGRP
        if status.st_gid != gid:
            os.chown(path, -1, gid, follow_symlinks=False)
        if before != mode and not stat.S_ISLNK(status.st_mode):
            path.chmod(mode)
