"""The pass lock among processes: one at a time, equal ones share, nobody's death matters."""

import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from datum.diagnostics import SourceLocation
from datum.errors import ExitCode, PassInProgressError, StateError
from datum.model.result import PassOutcome
from datum.model.trigger import Asked, Trigger, TriggerKind
from datum.state import lock as lock_module
from datum.state import turns as turns_module
from datum.state.lock import JoinedPass, PassLock, SharedOutcome, _Request, acquire
from datum.state.progress import read_progress
from datum.state.turns import HeldFile, Queue, Role, Turn, next_ticket

FORK = multiprocessing.get_context("fork")
OUTCOME = SharedOutcome(PassOutcome.CONVERGED, 0, "20260101T000000Z-1")
BOUND = 60.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_module, "_POLL", 0.005)


@pytest.fixture
def processes() -> Iterator[list[BaseProcess]]:
    started: list[BaseProcess] = []
    yield started
    for process in started:
        process.kill()
        process.join()


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + BOUND
    while not holds():
        assert time.monotonic() < limit, "what was waited for did not happen"
        time.sleep(0.005)


def queue_names(state: Path) -> list[str]:
    """Return the names in the queue's folder, without touching anything."""
    folder = state / "run" / "queue"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def queued(state: Path) -> list[Turn]:
    return sorted(turn for turn in map(Turn.parse, queue_names(state)) if turn is not None)


def roles(state: Path) -> list[str]:
    return [turn.role.name for turn in queued(state)]


def running(answer: PassLock | JoinedPass | None) -> PassLock:
    assert isinstance(answer, PassLock)
    return answer


def taken(state: Path, key: str) -> PassLock:
    return running(acquire(state, key, wait=BOUND))


def step(request: _Request) -> PassLock | JoinedPass | None:
    """Look once, as soon as nobody else does."""
    limit = time.monotonic() + BOUND
    while time.monotonic() < limit:
        with request.queue.mutex() as is_still:
            if is_still:
                return request.step()
    raise AssertionError("the queue was never free")


# --- workers ---


def note(state: Path, text: str) -> None:
    with (state.parent / "log").open("a") as log:
        log.write(f"{os.getpid()} {text}\n")


def notes(state: Path, what: str) -> list[int]:
    log = state.parent / "log"
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [int(line[0]) for line in lines if line[1] == what]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def work(state: Path, key: str, gate: Path | None) -> None:
    """One request: runs its pass alone, which it checks by means of its own, or joins one."""
    answer = acquire(state, key, wait=BOUND)
    if isinstance(answer, JoinedPass):
        note(state, f"joined {answer.pid} {answer.outcome.outcome}")
        return
    note(state, "began")
    inside = state.parent / "inside"
    if inside.exists() and is_alive(int(inside.read_text() or 0)):
        note(state, "overlap")
    inside.write_text(str(os.getpid()))
    if gate is not None:
        until(gate.exists)
    note(state, f"companions {len(answer.companions)}")
    inside.unlink()
    answer.finish(OUTCOME)
    answer.release()
    note(state, "ended")


def start(started: list[BaseProcess], state: Path, key: str, gate: Path | None = None) -> BaseProcess:
    process = FORK.Process(target=work, args=(state, key, gate))
    process.start()
    started.append(process)
    return process


def join(started: list[BaseProcess]) -> None:
    for process in started:
        process.join(BOUND)
        assert process.exitcode is not None, "a request never came to its end"


# --- twenty at once ---


def test_twenty_different_requests_run_one_at_a_time(state: Path, processes: list[BaseProcess]) -> None:
    for number in range(20):
        start(processes, state, f"key {number}")
    join(processes)
    assert {process.exitcode for process in processes} == {0}
    assert len(notes(state, "began")) == 20
    assert notes(state, "overlap") == []
    assert queued(state) == []


