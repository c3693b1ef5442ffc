"""`while_stopped` in a plan (ADR 0043): one stop before the first change, one start after the last, whatever stands."""

from collections.abc import Mapping
from typing import Any

import pytest

from datum.model.graph import Target
from datum.model.manifest import Hazard, LimitClass, Limits, OnRemoval, Resource
from datum.model.observation import Absent, NotApplicable, Observation, Present
from datum.model.plan import OWES, Action, Change, HoldReason, Label, Need, Operation, Plan, Step, VerdictKind
from datum.planner.replan import replan
from datum.planner.stopped import stop_step, stopping_of
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, Odd, declare, given, graph_of, raising, rid
from tests.unit.services import ALL, earlier, odd_service, planned, running, service, steps, stopped

A, B, C = "fake:a", "fake:b", "fake:c"
SERVICE = "service:s"
S = rid(SERVICE)
AROUND: dict[str, Any] = {"while_stopped": [SERVICE]}


def one(plan: Plan, operation: str, text: str = SERVICE) -> Action:
    """Return the one action of this operation on a resource."""
    (found,) = (one for one in plan.actions if one.resource == rid(text) and one.operation == operation)
    return found


def around(*resources: Resource, state: "Observation | None" = None, **others: Any) -> Plan:
    """Plan changes of `fake:a`, for which a service is stopped, and of others."""
    said = {name: others.pop(name) for name in tuple(others) if name in _SAID}
    declared = resources or (declare(A, **AROUND),)
    seen = {A: OTHER, SERVICE: state or running(), **others.pop("sees", {})}
    return planned(*declared, service("s", **said), seen=seen, **others)


_SAID = ("audit", "allow", "protect", "stop_risks", "risks", "restart_on", "requires", "value", "running", "needs")


# --- where both stand ---


@pytest.mark.parametrize(
    ("resource", "seen", "operation"),
    [
        (declare(A, **AROUND), Absent(), "create"),
        (declare(A, **AROUND), OTHER, "update"),
        (declare(A, allow=[Hazard.DATA_LOSS], **AROUND), Present({"kind": "folder"}), "replace"),
        (declare(A, absent=True, **AROUND), OTHER, "delete"),
        # Unlike a restart: a chmod by hand is undone while it is stopped.
        (declare(A, owner="u", **AROUND), Present({"value": "x", "owner": "v"}), "update"),
    ],
    ids=["create", "update", "replace", "delete", "owner"],
)
def test_a_change_stands_between_a_stop_and_a_start(resource: Resource, seen: Observation, operation: str) -> None:
    plan = around(resource, sees={A: seen})
    assert steps(plan) == [f"stop {SERVICE}", f"{operation} {A}", f"update {SERVICE}"]
    stop, change, start = plan.actions
    assert (stop.changes, stop.hazards) == ((Change("running", before=True, after=False),), frozenset())
    assert change.while_stopped == {S}
    assert change.marks == {}
    assert start.changes == (Change("running", before=False, after=True),)
    assert (start.starts_again, start.requires, start.hold) == (True, frozenset(), None)
    assert S not in plan.verdicts


def test_what_is_in_sync_or_only_swept_stops_nothing() -> None:
    assert around(sees={A: IN_SYNC}).is_empty
    swept = {**ALL, "odd": Odd(plan=lambda *_: Step(Operation.UPDATE, (Change("residue", before=True, after=None),)))}
    plan = planned(
        declare("odd:/a", **AROUND), service("s"), seen={"odd:/a": OTHER, SERVICE: running()}, providers=swept
    )
    assert steps(plan) == ["update odd:/a"]
    assert plan.actions[0].while_stopped == frozenset()
    assert plan.actions[0].unstopped == {S}, "it must not become a write at its turn"
    node = given(declare("odd:/a", **AROUND), service("s"), providers=ALL).graph.nodes[rid("odd:/a")]
    write = {**ALL, "odd": Odd(plan=lambda *_: Step(Operation.UPDATE, (Change("value", "x", "y"),)))}
    hold = replan(plan.actions[0], node, OTHER, providers=write).hold
    assert hold is not None
    assert hold.reason is HoldReason.CHANGED_UNDER_US
    assert replan(plan.actions[0], node, OTHER, providers=swept).step == plan.actions[0].step


