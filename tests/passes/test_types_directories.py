"""Whole passes over directories: rights, what lies in exclusive ones, owners below, and directories that go."""

import os
from typing import Any, Final

import pytest

from tests.passes.looks import (
    assert_settled,
    below,
    held,
    left_alone,
    mode,
    mounted,
    names,
    needs_root,
    owner,
    package,
    planned,
    plant,
    plantable,
    refused_for,
    reported,
    said,
)
from tests.passes.scene import HOST, Scene, snapshot

X: Final = "directory:/srv/x"


def test_rights_are_right_after_one_pass_and_drift_is_put_right_in_place(scene: Scene) -> None:
    """Whatever the umask; a mode of four digits takes setgid away; nothing below changes."""
    scene.at("/srv/there").mkdir()
    scene.at("/srv/there").chmod(0o2755)
    wanted: dict[str, dict[str, Any]] = {
        "directory:/srv/a/b": {"mode": "2775", "group": os.getegid()},
        "directory:/srv/a": {},
        "directory:/srv/a/b/c": {"mode": "1777"},
        "directory:/srv/there": {"mode": "0755"},
        "directory:/srv/short": {"mode": "700"},
        "file:/srv/a/b/f": {"content": "f\n"},
    }
    scene.commit(wanted)
    assert scene.init().code == 0
    mask = os.umask(0o077)
    try:
        scene.apply()
    finally:
        os.umask(mask)
    paths = ("a", "a/b", "a/b/c", "there", "short")
    assert [mode(scene.at(f"/srv/{path}")) for path in paths] == ["0755", "2775", "1777", "0755", "0700"]
    assert_settled(scene)
    place = scene.at("/srv/a/b")
    inner, inode = snapshot(place / "c"), place.stat().st_ino
    place.chmod(0o700)
    (entry,) = planned(scene).values()
    assert (entry["id"], entry["operation"], entry["label"]) == ("directory:/srv/a/b", "update", "drift")
    scene.apply()
    assert (mode(place), place.stat().st_ino, snapshot(place / "c")) == ("2775", inode, inner)
    assert scene.read("/srv/a/b/f") == "f\n"


def test_without_a_directory_above_it_is_impossible(scene: Scene) -> None:
    """What requires it is skipped, what does not is done."""
    scene.commit({"directory:/srv/none/x": {}, "file:/srv/none/x/y": {"content": "y"}, "directory:/srv/z": {}})
    assert scene.init().code == 0
    scene.apply(code=1)
    assert scene.outcomes() == {
        "directory:/srv/none/x": "failed", "file:/srv/none/x/y": "skipped", "directory:/srv/z": "applied",
    }  # fmt: skip
    assert "/srv/none" in said(reported(scene)["directory:/srv/none/x"])
    assert names(scene, "/srv") == ["z"]


@pytest.mark.parametrize("wanted", ["directory", "absent"])
def test_every_other_kind_gives_way_to_a_directory_where_that_is_allowed(scene: Scene, wanted: str) -> None:
    """An empty file at once, everything else held first; `protect` is stronger; links are not followed."""
    kinds = [*plantable(), "empty_file"]
    for kind in kinds:
        plant(scene.at(f"/srv/{kind}/x"), kind)
    fields: dict[str, Any] = {} if wanted == "directory" else {"absent": True}

    def declare(**more: Any) -> None:
        scene.commit({f"directory:/srv/{kind}/x": {**fields, **more} for kind in kinds}, limits={"removals": "none"})

    declare()
    assert scene.init().code == 0
    before = scene.host()
    found = planned(scene)
    if wanted == "directory":
        others = [kind for kind in kinds if kind not in {"directory", "empty_file"}]
        assert held(found) == {f"directory:/srv/{kind}/x": "hazard" for kind in others}
        assert {entry["operation"] for entry in found.values()} == {"replace"}
        assert all(entry["hazards"] == ["data_loss"] for name, entry in found.items() if name in held(found))
    else:
        assert held(found)["directory:/srv/directory/x"] == "hazard"
    declare(allow=["data_loss"], protect=True)
    found = planned(scene)
    assert held(found) == dict.fromkeys(found, "protect")
    assert scene.host() == before
    declare(allow=["data_loss"])
    scene.apply()
    for kind in kinds:
        place = scene.at(f"/srv/{kind}/x")
        assert (place.is_dir(), os.path.lexists(place)) == ((wanted == "directory",) * 2), kind
        assert not place.is_symlink()
    assert scene.read("/srv/symlink/behind") == "behind\n"
    if wanted == "directory":
        assert scene.read("/srv/directory/x/inner") == "precious\n"
    assert_settled(scene)


