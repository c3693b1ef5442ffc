"""Candidates of one check in the plan (design 4.2): one transaction, its checks, all of them or none."""

import pytest

from datum.model.manifest import Hazard, Limits
from datum.model.observation import Observation, Present
from datum.model.plan import HoldReason, Plan, VerdictKind
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, PROVIDERS, Package, Page, action_of, declare, names, plan_of, rid

KEY = "check/judge:n"
JUDGE = declare("judge:n", guards=["page:/a", "page:/b"])


def verdicts(plan: Plan) -> dict[str, tuple[VerdictKind, str]]:
    return {
        str(origin): (verdict.kind, str(verdict.blocked_by or ""))
        for origin, verdict in plan.verdicts.items()
        if verdict.kind is not VerdictKind.IN_SYNC
    }


def test_candidates_carry_the_key_of_their_set_and_the_plan_has_its_checks() -> None:
    plan = plan_of(declare("page:/a"), declare("page:/b"), declare("page:/c"), JUDGE)
    assert {str(action.resource): action.transaction for action in plan.actions} == {
        "page:/a": KEY,
        "page:/b": KEY,
        "page:/c": "",
    }
    assert [str(check.resource) for check in plan.checks[KEY]] == ["judge:n"]
    assert plan.verdicts[rid("judge:n")].kind is VerdictKind.IN_SYNC


def test_a_set_with_nothing_to_do_has_no_checks_in_the_plan() -> None:
    seen: dict[str, Observation] = {"page:/a": IN_SYNC, "page:/b": IN_SYNC}
    plan = plan_of(declare("page:/a"), declare("page:/b"), JUDGE, seen=seen)
    assert plan.is_empty
    assert plan.checks == {}


def test_a_candidate_joins_its_set_rather_than_a_transaction_of_its_type() -> None:
    class Paper(Page, Package):
        type_name = "page"

    plan = plan_of(declare("page:/a"), declare("page:/b"), JUDGE, providers={**PROVIDERS, "page": Paper()})
    assert {action.transaction for action in plan.actions} == {KEY}


@pytest.mark.parametrize(
    ("stuck", "seen", "kind"),
    [
        ("page:/b", {"page:/b": HIDDEN}, VerdictKind.UNOBSERVABLE),
        ("page:/a", {"page:/a": HIDDEN}, VerdictKind.UNOBSERVABLE),
        ("page:/b", {"page:/b": Present({"kind": "folder"}, mounts=("/b",))}, VerdictKind.IMPOSSIBLE),
    ],
)
def test_one_that_cannot_be_had_skips_all_the_others_and_what_requires_them(
    stuck: str, seen: dict[str, Observation], kind: VerdictKind
) -> None:
    plan = plan_of(declare("page:/a"), declare("page:/b"), JUDGE, declare("user:z", requires=["judge:n"]), seen=seen)
    other = "page:/a" if stuck == "page:/b" else "page:/b"
    skipped = (VerdictKind.SKIPPED, stuck)
    assert verdicts(plan) == {stuck: (kind, ""), other: skipped, "user:z": skipped}
    assert stuck in plan.verdicts[rid(other)].detail
    assert plan.verdicts[rid(other)].step is not None
    assert plan.checks == {}


def test_one_that_is_skipped_skips_the_others_by_the_same_cause() -> None:
    plan = plan_of(
        declare("page:/a"),
        declare("page:/b", requires=["fake:x"]),
        JUDGE,
        declare("fake:x"),
        seen={"fake:x": HIDDEN},
    )
    skipped = (VerdictKind.SKIPPED, "fake:x")
    assert verdicts(plan) == {"fake:x": (VerdictKind.UNOBSERVABLE, ""), "page:/a": skipped, "page:/b": skipped}


def test_one_in_sync_whose_requirement_is_stuck_skips_nobody() -> None:
    plan = plan_of(
        declare("page:/a"),
        declare("page:/b", requires=["fake:x"]),
        JUDGE,
        declare("fake:x"),
        seen={"fake:x": HIDDEN, "page:/b": IN_SYNC},
    )
    assert names(plan.actions) == ["page:/a"]


def test_one_that_is_held_stays_an_action_and_skips_the_others() -> None:
    plan = plan_of(declare("page:/a"), declare("page:/b", audit=True), JUDGE)
    assert names(plan.actions) == ["page:/b"]
    assert verdicts(plan) == {"page:/a": (VerdictKind.SKIPPED, "page:/b")}
    assert set(plan.checks) == {KEY}


def test_two_that_are_held_keep_their_own_reasons() -> None:
    plan = plan_of(declare("page:/a", audit=True), declare("page:/b", risks=["outage"]), JUDGE)
    reasons = [action.hold.reason for action in plan.actions if action.hold]
    assert reasons == [HoldReason.AUDIT, HoldReason.HAZARD]


def test_what_a_limit_holds_keeps_the_set_in_the_plan() -> None:
    """Else no --expect could release it; the reconciler lets none of the set be put in place."""
    resources = (declare("page:/a", absent=True), declare("page:/b"), JUDGE)
    plan = plan_of(*resources, seen={"page:/a": OTHER}, limits=Limits(0))
    assert {str(action.resource): bool(action.hold) for action in plan.actions} == {"page:/a": True, "page:/b": False}
    assert plan.plan_id == plan_of(*resources, seen={"page:/a": OTHER}).plan_id


def test_what_would_take_along_a_deletion_of_a_skipped_set_is_skipped_with_it() -> None:
    plan = plan_of(
        declare("folder:/d", absent=True, allow=[Hazard.DATA_LOSS]),
        declare("page:/d/a", absent=True),
        declare("page:/b", audit=True),
        declare("judge:n", guards=["page:/d/a", "page:/b"]),
        seen={"page:/d/a": IN_SYNC, "folder:/d": Present({"value": "x"}, holds=("/d/a",))},
    )
    skipped = (VerdictKind.SKIPPED, "page:/b")
    assert verdicts(plan) == {"page:/d/a": skipped, "folder:/d": skipped}
    assert action_of(plan, "page:/b").hold is not None
