"""Whole passes over kinds in the way and exclusive directories (ADR 0029), below a root of their own."""

import os

import pytest

from tests.passes.scene import DROP_IN, Resources, Scene

EXCLUSIVE = {f"directory:{DROP_IN}": {"exclusive": True}}


def names_below(scene: Scene, path: str) -> list[str]:
    return sorted(str(found.relative_to(scene.at(path))) for found in scene.at(path).rglob("*"))


@pytest.mark.parametrize("wanted", [{"file:/srv/x": {"content": "x\n"}}, {"link:/srv/x": {"target": "y"}}])
def test_a_directory_gives_way_once_that_is_allowed(scene: Scene, wanted: dict[str, dict[str, object]]) -> None:
    (scene.at("/srv/x") / "sub").mkdir(parents=True)
    (scene.at("/srv/x") / "sub/precious").write_text("data", encoding="utf-8")
    scene.commit(wanted)
    assert scene.init().code == 0
    ran = scene.apply(code=1)
    assert "/srv/x/sub/precious" in ran.out
    assert names_below(scene, "/srv") == ["x", "x/sub", "x/sub/precious"]
    ((origin, fields),) = wanted.items()
    scene.commit({origin: {**fields, "allow": ["data_loss"]}})
    scene.apply()
    assert names_below(scene, "/srv") == ["x"]
    assert "Nothing to do" in scene.run("plan").out


@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
def test_whatever_stands_there_gives_way_to_a_directory(scene: Scene, kind: str) -> None:
    place = scene.at("/srv/x")
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("elsewhere")
    else:
        place.write_text("data", encoding="utf-8")
    scene.commit({"directory:/srv/x": {"allow": ["data_loss"]}})
    assert scene.init().code == 0
    scene.apply()
    assert place.is_dir()
    assert not place.is_symlink()


def test_an_exclusive_directory_loses_what_nobody_declares_and_what_is_dropped(scene: Scene) -> None:
    for name in ("old", "x.local"):
        (scene.at(DROP_IN) / name).write_text("", encoding="utf-8")
    mine = {f"file:{DROP_IN}/mine": {"content": "m\n"}, f"link:{DROP_IN}/l": {"target": "mine"}}
    exclusive = {f"directory:{DROP_IN}": {"exclusive": True, "keep": ["*.local"]}}
    scene.enrolled({**exclusive, **mine})
    assert names_below(scene, DROP_IN) == ["l", "mine", "x.local"]
    head = scene.commit(exclusive)
    scene.apply()
    assert names_below(scene, DROP_IN) == ["x.local"]
    assert scene.trail == [head]
    assert "Nothing to do" in scene.run("plan").out


def test_what_is_cleared_counts_against_the_limit(scene: Scene) -> None:
    for number in range(11):
        (scene.at(DROP_IN) / f"{number:02}").write_text("", encoding="utf-8")
    scene.commit(EXCLUSIVE)
    assert scene.init().code == 0
    assert "limit" in scene.apply(code=1).out
    assert len(names_below(scene, DROP_IN)) == 11
    scene.commit(EXCLUSIVE, host={"limits": {"removals": 11}})
    scene.apply()
    assert names_below(scene, DROP_IN) == []


def test_a_directory_that_holds_anything_is_deleted_only_where_that_is_allowed(scene: Scene) -> None:
    scene.at("/srv/x").mkdir()
    (scene.at("/srv/x") / "precious").write_text("data", encoding="utf-8")
    scene.commit({"directory:/srv/x": {"absent": True}})
    assert scene.init().code == 0
    assert "/srv/x/precious" in scene.apply(code=1).out
    scene.commit({"directory:/srv/x": {"absent": True, "allow": ["data_loss"]}})
    scene.apply()
    assert names_below(scene, "/srv") == []


def test_a_directory_goes_with_files_that_are_declared_absent(scene: Scene) -> None:
    """Nothing is lost that nobody named."""
    scene.at("/srv/x").mkdir()
    (scene.at("/srv/x") / "old").write_text("data", encoding="utf-8")
    scene.commit({"directory:/srv/x": {"absent": True}, "file:/srv/x/old": {"absent": True}})
    assert scene.init().code == 0
    scene.apply()
    assert names_below(scene, "/srv") == []


def test_seeds_and_bytes_reach_the_disk(scene: Scene) -> None:
    wanted: Resources = {
        "file:/srv/seed": {"content": "begin\n", "seed": True},
        "file:/srv/bytes": {"base64": "AP8NCgA="},
        "file:/srv/parts": {"parts": [{"content": "a\r\n"}, {"content": "b"}]},
    }
    scene.enrolled(wanted)
    assert scene.at("/srv/bytes").read_bytes() == b"\0\xff\r\n\0"
    assert scene.at("/srv/parts").read_bytes() == b"a\r\nb"
    scene.at("/srv/seed").write_text("grown\n", encoding="utf-8")
    assert "Nothing to do" in scene.run("plan").out
    scene.at("/srv/seed").unlink()
    scene.apply()
    assert scene.read("/srv/seed") == "begin\n"


@pytest.mark.parametrize(("origin", "expected"), [("directory:/srv/d", 'mode: "2750"'), ("link:/srv/l", 'target: "d"')])
def test_what_is_there_is_adopted(scene: Scene, origin: str, expected: str) -> None:
    scene.at("/srv/d").mkdir()
    scene.at("/srv/d").chmod(0o2750)
    scene.at("/srv/l").symlink_to("d")
    scene.enrolled({"file:/etc/motd": {"content": "x"}})
    ran = scene.run("adopt", origin)
    assert ran.code == 0, ran
    assert expected in ran.out
