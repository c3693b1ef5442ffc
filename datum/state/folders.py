"""Names that survive a power cut. Effects: fsync."""

import os
from pathlib import Path


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
