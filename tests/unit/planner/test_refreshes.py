"""A restart is owed, not sent (design 4.1; ADR 0034): what is marked, what is refreshed, and where it stands."""

from collections.abc import Mapping
from typing import Any

import pytest

from datum.model.check import Check
from datum.model.manifest import Hazard, Limits, OnRemoval, Resource
from datum.model.observation import Absent, NotApplicable, Observation, Present
from datum.model.plan import OWES, Action, Change, Effect, HoldReason, Label, Operation, Plan, Step, VerdictKind
from datum.model.revision import Revision
from datum.planner.inputs import Unresolved
from datum.planner.plan import relabel
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, Guess, Odd, declare, given, nodes_of, raising, rid
from tests.unit.services import ALL, Service, earlier, odd_service, planned, running, service, steps, stopped

NO_MANAGER = NotApplicable("no-manager")
A = "fake:a"
S = rid("service:s")


def one(plan: Plan, operation: str, text: str = "service:s") -> Action:
    """Return the one action of this operation on a resource."""
    (found,) = (one for one in plan.actions if one.resource == rid(text) and one.operation == operation)
    return found


def listing(*, seen: Observation = OTHER, state: "Observation | None" = None, **others: Any) -> Plan:
    """Plan a change of `fake:a`, which a service lists in `restart_on`."""
    said = {name: others.pop(name) for name in ("audit", "allow", "refresh_risks", "protect") if name in others}
    resource = others.pop("resource", None) or declare(A)
    return planned(
        resource,
        service("s", restart_on=[A], **said),
        *others.pop("more", ()),
        seen={A: seen, "service:s": state or running(), **others.pop("sees", {})},
        **others,
    )


# --- marks ---


@pytest.mark.parametrize(
    ("resource", "seen", "operation"),
    [
        (declare(A), Absent(), "create"),
        (declare(A), OTHER, "update"),
        (declare(A, allow=[Hazard.DATA_LOSS]), Present({"kind": "folder"}), "replace"),
        (declare(A, absent=True), OTHER, "delete"),
    ],
    ids=["create", "update", "replace", "delete"],
)
def test_before_each_change_of_what_a_service_lists_it_is_marked(
    resource: Resource, seen: Observation, operation: str
) -> None:
    plan = listing(resource=resource, seen=seen)
    assert steps(plan) == ["mark service:s", f"{operation} {A}", "restart service:s"]
    assert one(plan, "mark").changes == (Change(OWES, None, "restart"),)
    assert one(plan, "mark").step == Step(Operation.MARK, (Change(OWES, None, "restart"),))
    assert one(plan, operation, A).marks == {S: Operation.REFRESH_RESTART}
    assert one(plan, operation, A).unmarked == frozenset()
    assert S not in plan.verdicts


def test_what_is_in_sync_is_marked_for_nothing() -> None:
    plan = listing(seen=IN_SYNC)
    assert plan.is_empty
    assert plan.verdicts[S].kind is VerdictKind.IN_SYNC


def test_every_change_has_a_mark_of_its_own_and_there_is_one_refresh() -> None:
    plan = planned(
        *map(declare, (A, "fake:b", "fake:c")),
        service("s", restart_on=[A, "fake:c"]),
        seen={A: OTHER, "service:s": running()},
    )
    assert steps(plan) == [
        *("mark service:s", f"update {A}", "create fake:b", "mark service:s", "create fake:c"),
        "restart service:s",
    ]


def test_a_transaction_has_its_marks_before_it() -> None:
    plan = planned(
        *map(declare, ("package:p", "package:q", "package:r")),
        service("s", restart_on=["package:q"]),
        service("t", reload_on=["package:r"]),
        service("u", restart_on=["package:p", "package:q"]),
        seen={"service:s": running(), "service:t": running(), "service:u": running()},
    )
    assert steps(plan) == [
        *("mark service:s", "mark service:t", "mark service:u"),
        *("create package:p", "create package:q", "create package:r"),
        *("restart service:s", "reload service:t", "restart service:u"),
    ]
    assert {action.transaction for action in plan.actions[3:6]} == {"package/apt"}


def test_candidates_of_one_check_have_their_marks_before_the_set() -> None:
    plan = planned(
        *map(declare, ("page:/a", "page:/b")),
        declare("judge:j", guards=["page:/a", "page:/b"]),
        service("s", restart_on=["page:/b"]),
        seen={"service:s": running(), "judge:j": IN_SYNC},
    )
    assert steps(plan) == ["mark service:s", "create page:/a", "create page:/b", "restart service:s"]


def test_a_mark_within_a_transaction_is_the_strongest_and_each_change_knows_its_own() -> None:
    plan = planned(
        *map(declare, ("package:p", "package:q")),
        service("s", restart_on=["package:q"], reload_on=["package:p"]),
        seen={"service:s": running()},
    )
    assert steps(plan) == ["mark service:s", "create package:p", "create package:q", "restart service:s"]
    assert one(plan, "create", "package:p").marks == {S: Operation.REFRESH_RELOAD}


@pytest.mark.parametrize(("owes", "after"), [(None, "reload"), ("reload", "reload"), ("restart", "restart")])
def test_a_mark_never_makes_less_owed(owes: str | None, after: str) -> None:
    plan = planned(declare(A), service("s", reload_on=[A]), seen={A: OTHER, "service:s": running(owes)})
    assert one(plan, "mark").changes == (Change(OWES, owes, after),)
    assert steps(plan)[-1] == f"{after} service:s"


