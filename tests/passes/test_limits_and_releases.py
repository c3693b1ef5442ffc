"""How much of one class a pass may do, what counts, and who lets more through (design 4.4)."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.passes.looks import assert_settled, held, names, planned, plant, reported
from tests.passes.scene import DROP_IN, Scene

MOTD = {"file:/etc/motd": {"content": "hello\n"}}


def files(count: int, content: str, folder: str = "/srv") -> dict[str, Mapping[str, Any]]:
    return {f"file:{folder}/f{number:02}": {"content": content} for number in range(count)}


def limits_of(scene: Scene) -> dict[str, str]:
    """Return which limit holds each action of the plan."""
    return {name: entry["hold"]["limit"] for name, entry in planned(scene).items() if entry["hold"]}


@pytest.mark.parametrize(("changed", "is_held"), [(10, False), (11, True)])
def test_the_share_is_of_what_converged_declared(scene: Scene, changed: int, is_held: bool) -> None:
    """Half of twenty is within it, more is not; what is new beside it does not count on either side."""
    scene.enrolled(files(20, "1\n"))
    scene.commit({**files(20, "1\n"), **files(changed, "2\n"), **files(30, "new\n", "/etc/other.d")})
    assert set(limits_of(scene).values()) == ({"changed"} if is_held else set())
    scene.apply(code=1 if is_held else 0)
    assert scene.read("/srv/f00") == ("1\n" if is_held else "2\n")
    assert len(names(scene, "/etc/other.d")) == 30, "creations are not held with them"
    assert scene.report["outcome"] == ("held" if is_held else "converged")
    if is_held:
        assert len(held(reported(scene))) == changed


def test_nine_never_hold_and_every_type_counts(scene: Scene) -> None:
    """Ten do, whatever their type, with rights as well as bytes; a retry counts as an intent does."""
    old: dict[str, Mapping[str, Any]] = {**files(9, "1\n"), "link:/srv/l": {"target": "1"}}
    scene.enrolled(old)
    scene.commit({**old, **files(9, "2\n")})
    scene.apply()
    assert scene.read("/srv/f00") == "2\n"
    new: dict[str, Mapping[str, Any]] = {**files(8, "3\n"), "file:/srv/f08": {"content": "2\n", "mode": "0600"}}
    scene.commit({**new, "link:/srv/l": {"target": "2"}})
    for _ in range(2):
        assert len(limits_of(scene)) == 10
        scene.apply(code=1)
        assert scene.read("/srv/f00") == "2\n"
    assert {entry["label"] for entry in planned(scene).values()} == {"retry"}


def test_drift_creations_adoptions_and_a_first_pass_do_not_count(scene: Scene) -> None:
    for number in range(12):
        scene.write(f"/srv/f{number:02}", "by hand\n")
    scene.commit(files(12, "1\n"))
    assert scene.init().code == 0
    assert {entry["label"] for entry in planned(scene).values()} == {"adopt"}
    scene.apply()
    for number in range(12):
        scene.write(f"/srv/f{number:02}", "drifted\n")
    scene.apply()
    assert scene.read("/srv/f11") == "1\n"
    for number in range(12):
        scene.write(f"/etc/other.d/f{number:02}", "by hand\n")
    scene.commit({**files(12, "1\n"), **files(12, "1\n", "/etc/other.d"), **files(12, "1\n", DROP_IN)})
    scene.apply()
    assert scene.read("/etc/other.d/f11") == "1\n"
    assert_settled(scene)


def test_before_anything_converged_the_oldest_of_the_trail_counts(scene: Scene) -> None:
    """A host whose first pass failed is not on its first pass any more."""
    broken = {"file:/srv/none/x": {"content": "x"}}
    first = scene.commit({**files(12, "1\n"), **broken})
    assert scene.init().code == 0
    scene.apply(code=1)
    assert (scene.pointer["converged"], scene.trail) == (None, [first])
    scene.commit({**files(12, "2\n"), **broken})
    assert set(limits_of(scene).values()) == {"changed"}
    scene.apply(code=1)
    assert scene.read("/srv/f00") == "1\n"


def test_each_class_is_held_for_itself(scene: Scene) -> None:
    """Removals and replacements over their limits wait, and the rest of the pass is done; also on a first pass."""
    for number in range(2):
        plant(scene.at(f"/etc/other.d/l{number}"), "empty_file")
        scene.write(f"{DROP_IN}/f{number:02}", "x\n")
    wanted: dict[str, Mapping[str, Any]] = {
        **MOTD,
        **{f"link:/etc/other.d/l{number}": {"target": "x"} for number in range(2)},
        **{f"file:{DROP_IN}/f{number:02}": {"absent": True} for number in range(2)},
    }
    scene.commit(wanted, limits={"removals": 1, "replaces": 1})
    assert scene.init().code == 0
    found = limits_of(scene)
    assert found == {name: "replaces" if name.startswith("link") else "removals" for name in wanted if name not in MOTD}
    ran = scene.apply(code=1)
    assert (scene.report["outcome"], scene.read("/etc/motd")) == ("held", "hello\n")
    assert "--allow removals=2" in ran.out
    assert "--allow replaces=2" in ran.out
    plan = scene.run("plan", "--json").json["plan_id"]
    scene.apply("--allow", "removals=2", "--expect", plan, code=1)
    assert names(scene, DROP_IN) == []
    assert not scene.at("/etc/other.d/l0").is_symlink()
    scene.commit(wanted, limits={"replaces": "none"})
    scene.apply()
    assert scene.at("/etc/other.d/l1").is_symlink()
    assert_settled(scene)


def test_several_classes_are_released_at_once_for_the_plan_that_was_looked_at(scene: Scene) -> None:
    """Not for another plan, nor without one, nor by what is no class."""
    old = {**files(12, "1\n"), **files(12, "1\n", DROP_IN)}
    scene.enrolled({**MOTD, **old})
    scene.commit({**MOTD, **files(12, "2\n")}, limits={"changed": "10%"})
    plan = scene.run("plan", "--json").json["plan_id"]
    both = ["--allow", "removals=12", "--allow", "changed=100%"]
    host = scene.host()
    for arguments, codes in (
        (both, {64}),
        ([*both, "--expect", "sha256:" + "0" * 64], {1, 64, 65}),
        (["--allow", "everything=1", "--expect", plan], {64}),
        (["--allow", "removals=x", "--expect", plan], {64}),
        (["--allow", "changed=80", "--expect", plan], {64}),
        (["--allow", "removals=1", "--allow", "removals=12", "--expect", plan], {64}),
    ):
        ran = scene.run("apply", *arguments)
        assert ran.code in codes, ran
        assert scene.host() == host, arguments
    scene.apply(*both, "--expect", plan)
    assert (names(scene, DROP_IN), scene.read("/srv/f11")) == ([], "2\n")
    assert_settled(scene)


def test_git_releases_from_the_oldest_trail_revision_that_declares_them(scene: Scene) -> None:
    """Another revision releases nothing, nor does too small a number; each class for itself."""
    first = scene.enrolled({**MOTD, **files(12, "1\n"), **files(12, "1\n", DROP_IN)})
    wanted = {**MOTD, **files(12, "2\n")}
    other = scene.commit(wanted, limits={"changed": "10%"})
    scene.apply(code=1)
    assert scene.trail == [first, other]

    def release(**allow: Any) -> None:
        scene.commit(wanted, limits={"changed": "10%", "allow": allow})

    release(removals=12, changed="100%", **{"from": other})
    assert set(limits_of(scene).values()) == {"removals", "changed"}
    release(removals=11, changed="9%", **{"from": first})
    assert set(limits_of(scene).values()) == {"removals", "changed"}
    release(removals=12, **{"from": first})
    assert set(limits_of(scene).values()) == {"changed"}
    scene.apply(code=1)
    assert (names(scene, DROP_IN), scene.read("/srv/f00")) == ([], "1\n")
    release(removals=12, changed="100%", **{"from": first})
    scene.apply()
    assert scene.read("/srv/f00") == "2\n"
    assert len(scene.trail) == 1
    assert_settled(scene)


def test_removals_count_every_path_that_goes_along(scene: Scene) -> None:
    """Of a tree, of a directory that gives way, and of one that is exclusive, together."""
    scene.repository.commit({f"files/site/{number}": "x\n" for number in range(3)})
    scene.enrolled({**MOTD, "tree:/srv/t": {"source": "files/site"}, "directory:/srv/x": {}})
    for number in range(3):
        scene.write(f"/srv/x/{number}", "x\n")
    plant(scene.at("/srv/way"), "directory")
    wanted: dict[str, Mapping[str, Any]] = {
        **MOTD,
        "tree:/srv/t": {"absent": True, "allow": ["data_loss"]},
        "directory:/srv/x": {"exclusive": True},
        "file:/srv/way": {"content": "x", "allow": ["data_loss"]},
    }
    scene.commit(wanted, limits={"removals": 7})
    plan = scene.run("plan", "--json").json
    assert {entry["hold"]["limit"] for entry in plan["resources"] if entry["hold"]} == {"removals"}
    ran = scene.apply(code=1)
    assert "--allow removals=8" in ran.out
    scene.commit(wanted, limits={"removals": 8})
    scene.apply()
    assert sorted(names(scene, "/srv")) == ["way", "x"]
    assert_settled(scene)


def test_a_held_action_holds_up_what_requires_it_and_nothing_else(scene: Scene) -> None:
    scene.enrolled({**MOTD, **files(12, "1\n")})
    scene.commit(
        {
            **files(12, "2\n"),
            "file:/etc/motd": {"content": "new\n"},
            "file:/etc/needs": {"content": "x", "requires": ["file:/srv/f00"]},
            "file:/etc/after": {"content": "x", "after": ["file:/srv/f00"]},
        }
    )
    scene.apply(code=1)
    found = scene.outcomes()
    assert (found["file:/etc/needs"], found["file:/etc/after"]) == ("skipped", "applied")
    assert (found["file:/etc/motd"], scene.read("/etc/motd")) == ("held", "hello\n"), "of the same class"
    assert reported(scene)["file:/etc/needs"]["blocked_by"] == "file:/srv/f00"


@pytest.mark.parametrize("limits", [{"changed": "none"}, {"changed": "100%"}])
def test_a_limit_can_be_lifted(scene: Scene, limits: dict[str, str]) -> None:
    scene.enrolled(files(12, "1\n"))
    scene.commit(files(12, "2\n"), limits=limits)
    scene.apply()
    assert scene.read("/srv/f11") == "2\n"


def test_limits_are_read_from_the_target_not_from_before(scene: Scene) -> None:
    """And from any layer: the host is the strongest."""
    scene.enrolled({**MOTD, **files(3, "1\n", DROP_IN)}, limits={"removals": 0})
    scene.commit(MOTD, host={"limits": {"removals": 2}}, limits={"removals": 9})
    scene.apply(code=1)
    assert len(names(scene, DROP_IN)) == 3
    scene.commit(MOTD, host={"limits": {"removals": 3}}, limits={"removals": 0})
    scene.apply()
    assert names(scene, DROP_IN) == []


def test_hazards_beside_limits(scene: Scene) -> None:
    """A raised limit permits no hazard, and `allow` raises no limit."""
    plant(scene.at("/srv/x"), "directory")
    plant(scene.at("/srv/y"), "symlink")
    wanted: dict[str, Mapping[str, Any]] = {"file:/srv/x": {"content": "x"}, "link:/srv/y": {"target": "behind"}}
    scene.commit({**wanted, "file:/srv/y2": {"content": "x"}}, limits={"removals": "none"})
    assert scene.init().code == 0
    assert held(planned(scene)) == {"file:/srv/x": "hazard"}
    allowed = {**wanted, "file:/srv/x": {"content": "x", "allow": ["data_loss"]}}
    scene.commit(allowed, limits={"removals": 0})
    assert limits_of(scene) == {"file:/srv/x": "removals"}
    assert scene.read("/srv/x/inner") == "precious\n"
