"""The files of this repository that are, or are about to be, under version control."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PYTHON_FOLDERS: Final = ("datum", "providers")


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return every file that git does not ignore, sorted; skips the test outside of a clone."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip(f"what is tracked cannot be known: {listing.stderr.decode().strip()}")
    names = sorted({name for name in listing.stdout.decode().split("\0") if name})
    return tuple(path for path in (ROOT / name for name in names) if path.is_file() and not path.is_symlink())


def python_files(*folders: str) -> tuple[Path, ...]:
    """Return the Python files below folders of the repository, sorted."""
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))
