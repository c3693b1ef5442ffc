"""Bare repositories as folders: made, swept, merged and replaced by system calls that may stop after any of them.

Effects: writes below the folders it is given. git's order holds throughout: objects are on disk before what names
them, and a pack is visible only once its index is, which therefore moves last.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import StateError
from datum.repository.removal import remove_whatever

KEPT: Final = "refs/datum"
_NO_BRANCH: Final = "ref: refs/heads/none\n"
"""Folder of the refs that hold on to revisions; each is named by its commit."""

# Packs, and objects on their own.
_OBJECT_FILE: Final = re.compile(r"pack/pack-[0-9a-f]{40}\.(pack|idx|rev)|[0-9a-f]{2}/[0-9a-f]{38}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_FOLDER_MODE: Final = 0o700
# Where git and datum put lock files and half-written objects.
_LEFTOVERS: Final = (
    "*.lock",
    f"{KEPT}/*.lock",
    "objects/info/*.lock",
    "objects/pack/*.lock",
    "objects/pack/tmp_*",
    "objects/pack/.tmp-*",
)


@contextlib.contextmanager
def state_errors(path: Path) -> Iterator[None]:
    """Tell of what the system refuses inside that a place cannot be written."""
    try:
        yield
    except OSError as error:
        raise StateError(
            Diagnostic(
                code="state-not-writable",
                summary="The state directory cannot be written.",
                detail=f"{error.filename or path}: {error.strerror}.",
                hint="Make room, make the file system writable, or run as the user that owns the directory.",
            )
        ) from error


def create_store(path: Path, *, alternate: Path | None) -> None:
    """Make an empty bare repository that also sees the objects of another store.

    Not synced: a store becomes worth keeping only by `merge_store` or `replace_store`, which sync.
    """
    # One by one: `parents` would leave those between to the umask.
    for folder in ("", "objects", "objects/info", "objects/pack", "refs", KEPT):
        (path / folder).mkdir(mode=_FOLDER_MODE, parents=not folder)
    frame_store(path, alternate=alternate)


def frame_store(path: Path, *, alternate: Path | None) -> None:
    """Write what makes the folders of a store one: its configuration, `HEAD`, and where else objects are."""
    (path / "config").write_text(_CONFIG)
    if alternate is not None:
        (path / "objects/info/alternates").write_bytes(os.fsencode(alternate / "objects") + b"\n")
    (path / "HEAD").write_text(_NO_BRANCH)


def name_commit(path: Path, ref: str, commit: str) -> None:
    """Make a ref of a store that is not kept yet: not synced."""
    (path / ref).parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    (path / ref).write_text(f"{commit}\n")


def is_made_here(path: Path) -> bool:
    """Whether a store is one that `make_store` made: no branch of anybody is its HEAD."""
    try:
        return (path / "HEAD").read_text(errors="replace") == _NO_BRANCH
    except OSError:
        return False


def is_store(path: Path) -> bool:
    """Whether this is a repository as far as a look at its folder can tell."""
    return (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))


def remove_store(path: Path) -> None:
    """Remove whatever stands at the path, if anything does: see `remove_whatever`."""
    remove_whatever(path)


def merge_store(source: Path, store: Path) -> None:
    """Move the objects of a store into another one, synced. Done again after a kill, it does the rest.

    What the other one has is never replaced, and what is no regular file is not moved.
    """
    files = sorted(_object_files(source), key=lambda file: (file.suffix == ".idx", file))
    for file in files:
        _sync(file)
    folders = {store / "objects"}
    for file in files:
        target = store / file.relative_to(source)
        target.parent.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        # git names packs and objects by what they hold, so what is there is that, or was damaged since: then the mirror
        # is built anew.
        if not os.path.lexists(target):
            file.rename(target)
        folders.add(target.parent)
    for folder in sorted(folders):
        _sync(folder)


def replace_store(source: Path, store: Path, *, aside: Path) -> None:
    """Put a store that is whole in itself in the place of another, or of nothing.

    Between the two renames nothing stands there: `restore_store` then brings the old one back.
    """
    (source / "objects/info/alternates").unlink(missing_ok=True)
    for folder, _, names in os.walk(source):
        for name in names:
            _sync(Path(folder, name))
        _sync(Path(folder))
    if os.path.lexists(store):
        remove_store(aside)
        store.rename(aside)
    source.rename(store)
    _sync(store.parent)
    remove_store(aside)


def restore_store(store: Path, *, aside: Path) -> None:
    """Settle what a kill within `replace_store` left."""
    if os.path.lexists(aside) and not os.path.lexists(store):
        aside.rename(store)
    remove_store(aside)


def sweep_store(store: Path) -> None:
    """Remove lock files and half-written files of processes that are dead, as the caller makes sure."""
    for name in find_leftovers(store):
        with contextlib.suppress(FileNotFoundError):
            (store / name).unlink()


def find_leftovers(store: Path) -> Iterator[str]:
    """Yield what `sweep_store` would remove, relative to the store."""
    for pattern in _LEFTOVERS:
        for file in store.glob(pattern):
            yield str(file.relative_to(store))


def pack_count(store: Path) -> int:
    """Return how many packs a store has."""
    return len(list((store / "objects/pack").glob("pack-*.pack")))


def packs_of(store: Path) -> tuple[Path, ...]:
    """Return the packs of a store that have an index, without which nobody reads one."""
    found = sorted((store / "objects/pack").glob("pack-*.pack"))
    return tuple(pack for pack in found if pack.with_suffix(".idx").is_file())


def drop_packs(store: Path, *, keep: str) -> None:
    """Remove the packs of a store but for one, of each the index first: without it none of it is looked for."""
    folder = store / "objects/pack"
    for pack in sorted(folder.glob("pack-*.pack")):
        if pack.name != keep:
            for suffix in (".idx", ".rev", ".pack"):
                pack.with_suffix(suffix).unlink(missing_ok=True)
    _sync(folder)


def store_size(store: Path) -> int:
    """Return how many bytes the files of a store have; one that goes meanwhile counts nothing."""
    count = 0
    for folder, _, names in os.walk(store):
        for name in names:
            with contextlib.suppress(OSError):
                count += os.lstat(f"{folder}/{name}").st_size
    return count


def kept_commits(store: Path) -> frozenset[str]:
    """Return the commits that the store's refs hold on to."""
    folder = store / KEPT
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else ()
    return frozenset(name for name in names if _COMMIT.fullmatch(name))


def keep_commits(store: Path, commits: Iterable[str]) -> None:
    """Make refs to commits that the store has, synced; those that exist are not written again."""
    folder = store / KEPT
    missing = frozenset(commits) - kept_commits(store)
    if not missing:
        return
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    for commit in sorted(missing):
        # A name that `sweep_store` knows.
        candidate = folder / f"{commit}.lock"
        candidate.write_text(f"{commit}\n")
        _sync(candidate)
        candidate.rename(folder / commit)
    _sync(folder)


def release_commits(store: Path, commits: Iterable[str]) -> None:
    """Remove the refs to these commits."""
    for commit in sorted(commits):
        (store / KEPT / commit).unlink(missing_ok=True)


def _object_files(store: Path) -> Iterator[Path]:
    for folder in (store / "objects").iterdir():
        if folder.name == "info" or not stat.S_ISDIR(folder.lstat().st_mode):
            continue
        for file in folder.iterdir():
            name = f"{folder.name}/{file.name}"
            if _OBJECT_FILE.fullmatch(name) and stat.S_ISREG(file.lstat().st_mode):
                yield file


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
