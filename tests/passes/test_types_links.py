"""Whole passes over links: what they say, never what they lead to."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.passes.looks import (
    assert_settled,
    held,
    names,
    needs_root,
    owner,
    planned,
    plant,
    plantable,
    refused_for,
)
from tests.passes.scene import HOST, Scene

TEXTS: Final = {
    "absolute": "/srv/behind",
    "relative": "../srv/behind",
    "dangling": "/not/there",
    "folder": ".",
    "odd": "a b\u2028$${x}",
}


def test_links_say_what_was_declared_and_are_pointed_elsewhere_without_touching_either_end(scene: Scene) -> None:
    """A link that dangles is in sync; the text is compared, not what it leads to."""
    scene.write("/srv/behind", "behind\n")
    before = scene.at("/srv/behind").stat()
    scene.enrolled({f"link:/srv/{name}": {"target": text} for name, text in TEXTS.items()})
    said = {name: str(scene.at(f"/srv/{name}").readlink()) for name in TEXTS}
    assert said == {**TEXTS, "odd": "a b\u2028${x}"}
    assert_settled(scene)
    again = dict.fromkeys(TEXTS, "behind")
    scene.commit({f"link:/srv/{name}": {"target": text} for name, text in again.items()})
    found = planned(scene)
    assert {(entry["operation"], entry["label"]) for entry in found.values()} == {("update", "intent")}
    assert found["link:/srv/relative"]["changes"] == [
        {"field": "target", "before": "../srv/behind", "after": "behind", "diff": ""}
    ]
    scene.apply()
    assert {str(scene.at(f"/srv/{name}").readlink()) for name in TEXTS} == {"behind"}
    now = scene.at("/srv/behind").stat()
    assert (now.st_ino, now.st_ctime_ns, now.st_nlink) == (before.st_ino, before.st_ctime_ns, 1)
    assert_settled(scene)


# Looks at links until its standard input ends, and once more; says at once that it looks, and in the end what it saw.
LOOKER: Final = """
import os, select, sys
print("looks", flush=True)
seen = set()
ends = False
while not ends:
    ends = bool(select.select([0], [], [], 0)[0])
    for path in sys.argv[1:]:
        try:
            seen.add(os.readlink(path))
        except OSError as error:
            seen.add(str(error))