def test_different_requests_run_in_the_order_of_their_arrival(state: Path, processes: list[BaseProcess]) -> None:
    holder = taken(state, "first")
    for number in range(6):
        start(processes, state, f"key {number}")
        until(lambda expected=number + 1: roles(state).count("WAITING") == expected)  # type: ignore[misc]
    holder.release()
    join(processes)
    assert notes(state, "began") == [process.pid for process in processes]


def test_twenty_equal_requests_beside_a_running_pass_are_one_pass(state: Path, processes: list[BaseProcess]) -> None:
    holder = taken(state, "same")
    for _ in range(20):
        start(processes, state, "same")
    until(lambda: len(queued(state)) == 21)
    assert sorted(roles(state)) == ["JOINED"] * 19 + ["RUNNING", "WAITING"]
    assert holder.companions == ()
    holder.release()
    join(processes)
    assert {process.exitcode for process in processes} == {0}
    assert len(notes(state, "began")) == 1
    assert len(notes(state, "joined")) == 19
    assert f"joined {notes(state, 'began')[0]} converged" in (state.parent / "log").read_text()
    assert "companions 19" in (state.parent / "log").read_text()


def test_twenty_equal_requests_at_once_are_two_passes(state: Path, processes: list[BaseProcess]) -> None:
    gate = state.parent / "gate"
    for _ in range(20):
        start(processes, state, "same", gate)
    until(lambda: len(queued(state)) == 20 and "RUNNING" in roles(state))
    gate.touch()
    join(processes)
    assert len(notes(state, "began")) == 2
    assert len(notes(state, "joined")) == 18
    assert notes(state, "overlap") == []


# --- deaths ---


def test_the_death_of_the_holder_lets_the_next_run(state: Path, processes: list[BaseProcess]) -> None:
    never = state.parent / "never"
    holder = start(processes, state, "one", never)
    until(lambda: "RUNNING" in roles(state))
    waiter = start(processes, state, "two")
    until(lambda: len(queued(state)) == 2)
    holder.kill()
    waiter.join(BOUND)
    assert waiter.exitcode == 0
    assert queued(state) == []


def test_the_death_of_a_waiter_leaves_the_others_in_order(state: Path, processes: list[BaseProcess]) -> None:
    holder = taken(state, "first")
    waiters = [start(processes, state, "0")]
    for number in range(1, 3):
        until(lambda expected=number: len(queued(state)) == expected + 1)  # type: ignore[misc]
        waiters.append(start(processes, state, f"{number}"))
    until(lambda: len(queued(state)) == 4)
    waiters[0].kill()
    waiters[0].join()
    holder.release()
    join(waiters)
    assert notes(state, "began") == [waiters[1].pid, waiters[2].pid]


@pytest.mark.parametrize("is_running", [False, True])
def test_who_joined_a_request_that_died_takes_over(state: Path, processes: list[BaseProcess], is_running: bool) -> None:
    holder = taken(state, "first")
    joined = start(processes, state, "same", state.parent / "never")
    until(lambda: len(queued(state)) == 2)
    riders = [start(processes, state, "same") for _ in range(3)]
    until(lambda: len(queued(state)) == 5)
    if is_running:
        holder.release()
        until(lambda: notes(state, "began") == [joined.pid])
    joined.kill()
    joined.join()
    holder.release()
    join(riders)
    assert {rider.exitcode for rider in riders} == {0}
    answered = [pid for pid in notes(state, "began") + notes(state, "joined") if pid != joined.pid]
    assert sorted(answered) == sorted(rider.pid or 0 for rider in riders)
    assert notes(state, "overlap") == []


def test_the_death_of_one_that_joined_is_nobodys_concern(state: Path, processes: list[BaseProcess]) -> None:
    holder = taken(state, "first")
    waiter = start(processes, state, "same")
    until(lambda: len(queued(state)) == 2)
    dead, alive = start(processes, state, "same"), start(processes, state, "same")
    until(lambda: len(queued(state)) == 4)
    dead.kill()
    dead.join()
    holder.release()
    join([waiter, alive])
    assert notes(state, "began") == [waiter.pid]
    assert notes(state, "joined") == [alive.pid]
    assert "companions 1\n" in (state.parent / "log").read_text()


