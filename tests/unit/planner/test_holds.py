"""What is planned and not done: audit, protection, hazards, limits, removals while something is unknown (4.4, 1.2)."""

import pytest

from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, Limits
from datum.model.observation import Observation, Present
from datum.model.plan import HoldReason, Operation, Plan, VerdictKind
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


# --- the limit of removals ---

MANY = tuple(f"fake:{name}" for name in "abc")


def removing(limits: Limits, *, trail: tuple[int, ...] = (), allowed: int | None = None) -> Plan:
    """Delete three declared resources, replace one, create one; each trail revision declares the three."""
    return plan_of(
        *(declare(text, absent=True) for text in MANY),
        declare("leaf:/r", allow=[Hazard.DATA_LOSS]),
        declare("leaf:/new"),
        seen={**dict.fromkeys(MANY, OTHER), "leaf:/r": OTHER_KIND},
        trail=tuple(declared_by(number, *(declare(text) for text in MANY)) for number in trail),
        limits=limits,
        allowed_removals=allowed,
    )


def is_held_by_limit(plan: Plan) -> bool:
    held = {action.hold.reason for action in plan.actions if action.hold}
    assert held <= {HoldReason.LIMIT}
    assert action_of(plan, "leaf:/new").hold is None
    removals = [action for action in plan.actions if action.operation in {Operation.DELETE, Operation.REPLACE}]
    assert len(removals) == 4
    assert len({bool(action.hold) for action in removals}) == 1, "the class is held, or none of it"
    return bool(held)


@pytest.mark.parametrize(("limit", "held"), [(None, False), (10, False), (4, False), (3, True), (0, True)])
def test_over_the_limit_the_whole_class_is_held(limit: int | None, held: bool) -> None:
    assert is_held_by_limit(removing(Limits(limit))) is held


def test_the_limit_is_ten_where_nothing_is_said() -> None:
    resources = [declare(f"fake:{number:02}", absent=True) for number in range(11)]
    seen = {str(resource.id): OTHER for resource in resources}
    assert set(holds(plan_of(*resources, seen=seen)).values()) == {HoldReason.LIMIT}
    seen.popitem()
    assert set(holds(plan_of(*resources, seen=seen)).values()) == {None}


@pytest.mark.parametrize(("allowed", "held"), [(3, True), (4, False), (40, False), (0, True)])
def test_the_command_line_raises_the_limit(allowed: int, held: bool) -> None:
    assert is_held_by_limit(removing(Limits(3), allowed=allowed)) is held


def test_the_command_line_does_not_lower_the_limit() -> None:
    assert not is_held_by_limit(removing(Limits(4), allowed=1))


@pytest.mark.parametrize(
    ("trail", "named", "held"),
    [
        ((2, 1), 1, False),
        ((2, 1), 2, True),
        ((1,), 1, False),
        ((), 1, True),
        # In no trail: only the target declares them.
        ((), 99, False),
    ],
)
def test_git_raises_the_limit_for_the_oldest_trail_revision_that_declares_them(
    trail: tuple[int, ...], named: int, held: bool
) -> None:
    limits = Limits(3, allowed_removals=4, allowed_from=revision(named))
    assert is_held_by_limit(removing(limits, trail=trail)) is held


def test_a_trail_revision_that_declares_none_of_them_is_not_the_oldest() -> None:
    older = declared_by(1, declare("fake:elsewhere"))
    plan = plan_of(
        declare("fake:a", absent=True),
        declare("fake:elsewhere"),
        seen={"fake:a": OTHER, "fake:elsewhere": IN_SYNC},
        trail=(declared_by(2, declare("fake:a")), older),
        limits=Limits(0, allowed_removals=1, allowed_from=revision(2)),
    )
    assert holds(plan) == {"fake:a": None}


def test_a_raised_limit_that_is_still_too_low_holds() -> None:
    assert is_held_by_limit(removing(Limits(2, allowed_removals=3, allowed_from=revision(1)), trail=(1,)))


@pytest.mark.parametrize("limits", [Limits(3, allowed_removals=9), Limits(3, allowed_from=revision(1))])
def test_half_of_a_raise_is_none(limits: Limits) -> None:
    assert is_held_by_limit(removing(limits, trail=(1,)))


def test_the_hold_says_how_many_and_both_ways_out() -> None:
    hold = action_of(removing(Limits(3), trail=(2, 1)), "fake:a").hold
    assert hold is not None
    assert "4" in hold.detail
    assert "3" in hold.detail
    assert "--allow removals=4" in hold.release
    assert "--expect" in hold.release
    assert revision(1).commit in hold.release


def test_what_is_held_for_another_reason_does_not_count() -> None:
    plan = plan_of(
        declare("fake:a", absent=True, protect=True),
        declare("fake:b", absent=True),
        seen={"fake:a": OTHER, "fake:b": OTHER},
        limits=Limits(1),
    )
    assert holds(plan) == {"fake:a": HoldReason.PROTECT, "fake:b": None}


def test_orphans_and_declared_removals_count_together() -> None:
    trail = (declared_by(1, declare("leaf:/x.d/f")),)
    parts = {"seen": {"fake:a": OTHER}, "orphans": {"leaf:/x.d/f": IN_SYNC}, "trail": trail}
    plan = plan_of(declare("fake:a", absent=True), limits=Limits(1), **parts)
    assert holds(plan) == {"fake:a": HoldReason.LIMIT, "leaf:/x.d/f": HoldReason.LIMIT}
    plan = plan_of(declare("fake:a", absent=True), limits=Limits(2), **parts)
    assert holds(plan) == {"fake:a": None, "leaf:/x.d/f": None}


def test_what_requires_something_held_by_the_limit_keeps_its_action_and_knows_whom_it_requires() -> None:
    plan = plan_of(
        declare("fake:a", absent=True),
        declare("fake:b", requires=["fake:a"]),
        seen={"fake:a": OTHER},
        limits=Limits(0),
    )
    assert holds(plan) == {"fake:a": HoldReason.LIMIT, "fake:b": None}
    assert rid("fake:a") in action_of(plan, "fake:b").requires
    released = plan_of(
        declare("fake:a", absent=True), declare("fake:b", requires=["fake:a"]), seen={"fake:a": OTHER}, limits=Limits(1)
    )
    assert released.plan_id == plan.plan_id, "a limit is released with --expect of the very plan that it held"


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
