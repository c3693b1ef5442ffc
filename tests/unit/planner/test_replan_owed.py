"""Marks and refreshes at their turn (design 1.4, 4.1): set, already, weaker, or held."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard, Resource
from datum.model.observation import Absent, NotApplicable, Observation, Present
from datum.model.plan import OWES, Action, Change, HoldReason, Operation, Replan, Step
from datum.planner.replan import replan
from tests.unit.fakes import HIDDEN, OTHER, Fake, declare, raising, rid
from tests.unit.services import ALL, earlier, odd_service, planned, running, service, steps, stopped

A = "fake:a"
S = rid("service:s")


def action(operation: str, resource: Resource, **others: Any) -> Action:
    """Plan a change of what a service lists; return its mark, its own update, or its refresh."""
    seen = {A: OTHER, str(resource.id): others.pop("state", running())}
    plan = planned(declare(A), resource, seen=seen, **others)
    found = [one for one in plan.actions if one.resource == resource.id and one.operation == operation]
    assert len(found) == 1, steps(plan)
    return found[0]


def again(operation: str, now: Observation, resource: "Resource | None" = None, **others: Any) -> Replan:
    resource = resource or service("s", restart_on=[A])
    providers = others.pop("providers", ALL)
    one = others.pop("action", None) or action(operation, resource, **others.pop("planned", {}))
    node = declared(resource)
    return replan(one, node, now, providers=providers, **others)


def declared(resource: Resource) -> Any:
    return earlier(1, declare(A), resource).nodes[resource.id]


def is_held(answer: Replan, words: str) -> bool:
    assert answer.hold is not None, answer
    assert answer.step is None
    assert words in answer.hold.detail
    return answer.hold.reason is HoldReason.CHANGED_UNDER_US


# --- marks ---


def test_a_mark_is_set_as_planned() -> None:
    answer = again("mark", running())
    assert answer == Replan(Step(Operation.MARK, (Change(OWES, None, "restart"),)))


@pytest.mark.parametrize(
    "now",
    [
        running("restart"),
        stopped(),
        Absent(),
        Present({"running": True, OWES: NotApplicable("no-manager")}),
        Present({OWES: None}),
    ],
    ids=["marked", "stopped", "absent", "no-manager", "not-running"],
)
def test_what_owes_as_much_or_can_owe_nothing_is_already(now: Observation) -> None:
    assert again("mark", now) == Replan()


def test_a_weaker_mark_is_made_stronger_and_a_stronger_one_stays() -> None:
    answer = again("mark", running("reload"))
    assert answer.differs
    assert answer.step is not None
    assert answer.step.changes == (Change(OWES, "reload", "restart"),)
    reloading = service("s", reload_on=[A])
    assert again("mark", running("restart"), reloading) == Replan()
    assert again("mark", running("reload"), reloading) == Replan()


def test_a_mark_that_was_to_be_there_is_set_where_it_is_not_any_more() -> None:
    """Something restarted the service in between."""
    answer = again("mark", running(), planned={"state": running("restart")})
    assert answer.step is not None
    assert answer.step.changes == (Change(OWES, None, "restart"),)
    assert answer.differs


@pytest.mark.parametrize("operation", ["mark", "restart"])
@pytest.mark.parametrize("now", [HIDDEN, Present({"running": True, OWES: HIDDEN})], ids=["all", "owes"])
def test_what_cannot_be_looked_at_any_more_is_held(operation: str, now: Observation) -> None:
    assert is_held(again(operation, now), "cannot be looked at any more: It may not be read.")


def test_what_else_changed_of_a_service_is_nothing_to_a_mark() -> None:
    assert again("mark", running(value="old"), service("s", restart_on=[A], value="new")).step is not None


# --- refreshes ---


@pytest.mark.parametrize("owes", ["restart", "reload"])
def test_what_is_owed_is_done_if_it_is_not_more_than_was_planned(owes: str) -> None:
    answer = again("restart", running(owes))
    assert answer.step is not None
    assert (answer.step.operation, answer.step.changes) == (Operation(owes), (Change(OWES, owes, None),))
    assert answer.differs is (owes == "reload")


@pytest.mark.parametrize("now", [running(), stopped(), Absent(), running(NotApplicable("no-manager"))])
def test_what_owes_nothing_any_more_is_already(now: Observation) -> None:
    """It was started, restarted or stopped meanwhile."""
    assert again("restart", now) == Replan()


def test_a_restart_where_a_reload_was_planned_is_held() -> None:
    assert is_held(again("reload", running("restart"), service("s", reload_on=[A])), "it would now take a restart")


def test_a_hazard_that_the_plan_did_not_name_holds_a_refresh() -> None:
    risky = service("s", restart_on=[A], refresh_risks=["outage"])
    before = action("restart", service("s", restart_on=[A]))
    assert is_held(again("restart", running("restart"), risky, action=before), "would now risk outage")
    allowed = evolve(risky, allow=frozenset({Hazard.OUTAGE}))
    assert again("restart", running("restart"), allowed, action=before).step is not None
    assert again("restart", running("restart"), risky).step is not None, "the plan named it"


def test_a_mark_risks_nothing() -> None:
    risky = service("s", restart_on=[A], risks=["outage"], refresh_risks=["outage"])
    assert again("mark", running(), risky).step is not None


# --- the own action of a service ---


def test_the_own_action_looks_at_everything_but_what_is_owed() -> None:
    resource = service("s", restart_on=[A], value="new")
    planned_as = {"state": running(value="old")}
    assert again("update", running("restart", value="new"), resource, planned=planned_as) == Replan()
    answer = again("update", running("restart", value="older"), resource, planned=planned_as)
    assert answer.step is not None
    assert answer.step.changes == (Change("value", "older", "new"),)


def test_what_it_was_planned_as_tells_a_refresh_apart_whatever_it_may_become() -> None:
    """The reconciler asks after an action what is left, as of one that may become anything."""
    one = evolve(action("restart", service("s", restart_on=[A], value="new")), operation=Operation.REPLACE)
    resource = service("s", restart_on=[A], value="new")
    assert again("restart", running(value="old"), resource, action=one) == Replan()
    left = again("restart", running("restart", value="old"), resource, action=one)
    assert left.step is not None
    assert left.step.operation is Operation.REFRESH_RESTART
    anything = evolve(one, step=Step(Operation.REPLACE, ()))
    left = again("restart", running(value="old"), resource, action=anything)
    assert left.step is not None
    assert left.step.changes == (Change("value", "old", "new"),)


def test_a_service_that_something_made_meanwhile_is_no_loss() -> None:
    """A package brings it, enabled and not started: what was to be created is there, and is updated."""
    create = action("create", service("s", restart_on=[A]), state=Absent())
    answer = again("create", stopped(), action=create)
    assert answer.step is not None
    assert answer.step.operation is Operation.UPDATE
    assert again("create", running(), action=create) == Replan()


# --- what is not marked for ---

CHOWNED = Present({"value": "x", "owner": "v"})
LEFT = Present({"value": "x", "owner": "u", "residue": True})


def unmarked(now: Observation, before: Observation = CHOWNED, **others: Any) -> Replan:
    """Plan a change of what a service lists that restarts nothing; something else happens to it meanwhile."""
    resources = (declare(A, owner="u"), service("s", restart_on=[A]))
    plan = planned(*resources, seen={A: before, "service:s": running()}, is_retry=True, **others)
    (own,) = plan.actions
    assert own.unmarked == {S}
    node = earlier(1, *resources).nodes[rid(A)]
    return replan(own, node, now, providers=others.get("providers", ALL))


def test_a_change_that_no_mark_stands_before_stays_one_of_attributes() -> None:
    assert unmarked(CHOWNED).step == Step(Operation.UPDATE, (Change("owner", "v", "u"),))
    assert unmarked(Present({"value": "x", "owner": "w"})).step is not None
    assert unmarked(Present({"value": "x", "owner": "u"})) == Replan()


@pytest.mark.parametrize(
    "now",
    [
        Present({"value": "old", "owner": "v"}),
        Present({"value": "old", "owner": "u"}),
        Absent(),
    ],
    ids=["content-too", "content-alone", "gone"],
)
def test_a_change_that_no_mark_stands_before_never_becomes_one_of_content(now: Observation) -> None:
    """Its bytes would be rewritten, and what runs would owe nothing for it."""
    answer = unmarked(now)
    assert is_held(answer, "service:s lists it, and is not marked")
    assert not answer.is_breach


def test_a_leftover_that_is_cleared_is_no_reason_to_rewrite_what_stands_beside_it() -> None:
    class Swept(Fake):
        def plan(self, desired: Any, observed: Present | Absent) -> Step | None:
            step = super().plan(desired, observed)
            if observed.fields.get("residue") is not True:
                return step
            changes = step.changes if step is not None else ()
            return Step(Operation.UPDATE, (*changes, Change("residue", before=True, after=None)))

    providers = {**ALL, "fake": Swept()}
    assert unmarked(LEFT, LEFT, providers=providers).step is not None
    chowned = Present({**LEFT.fields, "owner": "v"})
    assert unmarked(chowned, LEFT, providers=providers).step is not None
    written = Present({**LEFT.fields, "value": "old"})
    assert is_held(unmarked(written, LEFT, providers=providers), "is not marked")


def test_an_update_of_a_service_that_another_one_lists_does_not_become_a_start_unmarked() -> None:
    resources = (service("y", value="new"), service("z", restart_on=["service:y"]))
    state = running(value="old")
    plan = planned(*resources, seen={"service:y": state, "service:z": running()})
    (own,) = plan.actions
    node = earlier(1, *resources).nodes[own.resource]
    assert replan(own, node, state, providers=ALL).step == own.step
    assert is_held(replan(own, node, stopped(value="old"), providers=ALL), "service:z lists it, and is not marked")


# --- breaches ---


@pytest.mark.parametrize("operation", ["mark", "restart"])
@pytest.mark.parametrize(
    ("answers", "now"),
    [({"refresh": raising}, running("reload")), ({"refresh": lambda *_: 5}, running("reload")), ({}, running("shine"))],
)
def test_a_provider_that_breaks_its_contract_holds_its_action(operation: str, answers: Any, now: Observation) -> None:
    resource = service("oddservice:o", restart_on=[A])
    answer = again(operation, now, resource, providers=odd_service(**answers))
    assert answer.is_breach
    assert is_held(answer, "broke its contract")
