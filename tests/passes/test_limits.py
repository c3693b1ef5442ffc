"""What goes along, what gives way, how much of it in one pass, and who lets more through (design 4.4)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.passes.scene import Scene, install, run

WWW = "directory:/srv/www"


def files(count: int, content: str) -> dict[str, Mapping[str, Any]]:
    return {f"file:/etc/f{index:02}": {"content": content} for index in range(count)}


def planned(scene: Scene) -> Any:
    ran = scene.run("plan", "--json")
    assert ran.code == 0, ran
    return ran.json


def action(plan: Any, name: str) -> Any:
    (found,) = [entry for entry in plan["resources"] if entry["id"] == name]
    return found


def fill(scene: Scene, count: int) -> None:
    for index in range(count):
        scene.write(f"/srv/www/{index:02}", "x\n")


def test_what_an_exclusive_directory_clears_counts_as_removals(scene: Scene) -> None:
    """Held over the limit, named one by one, let through for the plan that was looked at."""
    scene.enrolled({WWW: {}})
    fill(scene, 12)
    scene.commit({WWW: {"exclusive": True}})
    plan = planned(scene)
    entry = action(plan, WWW)
    assert (entry["hold"]["reason"], entry["hold"]["limit"]) == ("limit", "removals")
    assert entry["takes"] == [f"/srv/www/{index:02}" for index in range(12)]
    scene.apply(code=1)
    assert len(list(scene.at("/srv/www").iterdir())) == 12
    scene.apply("--allow", "removals=11", "--expect", plan["plan_id"], code=1)
    scene.apply("--allow", "removals=12", "--expect", plan["plan_id"])
    assert list(scene.at("/srv/www").iterdir()) == []


def test_what_appears_after_the_plan_is_not_cleared(scene: Scene) -> None:
    """Its name is part of the plan's id."""
    scene.enrolled({WWW: {}})
    fill(scene, 2)
    scene.commit({WWW: {"exclusive": True}})
    plan = planned(scene)
    scene.write("/srv/www/late", "x\n")
    scene.apply("--expect", plan["plan_id"], code=1)
    assert scene.read("/srv/www/00") == "x\n"


def test_a_directory_that_gives_way_says_what_is_lost(scene: Scene) -> None:
    """Held as a hazard; with `allow` it goes with exactly what was seen."""
    scene.enrolled({})
    fill(scene, 2)
    wanted: dict[str, Any] = {"file:/srv/www": {"content": "moved\n"}}
    scene.commit(wanted)
    assert "would be lost: the directory that stands there and 2 paths below it" in scene.run("plan").out
    entry = action(planned(scene), "file:/srv/www")
    assert (entry["operation"], entry["hold"]["reason"], entry["hazards"]) == ("replace", "hazard", ["data_loss"])
    assert entry["takes"] == ["/srv/www/00", "/srv/www/01"]
    wanted["file:/srv/www"]["allow"] = ["data_loss"]
    scene.commit(wanted)
    scene.apply()
    assert scene.read("/srv/www") == "moved\n"


@pytest.mark.parametrize("release", ["command line", "fleet"])
def test_a_large_share_of_changes_is_held(scene: Scene, release: str) -> None:
    """Twelve of twelve; less than ten never are."""
    first = scene.enrolled(files(12, "1\n"))
    scene.commit({**files(12, "1\n"), **files(9, "2\n")})
    scene.apply()
    scene.commit(files(12, "3\n"))
    plan = planned(scene)
    assert {entry["hold"]["limit"] for entry in plan["resources"]} == {"changed"}
    scene.apply(code=1)
    assert scene.read("/etc/f00") == "2\n"
    if release == "fleet":
        oldest = scene.trail[0]
        assert oldest != first
        scene.commit(files(12, "3\n"), limits={"allow": {"changed": "100%", "from": oldest}})
        scene.apply()
    else:
        scene.apply("--allow", "changed=100%", "--expect", plan["plan_id"])
    assert scene.read("/etc/f11") == "3\n"


def test_drift_is_repaired_whatever_share_it_is(scene: Scene) -> None:
    scene.enrolled(files(12, "1\n"))
    for index in range(12):
        scene.write(f"/etc/f{index:02}", "drifted\n")
    scene.apply()
    assert scene.read("/etc/f11") == "1\n"