print(*sorted(seen), sep="\\n")
"""


def test_at_every_moment_a_link_leads_to_the_old_end_or_the_new_one(scene: Scene) -> None:
    """To another process, which sees every one of them: so many links that it would see one that is missing."""
    links = [f"/srv/current-{number}" for number in range(30)]

    def declare(target: str) -> None:
        scene.commit({f"link:{link}": {"target": target} for link in links}, limits={"changed": "none"})

    declare("0")
    assert scene.init().code == 0
    scene.apply()
    argv = [sys.executable, "-S", "-c", LOOKER, *(str(scene.at(link)) for link in links)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as looker:
        assert looker.stdout is not None
        assert looker.stdout.readline() == "looks\n"
        for target in ("1", "2"):
            declare(target)
            scene.apply()
        seen, _ = looker.communicate()
    assert seen.split("\n") == ["0", "1", "2", ""]
    assert {str(scene.at(link).readlink()) for link in links} == {"2"}


@needs_root
def test_the_owner_is_that_of_the_link_itself(scene: Scene) -> None:
    """Undeclared ones stay when it is pointed elsewhere."""
    scene.write("/srv/behind", "x\n")
    scene.at("/srv/there").symlink_to("behind")
    os.lchown(scene.at("/srv/there"), 1234, 1235)
    scene.enrolled(
        {"link:/srv/there": {"target": "./behind"}, "link:/srv/made": {"target": "behind", "owner": 5, "group": 6}}
    )
    assert [owner(scene.at(f"/srv/{name}")) for name in ("there", "made", "behind")] == [(1234, 1235), (5, 6), (0, 0)]
    assert_settled(scene)
    os.lchown(scene.at("/srv/made"), 7, 6)
    inode = scene.at("/srv/made").lstat().st_ino
    (entry,) = planned(scene).values()
    assert [change["field"] for change in entry["changes"]] == ["owner"]
    scene.apply()
    assert (owner(scene.at("/srv/made")), scene.at("/srv/made").lstat().st_ino) == ((5, 6), inode)


@pytest.mark.parametrize("wanted", ["link", "absent"])
def test_every_other_kind_gives_way_to_a_link_where_that_is_allowed(scene: Scene, wanted: str) -> None:
    """Nothing in a directory is lost that the plan did not name."""
    kinds = [*plantable(), "empty_file", "empty_directory"]
    for kind in kinds:
        plant(scene.at(f"/srv/{kind}/x"), kind)
    fields: dict[str, Any] = {"target": "elsewhere"} if wanted == "link" else {"absent": True}

    def declare(**more: Any) -> None:
        scene.commit({f"link:/srv/{kind}/x": {**fields, **more} for kind in kinds}, limits={"removals": "none"})

    declare()
    assert scene.init().code == 0
    before = scene.host()
    found = planned(scene)
    if wanted == "link":
        safe = {"symlink", "empty_file", "empty_directory"}
        assert held(found) == {f"link:/srv/{kind}/x": "hazard" for kind in kinds if kind not in safe}
        assert {name for name, entry in found.items() if entry["operation"] != "replace"} == {"link:/srv/symlink/x"}
    assert held(found)["link:/srv/directory/x"] == "hazard"
    assert found["link:/srv/directory/x"]["takes"] == ["/srv/directory/x/inner"]
    declare(allow=["data_loss"], protect=True)
    found = planned(scene)
    expected = "replace" if wanted == "link" else "delete"
    assert held(found) == {name: "protect" for name, entry in found.items() if entry["operation"] == expected}
    assert scene.host() == before
    declare(allow=["data_loss"])
    scene.apply()
    for kind in kinds:
        place = scene.at(f"/srv/{kind}/x")
        if wanted == "link":
            assert place.readlink() == Path("elsewhere")
        else:
            assert not os.path.lexists(place)
    assert scene.read("/srv/symlink/behind") == "behind\n"
    assert_settled(scene)


def test_what_a_link_leads_to_comes_first_and_its_failure_is_not_the_links(scene: Scene) -> None:
    scene.commit(
        {
            "link:/etc/a": {"target": "/srv/z"},
            "file:/srv/z": {"content": "z\n"},
            "link:/etc/b": {"target": "../srv/none/z"},
            "file:/srv/none/z": {"content": "z\n"},
            "link:/etc/none/c": {"target": "x"},
        }
    )
    assert scene.init().code == 0
    order = list(planned(scene))
    assert order.index("file:/srv/z") < order.index("link:/etc/a")
    scene.apply(code=1)
    found = scene.outcomes()
    assert (found["link:/etc/a"], found["link:/etc/b"]) == ("applied", "applied")
    assert (found["file:/srv/none/z"], found["link:/etc/none/c"]) == ("failed", "failed")
    assert str(scene.at("/etc/b").readlink()) == "../srv/none/z"


def test_a_release_is_switched_with_its_folder_in_one_pass(scene: Scene) -> None:
    """And back: going forward to what was before."""

    def release(number: int) -> dict[str, dict[str, Any]]:
        return {
            "directory:/srv/releases": {},
            f"file:/srv/releases/{number}": {"content": f"{number}\n"},
            "link:/srv/current": {"target": f"releases/{number}"},
        }

    scene.enrolled(release(1))
    for number in (2, 1):
        scene.commit(release(number))
        scene.apply()
        assert scene.read("/srv/current") == f"{number}\n"
    assert names(scene, "/srv/releases") == ["1", "2"]


def test_mistakes_in_declarations_leave_the_host_alone(scene: Scene) -> None:
    for target in ("", "x", "/srv/x", "../srv/x", "x/y", "y" * 4096):
        assert refused_for(scene, {"link:/srv/x": {"target": target}}), target
    assert refused_for(scene, {"link:/srv/x": {"target": "y"}, "file:/srv/x/z": {"content": "z"}})


def test_adopted_attributes_plan_nothing(scene: Scene) -> None:
    for name, text in TEXTS.items():
        scene.at(f"/srv/{name}").symlink_to(text)
    ran = scene.run("adopt", *(f"link:/srv/{name}" for name in TEXTS))
    assert (ran.code, ran.err) == (0, ""), ran
    scene.commit({})
    scene.commit_files({f"hosts/{HOST}.yaml": ran.out})
    assert scene.init().code == 0
    before = scene.host()
    assert f"Nothing to do: {len(TEXTS)} in sync" in scene.run("plan").out
    scene.apply()
    assert scene.host() == before
