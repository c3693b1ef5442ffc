"""How far a pass goes: `enforcement` of fleet and configuration, `source.on_invalid` (design 3.3, 3.5, 5)."""

from typing import Any

import pytest

from tests.passes.scene import Scene

OLD: dict[str, Any] = {"file:/etc/a": {"content": "old\n"}}
NEW: dict[str, Any] = {"file:/etc/a": {"content": "new\n"}}
CONFIG = "/etc/datum/agent.yaml"


def configure(scene: Scene, line: str) -> None:
    scene.write(CONFIG, f"{scene.read(CONFIG)}{line}\n")


@pytest.mark.parametrize("said_by", ["fleet", "agent"])
def test_a_held_host_keeps_what_it_enforces_and_says_so(scene: Scene, said_by: str) -> None:
    """Drift is repaired, the newer revision waits, and the exit code tells: something is left."""
    old = scene.enrolled(OLD)
    if said_by == "agent":
        configure(scene, "enforcement: hold")
    scene.commit(NEW, host={"enforcement": "hold"} if said_by == "fleet" else {})
    scene.write("/etc/a", "drift\n")
    ran = scene.run("apply")
    assert ran.code == 1
    assert "revision-held-back" in ran.err
    assert scene.read("/etc/a") == "old\n"
    assert scene.report["outcome"] == "held"
    assert scene.trail == [old]

    scene.commit({**NEW, "file:/etc/b": {"content": "b\n"}}, host={"enforcement": "enforce"})
    assert scene.run("apply").code == (1 if said_by == "agent" else 0), "the agent may only tighten what the fleet says"
    assert scene.read("/etc/a") == ("old\n" if said_by == "agent" else "new\n")


def test_a_revision_that_is_enforced_already_is_not_held_back(scene: Scene) -> None:
    scene.enrolled(OLD)
    configure(scene, "enforcement: hold")
    assert scene.run("apply").code == 0


@pytest.mark.parametrize("said_by", ["fleet", "agent"])
def test_an_observed_host_is_planned_and_not_touched(scene: Scene, said_by: str) -> None:
    """Exit 0, outcome `planned`; the pointer stays as it is."""
    scene.enrolled(OLD)
    if said_by == "agent":
        configure(scene, "enforcement: observe")
    scene.commit(NEW, host={"enforcement": "observe"} if said_by == "fleet" else {})
    before = scene.pointer
    ran = scene.run("apply")
    assert ran.code == 0
    assert "update" in ran.out
    assert (scene.read("/etc/a"), scene.pointer, scene.report["outcome"]) == ("old\n", before, "planned")


def test_drift_is_repaired_while_the_newest_revision_is_invalid(scene: Scene) -> None:
    """`source.on_invalid: enforced`; without it the pass ends before it looks at the host."""
    scene.enrolled(OLD)
    scene.commit({"file:/etc/a": {"contents": "typo\n"}})
    scene.write("/etc/a", "drift\n")
    assert scene.run("apply").code == 65
    assert scene.read("/etc/a") == "drift\n"
    configure(scene, "source: {on_invalid: enforced}")
    ran = scene.run("apply")
    assert ran.code == 65
    assert "unknown-field" in ran.err
    assert scene.read("/etc/a") == "old\n"
