"""Programs of which nothing is left when they have ended."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datum.host import apart, namespaces
from datum.host.names import Account
from datum.host.program import run_program
from datum.host.view import View
from datum.provider.host import Command, CommandOutcome, HostError

NOBODY = Account("nobody", 65534, 65534, groups=(65534,))
ANY_END = frozenset(range(-64, 256))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a namespace of processes")


def run(script: str, *, timeout: float = 20, stdin: bytes = b"") -> CommandOutcome:
    command = Command(("sh", "-c", script), timeout, stdin=stdin, success=ANY_END)
    return run_program(command, account=NOBODY, is_enclosed=True)


def left(marker: str) -> list[str]:
    """Return the ids of the processes whose command line has a marker."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(folder.name)
    return found


def test_what_makes_a_session_of_its_own_ends_as_well() -> None:
    outcome = run("setsid sleep 33.7654 >/dev/null 2>&1 <&1 & sleep 34.7654 >/dev/null 2>&1 & sleep 0.2; exit 0")
    assert outcome.exit_code == 0
    assert left("33.7654") + left("34.7654") == []


def segments(size: int) -> list[int]:
    """Return the ids of the System V segments of so many bytes."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return [int(row[1]) for row in rows if row[3] == str(size)]


@pytest.mark.parametrize("view", [None, View()])
def test_no_object_of_memory_is_left(view: View | None) -> None:
    """A System V segment outlives who made it, and counts as memory of nobody."""
    # Which nothing else has.
    size = 1_000_003 + os.getpid()
    make = f"import ctypes; print(ctypes.CDLL(None, use_errno=True).shmget(0, {size}, 0o1600))"
    command = Command((sys.executable, "-I", "-c", make), 20, success=ANY_END)
    outcome = run_program(command, is_enclosed=True, view=view)
    left = segments(size)
    for each in left:
        ctypes.CDLL(None).shmctl(each, 0, None)
    assert int(outcome.stdout) >= 0, outcome.stderr
    assert left == []


def test_without_objects_of_its_own_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(22, "unshare NEWIPC: Invalid argument")

    monkeypatch.setattr(namespaces, "own_objects", refuse)
    tmp_path.chmod(0o777)
    with pytest.raises(HostError) as caught:
        run(f"touch {tmp_path}/ran")
    assert caught.value.diagnostics[0].code == "program-not-enclosed"
    assert "unshare NEWIPC: Invalid argument" in caught.value.detail
    assert not list(tmp_path.iterdir())


def test_at_the_deadline_all_ends() -> None:
    with pytest.raises(HostError) as caught:
        run("setsid sleep 35.7654 & sleep 36.7654", timeout=0.5)
    assert caught.value.diagnostics[0].code == "program-deadline"
    assert left("35.7654") + left("36.7654") == []


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -SEGV $$", -11), ("kill -XFSZ $$", -25), ("kill $$", -15)],
)
def test_codes_and_signals_are_told(script: str, code: int) -> None:
    assert run(script).exit_code == code


def test_streams_and_rights_are_as_ever() -> None:
    outcome = run("cat; id -u; id -G; echo no >&2; ls /proc/self/fd", stdin=b"in\n")
    assert outcome.stdout.split()[:3] == [b"in", b"65534", b"65534"]
    assert outcome.stderr == b"no\n"
    assert len(outcome.stdout.split()[3:]) == 4, "ls has its three streams and the folder, and nothing of the agent"


def test_a_program_that_is_missing_is_told() -> None:
    with pytest.raises(HostError) as caught:
        run_program(Command(("no-such-program",), 5), account=NOBODY, is_enclosed=True)
    assert caught.value.diagnostics[0].code == "program-missing"


def test_the_agent_stays_in_its_own_namespace() -> None:
    before = Path("/proc/self/ns/pid_for_children").readlink()
    run("exit 0")
    assert Path("/proc/self/ns/pid_for_children").readlink() == before
    assert subprocess.run(["true"], check=False).returncode == 0


def test_without_a_namespace_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_CLONE_NEWPID", 0x20000001)
    tmp_path.chmod(0o777)
    with pytest.raises(HostError) as caught:
        run(f"touch {tmp_path}/ran")
    assert caught.value.diagnostics[0].code == "program-not-enclosed"
    assert not list(tmp_path.iterdir())


def test_it_ends_with_the_agent() -> None:
    script = (
        "from datum.host.program import run_program; from datum.provider.host import Command;"
        "run_program(Command(('sh', '-c', 'setsid sleep 37.7654 & sleep 38.7654'), 60), is_enclosed=True)"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as agent:
        while not (left("37.7654") and left("38.7654")):
            time.sleep(0.01)
        agent.kill()
        agent.wait()
    while left("37.7654") + left("38.7654"):
        time.sleep(0.01)