@pytest.mark.parametrize("state", [Present({"running": True, OWES: NO_MANAGER}), Absent({OWES: NO_MANAGER})])
def test_where_no_manager_is_nothing_is_marked_and_nothing_refreshed(state: Present | Absent) -> None:
    plan = listing(state=state)
    own = ["create service:s"] if isinstance(state, Absent) else []
    assert steps(plan) == [f"update {A}", *own]
    assert one(plan, "update", A).marks == {}


@pytest.mark.parametrize(
    "resource", [service("s", running=False, restart_on=[A]), declare("service:s", absent=True)], ids=["stop", "absent"]
)
def test_what_shall_not_run_is_neither_marked_nor_refreshed(resource: Resource) -> None:
    """Whatever it owes, and whatever an older revision listed."""
    trail = (earlier(1, declare(A), declare("leaf:/x.d/f"), service("s", restart_on=[A, "leaf:/x.d/f"])),)
    plan = planned(
        declare(A),
        resource,
        seen={A: OTHER, "service:s": running("restart")},
        orphans={"leaf:/x.d/f": IN_SYNC},
        trail=trail,
    )
    assert {action.operation for action in plan.actions} <= {Operation.UPDATE, Operation.DELETE}
    assert len(plan.actions) == 3
    assert all(not action.marks for action in plan.actions)


def test_what_does_not_run_yet_is_marked_at_its_turn_and_its_start_satisfies_it() -> None:
    """Somebody may start it in between."""
    plan = listing(state=stopped())
    assert steps(plan) == ["mark service:s", f"update {A}", "update service:s"]


def test_what_is_marked_and_nothing_else_has_no_verdict_in_sync() -> None:
    plan = planned(declare(A), service("s", running=None, restart_on=[A]), seen={A: OTHER, "service:s": stopped()})
    assert steps(plan) == ["mark service:s", f"update {A}"]
    assert plan.verdicts == {}


# --- what marks nothing ---

BEFORE = Present({"value": "x", "owner": "v"})


def chown(**others: Any) -> Plan:
    """Plan a change of the owner of what a service lists."""
    return listing(resource=declare(A, owner="u"), seen=others.pop("seen", BEFORE), **others)


@pytest.mark.parametrize(
    "others",
    [
        {"trail": (earlier(2, declare(A, owner="u")), earlier(1, declare(A, owner="u", value="then")))},
        # The enforced revision itself.
        {"is_retry": True},
        # Adopted: nobody declared it before, on first contact or later.
        {},
        {"trail": (earlier(1, declare("fake:b")),)},
    ],
)
def test_repair_of_attributes_alone_marks_nothing(others: Mapping[str, Any]) -> None:
    """A chmod by hand restarts nothing."""
    plan = chown(**others)
    assert steps(plan) == [f"update {A}"]
    assert one(plan, "update", A).marks == {}
    assert one(plan, "update", A).unmarked == {S}
    assert plan.verdicts[S].kind is VerdictKind.IN_SYNC
    owing = chown(state=running("restart"), **others)
    assert steps(owing) == [f"update {A}", "restart service:s"]


@pytest.mark.parametrize(
    "others",
    [
        {"trail": (earlier(1, declare(A, owner="w")),)},
        {"trail": (earlier(2, declare(A, owner="u")), earlier(1, declare(A, owner="w")))},
        {"trail": (earlier(1, declare(A)),)},
        {"trail": (earlier(1, declare(A, absent=True)),)},
        {"trail": (Unresolved(Revision("1" * 40), "Gone."),)},
        {"is_retry": True, "seen": Present({"value": "old", "owner": "v"})},
        {"is_retry": True, "seen": Absent()},
    ],
)
def test_every_other_change_is_marked(others: Mapping[str, Any]) -> None:
    assert steps(chown(**others))[0] == "mark service:s"


def test_what_converged_last_decides_no_marks() -> None:
    """It is not known when the plan is made, and a plan has one id."""
    trail = (earlier(1, declare(A, owner="w")),)
    assert steps(chown(trail=trail, converged=nodes_of(declare(A, owner="u")))) == steps(chown(trail=trail))


@pytest.mark.parametrize(
    ("resource", "changes"),
    [
        (declare("odd:/a"), (Change("residue", before=True, after=None),)),
        (declare("odd:/a"), (Change("./b", "residue file", "file"),)),
    ],
)
def test_clearing_what_a_killed_write_left_marks_nothing(resource: Resource, changes: tuple[Change, ...]) -> None:
    odd = {**ALL, "odd": Odd(plan=lambda *_: Step(Operation.UPDATE, changes))}
    plan = planned(
        resource, service("s", restart_on=["odd:/a"]), seen={"odd:/a": OTHER, "service:s": running()}, providers=odd
    )
    assert steps(plan) == ["update odd:/a"]


@pytest.mark.parametrize(
    "others",
    [
        {"resource": declare(A, audit=True)},
        {"resource": declare(A, risks=["outage"])},
        {"resource": declare(A, absent=True, protect=True)},
    ],
)
def test_what_is_held_is_not_marked_for(others: Mapping[str, Any]) -> None:
    plan = listing(**others)
    assert [action.resource for action in plan.actions] == [rid(A)]
    assert plan.actions[0].hold is not None
    assert plan.actions[0].marks == {}


def test_what_a_limit_holds_keeps_its_marks_and_its_refresh() -> None:
    """The id of this plan releases it."""
    plan = listing(resource=declare(A, absent=True), limits=Limits(0))
    assert steps(plan) == ["mark service:s", f"(delete {A})", "restart service:s"]
    assert rid(A) in one(plan, "restart").requires
    assert plan.plan_id == listing(resource=declare(A, absent=True)).plan_id


