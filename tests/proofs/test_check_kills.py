"""A staged set, killed at every writing call from the first candidate to the end of its commit (design 4.2).

Where checks see candidates beforehand; where they see what was written, and restore it; and where they refuse it. A
seeded sample; how many points there are is counted from a trace.
"""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
from attrs import evolve, frozen

from datum.host import namespaces
from tests.harness.strace import WRITING, Call, own_calls, parse
from tests.proofs.stage import WITHOUT_NAMESPACES, Stage, State, environment, fast_folder, install
from tests.proofs.staged_set import SET, SHELL, fill
from tests.unit.host.in_child import in_child

SEED: Final = "datum"
KILLS: Final = 20
_FEWEST_POINTS: Final = {"shown": 60, "written": 80, "refused": 90}
_OPENS: Final = ("open", "openat", "creat")
_CREATES: Final = ("O_CREAT", "O_TMPFILE")
_RESIDUE: Final = re.compile(r"\.(?P<name>[^/]+)\.datum~\.dpkg-tmp")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

Whole = Mapping[str, State | None]


@frozen
class Scene:
    """A prepared root, how the program is run on it, and what it is before and after."""

    stage: Stage
    mode: str
    points: tuple[Call, ...]

    def argv(self, root: Path, *, is_first: bool = True) -> list[str]:
        """Return the command; what comes after a killed run is not refused, and done twice."""
        words = [sys.executable, "-m", "tests.proofs.staged_set", str(root)]
        if not is_first:
            words.append("twice")
        elif self.mode == "refused":
            words.append("refused")
        return words if self.mode == "shown" else [*WITHOUT_NAMESPACES, *words]