def test_the_deletion_of_what_nothing_is_known_of_counts() -> None:
    plan = around(declare(A, absent=True, **AROUND), sees={A: Present({})})
    assert steps(plan) == [f"stop {SERVICE}", f"delete {A}", f"update {SERVICE}"]


def test_a_daemon_reload_alone_stops_nothing() -> None:
    loads = {**ALL, "odd": Odd(plan=lambda *_: Step(Operation.UPDATE, (Change("loaded", before=False, after=True),)))}
    plan = planned(
        declare("odd:/a", **AROUND), service("s"), seen={"odd:/a": OTHER, SERVICE: running()}, providers=loads
    )
    assert steps(plan) == ["update odd:/a"]


def test_many_changes_are_one_stop_and_one_start() -> None:
    plan = planned(
        declare(A, **AROUND),
        declare(B),
        declare(C, **AROUND),
        service("s", value="new"),
        seen={SERVICE: running()},
    )
    assert steps(plan) == [f"stop {SERVICE}", f"create {A}", f"create {B}", f"create {C}", f"update {SERVICE}"]
    assert {change.name for change in plan.actions[-1].changes} == {"running", "value"}, "its own changes go along"


def test_a_transaction_and_a_set_of_candidates_have_the_stop_before_them() -> None:
    plan = planned(
        declare("package:p"),
        declare("package:q", **AROUND),
        declare("page:/a"),
        declare("page:/b", while_stopped=["service:t"]),
        declare("judge:j", guards=["page:/a", "page:/b"]),
        service("s"),
        service("t"),
        seen={SERVICE: running(), "service:t": running(), "judge:j": IN_SYNC},
    )
    assert steps(plan) == [
        *("stop service:s", "create package:p", "create package:q"),
        *("stop service:t", "create page:/a", "create page:/b"),
        *("update service:s", "update service:t"),
    ]


def test_stops_go_against_the_order_but_what_starts_others_goes_first() -> None:
    plan = planned(
        declare(A, while_stopped=["service:app", "service:db", "service:a.socket"]),
        service("db"),
        service("app", requires=["service:db", "service:a.socket"]),
        service("a.socket"),
        seen={A: OTHER, **{f"service:{name}": running() for name in ("db", "app", "a.socket")}},
    )
    assert steps(plan) == [
        *("stop service:a.socket", "stop service:app", "stop service:db", f"update {A}"),
        *("update service:a.socket", "update service:db", "update service:app"),
    ]


@pytest.mark.parametrize("state", [stopped(), Absent(), Present({"running": NotApplicable("no-manager"), OWES: None})])
def test_what_does_not_run_is_not_stopped(state: Present | Absent) -> None:
    plan = around(state=state)
    assert "stop" not in {action.operation for action in plan.actions}
    assert one(plan, "update", A).marks == {}


def test_a_record_of_the_stop_is_its_plan_id() -> None:
    assert around().plan_id != planned(declare(A), service("s"), seen={A: OTHER, SERVICE: running()}).plan_id


# --- what a service owes ---


def test_what_is_started_after_a_change_owes_nothing_for_it() -> None:
    plan = around(restart_on=[A])
    assert steps(plan) == [f"stop {SERVICE}", f"update {A}", f"update {SERVICE}"]
    assert one(plan, "update", A).unmarked == frozenset()


def test_a_change_before_the_stop_is_marked_and_its_refresh_planned_in_case_nothing_is_stopped() -> None:
    plan = around(declare(A), declare(B, **AROUND), restart_on=[A, B])
    assert steps(plan) == [
        *(f"mark {SERVICE}", f"update {A}", f"stop {SERVICE}", f"create {B}"),
        *(f"update {SERVICE}", f"restart {SERVICE}"),
    ]


def test_what_was_owed_already_is_satisfied_by_the_start_or_else_refreshed() -> None:
    plan = around(state=running("restart"))
    assert steps(plan)[-2:] == [f"update {SERVICE}", f"restart {SERVICE}"]


def test_what_does_not_run_is_marked_as_ever() -> None:
    plan = around(state=stopped(), restart_on=[A])
    assert steps(plan) == [f"mark {SERVICE}", f"update {A}", f"update {SERVICE}"]


