"""Roots that an ordinary user may enter, and whether this machine gives namespaces."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from datum.host import namespaces
from tests.unit.host.in_child import NOBODY, in_child


@cache
def _refusal(uid: int | None) -> str:
    """Return why a process of this user cannot have namespaces of its own; empty if it can."""
    if uid is not None and os.geteuid():
        return "needs root to become another user"
    try:
        in_child(lambda: namespaces.enclose("/", is_offline=True).network_or_fuse, uid=uid)
    except OSError as error:
        return f"no namespaces here: {error.strerror}"
    return ""


@pytest.fixture
def enclosing() -> None:
    if reason := _refusal(None):
        pytest.skip(reason)


@pytest.fixture
def enclosing_root(enclosing: None) -> None:
    """For what an ordinary user's namespace refuses: directories of others, and file systems with others below."""
    if os.geteuid():
        pytest.skip("needs root")


@pytest.fixture
def enclosing_nobody() -> None:
    if reason := _refusal(NOBODY):
        pytest.skip(reason)


@pytest.fixture
def nobody_root() -> Iterator[Path]:
    """A directory of an ordinary user, which can be reached by that user; unlike `tmp_path`."""
    folder = Path(tempfile.mkdtemp(prefix="datum-root-"))
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@cache
def _programs() -> tuple[str, ...]:
    """Return what a root needs for `sh` and `cat`: the programs, and the libraries that they name."""
    found = {"/bin/sh", "/bin/cat"}
    for program in tuple(found):
        named = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        found |= set(re.findall(r"(/\S+) \(0x", named))
    return tuple(sorted(found))


def _fill(root: Path) -> Path:
    for program in _programs():
        target = root / program.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, target)
    for name in ("etc", "tmp", "var/lib", "dev", "proc"):
        (root / name).mkdir(parents=True)
    return root


@pytest.fixture
def shell_root(tmp_path: Path) -> Path:
    """A root with a shell in it, and no devices."""
    return _fill(tmp_path / "root")


@pytest.fixture
def nobody_shell_root(nobody_root: Path) -> Path:
    """The same, of an ordinary user."""
    _fill(nobody_root)
    for folder, names, files in os.walk(nobody_root):
        for name in (*names, *files):
            os.chown(Path(folder, name), NOBODY, NOBODY)
    return nobody_root
