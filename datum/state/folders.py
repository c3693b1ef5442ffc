"""Folders whoever makes them, files that are whole or as before, and names that survive a power cut.

Effects: mkdir, chmod, a file beside the one that is written, rename, fsync.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def make_folders(folder: Path, *, mode: int = 0o755) -> None:
    """Make a folder where it is missing, whatever the caller's umask; one that is there stays as it is.

    Args:
        folder: to be there.
        mode: of it; the folders above that are missing get 0755.

    Raises:
        OSError: it cannot be made, or is none.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folders(folder.parent)
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        if folder.is_dir():
            return
        raise
    folder.chmod(mode)


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk (fsync(2): the file's own fsync does not do that).

    Raises:
        OSError: it cannot be opened or synced.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path, *, mode: int, temporary: Path | None = None) -> Iterator[BinaryIO]:
    """Give a stream for what a file shall hold: it holds all of it when the body ends, durably, else what it held.

    Args:
        path: of the file; its folder exists.
        mode: of it, whatever the caller's umask.
        temporary: where it is until then, in the same folder; None: `.NAME.part`. What a killed write left there goes.

    Raises:
        OSError: it cannot be written.
    """
    temporary = temporary or path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, mode)
            yield stream
            stream.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)
