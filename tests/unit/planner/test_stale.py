"""What something else changed after the start (ADR 0044): shown, and acted on only where somebody said so."""

from collections.abc import Mapping
from typing import Any

import pytest

from datum.agent.planning import Planned, plan_given
from datum.model.batches import batches_of
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, Limits, Resource
from datum.model.observation import Observation, Present, StaleInput
from datum.model.plan import OWES, Change, HoldReason, Label, Operation, Plan, Step, VerdictKind
from datum.planner import stale
from datum.planner.decide import BreachError
from datum.planner.plan import relabel
from datum.planner.replan import replan
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, declare, given, nodes_of, raising, rid
from tests.unit.services import ALL, Service, Wish, earlier, running, service, steps

A, B = "fake:a", "fake:b"
EAGER, QUIET = "service:eager", "service:quiet"
MARK = Step(Operation.MARK, (Change(OWES, None, "restart"),))


class Acting(Service):
    """Restarted for evidence where its name says so."""

    def acts_on_stale(self, desired: Wish) -> bool:
        return desired.name.startswith("eager")


TYPES = {**ALL, "service": Acting()}


def evidence(text: str = A, *, is_ahead: bool = False) -> StaleInput:
    return StaleInput(rid(text), f"/etc/{text}", 2_000_000, 1_000_000, is_ahead)


def started_before(*inputs: StaleInput, owes: str | None = None) -> Present:
    return Present({"running": True, OWES: owes}, stale=inputs or (evidence(),))


def lists_a(name: str = "eager", **others: Any) -> Resource:
    return service(name, restart_on=[A], **others)


def planned(
    *resources: Resource, seen: Mapping[str, Observation] | None = None, known: Any = True, **others: Any
) -> Planned:
    """Plan what the evidence of `service:eager` comes to; everything is known since what converged last unless said."""
    wanted = resources or (declare(A), lists_a())
    sees = {A: IN_SYNC, EAGER: started_before(), **(seen or {})}
    declared = {str(resource.id) for resource in wanted}
    found = given(
        *wanted, seen={text: one for text, one in sees.items() if text in declared}, providers=TYPES, **others
    )
    converged: Mapping[ResourceId, Node] | None = found.graph.nodes if known is True else known
    return plan_given(found, lambda: converged)


def plan_of(*resources: Resource, **others: Any) -> Plan:
    return planned(*resources, **others).plan


def detail_of(plan: Plan, text: str = EAGER) -> str:
    return plan.stale[rid(text)].detail


def test_evidence_is_shown_and_is_nothing_to_do() -> None:
    quiet = (declare(A), lists_a("quiet"))
    plan = plan_of(*quiet, seen={QUIET: started_before()})
    assert plan.is_empty
    assert plan.verdicts[rid(QUIET)].kind is VerdictKind.IN_SYNC
    assert plan.stale[rid(QUIET)].inputs == (evidence(),)
    assert not plan.stale[rid(QUIET)].is_acted_on
    assert "systemctl restart quiet" in detail_of(plan, QUIET)
    assert "when_stale: restart" in detail_of(plan, QUIET)
    assert plan == plan_of(*quiet, seen={QUIET: running()})
    assert plan.plan_id == plan_of(*quiet, seen={QUIET: running()}).plan_id


def test_where_somebody_said_so_it_is_marked_and_restarted() -> None:
    plan = plan_of()
    assert steps(plan) == [f"mark {EAGER}", f"restart {EAGER}"]
    mark, restart = plan.actions
    assert (mark.step, mark.label, mark.stale) == (MARK, Label.DRIFT, (evidence(),))
    assert mark.requires == restart.requires == {rid(A)}
    assert restart.changes == (Change(OWES, "restart", None),)
    assert (restart.label, restart.stale, restart.marks) == (Label.DRIFT, (evidence(),), {})
    assert plan.stale[rid(EAGER)].is_acted_on
    assert plan.plan_id != plan_of(seen={EAGER: running()}).plan_id


def test_the_mark_is_a_batch_of_its_own_so_that_the_restart_is_owed_at_its_turn() -> None:
    assert [(len(batch.marks), len(batch.group)) for batch in batches_of(plan_of().actions)] == [(1, 0), (0, 1)]


