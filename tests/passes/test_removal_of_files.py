"""What a revision stops declaring, of every type that stands on a host (design 4.3, and the rows of the research)."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.passes.looks import assert_settled, below, held, kept, mode, names, package, planned, plant, reported
from tests.passes.scene import DROP_IN, HOST, Scene, install

MOTD: Final[dict[str, dict[str, Any]]] = {"file:/etc/motd": {"content": "hello\n"}}
# What cannot be done keeps the revision from settling: the trail keeps both.
UNSETTLED: Final[dict[str, dict[str, Any]]] = {
    "file:/etc/motd": {"content": "refused\n", "validate": ["/no-such-check", "{path}"]}
}
FILE, LINK = f"file:{DROP_IN}/file", f"link:{DROP_IN}/link"
DIRECTORY, TREE = f"directory:{DROP_IN}/directory", f"tree:{DROP_IN}/tree"
ALL: Final[dict[str, dict[str, Any]]] = {
    FILE: {"content": "file\n"},
    LINK: {"target": "file"},
    DIRECTORY: {"mode": "0750", "on_removal": "delete"},
    f"file:{DROP_IN}/directory/in": {"content": "in\n", "on_removal": "delete"},
    TREE: {"source": "files/site", "on_removal": "delete"},
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a scene whose repository has a folder for trees."""
    made = Scene(tmp_path)
    made.repository.commit({"files/site/a": "a\n", "files/site/sub/b": "b\n"})
    return made


def test_what_a_failed_revision_made_and_the_next_drops_goes(scene: Scene) -> None:
    """Of every type; directories and trees too, where they say so."""
    first = scene.enrolled(MOTD)
    second = scene.commit({**UNSETTLED, **ALL})
    scene.apply(code=1)
    assert names(scene, DROP_IN) == ["directory", "file", "link", "tree"]
    assert scene.trail == [first, second]
    third = scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == []
    assert (scene.trail, kept(scene)) == ([third], {})
    assert_settled(scene)


def test_directories_and_trees_are_kept_where_nothing_says_otherwise(scene: Scene) -> None:
    """They are meant to be dropped into, not to be dropped; each is told with the line that settles it."""
    plain = {name: {key: value for key, value in fields.items() if key != "on_removal"} for name, fields in ALL.items()}
    scene.enrolled({**MOTD, **plain})
    head = scene.commit(MOTD)
    scene.apply()
    assert set(kept(scene)) >= {DIRECTORY, TREE}
    assert not {FILE, LINK} & set(kept(scene))
    assert below(scene, f"{DROP_IN}/tree") == ["a", "sub", "sub/b"]
    assert all(orphan["release"] for orphan in scene.report["orphans"] if orphan["id"] in kept(scene))
    assert (scene.trail, scene.report["outcome"]) == ([head], "converged")


def test_children_go_before_what_they_lie_in_and_all_after_what_is_made(scene: Scene) -> None:
    """In reverse order of the old graph, across types."""
    deep = f"{DROP_IN}/directory/tree"
    old = {
        **ALL,
        f"tree:{deep}": {"source": "files/site", "on_removal": "delete"},
        f"link:{DROP_IN}/directory/l": {"target": "in", "on_removal": "delete"},
        f"directory:{deep}/sub/more": {"on_removal": "delete"},
        f"file:{deep}/sub/more/leaf": {"content": "x", "on_removal": "delete"},
        FILE: {"content": "file\n", "requires": [f"file:{DROP_IN}/directory/in"]},
    }
    scene.enrolled({**MOTD, **old})
    scene.commit({**MOTD, "file:/srv/z": {"content": "z\n"}, "directory:/srv/zz": {}})
    order = [(entry["operation"], name) for name, entry in planned(scene).items()]
    assert [operation for operation, _ in order] == ["create"] * 2 + ["delete"] * len(old)
    rank = {name: number for number, (_, name) in enumerate(order)}
    for below_it, above_it in (
        (f"file:{deep}/sub/more/leaf", f"directory:{deep}/sub/more"),
        (f"directory:{deep}/sub/more", f"tree:{deep}"),
        (f"tree:{deep}", DIRECTORY),
        (f"link:{DROP_IN}/directory/l", DIRECTORY),
        (FILE, f"file:{DROP_IN}/directory/in"),
        (f"file:{DROP_IN}/directory/in", DIRECTORY),
    ):
        assert rank[below_it] < rank[above_it]
    scene.apply()
    assert names(scene, DROP_IN) == []
    assert_settled(scene)


