"""One outcome for each resource, whatever many actions are its own."""

import pytest
from attrs import evolve

from datum.model.check import Check
from datum.model.plan import OWES, Action, Change, Hold, HoldReason, Operation, Verdict, VerdictKind
from datum.model.result import ActionResult, Outcome
from datum.report.build import count_outcomes, left_over, report_resources
from datum.report.outcomes import outcomes_of, worst
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan

WEB = rid("service:web")
HOLD = Hold(HoldReason.AUDIT, "It is audited.", "drop audit")


def own(operation: Operation = Operation.UPDATE, **others: object) -> Action:
    return action("service:web", operation, Change(OWES, None, "restart"), **others)


MARK, UPDATE, RESTART = own(Operation.MARK), own(), own(Operation.REFRESH_RESTART)


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [
        ({Outcome.APPLIED, Outcome.FAILED}, Outcome.FAILED),
        ({Outcome.APPLIED, Outcome.UNVERIFIED, Outcome.SKIPPED}, Outcome.UNVERIFIED),
        ({Outcome.HELD, Outcome.SKIPPED}, Outcome.HELD),
        ({Outcome.BUSY, Outcome.HELD}, Outcome.BUSY),
        ({Outcome.SKIPPED, Outcome.APPLIED}, Outcome.SKIPPED),
        ({Outcome.ALREADY, Outcome.APPLIED}, Outcome.APPLIED),
        ({Outcome.ALREADY, Outcome.IN_SYNC}, Outcome.ALREADY),
    ],
)
def test_the_worst_counts(outcomes: set[Outcome], wanted: Outcome) -> None:
    """Whatever order they stand in."""
    assert worst(outcomes) is worst(sorted(outcomes, reverse=True)) is wanted


def test_every_outcome_has_a_rank() -> None:
    assert {worst([one]) for one in Outcome} == set(Outcome)


@pytest.mark.parametrize("mark", [Outcome.APPLIED, Outcome.ALREADY, Outcome.SKIPPED])
def test_a_mark_says_nothing_of_its_service(mark: Outcome) -> None:
    """It was set, or spared, for the change of another resource."""
    made = plan(MARK, UPDATE)
    results = [ActionResult(MARK, mark), ActionResult(UPDATE, Outcome.APPLIED)]
    assert outcomes_of(made, results) == {WEB: Outcome.APPLIED}
    assert outcomes_of(plan(MARK), results[:1]) == {WEB: Outcome.IN_SYNC}


@pytest.mark.parametrize("mark", [Outcome.FAILED, Outcome.UNVERIFIED, Outcome.HELD, Outcome.BUSY])
def test_a_mark_that_went_wrong_does(mark: Outcome) -> None:
    results = [ActionResult(MARK, mark), ActionResult(UPDATE, Outcome.APPLIED)]
    assert outcomes_of(plan(MARK, UPDATE), results) == {WEB: mark}


def test_each_resource_counts_once() -> None:
    """The start went well, the reload did not."""
    made = plan(MARK, UPDATE, RESTART, verdicts={"file:/a": Verdict(VerdictKind.IN_SYNC)})
    results = [
        ActionResult(MARK, Outcome.APPLIED),
        ActionResult(UPDATE, Outcome.APPLIED),
        ActionResult(RESTART, Outcome.SKIPPED, blocked_by=rid("file:/b")),
    ]
    assert count_outcomes(made, results) == {Outcome.IN_SYNC: 1, Outcome.SKIPPED: 1}


def test_a_verdict_beside_an_action_counts_too() -> None:
    """A refresh that is skipped as planned."""
    made = plan(UPDATE, verdicts={"service:web": Verdict(VerdictKind.SKIPPED, rid("file:/b"))})
    assert outcomes_of(made, [ActionResult(UPDATE, Outcome.APPLIED)]) == {WEB: Outcome.SKIPPED}


