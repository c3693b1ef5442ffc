"""Folders whoever makes them, and names that survive a power cut. Effects: mkdir, chmod, fsync."""

import os
from pathlib import Path


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