def repoint(scene: Scene) -> None:
    scene.at(f"{DROP_IN}/link").unlink()
    scene.at(f"{DROP_IN}/link").symlink_to("elsewhere")


def swap(scene: Scene) -> None:
    scene.at(f"{DROP_IN}/file").unlink()
    scene.at(f"{DROP_IN}/file").mkdir()


BY_HAND: Final[Mapping[str, tuple[str, Callable[[Scene], object]]]] = {
    "bytes": (FILE, lambda scene: scene.write(f"{DROP_IN}/file", "mine\n")),
    "kind": (FILE, swap),
    "target": (LINK, repoint),
    "rights": (DIRECTORY, lambda scene: scene.at(f"{DROP_IN}/directory").chmod(0o700)),
    "foreign": (DIRECTORY, lambda scene: scene.write(f"{DROP_IN}/directory/mine", "mine\n")),
    "leaf": (TREE, lambda scene: scene.write(f"{DROP_IN}/tree/sub/b", "mine\n")),
    "stranger": (TREE, lambda scene: scene.write(f"{DROP_IN}/tree/sub/mine", "mine\n")),
}


@pytest.mark.parametrize("how", BY_HAND)
def test_what_somebody_changed_is_kept_and_named(scene: Scene, how: str) -> None:
    """It is not what any revision declared; everything else goes, and the trail settles."""
    victim, change = BY_HAND[how]
    scene.enrolled({**MOTD, **ALL})
    change(scene)
    before = {path: seen[-1] for path, seen in scene.host().items()}
    head = scene.commit(MOTD)
    scene.apply()
    assert set(kept(scene)) == {victim}
    place = victim.partition(":/")[2]
    now = {path: seen[-1] for path, seen in scene.host().items()}
    gone = {f"{place}/in"} if how in {"rights", "foreign"} else set()
    assert {path for path in before if path.startswith(place)} - gone == {
        path for path in now if path.startswith(place)
    }
    assert (scene.trail, len(names(scene, DROP_IN))) == ([head], 1)


def test_what_is_missing_of_a_tree_does_not_keep_the_rest_of_it(scene: Scene) -> None:
    """A removal that was killed half way leaves just that."""
    scene.enrolled({**MOTD, **ALL})
    scene.at(f"{DROP_IN}/tree/a").unlink()
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == []
    assert_settled(scene)


def test_a_leftover_beside_what_shall_be_absent_or_is_dropped_goes_in_one_pass(scene: Scene) -> None:
    every = {FILE: "file", LINK: "link", DIRECTORY: "directory", TREE: "tree"}
    scene.enrolled({**MOTD, **ALL})
    for name in every.values():
        scene.write(f"{DROP_IN}/.{name}.datum~.dpkg-tmp", "half")
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == []
    assert_settled(scene)
    scene.commit({**MOTD, **{origin: {"absent": True, "protect": True} for origin in every}})
    scene.apply()
    for name in every.values():
        scene.write(f"{DROP_IN}/.{name}.datum~.dpkg-tmp", "half")
    scene.apply()
    assert names(scene, DROP_IN) == []
    assert_settled(scene)


def test_a_directory_goes_with_orphans_of_the_same_pass_only(scene: Scene) -> None:
    """What stays in it keeps it: a file that is kept by its place, by a package, by a person."""
    old = {
        "directory:/srv/a": {"on_removal": "delete"},
        "file:/srv/a/goes": {"content": "x", "on_removal": "delete"},
        "directory:/srv/b": {"on_removal": "delete"},
        "file:/srv/b/stays": {"content": "x"},
        "directory:/srv/c": {"on_removal": "delete"},
        "file:/srv/c/owned": {"content": "x", "on_removal": "delete"},
        "directory:/srv/d": {"on_removal": "delete"},
        "file:/srv/d/declared": {"content": "x"},
    }
    scene.enrolled({**MOTD, **old})
    package(scene, "/srv", "/srv/c/owned")
    scene.commit({**MOTD, "file:/srv/d/declared": {"content": "x"}})
    scene.apply()
    assert below(scene, "/srv") == ["b", "b/stays", "c", "c/owned", "d", "d/declared"]
    assert set(kept(scene)) == {
        "directory:/srv/b", "file:/srv/b/stays", "directory:/srv/c", "file:/srv/c/owned", "directory:/srv/d",
    }  # fmt: skip
    assert kept(scene)["directory:/srv/b"] == "holds_data"
    assert_settled(scene)


