"""Whole passes over trees and commands, from the repository to the report, below a root of their own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.passes.scene import Scene

FILES: Final = {"files/app/bin/run": "#!/bin/sh\n", "files/app/conf/a.conf": "a = 1\n", "files/app/conf/b.conf": "b\n"}
TREE: Final[Mapping[str, Any]] = {"source": "files/app"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.commit_files(FILES)
    return scene


def changes(scene: Scene, origin: str) -> dict[str, list[object]]:
    """Return the changes that the newest report names of a resource."""
    found = next(entry for entry in scene.report["resources"] if entry["id"] == origin)
    return {change["field"]: [change["before"], change["after"]] for change in found["changes"]}


def test_a_tree_is_one_resource_and_its_report_has_every_path(scene: Scene) -> None:
    scene.enrolled({"tree:/srv/app": TREE})
    assert scene.outcomes() == {"tree:/srv/app": "applied"}
    assert set(changes(scene, "tree:/srv/app")) == {
        ".",
        "./bin",
        "./conf",
        "./bin/run",
        "./conf/a.conf",
        "./conf/b.conf",
    }
    scene.write("/srv/app/conf/a.conf", "drift\n")
    ran = scene.apply()
    assert "1 path: 1 changed" in ran.out
    assert set(changes(scene, "tree:/srv/app")) == {"./conf/a.conf"}
    assert scene.read("/srv/app/conf/a.conf") == "a = 1\n"
    assert "nothing to do" in scene.apply().out


def test_what_leaves_the_folder_leaves_an_exclusive_tree_only(scene: Scene) -> None:
    both = {"tree:/srv/app": {**TREE, "exclusive": True}, "tree:/srv/other": TREE}
    scene.enrolled(both)
    (scene.repository.path / "files/app/conf/b.conf").unlink()
    scene.commit(both)
    scene.apply()
    assert scene.read("/srv/app/conf/b.conf") is None
    assert scene.read("/srv/other/conf/b.conf") == "b\n"


def test_a_file_beside_the_tree_comes_after_it_and_stays(scene: Scene) -> None:
    scene.enrolled({"tree:/srv/app": {**TREE, "exclusive": True}, "file:/srv/app/conf/host.conf": {"content": "x"}})
    assert scene.read("/srv/app/conf/host.conf") == "x"
    assert "nothing to do" in scene.apply().out


def test_what_two_hold_is_an_error(scene: Scene) -> None:
    scene.commit({"tree:/srv/app": TREE, "file:/srv/app/conf/a.conf": {"content": "x"}})
    assert scene.init().code == 0
    assert "duplicate-target" in scene.apply(code=65).err
    scene.commit({"tree:/srv/app": TREE, "file:/srv/app/conf/a.conf/below": {"content": "x"}})
    assert "below-a-file" in scene.apply(code=65).err


def test_clearing_away_is_within_limits(scene: Scene) -> None:
    for number in range(20):
        scene.write(f"/srv/app/old/{number}", "x")
    scene.commit({"tree:/srv/app": {**TREE, "exclusive": True}})
    assert scene.init().code == 0
    ran = scene.apply(code=1)
    assert "--allow removals=21" in ran.out + ran.err
    assert scene.read("/srv/app/old/7") == "x"
    plan = scene.run("plan", "--json").json["plan_id"]
    scene.apply("--allow", "removals=21", "--expect", plan)
    assert not scene.at("/srv/app/old").exists()


def test_a_kind_in_the_way_waits_for_somebody_who_allows_it(scene: Scene) -> None:
    scene.write("/srv/app/conf", "data\n")
    scene.commit({"tree:/srv/app": TREE})
    assert scene.init().code == 0
    assert "data_loss" in scene.apply(code=1).out
    assert scene.read("/srv/app/conf") == "data\n"
    scene.commit({"tree:/srv/app": {**TREE, "allow": ["data_loss"]}})
    scene.apply()
    assert scene.read("/srv/app/conf/a.conf") == "a = 1\n"


def test_a_tree_that_is_dropped_is_kept_and_one_that_is_absent_goes(scene: Scene) -> None:
    scene.enrolled({"tree:/srv/app": TREE, "file:/etc/x": {"content": "x"}})
    scene.commit({"file:/etc/x": {"content": "x"}})
    scene.apply()
    assert [(entry["id"], entry["rule"]) for entry in scene.report["orphans"]] == [("tree:/srv/app", "default_keep")]
    assert scene.read("/srv/app/conf/a.conf") == "a = 1\n"
    scene.commit({"tree:/srv/app": {"absent": True, "allow": ["data_loss"]}, "file:/etc/x": {"content": "x"}})
    scene.apply()
    assert not scene.at("/srv/app").exists()


def test_a_tree_in_an_exclusive_directory_goes_when_it_is_dropped(scene: Scene) -> None:
    rest: Mapping[str, Any] = {"directory:/srv": {"exclusive": True}, "file:/etc/x": {"content": "x"}}
    scene.enrolled({"tree:/srv/app": TREE, **rest})
    scene.commit(rest)
    scene.apply()
    assert not scene.at("/srv/app").exists()


def test_a_link_in_the_folder_is_an_error_until_it_is_kept(scene: Scene) -> None:
    link = scene.repository.path / "files/app/current"
    link.symlink_to("conf")
    scene.commit({"tree:/srv/app": TREE})
    assert scene.init().code == 0
    said = scene.apply(code=65).err
    assert "link-in-folder" in said
    assert "files/app/current" in said
    assert "hosts/web1.yaml" in said
    scene.commit({"tree:/srv/app": {**TREE, "links": "keep"}})
    scene.apply()
    assert scene.at("/srv/app/current").readlink() == Path("conf")


def test_an_unobservable_path_leaves_the_tree_alone(scene: Scene) -> None:
    scene.enrolled({"tree:/srv/app": TREE, "file:/etc/x": {"content": "x"}})
    scene.at("/srv/app/conf").rename(scene.at("/srv/conf"))
    scene.at("/srv/app/bin/run").unlink()
    scene.at("/srv/app/bin").rmdir()
    scene.at("/srv/app").rmdir()
    scene.at("/srv/real").mkdir()
    scene.at("/srv/app").symlink_to("/srv/real")
    said = scene.apply(code=1).out
    # The link where the tree is wanted is something in the way; it is not followed.
    assert "data_loss" in said
    assert not list(scene.at("/srv/real").iterdir())


def test_a_command_without_a_guard_is_an_error_at_its_place(scene: Scene) -> None:
    scene.commit({"command:it": {"run": ["true"]}})
    assert scene.init().code == 0
    said = scene.apply(code=65).err
    assert "hosts/web1.yaml:4:" in said
    assert "no-guard" in said


def test_a_command_that_cannot_be_asked_is_left_alone_and_keeps_removals_back(scene: Scene) -> None:
    guarded = {"command:it": {"run": ["true"], "unless": ["/usr/bin/no-such-program"]}}
    scene.enrolled({"file:/etc/app.d/a": {"content": "x"}, "file:/etc/x": {"content": "x"}})
    scene.commit({"file:/etc/x": {"content": "x"}, **guarded})
    scene.apply(code=1)
    assert scene.outcomes()["command:it"] == "unobservable"
    assert scene.read("/etc/app.d/a") == "x"


def test_many_commands_that_cannot_be_asked_do_not_make_the_host_sick(scene: Scene) -> None:
    guarded = {f"command:c{number}": {"run": ["true"], "unless": ["/no/program"]} for number in range(8)}
    scene.commit({"file:/etc/x": {"content": "x"}, **guarded})
    assert scene.init().code == 0
    scene.apply(code=1)
    assert scene.read("/etc/x") == "x"


def test_a_dropped_command_is_settled_whatever_its_guards_would_say(scene: Scene) -> None:
    rest = {"file:/etc/x": {"content": "x"}}
    guarded = {"command:it": {"run": ["true"], "creates": "/etc/x", "requires": ["file:/etc/x"]}}
    scene.enrolled({**rest, **guarded})
    head = scene.commit(rest)
    scene.apply()
    assert scene.trail == [head]


def test_a_dropped_command_whose_guard_is_gone_and_a_dropped_check_are_settled(scene: Scene) -> None:
    rest: Mapping[str, Any] = {"file:/etc/x": {"content": "x"}}
    scene.enrolled(rest)
    gone = {"run": ["true"], "unless": ["/usr/bin/no-such-program"]}
    scene.commit({**rest, "command:it": gone, "check:it": {"run": ["true"], "guards": ["file:/etc/x"]}})
    scene.apply(code=1)
    head = scene.commit(rest)
    scene.apply()
    assert scene.trail == [head]
    assert {entry["id"]: entry["rule"] for entry in scene.report["orphans"]} == {
        "check:it": "absent",
        "command:it": "absent",
    }