def test_who_lists_the_service_is_marked_before_it_is_started_again() -> None:
    plan = planned(
        declare(A, **AROUND),
        service("s"),
        service("t", restart_on=[SERVICE]),
        seen={A: OTHER, SERVICE: running(), "service:t": running()},
    )
    assert steps(plan) == [
        *(f"stop {SERVICE}", f"update {A}", "mark service:t", f"update {SERVICE}", "restart service:t"),
    ]


def test_what_cannot_be_marked_for_the_start_keeps_nothing_stopped() -> None:
    plan = planned(
        declare(A, **AROUND),
        service("s"),
        service("t", restart_on=[SERVICE]),
        seen={A: OTHER, SERVICE: running(), "service:t": HIDDEN},
    )
    assert steps(plan) == [f"stop {SERVICE}", f"update {A}", f"update {SERVICE}"]
    start = one(plan, "update")
    assert (start.marks, start.unmarked) == ({}, frozenset())


def test_what_cannot_be_looked_at_keeps_no_start_from_being_made_but_every_other_change() -> None:
    """A pass that was killed left it down: so it would stay for as long as nobody can look at what lists it."""
    seen = {A: OTHER, SERVICE: stopped(), "service:t": HIDDEN}
    plan = planned(declare(A), service("s"), service("t", restart_on=[SERVICE, A]), seen=seen)
    assert steps(plan) == [f"update {SERVICE}"]
    assert (plan.actions[0].marks, plan.actions[0].unmarked) == ({}, frozenset())
    assert plan.verdicts[rid(A)].blocked_by == rid("service:t")


def test_what_is_owed_where_somebody_starts_it_meanwhile_stands_with_the_change() -> None:
    """A mark of what is stopped is needed only then."""
    plan = around(restart_on=[A])
    assert one(plan, "update", A).marks_if_up == {S: Operation.REFRESH_RESTART}
    assert around(state=stopped(), restart_on=[A]).actions[1].marks_if_up == {}
    trail = (earlier(1, declare("leaf:/x.d/f", **AROUND), service("s", restart_on=["leaf:/x.d/f"])),)
    orphan = planned(service("s"), seen={SERVICE: running()}, orphans={"leaf:/x.d/f": IN_SYNC}, trail=trail)
    assert one(orphan, "delete", "leaf:/x.d/f").marks_if_up == {S: Operation.REFRESH_RESTART}


# --- what is stopped changes itself ---


def chain(**db: Any) -> Plan:
    """Plan a change for which `app` is stopped, which itself changes while `db` is stopped."""
    app = service("app", value="new", while_stopped=["service:db"])
    seen = {A: OTHER, "service:app": running(), "service:db": running()}
    return planned(declare(A, while_stopped=["service:app"]), app, service("db", **db), seen=seen)


def test_what_else_changes_of_what_is_stopped_has_its_own_stops() -> None:
    plan = chain()
    assert steps(plan) == [
        *("stop service:app", f"update {A}", "stop service:db", "update service:app", "update service:db"),
    ]
    assert one(plan, "update", "service:app").while_stopped == {rid("service:db")}


def test_what_keeps_these_running_keeps_it_running_too() -> None:
    plan = chain(audit=True)
    assert steps(plan) == []
    assert plan.verdicts[rid(A)].detail.startswith(
        "service:app would have to be stopped for it, and changes itself. service:db would have to be stopped for it, "
    )
    assert plan.verdicts[rid("service:app")].blocked_by == rid("service:db")


def test_a_start_alone_stops_nothing_else() -> None:
    app = service("app", while_stopped=["service:db"])
    seen = {A: OTHER, "service:app": running(), "service:db": running()}
    plan = planned(declare(A, while_stopped=["service:app"]), app, service("db"), seen=seen)
    assert steps(plan) == ["stop service:app", f"update {A}", "update service:app"]


