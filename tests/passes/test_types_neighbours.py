"""Whole passes over directories and trees that clear away, or give away, what lies below, and who has a say in that."""

import json
import os
from typing import Any, Final

import pytest

from tests.passes.looks import (
    assert_settled,
    below,
    held,
    needs_root,
    owner,
    planned,
    refused_for,
    written,
)
from tests.passes.scene import Scene, install

X: Final = "directory:/srv/x"
TREE: Final = "tree:/srv/x"
CLEARING: Final = [
    (X, {"exclusive": True, "recurse": True}),
    (TREE, {"source": "files/site", "exclusive": True}),
]


def declare(scene: Scene, resources: dict[str, dict[str, Any]]) -> None:
    written(scene, resources, {"files/site/a": "a\n"})


@pytest.mark.parametrize(("name", "fields"), CLEARING)
def test_what_an_absent_directory_holds_goes_only_where_that_is_allowed(
    scene: Scene, name: str, fields: dict[str, Any]
) -> None:
    scene.write("/srv/x/gone/deep/precious", "x\n")
    gone = "directory:/srv/x/gone"
    declare(scene, {name: fields, gone: {"absent": True}})
    assert scene.init().code == 0
    assert held(planned(scene)) == {gone: "hazard"}
    scene.apply(code=1)
    assert scene.read("/srv/x/gone/deep/precious") == "x\n"
    assert held(planned(scene)) == {gone: "hazard"}
    declare(scene, {name: fields, gone: {"absent": True, "allow": ["data_loss"]}})
    scene.apply()
    assert "gone" not in below(scene, "/srv/x")
    assert_settled(scene)


@needs_root
@pytest.mark.parametrize(("name", "fields"), CLEARING)
def test_what_a_command_makes_stays_and_is_made_once(scene: Scene, name: str, fields: dict[str, Any]) -> None:
    """By each of the three ways to say what it makes, with what lies below; also where that is declared as well."""
    install(scene, "/bin/sh")
    made = "/srv/x/made/lib"

    def command(script: str, **more: Any) -> dict[str, Any]:
        return {"run": ["/bin/sh", "-c", f"echo ran >> /srv/runs; {script}"], **more}

    resources: dict[str, dict[str, Any]] = {
        name: fields,
        "directory:/srv/x/made": {},
        f"directory:{made}": {"mode": "0755"},
        "command:provides-folder": command(
            f"echo > {made}/one",
            unless=["/bin/sh", "-c", f"test -e {made}/one"],
            provides=[f"path:{made}"],
            requires=[f"directory:{made}"],
        ),
        "command:outputs": command("echo > /srv/x/made/out", inputs=["/srv/in"], outputs=["/srv/x/made/out"]),
        "command:creates": command("echo > /srv/x/flag", creates="/srv/x/flag"),
    }
    scene.write("/srv/in", "x\n")
    scene.write("/srv/x/stray/x", "x\n")
    declare(scene, resources)
    assert scene.init().code == 0
    scene.apply()
    own = {"a"} if name == TREE else set()
    found = set(below(scene, "/srv/x"))
    assert found == {"made", "made/lib", "made/lib/one", "made/out", "flag"} | own
    assert scene.read("/srv/runs") == "ran\n" * 3
    assert_settled(scene)
    del resources["command:creates"]
    declare(scene, resources)
    scene.apply()
    assert set(below(scene, "/srv/x")) == found - {"flag"}, "what a command made that is dropped is nobody's"


@needs_root
@pytest.mark.parametrize(("name", "fields"), CLEARING)
def test_a_folder_that_a_group_may_write_is_cleared_with_all_in_it(
    scene: Scene, name: str, fields: dict[str, Any]
) -> None:
    scene.write("/srv/x/spool/sub/x", "x\n")
    for folder in ("/srv/x/spool", "/srv/x/spool/sub"):
        os.chown(scene.at(folder), 0, 1234)
        scene.at(folder).chmod(0o2775)
    declare(scene, {name: fields})
    assert scene.init().code == 0
    scene.apply()
    assert below(scene, "/srv/x") == (["a"] if name == TREE else [])
    assert_settled(scene)