def crowd(scene: Scene) -> None:
    """Fill a directory with all that can lie in one."""
    for name in ("stray", ".hidden", "10.local", "owned", "full/deep", "full/deep.local", "full/owned", "cache/a/b"):
        scene.write(f"/srv/x/{name}", "bytes\n")
    for name in ("empty", "emptied/below", "declared/more"):
        scene.at(f"/srv/x/{name}").mkdir(parents=True)
    scene.write("/srv/x/declared/stray", "bytes\n")
    os.mkfifo(scene.at("/srv/x/pipe"))
    scene.at("/srv/x/link").symlink_to("/srv")
    scene.write("/srv/x/gone", "bytes\n")
    package(scene, "/srv", "/srv/x", "/srv/x/owned", "/srv/x/full", "/srv/x/full/owned")


DECLARED: Final[dict[str, dict[str, Any]]] = {
    "file:/srv/x/mine": {"content": "mine\n"},
    "link:/srv/x/mine.link": {"target": "mine"},
    "file:/srv/x/gone": {"absent": True},
    "directory:/srv/x/declared": {},
    "file:/srv/x/deep/down/mine": {"content": "mine\n"},
    "directory:/srv/x/deep": {},
    "directory:/srv/x/deep/down": {},
    "tree:/srv/x/tree": {"source": "files/site"},
}


def exclusive(scene: Scene, **more: Any) -> list[str]:
    """Have the directory exclusive on a crowded host; return what the plan says goes along, without the directory."""
    crowd(scene)
    scene.repository.commit({"files/site/a": "a\n"})
    fields = {"exclusive": True, "keep": ["*.local", "**/*.local", "cache"], **more}
    scene.commit({X: fields, **DECLARED}, limits={"removals": "none"})
    assert scene.init().code == 0
    entry = planned(scene)[X]
    assert (entry["operation"], entry["hazards"], entry["hold"]) == ("update", [], None)
    scene.apply()
    assert_settled(scene)
    found: list[str] = [path.removeprefix("/srv/x/") for path in entry["takes"]]
    return sorted(found)


STAYS: Final = [
    "10.local", "cache", "cache/a", "cache/a/b", "declared", "declared/more", "declared/stray", "deep", "deep/down",
    "deep/down/mine", "full", "full/deep.local", "full/owned", "mine", "mine.link", "owned", "tree", "tree/a",
]  # fmt: skip


def test_an_exclusive_directory_clears_one_level(scene: Scene) -> None:
    """Files, links, pipes and empty directories; nothing that is declared, kept, or owned by a package."""
    assert exclusive(scene) == [".hidden", "empty", "link", "pipe", "stray"]
    assert below(scene, "/srv/x") == sorted([*STAYS, "emptied", "emptied/below", "full/deep"])
    assert scene.at("/srv").is_dir()
    assert "gone" not in names(scene, "/srv/x"), "declared absent: a deletion of its own"


def test_an_exclusive_directory_clears_every_level_where_that_is_asked_for(scene: Scene) -> None:
    """What lies in a declared directory below goes, too; what a tree holds is the tree's."""
    gone = [".hidden", "emptied", "emptied/below", "empty", "full/deep", "link", "pipe", "stray"]
    assert exclusive(scene, recurse=True) == sorted([*gone, "declared/more", "declared/stray"])
    assert below(scene, "/srv/x") == [path for path in STAYS if path not in {"declared/more", "declared/stray"}]


def test_what_an_exclusive_directory_leaves_alone_is_told_with_the_reason(scene: Scene) -> None:
    crowd(scene)
    scene.commit({X: {"exclusive": True, "keep": ["*.local"]}})
    assert scene.init().code == 0
    plan = scene.run("plan", "--json").json
    fields = [change["field"] for change in plan["resources"][0]["changes"]]
    assert fields == ["./.hidden", "./empty", "./gone", "./link", "./pipe", "./stray"]
    stays = dict.fromkeys(("./cache", "./declared", "./emptied", "./full"), "it is not empty")
    stays |= {"./10.local": "keep says so", "./owned": "the package app owns it"}
    assert left_alone(plan) == {X: stays}
    text = scene.run("plan").out
    assert "leaves alone 6 paths" in text
    for path, why in stays.items():
        assert f"= {path.removeprefix('./')}  {why}\n" in text
    scene.apply()
    assert left_alone(scene.report) == {X: stays}
    assert f"Left alone: 6 paths below {X}; --json says why." in scene.run("plan").out
    assert left_alone(scene.run("plan", "--json").json) == {X: stays}


