"""Whole passes over trees: a folder of the repository onto a folder of the host, path by path."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.passes.looks import (
    accounts,
    assert_settled,
    below,
    held,
    immutable,
    left_alone,
    mode,
    mounted,
    names,
    needs_root,
    new_scene,
    owner,
    package,
    planned,
    plant,
    plantable,
    refused_for,
    reported,
    said,
    written,
)
from tests.passes.scene import Scene, snapshot

T: Final = "tree:/srv/t"
SITE: Final[dict[str, str | bytes]] = {
    "files/site/a.conf": "a\r\n",
    "files/site/bin/run": "#!/bin/sh\n",
    "files/site/conf/site.key": "key\n",
    "files/site/conf/deep/site.key": b"\xff\0",
    "files/site/conf/deep/plain": "",
    "files/site/${x}.tmpl": "${host.name} {{ host.name }}\n",
}
PATHS: Final = sorted(path.removeprefix("files/site/") for path in SITE)
FOLDERS: Final = ["bin", "conf", "conf/deep"]


def fields_of(entry: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {change["field"]: (change["before"], change["after"]) for change in entry["changes"]}


@pytest.fixture(scope="module")
def site() -> Iterator[Scene]:
    """Give a host with a tree in place, by rules."""
    with new_scene() as scene:
        scene.repository.commit(SITE)
        (scene.repository.path / "files/site/bin/run").chmod(0o755)
        rules = [
            {"match": "conf/deep/*.key", "mode": "0600"},
            {"match": "**/*.key", "mode": "0640"},
            {"match": "conf/**/", "mode": "0750"},
            {"match": "conf/", "mode": "2755"},
        ]
        mask = os.umask(0o077)
        try:
            scene.enrolled({T: {"source": "files/site", "rules": rules}})
        finally:
            os.umask(mask)
        yield scene


def test_every_path_has_the_bytes_and_rights_of_the_first_rule_that_matches(site: Scene) -> None:
    """Nothing in a file is interpolated; the execute bit is git's; a pattern with a slash is for folders."""
    assert below(site, "/srv/t") == sorted([*PATHS, *FOLDERS])
    for path, content in SITE.items():
        found = site.at("/srv/t" + path.removeprefix("files/site")).read_bytes()
        assert found == (content.encode() if isinstance(content, str) else content)
    assert {path: mode(site.at(f"/srv/t/{path}")) for path in below(site, "/srv/t")} == {
        "a.conf": "0644", "${x}.tmpl": "0644", "bin": "0755", "bin/run": "0755", "conf": "2755",
        "conf/site.key": "0640", "conf/deep": "0750", "conf/deep/site.key": "0600", "conf/deep/plain": "0644",
    }  # fmt: skip
    assert mode(site.at("/srv/t")) == "0755"
    (entry,) = reported(site).values()
    assert entry["operation"] == "create"
    assert {change["field"] for change in entry["changes"]} >= {f"./{path}" for path in PATHS}


def test_a_tree_in_place_is_in_sync(site: Scene) -> None:
    assert_settled(site)


def test_only_what_drifted_is_touched(site: Scene) -> None:
    """Each path by its own name; rights alone without a new file; what is not of the folder is not looked at."""
    root = site.at("/srv/t")
    site.write("/srv/t/foreign", "x\n")
    before = snapshot(root)
    site.write("/srv/t/a.conf", "hacked\n")
    (root / "bin/run").chmod(0o700)
    (root / "conf/deep/plain").unlink()
    (root / "conf/deep").chmod(0o700)
    entry = planned(site)[T]
    assert (entry["operation"], entry["label"], entry["takes"]) == ("update", "drift", [])
    assert set(fields_of(entry)) == {"./a.conf", "./bin/run", "./conf/deep/plain", "./conf/deep"}
    assert fields_of(entry)["./conf/deep/plain"][0] is None
    assert fields_of(entry)["./conf/deep"] == ("directory 0700", "directory 0750")
    (diff,) = [change["diff"] for change in entry["changes"] if change["field"] == "./a.conf"]
    assert "-hacked" in diff
    assert "+a" in diff
    site.apply()
    now = snapshot(root)
    assert {path for path in now if now[path] != before[path]} == {
        ".",
        "a.conf",
        "bin/run",
        "conf/deep",
        "conf/deep/plain",
    }
    assert now["bin/run"][3] == before["bin/run"][3]
    assert_settled(site)