# --- refreshes ---


def test_the_refresh_stands_after_the_own_action_and_before_what_requires_the_service() -> None:
    plan = planned(
        declare(A),
        declare("fake:z"),
        service("s", restart_on=[A], requires=["fake:z"], value="new"),
        service("a", requires=["service:s"]),
        seen={"service:s": running(), "service:a": stopped(), A: OTHER, "fake:z": IN_SYNC},
    )
    assert steps(plan) == [
        *("mark service:s", f"update {A}", "update service:s", "restart service:s"),
        "update service:a",
    ]
    refresh = one(plan, "restart")
    assert refresh.requires == {rid(A), rid("fake:z")}
    assert one(plan, "update").requires == {rid("fake:z")}, "what is listed comes before, and that is all"
    assert refresh.changes == (Change(OWES, "restart", None),)
    assert (refresh.provider, refresh.known_after, refresh.location) == ("service 1", (), one(plan, "mark").location)


@pytest.mark.parametrize("owes", [None, "reload", "restart"])
@pytest.mark.parametrize(("first", "second"), [("restart", "reload"), ("reload", "restart")])
def test_a_reload_and_a_restart_owed_together_are_one_restart(owes: str | None, first: str, second: str) -> None:
    plan = planned(
        *map(declare, (A, "fake:b")),
        service("s", **{f"{first}_on": [A], f"{second}_on": ["fake:b"]}),
        seen={"service:s": running(owes)},
    )
    assert [text for text in steps(plan) if "service" in text] == [*["mark service:s"] * 2, "restart service:s"]


def test_what_cannot_reload_is_restarted() -> None:
    plan = planned(declare(A), service("s", reload_on=[A], can_reload=False), seen={A: OTHER, "service:s": running()})
    assert steps(plan) == ["mark service:s", f"update {A}", "restart service:s"]


@pytest.mark.parametrize("owes", ["reload", "restart"])
def test_what_is_owed_already_is_drift(owes: str) -> None:
    plan = listing(seen=IN_SYNC, state=running(owes))
    assert steps(plan) == [f"{owes} service:s"]
    assert one(plan, owes).changes == (Change(OWES, owes, None),)


def test_what_is_not_running_and_not_to_be_started_owes_nothing() -> None:
    assert steps(planned(service("s", running=None), seen={"service:s": Present({OWES: "restart"})})) == []


@pytest.mark.parametrize(
    ("resource", "seen"),
    [
        (declare(A, audit=True), OTHER),
        (declare(A), HIDDEN),
        (declare(A, needs=["path:/nowhere"]), OTHER),
        (declare(A, requires=["fake:0"]), OTHER),
    ],
    ids=["held", "unobservable", "impossible", "skipped"],
)
def test_where_something_listed_is_stuck_what_is_owed_waits(resource: Resource, seen: Observation) -> None:
    parts: dict[str, Any] = {"resource": resource, "seen": seen}
    parts |= {"more": [declare("fake:0"), declare("fake:z", requires=["service:s"])], "sees": {"fake:0": HIDDEN}}
    plan = listing(state=running("restart"), **parts)
    verdict = plan.verdicts[S]
    blocker = rid("fake:0") if resource.requires else rid(A)
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, blocker)
    assert verdict.detail == f"What it owes waits for {blocker}."
    assert verdict.step is not None
    assert verdict.step.operation is Operation.REFRESH_RESTART
    assert plan.verdicts[rid("fake:z")].blocked_by == blocker
    nothing_owed = listing(**parts)
    assert nothing_owed.verdicts[S].kind is VerdictKind.IN_SYNC
    assert rid("fake:z") not in nothing_owed.verdicts


def test_where_one_of_two_is_stuck_the_other_is_marked_for_and_the_refresh_waits() -> None:
    plan = planned(
        declare(A),
        declare("fake:b", audit=True),
        service("s", restart_on=[A, "fake:b"]),
        seen={A: OTHER, "fake:b": OTHER, "service:s": running()},
    )
    assert steps(plan) == ["mark service:s", f"update {A}", "(update fake:b)"]
    assert plan.verdicts[S].blocked_by == rid("fake:b")


def test_a_refresh_that_waits_stands_in_the_plan_beside_an_own_action() -> None:
    plan = planned(
        declare(A),
        service("s", restart_on=[A], value="new"),
        declare("fake:z", requires=["service:s"]),
        seen={A: HIDDEN, "service:s": running("restart")},
    )
    assert steps(plan) == ["update service:s", "restart service:s"]
    assert one(plan, "restart").requires == {rid(A)}
    assert plan.verdicts[rid("fake:z")].blocked_by == rid(A)


def test_where_the_own_action_is_not_to_be_nothing_is_refreshed() -> None:
    plan = planned(
        declare(A),
        declare("fake:0"),
        service("s", restart_on=[A], value="new", requires=["fake:0"]),
        seen={A: OTHER, "fake:0": HIDDEN, "service:s": running("restart")},
    )
    assert steps(plan) == ["mark service:s", f"update {A}"]
    verdict = plan.verdicts[S]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid("fake:0"))


def test_what_the_service_requires_keeps_its_refresh_too() -> None:
    plan = planned(
        declare(A),
        declare("fake:0"),
        service("s", restart_on=[A], requires=["fake:0"]),
        seen={A: OTHER, "fake:0": HIDDEN, "service:s": running()},
    )
    assert plan.verdicts[S].blocked_by == rid("fake:0")


