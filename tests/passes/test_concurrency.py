"""One pass per host (design 1.6): a second request waits, an equal one joins, and what dies lets go of the lock."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from datum.state.turns import Role, Turn
from tests.passes.scene import Ran, Scene, kill, snapshot

SLOW = {"slow:/etc/slow": {"content": "x\n"}, "file:/etc/motd": {"content": "hello\n"}}
MANY = 20


class Passes:
    """Passes in processes of their own, all of which end with the test."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *options: str, count: int = 1) -> None:
        """Start some."""
        for _ in range(count):
            self.processes.append(self.scene.start("apply", *options))

    def finish(self) -> list[Ran]:
        """Wait for all, in the order they were started."""
        found = []
        for process in self.processes:
            out, err = process.communicate(timeout=120)
            found.append(Ran(process.returncode, out, err))
        return found


@contextlib.contextmanager
def passes(scene: Scene) -> Iterator[Passes]:
    """Give a maker of passes."""
    made = Passes(scene)
    try:
        yield made
    finally:
        for process in made.processes:
            kill(process)
            process.communicate()


def wait_for(path: Path) -> None:
    """Wait until something is there."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def reports(scene: Scene) -> int:
    """Count the reports."""
    return len(list((scene.root / "var/log/datum/reports").iterdir()))


def test_twenty_equal_passes_at_once_are_few_and_all_get_their_answer(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start()
        wait_for(odd_types / "begun")
        made.start(count=MANY - 1)
        queue = scene.root / "var/lib/datum/run/queue"
        deadline = time.monotonic() + 90
        while len(list(queue.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        (odd_types / "go").touch()
        found = made.finish()
    assert [ran.code for ran in found] == [0] * MANY, found
    assert all(ran.out and not ran.err for ran in found)
    assert scene.read("/etc/slow") == "x\n"
    assert 2 <= reports(scene) <= MANY
    head = scene.repository.head
    assert (scene.pointer["converged"], scene.trail) == (head, [head])
    assert not list(scene.root.rglob("*.datum*"))


def test_twenty_different_passes_at_once_run_one_after_the_other(scene: Scene) -> None:
    scene.commit({f"file:/etc/app.d/{number}": {"content": "x\n"} for number in range(5)})
    assert scene.init().code == 0
    with passes(scene) as made:
        for number in range(MANY):
            made.start(*[[], ["--offline"], ["--json"], ["--detailed-exitcode"]][number % 4])
        found = made.finish()
    # The one that came first may be the offline one, which has no revision to go by yet.
    assert {ran.code for number, ran in enumerate(found) if number % 4 != 1} <= {0, 2}, found
    assert {ran.code for number, ran in enumerate(found) if number % 4 == 1} <= {0, 69}, found
    assert len(list(scene.at("/etc/app.d").iterdir())) == 5
    applied = [ran for ran in found if ran.code == 2]
    assert len(applied) <= 5, "a pass with nothing to do says so"


def test_an_equal_request_that_waits_is_joined_and_named(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start("--json")
        wait_for(odd_types / "begun")
        made.start("--json")
        wait_for_role(scene, Role.WAITING)
        made.start("--json")
        wait_for_role(scene, Role.JOINED)
        (odd_types / "go").touch()
        first, second, third = made.finish()
    told = sorted((second.json, third.json), key=lambda document: "id" in document)
    assert first.json["id"] != told[1]["id"], "a running pass is never joined"
    assert told[0]["joined"]["exit_code"] == 0, "a waiting one is, and its outcome is the answer"
    assert told[1]["id"] in told[0]["joined"]["report"]
    assert len(scene.report["joined"]) == 1
    assert reports(scene) == 2


def wait_for_role(scene: Scene, role: Role) -> None:
    """Wait until a request stands in the queue that does this."""
    queue = scene.root / "var/lib/datum/run/queue"
    deadline = time.monotonic() + 60
    while not any(
        turn is not None and turn.role is role for turn in (Turn.parse(path.name) for path in queue.iterdir())
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_lock_dies_with_its_holder(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start()
        wait_for(odd_types / "begun")
        kill(made.processes[0])
        made.finish()
    (odd_types / "go").touch()
    scene.apply("--wait", "0")
    assert scene.read("/etc/slow") == "x\n"
    assert "running" not in scene.run("status").out


def test_plan_waits_for_nobody(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start()
        wait_for(odd_types / "begun")
        before = snapshot(scene.at("/etc"))
        assert scene.run("plan").code == 0
        assert scene.run("orphans").code == 0
        assert snapshot(scene.at("/etc")) == before
        (odd_types / "go").touch()
        assert made.finish()[0].code == 0
