"""Lets one group read a store of this process's, and nobody else.

Effects: group and modes below the folders given; a copy where these are to stay as they are.
What is written into a store later is its writer's alone again, until it is shared anew.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import StateError

_FOLDER_MODE: Final = 0o750
_OWN_FOLDER: Final = 0o700
# How often a repository that a pass changes meanwhile is copied.
_COPIES: Final = 3


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
        show_all(each, gid)


def borrowed(store: Path, place: Path, gid: int) -> Path:
    """Return a bare repository that a group may read, if this one is none, then a copy of it; itself is not touched.

    Nobody keeps passes from it: where something of it goes away meanwhile, what came in its place may not have been
    seen, and it is copied anew.

    Args:
        store: the repository.
        place: a folder of the caller's, for the copy.
        gid: the group.

    Raises:
        StateError: `no-temporary-folder`: it cannot be copied.
    """
    if is_passable(store.parent.stat(), gid) and all(is_shown(path, gid) for path in _paths(store)):
        return store
    copy = place / store.name
    try:
        for _ in range(_COPIES):
            shutil.rmtree(copy, ignore_errors=True)
            if _is_whole_copy(store, copy):
                break
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="no-temporary-folder",
                summary="A plan needs a temporary folder with room for it, and has none.",
                detail=f"Those who read revisions may not read {store}, and it cannot be copied into {place}: "
                f"{error.strerror}.",
                hint="make room, or let TMPDIR name a folder that has more of it",
            )
        ) from error
    return copy


def _is_whole_copy(store: Path, copy: Path) -> bool:
    """Copy a repository; return whether nothing of it went away meanwhile."""
    gone: list[OSError] = []
    for path in _paths(store, gone.append):
        try:
            _copy(path, copy / path.relative_to(store))
        except FileNotFoundError as error:
            gone.append(error)
    return not gone


def _copy(path: Path, target: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        target.mkdir(mode=_OWN_FOLDER)
    elif stat.S_ISREG(mode):
        shutil.copyfile(path, target, follow_symlinks=False)


def _paths(store: Path, unlisted: Callable[[OSError], object] | None = None) -> Iterator[Path]:
    """Yield a repository and all that it holds, folders before what they hold.

    Args:
        store: the repository.
        unlisted: called with why a folder cannot be listed; None: it is passed over.
    """
    for folder, _, names in os.walk(store, onerror=unlisted):
        yield Path(folder)
        yield from (Path(folder, name) for name in names)


def show_all(store: Path, gid: int) -> None:
    """Give a repository to a group, with all that it holds.

    Raises:
        OSError: rights cannot be changed.
    """
    for path in _paths(store):
        show(path, gid)


def _alternates(store: Path) -> tuple[Path, ...]:
    """Return the stores that this process's own store builds upon."""
    try:
        lines = (store / "objects/info/alternates").read_bytes().splitlines()
    except OSError:
        return ()
    return tuple(Path(os.fsdecode(line)).parent for line in lines)


def _make_passable(folder: Path, gid: int) -> None:
    status = folder.stat()
    if not is_passable(status, gid):
        os.chown(folder, -1, gid)
        folder.chmod(stat.S_IMODE(status.st_mode) & ~stat.S_IRWXG | stat.S_IXGRP)
    for above in folder.resolve().parents:
        status = above.stat()
        mode = stat.S_IMODE(status.st_mode)
        if not is_passable(status, gid):
            raise StateError(
                Diagnostic(
                    code="resolver-shut-out",
                    summary="What reads revisions is shut out.",
                    detail=f"Revisions are read under an account without rights, of the group {gid}, which may not "
                    f"enter {above}, mode {mode:04o}; {folder} lies below it.",
                    hint=f"chmod o+x {above}, or keep the state elsewhere (state_dir)",
                )
            )


def is_passable(status: os.stat_result, gid: int) -> bool:
    """Whether a group may pass a folder, as far as its mode says it."""
    return bool(status.st_mode & stat.S_IXOTH) or (status.st_gid == gid and bool(status.st_mode & stat.S_IXGRP))


def show(path: Path, gid: int) -> None:
    """Give a file or folder to a group. What is gone is passed over: a pass names and drops what it writes meanwhile.

    Args:
        path: what; a link is not followed.
        gid: the group.

    Raises:
        OSError: rights cannot be changed.
    """
    with suppress(FileNotFoundError):
        status = path.lstat()
        if status.st_gid != gid:
            os.chown(path, -1, gid, follow_symlinks=False)
        if stat.S_IMODE(status.st_mode) != _shown_mode(status):
            path.chmod(_shown_mode(status))


def is_shown(path: Path, gid: int) -> bool:
    """Whether `show` would change nothing."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    return status.st_gid == gid and stat.S_IMODE(status.st_mode) == _shown_mode(status)


def _shown_mode(status: os.stat_result) -> int:
    if stat.S_ISDIR(status.st_mode):
        return _FOLDER_MODE
    # The mode of a link says nothing, and cannot be changed.
    return stat.S_IMODE(status.st_mode) | (0 if stat.S_ISLNK(status.st_mode) else stat.S_IRGRP)