# --- starts ---


@pytest.mark.parametrize("state", [stopped(), Absent()])
def test_a_start_satisfies_what_is_owed(state: Present | Absent) -> None:
    assert [text for text in steps(listing(state=state)) if "restart" in text] == []


def test_what_something_else_may_start_is_refreshed_if_it_was_marked() -> None:
    """A package may start its service before the file that the service lists is there."""
    resources = (
        declare("package:p", may_make=["unit:s"]),
        declare(A, after=["package:p"]),
        service("s", restart_on=[A], needs=["unit:s"]),
    )
    plan = planned(*resources)
    assert steps(plan) == [
        *("create package:p", "mark service:s", f"create {A}", "create service:s", "restart service:s")
    ]
    assert one(plan, "restart").known_after == (rid("package:p"),)
    assert rid("package:p") in one(plan, "restart").requires
    assert steps(planned(*resources, seen={A: IN_SYNC})) == ["create package:p", "create service:s"]


def test_what_waits_for_its_own_unit_file_is_started_by_its_own_action_and_owes_nothing() -> None:
    """A unit file starts nothing. What a program makes may be started by that program, however sure its making is."""
    needing: dict[str, Any] = {"needs": ["unit:s"]}
    plan = planned(declare("unit:s", makes=["unit:s"]), declare(A), service("s", restart_on=["unit:s", A], **needing))
    assert steps(plan) == [
        *("mark service:s", f"create {A}", "mark service:s", "create unit:s", "create service:s"),
    ]
    assert one(plan, "create").known_after == (rid("unit:s"),)
    plan = planned(declare("fake:installer", makes=["unit:s"]), declare(A), service("s", restart_on=[A], **needing))
    assert steps(plan)[-2:] == ["create service:s", "restart service:s"]


@pytest.mark.parametrize("field", ["restart_on", "reload_on"])
def test_what_something_else_may_start_and_nobody_wants_to_run_is_restarted_if_it_does(field: str) -> None:
    """Whether it can reload is not known either."""
    listed: dict[str, Any] = {field: [A]}
    plan = planned(
        declare("package:p", may_make=["unit:s"]),
        declare(A, after=["package:p"]),
        service("s", running=None, value="new", needs=["unit:s"], **listed),
    )
    assert steps(plan)[-2:] == ["create service:s", "restart service:s"]
    assert one(plan, "restart").known_after == (rid("package:p"),)
    assert one(plan, "restart").changes[0].after is None


@pytest.mark.parametrize("comes_after", ["requires", "restart_on", "neither"])
def test_a_package_may_start_what_also_has_a_declared_unit_file(comes_after: str) -> None:
    """The file is what makes the unit for certain, and hides no package that the service comes after."""
    before: Mapping[str, Any] = {} if comes_after == "neither" else {"requires": ["package:p"]}
    resources = (
        declare("package:p", may_make=["unit:*"]),
        declare("page:/u", makes=["unit:s"], **(before if comes_after == "requires" else {})),
        declare(A, **before),
        service("s", needs=["unit:s"], restart_on=[A, "page:/u"], requires=["page:/u"]),
    )
    plan = planned(*resources)
    own = one(plan, "create", "service:s")
    assert own.known_after == (rid("page:/u"),)
    last = ["create service:s"] if comes_after == "neither" else ["create service:s", "restart service:s"]
    assert steps(plan)[-len(last) :] == last
    assert "mark service:s" in steps(plan)


@pytest.mark.parametrize(
    ("package", "refreshes"),
    [
        ({"may_make": ["unit:*"]}, ["restart service:s"]),
        ({"may_make": ["unit:*"], "audit": True}, []),
        ({"may_make": ["path:*"]}, []),
        ({}, []),
    ],
)
def test_what_says_nothing_of_itself_may_be_brought_and_started_all_the_same(
    package: Mapping[str, Any], refreshes: list[str]
) -> None:
    resources = (declare("package:p", **package), declare(A, after=["package:p"]))
    plan = planned(*resources, service("s", running=None, restart_on=[A]))
    assert [text for text in steps(plan) if "restart" in text] == refreshes
    for text in refreshes:
        assert one(plan, text.split()[0]).known_after == (rid("package:p"),)
    stands = planned(*resources, service("s", running=None, restart_on=[A]), seen={"service:s": stopped()})
    assert [text for text in steps(stands) if "restart" in text] == []


def test_what_is_known_of_a_unit_that_is_not_there_is_known_of_its_refresh() -> None:
    def reload(desired: Any, observed: Present | Absent) -> Step | None:
        operation = Operation.REFRESH_RELOAD if observed.fields.get("can_reload") else Operation.REFRESH_RESTART
        return Step(operation, (DUE,)) if observed.fields.get("running") else None

    plan = planned(
        declare("package:p", may_make=["unit:s"]),
        declare(A, after=["package:p"]),
        service(ODD, restart_on=[A], needs=["unit:s"]),
        seen={ODD: Absent({"can_reload": True, "running": False})},
        providers=odd_service(refresh=reload),
    )
    assert steps(plan)[-1] == f"reload {ODD}"


def test_another_update_of_what_runs_is_no_start() -> None:
    plan = planned(
        declare(A), service("s", restart_on=[A], value="new"), seen={A: OTHER, "service:s": running(value="old")}
    )
    assert steps(plan) == ["mark service:s", f"update {A}", "update service:s", "restart service:s"]


def test_where_the_start_is_held_nothing_runs_and_nothing_is_refreshed() -> None:
    plan = listing(state=stopped(), audit=True)
    assert steps(plan) == ["mark service:s", f"update {A}", "(update service:s)"]