def test_a_thousand_files_are_one_line_for_people_and_all_of_them_for_programs(scene: Scene) -> None:
    files: dict[str, str | bytes] = {f"files/many/{number // 50}/{number}": f"{number}\n" for number in range(1000)}
    written(scene, {"tree:/srv/many": {"source": "files/many"}}, files)
    assert scene.init().code == 0
    text = scene.run("plan").out
    assert "1020 paths: 1020 created" in text or "1021 paths: 1021 created" in text
    assert len(text.splitlines()) < 25
    entry = planned(scene)["tree:/srv/many"]
    assert len(entry["changes"]) >= 1020
    assert len(scene.apply().out.splitlines()) < 25
    assert len(below(scene, "/srv/many")) == 1020
    scene.commit_files({"files/many/0/7": "seven\n"})
    entry = planned(scene)["tree:/srv/many"]
    assert list(fields_of(entry)) == ["./0/7"]
    assert entry["label"] == "intent"
    scene.apply()
    assert_settled(scene)


@needs_root
def test_owners_are_those_of_the_tree_and_of_its_rules(scene: Scene) -> None:
    """What is undeclared stays; setuid is right after one pass."""
    accounts(scene)
    scene.write("/srv/t/a.conf", "old\n")
    os.chown(scene.at("/srv/t/a.conf"), 5, 6)
    rules = [{"match": "bin/run", "owner": "app", "mode": "4755"}, {"match": "conf/", "group": "4321"}]
    written(scene, {T: {"source": "files/site", "group": "app", "rules": rules}}, SITE)
    assert scene.init().code == 0
    scene.apply()
    found = {path: owner(scene.at(f"/srv/t/{path}")) for path in ("a.conf", "bin", "bin/run", "conf", "conf/deep")}
    assert found == {
        "a.conf": (5, 1235), "bin": (0, 1235), "bin/run": (1234, 1235), "conf": (0, 4321), "conf/deep": (0, 1235),
    }  # fmt: skip
    assert mode(scene.at("/srv/t/bin/run")) == "4755"
    assert owner(scene.at("/srv/t")) == (0, 1235)
    assert_settled(scene)
    os.lchown(scene.at("/srv/t/bin/run"), 1, 1)
    scene.apply()
    assert (owner(scene.at("/srv/t/bin/run")), mode(scene.at("/srv/t/bin/run"))) == ((1234, 1235), "4755")


def test_an_exclusive_tree_clears_every_level(scene: Scene) -> None:
    """What is kept, declared, or a package's stays; each path is named and counts; deepest first."""
    for name in (
        "stray",
        ".hidden",
        "conf/stray",
        "old/deep/stray",
        "half/stray",
        "half/x.local",
        "cache/a/b",
        "owned",
        "mine.d/x",
    ):
        scene.write(f"/srv/t/{name}", "x\n")
    scene.at("/srv/t/conf/link").symlink_to("/srv")
    package(scene, "/srv", "/srv/t", "/srv/t/owned")
    wanted: dict[str, dict[str, Any]] = {
        T: {"source": "files/site", "exclusive": True, "keep": ["cache", "**/*.local"]},
        "file:/srv/t/conf/mine": {"content": "mine\n"},
        "directory:/srv/t/mine.d": {"mode": "0700"},
    }
    written(scene, wanted, SITE)
    assert scene.init().code == 0
    found = planned(scene)
    gone = [".hidden", "conf/link", "conf/stray", "half/stray", "old", "old/deep", "old/deep/stray", "stray"]
    assert found[T]["takes"] == [f"/srv/t/{name}" for name in gone]
    assert list(found).index(T) < list(found).index("file:/srv/t/conf/mine")
    scene.apply()
    stays = ["cache", "cache/a", "cache/a/b", "half", "half/x.local", "owned", "conf/mine", "mine.d", "mine.d/x"]
    assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS, *stays])
    assert_settled(scene)
    (scene.repository.path / "files/site/conf/deep/plain").unlink()
    scene.commit(wanted)
    assert planned(scene)[T]["takes"] == ["/srv/t/conf/deep/plain"]
    scene.apply()
    assert "plain" not in names(scene, "/srv/t/conf/deep")
    assert_settled(scene)