def test_any_deaths_at_any_time_leave_the_survivors_served(state: Path, processes: list[BaseProcess]) -> None:
    chance = random.Random(7)
    for number in range(20):
        start(processes, state, f"key {number % 4}")
    killed = chance.sample(processes, 10)
    for process in killed:
        time.sleep(chance.random() * 0.03)
        process.kill()
    join(processes)
    survivors = [process for process in processes if process not in killed]
    assert {process.exitcode for process in survivors} == {0}
    served = set(notes(state, "ended")) | set(notes(state, "joined"))
    assert {process.pid for process in survivors} <= served
    assert notes(state, "overlap") == []
    taken(state, "afterwards").release()
    assert set(queue_names(state)) <= {"mutex", "new"}


def fork_doomed(number: int, run: Callable[[Callable[[], None]], None]) -> int:
    """Fork a child that kills itself at its `number`th call into C after `run` called what it is given."""
    child = os.fork()
    if child:
        return child
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "c_call"
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        run(lambda: sys.setprofile(count))
        code = 0
    finally:
        os._exit(code)


def is_dead(child: int) -> bool:
    """Wait for the child; return whether it was killed before its end."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}
    return code != 0


def test_a_request_killed_at_any_instant_of_its_life_stops_nobody(state: Path) -> None:
    def live(arm: Callable[[], None]) -> None:
        arm()
        answer = running(acquire(state, "same", wait=BOUND))
        answer.show("planner")
        answer.release()

    points = 1
    while is_dead(fork_doomed(points, live)):
        points += 1
        assert read_progress(state) is None
        taken(state, "same").release()
    assert points > 60


def test_one_that_joins_killed_at_any_instant_leaves_the_joined_one(state: Path) -> None:
    def enter(arm: Callable[[], None]) -> None:
        arm()
        step(_Request(state, "same"))

    points, died = 0, True
    while died:
        points += 1
        holder, waiter = taken(state, "first"), _Request(state, "same")
        assert step(waiter) is None
        died = is_dead(fork_doomed(points, enter))
        holder.release()
        answer = running(step(waiter))
        assert answer.companions == ()
        answer.release()
    assert points > 30


def test_a_pass_killed_at_any_instant_of_its_end_leaves_its_outcome_or_its_place(state: Path) -> None:
    def end(arm: Callable[[], None]) -> None:
        holder, mine = taken(state, "first"), _Request(state, "same")
        step(mine)
        until(lambda: len(queued(state)) == 3)
        holder.release()
        answer = running(step(mine))
        assert len(answer.companions) == 1
        arm()
        answer.finish(OUTCOME)
        answer.release()

    answers: list[PassLock | JoinedPass] = []
    died = True
    while died:
        child = fork_doomed(len(answers) + 1, end)
        until(lambda: roles(state) == ["RUNNING", "WAITING"])
        rider = _Request(state, "same")
        answer = step(rider)
        died = is_dead(child)
        answer = answer or step(rider)
        assert answer is not None
        answers.append(answer)
        if isinstance(answer, PassLock):
            answer.release()
    assert {type(answer) for answer in answers} == {PassLock, JoinedPass}
    assert len(answers) > 20


def test_a_child_that_outlives_the_holder_does_not_keep_the_lock(state: Path, processes: list[BaseProcess]) -> None:
    def hold_and_fork() -> None:
        held = taken(state, "one")
        child = os.fork()
        if child == 0:
            held.release()
            time.sleep(BOUND)
            os._exit(0)
        (state.parent / "child.part").write_text(str(child))
        (state.parent / "child.part").rename(state.parent / "child")
        time.sleep(BOUND)

    holder = FORK.Process(target=hold_and_fork)
    holder.start()
    processes.append(holder)
    until((state.parent / "child").exists)
    child = int((state.parent / "child").read_text())
    try:
        assert roles(state) == ["RUNNING"]
        with pytest.raises(PassInProgressError):
            acquire(state, "two", wait=0)
        holder.kill()
        holder.join()
        assert is_alive(child)
        taken(state, "two").release()
    finally:
        os.kill(child, signal.SIGKILL)


# --- one process ---


def test_the_free_lock_is_had_without_waiting_and_leaves_nothing(state: Path) -> None:
    with running(acquire(state, "one", wait=0)) as held:
        assert held.companions == ()
        assert roles(state) == ["RUNNING"]
        held.finish(OUTCOME)
    held.release()
    assert queue_names(state) == ["mutex"]
    assert (state / "lock").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    taken(state, "two").release()


def test_passes_of_two_state_directories_take_turns_where_they_share_a_host(tmp_path: Path, state: Path) -> None:
    """Who waits says for which one; a killed one keeps nobody waiting; and below other roots there is no such lock."""
    other, host = tmp_path / "other", tmp_path / "host.lock"
    with running(acquire(state, "one", wait=0, host_lock=host)):
        with pytest.raises(PassInProgressError) as caught:
            acquire(other, "one", wait=0, host_lock=host)
        assert f"a pass with the state directory {state} comes first" in str(caught.value)
        assert f"`datum status --state-dir {state}`" in caught.value.diagnostics[0].hint
        assert queued(other) == []
        running(acquire(other, "one", wait=0)).release()
    running(acquire(other, "one", wait=0, host_lock=host)).release()
    child = os.fork()
    if not child:
        try:
            acquire(state, "one", wait=0, host_lock=host)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with running(acquire(other, "one", wait=0, host_lock=host)):
        assert host.read_text().startswith(f"{other}\n")
    assert host.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(host)
    for unusable in (tmp_path / "none" / "host.lock", tmp_path / "link"):
        with pytest.raises(StateError) as broken:
            acquire(state, "one", wait=0, host_lock=unusable)
        (found,) = broken.value.diagnostics
        assert found.hint.startswith(f"remove {unusable} unless")
        assert found.location == SourceLocation(str(unusable))
    with running(acquire(state, "one", wait=0)):
        pass


def test_who_waits_for_another_state_directory_leaves_no_trace_of_each_attempt(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty times a second it took its own lock, and left a function that every later fork called."""
    other, host = tmp_path / "other", tmp_path / "host.lock"
    hooks: list[object] = []
    asked: list[bool] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **functions: hooks.append(functions))

    def stopped() -> bool:
        asked.append((other / "lock").exists())
        return len(asked) == 5

    with running(acquire(state, "one", wait=0, host_lock=host)):
        assert len(hooks) == 3
        hooks.clear()
        with pytest.raises(PassInProgressError):
            acquire(other, "one", wait=None, stopped=stopped, host_lock=host)
    assert (asked, len(hooks)) == ([False] * 5, 1)