# --- services that list services ---


def chain(state: Observation, **others: Any) -> Plan:
    return planned(
        declare(A),
        service("y", restart_on=[A], **others),
        service("a", restart_on=["service:y"]),
        seen={A: IN_SYNC, "service:y": state, "service:a": running()},
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (running("restart"), ["mark service:a", "restart service:y", "restart service:a"]),
        (stopped(), ["mark service:a", "update service:y", "restart service:a"]),
        (Absent(), ["mark service:a", "create service:y", "restart service:a"]),
        (running(), []),
    ],
)
def test_a_service_that_is_refreshed_or_started_by_this_pass_is_a_change(state: Observation, words: list[str]) -> None:
    assert steps(chain(state)) == words


def test_any_other_action_of_a_service_is_none() -> None:
    assert steps(chain(running(value="old"), value="new")) == ["update service:y"]
    stopping = chain(running(), running=False)
    assert steps(stopping) == ["update service:y"]
    gone = planned(
        declare("service:y", absent=True),
        service("a", restart_on=["service:y"]),
        seen={"service:y": running(), "service:a": running()},
    )
    assert steps(gone) == ["delete service:y"]


def test_where_both_an_update_and_a_refresh_are_due_the_refresh_alone_is_a_change() -> None:
    plan = chain(running("restart", value="old"), value="new")
    assert steps(plan) == ["update service:y", "mark service:a", "restart service:y", "restart service:a"]


def test_a_change_goes_through_a_chain_of_services() -> None:
    plan = planned(
        declare(A),
        service("y", reload_on=[A]),
        service("a", restart_on=["service:y"]),
        seen={A: OTHER, "service:y": running(), "service:a": running()},
    )
    assert steps(plan) == [
        *("mark service:y", f"update {A}", "mark service:a", "reload service:y", "restart service:a")
    ]
    assert one(plan, "restart", "service:a").requires == {rid("service:y")}


# --- holds ---


def reason(plan: Plan) -> HoldReason | None:
    hold = one(plan, "restart").hold
    return hold.reason if hold else None


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"audit": True}, HoldReason.AUDIT),
        ({"refresh_risks": ["outage"]}, HoldReason.HAZARD),
        ({"refresh_risks": ["access_loss"], "allow": [Hazard.OUTAGE]}, HoldReason.HAZARD),
        ({"refresh_risks": ["outage"], "allow": [Hazard.OUTAGE]}, None),
        ({"refresh_risks": ["outage"], "allow": [Hazard.OUTAGE], "protect": True}, HoldReason.PROTECT),
        ({"protect": True}, None),
        ({"limits": Limits(restarts=0)}, HoldReason.LIMIT),
    ],
)
def test_a_refresh_is_held_as_any_action_is_and_its_marks_are_not(
    others: Mapping[str, Any], expected: HoldReason | None
) -> None:
    plan = listing(**others)
    assert reason(plan) is expected
    assert one(plan, "mark").hold is None
    assert one(plan, "restart").hazards == {Hazard(text) for text in others.get("refresh_risks", ())}


def test_what_requires_a_service_whose_refresh_is_held_is_skipped() -> None:
    plan = listing(audit=True, more=[declare("fake:z", requires=["service:s"])])
    assert plan.verdicts[rid("fake:z")].blocked_by == S


def test_what_depends_on_a_service_is_foretold_where_that_is_refreshed() -> None:
    assert isinstance(ALL["guess"], Guess)
    plan = listing(more=[declare("guess:g", requires=["service:s"], foretold="stale")], sees={"guess:g": IN_SYNC})
    assert one(plan, "update", "guess:g").known_after == (S,)


# --- services that nobody can look at ---


@pytest.mark.parametrize("state", [HIDDEN, Present({"running": True, OWES: HIDDEN})], ids=["all", "owes"])
def test_what_would_be_marked_and_cannot_be_looked_at_keeps_the_change(state: Observation) -> None:
    plan = listing(state=state)
    assert steps(plan) == []
    verdict = plan.verdicts[rid(A)]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, S)
    assert "has to be marked before" in verdict.detail
    assert steps(chown(state=state, is_retry=True)) == [f"update {A}"]


# --- removals ---

F = "leaf:/x.d/f"
TRAIL = (earlier(1, declare(F), declare("fake:b"), service("s", restart_on=[F])),)


def dropping(*resources: Resource, **others: Any) -> Plan:
    parts: dict[str, Any] = {"orphans": {F: IN_SYNC}, "trail": TRAIL, **others}
    sees = {"service:s": parts.pop("state", running()), "fake:z": OTHER, **parts.pop("sees", {})}
    return planned(*resources, service("s", **parts.pop("said", {})), declare("fake:z"), seen=sees, **parts)


def test_a_service_that_listed_what_is_removed_is_marked_and_refreshed() -> None:
    plan = dropping()
    assert steps(plan) == ["update fake:z", "mark service:s", f"delete {F}", "restart service:s"]
    assert rid(F) in one(plan, "restart").requires
    assert one(plan, "delete", F).marks == {S: Operation.REFRESH_RESTART}


def test_any_revision_of_the_trail_may_have_listed_it_and_the_strongest_counts() -> None:
    trail = (
        earlier(4, declare(F), service("s")),
        earlier(3, declare(F), service("s", reload_on=[F])),
        earlier(2, declare(F), service("s", restart_on=[F])),
        earlier(1, declare(F), declare("service:s", absent=True)),
    )
    assert steps(dropping(trail=trail))[-1] == "restart service:s"
    assert steps(dropping(trail=trail[:2]))[-1] == "reload service:s"
    assert steps(dropping(trail=trail[:1]))[-1] == f"delete {F}"
    assert steps(dropping(trail=(trail[0], trail[3])))[-1] == f"delete {F}"


