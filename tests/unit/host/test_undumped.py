"""A process whose memory is nobody's to read leaves no core."""

import ctypes
import errno
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from datum.host.undumped import write_no_core

SCRIPT: Final = """
import os, resource, subprocess, sys
from datum.host.undumped import write_no_core
resource.setrlimit(resource.RLIMIT_CORE, (int(sys.argv[2]),) * 2)
if sys.argv[1] == "kept":
    write_no_core()
asked = "import ctypes, resource; print(ctypes.CDLL(None).prctl(3), resource.getrlimit(resource.RLIMIT_CORE)[0])"
print(subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout, flush=True)
pid = os.fork()
if not pid:
    os.abort()
_, status = os.waitpid(pid, 0)
print(os.WCOREDUMP(status), flush=True)
os.abort()
"""


def run(place: Path, word: str) -> tuple[list[str], list[Path]]:
    """Return what a process that ends by a signal said before, and the cores of it."""
    place.mkdir()
    most = str(resource.getrlimit(resource.RLIMIT_CORE)[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, word, most], cwd=place, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode < 0, done.stderr
    return done.stdout.split(), list(place.iterdir())


def test_neither_the_process_nor_a_fork_of_it_leaves_a_core_and_what_it_starts_may(tmp_path: Path) -> None:
    """Another process, in the same place with the same limit, leaves one, wherever the kernel lets it fall."""
    said, cores = run(tmp_path / "kept", "kept")
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert said == ["1", str(limit), "False"]
    assert cores == []
    said, cores = run(tmp_path / "other", "other")
    for core in cores:
        core.unlink()
    if not limit:
        pytest.skip("the hard limit lets no process leave a core here")
    assert said == ["1", str(limit), "True"]


def test_a_kernel_that_refuses_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.EPERM)
        return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(prctl=refuse))
    with pytest.raises(PermissionError):
        write_no_core()
