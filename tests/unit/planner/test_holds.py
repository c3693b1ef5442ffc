"""What is planned and not done: audit, protection, hazards, removals while something is unknown (4.4, 1.2)."""

import pytest

from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import HoldReason, Plan, VerdictKind
from datum.planner.inputs import Unresolved
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, action_of, declare, declared_by, names, plan_of, revision, rid

OTHER_KIND = Present({"kind": "folder"})


def holds(plan: Plan) -> dict[str, HoldReason | None]:
    return {str(action.resource): action.hold.reason if action.hold else None for action in plan.actions}


# --- audit ---


@pytest.mark.parametrize("seen", [None, OTHER, OTHER_KIND])
def test_audit_reports_drift_and_never_acts(seen: "Observation | None") -> None:
    plan = plan_of(declare("fake:a", audit=True), seen={"fake:a": seen} if seen else {})
    hold = action_of(plan, "fake:a").hold
    assert hold is not None
    assert hold.reason is HoldReason.AUDIT
    assert hold.release


def test_audit_of_an_absent_resource_does_not_delete() -> None:
    assert holds(plan_of(declare("fake:a", absent=True, audit=True), seen={"fake:a": OTHER})) == {
        "fake:a": HoldReason.AUDIT
    }


def test_an_audited_resource_that_is_in_sync_holds_nothing() -> None:
    plan = plan_of(declare("fake:a", audit=True), declare("fake:b", requires=["fake:a"]), seen={"fake:a": IN_SYNC})
    assert holds(plan) == {"fake:b": None}


def test_a_hold_spreads_to_what_requires_it_and_has_something_to_do() -> None:
    plan = plan_of(
        declare("fake:a", audit=True),
        declare("fake:b", requires=["fake:a"]),
        declare("fake:c", requires=["fake:b"]),
        declare("fake:d", after=["fake:a"]),
        declare("fake:e", requires=["fake:a"]),
        seen={"fake:b": IN_SYNC, "fake:e": OTHER},
    )
    assert holds(plan) == {"fake:a": HoldReason.AUDIT, "fake:d": None}
    for text in ("fake:c", "fake:e"):
        verdict = plan.verdicts[rid(text)]
        assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid("fake:a"))


# --- protect ---


@pytest.mark.parametrize(
    ("absent", "seen", "expected"),
    [
        (True, OTHER, HoldReason.PROTECT),
        (False, OTHER_KIND, HoldReason.PROTECT),
        (False, OTHER, None),
        (False, None, None),
    ],
)
def test_protect_holds_deletes_and_replaces_only(
    absent: bool, seen: "Observation | None", expected: HoldReason | None
) -> None:
    resource = declare("fake:a", absent=absent, protect=True, allow=[Hazard.DATA_LOSS])
    assert holds(plan_of(resource, seen={"fake:a": seen} if seen else {})) == {"fake:a": expected}


@pytest.mark.parametrize("number", [1, 2])
def test_protect_of_any_revision_of_the_trail_counts(number: int) -> None:
    trail = tuple(declared_by(one, declare("fake:a", protect=one == number)) for one in (2, 1))
    plan = plan_of(declare("fake:a", absent=True), seen={"fake:a": OTHER}, trail=trail)
    assert holds(plan) == {"fake:a": HoldReason.PROTECT}


def test_protect_of_another_id_is_none() -> None:
    trail = (declared_by(1, declare("fake:b", protect=True)), Unresolved(revision(2), "It is gone."))
    plan = plan_of(declare("fake:a", absent=True), seen={"fake:a": OTHER}, trail=trail)
    assert holds(plan) == {"fake:a": None}


# --- hazards ---


def test_a_hazard_holds_and_names_itself_and_the_line_that_allows_it() -> None:
    plan = plan_of(declare("fake:a", risks=["outage", "access_loss"]), seen={"fake:a": OTHER})
    action = action_of(plan, "fake:a")
    assert action.hazards == {Hazard.OUTAGE, Hazard.ACCESS_LOSS}
    assert action.hold is not None
    assert action.hold.reason is HoldReason.HAZARD
    assert "access_loss, outage" in action.hold.detail
    assert "allow: [access_loss, outage]" in action.hold.release
    assert "fake:a" in action.hold.release


def test_an_allowed_hazard_does_not_hold_and_is_still_named() -> None:
    plan = plan_of(declare("fake:a", risks=["outage"], allow=[Hazard.OUTAGE]), seen={"fake:a": OTHER})
    action = action_of(plan, "fake:a")
    assert action.hold is None
    assert action.hazards == {Hazard.OUTAGE}, "each action names its hazards (design 1.3)"


