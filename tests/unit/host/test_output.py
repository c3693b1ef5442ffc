"""Programs with large output: streamed, judged at the end, and gone with their reader."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datum.host.output import open_output
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError


def sh(script: str, timeout: float = 20, **options: object) -> Command:
    return Command(("sh", "-c", script), timeout, **options)  # type: ignore[arg-type]


def descriptors() -> list[str]:
    return os.listdir("/proc/self/fd")  # noqa: PTH208 - names only


def is_gone(pid: int) -> bool:
    """Whether a process is no more, or soon is not."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_output_comes_as_it_is_read_and_whole() -> None:
    with open_output(sh("head -c 3000000 /dev/zero; echo end")) as stream:
        assert stream.readable()
        assert stream.read(3_000_000) == bytes(3_000_000)
        assert stream.read() == b"end\n"
        assert stream.read() == b""


def test_it_gets_a_fixed_environment_an_own_session_and_no_input() -> None:
    with open_output(sh("env | sort; cat; pwd; ps -o sid= -p $$", directory="/usr", environment={"X": "1"})) as stream:
        lines = stream.read().decode().split("\n")
    assert "LC_ALL=C.UTF-8" in lines
    assert "X=1" in lines
    assert "/usr" in lines
    assert str(os.getsid(0)) not in [line.strip() for line in lines]


def test_a_failure_at_the_end_is_no_end() -> None:
    with open_output(sh("echo some; echo sorry >&2; exit 3")) as stream:
        assert stream.read(5) == b"some\n"
        with pytest.raises(HostError, match=r"exit code 3\. It wrote: sorry"):
            stream.read()


def test_stated_exit_codes_are_success() -> None:
    with open_output(sh("echo some; exit 3", success=frozenset({3}))) as stream:
        assert stream.read() == b"some\n"
    with open_output(sh("exit 0", success=frozenset({3}))) as stream, pytest.raises(HostError, match="exit code 0"):
        stream.read()


def test_a_killed_program_is_no_end() -> None:
    with open_output(sh("echo $$; exec sleep 60")) as stream:
        os.kill(int(stream.readline()), signal.SIGKILL)
        with pytest.raises(HostError, match="SIGKILL"):
            stream.read()


def test_much_on_stderr_does_not_stop_it_and_its_last_words_are_kept() -> None:
    script = "head -c 300000 /dev/zero | tr '\\0' 'x' >&2; echo last >&2; echo out; exit 1"
    with open_output(sh(script)) as stream:
        assert stream.readline() == b"out\n"
        with pytest.raises(HostError, match="xlast") as caught:
            stream.read()
    assert len(str(caught.value)) < 3000


def test_last_words_behind_much_that_was_never_read_are_kept(tmp_path: Path) -> None:
    written = tmp_path / "written"
    script = f"head -c 60000 /dev/zero | tr '\\0' 'x' >&2; echo last >&2; echo out; : > '{written}'; exit 1"
    with open_output(sh(script)) as stream:
        while not written.exists():
            time.sleep(0.01)
        with pytest.raises(HostError, match="xlast") as caught:
            stream.read()
    assert len(str(caught.value)) < 3000


def test_closed_stderr_is_not_asked_again() -> None:
    with open_output(sh("exec 2>&-; sleep 0.2; echo out")) as stream:
        assert stream.read() == b"out\n"


def test_silence_is_an_error_and_ends_it() -> None:
    stream = open_output(sh("echo $$; exec sleep 60", timeout=0.3))
    pid = int(stream.readline())
    with pytest.raises(HostError, match=r"wrote nothing for 0\.3 s") as caught:
        stream.read()
    assert caught.value.failure is FailureCause.DEADLINE
    stream.close()
    assert is_gone(pid)


def test_one_that_closes_its_output_and_goes_on_is_killed() -> None:
    with open_output(sh("echo $$; exec >&- 2>&-; exec sleep 60", timeout=0.3)) as stream:
        pid = int(stream.readline())
        with pytest.raises(HostError, match="SIGKILL"):
            stream.read()
    assert is_gone(pid)


def test_closing_early_kills_it_and_its_children() -> None:
    stream = open_output(sh("sleep 60 & echo $! $$; exec yes"))
    pids = [int(word) for word in stream.readline().split()]
    stream.close()
    stream.close()
    assert [is_gone(pid) for pid in pids] == [True, True]


def test_a_stream_that_is_forgotten_leaves_nothing() -> None:
    stream = open_output(sh("echo $$; exec yes"))
    pid = int(stream.readline())
    before = len(descriptors())
    del stream
    assert is_gone(pid)
    assert len(descriptors()) < before


def test_it_ends_when_its_reader_is_killed() -> None:
    script = (
        "import sys; from datum.host.output import open_output; from datum.provider.host import Command;"
        "stream = open_output(Command(('sh', '-c', 'echo $$; exec yes'), 60));"
        "print(stream.readline().decode(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        pid = int(reader.stdout.readline())
        reader.kill()
    assert is_gone(pid)


@pytest.mark.parametrize("argv", [("/usr/bin/no-such-tool",), ("echo", "a\0b")])
def test_what_cannot_be_started_is_said_at_once(argv: tuple[str, ...]) -> None:
    before = descriptors()
    with pytest.raises(HostError, match="cannot be run"):
        open_output(Command(argv, 5))
    assert descriptors() == before


def test_a_directory_that_cannot_be_entered_is_said(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="No such file"):
        open_output(sh("true", directory=str(tmp_path / "gone")))