def test_a_file_that_leaves_the_folder_stays_unless_the_tree_is_exclusive(scene: Scene) -> None:
    written(scene, {T: {"source": "files/site"}}, SITE)
    assert scene.init().code == 0
    scene.apply()
    (scene.repository.path / "files/site/a.conf").unlink()
    scene.commit({T: {"source": "files/site"}})
    scene.apply()
    assert scene.read("/srv/t/a.conf") == "a\r\n".replace("\r\n", "\n")
    assert_settled(scene)


def test_what_an_exclusive_tree_leaves_alone_is_told_with_the_reason(scene: Scene) -> None:
    scene.write("/srv/t/owned", "x\n")
    scene.write("/srv/t/x.local", "x\n")
    scene.write("/srv/t/stray", "x\n")
    package(scene, "/srv", "/srv/t", "/srv/t/owned")
    written(scene, {T: {"source": "files/site", "exclusive": True, "keep": ["*.local"]}}, SITE)
    assert scene.init().code == 0
    stays = {"./owned": "the package app owns it", "./x.local": "keep says so"}
    assert left_alone(scene.run("plan", "--json").json) == {T: stays}
    text = scene.run("plan").out
    for path, why in stays.items():
        assert f"= {path.removeprefix('./')}  {why}\n" in text
    scene.apply()
    assert left_alone(scene.report) == {T: stays}


def test_an_exclusive_tree_over_a_folder_in_use_is_held_until_somebody_looked(scene: Scene) -> None:
    for number in range(11):
        scene.write(f"/srv/t/{number:02}", "x\n")
    written(scene, {T: {"source": "files/site", "exclusive": True}}, SITE)
    assert scene.init().code == 0
    plan = scene.run("plan", "--json").json
    assert plan["resources"][0]["hold"]["limit"] == "removals"
    before = scene.host()
    scene.apply(code=1)
    assert {path: seen for path, seen in scene.host().items() if path.startswith("srv")} == {
        path: seen for path, seen in before.items() if path.startswith("srv")
    }
    scene.apply("--allow", "removals=11", "--expect", plan["plan_id"])
    assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS])


@pytest.mark.parametrize("where", ["root", "file", "folder", "link"])
def test_every_other_kind_gives_way_to_a_path_of_a_tree_where_that_is_allowed(scene: Scene, where: str) -> None:
    """At the tree's own path, at that of a file, a folder and a link in it."""
    entry = {"root": "", "file": "/x", "folder": "/sub", "link": "/l"}[where]
    kinds = [*plantable(), "empty_file", "empty_directory"]
    for kind in kinds:
        plant(scene.at(f"/srv/{kind}/t{entry}"), kind)
    folder = scene.repository.path / "files/kinds"
    (folder / "sub").mkdir(parents=True)
    (folder / "x").write_text("wanted\n", encoding="utf-8")
    (folder / "sub/y").write_text("wanted\n", encoding="utf-8")
    (folder / "l").symlink_to("x")

    def declare(**more: Any) -> None:
        fields = {"source": "files/kinds", "links": "keep", **more}
        scene.commit({f"tree:/srv/{kind}/t": fields for kind in kinds}, limits={"removals": "none"})

    declare()
    assert scene.init().code == 0
    before = scene.host()
    found = planned(scene)
    wanted = {"root": "directory", "file": "regular", "folder": "directory", "link": "symlink"}[where]
    same = {
        "directory": {"directory", "empty_directory"},
        "regular": {"regular", "empty_file"},
        "symlink": {"symlink"},
    }[wanted]
    risky = {f"tree:/srv/{kind}/t" for kind in kinds} - {
        f"tree:/srv/{kind}/t" for kind in [*same, "empty_file", "empty_directory"]
    }
    assert held(found) == dict.fromkeys(risky, "hazard")
    assert {name for name, seen in found.items() if seen["operation"] == "replace"} == {
        f"tree:/srv/{kind}/t" for kind in kinds if kind not in same
    }
    if wanted != "directory":
        assert found["tree:/srv/directory/t"]["takes"] == [f"/srv/directory/t{entry}/inner"]
    declare(allow=["data_loss"], protect=True)
    found = planned(scene)
    assert held(found) == {name: "protect" for name, seen in found.items() if seen["operation"] == "replace"}
    assert scene.host() == before
    declare(allow=["data_loss"])
    scene.apply()
    for kind in kinds:
        place = scene.at(f"/srv/{kind}/t")
        assert ((place / "x").read_bytes(), (place / "sub/y").read_bytes()) == (b"wanted\n", b"wanted\n"), kind
        assert (str((place / "l").readlink()), (place / "sub").is_symlink(), (place / "x").is_symlink()) == (
            "x",
            False,
            False,
        )
    assert_settled(scene)


