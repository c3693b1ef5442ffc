"""What depends on others is planned against what may be there after them (design 1.3; ADR 0026)."""

from typing import Any

import pytest

from datum.model.observation import Cause, Observation, Scope, Unobservable
from datum.model.plan import Label, Operation, Plan, VerdictKind
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    OTHER,
    PROVIDERS,
    Guess,
    action_of,
    declare,
    nodes_of,
    plan_of,
    raising,
    rid,
)

SICK = Unobservable(Cause.IO, "The disk is sick.", scope=Scope.HOST)


def plan_with(foretold: str, seen: Observation, *, other: Observation = OTHER, **others: Any) -> Plan:
    """Plan a guess that requires something with a change."""
    return plan_of(
        declare("fake:a", **others.pop("cause", {})),
        declare("guess:g", requires=["fake:b"], foretold=foretold),
        declare("fake:b", requires=["fake:a"]),
        seen={"fake:a": other, "fake:b": IN_SYNC, "guess:g": seen},
        **others,
    )


@pytest.mark.parametrize("seen", [IN_SYNC, HIDDEN])
@pytest.mark.parametrize(("foretold", "operation"), [("stale", Operation.UPDATE), ("absent", Operation.CREATE)])
def test_what_may_need_a_step_once_something_changed_is_planned_against_what_is_foretold(
    seen: Observation, foretold: str, operation: Operation
) -> None:
    action = action_of(plan_with(foretold, seen), "guess:g")
    assert action.operation is operation
    assert action.known_after == (rid("fake:a"),)
    assert {rid("fake:a"), rid("fake:b")} == action.requires


def test_it_is_labelled_by_what_is_there_now() -> None:
    old = nodes_of(declare("guess:g", value="was", foretold="stale"))
    assert action_of(plan_with("stale", IN_SYNC), "guess:g").label is Label.ADOPT
    assert action_of(plan_with("stale", HIDDEN), "guess:g").label is Label.INTENT
    assert action_of(plan_with("stale", HIDDEN, converged=old), "guess:g").label is Label.INTENT


def test_what_needs_a_step_as_things_are_is_planned_by_what_is_there() -> None:
    action = action_of(plan_with("absent", OTHER), "guess:g")
    assert (action.operation, action.known_after) == (Operation.UPDATE, ())


@pytest.mark.parametrize("foretold", ["", "x"])
def test_where_nothing_is_foretold_or_nothing_is_to_do_then_it_is_as_it_was_seen(foretold: str) -> None:
    assert plan_with(foretold, IN_SYNC).verdicts[rid("guess:g")].kind is VerdictKind.IN_SYNC
    verdict = plan_with(foretold, HIDDEN).verdicts[rid("guess:g")]
    assert (verdict.kind, verdict.unobservable) == (VerdictKind.UNOBSERVABLE, HIDDEN)


@pytest.mark.parametrize("other", [IN_SYNC, HIDDEN])
def test_where_nothing_changes_nothing_is_foretold(other: Observation) -> None:
    assert rid("guess:g") in plan_with("stale", IN_SYNC, other=other).verdicts
    assert plan_with("stale", IN_SYNC, other=other).verdicts[rid("guess:g")].kind is VerdictKind.IN_SYNC


def test_where_the_change_is_held_nothing_is_foretold() -> None:
    plan = plan_with("stale", IN_SYNC, cause={"audit": True})
    assert plan.verdicts[rid("guess:g")].kind is VerdictKind.IN_SYNC


def test_what_is_foretold_and_stuck_is_skipped() -> None:
    plan = plan_of(
        declare("fake:a"),
        declare("fake:b"),
        declare("guess:g", requires=["fake:a", "fake:b"], foretold="stale"),
        seen={"fake:a": OTHER, "fake:b": HIDDEN, "guess:g": IN_SYNC},
    )
    verdict = plan.verdicts[rid("guess:g")]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid("fake:b"))


def test_a_sick_host_is_not_foretold_away() -> None:
    assert plan_with("stale", SICK).verdicts[rid("guess:g")].kind is VerdictKind.UNOBSERVABLE


def test_a_change_that_comes_after_only_is_none() -> None:
    plan = plan_of(
        declare("fake:a"),
        declare("guess:g", after=["fake:a"], foretold="stale"),
        seen={"fake:a": OTHER, "guess:g": IN_SYNC},
    )
    assert plan.verdicts[rid("guess:g")].kind is VerdictKind.IN_SYNC


def test_what_is_to_be_absent_is_not_foretold() -> None:
    plan = plan_of(declare("fake:a"), declare("guess:g", requires=["fake:a"], absent=True), seen={"fake:a": OTHER})
    assert plan.verdicts[rid("guess:g")].kind is VerdictKind.IN_SYNC


@pytest.mark.parametrize(
    "answer", [raising, lambda *_: HIDDEN, lambda *_: "stale"], ids=["raises", "unobservable", "text"]
)
def test_a_prediction_that_is_none_is_a_breach(answer: Any) -> None:
    class Odd(Guess):
        def __init__(self) -> None:
            self.__dict__["predict"] = answer

    plan = plan_with("stale", IN_SYNC, providers={**PROVIDERS, "guess": Odd()})
    verdict = plan.verdicts[rid("guess:g")]
    assert verdict.unobservable is not None
    assert verdict.unobservable.cause is Cause.BREACH