def test_what_a_service_is_started_without_is_removed_before() -> None:
    """It would have read it."""
    plan = dropping(state=stopped())
    assert steps(plan) == ["update fake:z", "mark service:s", f"delete {F}", "update service:s"]


@pytest.mark.parametrize(("kind", "comes_first"), [("unit", True), ("leaf", False)])
def test_what_is_told_to_others_is_removed_before_any_refresh(kind: str, comes_first: bool) -> None:
    """The service manager reads its files again once, before whatever it restarts."""
    gone = f"{kind}:/x.d/f"
    trail = (earlier(1, declare(gone, on_removal=OnRemoval.DELETE), service("z", restart_on=[gone])),)
    plan = planned(
        declare(A),
        service("s", restart_on=[A]),
        service("z"),
        seen={A: OTHER, "service:s": running(), "service:z": running()},
        trail=trail,
        orphans={gone: IN_SYNC},
    )
    removal, others = ["mark service:z", f"delete {gone}"], ["mark service:s", f"update {A}"]
    rest = [*removal, "restart service:s"] if comes_first else ["restart service:s", *removal]
    assert steps(plan) == [*others, *rest, "restart service:z"]


def test_what_lies_below_something_removed_goes_first_and_with_it() -> None:
    folder = declare("folder:/x.d", on_removal=OnRemoval.DELETE)
    trail = (earlier(1, folder, declare(F), service("s", restart_on=["folder:/x.d"])),)
    orphans = {"folder:/x.d": Present({"value": "x"}, holds=("/x.d/f",)), F: IN_SYNC}
    plan = dropping(trail=trail, orphans=orphans)
    assert steps(plan) == [
        *("update fake:z", f"delete {F}", "mark service:s", "delete folder:/x.d", "restart service:s"),
    ]


def test_a_removal_that_is_held_is_not_marked_for() -> None:
    trail = (earlier(1, declare(F, protect=True), service("s", restart_on=[F])),)
    assert steps(dropping(trail=trail)) == ["update fake:z", f"(delete {F})"]


def test_where_all_removals_wait_nothing_is_marked_for_them() -> None:
    plan = dropping(declare("fake:0"), declare("fake:1", absent=True), sees={"fake:0": HIDDEN, "fake:1": OTHER})
    assert steps(plan) == ["(delete fake:1)", "update fake:z", f"(delete {F})"]
    assert plan.verdicts[S].kind is VerdictKind.IN_SYNC
    owing = dropping(declare("fake:0"), sees={"fake:0": HIDDEN}, state=running("reload"))
    assert steps(owing) == ["update fake:z", "reload service:s", f"(delete {F})"]


def test_what_clears_a_directory_waits_as_well() -> None:
    tidy = Present({"value": "x"}, holds=("/d/a",))
    parts: dict[str, Any] = {"said": {"restart_on": ["folder:/d"]}, "trail": (), "orphans": {}}
    resources = (declare("folder:/d", exclusive=True), declare("fake:0"))
    assert steps(dropping(*resources, sees={"folder:/d": tidy, "fake:0": IN_SYNC}, **parts))[-1] == "restart service:s"
    waiting = dropping(*resources, sees={"folder:/d": tidy, "fake:0": HIDDEN}, **parts)
    assert steps(waiting) == ["update fake:z", "(update folder:/d)"]


def test_what_is_declared_absent_and_no_longer_listed_counts() -> None:
    plan = dropping(declare(F, absent=True), sees={F: IN_SYNC}, orphans={})
    assert steps(plan) == ["update fake:z", "mark service:s", f"delete {F}", "restart service:s"]


def test_what_changes_and_is_no_longer_listed_does_not() -> None:
    assert steps(dropping(declare(F), sees={F: OTHER}, orphans={})) == ["update fake:z", f"update {F}"]


def test_a_service_that_went_is_no_change() -> None:
    trail = (earlier(1, service("y", on_removal="delete"), service("s", restart_on=["service:y"])),)
    plan = dropping(trail=trail, orphans={"service:y": running()})
    assert "mark service:s" not in steps(plan)


# --- guards ---

PAGES = ("page:/a", "page:/b", "conf:/c")


def checks(action: Action) -> list[str]:
    return [" ".join(check.argv) for check in action.guards]


def guarding(state: Observation, *, conf: str = "judged", **others: Any) -> Plan:
    return planned(
        declare("page:/a"),
        declare("page:/b"),
        declare("conf:/c", value=conf),
        declare("conf:/gone", absent=True),
        declare("judge:one", guards=["page:/a", "page:/b"]),
        declare("judge:two", guards=["page:/b"]),
        service("s", restart_on=[*PAGES, "conf:/gone"], **others),
        service("t", reload_on=["page:/a"]),
        seen={
            **dict.fromkeys(("page:/a", "page:/b", "judge:one", "judge:two"), IN_SYNC),
            "conf:/c": Present({"value": conf}),
            "service:s": state,
            "service:t": running("reload"),
        },
    )