def test_after_a_force_push_nothing_goes(scene: Scene) -> None:
    """What was accepted is repaired meanwhile; a merge on top of it goes forward, and removes."""
    scene.enrolled({**MOTD, **ALL})
    scene.repository.git("branch", "before")
    scene.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")
    scene.commit(MOTD)
    host = scene.host()
    scene.apply(code=76)
    assert scene.host() == host
    scene.at(f"{DROP_IN}/link").unlink()
    scene.apply(code=76)
    assert names(scene, DROP_IN) == ["directory", "file", "link", "tree"]
    scene.repository.git("merge", "--quiet", "--strategy", "ours", "--no-edit", "before")
    scene.apply()
    assert names(scene, DROP_IN) == []


@pytest.mark.parametrize("text", ["", "{}\n", "resources: {}\n"])
def test_an_emptied_host_file_removes_nothing(scene: Scene, text: str) -> None:
    """Nor a host file that is gone; the trail still knows when it is back."""
    head = scene.enrolled(ALL)
    host = scene.host()
    scene.commit_files({f"hosts/{HOST}.yaml": text})
    assert scene.run("apply").code in {0, 65}
    assert scene.host() == host
    (scene.repository.path / f"hosts/{HOST}.yaml").unlink()
    scene.commit_files({})
    scene.apply(code=68)
    assert scene.host() == host
    assert scene.trail[0] == head
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == []


def test_a_manifest_that_is_wrong_removes_nothing(scene: Scene) -> None:
    first = scene.enrolled({**MOTD, **ALL})
    scene.commit({"file:/etc/motd": {"content": "new\n"}, "file:/etc//x": {"content": "x"}})
    host = scene.host()
    scene.apply(code=65)
    assert scene.host() == host
    assert scene.trail == [first]


def test_what_cannot_be_looked_at_holds_every_removal(scene: Scene) -> None:
    """Of orphans of every type, of what is declared absent, of what an exclusive directory would clear."""
    scene.enrolled({**MOTD, **ALL, "directory:/srv/x": {}})
    scene.write("/srv/x/stray", "x\n")
    scene.write("/srv/old", "x\n")
    scene.at("/etc/way").symlink_to("other.d")
    absent = {"file:/srv/old": {"absent": True}}
    unseen = {"file:/etc/way/x": {"content": "x\n"}}
    scene.commit({**MOTD, **absent, **unseen, "directory:/srv/x": {"exclusive": True}})
    scene.apply(code=1)
    assert scene.report["outcome"] == "incomplete"
    assert (names(scene, DROP_IN), names(scene, "/srv")) == (["directory", "file", "link", "tree"], ["old", "x"])
    assert names(scene, "/srv/x") == ["stray"]
    assert held(reported(scene)) == dict.fromkeys([*ALL, *absent, "directory:/srv/x"], "unobservable")
    scene.at("/etc/way").unlink()
    scene.at("/etc/way").mkdir()
    scene.apply()
    assert (names(scene, DROP_IN), names(scene, "/srv"), names(scene, "/srv/x")) == ([], ["x"], [])


def test_protection_does_not_vanish_with_its_block(scene: Scene) -> None:
    """Each type is held, pass after pass; a revision that drops only `protect` releases it."""
    scene.enrolled({**MOTD, **{name: {**fields, "protect": True} for name, fields in ALL.items()}})
    dropped = scene.commit(MOTD)
    for _ in range(2):
        scene.apply(code=1)
        assert held(reported(scene)) == dict.fromkeys(ALL, "protect")
        assert names(scene, DROP_IN) == ["directory", "file", "link", "tree"]
    assert scene.trail[-1] == dropped
    scene.commit({**MOTD, **ALL})
    scene.apply()
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == []


