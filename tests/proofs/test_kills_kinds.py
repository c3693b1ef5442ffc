"""One pass that does every writing operation of every type, and passes over sets under a check, struck at their calls.

A seeded sample; `bench/faults/run.py` strikes at all of them. How many points there are is counted from a trace.
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest
from attrs import frozen

from datum.host import namespaces
from tests.proofs.every_scenario import SCENARIOS
from tests.proofs.points import KILL, Strike, Trace, trace_pass
from tests.proofs.sampling import choose, strike_all
from tests.proofs.stage import Stage, fast_folder, prepare
from tests.unit.host.in_child import in_child

# Of each scenario: the fewest points that its trace must have, and how many kills, errors and children are tried.
FEWEST_POINTS: Final = {"kinds": 400, "written": 140, "refused": 110, "restored": 140}
KILLS: Final = {"kinds": 20, "written": 8, "refused": 6, "restored": 8}
FAILURES: Final = {"kinds": 22, "written": 5, "refused": 4, "restored": 4}
CHILDREN: Final = {"kinds": 3, "refused": 2}
# Where candidates are shown before they are there.
_SHOWN: Final = frozenset({"kinds", "refused"})

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@frozen
class Traced:
    """The prepared host and what its pass does."""

    name: str
    stage: Stage
    trace: Trace


@pytest.fixture(scope="module", params=FEWEST_POINTS)
def traced(request: pytest.FixtureRequest) -> Iterator[Traced]:
    if request.param in _SHOWN:
        try:
            in_child(lambda: namespaces.enclose("/", is_offline=True).network_or_fuse)
        except OSError as error:
            pytest.skip(f"no namespaces here: {error.strerror}")
    with fast_folder() as folder:
        stage = prepare(folder, SCENARIOS[request.param])
        yield Traced(request.param, stage, trace_pass(stage))


def test_the_pass_has_points_of_every_kind(traced: Traced) -> None:
    points, children = traced.trace.points, traced.trace.children
    counts = Counter(point.name for point in points)
    print(f"{traced.name}: {len(points)} points: {dict(counts.most_common())}, {len(children)} of the check's child")
    assert len(points) >= FEWEST_POINTS[traced.name]
    names = {"openat", "write", "linkat", "fsync", "fchmod", "renameat", "unlinkat", "mkdirat", "symlinkat", "clone"}
    names |= {"renameat2", "chown", "chmod", "rmdir"} if traced.name == "kinds" else {"renameat2"}
    assert names <= set(counts)
    assert 0 < traced.trace.judged < traced.trace.settled <= len(points)
    if traced.name in _SHOWN:
        assert {"unshare", "mount"} <= {point.name for point in children}


def test_every_operation_of_every_type_is_in_the_pass(traced: Traced) -> None:
    if traced.name != "kinds":
        pytest.skip("one scenario has them all")
    old, new = traced.stage.old, traced.stage.new
    kinds = {
        (before.kind if before else 0, after.kind if after else 0)
        for before, after in ((old[path], new[path]) for path in traced.stage.changing)
    }
    file, folder, link, pipe = 0o100000, 0o040000, 0o120000, 0o010000
    for before in (file, folder, link):
        assert (0, before) in kinds
        assert (before, 0) in kinds
        assert (before, before) in kinds
    assert {(folder, file), (link, file), (pipe, file), (file, folder), (file, link), (folder, link)} <= kinds


@pytest.mark.parametrize("shard", range(2))
def test_a_pass_killed_at_any_write_leaves_old_or_new_and_the_next_converges(traced: Traced, shard: int) -> None:
    strikes = choose(traced.trace.points, kill=True, count=KILLS[traced.name])
    strike_all(traced.stage, traced.trace, strikes[shard::2])


@pytest.mark.parametrize("shard", range(2))
def test_a_call_that_fails_costs_one_resource_and_the_next_pass_converges(traced: Traced, shard: int) -> None:
    strikes = choose(traced.trace.points, kill=False, count=FAILURES[traced.name])
    strike_all(traced.stage, traced.trace, strikes[shard::2])


@pytest.mark.parametrize("kill", [True, False])
def test_a_check_that_is_killed_or_cannot_be_shown_anything_puts_nothing_in_place(traced: Traced, kill: bool) -> None:
    if traced.name not in CHILDREN:
        pytest.skip("nothing is shown")
    strikes = choose(traced.trace.children, kill=kill, count=CHILDREN[traced.name])
    strike_all(traced.stage, traced.trace, strikes)


def test_what_is_left_beside_a_removed_path_is_swept() -> None:
    """Killed in a set without namespaces, right after the old file got the leftover's name."""
    with fast_folder() as folder:
        stage = prepare(folder, SCENARIOS["written"])
        trace = trace_pass(stage)
        points = [point for point in trace.points if '".set-gone.' in point.likeness and point.name == "unlinkat"]
        strike_all(stage, trace, [Strike(points[-1], KILL)])


def test_an_orphan_whose_removal_was_killed_half_way_is_removed_by_the_next_pass() -> None:
    with fast_folder() as folder:
        stage = prepare(folder, SCENARIOS["kinds"])
        trace = trace_pass(stage)
        points = [point for point in trace.points if "/srv/dropped" in point.likeness and point.name == "unlinkat"]
        strike_all(stage, trace, [Strike(points[-1], KILL)])


def test_the_name_of_a_leftover_that_was_swept_is_taken_again_by_the_write_beside_it() -> None:
    with fast_folder() as folder:
        stage = prepare(folder, SCENARIOS["kinds"])
        trace = trace_pass(stage)
        points = [point for point in trace.points if '".swept.' in point.likeness and point.name == "renameat"]
        strike_all(stage, trace, [Strike(points[-1], KILL)])
