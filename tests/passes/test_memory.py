"""What is kept between passes is the pointer (design 1.5): without all else, reports damaged, passes are the same."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.passes.scene import DROP_IN, Scene, clear_state, snapshot

PATHS = ("/etc/motd", "/srv/kept", f"{DROP_IN}/a", f"{DROP_IN}/b", "/etc/other.d/c", "/etc/missing/d")
STEPS = 10


def _commit(scene: Scene, dice: random.Random) -> None:
    resources: dict[str, dict[str, Any]] = {}
    for path in PATHS:
        kind = dice.choice(["", "", "absent", "content", "content", "mode"])
        if kind == "absent":
            resources[f"file:{path}"] = {"absent": True}
        elif kind:
            resources[f"file:{path}"] = {"content": f"{dice.randrange(3)}\n"}
        if kind == "mode":
            resources[f"file:{path}"]["mode"] = dice.choice(["0600", "0640"])
    scene.commit(resources)


def _drift(scene: Scene, dice: random.Random) -> None:
    path = scene.at(dice.choice(PATHS[:-1]))
    if dice.random() < 0.4:
        path.unlink(missing_ok=True)
    else:
        path.write_text(f"{dice.choice('012x')}\n", encoding="utf-8")
        path.chmod(0o644)


def _play(scene: Scene, seed: int, *, forget: bool) -> list[Any]:
    """Run one random sequence and return all that came of it: plans, results, pointers, the host.

    The source is there in every pass: without it the mirror is more than a cache. A rewritten branch leaves the old
    commits among the objects of the source, where they can still be asked for by name.
    """
    dice = random.Random(seed)
    _commit(scene, dice)
    assert scene.init().code == 0
    story: list[Any] = []
    for _ in range(STEPS):
        step = dice.choice(["commit", "drift", "drift", "rewrite", "none"])
        if step == "commit":
            _commit(scene, dice)
        elif step == "drift":
            _drift(scene, dice)
        elif step == "rewrite" and scene.pointer["accepted"]:
            scene.repository.git("commit", "--quiet", "--amend", "--allow-empty", "-m", "rewritten")
        if forget:
            clear_state(scene)
        plan, result = scene.run("plan", "--json"), scene.run("apply", "--json")
        story.append((step, plan.code, plan.out, result.code, _essence(result.out), scene.pointer, _contents(scene)))
    return story


def _essence(out: str) -> Any:
    report = json.loads(out)
    for key in ("id", "started", "duration", "stages"):
        report.pop(key, None)
    for entry in report.get("resources", []):
        del entry["duration"]
    return report


def _contents(scene: Scene) -> dict[str, tuple[object, object]]:
    """Return mode and bytes of everything on the host."""
    return {
        path: (entry[0], entry[-1] if len(entry) > 4 else "")
        for path, entry in snapshot(scene.root, ("var", "etc/datum")).items()
    }


@pytest.mark.parametrize("seed", range(4))
def test_nothing_but_the_pointer_is_remembered(tmp_path: Path, seed: int) -> None:
    # The same path for both: the remote is named in reports.
    remembered, forgotten = (_in(tmp_path, seed, forget=forget) for forget in (False, True))
    assert len(remembered) == len(forgotten) == STEPS
    for number, (one, other) in enumerate(zip(remembered, forgotten, strict=True)):
        assert other == one, f"step {number}, {one[0]}"


def _in(folder: Path, seed: int, *, forget: bool) -> list[Any]:
    place = folder / "scene"
    place.mkdir()
    try:
        return _play(Scene(place), seed, forget=forget)
    finally:
        place.rename(folder / f"done-{forget}")


def test_losing_the_mirror_costs_time_only_while_the_source_is_there(scene: Scene) -> None:
    head = scene.enrolled({f"file:{DROP_IN}/a": {"content": "a\n"}})
    scene.commit({"file:/etc/motd": {"content": "hello\n"}})
    clear_state(scene)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None, "what the trail declared was read again from the source"
    assert scene.trail != [head]


def test_without_mirror_and_source_nothing_is_done_and_said_so(scene: Scene) -> None:
    scene.enrolled({f"file:{DROP_IN}/a": {"content": "a\n"}})
    scene.write(f"{DROP_IN}/a", "drift\n")
    clear_state(scene)
    scene.repository.path.rename(scene.folder / "away")
    before, pointer = scene.host(), scene.pointer_path.read_bytes()
    ran = scene.run("apply")
    assert ran.code == 69, ran
    assert scene.url in ran.err
    assert scene.host() == before
    assert scene.pointer_path.read_bytes() == pointer


def test_a_rewritten_source_after_a_lost_mirror_is_still_refused(scene: Scene) -> None:
    head = scene.enrolled({"file:/etc/motd": {"content": "a\n"}})
    scene.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")
    scene.commit({"file:/etc/motd": {"content": "evil\n"}})
    clear_state(scene)
    ran = scene.run("apply")
    assert ran.code == 76, ran
    assert scene.read("/etc/motd") == "a\n"
    assert scene.pointer["accepted"] == head