def test_results_stand_at_their_own_action() -> None:
    """Two marks of one service are two."""
    made = plan(MARK, action("file:/a", marks={WEB: Operation.REFRESH_RESTART}), MARK, RESTART)
    outcomes = [Outcome.APPLIED, Outcome.APPLIED, Outcome.ALREADY, Outcome.FAILED]
    results = [ActionResult(one, outcome) for one, outcome in zip(made.actions, outcomes, strict=True)]
    assert [one.outcome for one in report_resources(made, results)] == outcomes


def test_what_a_mark_stands_before_explains_it() -> None:
    """Spared with its change; and a change that a service without its mark keeps from being done."""
    change = action("file:/a", marks={WEB: Operation.REFRESH_RELOAD})
    made = plan(MARK, change)
    spared = [
        ActionResult(MARK, Outcome.SKIPPED, blocked_by=rid("file:/a")),
        ActionResult(change, Outcome.FAILED),
    ]
    first, _ = report_resources(made, spared)
    assert first.detail == "What it stands before is not done, because of file:/a: nothing is owed for it."
    failed = [ActionResult(MARK, Outcome.FAILED), ActionResult(change, Outcome.SKIPPED, blocked_by=WEB)]
    _, second = report_resources(made, failed)
    assert second.detail == "service:web would owe a reload for it, and could not be marked."


def test_a_planned_mark_waits_with_its_changes() -> None:
    """Only when all of them wait: with one that does not it is set."""
    held = action("file:/x", hold=HOLD)
    waiting = action("file:/a", requires=frozenset({held.resource}), marks={WEB: Operation.REFRESH_RESTART})
    free = action("file:/b", marks={WEB: Operation.REFRESH_RESTART})
    told = [(one.operation, one.outcome) for one in report_resources(plan(held, MARK, waiting, MARK, free), ())]
    assert told == [
        ("update", Outcome.HELD),
        ("mark", Outcome.SKIPPED),
        ("update", Outcome.SKIPPED),
        ("mark", None),
        ("update", None),
    ]
    together = [evolve(one, transaction="batch/all") for one in (waiting, free)]
    assert [one.outcome for one in report_resources(plan(held, MARK, *together), ())][1] is None


def test_a_held_refresh_holds_what_requires_the_service_and_not_its_marks() -> None:
    """A limit on restarts."""
    refresh = evolve(RESTART, hold=HOLD)
    change = action("file:/a", marks={WEB: Operation.REFRESH_RESTART})
    after = action("file:/z", requires=frozenset({WEB}))
    told = [one.outcome for one in report_resources(plan(MARK, change, refresh, after), ())]
    assert told == [None, None, Outcome.HELD, Outcome.SKIPPED]


def test_a_file_whose_own_action_was_done_is_not_counted_again_when_it_is_refused_later() -> None:
    """Its program refuses a restart: the service failed, the file says so in its own line."""
    judge = Check(rid("file:/a"), ("judge",), 1.0)
    change, refresh = action("file:/a"), evolve(RESTART, guards=(judge,))
    results = [
        ActionResult(change, Outcome.APPLIED),
        ActionResult(refresh, Outcome.FAILED, refused_by=rid("file:/a")),
    ]
    assert count_outcomes(plan(change, refresh), results) == {Outcome.APPLIED: 1, Outcome.FAILED: 1}


def test_marks_are_neither_left_over_nor_suspects() -> None:
    """They change nothing that anybody sees; what ran after the last action of a resource is suspect."""
    results = [
        ActionResult(UPDATE, Outcome.APPLIED),
        ActionResult(action("file:/a"), Outcome.APPLIED),
        ActionResult(RESTART, Outcome.APPLIED),
        ActionResult(own(Operation.MARK), Outcome.APPLIED),
        ActionResult(action("file:/b"), Outcome.APPLIED),
    ]
    closing = plan(MARK, RESTART, action("file:/b"))
    made = plan(*(one.action for one in results))
    found = {str(item.resource): item.suspects for item in left_over(made, closing, results)}
    assert found == {"service:web": (rid("file:/b"),), "file:/b": ()}
