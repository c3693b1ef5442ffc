"""One pass over files, struck at its writing system calls: killed there, or told that something is full or broken.

A seeded sample; `bench/faults/run.py` strikes at all of them. How many points there are is counted from a trace.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from tests.proofs.points import Trace, trace_pass
from tests.proofs.sampling import choose, strike_all
from tests.proofs.scenarios import FILES
from tests.proofs.stage import Stage, command, environment, fast_folder, prepare

SHARDS: Final = 2
KILLS: Final = 16
FAILURES: Final = 16
FEWEST_POINTS: Final = 150


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
