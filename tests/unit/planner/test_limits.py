"""How much one pass may do (design 4.4): removals, replaces, restarts, and the share of what was declared before."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard, LimitClass, Limits
from datum.model.observation import Absent, Present
from datum.model.plan import HoldReason, Label, Operation, Plan
from datum.planner.inputs import Declaration, Unresolved
from datum.planner.plan import plan_pass, relabel
from tests.unit.fakes import (
    IN_SYNC,
    OTHER,
    action_of,
    declare,
    declared_by,
    given,
    nodes_of,
    plan_of,
    revision,
    rid,
)
from tests.unit.services import ALL, earlier, planned, running, service

OTHER_KIND = Present({"kind": "folder"})
MANY = tuple(f"fake:{name}" for name in "abc")
REMOVALS, REPLACES, RESTARTS, PACKAGES, CHANGED = LimitClass


def held(plan: Plan) -> set[str]:
    """Return what limits hold; nothing else holds anything."""
    assert {action.hold.reason for action in plan.actions if action.hold} <= {HoldReason.LIMIT}
    return {str(action.resource) for action in plan.actions if action.hold}


def doing(limits: Limits, *, trail: tuple[int, ...] = (), allowed: Mapping[LimitClass, int] | None = None) -> Plan:
    """Delete three declared resources, replace two, create one; each trail revision declares the three."""
    return plan_of(
        *(declare(text, absent=True) for text in MANY),
        *(declare(text, allow=[Hazard.DATA_LOSS]) for text in ("leaf:/r", "leaf:/s")),
        declare("leaf:/new"),
        seen={**dict.fromkeys(MANY, OTHER), "leaf:/r": OTHER_KIND, "leaf:/s": OTHER_KIND},
        trail=tuple(declared_by(number, *(declare(text) for text in MANY)) for number in trail),
        limits=limits,
        allowed=allowed or {},
    )


# --- a class and its limit ---


@pytest.mark.parametrize(("limit", "over"), [(None, False), (10, False), (3, False), (2, True), (0, True)])
def test_over_the_limit_of_removals_all_of_them_are_held_and_nothing_else(limit: int | None, over: bool) -> None:
    assert held(doing(Limits(limit))) == (set(MANY) if over else set())


@pytest.mark.parametrize(("limit", "over"), [(None, False), (2, False), (1, True), (0, True)])
def test_over_the_limit_of_replaces_all_of_them_are_held_and_nothing_else(limit: int | None, over: bool) -> None:
    assert held(doing(Limits(replaces=limit))) == ({"leaf:/r", "leaf:/s"} if over else set())


def test_the_limits_are_ten_where_nothing_is_said() -> None:
    gone = [declare(f"fake:{number:02}", absent=True) for number in range(11)]
    bent = [declare(f"leaf:/{number:02}", allow=[Hazard.DATA_LOSS]) for number in range(11)]
    seen = {str(one.id): OTHER if one.absent else OTHER_KIND for one in (*gone, *bent)}
    assert held(plan_of(*gone, *bent, seen=seen)) == set(seen)
    assert held(plan_of(*gone[1:], *bent[1:], seen={text: seen[text] for text in seen if text[-2:] != "00"})) == set()


def test_what_goes_along_counts_as_much_as_what_is_deleted() -> None:
    holding = Present({"value": "x"}, holds=("/d/a", "/d/b"))
    resource = declare("folder:/d", absent=True, allow=[Hazard.DATA_LOSS])
    assert held(plan_of(resource, seen={"folder:/d": holding}, limits=Limits(3))) == set()
    plan = plan_of(resource, seen={"folder:/d": holding}, limits=Limits(2))
    assert held(plan) == {"folder:/d"}
    hold = action_of(plan, "folder:/d").hold
    assert hold is not None
    assert hold.detail == "This pass would remove 3 resources and paths; the limit is 2."


def test_what_an_exclusive_directory_clears_away_is_a_removal() -> None:
    holding = Present({"value": "x"}, holds=("/d/a", "/d/b"))
    plan = plan_of(declare("folder:/d", exclusive=True), seen={"folder:/d": holding}, limits=Limits(1))
    assert action_of(plan, "folder:/d").operation is Operation.UPDATE
    assert held(plan) == {"folder:/d"}


def test_a_replacement_is_in_both_classes() -> None:
    holding = Present({"kind": "folder"}, holds=("/r/a", "/r/b"))
    parts: dict[str, Any] = {"seen": {"leaf:/r": holding}}
    resource = declare("leaf:/r", allow=[Hazard.DATA_LOSS])
    assert held(plan_of(resource, limits=Limits(1), **parts)) == {"leaf:/r"}
    assert held(plan_of(resource, limits=Limits(replaces=0), **parts)) == {"leaf:/r"}
    assert held(plan_of(resource, limits=Limits(2, 1), **parts)) == set()


def test_repair_of_drift_is_neither_held_nor_counted_but_for_what_it_takes_along() -> None:
    """What was so before may be made so again; what nobody declared is a removal each time."""
    resources = (
        declare("fake:a", absent=True),
        declare("fake:b", absent=True),
        declare("folder:/d", exclusive=True),
        declare("leaf:/r", allow=[Hazard.DATA_LOSS]),
    )
    tidy = Present({"value": "x"}, holds=("/d/a",))
    seen = {"fake:a": OTHER, "fake:b": OTHER, "folder:/d": tidy, "leaf:/r": OTHER_KIND}
    converged = dict(nodes_of(*resources[:1], *resources[2:]))
    plan = plan_of(*resources, seen=seen, limits=Limits(1, 0), converged=converged)
    assert {str(action.resource): action.label for action in plan.actions if action.resource != rid("fake:b")} == {
        "fake:a": Label.DRIFT,
        "folder:/d": Label.DRIFT,
        "leaf:/r": Label.DRIFT,
    }
    assert held(plan) == {"fake:b", "folder:/d"}
    assert held(plan_of(*resources, seen=seen, limits=Limits(2, 0), converged=converged)) == set()


def test_what_is_held_for_another_reason_does_not_count() -> None:
    plan = plan_of(
        declare("fake:a", absent=True, protect=True),
        declare("fake:b", absent=True),
        seen={"fake:a": OTHER, "fake:b": OTHER},
        limits=Limits(1),
    )
    assert action_of(plan, "fake:b").hold is None


def test_orphans_and_declared_removals_count_together() -> None:
    trail = (declared_by(1, declare("leaf:/x.d/f")),)
    parts: dict[str, Any] = {"seen": {"fake:a": OTHER}, "orphans": {"leaf:/x.d/f": IN_SYNC}, "trail": trail}
    assert held(plan_of(declare("fake:a", absent=True), limits=Limits(1), **parts)) == {"fake:a", "leaf:/x.d/f"}
    assert held(plan_of(declare("fake:a", absent=True), limits=Limits(2), **parts)) == set()


def test_what_requires_something_held_by_a_limit_keeps_its_action_and_knows_whom_it_requires() -> None:
    resources = (declare("fake:a", absent=True), declare("fake:b", requires=["fake:a"]))
    plan = plan_of(*resources, seen={"fake:a": OTHER}, limits=Limits(0))
    assert held(plan) == {"fake:a"}
    assert rid("fake:a") in action_of(plan, "fake:b").requires
    released = plan_of(*resources, seen={"fake:a": OTHER}, limits=Limits(1))
    assert released.plan_id == plan.plan_id, "a limit is released with --expect of the very plan that it held"


# --- raising a limit ---


@pytest.mark.parametrize(("allowed", "over"), [(2, True), (3, False), (40, False), (0, True)])
def test_the_command_line_raises_the_limit_of_one_class(allowed: int, over: bool) -> None:
    assert bool(held(doing(Limits(2), allowed={REMOVALS: allowed}))) is over
    assert held(doing(Limits(2), allowed={REPLACES: allowed})) == set(MANY)


def test_the_command_line_does_not_lower_the_limit() -> None:
    assert held(doing(Limits(3), allowed={REMOVALS: 1})) == set()


@pytest.mark.parametrize(
    ("trail", "named", "over"),
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
    trail: tuple[int, ...], named: int, over: bool
) -> None:
    limits = Limits(2, allowed={REMOVALS: 3}, allowed_from=revision(named))
    assert bool(held(doing(limits, trail=trail))) is over


def test_a_trail_revision_that_declares_none_of_them_is_not_the_oldest() -> None:
    older = declared_by(1, declare("fake:elsewhere"))
    plan = plan_of(
        declare("fake:a", absent=True),
        declare("fake:elsewhere"),
        seen={"fake:a": OTHER, "fake:elsewhere": IN_SYNC},
        trail=(declared_by(2, declare("fake:a")), older),
        limits=Limits(0, allowed={REMOVALS: 1}, allowed_from=revision(2)),
    )
    assert held(plan) == set()


@pytest.mark.parametrize(
    "limits",
    [
        Limits(1, allowed={REMOVALS: 2}, allowed_from=revision(1)),
        Limits(2, allowed={REMOVALS: 9}),
        Limits(2, allowed_from=revision(1)),
        Limits(2, allowed={REPLACES: 9}, allowed_from=revision(1)),
    ],
    ids=["too-low", "no-revision", "no-number", "another-class"],
)
def test_half_of_a_raise_is_none(limits: Limits) -> None:
    assert held(doing(limits, trail=(1,))) == set(MANY)


@pytest.mark.parametrize(
    ("limits", "text", "raised", "count", "limit"),
    [
        (Limits(2), "fake:a", "removals=3", "3 resources and paths", "2"),
        (Limits(replaces=1), "leaf:/r", "replaces=2", "2 resources", "1"),
    ],
)
def test_the_hold_says_how_many_and_both_ways_out(
    limits: Limits, text: str, raised: str, count: str, limit: str
) -> None:
    hold = action_of(doing(limits, trail=(2, 1)), text).hold
    assert hold is not None
    assert count in hold.detail
    assert f"the limit is {limit}." in hold.detail
    assert f"datum apply --allow {raised} --expect PLAN_ID" in hold.release
    number = revision(1).commit if text == "fake:a" else revision(99).commit
    assert f"'limits: {{allow: {{{raised.replace('=', ': ')}, from: {number}}}}}'" in hold.release


# --- the share of what was declared before ---

POOL = tuple(f"fake:{number:02}" for number in range(20))


def changing(
    number: int,
    *,
    of: int = 20,
    limits: Limits | None = None,
    trail: tuple[Declaration | Unresolved, ...] = (),
    converged: Iterable[str] | None = POOL,
    **others: Any,
) -> Plan:
    """Change some of many; what converged last wanted another value of those."""
    resources = [declare(text) for text in POOL[:of]]
    seen = {str(one.id): OTHER if place < number else IN_SYNC for place, one in enumerate(resources)}
    older = None if converged is None else nodes_of(*(declare(text, value="old") for text in converged))
    return plan_of(*resources, seen=seen, limits=limits or Limits(), converged=older, trail=trail, **others)


@pytest.mark.parametrize(("number", "over"), [(9, False), (10, False), (11, True), (20, True)])
def test_over_half_of_what_was_declared_before_and_at_least_ten_every_change_is_held(number: int, over: bool) -> None:
    assert held(changing(number)) == (set(POOL[:number]) if over else set())


def test_fewer_than_ten_changes_never_hold() -> None:
    assert held(changing(9, of=9, converged=POOL[:9], limits=Limits(changed=0))) == set()
    assert held(changing(10, of=10, converged=POOL[:10], limits=Limits(changed=0))) == set(POOL[:10])


@pytest.mark.parametrize(("limit", "over"), [(None, False), (100, False), (60, False), (59, True), (0, True)])
def test_the_share_is_compared_with_the_limit(limit: int | None, over: bool) -> None:
    assert bool(held(changing(12, limits=Limits(changed=limit)))) is over


def test_the_share_is_rounded_up_and_told_with_the_percent_sign() -> None:
    plan = changing(11, of=19, converged=POOL[:19], limits=Limits(changed=57))
    hold = action_of(plan, "fake:00").hold
    assert hold is not None
    assert hold.detail == ("This pass would change 11 of the 19 resources declared before, 58%; the limit is 57%.")
    assert "--allow changed=58% --expect PLAN_ID" in hold.release
    assert "'limits: {allow: {changed: 58%, from: " in hold.release
    assert held(changing(11, of=19, converged=POOL[:19], limits=Limits(changed=57), allowed={CHANGED: 58})) == set()


def test_creations_adoptions_and_drift_do_not_count() -> None:
    resources = [declare(text) for text in POOL]
    drifted = dict.fromkeys(POOL, OTHER)
    same = nodes_of(*resources)
    assert held(plan_of(*resources, seen=drifted, converged=same)) == set(), "drift"
    older = nodes_of(*(declare(text, value="old") for text in POOL))
    assert held(plan_of(*resources, seen=dict.fromkeys(POOL, Absent()), converged=older)) == set(), "creations"
    assert held(plan_of(*resources, seen=drifted, converged={})) == set(), "adoptions"
    assert held(plan_of(*resources, seen=drifted)) == set(), "a first pass"
    assert held(plan_of(*resources, seen=drifted, converged=older)) == set(POOL)


def test_a_repetition_counts_as_the_first_time_did() -> None:
    assert held(changing(20, is_retry=True)) == set(POOL)


def test_replaces_are_changes_and_deletions_are_not() -> None:
    resources = [declare(text, allow=[Hazard.DATA_LOSS]) for text in POOL[:10]]
    gone = [declare(text, absent=True) for text in POOL[10:]]
    seen = {**dict.fromkeys(POOL[:10], OTHER_KIND), **dict.fromkeys(POOL[10:], OTHER)}
    older = nodes_of(*(declare(text, value="old") for text in POOL))
    plan = plan_of(*resources, *gone, seen=seen, converged=older, limits=Limits(None, None, 49))
    assert held(plan) == set(POOL[:10])


@pytest.mark.parametrize(("trail", "over"), [((1,), True), ((2, 1), True), ((), False)])
def test_without_a_converged_revision_the_oldest_of_the_trail_that_can_be_resolved_is_the_base(
    trail: tuple[int, ...], over: bool
) -> None:
    sizes = {1: 20, 2: 1}
    older = tuple(declared_by(one, *(declare(text, value="old") for text in POOL[: sizes[one]])) for one in trail)
    blind: tuple[Declaration | Unresolved, ...] = (*older, Unresolved(revision(7), "It is gone."))
    assert bool(held(changing(20, converged=None, trail=blind))) is over


# --- restarts, and packages ---

SERVICES = ("service:s", "service:t")


def restarting(limits: Limits | None = None, **others: Any) -> Plan:
    """Restart one service after a change, and one that owes a reload as it is."""
    return planned(
        declare("fake:a"),
        service("s", restart_on=["fake:a"]),
        service("t"),
        seen={"fake:a": OTHER, "service:s": running(), "service:t": running("reload")},
        limits=limits or Limits(),
        **others,
    )


@pytest.mark.parametrize(("limit", "over"), [(None, False), (2, False), (1, True), (0, True)])
def test_over_the_limit_of_restarts_every_refresh_is_held_and_nothing_else(limit: int | None, over: bool) -> None:
    """Drift counts here, and marks do not."""
    plan = restarting(Limits(restarts=limit))
    found = [str(action.operation) for action in plan.actions if action.hold]
    assert found == (["restart", "reload"] if over else [])


def test_restarts_have_no_limit_where_nothing_is_said_and_a_limit_is_raised_as_any_other() -> None:
    many = [service(f"{number:03}") for number in range(200)]
    seen = {str(one.id): running("restart") for one in many}
    assert held(planned(*many, seen=seen)) == set()
    assert held(restarting(Limits(restarts=0), allowed={RESTARTS: 2})) == set()
    named = Limits(restarts=0, allowed={RESTARTS: 2}, allowed_from=revision(1))
    assert held(restarting(named, trail=(earlier(1, service("t")),))) == set()
    hold = next(action.hold for action in restarting(Limits(restarts=1)).actions if action.hold)
    assert hold.detail == "This pass would restart or reload 2 services; the limit is 1."
    assert "--allow restarts=2 " in hold.release


def test_marks_and_refreshes_are_neither_changes_nor_removals() -> None:
    listed = [declare(text) for text in POOL[:10]]
    services = [service(f"{number:02}", restart_on=POOL[:10]) for number in range(30)]
    older = nodes_of(*(declare(text, value="old") for text in POOL))
    seen = {**dict.fromkeys(POOL[:10], OTHER), **{str(one.id): running() for one in services}}
    plan = planned(*listed, *services, seen=seen, converged=older, limits=Limits(0, 0, 50))
    assert held(plan) == set()
    assert held(planned(*listed, *services, seen=seen, converged=older, limits=Limits(0, 0, 49))) == set(POOL[:10])


def test_what_a_held_change_would_have_marked_keeps_its_place_and_its_label() -> None:
    older = nodes_of(*(declare(text, value="old") for text in POOL[:10]))
    resources = (*(declare(text) for text in POOL[:10]), service("s", restart_on=POOL[:10]))
    start = given(
        *resources,
        seen={**dict.fromkeys(POOL[:10], OTHER), "service:s": running()},
        providers=ALL,
        limits=Limits(changed=0),
    )
    plan = relabel(plan_pass(start), evolve(start, converged=older))
    assert held(plan) == set(POOL[:10])
    assert {action.label for action in plan.actions} == {Label.INTENT}
    assert len(plan.actions) == 21
    assert plan.plan_id == plan_pass(start).plan_id


@pytest.mark.parametrize(("limit", "over"), [(None, False), (3, False), (2, True)])
def test_packages_that_go_count_declared_or_along(limit: int | None, over: bool) -> None:
    gone = Present({"value": "x"}, holds=("/usr/share/a", "package:c"))
    plan = planned(
        declare("package:a", absent=True, allow=[Hazard.DATA_LOSS]),
        declare("package:b", absent=True),
        declare("package:new"),
        declare("fake:a", absent=True),
        seen={"package:a": gone, "package:b": IN_SYNC, "fake:a": OTHER},
        limits=Limits(package_removals=limit),
    )
    assert held(plan) == ({"package:a", "package:b"} if over else set())
    if over:
        hold = action_of(plan, "package:b").hold
        assert hold is not None
        assert hold.detail == "This pass would remove 3 packages; the limit is 2."
        assert "package_removals=3" in hold.release


def test_ten_packages_may_go_where_nothing_is_said() -> None:
    gone = [declare(f"package:{number:02}", absent=True) for number in range(11)]
    seen = {str(one.id): IN_SYNC for one in gone}
    limits = Limits(removals=None)
    assert held(planned(*gone, seen=seen, limits=limits)) == set(seen)
    assert held(planned(*gone[1:], seen=dict.fromkeys(list(seen)[1:], IN_SYNC), limits=limits)) == set()


# --- what converged last, told later ---


def test_a_plan_is_relabelled_to_what_it_would_be_with_what_converged_last() -> None:
    resources = [declare(text) for text in POOL]
    older = declared_by(1, *(declare(text, value="old") for text in POOL))
    start = given(*resources, seen=dict.fromkeys(POOL, OTHER), trail=(older,))
    assert held(plan_pass(start)) == set(POOL)
    known = evolve(start, converged=nodes_of(*resources))
    found = relabel(plan_pass(start), known)
    assert {action.label for action in found.actions} == {Label.DRIFT}
    assert held(found) == set()
    assert found == plan_pass(known)


def test_what_sweeps_a_leftover_is_no_removal() -> None:
    left = Absent({"residue": True})
    plan = plan_of(declare("leaf:/a", absent=True), seen={"leaf:/a": left}, limits=Limits(0))
    assert action_of(plan, "leaf:/a").hold is None


def test_packages_count_in_their_own_class_only() -> None:
    gone = [declare(f"package:{number:02}", absent=True) for number in range(3)]
    seen = {str(one.id): IN_SYNC for one in gone}
    assert held(planned(*gone, seen=seen, limits=Limits(removals=0))) == set()
    assert held(planned(*gone, seen=seen, limits=Limits(package_removals=2))) == set(seen)