def test_every_hazard_needs_its_own_allow() -> None:
    plan = plan_of(declare("fake:a", risks=["outage", "data_loss"], allow=[Hazard.OUTAGE]), seen={"fake:a": OTHER})
    hold = action_of(plan, "fake:a").hold
    assert hold is not None
    assert "allow: [data_loss]" in hold.release


def test_allow_counts_in_the_target_only() -> None:
    trail = (declared_by(1, declare("fake:a", risks=["outage"], allow=[Hazard.OUTAGE])),)
    plan = plan_of(declare("fake:a", risks=["outage"]), seen={"fake:a": OTHER}, trail=trail)
    assert holds(plan) == {"fake:a": HoldReason.HAZARD}


@pytest.mark.parametrize("old", [True, False])
def test_allow_does_not_count_where_the_resource_is_protected(old: bool) -> None:
    trail = (declared_by(1, declare("fake:a", protect=old)),)
    resource = declare("fake:a", risks=["outage"], allow=[Hazard.OUTAGE], protect=not old)
    assert holds(plan_of(resource, seen={"fake:a": OTHER}, trail=trail)) == {"fake:a": HoldReason.PROTECT}


def test_a_hazard_spreads_and_a_protected_deletion_too() -> None:
    plan = plan_of(
        declare("fake:a", risks=["outage"]),
        declare("fake:b", requires=["fake:a"]),
        declare("fake:c", absent=True, protect=True),
        declare("fake:d", requires=["fake:c"]),
        seen={"fake:c": OTHER},
    )
    assert names(plan.actions) == ["fake:a", "fake:c"]
    assert plan.verdicts[rid("fake:b")].blocked_by == rid("fake:a")
    assert plan.verdicts[rid("fake:d")].blocked_by == rid("fake:c")


# --- something is unobservable ---


def test_while_something_is_unobservable_all_removals_are_held() -> None:
    trail = (declared_by(1, declare("leaf:/x.d/f")),)
    plan = plan_of(
        declare("fake:a", absent=True),
        declare("fake:b"),
        declare("fake:c"),
        seen={"fake:a": OTHER, "fake:b": HIDDEN},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
    )
    assert holds(plan) == {
        "fake:a": HoldReason.UNOBSERVABLE,
        "fake:c": None,
        "leaf:/x.d/f": HoldReason.UNOBSERVABLE,
    }
    hold = action_of(plan, "fake:a").hold
    assert hold is not None
    assert HIDDEN.detail in hold.release


def test_a_replace_is_no_removal_in_this_sense() -> None:
    plan = plan_of(
        declare("fake:a", allow=[Hazard.DATA_LOSS]), declare("fake:b"), seen={"fake:a": OTHER_KIND, "fake:b": HIDDEN}
    )
    assert holds(plan) == {"fake:a": None}


def test_a_removal_that_is_held_already_keeps_its_reason() -> None:
    plan = plan_of(
        declare("fake:a", absent=True, protect=True), declare("fake:b"), seen={"fake:a": OTHER, "fake:b": HIDDEN}
    )
    assert holds(plan) == {"fake:a": HoldReason.PROTECT}


@pytest.mark.parametrize("needs", [["user:u"], []])
def test_what_is_impossible_or_skipped_holds_no_removal(needs: list[str]) -> None:
    plan = plan_of(
        declare("fake:a", absent=True),
        declare("fake:b", needs=needs),
        declare("fake:c", requires=["fake:b"]),
        seen={"fake:a": OTHER},
    )
    assert holds(plan)["fake:a"] is None


def test_holds_of_one_id_do_not_reach_another() -> None:
    assert ResourceId("fake", "a") != ResourceId("fake", "b")
    plan = plan_of(declare("fake:a", audit=True), declare("fake:b"))
    assert holds(plan) == {"fake:a": HoldReason.AUDIT, "fake:b": None}


def test_a_leftover_is_swept_whatever_is_protected_in_its_place() -> None:
    """Nothing that anybody declared goes with it; a directory above it does not lean on that."""
    plan = plan_of(
        declare("leaf:/d/a", absent=True, protect=True),
        declare("folder:/d", exclusive=True),
        seen={"leaf:/d/a": Absent({"residue": True}), "folder:/d": Present({"value": "x"}, holds=("/d/a",))},
    )
    assert action_of(plan, "leaf:/d/a").hold is None
    assert action_of(plan, "folder:/d").takes == ("/d/a",)