# --- what keeps it running keeps the change away ---


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"audit": True}, "audit: true"),
        ({"stop_risks": ["outage", "access_loss"]}, "risks access_loss"),
        ({"stop_risks": ["access_loss"], "protect": True}, "protect: true"),
        ({"state": HIDDEN}, "cannot be looked at"),
        ({"state": Present({"running": HIDDEN, OWES: None})}, "cannot be looked at"),
        # The start.
        ({"risks": ["access_loss"]}, "its start is held: This update risks access_loss"),
    ],
)
def test_where_it_cannot_be_stopped_the_change_is_skipped(said: Mapping[str, Any], word: str) -> None:
    plan = around(declare(A, **AROUND), declare(B, requires=[A]), **said)
    verdict = plan.verdicts[rid(A)]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, S)
    assert verdict.detail.startswith(f"{SERVICE} would have to be stopped for it, and ")
    assert word in verdict.detail
    assert plan.verdicts[rid(B)].blocked_by == S
    assert steps(plan) == []


def test_what_is_allowed_is_stopped_and_its_hazard_told() -> None:
    plan = around(stop_risks=["outage", "access_loss"], allow=[Hazard.ACCESS_LOSS])
    assert one(plan, "stop").hazards == {Hazard.ACCESS_LOSS}


def test_what_nothing_would_start_again_is_not_stopped() -> None:
    odd = odd_service(plan=lambda *_: None)
    plan = planned(
        declare(A, while_stopped=["oddservice:s"]),
        service("oddservice:s"),
        seen={A: OTHER, "oddservice:s": running()},
        providers=odd,
    )
    assert plan.verdicts[rid(A)].detail == (
        "oddservice:s would have to be stopped for it, and nothing would start it again."
    )


@pytest.mark.parametrize("makes", [(), ("unit:s",)])
def test_a_start_that_needs_what_is_not_there_keeps_it_running_unless_the_change_provides_it(
    makes: tuple[str, ...],
) -> None:
    needed = (Need(Target("unit", "s"), "There is no unit s."),)

    def plan_start(desired: Any, observed: Present | Absent) -> Step | None:
        step = ALL["service"].plan(desired, observed)
        needs = needed if observed.fields.get("running") is False else ()
        return None if step is None else Step(step.operation, step.changes, needs)

    plan = planned(
        declare(A, while_stopped=["oddservice:s"], makes=list(makes)),
        service("oddservice:s"),
        seen={A: OTHER, "oddservice:s": running()},
        providers=odd_service(plan=plan_start),
    )
    if makes:
        assert steps(plan) == ["stop oddservice:s", f"update {A}", "update oddservice:s"]
    else:
        assert plan.verdicts[rid(A)].detail == (
            "oddservice:s would have to be stopped for it, and stay so: There is no unit s."
        )


ODD = "oddservice:s"


def needs_its_unit() -> Any:
    """Types of which `oddservice` needs its unit once it does not run."""
    needed = (Need(Target("unit", "s"), "There is no unit s."),)

    def plan_start(desired: Any, observed: Present | Absent) -> Step | None:
        step = ALL["service"].plan(desired, observed)
        needs = needed if observed.fields.get("running") is False else ()
        return None if step is None else Step(step.operation, step.changes, needs)

    return odd_service(plan=plan_start)


@pytest.mark.parametrize(("first", "second"), [(A, B), (B, A)])
@pytest.mark.parametrize("requires", [False, True])
def test_what_a_start_needs_may_be_made_by_what_comes_after_the_first_change(
    first: str, second: str, *, requires: bool
) -> None:
    """Else both would wait for each other, in every pass."""
    later: dict[str, Any] = {"requires": [first]} if requires else {"while_stopped": [ODD]}
    plan = planned(
        declare(first, while_stopped=[ODD]),
        declare(second, makes=["unit:s"], **later),
        service(ODD),
        seen={A: OTHER, B: OTHER, ODD: running()},
        providers=needs_its_unit(),
    )
    changes = (first, second) if requires else (A, B)
    assert steps(plan) == [f"stop {ODD}", *(f"update {text}" for text in changes), f"update {ODD}"]
    assert {verdict.kind for verdict in plan.verdicts.values()} <= {VerdictKind.IN_SYNC}