def test_what_fails_after_the_lock_was_taken_gives_it_back(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(errno.EIO, "nothing can be read")

    with monkeypatch.context() as patched:
        patched.setattr(_Request, "_companions", fail)
        with pytest.raises(StateError):
            acquire(state, "one", wait=0)
    assert queue_names(state) == ["mutex"]
    running(acquire(state, "one", wait=0)).release()


def test_a_request_whose_turn_does_not_come_is_75_and_leaves_the_queue(state: Path) -> None:
    held = taken(state, "one")
    with pytest.raises(PassInProgressError) as caught:
        acquire(state, "two", wait=0.02)
    assert caught.value.exit_code is ExitCode.TEMPFAIL
    assert "0.02 s" in str(caught.value)
    assert len(queued(state)) == 1
    held.show("observer")
    with pytest.raises(PassInProgressError) as caught:
        acquire(state, "two", wait=0)
    assert f"process {os.getpid()} (observer)" in str(caught.value)


def test_a_signal_ends_the_wait(state: Path) -> None:
    held = taken(state, "one")
    answers = iter([False, False, True])
    with pytest.raises(PassInProgressError):
        acquire(state, "two", wait=None, stopped=lambda: next(answers))
    held.release()


def test_an_exception_while_waiting_leaves_the_queue(state: Path) -> None:
    held = taken(state, "one")

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acquire(state, "two", wait=None, stopped=interrupt)
    assert roles(state) == ["RUNNING"]
    held.release()


def test_who_joined_waits_for_the_end_of_a_pass_that_began_in_time(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, waiter = taken(state, "first"), _Request(state, "same")
    step(waiter)
    now = 0.0
    mine: list[PassLock] = []
    monkeypatch.setattr(lock_module, "time", SimpleNamespace(monotonic=lambda: now, sleep=lambda _seconds: None))

    def advance() -> bool:
        nonlocal now
        if not mine:
            holder.release()
            mine.append(running(step(waiter)))
        elif now == 0.0:
            now = 1000.0
        else:
            mine[0].finish(OUTCOME)
            mine[0].release()
        return False

    answer = acquire(state, "same", wait=10, stopped=advance)
    assert answer == JoinedPass(os.getpid(), OUTCOME)
    assert mine[0].companions == (Asked(pid=os.getpid()),)


def test_the_queue_itself_may_be_in_use_for_a_while(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state / "run" / "queue").mkdir(parents=True)
    mutex = HeldFile.take(state / "run" / "queue" / "mutex")
    assert mutex is not None
    answers = iter([False, False])

    def let_go() -> bool:
        if next(answers, None) is None:
            mutex.release()
        return False

    running(acquire(state, "one", wait=0, stopped=let_go)).release()
    assert HeldFile.take(state / "run" / "queue" / "mutex") is not None
    monkeypatch.setattr(lock_module, "_GRACE", 0.0)
    with pytest.raises(PassInProgressError):
        acquire(state, "one", wait=0)


def test_an_emptied_run_folder_costs_a_waiting_request_its_place_only(state: Path) -> None:
    holder, waiter = taken(state, "first"), _Request(state, "same")
    rider = _Request(state, "same")
    assert (step(waiter), step(rider)) == (None, None)
    shutil.rmtree(state / "run")
    holder.show("observer")
    holder.finish(OUTCOME)
    assert (step(rider), step(waiter)) == (None, None)
    assert roles(state) == ["WAITING", "JOINED"]
    holder.release()
    answer = running(step(rider))
    assert len(answer.companions) == 1
    shutil.rmtree(state / "run")
    answer.finish(OUTCOME)
    answer.release()
    running(step(waiter)).release()


def test_a_deleted_lock_file_is_made_again(state: Path) -> None:
    taken(state, "one").release()
    (state / "lock").unlink()
    shutil.rmtree(state / "run")
    taken(state, "one").release()
    assert (state / "lock").exists()


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"pid": 1, "outcome": "?"}', b'{"pid": 1, "outcome": "failed", "more": 1}']
)
def test_a_spoilt_result_is_none(state: Path, content: bytes) -> None:
    holder, waiter, rider = taken(state, "first"), _Request(state, "same"), _Request(state, "same")
    step(waiter)
    step(rider)
    holder.release()
    running(step(waiter)).release()
    ticket = queued(state)[0].partner
    (state / "run" / "queue" / f"{ticket:010d}.result").write_bytes(content)
    running(step(rider)).release()


