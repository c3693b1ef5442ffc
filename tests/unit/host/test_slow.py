"""Slow mounts: answers within a deadline, and a child that hangs is left behind for good."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from datum.errors import InternalError
from datum.host import slow
from datum.host.slow import SlowReader, serve
from datum.model.observation import Cause, Scope
from datum.model.result import FailureCause
from datum.provider.host import Below, FileFacts, FileKind, HostError, Missing
from tests.unit.host.in_child import in_child, names

FACTS = FileFacts(kind=FileKind.REGULAR, mode="0644", uid=1, gid=2, size=3, blob="ab")


@frozen
class Reader:
    """Answers by the name it is asked for; `hang` opens a FIFO that nobody writes."""

    fifo: str = ""

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        if path.endswith("/hang"):
            os.close(os.open(self.fifo, os.O_RDONLY))
        if path.endswith("/denied"):
            raise HostError("no entry", code="denied", cause=Cause.DENIED, failure=FailureCause.BUSY, hint="ask")
        if path.endswith("/sick"):
            raise HostError("broken", cause=Cause.IO)
        if path.endswith("/bug"):
            raise ZeroDivisionError
        if path.endswith("/die"):
            os.kill(os.getpid(), signal.SIGKILL)
        return FACTS if blob == "sha1" else Missing(path)

    def read_file(self, path: str, *, limit: int) -> bytes:
        return b"x" * limit

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        if leftovers:
            return (".x.datum~.dpkg-tmp",)
        return (str(os.getpid()), *names("/proc/self/fd"))

    def below(self, path: str, *, limit: int) -> Below:
        return Below((f"{path}/{limit}",), (path,))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[SlowReader]:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    with SlowReader(lambda: Reader(fifo), 0.5, lambda path: "/" + path.split("/")[1]) as found:
        yield found
    # an abandoned child of the test goes when its FIFO gets a writer
    os.close(os.open(fifo, os.O_RDWR))


def test_answers_come_through(reader: SlowReader) -> None:
    assert reader.examine("/m/a") == Missing("/m/a")
    assert reader.examine("/m/a", blob="sha1") == FACTS
    assert reader.read_file("/m/a", limit=3_000_000) == b"x" * 3_000_000
    assert reader.below("/m/a", limit=3) == Below(("/m/a/3",), ("/m/a",))


def test_one_child_serves_a_mount_and_each_mount_has_its_own(reader: SlowReader) -> None:
    assert reader.list_directory("/m/a", leftovers=True) == (".x.datum~.dpkg-tmp",)
    first, again, other = (reader.list_directory(path)[0] for path in ("/m/a", "/m/b", "/n/a"))
    assert first == again != other
    assert str(os.getpid()) not in {first, other}


def test_a_refusal_comes_through_whole_and_is_never_the_fault_of_the_host(reader: SlowReader) -> None:
    with pytest.raises(HostError) as raised:
        reader.examine("/m/denied")
    error = raised.value
    assert (error.detail, error.cause, error.failure) == ("no entry", Cause.DENIED, FailureCause.BUSY)
    assert (error.diagnostics[0].code, error.diagnostics[0].hint) == ("denied", "ask")
    with pytest.raises(HostError) as raised:
        reader.examine("/m/sick")
    answer = raised.value.unobservable()
    assert (answer.cause, answer.scope, answer.discounted) == (Cause.IO, Scope.RESOURCE, True)
    assert reader.examine("/m/a") == Missing("/m/a")


def test_a_bug_in_the_reader_is_told_as_one(reader: SlowReader) -> None:
    with pytest.raises(InternalError, match=r"examine of '/m/bug': ZeroDivisionError\(\)"):
        reader.examine("/m/bug")


def test_a_hanging_look_ends_at_the_deadline_and_the_mount_is_given_up(reader: SlowReader) -> None:
    pid = int(reader.list_directory("/m/a")[0])
    started = time.monotonic()
    with pytest.raises(HostError) as raised:
        reader.examine("/m/hang")
    assert 0.4 < time.monotonic() - started < 5
    error = raised.value
    assert (error.cause, error.failure, error.discounted) == (Cause.DEADLINE, FailureCause.DEADLINE, True)
    assert error.detail == "The file system at /m does not answer: '/m/hang' gave no answer within 0.5 s."
    started = time.monotonic()
    for _time in range(100):
        with pytest.raises(HostError, match="The file system at /m does not answer: '/m/hang' gave no answer"):
            reader.examine("/m/other")
    assert time.monotonic() - started < 0.4
    assert reader.examine("/n/a") == Missing("/n/a")
    # nobody waits for it, so it may stand as a zombie
    for _attempt in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            break
        if state == "Z":
            os.waitpid(pid, 0)
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child was not killed")


def test_a_reader_that_hangs_while_it_is_made_is_given_up(tmp_path: Path) -> None:
    def never() -> Reader:
        time.sleep(60)
        return Reader()

    with SlowReader(never, 0.2) as reader:
        with pytest.raises(HostError, match="The file system at / does not answer"):
            reader.examine("/m/a")


def test_a_child_that_dies_gives_the_mount_up(reader: SlowReader) -> None:
    with pytest.raises(HostError, match="'/m/die' ended its reader"):
        reader.examine("/m/die")
    with pytest.raises(HostError, match="'/m/die' ended its reader"):
        reader.examine("/m/a")


def test_a_child_that_died_between_questions_gives_the_mount_up(reader: SlowReader) -> None:
    pid = int(reader.list_directory("/m/a")[0])
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(HostError, match="'/m/a' ended its reader"):
        reader.examine("/m/a")


def test_an_interrupted_look_gives_the_mount_up(reader: SlowReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The late answer would be taken for that to the next question."""

    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    reader.examine("/m/a")
    with monkeypatch.context() as patch:
        patch.setattr(slow, "_receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reader.examine("/m/a")
    with pytest.raises(HostError, match="a look at '/m/a' was interrupted"):
        reader.examine("/m/a")


def test_a_child_that_hangs_holds_no_lock_and_no_pipe(reader: SlowReader, tmp_path: Path) -> None:
    """It may outlive the pass; the lock of the pass must die with the pass."""
    reading, writing = os.pipe()
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        os.set_inheritable(writing, True)
        names = reader.list_directory("/m/a")
    os.close(writing)
    with (tmp_path / "lock").open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert os.read(reading, 1) == b""
    os.close(reading)
    # its two pipes, the three standard ones, and the listing itself
    assert len(names) - 1 <= 6


def test_closing_ends_the_children(tmp_path: Path) -> None:
    opened = names("/proc/self/fd")
    reader = SlowReader(Reader, 5)
    pid = int(reader.list_directory("/m/a")[0])
    reader.close()
    reader.close()
    assert not Path(f"/proc/{pid}").exists()
    assert names("/proc/self/fd") == opened


def test_a_child_answers_until_nobody_asks() -> None:
    """The loop of the child, in this process."""
    request_in, request_out = os.pipe()
    answer_in, answer_out = os.pipe()
    loop = threading.Thread(target=serve, args=(Reader(), request_in, answer_out))
    loop.start()
    answers = []
    for question in (("examine", "/m/a", {"blob": "sha1"}), ("examine", "/m/denied", {}), ("examine", "/m/bug", {})):
        slow._send(request_out, question)
        answers.append(slow._receive(answer_in, None)[0])
    os.close(request_out)
    loop.join(10)
    assert (answers, loop.is_alive()) == (["value", "refused", "bug"], False)
    for descriptor in (request_in, answer_in, answer_out):
        os.close(descriptor)


def test_the_road_of_a_child() -> None:
    def follow() -> tuple[int, list[str]]:
        """Go that road in this process, but for closing what `in_child` answers on."""
        request_in, request_out = os.pipe()
        os.close(request_out)
        keep = os.pipe()
        opened: list[str] = []

        def leave(code: int) -> None:
            raise SystemExit(code)

        def factory() -> Reader:
            opened.extend(names("/proc/self/fd"))
            return Reader()

        really, os._exit = os._exit, leave  # type: ignore[assignment] # this process ends soon
        keep_open, slow._keep_open = slow._keep_open, lambda *_wanted: None
        try:
            slow._be_child(factory, request_in, keep[1])
        except SystemExit as end:
            return int(str(end)), opened
        finally:
            os._exit = really
            slow._keep_open = keep_open

    code, opened = in_child(follow)
    assert code == 0
    assert opened


def test_only_the_wanted_descriptors_stay_open() -> None:
    def follow() -> tuple[bool, bool, bool]:
        kept, unwanted = os.pipe()
        others = {int(name) for name in names("/proc/self/fd")} - {unwanted}
        slow._keep_open(*others)
        null = Path(os.devnull).stat().st_rdev
        is_null = all(os.fstat(number).st_rdev == null for number in range(3))
        # the only writer of the pipe is gone
        return is_null, os.read(kept, 1) == b"", Path(f"/proc/self/fd/{unwanted}").exists()

    assert in_child(follow) == (True, True, False)