def test_nor_does_an_orphan_wait_for_what_the_pass_makes() -> None:
    types = needs_its_unit()
    trail = (earlier(1, declare("leaf:/x.d/f", while_stopped=[ODD]), service(ODD), providers=types),)
    plan = planned(
        declare(B, makes=["unit:s"]),
        service(ODD, after=[B]),
        seen={B: OTHER, ODD: running()},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
        providers=types,
    )
    assert steps(plan) == [f"update {B}", f"stop {ODD}", "delete leaf:/x.d/f", f"update {ODD}"]


def test_what_is_made_after_the_service_does_not_start_it() -> None:
    plan = planned(
        declare(A, while_stopped=[ODD]),
        declare(B, makes=["unit:s"], after=[ODD]),
        service(ODD),
        seen={A: OTHER, B: OTHER, ODD: running()},
        providers=needs_its_unit(),
    )
    assert steps(plan) == [f"update {B}"]
    assert plan.verdicts[rid(A)].detail.endswith("stay so: There is no unit s.")


@pytest.mark.parametrize(
    ("makers", "blocker"),
    [
        ([declare(B, makes=["unit:s"], audit=True)], B),
        ([declare(B, makes=["unit:s"], needs=["path:/nowhere"])], B),
        ([declare(B, makes=["unit:s"], requires=[C]), declare(C, needs=["path:/nowhere"])], C),
        ([declare(B, makes=["unit:s"], while_stopped=["service:t"]), service("t", audit=True)], "service:t"),
    ],
    ids=["held", "impossible", "skipped", "kept-from-stopping"],
)
@pytest.mark.parametrize("other", [A, "fake:z"], ids=["before-the-maker", "behind-it"])
def test_where_the_maker_of_what_a_start_needs_is_stuck_the_service_is_kept_and_its_change_skipped(
    makers: list[Resource], blocker: str, other: str
) -> None:
    """Else the change was planned, and held at its turn by a service that nothing had stopped, in every pass."""
    there = {str(maker.id): running() if maker.id.type == "service" else OTHER for maker in makers}
    plan = planned(
        declare(other, while_stopped=[ODD]),
        *makers,
        service(ODD),
        seen={other: OTHER, ODD: running(), **there},
        providers=needs_its_unit(),
    )
    verdict = plan.verdicts[rid(other)]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid(ODD))
    assert verdict.detail == f"{ODD} would have to be stopped for it, and its start waits for {blocker}."
    assert plan.verdicts[rid(ODD)].kind is VerdictKind.IN_SYNC
    assert not {"stop", "update"} & {action.operation for action in plan.actions if action.hold is None}


def test_an_orphan_waits_for_the_stuck_maker_as_well() -> None:
    types = needs_its_unit()
    trail = (earlier(1, declare("leaf:/x.d/f", while_stopped=[ODD]), service(ODD), providers=types),)
    plan = planned(
        declare(B, makes=["unit:s"], audit=True),
        service(ODD, after=[B]),
        seen={B: OTHER, ODD: running()},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
        providers=types,
    )
    assert steps(plan) == [f"(update {B})", "(delete leaf:/x.d/f)"]
    hold = one(plan, "delete", "leaf:/x.d/f").hold
    assert hold is not None
    assert hold.detail == f"{ODD} would have to be stopped for it, and its start waits for {B}."


def test_what_another_draft_removes_is_no_reason_to_wait_for_itself() -> None:
    """The plan is drafted twice here: what the first draft deletes is deleted by the second."""
    gone = declare("folder:/x.d", absent=True, allow=[Hazard.DATA_LOSS])
    plan = planned(
        declare(A, while_stopped=[ODD]),
        declare(B, makes=["unit:s"], while_stopped=[ODD]),
        gone,
        service(ODD),
        seen={A: OTHER, B: OTHER, ODD: running(), "folder:/x.d": Present({"value": "x"}, holds=("/x.d/f",))},
        providers=needs_its_unit(),
    )
    delete = one(plan, "delete", "folder:/x.d")
    assert delete.step.takes == ("/x.d/f",)
    assert delete.requires == frozenset()


