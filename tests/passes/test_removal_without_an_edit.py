"""What goes, and what does not, where no declaration was edited: a fact, a condition, a revert (design 2.9, 4.3)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from datum.host import machine
from tests.passes.looks import assert_settled, below, held, kept, names, reported
from tests.passes.scene import DROP_IN, FLEET_ID, Scene

Resources = dict[str, dict[str, Any]]

MOTD: Final[Resources] = {"file:/etc/motd": {"content": "hello\n"}}
FILE, LINK, SIZED = f"file:{DROP_IN}/file", f"link:{DROP_IN}/link", f"file:{DROP_IN}/sized"
DIRECTORY, TREE = f"directory:{DROP_IN}/directory", f"tree:{DROP_IN}/tree"
ALL: Final[Resources] = {
    FILE: {"content": "file\n"},
    LINK: {"target": "file"},
    DIRECTORY: {},
    f"file:{DROP_IN}/directory/in": {"content": "in\n"},
    TREE: {"source": "files/site"},
}
SCHEMAS: Final = tuple((Path(__file__).resolve().parents[2] / "providers/datum_providers").glob("*/schema.json"))
LARGE: Final = "${machine.memory_mib > 1}"
# Each way in which a fact of the machine would decide what is there, or whether something goes.
BY_A_FACT: Final[Mapping[str, Resources]] = {
    "condition": {FILE: {"content": "file\n", "when": LARGE}},
    "list": {f"file:{DROP_IN}/${{each.key}}": {"content": "x", "for_each": "${machine.addresses}"}},
    "id": {f"file:{DROP_IN}/${{machine.arch}}": {"content": "x"}},
    "absent": {FILE: {"absent": LARGE}},
    "removal": {FILE: {"content": "file\n", "on_removal": "${machine.arch}"}},
    "exclusive directory": {f"directory:{DROP_IN}": {"exclusive": LARGE}},
    "deeply exclusive directory": {f"directory:{DROP_IN}": {"exclusive": True, "recurse": LARGE}},
    "exclusive tree": {TREE: {"source": "files/site", "exclusive": LARGE}},
    "purge": {"package:app": {"purge": LARGE}},
    "all keys": {"authorized_key:root": {"exclusive": LARGE}},
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a scene whose repository has a folder for trees."""
    made = Scene(tmp_path)
    made.repository.commit({"files/site/a": "a\n", "files/site/sub/b": "b\n"})
    return made


def be_of(monkeypatch: pytest.MonkeyPatch, memory: int | None) -> None:
    """Be a machine of this many mebibytes; None: one that does not say."""
    monkeypatch.setattr(machine, "_memory_mib", lambda: memory)


def test_no_fact_of_the_machine_decides_what_is_declared_or_whether_something_goes(scene: Scene) -> None:
    first = scene.enrolled({**MOTD, **ALL})
    host = scene.host()
    for way, resources in BY_A_FACT.items():
        scene.commit({**MOTD, **resources})
        ran = scene.run("apply", "--json")
        assert ran.code == 65, way
        assert {found["code"] for found in ran.json["diagnostics"]} == {"late-not-here"}, way
        assert (scene.host(), scene.trail) == (host, [first]), way


def test_fields_that_remove_say_so_in_every_schema() -> None:
    """What is annotated may not be a fact; a new type's `exclusive` is none either."""
    found = {
        (place.parent.name, name): about.get("x-datum")
        for place in SCHEMAS
        for name, about in json.loads(place.read_text())["properties"].items()
        if name in {"exclusive", "recurse", "purge"}
    }
    assert len(found) >= 5
    assert set(found.values()) == {"removes"}, found


