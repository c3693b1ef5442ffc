"""What is recorded of faults: each scenario of files was struck at every one of its points, and nothing was found."""

import json
from typing import Any, Final

import pytest

from bench.faults.run import RAW, TABLE, as_table
from tests.proofs.every_scenario import NAMES
from tests.proofs.points import KILL

# The fewest points of the pass in each run.
FEWEST_POINTS: Final = {"files": 150, "refused": 110, "restored": 140, "written": 140, "kinds": 400}
ERRORS: Final = frozenset({"EACCES", "EIO", "ENOSPC", "EPERM", "EROFS"})
RECORDED: Final[dict[str, Any]] = {entry["scenario"]: entry for entry in json.loads(RAW.read_text())["scenarios"]}


@pytest.mark.parametrize("name", FEWEST_POINTS)
def test_every_point_of_a_scenario_of_files_was_struck_and_nothing_was_found(name: str) -> None:
    """By SIGKILL, and by an error of each kind that it can have in turn; what only speaks to a pipe has none."""
    assert name in RECORDED, f"run `python -m bench.faults.run {name}` and record it"
    run = RECORDED[name]
    assert run["points"] >= FEWEST_POINTS[name]
    kills = {place(strike) for strike in run["strikes"] if strike["fault"] == KILL}
    errors = {place(strike) for strike in run["strikes"] if strike["fault"] != KILL}
    assert len(kills) == run["points"] + run["children"]
    assert errors <= kills
    assert {call for _, _, call, _ in kills - errors} <= {"write"}
    assert len(kills - errors) <= len(kills) / 20
    assert {strike["fault"] for strike in run["strikes"]} >= ERRORS
    assert [strike for strike in run["strikes"] if strike["wrong"]] == []


def place(strike: dict[str, Any]) -> tuple[bool, int, str, int]:
    return strike["child"], strike["program"], strike["call"], strike["nth"]


def test_every_recorded_scenario_is_one_that_can_be_run_again() -> None:
    assert set(RECORDED) <= set(NAMES)


def test_the_table_is_that_of_the_raw_results() -> None:
    assert TABLE.read_text() == as_table(list(RECORDED.values()))
