"""Standard descriptors as timers, cron and scripts leave them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from datum.errors import ExitCode

DATUM = f"{sys.executable} -m datum"


def run(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("words", ["--help", "status --root /nonexistent --json"])
def test_full_stdout_is_74_and_says_so(words: str) -> None:
    """A full disk below a redirected stdout is no bug of datum: it was answered with 70 and a trace."""
    done = run(f"{DATUM} {words} >/dev/full")
    assert done.returncode == ExitCode.IOERR
    assert done.stderr.startswith("error[output-lost]: The result could not be written.\n")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 3


@pytest.mark.parametrize(
    ("words", "code"), [("--help", 0), ("status --root /nonexistent", ExitCode.USAGE), ("nonsense", ExitCode.USAGE)]
)
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_exit_code_is_the_same_whatever_is_closed(words: str, code: int, closed: str) -> None:
    """Python has None for a stdout that is closed, and what is shown then was an error of datum."""
    assert run(f"{DATUM} {words} {closed}").returncode == code


def test_files_get_no_number_of_a_closed_descriptor(tmp_path: Path) -> None:
    """Else the next file that is opened, as the pointer, would take what is printed."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom datum.cli.streams import secure\nsecure()\n"
        "opened = open(sys.argv[1], 'w')\nprint('lost')\nprint('lost', file=sys.stderr)\n"
        "opened.write(str(opened.fileno()))\n"
    )
    result = tmp_path / "result"
    done = run(f"{sys.executable} {script} {result} <&- >&- 2>&-")
    assert done.returncode == 0
    assert int(result.read_text()) > 2


def test_a_descriptor_that_does_not_wait_gets_everything() -> None:
    """Whoever shares a pipe may have set O_NONBLOCK on it; a long result then came to an end with EAGAIN."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    script = "from datum.cli.streams import secure\nsecure()\nprint('x' * 1_000_000)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        assert len(stream.read()) == 1_000_001
    assert child.wait() == 0


def test_the_umask_of_the_caller_opens_nothing(tmp_path: Path) -> None:
    """With a umask of 0 everybody could write in the state directory that init had made."""
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    run(f"umask 0; {DATUM} init --repo /nonexistent --host web1 --no-timer --root {root}")
    made = [path for path in root.rglob("*") if not path.is_symlink()]
    assert made
    assert not [path for path in made if path.stat().st_mode & 0o022]
