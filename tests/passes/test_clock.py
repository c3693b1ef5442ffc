"""A clock that jumps during a pass: whatever is timed goes by one that does not (docs/timer.md, "A clock that jumps").

A test may not set the clock of its machine, so what the agent reads of it is: it jumps each time that it is read. That
nothing else reads one is a test of tests/architecture.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from datum.cli import effects
from datum.state.lock import PassLock, acquire
from tests.passes.scene import STATE, Ran, Scene

DAY: Final = 86_400
# More than any of these passes takes, less than any jump.
LONG: Final = 60.0
FILES: Final = {f"file:/etc/{name}": {"content": f"{name}\n"} for name in "abc"}


@pytest.fixture(params=[DAY, -DAY], ids=["ahead", "back"])
def by(request: pytest.FixtureRequest) -> int:
    """Give by how many seconds the clock jumps each time that it is read."""
    return int(request.param)


@contextmanager
def jumping(by: int) -> Iterator[list[float]]:
    """Have the clock jump; give what was read of it."""
    read: list[float] = []
    real = time.time

    def now() -> float:
        read.append(real() + by * len(read))
        return read[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", now)
        patch.setattr(time, "time_ns", lambda: int(now() * 1e9))
        patch.setattr(effects, "read_clock", lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now())))
        yield read


@contextmanager
def at_last(end: Callable[[], object]) -> Iterator[None]:
    """Have an end put to what is waited for, so that a wait without one is seen as such."""
    timer = threading.Timer(LONG, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def timed(scene: Scene, *arguments: str) -> tuple[Ran, float]:
    """Run a command; return what it came to, and how long it truly took."""
    begun = time.monotonic()
    ran = scene.run(*arguments)
    return ran, time.monotonic() - begun


def test_a_pass_fetches_converges_and_tells_how_long_it_truly_took(scene: Scene, by: int) -> None:
    scene.commit({})
    assert scene.init().code == 0
    scene.commit(FILES)
    with jumping(by) as read:
        ran, took = timed(scene, "apply")
    assert ran.code == 0, ran
    assert len(read) >= 2, "the clock did jump: it was read when the command began, and when its turn came"
    report = scene.report
    assert report["outcome"] == "converged"
    # Whatever else reads the clock, as a record of the log, shifts which reading that was.
    assert report["started"] in {time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(each)) for each in read[1:]}
    lasted = [report["duration"], *report["stages"].values(), *(one["duration"] for one in report["resources"])]
    assert len(lasted) > len(FILES)
    assert all(0 <= each <= took for each in lasted)
    # What comes next takes that pass for the newest, whatever its time.
    scene.write("/etc/a", "drift\n")
    scene.apply()
    assert scene.report["id"] != report["id"]
    assert scene.outcomes() == {"file:/etc/a": "applied"}


def test_a_turn_is_waited_for_as_long_as_was_said(scene: Scene, by: int) -> None:
    scene.enrolled(FILES)
    turn = acquire(scene.root / STATE, "another", wait=0)
    assert isinstance(turn, PassLock)
    with turn, at_last(turn.release), jumping(by):
        ran, took = timed(scene, "apply", "--wait", "1")
    assert ran.code == 75, ran
    assert 1 <= took < LONG


def test_a_remote_that_hangs_is_given_up_when_its_time_is_over_and_not_before(scene: Scene, by: int) -> None:
    scene.enrolled(FILES)
    scene.write("/etc/a", "drift\n")
    with socket.create_server(("127.0.0.1", 0)) as silent, at_last(silent.close), jumping(by):
        url = f"https://localhost:{silent.getsockname()[1]}/fleet"
        scene.write("/etc/datum/agent.yaml", f"repo: {url}\nhost: web1\nsource: {{timeout: 1}}\n")
        ran, took = timed(scene, "apply")
    assert ran.code == 69, ran
    assert 1 <= took < LONG
    assert scene.read("/etc/a") == "a\n"
