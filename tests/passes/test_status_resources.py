"""`datum status`: everything declared as it is now, and what fails again and again."""

import json
from pathlib import Path
from typing import Any

import pytest

from datum.model.result import PassOutcome
from datum.state.lock import PassLock, SharedOutcome, acquire
from tests.passes.scene import REPORTS, STATE, Scene

RESOURCES: dict[str, dict[str, Any]] = {
    "file:/etc/app.d/a": {"content": "a\n", "mode": "0600"},
    "file:/etc/app.d/gone": {"absent": True},
    "file:/etc/app.d/of-nobody": {"content": "x\n", "owner": "nobody-knows"},
    "file:/etc/app.d/waits": {"content": "x\n", "requires": ["file:/etc/app.d/of-nobody"]},
}


@pytest.fixture
def enrolled(scene: Scene) -> Scene:
    scene.commit(RESOURCES)
    assert scene.init().code == 0
    scene.apply(code=1)
    return scene


def standing(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return what is said of each resource; looking changes nothing."""
    before = scene.everything()
    ran = scene.run("status", "--resources", "--json")
    assert (ran.code, ran.err) == (0, ""), ran
    assert scene.everything() == before
    assert ran.json["schema_version"] == 1
    return {one["id"]: one for one in ran.json["resources"]}


def test_h6_each_resource_is_observed_and_compared(enrolled: Scene) -> None:
    seen = standing(enrolled)
    assert seen.keys() == RESOURCES.keys()
    fine = seen["file:/etc/app.d/a"]
    assert (fine["in_sync"], fine["state"], fine["actions"], fine["verdict"]) == (True, "present", [], "in_sync")
    assert fine["fields"]["mode"] == "0600"
    assert (seen["file:/etc/app.d/gone"]["in_sync"], seen["file:/etc/app.d/gone"]["state"]) == (True, "absent")
    nobody, waits = seen["file:/etc/app.d/of-nobody"], seen["file:/etc/app.d/waits"]
    assert (nobody["in_sync"], nobody["verdict"]) == (False, "impossible")
    assert "nobody-knows" in nobody["detail"]
    assert (waits["in_sync"], waits["verdict"], waits["blocked_by"]) == (False, "skipped", nobody["id"])
    enrolled.write("/etc/app.d/a", "b\n")
    enrolled.at("/etc/app.d/a").chmod(0o640)
    drifted = standing(enrolled)["file:/etc/app.d/a"]
    assert (drifted["in_sync"], drifted["fields"]["mode"], drifted["verdict"]) == (False, "0640", None)
    (action,) = drifted["actions"]
    assert (action["operation"], action["held"]) == ("update", False)
    assert {change["field"] for change in action["changes"]} == {"content", "mode"}


def test_h6_people_read_one_line_each(enrolled: Scene) -> None:
    enrolled.at("/etc/app.d/a").chmod(0o640)
    lines = enrolled.run("status", "--resources").out.splitlines()
    assert "  differs    file:/etc/app.d/a  content blob:787" not in lines
    shown = [line.split()[:2] for line in lines if line.startswith("  ") and line[2] != " "]
    assert shown == [
        ["differs", "file:/etc/app.d/a"],
        ["in", "sync"],
        ["impossible", "file:/etc/app.d/of-nobody"],
        ["skipped", "file:/etc/app.d/waits"],
    ]
    assert "      a pass would update it" in lines
    assert "      mode 0640 → 0600" in lines
    assert lines[-1] == "1 of 4 in sync."


def test_it_looks_at_what_is_enforced_and_asks_nobody(enrolled: Scene) -> None:
    """A newer revision, or a source that is gone, makes no difference to what this host shall be now."""
    enrolled.commit({"file:/etc/app.d/new": {"content": ""}})
    assert standing(enrolled).keys() == RESOURCES.keys()
    enrolled.repository.path.rename(enrolled.folder / "elsewhere")
    assert standing(enrolled).keys() == RESOURCES.keys()


def test_nothing_enforced_is_said(scene: Scene) -> None:
    scene.commit(RESOURCES)
    assert scene.run("status", "--resources").code == 78
    assert scene.init().code == 0
    ran = scene.run("status", "--resources")
    assert ran.code not in {0, 70}
    assert "Its resources are not known" in ran.out
    told = scene.run("status", "--resources", "--json")
    assert told.code == ran.code
    assert told.json["resources"] is None
    assert scene.run("status").code == 0


def test_h6_it_takes_no_lock_and_says_that_a_pass_is_running(enrolled: Scene) -> None:
    """Who looks waits for nobody, and knows that what is seen may be half of a change."""
    turn = acquire(enrolled.root / STATE, "another", wait=0)
    assert isinstance(turn, PassLock)
    with turn:
        turn.show("reconciler", "1/2 update file:/etc/app.d/a", started_at="2026-11-30T00:00:00Z")
        told = enrolled.run("status", "--resources", "--json")
        lines = enrolled.run("status", "--resources").out.splitlines()
        turn.finish(SharedOutcome(PassOutcome.CONVERGED, 0, ""))
    assert told.json["running"]["action"] == "1/2 update file:/etc/app.d/a"
    assert len(told.json["resources"]) == len(RESOURCES)
    assert "A pass is running: what follows was seen while it changes this host." in lines
    assert "A pass is running" not in enrolled.run("status", "--resources").out
    assert "A pass is running" not in enrolled.run("status").out


def reports(scene: Scene) -> list[Path]:
    return sorted((scene.root / REPORTS).iterdir())


def again(scene: Scene, times: int) -> None:
    """Repeat the newest report, as if as many passes had come to the same a minute after the other."""
    newest = reports(scene)[-1]
    told = json.loads(newest.read_bytes())
    for number in range(times):
        started = f"2999-01-01T00:{number:02}:00Z"
        name = newest.name.replace(told["id"], f"29990101T00{number:02}00Z-1")
        (newest.parent / name).write_text(json.dumps({**told, "started": started}))


def test_m13_repeated_failures_are_one_line_with_a_count(scene: Scene) -> None:
    """A pass says each reason once; what fails pass after pass is one line of `status`; JSON keeps every one."""
    many = {f"file:/etc/app.d/{name}": {"content": "x\n", "owner": "nobody-knows"} for name in "abcde"}
    scene.commit({**many, "file:/etc/app.d/other": {"content": "x\n", "owner": "nobody-else"}})
    assert scene.init().code == 0
    ran = scene.apply(code=1)
    first = "file:/etc/app.d/a, file:/etc/app.d/b, file:/etc/app.d/c and 2 more"
    alike = f"  ! alike   5 failed: {first}; --json has all of them"
    lines = ran.out.splitlines()
    assert lines.count(alike) == 1
    assert sum("nobody-knows does not exist" in line for line in lines) == 1
    assert sum("file:/etc/app.d/other" in line for line in lines) == 1
    assert alike in scene.run("report").out.splitlines()
    assert [one["id"] for one in scene.report["resources"]] == [*many, "file:/etc/app.d/other"]
    # A plan says of each what is to come.
    assert "alike" not in scene.run("plan").out
    assert "failing" not in scene.run("status").out
    again(scene, 12)
    told = scene.run("status", "--json").json["repeats"]
    assert [(len(one["resources"]), one["passes"]) for one in told] == [(5, 13), (1, 13)]
    line = f"failing     {first}: failed the same way in 13 passes since {told[0]['since']}"
    assert line in scene.run("status").out.splitlines()


def test_no_pass_reads_what_failed_before(enrolled: Scene) -> None:
    """Reports are for people: a pass is the same whatever they say."""
    again(enrolled, 3)
    before = enrolled.run("plan", "--json").json["plan_id"]
    for path in reports(enrolled):
        path.unlink()
    assert enrolled.run("plan", "--json").json["plan_id"] == before
