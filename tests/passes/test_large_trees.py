"""Thousands of files as one resource: one line for people, all of them for programs, and a bound on names."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from datum.fleet import folders
from tests.passes.looks import below, planned, reported
from tests.passes.scene import REPORTS, Scene
from tests.proofs.stage import fast_folder

FILES: Final = 2_000
FOLDERS: Final = 20
NAMES: Final = FILES + FOLDERS
TREE: Final = "tree:/srv/many"
# Of a report with a line for each path, and of one that has nothing to tell of them.
LARGEST: Final = 800 << 10
SMALL: Final = 32 << 10


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Give a scene in memory: each file is synced."""
    with fast_folder() as folder:
        yield Scene(folder)


def report_sizes(scene: Scene) -> list[int]:
    return [place.stat().st_size for place in sorted((scene.root / REPORTS).iterdir())]


def test_thousands_of_files_are_one_resource_and_one_more_than_the_bound_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.commit_files({f"files/many/{number % FOLDERS}/{number}": f"{number}\n" for number in range(FILES)})
    scene.commit({TREE: {"source": "files/many"}})
    monkeypatch.setattr(folders, "ENTRY_LIMIT", NAMES)
    assert scene.init().code == 0
    text = scene.run("plan").out
    assert f"{NAMES} paths: {NAMES} created" in text
    assert (len(text.splitlines()) < 25, len(text) < 4000) == (True, True)
    # Each name, and the directory of the tree itself.
    assert len(planned(scene)[TREE]["changes"]) == NAMES + 1
    assert len(scene.apply().out.splitlines()) < 25
    assert len(below(scene, "/srv/many")) == NAMES
    assert len(reported(scene)[TREE]["changes"]) == NAMES + 1
    assert SMALL < max(report_sizes(scene)) < LARGEST
    scene.at("/srv/many/7/7").write_text("by hand\n")
    scene.at("/srv/many/8/8").unlink()
    ran = scene.apply("--json")
    (entry,) = ran.json["resources"]
    assert [change["field"] for change in entry["changes"]] == ["./7/7", "./8/8"]
    assert "nothing to do" in scene.apply().out
    assert min(report_sizes(scene)) < SMALL
    monkeypatch.setattr(folders, "ENTRY_LIMIT", NAMES - 1)
    ran = scene.run("apply", "--json")
    assert ran.code == 65
    assert f"holds more than {NAMES - 1:,} names" in json.dumps(ran.json["diagnostics"], ensure_ascii=False)
    assert len(below(scene, "/srv/many")) == NAMES
