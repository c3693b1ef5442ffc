"""A folder for tests with several users."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that every user may enter: those that pytest makes are for one user alone."""
    made = Path(tempfile.mkdtemp(prefix="datum-remotes."))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)
