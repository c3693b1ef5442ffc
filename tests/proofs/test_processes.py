"""No process for each resource, nothing fetched and no source read when nothing changed."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
from attrs import field, frozen

from datum.repository.objects import ObjectReader
from datum.repository.tree import GitTree
from tests.harness.strace import Call, Strace, own_calls
from tests.passes.scene import Scene
from tests.proofs.stage import FLEET, HOST, command, environment, fast_folder, install

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
    return declared(folder, {f"file:/etc/app.d/{number:04}.conf": _file(number) for number in range(count)}, count)


def _file(number: int) -> dict[str, Any]:
    return {"content": f"{number}\n" * 10, "mode": "0644"}


def declared(
    folder: Path, resources: dict[str, Any], count: int, files: Mapping[str, str] = MappingProxyType({})
) -> Scene:
    scene = Scene(folder / str(count))
    install(scene.root, "/bin/sh")
    manifest = {"fleet.yaml": json.dumps(FLEET), f"hosts/{HOST}.yaml": json.dumps({"resources": resources})}
    scene.commit_files({**manifest, **files})
    assert scene.init().code == 0
    return scene


def of_every_kind(folder: Path, count: int) -> Scene:
    """Return a fleet of so many files, directories and links, and one tree of so many files, under one check."""
    resources: dict[str, Any] = {"tree:/srv/tree": {"source": "files/tree", "exclusive": True}}
    for number in range(count):
        resources[f"file:/etc/app.d/{number:04}.conf"] = _file(number)
        resources[f"directory:/srv/d{number:04}"] = {"mode": "0750", "exclusive": True}
        resources[f"link:/srv/l{number:04}"] = {"target": f"d{number:04}"}
    guarded = ["tree:/srv/tree", *(f"link:/srv/l{number:04}" for number in range(10))]
    resources["check:all"] = {"run": ["/bin/sh", "-c", "[ -e /srv/tree/0/0000 ]"], "guards": guarded}
    files = {f"files/tree/{number % 10}/{number:04}": f"{number}\n" for number in range(count)}
    return declared(folder, resources, count, files)


def commands(folder: Path, count: int) -> Scene:
    """Return a fleet of so many commands, half with a guard that is a program."""
    resources: dict[str, Any] = {}
    for number in range(count):
        guard: dict[str, Any] = {"creates": f"/srv/{number}"}
        if number % 2:
            guard = {"unless": ["/bin/sh", "-c", f"[ -e /srv/{number} ]"]}
        resources[f"command:c{number}"] = {"run": ["/bin/sh", "-c", f": > /srv/{number}"], **guard}
    return declared(folder, resources, count)


def traced(scene: Scene, *names: str) -> list[Call]:
    return Strace(env=environment(scene.folder), timeout=120).trace(command(scene.root, "apply"), names)


def programs(calls: list[Call]) -> list[str]:
    """Return the programs that were started, in order."""
    return [call.arguments.split('"')[1].rpartition("/")[2] for call in calls if call.result == "0"]


@pytest.mark.host
def test_the_number_of_processes_does_not_grow_with_resources_of_any_kind(folder: Path) -> None:
    few, many = of_every_kind(folder, FEW), of_every_kind(folder, MANY)
    first = [programs(traced(scene, "execve", "execveat")) for scene in (few, many)]
    assert len(list((many.root / "srv").iterdir())) == 2 * MANY + 1
    assert len([path for path in (many.root / "srv/tree").rglob("*") if path.is_file()]) == MANY
    assert first[0] == first[1]
    assert first[0].count("sh") == 1, "the check"
    assert 1 < len(first[0]) <= 6
    second = [programs(traced(scene, "execve", "execveat")) for scene in (few, many)]
    print(f"programs of a pass that creates: {first[1]}; of one with nothing to do: {second[1]}")
    assert second[0] == second[1]
    assert "sh" not in second[0]
    for scene in (few, many):
        (scene.root / "srv/tree/0/0000").write_text("drift\n")
        (scene.root / "etc/app.d/0003.conf").unlink()
        (scene.root / "srv/d0003").chmod(0o700)
        (scene.root / "srv/d0004/stray").touch()
        (scene.root / "srv/l0005").unlink()
    third = [programs(traced(scene, "execve", "execveat")) for scene in (few, many)]
    assert (many.root / "srv/tree/0/0000").read_text() == "0\n"
    assert third[0] == third[1]
    assert third[0].count("sh") == 1


@pytest.mark.host
def test_a_command_costs_its_run_and_its_guards_and_nothing_else(folder: Path) -> None:
    """`creates` costs no program. A guard that is one is run once by a plan, and three times around a run."""
    counts = {}
    for count in (2, 20):
        scene = commands(folder, count)
        passes = [programs(traced(scene, "execve", "execveat")) for _ in range(2)]
        counts[count] = [(found.count("sh"), len(found) - found.count("sh")) for found in passes]
    print(f"shells and other programs of both passes, at 2 and at 20 commands: {counts}")
    assert [others for _, others in counts[2]] == [others for _, others in counts[20]]
    assert [shells for shells, _ in counts[2]] == [1 + (1 + 4), 1]
    assert [shells for shells, _ in counts[20]] == [10 * (1 + (1 + 4)), 10]


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
        read = [call for call in own_calls(calls) if call.name == "read" and "<pipe:" in call.arguments]
        carried[count] = sum(int(call.result) for call in read)
    print(f"bytes that an unchanged poll carries: {carried}")
    assert 0 < carried[FEW] == carried[MANY] < MOST_BYTES


@frozen
class Reads:
    """What a pass in this process read of its repository."""

    # What was asked of a tree: paths, and object ids of sources.
    asked: set[str] = field(factory=set)
    # Ids of every object that was opened, whoever asked.
    objects: set[str] = field(factory=set)

    def clear(self) -> None:
        """Begin anew."""
        self.asked.clear()
        self.objects.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found = Reads()

    def spy(owner: type, name: str, seen: set[str]) -> None:
        real = getattr(owner, name)

        def reading(self: object, what: str) -> Any:
            seen.add(what)
            return real(self, what)

        monkeypatch.setattr(owner, name, reading)

    spy(GitTree, "read", found.asked)
    spy(GitTree, "open_blob", found.asked)
    spy(ObjectReader, "_whole", found.objects)
    return found


def test_a_pass_with_nothing_to_do_reads_no_source(folder: Path, reads: Reads) -> None:
    """Equality is by the id of the blob; only what is to be written is read, and that of the drifted file alone."""
    scene = Scene(folder)
    names = [f"files/{number}" for number in range(FEW)]
    resources = {f"file:/etc/app.d/{number}": {"source": name} for number, name in enumerate(names)}
    scene.commit_files(
        {
            "fleet.yaml": json.dumps(FLEET),
            f"hosts/{HOST}.yaml": json.dumps({"resources": resources}),
            **{name: f"{name}\n" for name in names},
        }
    )
    blobs = {scene.repository.git("rev-parse", f"HEAD:{name}"): name for name in names}
    assert scene.init().code == 0
    scene.apply()
    assert blobs.keys() <= reads.objects
    reads.clear()
    assert "nothing to do" in scene.apply().out
    assert f"hosts/{HOST}.yaml" in reads.asked, "the pass did read its manifests, and was seen to"
    assert not reads.asked & {*names, *blobs}
    assert not reads.objects & blobs.keys()
    scene.write("/etc/app.d/3", "drift\n")
    reads.clear()
    scene.apply()
    assert scene.read("/etc/app.d/3") == "files/3\n"
    assert {blobs[found] for found in reads.objects & blobs.keys()} == {"files/3"}
    assert {blobs.get(found, found) for found in reads.asked & {*names, *blobs}} == {"files/3"}