def test_links_of_the_folder_are_refused_until_somebody_decides(scene: Scene) -> None:
    """Then they are set as they stand, and nothing behind them is looked at."""
    folder = scene.repository.path / "files/links"
    folder.mkdir(parents=True)
    (folder / "out").symlink_to("/etc/shadow")
    (folder / "up").symlink_to("../../nowhere")
    assert refused_for(scene, {"tree:/srv/l": {"source": "files/links"}}) == {"link-in-folder"}
    scene.commit({"tree:/srv/l": {"source": "files/links", "links": "keep"}})
    assert scene.init().code == 0
    scene.apply()
    assert [str(scene.at(f"/srv/l/{name}").readlink()) for name in ("out", "up")] == ["/etc/shadow", "../../nowhere"]
    assert_settled(scene)
    scene.at("/srv/l/up").unlink()
    scene.at("/srv/l/up").symlink_to("/elsewhere")
    entry = planned(scene)["tree:/srv/l"]
    assert fields_of(entry) == {"./up": ("link:/elsewhere", "link:../../nowhere")}
    scene.apply()
    assert str(scene.at("/srv/l/up").readlink()) == "../../nowhere"


def test_names_that_are_no_text_have_their_bytes(scene: Scene) -> None:
    folder = scene.repository.path / "files/odd"
    folder.mkdir(parents=True)
    odd = [b"caf\xe9", b"with space", b"new\nline", b"-rf", b"t\xc3\xa4glich"]
    for name in odd:
        (folder / os.fsdecode(name)).write_bytes(name)
    scene.commit({"tree:/srv/odd": {"source": "files/odd", "exclusive": True}})
    assert scene.init().code == 0
    entry = planned(scene)["tree:/srv/odd"]
    assert ".//caf\\xe9" in fields_of(entry)
    scene.apply()
    found = {name: (scene.at("/srv/odd") / os.fsdecode(name)).read_bytes() for name in odd}
    assert found == {name: name for name in odd}
    assert_settled(scene)


@needs_root
def test_a_path_that_cannot_be_written_keeps_no_other_from_being_written(scene: Scene) -> None:
    """The step fails then, clears nothing away, and the next pass goes on."""
    scene.write("/srv/t/a.conf", "old\n")
    scene.write("/srv/t/stray", "x\n")
    written(
        scene,
        {T: {"source": "files/site", "exclusive": True}, "file:/srv/y": {"content": "y\n", "requires": [T]}},
        SITE,
    )
    assert scene.init().code == 0
    with immutable(scene.at("/srv/t/a.conf")):
        scene.apply(code=1)
        assert scene.outcomes() == {T: "failed", "file:/srv/y": "skipped"}
        assert "/srv/t/a.conf" in said(reported(scene)[T])
        assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS, "stray"])
        assert list(fields_of(planned(scene)[T])) == ["./a.conf", "./stray"]
    scene.apply()
    assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS])
    assert scene.read("/srv/t/conf/site.key") == "key\n"
    assert_settled(scene)