@pytest.mark.parametrize(("name", "fields"), CLEARING)
def test_a_leftover_beside_nothing_that_is_declared_goes_and_is_no_removal(
    scene: Scene, name: str, fields: dict[str, Any]
) -> None:
    """A file, and a directory that gave way, with what is in it; one of two names of a file stays, and is told."""
    declare(scene, {name: fields})
    assert scene.init().code == 0
    scene.apply()
    scene.write("/srv/x/.z.datum~.dpkg-tmp", "half")
    scene.write("/srv/x/.was.datum~.dpkg-tmp/sub/x", "x\n")
    scene.write("/srv/other", "x\n")
    scene.at("/srv/x/.linked.datum~.dpkg-tmp").hardlink_to(scene.at("/srv/other"))
    found = planned(scene)[name]
    assert [(one["field"], one["before"], one["after"]) for one in found["changes"]] == [
        ("./was", "residue", None),
        ("./z", "residue", None),
    ]
    assert not found.get("takes")
    (entry,) = json.loads(scene.run("plan", "--json").out)["kept"]
    told = [(one["path"], "leftover" in one["why"]) for one in entry["paths"]]
    assert told == [("./.linked.datum~.dpkg-tmp", True)]
    scene.apply()
    assert [path for path in below(scene, "/srv/x") if "datum~" in path] == [".linked.datum~.dpkg-tmp"]
    assert planned(scene) == {}


@needs_root
def test_another_owner_of_a_way_in_is_held_until_that_is_allowed(scene: Scene) -> None:
    """And every path that gets another owner is named, with who has it."""
    home = "directory:/home/app"
    for path in ("/home/app/.ssh/authorized_keys", "/home/app/a"):
        scene.write(path, "x\n")
    os.chown(scene.at("/home/app"), 1234, 1234)
    wanted = {"owner": 1234, "group": 1234, "recursive": ["owner"]}
    declare(scene, {home: wanted})
    assert scene.init().code == 0
    found = planned(scene)[home]
    assert (found["hazards"], held({home: found})) == (["access_loss"], {home: "hazard"})
    changes = {change["field"]: (change["before"], change["after"]) for change in found["changes"]}
    assert changes == {
        "recursive": ("3 of others (./.ssh, ./.ssh/authorized_keys, ./a)", "1234"),
        "./.ssh": ("0", "1234"), "./.ssh/authorized_keys": ("0", "1234"), "./a": ("0", "1234"),
    }  # fmt: skip
    assert "3 of others" in scene.run("plan").out
    declare(scene, {home: {**wanted, "allow": ["access_loss"]}})
    scene.apply()
    assert owner(scene.at("/home/app/.ssh/authorized_keys"))[0] == 1234
    assert_settled(scene)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("file:/srv/f", {"content": "x\n", "seed": True, "unmanaged": ["seed"]}),
        ("file:/srv/f", {"content": "x\n", "validate": ["test", "%s"], "unmanaged": ["validate"]}),
        ("directory:/srv/x", {"exclusive": True, "keep": ["a"], "unmanaged": ["keep"]}),
        ("tree:/srv/x", {"source": "files/site", "mode": "0600", "unmanaged": ["mode"]}),
        ("tree:/srv/x", {"source": "files/site", "links": "keep", "unmanaged": ["links"]}),
        ("tree:/srv/x", {"source": "files/site", "unmanaged": ["source"]}),
        ("command:c", {"run": ["true"], "creates": "/srv/c", "unless": ["true"], "unmanaged": ["creates"]}),
    ],
)
def test_what_is_not_compared_by_itself_cannot_be_left_unmanaged(
    scene: Scene, name: str, fields: dict[str, Any]
) -> None:
    """Its default would hold: the file of a seed overwritten, a mode set, a check skipped."""
    scene.repository.commit({"files/site/a": "a\n"})
    assert refused_for(scene, {name: fields}) == {"bad-value"}
