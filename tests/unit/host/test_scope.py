"""Programs that must not end in the middle, where there is no service manager: children that nothing ends."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from datum.host.deadline import Deadline, no_deadline
from datum.host.names import Account
from datum.host.scope import run_scoped
from datum.provider.host import Command, HostError


@pytest.fixture(autouse=True)
def no_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no scope on this machine, whatever its process 1 is."""
    monkeypatch.setattr("datum.host.scope.is_booted", lambda: False)


def run(command: Command, **options: Any) -> tuple[int, bytes, bytes]:
    outcome = run_scoped(command, **options)
    return outcome.exit_code, outcome.stdout, outcome.stderr


def scoped(script: str, *, timeout: float = 60, stdin: bytes = b"") -> Command:
    return Command(("sh", "-c", script), timeout, stdin=stdin, scope="datum-test")


def test_it_gets_its_input_and_its_output_is_returned() -> None:
    assert run(scoped("cat; echo oops >&2", stdin=b"given")) == (0, b"given", b"oops\n")
    assert run(evolve(scoped("exit 3"), success=frozenset({3}))) == (3, b"", b"")
    with pytest.raises(HostError, match=r"ended with exit code 3\. It wrote: why"):
        run(scoped("echo why; exit 3"))
    with pytest.raises(HostError, match="ended by SIGKILL"):
        run(scoped("kill -9 $$"))


def test_it_is_in_a_session_of_its_own_and_has_nothing_open_but_files() -> None:
    _code, out, _err = run(scoped("ps -o sid= -p $$; echo $$; ls -l /proc/$$/fd"))
    session, pid, *files = out.decode().splitlines()
    assert session.strip() == pid
    assert sum("memfd:" in line for line in files) == 3
    assert all("memfd:" in line or "->" not in line for line in files)


def test_long_output_is_cut_and_its_end_is_kept() -> None:
    outcome = run_scoped(scoped("head -c 2000000 /dev/zero"))
    assert outcome.is_cut
    assert len(outcome.stdout) == 1 << 20
    with pytest.raises(HostError) as caught:
        run(scoped("head -c 2000000 /dev/zero; echo; echo end; exit 1"))
    assert caught.value.detail.endswith("\nend")


def test_its_timeout_is_told_once_and_ends_nothing() -> None:
    told: list[str] = []
    slow = scoped("sleep 0.3; echo whole", timeout=0.05)
    assert run(slow, late=lambda: told.append("late")) == (0, b"whole\n", b"")
    assert told == ["late"]
    assert run(slow) == (0, b"whole\n", b"")


def test_no_deadline_interrupts_it_and_what_is_left_of_one_still_counts() -> None:
    with pytest.raises(HostError, match="It took longer"), Deadline(0.2):
        assert run(scoped("sleep 0.5; echo whole"))[1] == b"whole\n"
        time.sleep(60)


def test_without_a_deadline_there_is_none_afterwards() -> None:
    with no_deadline():
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_it_outlives_who_started_it(tmp_path: Path) -> None:
    begun, go, done = tmp_path / "begun", tmp_path / "go", tmp_path / "done"
    script = f"touch {begun}; while ! test -e {go}; do sleep 0.01; done; echo x; echo x >&2; touch {done}"
    agent = os.fork()
    if not agent:
        try:
            run(scoped(script))
        finally:
            os._exit(0)
    wait_for(begun)
    os.kill(agent, signal.SIGKILL)
    os.waitpid(agent, 0)
    go.touch()
    wait_for(done)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_below_another_root_it_runs_there(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot be run"):
        run(scoped("true"), root=str(tmp_path))


def test_it_runs_as_the_user_that_it_is_told(tmp_path: Path) -> None:
    account = Account("it", os.getuid(), os.getgid(), str(tmp_path))
    assert run(scoped("echo $HOME $USER"), account=account)[1] == f"{tmp_path} it\n".encode()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (Command(("no-such-program",), 60, scope="datum-test"), "program-missing"),
        (Command(("true",), 60, scope="datum-test", directory="/no/such/place"), "program-refused"),
        (Command(("true",), 60, scope="a b"), "program-refused"),
        (Command(("true\0",), 60, scope="datum-test"), "program-refused"),
    ],
)
def test_what_cannot_be_run_says_so(command: Command, code: str) -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(HostError) as caught:
        run(command)
    assert caught.value.diagnostics[0].code == code
    assert sorted(Path("/proc/self/fd").iterdir()) == before