@pytest.mark.parametrize(
    ("resource", "sees"),
    [
        (declare(A, audit=True, **AROUND), {}),
        (declare(A, needs=["path:/nowhere"], **AROUND), {}),
        (declare(A, requires=[B], **AROUND), {B: HIDDEN}),
        (declare(A, **AROUND), {A: HIDDEN}),
    ],
    ids=["held", "impossible", "skipped", "unobservable"],
)
def test_what_is_not_done_stops_nothing(resource: Resource, sees: Mapping[str, Observation]) -> None:
    plan = around(resource, *([declare(B)] if B in sees else []), sees=sees)
    assert "stop" not in {action.operation for action in plan.actions}
    assert plan.verdicts[S].kind is VerdictKind.IN_SYNC


def test_a_set_of_candidates_that_cannot_be_had_stops_nothing() -> None:
    plan = planned(
        declare("page:/a", **AROUND),
        declare("page:/b", needs=["path:/nowhere"]),
        declare("judge:j", guards=["page:/a", "page:/b"]),
        service("s"),
        seen={SERVICE: running(), "judge:j": IN_SYNC},
    )
    assert steps(plan) == []


def test_the_start_is_planned_although_what_the_service_requires_is_stuck() -> None:
    """It ran before. What it required then, too, was not as it is wanted."""
    plan = around(declare(A, **AROUND), declare(B), declare(C, after=[SERVICE]), requires=[A, B], sees={B: HIDDEN})
    assert steps(plan)[:3] == [f"stop {SERVICE}", f"update {A}", f"update {SERVICE}"]
    assert one(plan, "update").requires == frozenset()


# --- declared as something that shall not run ---


@pytest.mark.parametrize("is_allowed", [True, False])
def test_what_shall_not_run_is_stopped_first_and_not_started(is_allowed: bool) -> None:
    plan = around(running=False, risks=["outage"], allow=[Hazard.OUTAGE] if is_allowed else [])
    if is_allowed:
        assert steps(plan) == [f"stop {SERVICE}", f"update {A}"]
        assert one(plan, "stop").hazards == {Hazard.OUTAGE}
        assert S not in plan.verdicts
    else:
        assert steps(plan) == [f"(update {SERVICE})"], "its own stop is held as ever"
        assert plan.verdicts[rid(A)].blocked_by == S


def test_what_is_declared_absent_is_stopped_before_the_change_and_removed_after_it() -> None:
    plan = planned(
        declare(A, **AROUND),
        declare(SERVICE, absent=True, stop_risks=[], allow=[Hazard.OUTAGE]),
        seen={A: OTHER, SERVICE: running()},
    )
    assert steps(plan) == [f"stop {SERVICE}", f"update {A}", f"delete {SERVICE}"]


# --- removals ---


def test_an_orphan_goes_while_what_its_declaration_named_is_stopped() -> None:
    trail = (earlier(1, declare("leaf:/x.d/f", **AROUND), service("s")),)
    plan = planned(service("s"), seen={SERVICE: running()}, orphans={"leaf:/x.d/f": IN_SYNC}, trail=trail)
    assert steps(plan) == [f"stop {SERVICE}", "delete leaf:/x.d/f", f"update {SERVICE}"]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ((), ["delete leaf:/x.d/f"]),
        # Nothing would start it again.
        ((service("s", running=None),), ["delete leaf:/x.d/f"]),
        ((service("s", audit=True),), ["(delete leaf:/x.d/f)"]),
    ],
)
def test_an_orphan_whose_service_is_not_kept_running_any_more(now: tuple[Resource, ...], expected: list[str]) -> None:
    trail = (earlier(1, declare("leaf:/x.d/f", **AROUND), service("s")),)
    plan = planned(
        declare(A),
        *now,
        seen={A: IN_SYNC, **({SERVICE: running()} if now else {})},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
    )
    assert steps(plan) == expected
    for action in plan.actions:
        assert action.hold is None or action.hold.reason is HoldReason.AUDIT


def test_where_every_removal_waits_nothing_is_stopped_for_one() -> None:
    trail = (earlier(1, declare("leaf:/x.d/f", on_removal=OnRemoval.DELETE, **AROUND), service("s")),)
    plan = planned(
        declare(A, absent=True, **AROUND),
        declare(B),
        service("s"),
        seen={A: OTHER, B: HIDDEN, SERVICE: running()},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
    )
    assert steps(plan) == [f"(delete {A})", "(delete leaf:/x.d/f)"]


