"""What a pause of some resources holds, what it leaves alone, and that it makes no other plan."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard, Limits
from datum.model.observation import Present
from datum.model.pause import LEEWAY, Pause
from datum.model.plan import Plan
from datum.planner.plan import plan_pass, relabel
from datum.report.waiting import waits
from tests.unit.fakes import IN_SYNC, OTHER, action_of, declare, declared_by, given, plan_of, rid
from tests.unit.services import ALL, running, service

NOW = 1_000_000
HOUR = 3600


def pause(*only: str, since: int = NOW, length: int = HOUR) -> Pause:
    return Pause("alice", "disk swap", since, since + length, tuple(sorted(map(rid, only))))


def paused(*resources: Any, only: tuple[str, ...], now: int = NOW, **others: Any) -> Plan:
    return plan_of(*resources, pause=pause(*only), now=now, **others)


def held(plan: Plan) -> dict[str, str]:
    return {f"{action.resource} {action.operation}": str(action.hold.reason) for action in plan.actions if action.hold}


def test_what_is_named_is_held_and_nothing_else() -> None:
    plan = paused(declare("fake:a"), declare("fake:b"), only=("fake:a",))
    assert held(plan) == {"fake:a create": "pause"}
    hold = action_of(plan, "fake:a").hold
    assert hold is not None
    assert hold.detail == "fake:a is paused by alice until 1970-01-12T14:46:40Z: disk swap."
    assert hold.release == "datum resume, or 1970-01-12T14:46:40Z"


def test_a_type_names_every_one_of_it() -> None:
    plan = paused(declare("fake:a"), declare("fake:b"), declare("leaf:/c"), only=("fake:*",))
    assert held(plan) == {"fake:a create": "pause", "fake:b create": "pause"}


@pytest.mark.parametrize("now", [NOW + HOUR, NOW + HOUR + 1, NOW - LEEWAY - 1])
def test_a_pause_that_is_not_in_force_is_none(now: int) -> None:
    resources = (declare("fake:a"), declare("fake:b"))
    assert paused(*resources, only=("fake:a",), now=now) == plan_of(*resources)


def test_a_pause_of_the_whole_host_holds_nothing_in_the_plan() -> None:
    """Nothing of it is done: that is told of the pass."""
    assert paused(declare("fake:a"), only=()) == plan_of(declare("fake:a"))


def test_what_requires_it_waits_and_the_plan_keeps_its_id() -> None:
    resources = (declare("fake:a"), declare("fake:b", requires=["fake:a"]), declare("fake:c", after=["fake:a"]))
    plan, free = paused(*resources, only=("fake:a",)), plan_of(*resources)
    assert plan.plan_id == free.plan_id
    assert {plan.actions[number].resource: blocker for number, blocker in waits(plan).items()} == {
        rid("fake:b"): rid("fake:a")
    }
    assert rid("fake:a") in action_of(plan, "fake:b").requires


def test_what_is_in_sync_is_in_sync_and_holds_nobody_up() -> None:
    plan = paused(declare("fake:a"), declare("fake:b", requires=["fake:a"]), seen={"fake:a": IN_SYNC}, only=("fake:a",))
    assert held(plan) == {}
    assert waits(plan) == {}


@pytest.mark.parametrize(
    ("resource", "seen", "operation"),
    [
        (declare("fake:a"), OTHER, "update"),
        (declare("fake:a", absent=True), OTHER, "delete"),
        (declare("leaf:/a", allow=[Hazard.DATA_LOSS]), Present({"kind": "folder"}), "replace"),
    ],
)
def test_every_operation_on_it_is_held(resource: Any, seen: Present, operation: str) -> None:
    plan = paused(resource, seen={str(resource.id): seen}, only=(str(resource.id),))
    assert held(plan) == {f"{resource.id} {operation}": "pause"}


def test_the_removal_of_what_is_dropped_is_held() -> None:
    trail = (declared_by(1, declare("fake:keep"), declare("leaf:/x.d/f")),)
    whole: dict[str, Any] = {"seen": {"fake:keep": IN_SYNC}, "orphans": {"leaf:/x.d/f": IN_SYNC}, "trail": trail}
    plan = paused(declare("fake:keep"), only=("leaf:/x.d/f",), **whole)
    assert held(plan) == {"leaf:/x.d/f delete": "pause"}
    assert plan.plan_id == plan_of(declare("fake:keep"), **whole).plan_id


def test_what_would_take_it_along_is_held_too() -> None:
    holding = Present({"value": "x"}, holds=("/d/a", "/d/b"))
    folder = declare("folder:/d", exclusive=True)
    trail = (declared_by(1, folder, declare("leaf:/d/a")),)
    plan = paused(folder, seen={"folder:/d": holding}, trail=trail, only=("leaf:/d/a",), limits=Limits(None))
    assert held(plan) == {"folder:/d update": "pause"}
    hold = action_of(plan, "folder:/d").hold
    assert hold is not None
    assert "take along leaf:/d/a, which is paused" in hold.detail
    other = paused(folder, seen={"folder:/d": holding}, trail=trail, only=("leaf:/e",), limits=Limits(None))
    assert held(other) == {}


def test_a_hold_that_the_declaration_makes_stays_what_it_is() -> None:
    """Ending the pause would not release it."""
    plan = paused(declare("fake:a", audit=True), seen={"fake:a": OTHER}, only=("fake:a",))
    assert held(plan) == {"fake:a update": "audit"}


def test_what_is_paused_counts_against_no_limit() -> None:
    gone = [declare(f"fake:{name}", absent=True) for name in "abc"]
    seen = dict.fromkeys(("fake:a", "fake:b", "fake:c"), OTHER)
    plan = paused(*gone, seen=seen, only=("fake:a",), limits=Limits(2))
    assert held(plan) == {"fake:a delete": "pause"}
    more = paused(*gone, seen=seen, only=("fake:a",), limits=Limits(1))
    assert held(more) == {"fake:a delete": "pause", "fake:b delete": "limit", "fake:c delete": "limit"}


def test_a_refresh_is_held_and_the_mark_that_says_so_is_set() -> None:
    """Else a restart that is owed would be forgotten: a mark changes nothing that runs."""
    resources = (declare("fake:conf"), service("service:s", restart_on=["fake:conf"]))
    seen = {"fake:conf": OTHER, "service:s": running()}
    plan = paused(*resources, seen=seen, only=("service:s",), providers=ALL)
    told = [(str(action.resource), str(action.operation), action.hold is not None) for action in plan.actions]
    assert told == [("service:s", "mark", False), ("fake:conf", "update", False), ("service:s", "restart", True)]


def test_what_it_is_stopped_for_is_not_done_and_its_start_is_held_with_its_stop() -> None:
    resources = (
        declare("fake:conf", while_stopped=["service:s"]),
        service("service:s", stop_risks=[]),
        declare("fake:other"),
    )
    seen = {"fake:conf": OTHER, "service:s": running()}
    free = plan_of(*resources, seen=seen, providers=ALL)
    assert {str(action.operation) for action in free.actions if action.resource == rid("service:s")} >= {"stop"}
    plan = paused(*resources, seen=seen, only=("service:s",), providers=ALL)
    assert all(action.hold is not None for action in plan.actions if action.resource == rid("service:s"))
    waiting = {str(plan.actions[number].resource) for number in waits(plan)}
    assert waiting == {"fake:conf"}
    assert plan.plan_id == free.plan_id


def test_labels_are_found_again_and_the_hold_stays() -> None:
    resources = (declare("fake:a"), declare("fake:b"))
    found = given(*resources, seen={"fake:a": OTHER}, pause=pause("fake:a"), now=NOW)
    plan = plan_pass(found)
    assert held(relabel(plan, evolve(found, converged={}))) == held(plan) == {"fake:a update": "pause"}


def test_only_the_moment_decides_and_no_clock() -> None:
    found = given(declare("fake:a"), pause=pause("fake:a"), now=NOW)
    assert plan_pass(found) == plan_pass(found)
    assert plan_pass(evolve(found, now=NOW + 1)) == plan_pass(found)
    assert held(plan_pass(evolve(found, now=NOW + HOUR))) == {}
