"""No process for each resource, and nothing fetched when nothing changed, counted by a tracer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.harness.strace import Call, Strace
from tests.passes.scene import Scene
from tests.proofs.stage import command, environment, fast_folder

FEW: Final = 10
MANY: Final = 1000
# What an unchanged poll may carry: capabilities, the one ref asked for, and no object (73 bytes a ref).
MOST_BYTES: Final = 1000


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as folder:
        yield folder


def scene_of(folder: Path, count: int) -> Scene:
    """Return a fleet of so many files, enrolled and not applied."""
    scene = Scene(folder / str(count))
    names = [f"file:/etc/app.d/{number:04}.conf" for number in range(count)]
    scene.commit({name: {"content": f"{name}\n" * 10, "mode": "0644"} for name in names})
    assert scene.init().code == 0
    return scene


def traced(scene: Scene, *names: str) -> list[Call]:
    return Strace(env=environment(scene.folder), timeout=120).trace(command(scene.root, "apply"), names)


def programs(calls: list[Call]) -> list[str]:
    """Return the programs that were started, in order."""
    return [call.arguments.split('"')[1].rpartition("/")[2] for call in calls if call.result == "0"]


@pytest.mark.host
def test_the_number_of_processes_does_not_grow_with_the_resources(folder: Path) -> None:
    few, many = scene_of(folder, FEW), scene_of(folder, MANY)
    first = [programs(traced(scene, "execve", "execveat")) for scene in (few, many)]
    second = [programs(traced(scene, "execve", "execveat")) for scene in (few, many)]
    assert len(list((many.root / "etc/app.d").iterdir())) == MANY
    print(f"programs of a pass that creates: {first[1]}; of one with nothing to do: {second[1]}")
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert 1 < len(second[0]) <= 5


@pytest.mark.host
def test_an_unchanged_poll_fetches_nothing(folder: Path) -> None:
    carried = {}
    for count in (FEW, MANY):
        scene = scene_of(folder, count)
        scene.apply()
        packs = scene.root / "var/lib/datum/mirror.git/objects"
        before = {path: path.stat().st_mtime_ns for path in packs.rglob("*")}
        calls = traced(scene, "read", "execve")
        assert {path: path.stat().st_mtime_ns for path in packs.rglob("*")} == before
        assert "index-pack" not in " ".join(call.arguments for call in calls if call.name == "execve")
        own = calls[0].pid
        read = [call for call in calls if call.pid == own and call.name == "read" and "<pipe:" in call.arguments]
        carried[count] = sum(int(call.result) for call in read)
    print(f"bytes that an unchanged poll carries: {carried}")
    assert 0 < carried[FEW] == carried[MANY] < MOST_BYTES