@pytest.mark.parametrize(("state", "operation"), [(running("restart"), "restart"), (stopped(), "update")])
def test_every_start_and_refresh_is_judged_by_what_guards_the_files_it_lists(
    state: Observation, operation: str
) -> None:
    """Whether or not this pass wrote them, and each check once."""
    plan = guarding(state)
    assert checks(one(plan, operation)) == ["judge-of /c", "judge one", "judge two"]
    assert checks(one(plan, "reload", "service:t")) == ["judge one"]
    assert one(plan, operation).guards[0].resource == rid("conf:/c")


def test_a_file_without_a_judge_guards_nothing() -> None:
    assert checks(one(guarding(running("restart"), conf="plain"), "restart")) == ["judge one", "judge two"]


def test_an_update_of_what_runs_is_judged_as_well() -> None:
    """It may be dead at its turn: the update starts it then."""
    plan = guarding(running(value="old"), value="new")
    assert checks(one(plan, "update")) == ["judge-of /c", "judge one", "judge two"]


@pytest.mark.parametrize(
    ("state", "said"),
    [(running(), {"running": False}), (stopped(value="old"), {"running": None, "value": "new"})],
    ids=["stop", "not-running"],
)
def test_what_leaves_a_service_stopped_is_judged_by_nobody(state: Observation, said: Mapping[str, Any]) -> None:
    assert checks(one(guarding(state, **said), "update")) == []


def test_a_service_that_goes_or_cannot_be_marked_is_judged_by_nobody() -> None:
    for resource, state in (
        (declare("service:s", absent=True), running()),
        (service("s", restart_on=["conf:/c"]), Present({"running": False, OWES: NO_MANAGER})),
    ):
        plan = planned(
            declare("conf:/c", value="judged"),
            resource,
            seen={"conf:/c": Present({"value": "judged"}), "service:s": state},
        )
        assert [action.guards for action in plan.actions] == [()]


def test_the_candidates_themselves_carry_no_guards() -> None:
    plan = planned(declare("page:/a"), declare("judge:j", guards=["page:/a"]), seen={"judge:j": IN_SYNC})
    assert [action.guards for action in plan.actions] == [()]


# --- labels ---


@pytest.mark.parametrize(
    ("others", "label"),
    [
        ({}, Label.ADOPT),
        ({"is_retry": True, "trail": (earlier(1, declare(A, value="then")),)}, Label.RETRY),
        ({"trail": (earlier(1, declare(A, value="then")),)}, Label.INTENT),
        ({"converged": nodes_of(declare(A))}, Label.DRIFT),
    ],
)
def test_a_mark_and_a_refresh_are_planned_for_the_reason_of_the_change(others: Mapping[str, Any], label: Label) -> None:
    """Although the service is declared as it ever was."""
    as_ever = given(declare(A), service("s", restart_on=[A]), providers=ALL).graph.nodes[S]
    converged = {S: as_ever, **others.get("converged", {})}
    plan = listing(**{**others, "converged": converged})
    assert {action.label for action in plan.actions} == {label}


def test_of_several_reasons_the_one_that_is_meant_most_is_said() -> None:
    converged = nodes_of(declare(A), declare("fake:b", value="then"))
    plan = planned(
        *map(declare, (A, "fake:b")),
        service("s", restart_on=[A, "fake:b"]),
        seen={A: OTHER, "service:s": running()},
        converged=converged,
    )
    assert [action.label for action in plan.actions] == [
        *(Label.DRIFT, Label.DRIFT, Label.INTENT, Label.INTENT),
        Label.INTENT,
    ]


def test_what_was_owed_before_is_labelled_as_the_service_is() -> None:
    as_ever = given(declare(A), service("s", restart_on=[A]), providers=ALL).graph.nodes
    plan = listing(seen=IN_SYNC, state=running("restart"), converged=as_ever)
    assert [action.label for action in plan.actions] == [Label.DRIFT]


def test_labels_are_given_again_without_changing_the_plan() -> None:
    resources = (declare(A), service("s", restart_on=[A], value="new"))
    parts: dict[str, Any] = {"seen": {A: OTHER, "service:s": running()}, "providers": ALL}
    unlabelled = given(*resources, **parts)
    as_ever = unlabelled.graph.nodes
    plan = planned(*resources, **parts)
    again = relabel(plan, given(*resources, **parts, converged=as_ever))
    assert [action.label for action in again.actions] == [Label.DRIFT] * 4
    assert (again.plan_id, steps(again)) == (plan.plan_id, steps(plan))
    assert again == planned(*resources, **parts, converged=as_ever)


# --- the plan's id ---


def test_the_id_names_marks_and_refreshes_and_not_what_they_are_for() -> None:
    plain = listing(more=[service("t")], sees={"service:t": running()})
    other = listing(more=[service("t", restart_on=[A])], sees={"service:t": running()})
    assert plain.plan_id != other.plan_id
    judged = planned(
        declare("conf:/c", value="judged"),
        service("s"),
        seen={"service:s": running("restart"), "conf:/c": Present({"value": "judged"})},
    )
    guarded = planned(
        declare("conf:/c", value="judged"),
        service("s", restart_on=["conf:/c"]),
        seen={"service:s": running("restart"), "conf:/c": Present({"value": "judged"})},
    )
    assert one(guarded, "restart").guards
    assert guarded.plan_id == judged.plan_id


# --- providers that break their contract ---

ODD = "oddservice:o"


def asked(answers: Mapping[str, Any], *, state: "Observation | None" = None, **others: Any) -> Plan:
    providers = odd_service(**answers)
    return planned(
        declare(A),
        service(ODD, restart_on=[A]),
        seen={A: OTHER, ODD: state or running()},
        providers=providers,
        **others,
    )


def refresh(*changes: Change, operation: Any = Operation.REFRESH_RESTART) -> Step:
    return Step(operation, changes)