def test_riders_of_a_dead_request_gather_behind_the_first_of_them(state: Path) -> None:
    holder, waiter = taken(state, "first"), _Request(state, "same")
    riders = [_Request(state, "same") for _ in range(3)]
    for request in (waiter, *riders):
        assert step(request) is None
    waiter.withdraw()
    for request in riders:
        assert step(request) is None
    assert roles(state) == ["RUNNING", "WAITING", "JOINED", "JOINED"]
    holder.release()
    answer = running(step(riders[0]))
    assert len(answer.companions) == 2
    answer.finish(OUTCOME)
    answer.release()
    assert step(riders[1]) == step(riders[2]) == JoinedPass(os.getpid(), OUTCOME)


def test_a_free_lock_is_left_to_who_came_first(state: Path) -> None:
    holder, first, second = taken(state, "one"), _Request(state, "two"), _Request(state, "three")
    assert (step(first), step(second)) == (None, None)
    holder.release()
    assert step(second) is None
    running(step(first)).release()
    running(step(second)).release()


def test_results_that_nobody_waits_for_are_removed(state: Path) -> None:
    folder = state / "run" / "queue"
    folder.mkdir(parents=True)
    for name in ("0000000001.result", "0000000001.part", "new", "0000000007.w.1.0123456789abcdef.0000000000"):
        (folder / name).touch()
    taken(state, "one").release()
    assert queue_names(state) == ["mutex"]