def test_what_appears_later_is_drift_and_goes(scene: Scene) -> None:
    """A file that is dropped goes with the others; what was cleared once is gone for good."""
    scene.enrolled({X: {"exclusive": True}, "file:/srv/x/mine": {"content": "mine\n"}})
    scene.write("/srv/x/stray", "x\n")
    (entry,) = planned(scene).values()
    assert (entry["label"], entry["takes"]) == ("drift", ["/srv/x/stray"])
    scene.apply()
    assert names(scene, "/srv/x") == ["mine"]
    head = scene.commit({X: {"exclusive": True}})
    scene.apply()
    assert names(scene, "/srv/x") == []
    assert scene.trail == [head]
    assert_settled(scene)


@needs_root
def test_no_mount_is_ever_entered(scene: Scene) -> None:
    """Exclusive leaves it and all in it; a removal and a replacement are impossible, and the rest is done."""
    for name in ("x/m", "gone/m", "full/sub/m"):
        scene.at(f"/srv/{name}").mkdir(parents=True)
    scene.write("/srv/x/stray", "x\n")
    scene.write("/srv/full/data", "data\n")
    points = [str(scene.at(f"/srv/{name}/m")) for name in ("x", "gone", "full/sub")]
    with (
        mounted("-t", "tmpfs", "none", points[0]),
        mounted("-t", "tmpfs", "none", points[1]),
        mounted("-t", "tmpfs", "none", points[2]),
    ):
        scene.write("/srv/x/m/precious", "x\n")
        scene.commit(
            {
                X: {"exclusive": True, "recurse": True},
                "directory:/srv/gone": {"absent": True, "allow": ["data_loss"]},
                "file:/srv/full": {"content": "x\n", "allow": ["data_loss"]},
                "file:/srv/alone": {"content": "x\n"},
            }
        )
        assert scene.init().code == 0
        scene.apply(code=1)
        assert scene.outcomes() == {
            X: "applied", "directory:/srv/gone": "failed", "file:/srv/full": "failed", "file:/srv/alone": "applied",
        }  # fmt: skip
        assert below(scene, "/srv/x") == ["m", "m/precious"]
        assert left_alone(scene.report) == {X: {"./m": "something is mounted on it"}}
        assert below(scene, "/srv/full") == ["data", "sub", "sub/m"]
        found = reported(scene)
        assert "/srv/gone/m" in said(found["directory:/srv/gone"])
        assert "/srv/full/sub/m" in said(found["file:/srv/full"])
    scene.apply()
    assert names(scene, "/srv") == ["alone", "full", "x"]


@needs_root
def test_owners_below_only_where_that_is_declared(scene: Scene) -> None:
    """Not of what is declared itself, nor of a file that has other names; modes stay."""
    for name in ("plain", "deep"):
        scene.write(f"/srv/{name}/sub/file", "x\n")
        scene.write(f"/srv/{name}/linked", "x\n")
        scene.at(f"/srv/{name}/sub/file").chmod(0o604)
        scene.at(f"/srv/{name}/link").symlink_to("/srv")
    os.link(scene.at("/srv/deep/linked"), scene.at("/etc/linked"))
    scene.write("/srv/deep/mine/theirs", "x\n")
    for path in ("mine", "mine/theirs"):
        os.chown(scene.at(f"/srv/deep/{path}"), 7, 7)
    scene.commit(
        {
            "directory:/srv/plain": {"owner": 1234, "group": 1235},
            "directory:/srv/deep": {"owner": 1234, "group": 1235, "recursive": ["owner"]},
            "directory:/srv/deep/mine": {},
        }
    )
    assert scene.init().code == 0
    scene.apply()
    found = {path: owner(scene.at(f"/srv/{path}")) for path in below(scene, "/srv")}
    assert found == {
        "plain": (1234, 1235), "plain/link": (0, 0), "plain/linked": (0, 0), "plain/sub": (0, 0),
        "plain/sub/file": (0, 0),
        "deep": (1234, 1235), "deep/link": (1234, 0), "deep/linked": (0, 0), "deep/mine": (7, 7), "deep/sub": (1234, 0),
        "deep/sub/file": (1234, 0), "deep/mine/theirs": (7, 7),
    }  # fmt: skip
    assert owner(scene.at("/srv")) == (0, 0), "no link is followed"
    assert mode(scene.at("/srv/deep/sub/file")) == "0604"
    assert_settled(scene)
    os.chown(scene.at("/srv/deep/sub/file"), 0, 5)
    (entry,) = planned(scene).values()
    assert entry["label"] == "drift"
    scene.apply()
    assert owner(scene.at("/srv/deep/sub/file")) == (1234, 5)