# --- limits and labels ---


def test_a_stop_counts_as_a_restart_and_its_start_not_at_all() -> None:
    trail = (earlier(1, *(declare(text, value="old") for text in (A,)), service("s")),)
    plan = around(limits=Limits(changed=0, restarts=0), trail=trail)
    assert steps(plan) == [f"(stop {SERVICE})", f"update {A}", f"update {SERVICE}"]
    hold = one(plan, "stop").hold
    assert hold is not None
    assert hold.detail == "This pass would restart or reload 1 services; the limit is 0."
    assert plan.plan_id == around(trail=trail).plan_id, "the id of this plan releases it"


def test_a_stop_and_a_refresh_of_one_service_are_one_restart() -> None:
    parts: dict[str, Any] = {"restart_on": [A, B]}
    plan = around(declare(A), declare(B, **AROUND), limits=Limits(restarts=1), **parts)
    assert all(action.hold is None for action in plan.actions)
    held = around(declare(A), declare(B, **AROUND), limits=Limits(restarts=0), **parts)
    assert [text for text in steps(held) if text.startswith("(")] == [f"(stop {SERVICE})", f"(restart {SERVICE})"]


def test_a_stop_for_what_another_limit_holds_is_none() -> None:
    """So that it holds no restart of others."""
    names = [f"leaf:/x.d/f{number}" for number in range(3)]
    trail = (earlier(1, *(declare(name, **AROUND) for name in names), service("s")),)

    def plan_with(*, removals: int, restarts: int) -> Plan:
        return planned(
            service("s"),
            service("z"),
            seen={SERVICE: running(), "service:z": running("restart")},
            orphans=dict.fromkeys(names, IN_SYNC),
            trail=trail,
            limits=Limits(removals=removals, restarts=restarts),
        )

    held = plan_with(removals=1, restarts=1)
    assert {action.resource for action in held.actions if action.hold} == {rid(name) for name in names}
    both = plan_with(removals=3, restarts=1)
    assert {str(action.resource) for action in both.actions if action.hold} == {SERVICE, "service:z"}


def test_a_stop_for_good_counts_whatever_holds_its_change() -> None:
    plan = planned(
        *(declare(name, absent=True, **AROUND) for name in (A, B)),
        service("s", running=False, allow=[Hazard.OUTAGE]),
        seen={A: OTHER, B: OTHER, SERVICE: running()},
        limits=Limits(removals=1, restarts=0),
    )
    stops = [action for action in plan.actions if action.operation is Operation.STOP]
    assert all(action.hold is not None and action.hold.limit is LimitClass.RESTARTS for action in stops)
    assert stops


def test_starts_are_not_counted_as_changes() -> None:
    """So that no limit holds what this pass stopped."""
    names = [f"{number}" for number in range(10)]

    def declared(value: str) -> list[Resource]:
        files = [declare(f"fake:{name}", value=value, while_stopped=[f"service:{name}"]) for name in names]
        return [*files, *(service(name) for name in names)]

    plan = planned(
        *declared("new"),
        seen={**{f"fake:{name}": OTHER for name in names}, **{f"service:{name}": running() for name in names}},
        trail=(earlier(1, *declared("old")),),
        limits=Limits(changed=50),
    )
    assert len(plan.actions) == 30
    assert {action.label for action in plan.actions} == {Label.INTENT}
    assert all(action.hold is None for action in plan.actions)


def test_what_turns_out_not_to_be_started_again_is_not_stopped() -> None:
    """What it is planned for finds it running then, and is held."""

    def unguarded(*_: object) -> object:
        raise RuntimeError

    plan = planned(
        declare(A, while_stopped=["oddservice:s"]),
        service("oddservice:s"),
        seen={A: OTHER, "oddservice:s": running()},
        providers=odd_service(effects=unguarded),
    )
    assert steps(plan) == [f"update {A}"]
    assert plan.verdicts[rid("oddservice:s")].kind is VerdictKind.UNOBSERVABLE


