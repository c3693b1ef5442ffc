"""Passes over accounts, settings and packages on a layer over the Debian image, struck at their own and their
programs' calls.

A seeded sample; `bench/faults/run.py` strikes at all of them. How many points there are is counted from a trace.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from tests.proofs.every_scenario import SCENARIOS
from tests.proofs.judging import judge
from tests.proofs.layers import workers
from tests.proofs.points import Strike, Trace, trace_pass
from tests.proofs.sampling import choose, expect_nothing_wrong
from tests.proofs.stage import Stage, fast_folder, prepare

# Of each scenario: the fewest points of the pass and of its programs, and how many of each are tried.
FEWEST: Final = {"accounts": (100, 500), "settings": (200, 5), "packages": (100, 2000)}
OWN: Final = {"accounts": 4, "settings": 5, "packages": 3}
PROGRAMS: Final = {"accounts": 8, "settings": 1, "packages": 5}


@frozen
class Traced:
    """The prepared root, what its pass does, and who may judge it."""

    name: str
    stage: Stage
    trace: Trace
    pool: ProcessPoolExecutor

    def strike_all(self, strikes: Sequence[Strike]) -> None:
        """Strike at all of them, each on a fresh layer; expect that everything holds."""
        expect_nothing_wrong(list(self.pool.map(partial(judge, self.stage, self.trace), strikes)))


@pytest.fixture(scope="module", params=FEWEST)
def traced(request: pytest.FixtureRequest, host_image: Path) -> Iterator[Traced]:
    assert host_image.is_dir()
    with fast_folder() as folder, workers() as pool:
        stage = pool.submit(prepare, folder, SCENARIOS[request.param]).result()
        yield Traced(request.param, stage, pool.submit(trace_pass, stage).result(), pool)


def test_the_pass_and_its_programs_have_points(traced: Traced) -> None:
    points, programs = traced.trace.points, traced.trace.children
    counts = Counter(point.program for point in programs)
    print(f"{traced.name}: {len(points)} points, {len(programs)} of its {len(counts)} programs: {dict(counts)}")
    own, of_programs = FEWEST[traced.name]
    assert len(points) >= own
    assert len(programs) >= of_programs
    assert {"rename", "link", "unlink", "fsync"} <= {point.name for point in programs} or traced.name != "accounts"


@pytest.mark.parametrize("kill", [True, False])
def test_a_pass_struck_at_its_own_calls_is_finished_by_the_next(traced: Traced, kill: bool) -> None:
    traced.strike_all(choose(traced.trace.points, kill=kill, count=OWN[traced.name]))


@pytest.mark.parametrize("kill", [True, False])
def test_what_a_struck_program_left_half_done_is_finished_by_the_next_pass(traced: Traced, kill: bool) -> None:
    traced.strike_all(choose(traced.trace.children, kill=kill, count=PROGRAMS[traced.name]))