@needs_root
def test_what_a_third_user_has_below_gets_the_declared_owner(scene: Scene) -> None:
    """That is what `recursive` is for."""
    wanted: dict[str, dict[str, Any]] = {X: {"owner": 1234, "recursive": ["owner"]}}
    scene.write("/srv/x/sub/file", "x\n")
    scene.enrolled(wanted)
    os.chown(scene.at("/srv/x/sub/file"), 5, 5)
    scene.apply()
    assert owner(scene.at("/srv/x/sub/file")) == (1234, 5)


@needs_root
def test_a_file_that_keeps_its_owner_for_its_other_name_is_told(scene: Scene) -> None:
    """Whoever may write in the directory may have linked somebody else's file there."""
    scene.write("/srv/x/linked", "x\n")
    os.link(scene.at("/srv/x/linked"), scene.at("/etc/linked"))
    scene.commit({X: {"owner": 1234, "recursive": ["owner"]}})
    assert scene.init().code == 0
    assert "linked" in told(scene)
    scene.apply()
    assert owner(scene.at("/etc/linked")) == (0, 0)


def told(scene: Scene) -> str:
    """Return all that a plan tells of the directory, for people and for programs."""
    return scene.run("plan").out + said(planned(scene)[X])


def test_a_directory_with_something_in_it_goes_only_where_that_is_allowed(scene: Scene) -> None:
    """Named path by path; without a hazard where declarations take all of it, children first."""
    for name in ("x/a", "x/sub/b"):
        scene.write(f"/srv/{name}", "x\n")
    scene.at("/srv/empty").mkdir()
    absent: dict[str, Any] = {"absent": True}
    scene.commit({X: absent, "directory:/srv/empty": absent, "file:/srv/x/a": absent})
    assert scene.init().code == 0
    found = planned(scene)
    assert held(found) == {X: "hazard"}
    assert (found[X]["hazards"], found[X]["takes"]) == (["data_loss"], ["/srv/x/sub", "/srv/x/sub/b"])
    ran = scene.apply(code=1)
    assert "/srv/x/sub/b" in ran.out
    assert below(scene, "/srv") == ["x", "x/sub", "x/sub/b"]
    scene.commit({X: absent, "directory:/srv/x/sub": absent, "file:/srv/x/sub/b": absent})
    found = planned(scene)
    assert list(found) == ["file:/srv/x/sub/b", "directory:/srv/x/sub", X]
    assert held(found) == {}
    scene.apply()
    assert names(scene, "/srv") == []
    assert_settled(scene)


def test_what_arrives_after_the_plan_stays(scene: Scene) -> None:
    """The plan that was looked at is another one then."""
    scene.write("/srv/x/a", "x\n")
    scene.commit({X: {"absent": True, "allow": ["data_loss"]}})
    assert scene.init().code == 0
    plan = scene.run("plan", "--json").json["plan_id"]
    scene.write("/srv/x/late", "x\n")
    ran = scene.run("apply", "--expect", plan)
    assert ran.code == 1
    assert names(scene, "/srv/x") == ["a", "late"]


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    for fields in (
        {"keep": ["x"]},
        {"recurse": True},
        {"recursive": ["owner"]},
        {"mode": "9"},
        {"recursive": ["mode"]},
    ):
        assert refused_for(scene, {X: fields})
    assert refused_for(scene, {"directory:/srv/x/": {}}) == {"name-not-normal"}


def test_adopted_attributes_plan_nothing(scene: Scene) -> None:
    for bits in ("1777", "2755", "0700"):
        scene.at(f"/srv/{bits}").mkdir()
        scene.at(f"/srv/{bits}").chmod(int(bits, 8))
        scene.write(f"/srv/{bits}/in it", "x\n")
    ran = scene.run("adopt", *(f"directory:/srv/{bits}" for bits in ("1777", "2755", "0700")))
    assert (ran.code, ran.err) == (0, ""), ran
    scene.commit({})
    scene.commit_files({f"hosts/{HOST}.yaml": ran.out})
    assert scene.init().code == 0
    before = scene.host()
    assert "Nothing to do: 3 in sync" in scene.run("plan").out
    scene.apply()
    assert scene.host() == before