DUE = Change(OWES, "restart", None)


def _wrong(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"refresh": raising}, "no such luck"),
        ({"refresh": lambda *_: 5}, "refresh answered 5"),
        ({"refresh": lambda *_: refresh(DUE, operation="restart-it")}, "no Operation"),
        ({"refresh": lambda *_: refresh(DUE, operation=Operation.UPDATE)}, "neither a restart nor a reload"),
        ({"refresh": lambda *_: refresh()}, "more than what is owed"),
        ({"refresh": lambda *_: refresh(DUE, Change("value", "a", "b"))}, "more than what is owed"),
        ({"refresh": lambda *_: refresh(Change("value", "a", "b"))}, "more than what is owed"),
        ({"refresh": lambda *_: refresh(_wrong(5))}, "no Change"),
        ({"refresh": lambda *_: Step(Operation.REFRESH_RESTART, (DUE,), takes=("/a",))}, "more than what is owed"),
        ({"hazards": raising}, "no such luck"),
    ],
)
def test_a_refresh_that_breaks_the_contract_makes_the_service_unobservable(
    answers: Mapping[str, Any], words: str
) -> None:
    plan = asked(answers)
    verdict = plan.verdicts[rid(ODD)]
    assert verdict.unobservable is not None
    assert words in verdict.detail
    assert all(action.resource != rid(ODD) or action.operation is Operation.MARK for action in plan.actions)


def test_an_own_action_goes_with_a_refresh_that_broke_the_contract() -> None:
    plan = asked({"refresh": raising, "plan": lambda *_: Step(Operation.UPDATE, (Change("value", "a", "b"),))})
    assert plan.verdicts[rid(ODD)].kind is VerdictKind.UNOBSERVABLE
    assert [text for text in steps(plan) if text != f"mark {ODD}"] == [f"update {A}"]


def test_what_cannot_be_owed_is_a_breach_and_keeps_what_it_lists_from_being_changed() -> None:
    plan = asked({}, state=running("repaint"))
    assert "'repaint' as what is owed" in plan.verdicts[rid(ODD)].detail
    assert plan.verdicts[rid(A)].blocked_by == rid(ODD)
    assert "as what is owed" in asked({}, state=running(owes=5)).verdicts[rid(ODD)].detail


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (raising, "no such luck"),
        (lambda _: {A: Operation.REFRESH_RESTART}, "no ResourceId"),
        (lambda _: {rid(A): "restart"}, "no Operation"),
        (lambda _: {rid(A): Operation.CREATE}, "neither a restart nor a reload"),
    ],
)
def test_what_an_older_declaration_cannot_say_is_a_breach(before: Any, words: str) -> None:
    older = service(ODD, restart_on=[A], value="then")

    def triggers(desired: Any) -> Any:
        return before(desired) if desired.value == "then" else Service().triggers(desired)

    trail = (earlier(1, declare(A), service("s"), older),)
    plan = asked({"triggers": triggers}, trail=trail)
    assert words in plan.verdicts[rid(ODD)].detail
    assert plan.verdicts[rid(A)].blocked_by == rid(ODD)


@pytest.mark.parametrize(("answer", "words"), [(raising, "no such luck"), (lambda *_: 5, "validation answered 5")])
def test_a_judge_that_cannot_be_had_lets_nothing_be_refreshed(answer: Any, words: str) -> None:
    class Odd(type(ALL["conf"])):  # type: ignore[misc]  # a class that is found at run time
        validation = answer

    plan = planned(
        declare("conf:/c"),
        service("s", restart_on=["conf:/c"]),
        seen={"conf:/c": IN_SYNC, "service:s": running("restart")},
        providers={**ALL, "conf": Odd()},
    )
    assert words in plan.verdicts[S].detail


def test_effects_of_a_service_that_is_refused_are_known_all_the_same() -> None:
    """What needs them is skipped, not impossible."""
    plan = planned(
        declare("fake:n", needs=["port:80"], after=[ODD]),
        service(ODD, value="new"),
        seen={ODD: running("restart", value="old"), "fake:n": OTHER},
        providers=odd_service(hazards=raising, effects=lambda *_: (Effect(rid_port()),)),
    )
    assert plan.verdicts[rid("fake:n")].blocked_by == rid(ODD)


def rid_port() -> Any:
    from datum.model.graph import Target

    return Target("port", "80")


def test_one_check_of_several_files_is_asked_once() -> None:
    plan = planned(
        *map(declare, ("page:/a", "page:/b")),
        declare("judge:j", guards=["page:/a", "page:/b"]),
        service("s", restart_on=["page:/a"], reload_on=["page:/b"]),
        seen={"service:s": running("restart"), "judge:j": IN_SYNC, "page:/a": IN_SYNC, "page:/b": IN_SYNC},
    )
    assert one(plan, "restart").guards == (Check(rid("judge:j"), ("judge", "j"), 10.0),)


@pytest.mark.parametrize("value", [None, "new"])
def test_what_a_service_lists_that_cannot_be_looked_at_is_not_refreshed(value: str | None) -> None:
    """It could not be marked for that. What is owed stays owed."""
    plan = planned(
        service("s", value=value),
        service("t", restart_on=["service:s"]),
        seen={"service:s": running("restart", value="old"), "service:t": HIDDEN},
    )
    assert steps(plan) == (["update service:s"] if value else [])
    if not value:
        assert (plan.verdicts[S].kind, plan.verdicts[S].blocked_by) == (VerdictKind.SKIPPED, rid("service:t"))
