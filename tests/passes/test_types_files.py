"""Whole passes over files: every byte, every right, and whatever stands there already."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.passes.looks import (
    accounts,
    assert_settled,
    held,
    immutable,
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
    untimed,
    written,
)
from tests.passes.scene import DROP_IN, FLEET_ID, HOST, Scene, install

BINARY: Final = bytes(range(256)) * 40
WINDOWS: Final = "\ufeffone\r\ntwo\r\n"
BYTES: Final[dict[str, tuple[dict[str, Any], bytes]]] = {
    "text": ({"content": WINDOWS}, WINDOWS.encode()),
    "empty": ({"content": ""}, b""),
    "source": ({"source": "files/binary"}, BINARY),
    "template": ({"template": "templates/t"}, b"on web1\r\n\r\nno newline"),
    "base64": ({"base64": "AP8N\nCgA="}, b"\0\xff\r\n\0"),
    "parts": (
        {
            "parts": [
                {"content": "a\r\n"},
                {"source": "files/binary"},
                {"template": "templates/t"},
                {"content": "$${x}"},
            ]
        },
        b"a\r\n" + BINARY + b"on web1\r\n\r\nno newline" + b"${x}",
    ),
    "assembled": ({"assemble": "lines"}, b"first\nlayer\nlast\n"),
    "seed": ({"content": "begin\n", "seed": True, "mode": "0640"}, b"begin\n"),
}


@pytest.fixture(scope="module")
def bytes_scene() -> Iterator[Scene]:
    """Give a host with files of all origins in place."""
    with new_scene() as scene:
        mask = os.umask(0o077)
        try:
            scene.repository.commit(
                {
                    "files/binary": BINARY,
                    "templates/t": b"on {{ host.name }}\r\n\r\nno newline",
                    "layers/role/web.yaml": 'contribute: {lines: {20-layer: "layer\\n"}}\n',
                }
            )
            scene.commit(
                {f"file:/srv/{name}": fields for name, (fields, _) in BYTES.items()},
                host={"layers": {"role": "web"}, "contribute": {"lines": {"10": "first", "30": "last\n"}}},
                layers=["role"],
            )
            assert scene.init().code == 0
            scene.apply()
        finally:
            os.umask(mask)
        yield scene


@pytest.mark.parametrize("name", BYTES)
def test_bytes_land_as_they_were_declared(bytes_scene: Scene, name: str) -> None:
    """Whatever the umask: 0644 unless something else is said."""
    place = bytes_scene.at(f"/srv/{name}")
    assert place.read_bytes() == BYTES[name][1]
    assert mode(place) == BYTES[name][0].get("mode", "0644")


def test_files_of_all_origins_are_in_sync_afterwards(bytes_scene: Scene) -> None:
    assert_settled(bytes_scene)


def test_what_has_drifted_is_put_right_and_nothing_else(bytes_scene: Scene) -> None:
    """A seed keeps the bytes that it has grown, not its mode, and is planted again when it is gone."""
    scene = bytes_scene
    scene.write("/srv/seed", "grown\n")
    assert "Nothing to do" in scene.run("plan").out
    scene.at("/srv/seed").chmod(0o600)
    scene.at("/srv/parts").write_bytes(BYTES["parts"][1][:-1])
    found = planned(scene)
    assert {name: (entry["operation"], entry["label"]) for name, entry in found.items()} == {
        "file:/srv/parts": ("update", "drift"),
        "file:/srv/seed": ("update", "drift"),
    }
    (change,) = found["file:/srv/parts"]["changes"]
    assert (change["field"], change["diff"]) == ("content", ""), "no diff of what is no text"
    assert change["after"].startswith("blob:")
    scene.apply()
    assert scene.read("/srv/seed") == "grown\n"
    assert mode(scene.at("/srv/seed")) == "0640"
    assert scene.at("/srv/parts").read_bytes() == BYTES["parts"][1]
    scene.at("/srv/seed").unlink()
    scene.apply()
    assert scene.read("/srv/seed") == "begin\n"
    assert_settled(scene)


def test_a_diff_is_of_texts_only_and_no_report_shows_what_others_may_not_read(scene: Scene) -> None:
    """What is long is told by its object ids; the caller sees the diff of a private file, the report has none."""
    long = "".join(f"line {number}\n" for number in range(8000))
    scene.write("/srv/long", "x\n" + long)
    scene.write("/srv/secret", "old secret\n")
    scene.at("/srv/secret").chmod(0o600)
    scene.at("/srv/latin").write_bytes(b"caf\xe9\n")
    wanted = {"long": long, "secret": "new secret\n", "latin": "caf\n"}
    scene.commit({f"file:/srv/{name}": {"content": content} for name, content in wanted.items()})
    assert scene.init().code == 0
    found = planned(scene)
    assert "-old secret\n+new secret\n" in found["file:/srv/secret"]["changes"][0]["diff"]
    assert [found[f"file:/srv/{name}"]["changes"][0]["diff"] for name in ("long", "latin")] == ["", ""]
    ran = scene.apply()
    assert "+new secret" in ran.out
    report = next((scene.root / "var/log/datum/reports").iterdir()).read_text(encoding="utf-8")
    assert "secret\\n" not in report
    assert "line 7" not in report


@needs_root
def test_setuid_and_owners_are_right_after_one_pass(scene: Scene) -> None:
    """By name, by number; digits are a number even where a user has that name."""
    accounts(scene)
    scene.write("/srv/there", "old\n")
    os.chown(scene.at("/srv/there"), 5, 5)
    scene.at("/srv/there").chmod(0o6755)
    scene.commit(
        {
            "file:/srv/made": {"content": "x", "mode": "4755", "owner": "app", "group": "app"},
            "file:/srv/there": {"content": "new\n", "mode": "6711", "owner": 1234, "group": 1235},
            "file:/srv/digits": {"content": "x", "owner": "4321", "group": "4321", "mode": "1644"},
            "file:/srv/short": {"content": "x", "mode": "600"},
        }
    )
    assert scene.init().code == 0
    scene.apply()
    found = {name: (mode(scene.at(f"/srv/{name}")), owner(scene.at(f"/srv/{name}"))) for name in names(scene, "/srv")}
    assert found == {
        "made": ("4755", (1234, 1235)),
        "there": ("6711", (1234, 1235)),
        "digits": ("1644", (4321, 4321)),
        "short": ("0600", (0, 0)),
    }
    assert_settled(scene)


@needs_root
def test_rights_alone_are_put_right_without_a_new_file(scene: Scene) -> None:
    """Of a file with two names both have them; its bytes and its time stay."""
    scene.enrolled({"file:/srv/x": {"content": "x\n", "mode": "4755", "owner": 0, "group": 0}})
    place = scene.at("/srv/x")
    os.link(place, scene.at("/srv/other"))
    os.chown(place, 1, 1)
    before = place.stat()
    assert mode(place) == "0755", "the kernel took setuid"
    (entry,) = planned(scene).values()
    assert {change["field"] for change in entry["changes"]} == {"mode", "owner", "group"}
    scene.apply()
    now = place.stat()
    assert (now.st_ino, now.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [(mode(path), owner(path)) for path in (place, scene.at("/srv/other"))] == [("4755", (0, 0))] * 2
    assert_settled(scene)


@needs_root
def test_new_bytes_keep_all_that_is_not_declared(scene: Scene) -> None:
    """Owner, mode, ACL, extended attributes and capabilities; another name of the old file keeps the old bytes."""
    place = scene.at("/srv/x")
    scene.write("/srv/x", "old\n")
    os.chown(place, 1234, 1235)
    place.chmod(0o750)
    entry = struct.Struct("<HHI")
    nobody = 2**32 - 1
    acl = struct.pack("<I", 2) + b"".join(
        entry.pack(*item) for item in [(1, 7, nobody), (2, 4, 999), (4, 5, nobody), (16, 5, nobody), (32, 0, nobody)]
    )
    attributes = {
        "system.posix_acl_access": acl,
        "user.note": b"by hand",
        "security.capability": struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0),
    }
    try:
        for name, value in attributes.items():
            os.setxattr(place, name, value)
    except OSError as error:
        pytest.skip(f"no such attributes here: {error}")
    os.link(place, scene.at("/srv/other"))
    scene.enrolled({"file:/srv/x": {"content": "new\n"}})
    assert place.read_bytes() == b"new\n"
    assert (mode(place), owner(place)) == ("0750", (1234, 1235))
    assert {name: os.getxattr(place, name) for name in attributes} == attributes
    assert scene.read("/srv/other") == "old\n"
    assert "link" in said(reported(scene)["file:/srv/x"]).lower()
    assert_settled(scene)


def test_an_unknown_owner_is_impossible_and_the_rest_is_done(scene: Scene) -> None:
    """A failure of what requires it, not of what only comes after it."""
    accounts(scene)
    scene.commit(
        {
            "file:/srv/a": {"content": "a\n", "owner": "ghost"},
            "file:/srv/b": {"content": "b\n", "requires": ["file:/srv/a"]},
            "file:/srv/c": {"content": "c\n", "after": ["file:/srv/a"]},
            "file:/srv/none/d": {"content": "d\n"},
            "file:/srv/rights": {"mode": "0644"},
        }
    )
    assert scene.init().code == 0
    outcomes = {name: entry["outcome"] for name, entry in planned(scene).items()}
    assert outcomes == {
        "file:/srv/a": "failed", "file:/srv/b": "skipped", "file:/srv/c": None,
        "file:/srv/none/d": "failed", "file:/srv/rights": "failed",
    }  # fmt: skip
    scene.apply(code=1)
    assert names(scene, "/srv") == ["c"]
    found = reported(scene)
    assert "ghost" in said(found["file:/srv/a"])
    assert found["file:/srv/b"]["blocked_by"] == "file:/srv/a"


@pytest.mark.parametrize("wanted", ["file", "absent"])
def test_every_other_kind_gives_way_to_a_file_where_that_is_allowed(scene: Scene, wanted: str) -> None:
    """Held with the hazard first, and nothing changes; `protect` is stronger than `allow`; then all of it is done."""
    kinds = [*plantable(), "empty_file", "empty_directory"]
    for kind in kinds:
        plant(scene.at(f"/srv/{kind}/x"), kind)
    fields: dict[str, Any] = {"content": "wanted\n"} if wanted == "file" else {"absent": True}
    scene.commit({f"file:/srv/{kind}/x": fields for kind in kinds}, limits={"removals": "none"})
    assert scene.init().code == 0
    before = scene.host()
    found = planned(scene)
    if wanted == "file":
        operations = {kind: found[f"file:/srv/{kind}/x"]["operation"] for kind in kinds}
        assert operations == {kind: "update" if kind in {"regular", "empty_file"} else "replace" for kind in kinds}
        safe = {"regular", "empty_file", "empty_directory"}
        risky = {f"file:/srv/{kind}/x": "hazard" for kind in kinds if kind not in safe}
        assert held(found) == risky
        assert all(found[name]["hazards"] == ["data_loss"] for name in risky)
    assert held(found)["file:/srv/directory/x"] == "hazard"
    assert found["file:/srv/directory/x"]["takes"] == ["/srv/directory/x/inner"]
    allowed = {**fields, "allow": ["data_loss"]}
    scene.commit({f"file:/srv/{kind}/x": {**allowed, "protect": True} for kind in kinds}, limits={"removals": "none"})
    expected = "replace" if wanted == "file" else "delete"
    found = planned(scene)
    assert held(found) == {name: "protect" for name, entry in found.items() if entry["operation"] == expected}
    assert scene.host() == before
    scene.commit({f"file:/srv/{kind}/x": allowed for kind in kinds}, limits={"removals": "none"})
    scene.apply()
    stand = {kind: scene.read(f"/srv/{kind}/x") for kind in kinds}
    assert stand == dict.fromkeys(kinds, "wanted\n" if wanted == "file" else None)
    assert scene.read("/srv/symlink/behind") == "behind\n"
    assert [path.name for path in scene.at("/srv/directory").iterdir()] == (["x"] if wanted == "file" else [])
    assert_settled(scene)


def test_without_allow_a_pass_leaves_what_stands_there_and_does_the_rest(scene: Scene) -> None:
    """A link is not followed, neither for the bytes nor for the rights."""
    plant(scene.at("/srv/x"), "symlink")
    scene.commit({"file:/srv/x": {"content": "x\n", "mode": "0600"}, "file:/srv/y": {"content": "y\n"}})
    assert scene.init().code == 0
    ran = scene.apply(code=1)
    assert scene.outcomes() == {"file:/srv/x": "held", "file:/srv/y": "applied"}
    assert "allow: [data_loss]" in ran.out
    assert scene.at("/srv/x").readlink() == Path("behind")
    assert (scene.read("/srv/behind"), mode(scene.at("/srv/behind"))) == ("behind\n", "0644")
    assert scene.report["outcome"] == "held"


@needs_root
def test_a_file_that_is_mounted_on_is_written_in_place(scene: Scene) -> None:
    """Told as not atomic."""
    outside = scene.folder / "outside"
    outside.write_text("old and longer\n", encoding="utf-8")
    scene.write("/etc/hosts", "")
    with mounted("--bind", str(outside), str(scene.at("/etc/hosts"))):
        scene.enrolled({"file:/etc/hosts": {"content": "new\n", "mode": "0600"}})
        assert outside.read_text(encoding="utf-8") == "new\n"
        assert mode(outside) == "0600"
        assert "not_atomic" in said(reported(scene)["file:/etc/hosts"])
        assert names(scene, "/etc") == ["app.d", "datum", "hosts", "other.d"]
        assert_settled(scene)


@needs_root
def test_an_immutable_file_fails_with_a_hint(scene: Scene) -> None:
    """Alone: the rest is done, and the next pass goes on."""
    scene.write("/srv/x", "old\n")
    scene.commit({"file:/srv/x": {"content": "new\n"}, "file:/srv/y": {"content": "y\n"}})
    assert scene.init().code == 0
    with immutable(scene.at("/srv/x")):
        before = scene.at("/srv/x").stat()
        scene.apply(code=1)
        assert scene.outcomes() == {"file:/srv/x": "failed", "file:/srv/y": "applied"}
        assert "chattr" in said(reported(scene)["file:/srv/x"])
        assert scene.at("/srv/x").stat().st_ctime_ns == before.st_ctime_ns
        assert names(scene, "/srv") == ["x", "y"]
    scene.apply()
    assert scene.read("/srv/x") == "new\n"


def test_a_leftover_beside_what_is_managed_is_drift(scene: Scene) -> None:
    """Cleared without touching anything else; what is no leftover of a write fails its resource, which names it."""
    wanted: dict[str, dict[str, Any]] = {
        "file:/srv/f": {"content": "x\n"},
        "link:/srv/l": {"target": "f"},
        "directory:/srv/d": {},
        "tree:/srv/t": {"source": "files/site"},
        "file:/srv/p": {"content": "x\n"},
    }
    written(scene, wanted, {"files/site/sub/a": "a\n"})
    assert scene.init().code == 0
    scene.apply()
    before = scene.at("/srv/f").stat()
    for name in (".f", ".l", ".d", "t/sub/.a"):
        scene.write(f"/srv/{name}.datum~.dpkg-tmp", "half")
    os.mkfifo(scene.at("/srv/.p.datum~.dpkg-tmp"))
    found = planned(scene)
    assert {(entry["operation"], entry["label"]) for entry in found.values()} == {("update", "drift")}
    assert set(found) == set(wanted)
    scene.apply(code=1)
    assert names(scene, "/srv") == [".p.datum~.dpkg-tmp", "d", "f", "l", "p", "t"]
    assert names(scene, "/srv/t/sub") == ["a"]
    assert scene.at("/srv/f").stat().st_ctime_ns == before.st_ctime_ns
    assert "/srv/.p.datum~.dpkg-tmp" in said(reported(scene)["file:/srv/p"])
    scene.at("/srv/.p.datum~.dpkg-tmp").unlink()
    assert_settled(scene)


def test_the_longest_names_are_written_like_others(scene: Scene) -> None:
    """What stands beside them meanwhile needs another name; later it can be dropped again."""
    long, wide = "n" * 255, "ü" * 127
    wanted: dict[str, dict[str, Any]] = {
        f"file:{DROP_IN}/{long}": {"content": "x\n"},
        f"file:{DROP_IN}/{wide}": {"content": "x\n"},
        f"link:/srv/{long}": {"target": "x"},
        f"directory:/srv/{wide}": {},
        "tree:/srv/t": {"source": "files/long"},
    }
    written(scene, {**wanted, "file:/etc/motd": {"content": "x"}}, {f"files/long/{long}": "x\n"})
    assert scene.init().code == 0
    scene.apply()
    for path in (f"{DROP_IN}/{long}", f"{DROP_IN}/{wide}", f"/srv/t/{long}"):
        scene.write(path, "hacked\n")
    scene.apply()
    assert {scene.read(f"{DROP_IN}/{name}") for name in (long, wide)} == {"x\n"}
    assert (scene.read(f"/srv/t/{long}"), names(scene, DROP_IN)) == ("x\n", [long, wide])
    assert_settled(scene)
    scene.commit({"file:/etc/motd": {"content": "x"}})
    scene.apply()
    assert names(scene, DROP_IN) == []


def test_a_program_judges_one_file_before_the_host_has_it(scene: Scene) -> None:
    """Refused: the host is as it was, and what requires the file is skipped."""
    install(scene, "/bin/sh")
    check = ["/bin/sh", "-c", 'read word < "$1"; echo "it says $word"; [ "$word" = good ]', "sh", "{path}"]

    def wanted(word: str) -> dict[str, dict[str, Any]]:
        return {
            "file:/srv/x": {"content": f"{word}\n", "validate": check},
            "file:/srv/y": {"content": f"{word}\n", "requires": ["file:/srv/x"]},
        }

    scene.commit(wanted("bad"))
    assert scene.init().code == 0
    before = untimed(scene.host())
    scene.apply(code=1)
    assert untimed(scene.host()) == before
    assert scene.outcomes() == {"file:/srv/x": "failed", "file:/srv/y": "skipped"}
    assert "it says bad" in said(reported(scene)["file:/srv/x"])
    scene.commit(wanted("good"))
    scene.apply()
    assert scene.read("/srv/y") == "good\n"
    assert_settled(scene)


@needs_root
def test_nothing_is_written_where_others_could_turn_the_path(scene: Scene) -> None:
    """The component is named; sticky directories are safe, and those whose group a resource declares."""
    for name, bits in (("open", 0o777), ("group", 0o2775), ("sticky", 0o1777), ("declared", 0o2775)):
        scene.at(f"/srv/{name}").mkdir()
        os.chown(scene.at(f"/srv/{name}"), 0, 1235)
        scene.at(f"/srv/{name}").chmod(bits)
    names = ("open", "group", "sticky", "declared")
    scene.commit(
        {
            "directory:/srv/declared": {"group": 1235, "mode": "2775"},
            **{f"file:/srv/{name}/x": {"content": "x\n"} for name in names},
        }
    )
    assert scene.init().code == 0
    plan = planned(scene)
    assert {name: plan[f"file:/srv/{name}/x"]["outcome"] for name in names} == {
        "open": "failed", "group": "failed", "sticky": None, "declared": None,
    }  # fmt: skip
    assert "'/srv/group', on the way to '/srv/group/x'" in said(plan["file:/srv/group/x"])
    scene.apply(code=1)
    assert {name: scene.at(f"/srv/{name}/x").exists() for name in names} == {
        "open": False, "group": False, "sticky": True, "declared": True,
    }  # fmt: skip
    found = reported(scene)
    assert "/srv/open" in said(found["file:/srv/open/x"])
    assert "/srv/group" in said(found["file:/srv/group/x"])


@needs_root
def test_what_keeps_a_path_from_being_written_matters_only_where_there_is_something_to_write(scene: Scene) -> None:
    """In sync it is in sync, absent it is absent, and a pass that corrects the directory writes below it."""
    for path in ("/srv/there/x", "/srv/corrected/old"):
        scene.write(path, "x\n")
    for name in ("there", "corrected"):
        scene.at(f"/srv/{name}").chmod(0o770)
    wanted: dict[str, dict[str, Any]] = {
        "file:/srv/there/x": {"content": "x\n"},
        "file:/srv/there/y": {"absent": True},
        "directory:/srv/corrected": {"mode": "0750"},
        "file:/srv/corrected/x": {"content": "x\n"},
    }
    scene.commit(wanted)
    assert scene.init().code == 0
    assert planned(scene)["file:/srv/corrected/x"]["outcome"] is None
    scene.apply()
    assert scene.read("/srv/corrected/x") == "x\n"
    assert_settled(scene)
    scene.write("/srv/there/x", "drifted\n")
    assert "'/srv/there'" in said(planned(scene)["file:/srv/there/x"])
    scene.apply(code=1)
    scene.commit({**wanted, "directory:/srv/there": {"mode": "0770"}})
    assert "no resource declares that directory" in said(planned(scene)["file:/srv/there/x"])
    scene.commit({**wanted, "directory:/srv/there": {"mode": "0770", "group": 0}})
    scene.apply()
    assert scene.read("/srv/there/x") == "x\n"


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    head = f"datum: 1\nfleet: {FLEET_ID}\nlayers: []\n"
    scene.commit_files({"fleet.yaml": head, f"hosts/{HOST}.yaml": "resources:\n  file:/srv/x: {mode: 0644}\n"})
    ran = scene.run("plan", "--repo", scene.url, "--host", HOST)
    assert ran.code == 65
    assert "unquoted-scalar" in ran.err
    found = refused_for(
        scene,
        {
            "file:/srv//b": {"content": "b"},
            "file:/srv/c": {"content": "c", "absent": True},
            "file:/srv/d": {"content": "d", "mode": "0999"},
            "file:/srv/e": {"source": "files/none"},
            "file:/srv/f": {"parts": [{"content": "x", "template": "y"}]},
        },
    )
    assert found >= {"name-not-normal", "absent-with-fields", "source-missing", "bad-value"}
    found = refused_for(scene, {"file:/srv/a": {"content": "a", "source": "files/a"}}, {"files/a": "a"})
    assert found == {"two-contents"}
    assert refused_for(scene, {"file:/srv/a": {"base64": "?"}})


def test_two_resources_do_not_hold_one_path(scene: Scene) -> None:
    found = refused_for(scene, {"file:/srv/x": {"content": "x"}, "link:/srv/x": {"target": "y"}})
    assert found == {"duplicate-target"}


def test_a_file_in_sync_before_datum_came_is_only_adopted(scene: Scene) -> None:
    """Nothing is written, also where a package owns it."""
    scene.write("/srv/x", "x\n")
    package(scene, "/srv", "/srv/x")
    scene.commit({"file:/srv/x": {"content": "x\n"}})
    assert scene.init().code == 0
    before = scene.host()
    scene.apply()
    assert scene.host() == before
    assert scene.report["outcome"] == "converged"
    scene.commit({"file:/srv/x": {"content": "y\n"}})
    assert planned(scene)["file:/srv/x"]["label"] == "intent"


def test_adopted_attributes_plan_nothing(scene: Scene) -> None:
    """Of files that are odd: no text, no bytes, rights that are seldom."""
    scene.at("/srv/binary").write_bytes(BINARY)
    scene.at("/srv/empty").touch()
    scene.write("/srv/windows", WINDOWS)
    scene.at("/srv/empty").chmod(0o4711)
    names = [f"file:/srv/{name}" for name in ("binary", "empty", "windows")]
    ran = scene.run("adopt", *names)
    assert (ran.code, ran.err) == (0, ""), ran
    scene.commit({})
    scene.commit_files({f"hosts/{HOST}.yaml": ran.out})
    assert scene.init().code == 0
    before = scene.host()
    assert "Nothing to do: 3 in sync" in scene.run("plan").out
    scene.apply()
    assert scene.host() == before


def test_an_ordinary_user_keeps_files_below_a_root_of_his_own(user_scene: Scene) -> None:
    """All types that write; undeclared owners are the caller, another owner cannot be had, and nothing is left."""
    scene = user_scene
    plant(scene.at("/srv/old"), "directory")
    scene.give()
    wanted: dict[str, dict[str, Any]] = {
        "directory:/srv/app": {"mode": "2750", "exclusive": True},
        "file:/srv/app/x": {"content": "x\n", "mode": "4700"},
        "link:/srv/app/l": {"target": "x"},
        "tree:/srv/app/t": {"source": "files/site", "rules": [{"match": "a", "mode": "0600"}]},
        "file:/srv/old": {"content": "new\n", "allow": ["data_loss"]},
    }
    written(scene, wanted, {"files/site/a": "a\n", "files/site/css/b": "b\n"})
    assert scene.init().code == 0
    scene.apply()
    uid = scene.caller.uid
    paths = ("app", "app/x", "app/l", "app/t", "app/t/a", "app/t/css", "app/t/css/b", "old")
    assert {owner(scene.at(f"/srv/{path}")) for path in paths} == {(uid, uid)}
    assert [mode(scene.at(f"/srv/{path}")) for path in ("app", "app/x", "app/t/a")] == ["2750", "4700", "0600"]
    assert_settled(scene)
    scene.write("/srv/app/stray", "x")
    scene.commit({**wanted, "file:/srv/theirs": {"content": "x\n", "owner": 0}})
    scene.apply(code=1)
    assert not scene.at("/srv/app/stray").exists()
    assert scene.outcomes()["file:/srv/theirs"] == "failed"
    assert names(scene, "/srv") == ["app", "old"]
