"""What depends on others is planned against what may be there after them (design 1.3; ADR 0026)."""

from typing import Any

import pytest

from datum.model.graph import Target
from datum.model.manifest import Hazard
from datum.model.observation import Cause, Observation, Present, Scope, Unobservable
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
    odd,
    plan_of,
    raising,
    rid,
)

DENIED = Unobservable(Cause.DENIED, "It may not be read.")
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


# --- a link stands where a directory will be ---

LINK = Unobservable(Cause.LOOP, "'/d' is a link.")
ANOTHER_KIND = Present({"kind": "link"})
LOSS = [Hazard.DATA_LOSS]


def below_link(*more: Any, seen: Observation = LINK, allow: Any = LOSS, **others: Any) -> Plan:
    """Plan a folder that takes the place of a link, and what lies in it."""
    resources = (declare("folder:/d", allow=allow), declare("leaf:/d/f", **others.pop("leaf", {})), *more)
    observed = {str(one.id): seen for one in resources} | {"folder:/d": ANOTHER_KIND} | others.pop("seen_too", {})
    return plan_of(*resources, seen=observed, **others)


def test_what_lies_in_a_directory_that_takes_the_place_of_a_link_is_made_in_it() -> None:
    plan = below_link(declare("folder:/d/e"), declare("leaf:/d/e/g"))
    assert [(str(one.resource), one.operation) for one in plan.actions] == [
        ("folder:/d", Operation.REPLACE),
        ("folder:/d/e", Operation.CREATE),
        ("leaf:/d/e/g", Operation.CREATE),
        ("leaf:/d/f", Operation.CREATE),
    ]
    assert action_of(plan, "leaf:/d/f").known_after == (rid("folder:/d"),)
    assert action_of(plan, "leaf:/d/e/g").known_after == (rid("folder:/d/e"),)
    assert not any(action.hold for action in plan.actions)


def test_it_holds_no_removal_then() -> None:
    gone = {"leaf:/old": IN_SYNC}
    plan = below_link(declare("leaf:/old", absent=True, allow=LOSS), seen_too=gone)
    assert action_of(plan, "leaf:/old").hold is None
    held = below_link(declare("leaf:/old", absent=True, allow=LOSS), seen=DENIED, seen_too=gone)
    assert action_of(held, "leaf:/old").hold is not None


def test_where_the_replacement_is_held_what_lies_in_it_is_skipped() -> None:
    plan = below_link(allow=())
    verdict = plan.verdicts[rid("leaf:/d/f")]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid("folder:/d"))


def test_without_an_edge_it_waits_for_the_directory_all_the_same() -> None:
    """A type need not say that it requires the directory."""
    for allow, held in ((LOSS, False), ((), True)):
        plan = below_link(declare("odd:/d/o"), allow=allow, providers=odd(edges=lambda *_: ()))
        if held:
            assert plan.verdicts[rid("odd:/d/o")].blocked_by == rid("folder:/d")
        else:
            assert action_of(plan, "odd:/d/o").known_after == (rid("folder:/d"),)


@pytest.mark.parametrize("seen", [DENIED, SICK, HIDDEN], ids=["denied", "sick", "late"])
def test_only_a_link_in_the_way_is_known_to_go(seen: Observation) -> None:
    assert below_link(seen=seen).verdicts[rid("leaf:/d/f")].kind is VerdictKind.UNOBSERVABLE


@pytest.mark.parametrize("text", ["leaf:/d/undeclared/f", "leaf:/elsewhere/f", "user:u"])
def test_what_does_not_lie_in_it_is_not_known(text: str) -> None:
    plan = below_link(declare(text))
    assert plan.verdicts[rid(text)].kind is VerdictKind.UNOBSERVABLE


@pytest.mark.parametrize(
    ("paths", "is_known"),
    [(("/d/o", "/d/o/p"), True), (("/d/o", "/e/f"), False), (("/", "/d/o"), False), ((), False)],
)
def test_what_holds_several_paths_is_known_where_all_of_them_lie_in_it(paths: tuple[str, ...], is_known: bool) -> None:
    targets = tuple(Target("path", path) for path in paths)
    providers = odd(edges=lambda *_: (), targets=lambda *_: targets)
    plan = below_link(declare("odd:/d/o"), providers=providers)
    assert (rid("odd:/d/o") not in plan.verdicts) is is_known


def test_what_is_declared_absent_there_is_not_foretold() -> None:
    plan = below_link(leaf={"absent": True})
    assert plan.verdicts[rid("leaf:/d/f")].kind is VerdictKind.UNOBSERVABLE


def test_where_nothing_would_be_made_it_stays_unknown() -> None:
    plan = below_link(declare("odd:/d/o"), providers=odd(plan=lambda *_: None))
    assert plan.verdicts[rid("odd:/d/o")].kind is VerdictKind.UNOBSERVABLE