def test_a_fact_that_changed_since_the_last_pass_of_a_revision_removes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that is missing: what names it stays as it is, and while that is so nothing else is removed either."""
    be_of(monkeypatch, 2048)
    late = {SIZED: {"content": "${machine.memory_mib}\n"}}
    head = scene.enrolled({**MOTD, **ALL, **late})
    be_of(monkeypatch, 1024)
    scene.apply()
    assert scene.read(f"{DROP_IN}/sized") == "1024\n"
    assert (scene.report["orphans"], scene.trail) == ([], [head])
    be_of(monkeypatch, None)
    scene.apply(code=1)
    assert reported(scene)[SIZED]["outcome"] == "unobservable"
    scene.commit({**MOTD, **late})
    scene.apply(code=1)
    assert names(scene, DROP_IN) == ["directory", "file", "link", "sized", "tree"]
    assert held(reported(scene)) == dict.fromkeys((FILE, LINK), "unobservable")
    be_of(monkeypatch, 1024)
    scene.apply()
    assert names(scene, DROP_IN) == ["directory", "sized", "tree"]
    assert scene.read(f"{DROP_IN}/sized") == "1024\n"


def test_what_was_written_for_another_machine_is_kept_when_it_is_dropped(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared with what the old revision says of this machine it differs, as if somebody had changed it."""
    be_of(monkeypatch, 2048)
    scene.enrolled({**MOTD, FILE: ALL[FILE], SIZED: {"content": "${machine.memory_mib}\n"}})
    be_of(monkeypatch, 1024)
    head = scene.commit(MOTD)
    scene.apply()
    assert (names(scene, DROP_IN), set(kept(scene)), scene.trail) == (["sized"], {SIZED}, [head])
    assert scene.read(f"{DROP_IN}/sized") == "2048\n"


def test_what_a_variable_elsewhere_switches_off_is_an_orphan_like_another(scene: Scene) -> None:
    """Who switches something off in a host file wants it gone, and what grants something by lying there stops to.

    The file that declares it is the same in both revisions; place, equality and limits hold as for what is dropped.
    """
    layer = {
        f"file:{DROP_IN}/each-${{each.key}}": {"content": "x", "for_each": "${var.names}"},
        FILE: {"content": "file\n", "when": "${var.on}"},
        "file:/srv/other": {"content": "other\n", "when": "${var.on}"},
    }
    text = "resources: " + repr(layer).replace("True", "true")
    scene.repository.commit({"layers/role/web.yaml": text})
    fleet = {"fleet": FLEET_ID, "layers": ["role"]}
    host: dict[str, Any] = {"layers": {"role": "web"}, "variables": {"on": True, "names": ["a", "b", "c"]}}
    scene.commit(MOTD, host=host, **fleet)
    assert scene.init().code == 0
    scene.apply()
    assert names(scene, DROP_IN) == ["each-a", "each-b", "each-c", "file"]
    scene.write(f"{DROP_IN}/each-b", "by hand")
    host["variables"] = {"on": False, "names": ["c"]}
    scene.commit(MOTD, host=host, **fleet)
    scene.apply()
    assert names(scene, DROP_IN) == ["each-b", "each-c"]
    assert set(kept(scene)) == {f"file:{DROP_IN}/each-b", "file:/srv/other"}
    host["variables"] = {"on": False, "names": []}
    scene.commit(MOTD, host=host, **fleet, limits={"removals": 0})
    scene.apply(code=1)
    assert names(scene, DROP_IN) == ["each-b", "each-c"]
    assert held(reported(scene)) == {f"file:{DROP_IN}/each-c": "limit"}


def test_a_revert_removes_what_the_reverted_revision_added_and_data_stays(scene: Scene) -> None:
    """Going back is going forward to a revision that declares less: the same rules, and the files of before."""
    first = scene.enrolled({**MOTD, f"file:{DROP_IN}/old": {"content": "old\n"}})
    added = scene.commit({"file:/etc/motd": {"content": "new\n"}, **ALL, "file:/srv/data": {"content": "data\n"}})
    scene.apply()
    assert names(scene, DROP_IN) == ["directory", "file", "link", "tree"]
    scene.repository.git("revert", "--no-edit", added)
    head = scene.repository.git("rev-parse", "HEAD")
    scene.apply()
    assert names(scene, DROP_IN) == ["directory", "old", "tree"]
    assert below(scene, f"{DROP_IN}/tree") == ["a", "sub", "sub/b"]
    assert (scene.read("/etc/motd"), scene.read("/srv/data")) == ("hello\n", "data\n")
    assert {DIRECTORY, TREE, "file:/srv/data"} <= set(kept(scene))
    assert first != head
    assert scene.trail == [head]
    assert_settled(scene)
