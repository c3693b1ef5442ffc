"""What a revision stops declaring (design 4.3): decided by place and by what the trail declared, never by a list."""

import json
from typing import Any

import pytest

from tests.passes.scene import DROP_IN, HOST, Scene

A = f"file:{DROP_IN}/a"
MOTD = {"file:/etc/motd": {"content": "hello\n"}}
DPKG = "/var/lib/dpkg"


def orphans(scene: Scene) -> dict[str, dict[str, Any]]:
    """Return what `datum orphans` says, by id."""
    ran = scene.run("orphans", "--json")
    assert ran.code == 0, ran
    found: list[dict[str, Any]] = ran.json["orphans"]
    return {orphan["id"]: orphan for orphan in found}


def test_a_dropped_file_in_a_drop_in_place_goes(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    head = scene.commit(MOTD)
    ran = scene.apply()
    assert A in ran.out
    assert scene.read(f"{DROP_IN}/a") is None
    assert scene.at(DROP_IN).is_dir()
    assert (scene.trail, orphans(scene)) == ([head], {})


@pytest.mark.parametrize(
    ("before", "mode"), [("someone else's\n", None), ("a\n", 0o600), (None, None)], ids=["bytes", "mode", "kind"]
)
def test_a_dropped_file_that_someone_changed_stays_and_is_named(
    scene: Scene, before: str | None, mode: int | None
) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n", "mode": "0644"}})
    place = scene.at(f"{DROP_IN}/a")
    if before is None:
        place.unlink()
        place.symlink_to("/etc/motd")
    else:
        scene.write(f"{DROP_IN}/a", before)
        place.chmod(mode or 0o644)
    scene.commit(MOTD)
    host = scene.host()
    scene.apply()
    assert scene.host() == host
    assert orphans(scene)[A]["state"] == "kept"
    assert A in scene.run("orphans").out


def test_a_dropped_file_with_an_undeclared_field_changed_is_still_what_was_declared(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    scene.at(f"{DROP_IN}/a").chmod(0o600)
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None


def test_a_dropped_file_that_a_package_owns_stays_and_is_named(scene: Scene) -> None:
    scene.write(f"{DPKG}/status", "Package: app\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n")
    scene.write(f"{DPKG}/info/app.list", f"/.\n/etc\n{DROP_IN}\n{DROP_IN}/a\n")
    scene.enrolled({**MOTD, A: {"content": "a\n"}, f"file:{DROP_IN}/b": {"content": "b\n"}})
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    assert scene.read(f"{DROP_IN}/b") is None
    found = orphans(scene)
    assert list(found) == [A]
    assert "package" in json.dumps(found[A])


def test_a_dropped_file_elsewhere_stays_with_the_line_that_removes_it(scene: Scene) -> None:
    scene.enrolled({**MOTD, "file:/srv/x": {"content": "x\n"}})
    head = scene.commit(MOTD)
    scene.apply()
    assert scene.read("/srv/x") == "x\n"
    found = orphans(scene)["file:/srv/x"]
    assert found["state"] == "kept"
    assert "absent: true" in found["release"] or "on_removal" in found["release"]
    assert scene.trail, "kept by a rule that looked at it"
    assert scene.pointer["converged"] == head


def test_the_line_that_removes_it_does(scene: Scene) -> None:
    scene.enrolled({**MOTD, "file:/srv/x": {"content": "x\n"}})
    scene.commit(MOTD)
    scene.apply()
    scene.commit({**MOTD, "file:/srv/x": {"absent": True}})
    scene.apply()
    assert scene.read("/srv/x") is None


@pytest.mark.parametrize(
    ("path", "wish", "stays"),
    [("/srv/x", "delete", False), (f"{DROP_IN}/x", "keep", True), ("/etc/fstab", "delete", True)],
)
def test_on_removal_overrides_the_place_but_not_what_is_never_removed(
    scene: Scene, path: str, wish: str, stays: bool
) -> None:
    scene.enrolled({**MOTD, f"file:{path}": {"content": "x\n", "on_removal": wish}})
    scene.commit(MOTD)
    scene.apply()
    assert (scene.read(path) == "x\n") is stays
    assert (f"file:{path}" in orphans(scene)) is stays


def test_on_removal_is_read_from_the_newest_revision_that_declares_it(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n", "on_removal": "keep"}})
    scene.commit({**MOTD, A: {"content": "a\n"}})
    scene.apply()
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None


# A revision that declares this differently than the one before cannot settle: the trail keeps both.
UNSETTLED = {"file:/etc/motd": {"content": "refused\n", "validate": ["/no-such-check", "{path}"]}}


def test_what_a_failed_revision_made_and_the_next_drops_goes(scene: Scene) -> None:
    first = scene.enrolled(MOTD)
    second = scene.commit({**UNSETTLED, A: {"content": "a\n"}})
    scene.apply(code=1)
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    assert scene.trail == [first, second]
    third = scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None
    assert scene.trail == [third]


def test_every_value_that_a_revision_of_the_trail_declared_is_known(scene: Scene) -> None:
    first = scene.enrolled({**MOTD, A: {"content": "1\n"}})
    second = scene.commit({**UNSETTLED, A: {"content": "2\n"}})
    scene.apply(code=1)
    third = scene.commit({**UNSETTLED, A: {"content": "3\n"}})
    scene.apply(code=1)
    assert scene.trail == [first, second, third]
    scene.write(f"{DROP_IN}/a", "1\n")
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None


def test_a_host_that_was_away_for_many_revisions_removes_what_it_had(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    for number in range(12):
        scene.commit({**MOTD, f"file:{DROP_IN}/n{number}": {"content": f"{number}\n"}})
    scene.apply()
    assert sorted(path.name for path in scene.at(DROP_IN).iterdir()) == ["n11"]


def test_a_file_that_only_a_revision_in_between_declared_is_none_of_ours(scene: Scene) -> None:
    scene.enrolled(MOTD)
    scene.write(f"{DROP_IN}/a", "a\n")
    scene.commit({**MOTD, A: {"content": "a\n"}})
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") == "a\n"


def test_after_a_force_push_what_was_accepted_stays(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    scene.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")
    scene.commit(MOTD)
    host = scene.host()
    scene.apply(code=76)
    assert scene.host() == host


@pytest.mark.parametrize("text", ["", "resources: {}\n", "{}\n"])
def test_an_emptied_host_file_removes_nothing_and_the_trail_stays(scene: Scene, text: str) -> None:
    head = scene.enrolled({A: {"content": "a\n"}})
    scene.commit_files({f"hosts/{HOST}.yaml": text})
    ran = scene.run("apply")
    assert ran.code in {0, 65}, ran
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    assert scene.trail[0] == head
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None, "the trail still knew"


def test_what_a_moved_resource_left_in_another_place_is_told_and_stays(scene: Scene) -> None:
    scene.enrolled({A: {"content": "a\n"}, **MOTD})
    scene.commit({f"file:{DROP_IN}/b": {"content": "a\n", "moved": A}, **MOTD})
    scene.apply()
    assert (scene.read(f"{DROP_IN}/a"), scene.read(f"{DROP_IN}/b")) == ("a\n", "a\n")
    (word,) = scene.report["orphans"]
    assert (word["id"], word["state"], word["rule"]) == (A, "kept", "moved")
    assert f"file:{DROP_IN}/b" in word["detail"]


def test_what_is_protected_by_any_revision_of_the_trail_is_held(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n", "protect": True}})
    scene.commit(MOTD)
    ran = scene.apply(code=1)
    assert "protect" in ran.out
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    assert scene.outcomes()[A] == "held"
    scene.apply(code=1)
    assert scene.read(f"{DROP_IN}/a") == "a\n"


def test_protect_holds_a_declared_absence_too(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n", "protect": True}})
    scene.commit({**MOTD, A: {"absent": True}})
    scene.apply(code=1)
    assert scene.read(f"{DROP_IN}/a") == "a\n"


def many(count: int) -> dict[str, dict[str, str]]:
    """Declare that many files in the drop-in place."""
    return {f"file:{DROP_IN}/f{number}": {"content": f"{number}\n"} for number in range(count)}


def test_over_the_limit_of_removals_all_are_held_and_the_rest_is_done(scene: Scene) -> None:
    scene.enrolled({**MOTD, **many(4)}, limits={"removals": 3})
    scene.commit({"file:/etc/motd": {"content": "new\n"}}, limits={"removals": 3})
    ran = scene.apply(code=1)
    assert "limit" in ran.out
    assert "removals" in ran.out
    assert len(list(scene.at(DROP_IN).iterdir())) == 4
    assert scene.read("/etc/motd") == "new\n"
    assert set(scene.outcomes().values()) == {"held", "applied"}


def test_at_the_limit_nothing_is_held(scene: Scene) -> None:
    scene.enrolled({**MOTD, **many(3)}, limits={"removals": 3})
    scene.commit(MOTD, limits={"removals": 3})
    scene.apply()
    assert list(scene.at(DROP_IN).iterdir()) == []


def test_an_operator_releases_the_limit_for_the_plan_that_was_looked_at(scene: Scene) -> None:
    scene.enrolled({**MOTD, **many(4)}, limits={"removals": 3})
    scene.commit(MOTD, limits={"removals": 3})
    scene.apply(code=1)
    plan = scene.run("plan", "--json").json["plan_id"]
    scene.apply("--allow", "removals=3", "--expect", plan, code=1)
    assert len(list(scene.at(DROP_IN).iterdir())) == 4
    ran = scene.run("apply", "--allow", "removals=4", "--expect", "sha256:" + "0" * 64)
    assert ran.code not in {0, 2, 70}
    assert len(list(scene.at(DROP_IN).iterdir())) == 4
    scene.apply("--allow", "removals=4", "--expect", plan)
    assert list(scene.at(DROP_IN).iterdir()) == []


def test_git_releases_the_limit_from_the_revision_that_declares_them(scene: Scene) -> None:
    head = scene.enrolled({**MOTD, **many(4)}, limits={"removals": 3})
    scene.commit(MOTD, limits={"removals": 3, "allow": {"removals": 4, "from": head}})
    scene.apply()
    assert list(scene.at(DROP_IN).iterdir()) == []


def test_a_release_from_another_revision_releases_nothing(scene: Scene) -> None:
    scene.enrolled({**MOTD, **many(4)}, limits={"removals": 3})
    other = scene.commit({**MOTD, **many(4), "file:/srv/x": {"content": "x\n"}}, limits={"removals": 3})
    scene.commit(MOTD, limits={"removals": 3, "allow": {"removals": 4, "from": other}})
    scene.apply(code=1)
    assert len(list(scene.at(DROP_IN).iterdir())) == 4


def test_an_unobservable_resource_holds_every_removal(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    scene.at("/etc/way").symlink_to("other.d")
    scene.commit({**MOTD, "file:/etc/way/x": {"content": "x\n"}})
    scene.apply(code=1)
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    scene.at("/etc/way").unlink()
    scene.at("/etc/way").mkdir()
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None


def test_an_unreadable_file_holds_every_removal_until_it_can_be_read(user_scene: Scene) -> None:
    """Nobody may read the bytes: that is not a difference, and what waits for a whole look waits on."""
    scene = user_scene
    first = scene.enrolled({**MOTD, A: {"content": "a\n"}})
    second = scene.commit(MOTD)
    motd = scene.at("/etc/motd")
    motd.chmod(0)
    before = motd.stat()
    for _ in range(2):
        ran = scene.apply(code=1)
        assert "file:/etc/motd" in ran.out
        assert scene.report["outcome"] == "incomplete"
        assert scene.outcomes()["file:/etc/motd"] == "unobservable"
        assert scene.read(f"{DROP_IN}/a") == "a\n"
        assert scene.trail == [first, second]
        now = motd.stat()
        assert (now.st_ino, now.st_mode, now.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
    motd.chmod(0o644)
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") is None
    assert (scene.trail, scene.pointer["converged"]) == ([second], second)
    assert orphans(scene) == {}


def test_removals_come_after_creates_and_updates_in_reverse_order_of_the_old_graph(scene: Scene) -> None:
    b = f"file:{DROP_IN}/b"
    scene.enrolled({A: {"content": "a\n", "requires": [b]}, b: {"content": "b\n"}})
    scene.commit({"file:/etc/other.d/z": {"content": "z\n"}})
    ran = scene.apply("--json")
    order = [(entry["operation"], entry["id"]) for entry in ran.json["resources"]]
    assert order == [("create", "file:/etc/other.d/z"), ("delete", A), ("delete", b)]


def test_declared_again_is_no_orphan(scene: Scene) -> None:
    scene.enrolled({**MOTD, A: {"content": "a\n"}})
    scene.write(f"{DROP_IN}/a", "changed\n")
    scene.commit(MOTD)
    scene.apply()
    scene.commit({**MOTD, A: {"content": "a\n"}})
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") == "a\n"
    assert orphans(scene) == {}


def test_a_declared_absence_needs_no_equality(scene: Scene) -> None:
    scene.write(f"{DROP_IN}/a", "anyone's\n")
    scene.enrolled({**MOTD, A: {"absent": True}})
    assert scene.read(f"{DROP_IN}/a") is None
    scene.commit(MOTD)
    scene.write(f"{DROP_IN}/a", "anyone's\n")
    scene.apply()
    assert scene.read(f"{DROP_IN}/a") == "anyone's\n"
