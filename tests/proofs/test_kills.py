"""One pass over files, struck at its writing system calls: killed there, or told that something is full or broken.

A seeded sample; `bench/faults/run.py` strikes at all of them. How many points there are is counted from a trace.
"""

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from attrs import evolve, frozen

from tests.proofs.points import KILL, Strike, Trace, run_struck, trace_pass
from tests.proofs.sampling import choose, strike_all
from tests.proofs.scenarios import BOUND, FILES
from tests.proofs.stage import (
    REPORTS,
    SHELL,
    WITHOUT_NAMESPACES,
    Scenario,
    Stage,
    State,
    apply,
    can_mount,
    command,
    environment,
    expect,
    fast_folder,
    prepare,
)

SHARDS: Final = 2
KILLS: Final = 16
FAILURES: Final = 16
FEWEST_POINTS: Final = 150


BOUND_SET: Final = Scenario(
    "bound-set",
    {f"file:/{BOUND}": {"content": "old\n" * 20}},
    {
        f"file:/{BOUND}": {"content": "new\n"},
        "check:set": {"run": [SHELL, "-c", f"read -r all < /{BOUND}; [ $all = new ]"], "guards": [f"file:/{BOUND}"]},
    },
    lambda root: None,
    loose=frozenset({BOUND}),
    bound=frozenset({BOUND}),
)


@frozen
class Traced:
    """The prepared host and what its pass does."""

    stage: Stage
    trace: Trace


@pytest.fixture(scope="module")
def traced() -> Iterator[Traced]:
    with fast_folder() as folder:
        stage = prepare(folder, FILES)
        yield Traced(stage, trace_pass(stage))


def test_the_pass_has_points_of_every_kind(traced: Traced) -> None:
    points = traced.trace.points
    counts = Counter(point.name for point in points)
    print(f"{len(points)} points: {dict(counts.most_common())}")
    assert len(points) >= FEWEST_POINTS
    assert {"write", "fsync", "rename", "renameat", "linkat", "unlink", "fchmod", "chmod", "openat"} <= set(counts)
    for place in ("pointer.json", "/etc", ".report.part", "mirror.git"):
        assert any(place in point.likeness for point in points), place


def test_the_pointer_is_written_before_the_first_action_and_after_the_last_and_not_else(traced: Traced) -> None:
    names = [point.likeness for point in traced.trace.points if point.name in {"rename", "renameat", "unlink"}]
    pointer = [number for number, name in enumerate(names) if name.endswith('/pointer.json"')]
    files = [number for number, name in enumerate(names) if "datum~.dpkg-tmp" in name]
    assert len(traced.trace.pointers) == 3
    assert len(pointer) == 2
    assert pointer[0] < min(files)
    assert max(files) < pointer[1]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_pass_killed_at_any_write_leaves_old_or_new_and_the_next_converges(traced: Traced, shard: int) -> None:
    strike_all(traced.stage, traced.trace, choose(traced.trace.points, kill=True, count=KILLS)[shard::SHARDS])


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_write_that_fails_is_told_and_the_next_pass_converges(traced: Traced, shard: int) -> None:
    strike_all(traced.stage, traced.trace, choose(traced.trace.points, kill=False, count=FAILURES)[shard::SHARDS])


def test_what_is_written_in_place_is_a_mixture_after_a_kill_only_and_the_next_pass_puts_it_right(
    traced: Traced,
) -> None:
    if not can_mount():
        pytest.skip("nothing can be mounted here")
    stage = traced.stage
    points = [point for point in traced.trace.points if f"N</{BOUND}>" in point.likeness]
    assert [point.name for point in points][:3] == ["write", "ftruncate", "fsync"]
    old, new = (getattr(states[BOUND], "content", b"") for states in (stage.old, stage.new))
    found = {}
    for fault in (KILL, "EIO"):
        for point in points:
            with stage.copy() as root:
                struck = run_struck(stage, root, Strike(point, fault))
                found[point.name, fault] = (root / BOUND).read_bytes()
                assert struck.code == (-signal.SIGKILL if fault == KILL else 1), struck
                expect(apply(root))
                assert State.read(root / BOUND) == stage.new[BOUND]
    print({key: len(content) for key, content in found.items()})
    assert found["ftruncate", KILL] == new + old[len(new) :]
    # What ends with an error has put the old bytes back.
    assert {content for (_, fault), content in found.items() if fault != KILL} <= {old, new}


@pytest.mark.parametrize("prefix", [(), WITHOUT_NAMESPACES], ids=["shown", "written"])
def test_a_set_that_is_written_in_place_and_killed_there_is_judged_again_and_put_right(prefix: tuple[str, ...]) -> None:
    if not can_mount():
        pytest.skip("nothing can be mounted here")
    with fast_folder() as folder:
        stage = prepare(folder, evolve(BOUND_SET, prefix=prefix))
        trace = trace_pass(stage)
        points = [point for point in trace.points if f"N</{BOUND}>" in point.likeness]
        assert [point.name for point in points][:3] == ["write", "ftruncate", "fsync"]
        with stage.copy() as root:
            run_struck(stage, root, Strike(points[1], KILL))
            assert (root / BOUND).read_bytes() == b"new\n" + (b"old\n" * 20)[4:]
            # says that this is unjudged
            assert leftovers(root) == ([".bound.datum~.dpkg-tmp"] if prefix else [])
            expect(apply(root, prefix))
            assert State.read(root / BOUND) == stage.new[BOUND]
            newest = max((root / REPORTS).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
            assert json.loads(newest.read_bytes())["checks"]
            assert leftovers(root) == []


def leftovers(root: Path) -> list[str]:
    """Return the names beside the path that something is mounted on."""
    return [path.name for path in (root / BOUND).parent.iterdir() if "datum~" in path.name]


def test_a_result_that_cannot_be_printed_is_no_bug(traced: Traced) -> None:
    with traced.stage.copy() as root, Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(root, "apply"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(root.parent),
        )
    assert "Traceback" not in done.stderr
    assert done.returncode == 74, done.stderr