@needs_root
def test_an_exclusive_tree_enters_no_mount(scene: Scene) -> None:
    scene.at("/srv/t/m").mkdir(parents=True)
    scene.write("/srv/t/stray", "x\n")
    written(scene, {T: {"source": "files/site", "exclusive": True}}, SITE)
    assert scene.init().code == 0
    with mounted("-t", "tmpfs", "none", str(scene.at("/srv/t/m"))):
        scene.write("/srv/t/m/precious", "x\n")
        scene.apply()
        assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS, "m", "m/precious"])
        assert left_alone(scene.report) == {T: {"./m": "something is mounted on it"}}
        assert_settled(scene)


def test_a_tree_declared_absent_goes_with_all_that_lies_in_it_where_that_is_allowed(scene: Scene) -> None:
    written(scene, {T: {"source": "files/site"}}, SITE)
    assert scene.init().code == 0
    scene.apply()
    scene.commit({T: {"absent": True}})
    entry = planned(scene)[T]
    assert (entry["operation"], entry["hold"]["reason"]) == ("delete", "hazard")
    assert entry["takes"] == [f"/srv/t/{path}" for path in sorted([*PATHS, *FOLDERS])]
    scene.apply(code=1)
    assert below(scene, "/srv/t") == sorted([*PATHS, *FOLDERS])
    scene.commit({T: {"absent": True, "allow": ["data_loss"]}})
    scene.apply()
    assert names(scene, "/srv") == []
    assert_settled(scene)


def test_one_path_that_cannot_be_looked_at_makes_the_tree_unobservable_and_is_named(user_scene: Scene) -> None:
    scene = user_scene
    written(scene, {T: {"source": "files/site"}, "file:/srv/y": {"content": "y\n"}}, SITE)
    assert scene.init().code == 0
    scene.apply()
    scene.at("/srv/t/conf/site.key").chmod(0)
    scene.at("/srv/y").unlink()
    with contextlib.ExitStack() as stack:
        stack.callback(scene.at("/srv/t/conf/site.key").chmod, 0o644)
        scene.apply(code=1)
        assert scene.outcomes() == {T: "unobservable", "file:/srv/y": "applied"}
        assert "conf/site.key" in said(reported(scene)[T])
        assert scene.report["outcome"] == "incomplete"
    scene.apply()


def test_drift_of_what_is_audited_is_told_and_never_repaired(scene: Scene) -> None:
    """Of every type that stands on a host; `unmanaged` fields are not even looked at."""
    audited: dict[str, dict[str, Any]] = {
        T: {"source": "files/site", "audit": True},
        "file:/srv/f": {"content": "f\n", "audit": True},
        "link:/srv/l": {"target": "f", "audit": True},
        "directory:/srv/d": {"mode": "0750", "audit": True},
        "file:/srv/u": {"content": "u\n", "mode": "0644", "unmanaged": ["mode"]},
    }
    written(scene, {name: {**fields, "audit": False} for name, fields in audited.items()}, SITE)
    assert scene.init().code == 0
    scene.apply()
    scene.commit(audited)
    scene.apply()
    scene.write("/srv/t/a.conf", "hacked\n")
    scene.write("/srv/f", "hacked\n")
    scene.at("/srv/l").unlink()
    scene.at("/srv/l").symlink_to("hacked")
    scene.at("/srv/d").chmod(0o700)
    scene.at("/srv/u").chmod(0o600)
    before = scene.host()
    scene.apply(code=1)
    assert scene.host() == before
    assert held(reported(scene)) == {name: "audit" for name, fields in audited.items() if "audit" in fields}


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    scene.repository.commit(SITE)
    wrong: dict[str, dict[str, Any]] = {
        "nothing": {},
        "no-folder": {"source": "files/none"},
        "a-file": {"source": "files/site/a.conf"},
        "mode": {"source": "files/site", "mode": "rw"},
        "rule": {"source": "files/site", "rules": [{"mode": "0644"}]},
    }
    for fields in wrong.values():
        assert refused_for(scene, {T: fields}), fields
    both = {T: {"source": "files/site"}, "file:/srv/t/a.conf": {"content": "x"}}
    assert refused_for(scene, both) == {"duplicate-target"}
    assert refused_for(scene, {T: {"source": "files/site"}, "file:/srv/t/a.conf/x": {"content": "x"}})