def test_a_state_directory_that_is_none_is_74(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StateError) as caught:
        acquire(tmp_path / "state", "one", wait=0)
    assert caught.value.exit_code is ExitCode.IOERR
    assert caught.value.diagnostics[0].code == "lock-unusable"


def test_a_lock_that_is_a_link_is_74_and_leaves_the_queue(state: Path) -> None:
    state.mkdir()
    (state / "lock").symlink_to("/dev/null")
    with pytest.raises(StateError):
        acquire(state, "one", wait=0)
    assert queued(state) == []


def test_a_turn_that_cannot_be_told_to_others_is_given_back(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Turn:
        raise PermissionError

    monkeypatch.setattr(Queue, "change", fail)
    with pytest.raises(StateError):
        acquire(state, "one", wait=0)
    monkeypatch.undo()
    taken(state, "one").release()


def test_a_result_that_cannot_be_written_does_not_fail_the_pass(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, waiter, rider = taken(state, "first"), _Request(state, "same"), _Request(state, "same")
    step(waiter)
    step(rider)
    holder.release()
    answer = running(step(waiter))

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    answer.finish(OUTCOME)
    answer.show("report")
    answer.release()
    running(step(rider)).release()


def test_who_died_while_it_was_counted_is_not_named(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, waiter, rider = taken(state, "first"), _Request(state, "same"), _Request(state, "same")
    step(waiter)
    step(rider)
    holder.release()
    noted = Queue.noted

    def vanish(self: Queue, turn: Turn) -> bytes | None:
        (self.folder / str(turn)).unlink()
        return noted(self, turn)

    monkeypatch.setattr(Queue, "noted", vanish)
    assert running(step(waiter)).companions == ()


# --- turns ---


def test_a_turn_survives_its_name() -> None:
    turn = Turn(3, Role.JOINED, 4711, "0123456789abcdef", 2)
    assert Turn.parse(str(turn)) == turn
    assert Turn.parse("mutex") is None


def test_tickets_follow_everything_in_use() -> None:
    assert next_ticket(()) == 1
    assert next_ticket((Turn(3, Role.JOINED, 1, "0" * 16, 9), Turn(5, Role.WAITING, 1, "0" * 16))) == 10


def test_the_lock_of_a_file_that_lost_its_name_meanwhile_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    real = turns_module._try_lock

    def lose_it_once(descriptor: int, kind: int) -> bool:
        monkeypatch.setattr(turns_module, "_try_lock", real)
        path.unlink()
        return real(descriptor, kind)

    monkeypatch.setattr(turns_module, "_try_lock", lose_it_once)
    held = HeldFile.take(path)
    assert held is not None
    assert held.is_at(path)
    assert HeldFile.take(path) is None
    held.release()
    assert not held.is_at(path)


# --- progress ---


def test_progress_is_shown_while_the_pass_lives_and_not_longer(state: Path) -> None:
    assert read_progress(state) is None
    held = taken(state, "one")
    assert read_progress(state) is None
    held.show("repository", started_at="2026-01-01T00:00:00Z")
    held.show("reconciler", "update file:/etc/motd")
    shown = read_progress(state)
    assert shown is not None
    assert (shown.pid, shown.stage, shown.action) == (os.getpid(), "reconciler", "update file:/etc/motd")
    assert shown.started_at == "2026-01-01T00:00:00Z"
    assert shown.started <= shown.since <= time.monotonic()
    left = (state / "run" / "progress.json").read_bytes()
    held.release()
    assert read_progress(state) is None
    (state / "run" / "progress.json").write_bytes(left)
    assert read_progress(state) is None


def test_looking_at_the_progress_disturbs_nobody(state: Path) -> None:
    with taken(state, "one") as held:
        held.show("observer")
        before = queue_names(state)
        assert read_progress(state) is not None
        assert queue_names(state) == before
        with pytest.raises(PassInProgressError):
            acquire(state, "two", wait=0)


def test_a_shorter_record_leaves_nothing_of_a_longer_one(state: Path) -> None:
    """It is written in place: each action in turn, with no new name for any."""
    with taken(state, "one") as held:
        held.show("reconciler", "update file:/etc/" + "a" * 300)
        inode = (state / "run" / "progress.json").stat().st_ino
        for action in ("update file:/b", "", "update file:/" + "c" * 400, "update file:/d"):
            held.show("reconciler", action)
            shown = read_progress(state)
            assert shown is not None
            assert shown.action == action
        assert (state / "run" / "progress.json").stat().st_ino == inode


def test_a_record_that_is_half_written_is_read_again(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with taken(state, "one") as held:
        held.show("reconciler", "update file:/a")
        whole = (state / "run" / "progress.json").read_bytes()
        readings = [whole[:20], whole[:40] + b"}" * 9]
        real = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path: readings.pop(0) if readings else real(path))
        shown = read_progress(state)
        assert shown is not None
        assert shown.action == "update file:/a"
        readings += [bytes([number]) for number in range(20)]
        assert read_progress(state) is None


@pytest.mark.parametrize(
    "change", [{"request": "../../pointer.json"}, {"request": 1}, {"stage": None}, {"since": "x"}, {"extra": 1}, None]
)
def test_spoilt_progress_is_none(state: Path, change: dict[str, object] | None) -> None:
    with taken(state, "one") as held:
        held.show("observer")
        path = state / "run" / "progress.json"
        path.write_text("{" if change is None else json.dumps(json.loads(path.read_bytes()) | change))
        assert read_progress(state) is None


# --- who asked ---


def test_who_joined_is_told_with_when_they_asked(state: Path) -> None:
    alice = Asked(Trigger(TriggerKind.OPERATOR, "alice"), "2026-11-29T03:15:00Z")
    timer = Asked(Trigger(TriggerKind.TIMER), "2026-11-29T03:20:00Z")
    holder = taken(state, "first")
    waiter, *riders = [_Request(state, "same", asked) for asked in (Asked(), alice, timer)]
    for request in (waiter, *riders):
        step(request)
    holder.release()
    held = running(step(waiter))
    assert held.companions == tuple(Asked(asked.trigger, asked.at, os.getpid()) for asked in (alice, timer))
    for request in riders:
        request.withdraw()
    held.release()


@pytest.mark.parametrize(
    "note", [b"", b"{", b"[]", b"null", b'{"kind": "cron", "who": "", "at": ""}', b'{"kind": "timer"}', b"\xff"]
)
def test_a_note_that_says_nothing_is_of_somebody_who_is_not_known(state: Path, note: bytes) -> None:
    """Another version wrote it, or the disk was full: nothing is decided on it."""
    holder, waiter, rider = taken(state, "first"), _Request(state, "same"), _Request(state, "same")
    step(waiter)
    step(rider)
    (turn,) = [turn for turn in queued(state) if turn.role is Role.JOINED]
    (state / "run" / "queue" / str(turn)).write_bytes(note)
    holder.release()
    held = running(step(waiter))
    assert held.companions == (Asked(pid=os.getpid()),)
    rider.withdraw()
    held.release()


def test_a_note_that_cannot_be_written_keeps_no_request_from_its_turn(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", refuse)
    taken(state, "one").release()
