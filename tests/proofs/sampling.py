"""Which strikes of a pass are tried: a seeded sample here, all of them by `bench/faults/run.py`."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.proofs.judging import Verdict, judge
from tests.proofs.points import KILL, Point, Strike, Trace
from tests.proofs.stage import Stage

SEED: Final = "datum"


def all_strikes(points: Sequence[Point], *, kill: bool | None = None) -> list[Strike]:
    """Return every fault at every point; only kills, or all but kills, where that is asked for."""
    strikes = [Strike(point, fault) for point in points for fault in point.faults]
    return [strike for strike in strikes if kill is None or (strike.fault == KILL) is kill]


def choose(points: Sequence[Point], *, kill: bool, count: int) -> list[Strike]:
    """Return a sample, the same in every run, in which every call name and every fault is while there is room."""
    strikes = all_strikes(points, kill=kill)
    random.Random(SEED).shuffle(strikes)
    by_name = {strike.point.name: strike for strike in strikes}
    by_fault = {strike.fault: strike for strike in strikes}
    firsts = list(dict.fromkeys([*by_name.values(), *by_fault.values()]))
    return [*firsts, *(strike for strike in strikes if strike not in firsts)][:count]


def strike_all(stage: Stage, trace: Trace, strikes: Sequence[Strike]) -> None:
    """Strike at all of them, each time on a fresh copy of the host; expect that everything holds.

    Raises:
        AssertionError: something does not hold, or there was nothing to strike at.
    """
    expect_nothing_wrong([judge(stage, trace, strike) for strike in strikes])


def expect_nothing_wrong(verdicts: Sequence[Verdict]) -> None:
    """Expect that everything holds after every strike.

    Raises:
        AssertionError: something does not hold, or there was nothing to strike at.
    """
    print(f"{len(verdicts)} strikes, exit codes {dict(Counter(verdict.code for verdict in verdicts))}")
    assert verdicts
    wrong = [str(verdict) for verdict in verdicts if verdict.wrong]
    assert not wrong, "\n".join(wrong)