def test_what_two_owned_goes_with_the_last_of_them(scene: Scene) -> None:
    """Layers and hosts that declare the same: one of them may drop it."""
    layer = f'resources: {{"{FILE}": {{content: "file\\n"}}, "{LINK}": {{target: file}}}}\n'
    scene.repository.commit({"layers/role/web.yaml": layer})
    host = {"layers": {"role": "web"}}
    both = {FILE: ALL[FILE], LINK: ALL[LINK]}
    scene.commit({**MOTD, **both}, host=host, layers=["role"])
    assert scene.init().code == 0
    scene.apply()
    scene.commit(MOTD, host=host, layers=["role"])
    scene.apply()
    assert names(scene, DROP_IN) == ["file", "link"]
    assert_settled(scene)
    scene.commit({**MOTD, FILE: ALL[FILE]}, layers=["role"])
    scene.apply()
    assert names(scene, DROP_IN) == ["file"]
    scene.commit(MOTD, layers=["role"])
    scene.apply()
    assert names(scene, DROP_IN) == []


def test_a_revision_whose_types_are_gone_removes_nothing_and_stays_in_the_trail(
    scene: Scene, odd_types: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never guessed: what else it declared stays until it can be resolved again."""
    (odd_types / "go").touch()
    first = scene.enrolled({**MOTD, **ALL, f"slow:{DROP_IN}/slow": {"content": "slow\n"}})
    second = scene.commit(MOTD)
    with monkeypatch.context() as patch:
        patch.setattr("sys.path", [path for path in sys.path if not path.endswith("/site")])
        ran = scene.run("apply")
        assert ran.code in {0, 1}, ran
        assert names(scene, DROP_IN) == ["directory", "file", "link", "slow", "tree"]
        assert scene.trail == [first, second]
        assert "slow" in ran.out + ran.err
    scene.apply()
    assert names(scene, DROP_IN) in ([], ["slow"])
    assert scene.trail == [second]


def test_what_was_in_sync_before_datum_came_goes_by_the_same_rules(scene: Scene) -> None:
    """Nobody knows who made an orphan: the place decides, and what was never written is compared the same."""
    scene.write(f"{DROP_IN}/file", "file\n")
    scene.at(f"{DROP_IN}/link").symlink_to("file")
    scene.write("/srv/file", "file\n")
    scene.at("/srv/link").symlink_to("file")
    elsewhere = {"file:/srv/file": {"content": "file\n"}, "link:/srv/link": {"target": "file"}}
    scene.write("/etc/motd", "hello\n")
    scene.commit({**MOTD, FILE: ALL[FILE], LINK: ALL[LINK], **elsewhere})
    assert scene.init().code == 0
    before = scene.host()
    scene.apply()
    assert scene.host() == before
    scene.commit(MOTD)
    scene.apply()
    assert (names(scene, DROP_IN), names(scene, "/srv")) == ([], ["file", "link"])
    assert set(kept(scene)) == set(elsewhere)


def test_a_link_a_directory_and_a_tree_of_a_package_stay(scene: Scene) -> None:
    scene.enrolled({**MOTD, **ALL})
    package(scene, DROP_IN, f"{DROP_IN}/link", f"{DROP_IN}/directory", f"{DROP_IN}/tree/sub/b", f"{DROP_IN}/tree/sub")
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == ["directory", "link", "tree"]
    assert set(kept(scene)) == {LINK, DIRECTORY, TREE}
    assert below(scene, f"{DROP_IN}/tree") == ["a", "sub", "sub/b"]


def test_what_is_never_removed_by_dropping_stays_whatever_is_wished(scene: Scene) -> None:
    old: dict[str, dict[str, Any]] = {
        "link:/etc/resolv.conf": {"target": "/run/resolv.conf", "on_removal": "delete"},
        "directory:/etc/ssh": {"on_removal": "delete"},
        "file:/boot/cmdline": {"content": "x", "on_removal": "delete"},
        "tree:/etc/pam.d": {"source": "files/site", "on_removal": "delete"},
        "directory:/srv": {"on_removal": "delete"},
    }
    scene.at("/boot").mkdir()
    allowed = {name: {**fields, "allow": ["access_loss"]} for name, fields in old.items()}
    scene.enrolled({**MOTD, **allowed})
    scene.commit(MOTD)
    scene.apply()
    assert set(kept(scene)) >= set(old) - {"directory:/srv"}
    assert str(scene.at("/etc/resolv.conf").readlink()) == "/run/resolv.conf"
    assert below(scene, "/etc/pam.d") == ["a", "sub", "sub/b"]
    assert scene.at("/etc/ssh").is_dir()
    assert scene.read("/boot/cmdline") == "x"


def test_what_a_moved_resource_left_in_another_place_is_told_and_stays(scene: Scene) -> None:
    """Of every type."""
    scene.enrolled({**MOTD, LINK: ALL[LINK], DIRECTORY: {"on_removal": "delete"}, TREE: ALL[TREE]})
    scene.commit(
        {
            **MOTD,
            "link:/srv/link": {"target": "file", "moved": LINK},
            "directory:/srv/directory": {"moved": DIRECTORY},
            "tree:/srv/tree": {"source": "files/site", "moved": TREE},
        }
    )
    scene.apply()
    assert (names(scene, DROP_IN), names(scene, "/srv")) == (
        ["directory", "link", "tree"],
        ["directory", "link", "tree"],
    )
    told = {word["id"]: (word["state"], word["rule"]) for word in scene.report["orphans"]}
    assert told == dict.fromkeys((LINK, DIRECTORY, TREE), ("kept", "moved"))


def test_what_a_moved_resource_holds_now_is_no_orphan(scene: Scene) -> None:
    """The same place under another type."""
    scene.enrolled({**MOTD, DIRECTORY: {"on_removal": "delete"}})
    place = DIRECTORY.partition(":")[2]
    scene.commit({**MOTD, f"tree:{place}": {"source": "files/site", "moved": DIRECTORY}})
    scene.apply()
    assert scene.report["orphans"] == []


@pytest.mark.parametrize(("older", "newer", "stays"), [("keep", "delete", False), ("delete", "keep", True)])
def test_the_newest_revision_that_declares_it_says_what_becomes_of_it(
    scene: Scene, older: str, newer: str, stays: bool
) -> None:
    """Of a trail of several: also where the newest never converged."""
    every = [FILE, LINK, DIRECTORY, TREE]
    first = scene.enrolled({**MOTD, **{name: {**ALL[name], "on_removal": older} for name in every}})
    second = scene.commit({**UNSETTLED, **{name: {**ALL[name], "on_removal": newer} for name in every}})
    scene.apply(code=1)
    assert scene.trail == [first, second]
    scene.commit(MOTD)
    scene.apply()
    assert names(scene, DROP_IN) == (["directory", "file", "link", "tree"] if stays else [])
    assert set(kept(scene)) == (set(every) if stays else set())


def test_in_an_exclusive_directory_everything_dropped_goes(scene: Scene) -> None:
    """Files, links, directories and trees: nothing there is anybody's but the fleet's."""
    exclusive = {"directory:/srv/x": {"exclusive": True, "recurse": True}}
    inside: dict[str, dict[str, Any]] = {
        "file:/srv/x/file": {"content": "x"},
        "link:/srv/x/link": {"target": "file"},
        "directory:/srv/x/directory": {},
        "file:/srv/x/directory/in": {"content": "x"},
        "tree:/srv/x/tree": {"source": "files/site"},
    }
    scene.enrolled({**exclusive, **inside})
    head = scene.commit(exclusive, limits={"removals": 20})
    scene.apply()
    assert below(scene, "/srv") == ["x"]
    assert (scene.trail, kept(scene)) == ([head], {})
    assert_settled(scene)


def test_one_level_of_an_exclusive_directory_removes_what_was_declared_on_it(scene: Scene) -> None:
    exclusive = {"directory:/srv/x": {"exclusive": True}}
    inside: dict[str, dict[str, Any]] = {
        "file:/srv/x/file": {"content": "x"},
        "directory:/srv/x/directory": {},
        "link:/srv/x/link": {"target": "file"},
        "tree:/srv/x/tree": {"source": "files/site"},
    }
    scene.enrolled({**exclusive, **inside})
    scene.commit(exclusive)
    scene.apply()
    assert below(scene, "/srv") == ["x"]
    assert_settled(scene)


CONTENTS: Final[Mapping[str, dict[str, dict[str, Any]]]] = {
    "file": {"file:/srv/x": {"content": "file\n"}},
    "link": {"link:/srv/x": {"target": "elsewhere"}},
    "directory": {
        "directory:/srv/x": {"mode": "0750", "on_removal": "delete"},
        "file:/srv/x/in": {"content": "in\n", "on_removal": "delete"},
    },
    "tree": {"tree:/srv/x": {"source": "files/site"}},
}


@pytest.mark.parametrize(
    ("old", "new"),
    [(old, new) for old in CONTENTS for new in CONTENTS if old != new and {old, new} != {"directory", "tree"}],
)
def test_what_becomes_another_kind_in_one_revision_does_so_in_one_pass(scene: Scene, old: str, new: str) -> None:
    """Where that is allowed: the former id is no orphan that anybody has to settle."""
    scene.enrolled({**MOTD, **CONTENTS[old]})
    wanted = {**MOTD, **CONTENTS[new]}
    (name,) = [name for name in wanted if name.endswith(":/srv/x")]
    head = scene.commit({**wanted, name: {**wanted[name], "allow": ["data_loss"]}})
    scene.apply()
    place = scene.at("/srv/x")
    stands = (
        "link"
        if place.is_symlink()
        else "file"
        if place.is_file()
        else "tree"
        if (place / "a").exists()
        else "directory"
    )
    assert stands == new
    if new == "directory":
        assert (below(scene, "/srv/x"), mode(place)) == (["in"], "0750")
    assert (scene.trail, names(scene, "/srv")) == ([head], ["x"])
    assert_settled(scene)


def test_without_allow_what_becomes_another_kind_waits(scene: Scene) -> None:
    """Neither the old nor half of the new is lost; the former id is kept by its place."""
    scene.enrolled({**MOTD, **CONTENTS["file"]})
    second = scene.commit({**MOTD, **CONTENTS["directory"]})
    before = scene.host()
    scene.apply(code=1)
    assert scene.host() == before
    assert (scene.trail, held(reported(scene))) == ([second], {"directory:/srv/x": "hazard"})
    assert set(kept(scene)) == {"file:/srv/x"}


def test_a_dropped_command_and_what_it_made_stay(scene: Scene) -> None:
    """A file that it made is no orphan; one that is declared beside it is."""
    if os.geteuid() != 0:
        pytest.skip("only root may do this")
    install(scene, "/bin/sh")
    run = {"run": ["/bin/sh", "-c", f"echo x > {DROP_IN}/made"], "creates": f"{DROP_IN}/made", "on_removal": "delete"}
    scene.enrolled({**MOTD, "command:x": run, FILE: ALL[FILE]})
    head = scene.commit(MOTD)
    scene.apply()
    assert (names(scene, DROP_IN), scene.trail) == (["made"], [head])
    assert_settled(scene)


def test_an_orphan_that_is_gone_already_is_settled(scene: Scene) -> None:
    """Of every type, also where its folder went with it; nothing is made again."""
    scene.enrolled({**MOTD, **ALL, "directory:/srv/a": {}, "file:/srv/a/x": {"content": "x"}})
    for name in ("directory/in", "file", "link", "tree/a", "tree/sub/b"):
        scene.at(f"{DROP_IN}/{name}").unlink()
    for name in ("directory", "tree/sub", "tree"):
        scene.at(f"{DROP_IN}/{name}").rmdir()
    scene.at("/srv/a/x").unlink()
    scene.at("/srv/a").rmdir()
    head = scene.commit(MOTD)
    scene.apply()
    assert (scene.trail, kept(scene), names(scene, "/srv")) == ([head], {}, [])
    assert_settled(scene)


def test_what_takes_the_place_of_an_orphan_of_another_type_is_nobodys_loss(scene: Scene) -> None:
    """A directory where a dropped link was: kept as it is, since nobody declared it."""
    scene.enrolled({**MOTD, LINK: ALL[LINK]})
    scene.at(f"{DROP_IN}/link").unlink()
    plant(scene.at(f"{DROP_IN}/link"), "directory")
    scene.commit(MOTD)
    scene.apply()
    assert scene.read(f"{DROP_IN}/link/inner") == "precious\n"
    assert set(kept(scene)) == {LINK}