@pytest.fixture(scope="module", params=["shown", "written", "refused"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    try:
        in_child(lambda: namespaces.enclose("/", is_offline=True).network_or_fuse)
    except OSError as error:
        if request.param == "shown":
            pytest.skip(f"no namespaces here: {error.strerror}")
    with fast_folder() as folder:
        root = folder / "root"
        (root / "tmp").mkdir(parents=True)
        install(root, SHELL)
        fill(root)
        old = wholes(root)
        stage = Stage(folder, {}, {}, frozenset(), frozenset())
        bare = Scene(stage, request.param, ())
        with stage.copy() as copy:
            said = run(bare, copy, is_first=False)
            assert said[:3] == ["staged", "judged", "committed"]
            assert said[3] == ("shown" if request.param == "shown" else "checked_after_writing")
            new = wholes(copy)
        yield evolve(bare, stage=evolve(stage, old=flat(old), new=flat(new)), points=trace(bare))


def wholes(root: Path) -> dict[str, Whole]:
    """Return what stands at each path of the set, with all below it."""
    return {wanted.path: whole(root, wanted.path) for wanted in SET}


def whole(root: Path, path: str) -> Whole:
    place = root / path.lstrip("/")
    below = sorted(place.rglob("*")) if place.is_dir() and not place.is_symlink() else []
    found = {"": State.read(place), **{str(each.relative_to(place)): State.read(each) for each in below}}
    return {name: state for name, state in found.items() if not _RESIDUE.fullmatch(name.rpartition("/")[2])}


def flat(found: Mapping[str, Whole]) -> dict[str, State | None]:
    return {f"{path}//{below}": state for path, states in found.items() for below, state in states.items()}


def of(path: str, states: Mapping[str, State | None]) -> Whole:
    return {name.partition("//")[2]: state for name, state in states.items() if name.partition("//")[0] == path}


def run(scene: Scene, root: Path, *, is_first: bool = True) -> list[str]:
    """Run the program to its end; return what it said."""
    argv = scene.argv(root, is_first=is_first)
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment(root.parent))
    return done.stdout.split()


def strace(scene: Scene, root: Path, options: Sequence[str]) -> "tuple[subprocess.CompletedProcess[str], str]":
    log = root.parent / "trace"
    argv = ["strace", "-qq", "-y", "-s", "256", "-o", str(log), *options, "--", *scene.argv(root)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env=environment(root.parent))
    return done, log.read_text(errors="replace")


def trace(scene: Scene) -> tuple[Call, ...]:
    """Return the writing calls of the program itself between its first candidate and its last word."""
    names = ",".join(f"?{name}" for name in (*WRITING, *_OPENS))
    with scene.stage.copy() as root:
        done, log = strace(scene, root, ["-f", "-e", f"trace={names}"])
    assert done.returncode == 0, done.stderr
    calls = parse(log)
    own = own_calls(calls)
    writing = [call for call in own if call.name not in _OPENS or any(flag in call.arguments for flag in _CREATES)]
    first = next(number for number, call in enumerate(writing) if "/etc/set" in call.arguments)
    last = next(number for number, call in enumerate(writing) if '"ended\\n"' in call.arguments)
    return tuple(writing[first:last])


def choose(points: Sequence[Call]) -> list[Call]:
    """Return a sample in which every call name is, the same in every run."""
    chance = random.Random(SEED)
    shuffled = list(points)
    chance.shuffle(shuffled)
    firsts = {call.name: call for call in shuffled}
    rest = [call for call in shuffled if call not in firsts.values()]
    return [*firsts.values(), *rest][:KILLS]


def strike(scene: Scene, point: Call) -> Iterator[str]:
    """Kill a run on a fresh copy at one call; say what does not hold right after, and after the next two runs."""
    with scene.stage.copy() as root:
        inject = f"inject={point.name}:signal=KILL:when={point.nth}"
        done, _ = strace(scene, root, ["-e", f"trace={point.name}", "-e", inject])
        if done.returncode != -9:
            yield f"it was not killed: {done.returncode} {done.stderr[-300:]}"
        said = done.stdout.split()
        states = {wanted.path: whole(root, wanted.path) for wanted in SET}
        is_new = {path for path, state in states.items() if state != of(path, scene.stage.old)}
        for path in sorted(is_new):
            if states[path] != of(path, scene.stage.new):
                yield f"{path} is neither old nor new: {states[path]}"
        if scene.mode == "shown" and "judged" not in said and is_new:
            yield f"{sorted(is_new)} are there before they were judged"
        yield from judge_names(root)
        yield from judge_next(scene, root, must_judge=bool(is_new) and "judged" not in said)


def judge_names(root: Path) -> Iterator[str]:
    """Beside the set stand leftovers of its own names only."""
    folder = root / "etc/set"
    known = {wanted.path.rpartition("/")[2] for wanted in SET}
    for name in sorted({path.name for path in folder.iterdir()} - known - {"other"}):
        match = _RESIDUE.fullmatch(name)
        if match is None or match["name"] not in known:
            yield f"{name} is neither of the set nor one of its leftovers"


def judge_next(scene: Scene, root: Path, *, must_judge: bool) -> Iterator[str]:
    said = run(scene, root, is_first=False)
    if must_judge and "judged" not in said:
        yield f"what stood there unjudged was not judged: {said}"
    if said[-1] != "idle":
        yield f"one more run has something to do: {said}"
    for wanted in SET:
        if whole(root, wanted.path) != of(wanted.path, scene.stage.new):
            yield f"the next run left {wanted.path} as {whole(root, wanted.path)}"
    left = sorted(str(path) for path in root.rglob(".*") if _RESIDUE.fullmatch(path.name))
    if left:
        yield f"the next run left {left}"


def test_there_are_points_of_every_kind(scene: Scene) -> None:
    counts = Counter(call.name for call in scene.points)
    print(f"{scene.mode}: {len(scene.points)} points: {dict(counts.most_common())}")
    assert len(scene.points) >= _FEWEST_POINTS[scene.mode]
    wanted = {"linkat", "openat", "fsync", "symlinkat", "mkdirat"}
    assert wanted | ({"renameat"} if scene.mode == "shown" else {"renameat2"}) <= set(counts)


def test_a_set_killed_at_any_write_is_old_or_new_at_every_path_and_the_next_pass_converges(scene: Scene) -> None:
    chosen = choose(scene.points)
    wrong = [
        f"at {call.name} {call.nth} ({call.arguments[:160]}): {what}" for call in chosen for what in strike(scene, call)
    ]
    print(f"{scene.mode}: {len(chosen)} of {len(scene.points)} kills")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("scene", ["refused"], indirect=True)
def test_a_refused_set_that_is_not_killed_leaves_all_as_it_was(scene: Scene) -> None:
    with scene.stage.copy() as root:
        assert run(scene, root) == ["staged", "check-failed", "checked_after_writing", "ended"]
        assert flat(wholes(root)) == scene.stage.old
        assert sorted(path.name for path in (root / "etc/set").iterdir() if path.name.startswith(".")) == []