def test_an_orphan_that_is_held_for_its_service_keeps_what_leans_on_it() -> None:
    trail = (earlier(1, declare("leaf:/x.d/f", **AROUND), service("s")),)
    plan = planned(
        declare("folder:/x.d", absent=True),
        service("s", audit=True),
        seen={"folder:/x.d": Present({"value": "x"}, holds=("/x.d/f",)), SERVICE: running()},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
    )
    assert steps(plan) == ["(delete leaf:/x.d/f)"]
    assert plan.verdicts[rid("folder:/x.d")].blocked_by == rid("leaf:/x.d/f")


@pytest.mark.parametrize("value", [None, "new"])
def test_both_have_the_label_of_what_they_are_for(value: str | None) -> None:
    """So that a start that fails after an intent counts as that intent."""
    converged = nodes_of_services(declare(A, value="then"), service("s", value=value))
    plan = around(value=value, converged=converged, trail=(earlier(1, declare(A, value="then"), service("s")),))
    assert [str(action.label) for action in plan.actions] == ["intent"] * 3
    drift = around(
        value=value,
        converged=nodes_of_services(declare(A), service("s", value=value)),
        trail=(earlier(1, declare(A), service("s")),),
    )
    assert {action.label for action in drift.actions} == {Label.DRIFT}


def nodes_of_services(*resources: Resource) -> Any:
    return graph_of(*resources, providers=ALL).nodes


# --- at its turn ---


def test_at_its_turn_a_stop_looks_at_what_runs_and_its_start_at_everything() -> None:
    resources = (declare(A, **AROUND), service("s"))
    world = given(*resources, seen={A: OTHER, SERVICE: running()}, providers=ALL)
    plan = around()
    node = world.graph.nodes[S]
    stop, start = one(plan, "stop"), one(plan, "update")
    assert replan(stop, node, running(), providers=ALL).step == stop.step
    assert replan(stop, node, stopped(), providers=ALL).step is None
    assert replan(start, node, running(), providers=ALL).step is None
    assert replan(start, node, stopped(), providers=ALL).step == start.step
    assert replan(stop, node, HIDDEN, providers=ALL).hold is not None
    unknown = replan(stop, node, Present({"running": HIDDEN, OWES: None}), providers=ALL)
    assert unknown.hold is not None
    assert "whether it runs cannot be looked at any more" in unknown.hold.detail


@pytest.mark.parametrize(
    "answers",
    [
        {"stop": lambda *_: Step(Operation.UPDATE, (Change("running", before=True, after=False),))},
        {"stop": lambda *_: Step(Operation.STOP, ())},
        {"stop": lambda *_: "stop"},
        {"stop": lambda *_: Step(Operation.STOP, (Change("running", before=True, after=False),), takes=("/a",))},
    ],
)
def test_a_provider_that_answers_another_step_broke_its_contract(answers: Mapping[str, Any]) -> None:
    plan = planned(
        declare(A, while_stopped=["oddservice:s"]),
        service("oddservice:s"),
        seen={A: OTHER, "oddservice:s": running()},
        providers=odd_service(**answers),
    )
    verdict = plan.verdicts[rid(A)]
    assert verdict.kind is VerdictKind.UNOBSERVABLE
    assert "broke its contract: stop answered" in verdict.detail


def test_an_orphan_whose_service_cannot_say_how_it_is_stopped_is_held() -> None:
    types = odd_service(stop=raising)
    trail = (earlier(1, declare("leaf:/x.d/f", while_stopped=[ODD]), service(ODD), providers=types),)
    plan = planned(service(ODD), seen={ODD: running()}, orphans={"leaf:/x.d/f": IN_SYNC}, trail=trail, providers=types)
    assert steps(plan) == ["(delete leaf:/x.d/f)"]
    hold = one(plan, "delete", "leaf:/x.d/f").hold
    assert hold is not None
    assert hold.reason is HoldReason.UNOBSERVABLE
    assert "broke its contract: stop raised" in hold.detail


def test_what_is_of_a_type_that_never_runs_is_not_stopped() -> None:
    """The graph refuses to name it; asked for it nevertheless, nothing stops or starts it."""
    node = given(declare(B), providers=ALL).graph.nodes[rid(B)]
    assert stop_step(node, IN_SYNC, ALL["fake"]) is None
    assert stopping_of(node, ALL["fake"]) is None
