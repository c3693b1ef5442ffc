"""What a plan and a report say of what is stopped while others change (ADR 0043)."""

from typing import Any

import pytest
from attrs import evolve

from datum.cli.views.paper import Paper
from datum.cli.views.resources import count_operations, write_resources
from datum.model.plan import Action, Change, Hold, HoldReason, Operation, Plan
from datum.model.result import ActionResult, Outcome
from datum.report.as_json import resource_to_json
from datum.report.build import count_outcomes, left_over, report_resources
from datum.report.outcomes import outcomes_of
from datum.report.waiting import waits
from tests.unit.cli.screen import plain
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan

APP, DB = rid("service:app"), rid("service:db")
HOLD = Hold(HoldReason.LIMIT, "Too many.")
RUNS = Change("running", before=True, after=False)
STOP = action("service:app", Operation.STOP, RUNS)
START = evolve(action("service:app", Operation.UPDATE, Change("running", before=False, after=True)), starts_again=True)


def change(text: str, *services: str, **about: Any) -> Action:
    return action(text, Operation.UPDATE, while_stopped=frozenset(map(rid, services or ("service:app",))), **about)


def lines(made: Plan) -> list[str]:
    paper = Paper()
    write_resources(paper, [resource_to_json(one) for one in report_resources(made, ())], ())
    return plain(paper).splitlines()


def test_a_plan_says_what_is_stopped_and_while_what_is() -> None:
    found = [line for line in lines(plan(STOP, change("file:/a"), START)) if "intent" in line]
    assert [line.split()[:3] for line in found] == [
        ["■", "stop", "service:app"],
        ["~", "update", "file:/a"],
        ["~", "update", "service:app"],
    ]
    assert found[1].endswith("(while service:app is stopped)")


def test_several_are_named_and_the_rest_counted() -> None:
    (found,) = [line for line in lines(plan(change("file:/a", *(f"service:{one}" for one in "dcba")))) if "/a" in line]
    assert found.endswith("(while service:a, service:b, service:c and 1 more are stopped)")


def test_json_and_sums_have_them() -> None:
    made = [resource_to_json(one) for one in report_resources(plan(STOP, change("file:/a", "service:db"), START), ())]
    assert [one["while_stopped"] for one in made] == [[], ["service:db"], []]
    assert count_operations(made) == "1 to stop, 2 to update"


# --- before anything is done ---


def test_where_a_stop_is_held_its_changes_wait_and_nothing_else() -> None:
    """What it would stop runs: what requires that goes on."""
    after = action("file:/z", requires=frozenset({APP}))
    made = plan(evolve(STOP, hold=HOLD), change("file:/a"), START, after)
    assert waits(made) == {1: APP}
    assert report_resources(made, ())[1].detail == "It changes only while service:app is stopped, and that is not."


def test_what_requires_a_change_that_waits_waits_for_the_service() -> None:
    made = plan(evolve(STOP, hold=HOLD), change("file:/a"), action("file:/b", requires=frozenset({rid("file:/a")})))
    assert waits(made) == {1: APP, 2: APP}


def test_a_stop_waits_when_all_its_changes_do() -> None:
    held = change("file:/a", hold=HOLD)
    assert waits(plan(STOP, held, START)) == {0: rid("file:/a")}
    assert waits(plan(STOP, held, change("file:/b"), START)) == {}
    assert report_resources(plan(STOP, held, START), ())[0].detail == (
        "What it would be stopped for is not done, because of file:/a."
    )


# --- afterwards ---


@pytest.mark.parametrize(
    ("stop", "start", "expected"),
    [
        (Outcome.APPLIED, Outcome.APPLIED, Outcome.APPLIED),
        (Outcome.APPLIED, Outcome.FAILED, Outcome.FAILED),
        (Outcome.ALREADY, Outcome.APPLIED, Outcome.APPLIED),
        # Spared: nothing is said of the service.
        (Outcome.SKIPPED, Outcome.ALREADY, Outcome.ALREADY),
        (Outcome.ALREADY, Outcome.ALREADY, Outcome.ALREADY),
        (Outcome.FAILED, Outcome.ALREADY, Outcome.FAILED),
        (Outcome.HELD, Outcome.ALREADY, Outcome.HELD),
    ],
)
def test_what_a_service_came_to(stop: Outcome, start: Outcome, expected: Outcome) -> None:
    results = [ActionResult(STOP, stop), ActionResult(START, start)]
    assert outcomes_of(plan(STOP, START), results) == {APP: expected}


def test_what_is_stopped_and_not_started_again_was_changed() -> None:
    assert count_outcomes(plan(STOP), [ActionResult(STOP, Outcome.APPLIED)]) == {Outcome.APPLIED: 1}


def test_what_a_closing_plan_would_stop_is_not_left_of_the_service() -> None:
    failed = change("file:/a")
    results = [
        ActionResult(STOP, Outcome.APPLIED),
        ActionResult(failed, Outcome.FAILED),
        ActionResult(START, Outcome.APPLIED),
    ]
    made = plan(STOP, failed, START)
    assert left_over(made, plan(STOP, failed, START), results) == ()
    also = evolve(START, changes=(*START.changes, Change("enabled", before=False, after=True)))
    (found,) = left_over(made, plan(STOP, failed, also), results)
    assert (found.resource, found.fields) == (APP, ("running", "enabled"))