def test_many_replaced_resources_are_held(scene: Scene) -> None:
    """By a class of their own."""
    links = {f"link:/etc/f{index:02}": {"target": "x"} for index in range(11)}
    scene.enrolled({})
    for index in range(11):
        scene.at(f"/etc/f{index:02}").touch()
    scene.commit(links)
    plan = planned(scene)
    assert {entry["hold"]["limit"] for entry in plan["resources"]} == {"replaces"}
    scene.apply("--allow", "replaces=11", "--expect", plan["plan_id"])
    assert scene.at("/etc/f10").is_symlink()


def test_records_hold_what_goes_along(scene: Scene) -> None:
    """The same bytes from the record, without the host."""
    scene.enrolled({WWW: {}, "directory:/etc/app.d/old": {}})
    fill(scene, 12)
    scene.write("/etc/app.d/old/x", "x\n")
    scene.commit({WWW: {"exclusive": True}})
    file = scene.folder / "record.json"
    ran = scene.run("plan", "--record", str(file), "--json")
    assert run("plan", "--observed", str(file), "--fleet", scene.url, "--json").out == ran.out
    assert json.loads(file.read_text())["format"] == "datum.record/5"


def test_an_untrusted_plan_runs_no_program_of_the_manifest(scene: Scene) -> None:
    """A guard is a program; what it would say is not known then."""
    install(scene, "/bin/sh")
    scene.enrolled({})
    guard = ["/bin/sh", "-c", "exit 0"]
    scene.commit({"command:x": {"run": ["/bin/sh", "-c", "true"], "only_if": guard}})
    trusted = action(planned(scene), "command:x")
    assert trusted["operation"] == "create"
    ran = scene.run("plan", "--untrusted", "--json")
    assert ran.code == 0, ran
    assert action(ran.json, "command:x")["outcome"] == "unobservable"


OLD = "directory:/etc/app.d/old"
INNER = "file:/etc/app.d/old/inner"


def orphaned(scene: Scene) -> Scene:
    """Give a host on which a directory and a file in it are no longer declared, and would be removed."""
    scene.enrolled({OLD: {"on_removal": "delete"}, INNER: {"content": "x\n", "on_removal": "delete"}})
    scene.commit({"file:/etc/motd": {"content": "hello\n"}})
    return scene


def test_a_directory_goes_with_what_was_declared_in_it(scene: Scene) -> None:
    """Deepest first; nothing else goes along."""
    orphaned(scene).apply()
    assert not scene.at("/etc/app.d/old").exists()
    assert scene.at("/etc/app.d").exists()


def test_a_dropped_directory_with_something_else_in_it_is_kept(scene: Scene) -> None:
    """Nobody declared that, so nobody dropped it."""
    orphaned(scene).write("/etc/app.d/old/precious", "x\n")
    scene.apply()
    assert scene.read("/etc/app.d/old/precious") == "x\n"
    assert scene.read("/etc/app.d/old/inner") is None
    (kept,) = scene.run("orphans", "--json").json["orphans"]
    assert (kept["id"], kept["rule"]) == (OLD, "holds_data")


def test_a_directory_declared_absent_goes_along_with_what_is_in_it_where_that_is_allowed(scene: Scene) -> None:
    """Held first, with what would be lost; then exactly that goes."""
    scene.enrolled({"directory:/srv/www": {}})
    fill(scene, 3)
    scene.commit({"directory:/srv/www": {"absent": True}})
    assert "and 3 paths below it" in scene.apply(code=1).out
    assert scene.read("/srv/www/00") == "x\n"
    scene.commit({"directory:/srv/www": {"absent": True, "allow": ["data_loss"]}})
    plan = planned(scene)
    assert action(plan, "directory:/srv/www")["takes"] == [f"/srv/www/{index:02}" for index in range(3)]
    scene.apply("--expect", plan["plan_id"])
    assert not scene.at("/srv/www").exists()


def test_a_broken_type_that_nobody_names_ends_no_pass(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known by its name; whoever names it is told."""
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-types\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[datum.providers]\nbroken = broken_types:Broken\n")
    monkeypatch.syspath_prepend(str(info.parent))
    scene.enrolled({"file:/etc/a": {"content": "a\n"}})
    assert set(scene.report["versions"]) == {"datum", "python", "file"}
    scene.commit({"file:/etc/a": {"content": "b\n"}, "brokn:x": {}})
    assert "Did you mean 'broken'?" in scene.apply(code=65).err
    scene.commit({"file:/etc/a": {"content": "b\n"}, "broken:x": {}})
    ran = scene.apply(code=70)
    assert "error[provider-not-loadable]" in ran.err
    assert "broken-types" in ran.err
    assert scene.read("/etc/a") == "a\n"