def test_a_mark_of_what_lists_the_service_stands_before_the_restart_and_not_with_its_own() -> None:
    plan = plan_of(declare(A), lists_a(), service("after", restart_on=[EAGER]), seen={"service:after": running()})
    assert steps(plan) == [f"mark {EAGER}", "mark service:after", f"restart {EAGER}", "restart service:after"]
    batches = batches_of(plan.actions)
    assert [(len(batch.marks), len(batch.group)) for batch in batches] == [(1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize("known", [None, {}], ids=["first-pass", "of-others"])
def test_a_service_that_is_adopted_is_not_restarted(known: Mapping[ResourceId, Node] | None) -> None:
    plan = plan_of(known=known)
    assert plan.is_empty
    assert "adopted, which restarts nothing" in detail_of(plan)


def test_nor_is_it_in_the_closing_plan_of_the_pass_that_adopts_it() -> None:
    """That one has the target in the trail already."""
    assert plan_of(known=None, is_retry=True).is_empty


def test_what_only_passes_declared_that_did_not_converge_is_still_adopted() -> None:
    """Adopting a host may take several revisions."""
    trail = (earlier(1, declare(A), lists_a(), providers=TYPES),)
    plan = plan_of(known=None, trail=trail)
    assert plan.is_empty
    assert "from the pass after" in detail_of(plan)


@pytest.mark.parametrize("text", [A, EAGER])
def test_what_was_declared_absent_when_it_converged_is_adopted(text: str) -> None:
    known = dict(given(declare(A), lists_a(), providers=TYPES).graph.nodes)
    known |= given(declare(text, absent=True), providers=TYPES).graph.nodes
    assert plan_of(known=known).is_empty


def test_an_input_that_is_adopted_is_no_reason() -> None:
    wanted = (declare(A), declare(B), service("eager", restart_on=[A, B]))
    seen = {B: IN_SYNC, EAGER: started_before(evidence(A), evidence(B))}
    known = {**nodes_of(declare(B)), **given(service("eager"), providers=TYPES).graph.nodes}
    plan = plan_of(*wanted, seen=seen, known=known)
    assert [action.stale for action in plan.actions] == [(evidence(B),)] * 2
    assert {action.label for action in plan.actions} == {Label.INTENT}
    assert [one.resource for one in plan.stale[rid(EAGER)].inputs] == [rid(A), rid(B)]
    del known[rid(B)]
    plan = plan_of(*wanted, seen=seen, known=known)
    assert plan.is_empty
    assert "adopted" in detail_of(plan)


def test_a_time_to_come_is_not_acted_on_since_no_restart_would_settle_it() -> None:
    plan = plan_of(seen={EAGER: started_before(evidence(is_ahead=True))})
    assert plan.is_empty
    assert "still to come" in detail_of(plan)


def test_what_is_owed_already_needs_no_evidence() -> None:
    plan = plan_of(seen={EAGER: started_before(owes="restart")})
    assert steps(plan) == [f"restart {EAGER}"]
    assert plan.actions[0].stale == ()
    assert plan.stale[rid(EAGER)].is_acted_on


def test_a_change_that_marks_a_restart_makes_evidence_of_another_input_needless() -> None:
    wanted = (declare(A), declare(B), service("eager", restart_on=[A, B]))
    plan = plan_of(*wanted, seen={B: OTHER})
    assert steps(plan) == [f"mark {EAGER}", f"update {B}", f"restart {EAGER}"]
    assert {action.stale for action in plan.actions} == {()}


def test_what_would_be_reloaded_for_a_change_is_restarted_for_evidence() -> None:
    wanted = (declare(A), declare(B), service("eager", restart_on=[A], reload_on=[B]))
    plan = plan_of(*wanted, seen={B: OTHER})
    assert steps(plan) == [f"mark {EAGER}", f"update {B}", f"mark {EAGER}", f"restart {EAGER}"]
    assert plan.actions[1].marks == {rid(EAGER): Operation.REFRESH_RELOAD}
    assert plan.actions[2].step == MARK


def test_evidence_of_what_a_reload_of_the_same_pass_settles_is_no_restart() -> None:
    wanted = (declare(A), service("eager", reload_on=[A]))
    plan = plan_of(*wanted, seen={A: OTHER})
    assert steps(plan) == [f"mark {EAGER}", f"update {A}", f"reload {EAGER}"]
    assert plan.actions[-1].stale == ()
    assert (detail_of(plan), plan.stale[rid(EAGER)].is_acted_on) == ("Its reload settles that.", True)
    risky = plan_of(declare(A), service("eager", reload_on=[A], refresh_risks=["access_loss"]), seen={A: OTHER})
    assert steps(risky)[-1] == f"(reload {EAGER})"
    assert detail_of(risky) == "Its reload is held."
    assert steps(plan_of(*wanted)) == [f"mark {EAGER}", f"restart {EAGER}"]


def test_a_reload_settles_no_evidence_of_what_asks_for_a_restart() -> None:
    wanted = (declare(A), declare(B), service("eager", reload_on=[A], restart_on=[B]))
    sees = {A: OTHER, B: IN_SYNC, EAGER: started_before(evidence(A), evidence(B))}
    plan = plan_of(*wanted, seen=sees)
    assert steps(plan)[-1] == f"restart {EAGER}"
    assert plan.actions[-1].stale == (evidence(B),)
    quiet = (declare(A), declare(B), service("quiet", reload_on=[A], restart_on=[B]))
    shown = plan_of(*quiet, seen={A: OTHER, B: IN_SYNC, QUIET: started_before(evidence(A), evidence(B))})
    assert steps(shown)[-1] == f"reload {QUIET}"
    assert not shown.stale[rid(QUIET)].is_acted_on


def test_over_a_limit_the_mark_is_held_with_its_restart_and_released_with_it() -> None:
    found = planned(limits=Limits(restarts=0))
    assert steps(found.plan) == [f"(mark {EAGER})", f"(restart {EAGER})"]
    assert {action.hold.reason for action in found.plan.actions if action.hold} == {HoldReason.LIMIT}
    assert detail_of(found.plan) == "Its restart is held."
    assert relabel(found.plan, found.given) == found.plan
    assert steps(plan_of(limits=Limits(restarts=1))) == [f"mark {EAGER}", f"restart {EAGER}"]


def test_what_is_held_for_another_reason_is_not_marked() -> None:
    audited = plan_of(declare(A), lists_a(audit=True))
    assert steps(audited) == [f"(restart {EAGER})"]
    risky = plan_of(declare(A), lists_a(refresh_risks=["outage"]))
    assert steps(risky) == [f"(restart {EAGER})"]
    assert risky.actions[0].hazards == {Hazard.OUTAGE}
    assert steps(plan_of(declare(A), lists_a(refresh_risks=["outage"], allow=[Hazard.OUTAGE])))[0] == f"mark {EAGER}"


def test_evidence_waits_for_what_cannot_be_had_and_is_no_failure_of_the_service() -> None:
    wanted = (declare(A), declare(B), service("eager", restart_on=[A, B]))
    plan = plan_of(*wanted, seen={B: HIDDEN})
    assert plan.actions == ()
    assert plan.verdicts[rid(EAGER)].kind is VerdictKind.IN_SYNC
    assert detail_of(plan) == "'when_stale' acts on that once what it lists can be had."


def test_what_converged_last_is_resolved_only_where_it_decides() -> None:
    def never() -> Mapping[ResourceId, Node] | None:
        raise AssertionError("asked for what converged last")

    quiet = given(declare(A), lists_a("quiet"), seen={A: IN_SYNC, QUIET: started_before()}, providers=TYPES)
    assert plan_given(quiet, never).plan.is_empty


def test_evidence_of_a_type_that_never_acts_on_it_is_only_shown() -> None:
    plan = plan_of(declare(A), service("oddservice:eager", restart_on=[A]), seen={"oddservice:eager": started_before()})
    assert steps(plan) == []
    assert plan.stale[rid("oddservice:eager")].inputs == (evidence(),)
    assert not plan.stale[rid("oddservice:eager")].is_acted_on


@pytest.mark.parametrize("name", ["eager", "quiet"])
@pytest.mark.parametrize(
    ("said", "operation"), [({"absent": True}, "delete"), ({"running": False}, "update")], ids=["absent", "stopped"]
)
def test_what_the_pass_stops_for_good_has_nothing_to_read_and_is_not_shown(
    name: str, said: Mapping[str, Any], operation: str
) -> None:
    text = f"service:{name}"
    plan = plan_of(declare(A), declare(text, restart_on=[A], **said), seen={text: started_before()})
    assert steps(plan) == [f"{operation} {text}"]
    assert plan.stale == {}


def test_nor_is_what_is_stopped_for_another_change_and_not_started_again() -> None:
    quiet = lists_a("quiet", running=False, allow=[Hazard.OUTAGE])
    wanted = (declare(A), declare(B, while_stopped=[QUIET]), quiet)
    plan = plan_of(*wanted, seen={B: OTHER, QUIET: started_before()})
    assert steps(plan) == [f"stop {QUIET}", f"update {B}"]
    assert plan.stale == {}


@pytest.mark.parametrize("said", [{"absent": True}, {"running": False}], ids=["absent", "stopped"])
def test_where_that_stop_is_held_it_is_named_as_what_settles_it(said: Mapping[str, Any]) -> None:
    plan = plan_of(declare(A), declare(EAGER, restart_on=[A], audit=True, **said), seen={EAGER: started_before()})
    assert [action.hold is not None for action in plan.actions] == [True]
    assert detail_of(plan) == "It shall not run: its stop, which is held, settles that."
    assert not plan.stale[rid(EAGER)].is_acted_on


def test_where_no_action_stops_what_shall_not_run_the_command_that_does_is_named() -> None:
    wanted = (declare(A), declare(B), declare(QUIET, running=False, restart_on=[A], requires=[B]))
    plan = plan_of(*wanted, seen={B: HIDDEN, QUIET: started_before()})
    assert plan.verdicts[rid(QUIET)].kind is VerdictKind.SKIPPED
    assert detail_of(plan, QUIET) == (
        "It shall not run, and nothing in this plan stops it: 'systemctl stop quiet' settles it."
    )


@pytest.mark.parametrize("answer", [raising, lambda *_: "yes"], ids=["raises", "answers-no-bool"])
def test_a_provider_that_cannot_say_whether_it_acts_is_told(answer: Any) -> None:
    broken = Acting()
    broken.__dict__["acts_on_stale"] = answer
    found = given(
        declare(A), lists_a(), seen={A: IN_SYNC, EAGER: started_before()}, providers={**TYPES, "service": broken}
    )
    plan = plan_given(found, lambda: found.graph.nodes).plan
    verdict = plan.verdicts[rid(EAGER)]
    assert verdict.kind is VerdictKind.UNOBSERVABLE
    assert "acts_on_stale" in verdict.detail


# At its turn.


@pytest.mark.parametrize(
    ("now", "step"),
    [
        (started_before(), MARK),
        (running(), None),
        (running("restart"), None),
        (started_before(owes="reload"), Step(Operation.MARK, (Change(OWES, "reload", "restart"),))),
        (started_before(evidence(is_ahead=True)), None),
        (started_before(evidence(B)), None),
    ],
    ids=["as-planned", "restarted-meanwhile", "owed-meanwhile", "marked-for-less", "to-come", "of-something-else"],
)
def test_a_mark_for_evidence_is_judged_at_its_turn(now: Present, step: Step | None) -> None:
    found = planned()
    mark, _ = found.plan.actions
    answer = replan(mark, found.given.graph.nodes[mark.resource], now, providers=TYPES)
    assert (answer.step, answer.hold) == (step, None)


def test_a_restart_whose_mark_was_not_needed_is_not_done() -> None:
    found = planned()
    _, restart = found.plan.actions
    answer = replan(restart, found.given.graph.nodes[restart.resource], running(), providers=TYPES)
    assert (answer.step, answer.hold) == (None, None)


def test_a_type_that_breaks_its_contract_says_nothing_of_what_shall_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it did wrong is told where it is planned; the evidence is shown all the same."""

    def broken(*_: object) -> None:
        raise BreachError(TYPES["service"], "raised")

    monkeypatch.setattr(stale, "stopping_of", broken)
    seen = {A: IN_SYNC, QUIET: started_before()}
    made = given(declare(A), lists_a("quiet"), seen=seen, providers=TYPES)
    assert list(stale.stale_in(made, ())) == [rid(QUIET)]
