"""What is paused is never acted on, whatever else a host is to be; and a pause is forgotten with its end."""

from typing import Final

from attrs import evolve
from hypothesis import event, settings
from hypothesis import given as over
from hypothesis import strategies as st

from datum.model.identity import ResourceId
from datum.model.pause import EVERY, LEEWAY, Pause
from datum.model.plan import Action, HoldReason, Operation, Plan
from datum.model.result import Outcome
from datum.planner.inputs import Declaration, PlanInput
from datum.planner.pauses import apply_pause
from datum.planner.plan import plan_pass
from datum.report.waiting import waits
from tests.property import test_refreshes as services
from tests.property import test_removals as grounds
from tests.property import test_stopped as managers
from tests.unit.fakes import rid

NOW: Final = 1_000_000
HOUR: Final = 3600
# What a manager is told for a unit by name; a mark is not among them.
TOUCHING: Final = ("start", "stop", "restart", "reload", "set")


def names(given: PlanInput) -> list[ResourceId]:
    """Return what a pause may name: what target and trail declare, and each of their types."""
    older = [origin for entry in given.trail if isinstance(entry, Declaration) for origin in entry.nodes]
    known = sorted({*given.graph.nodes, *older})
    return [*known, *sorted({ResourceId(origin.type, EVERY) for origin in known})]


def paused(data: st.DataObject, given: PlanInput) -> PlanInput:
    known = names(given)
    only = data.draw(st.frozensets(st.sampled_from(known), min_size=1, max_size=3)) if known else frozenset()
    pause = Pause("alice", "why", NOW, NOW + HOUR, tuple(sorted(only or {rid("fake:*")})))
    return evolve(given, pause=pause, now=NOW)


def bare(plan: Plan) -> list[Action]:
    """Return what a plan does, whatever holds it."""
    return [evolve(action, hold=None) for action in plan.actions]


def service_inputs(data: st.DataObject) -> PlanInput:
    resources = data.draw(services.fleets())
    return services.inputs(resources, data.draw(services.worlds()), data.draw(services.trails(resources)))


@settings(max_examples=100, deadline=None)
@over(st.data())
def test_what_a_pause_names_is_never_acted_on_but_marked(data: st.DataObject) -> None:
    given = paused(data, service_inputs(data))
    assert given.pause is not None
    plan = plan_pass(given)
    for action in plan.actions:
        if given.pause.names(action.resource) and action.operation is not Operation.MARK:
            assert action.hold is not None
    event(f"held: {sum(one.hold is not None and one.hold.reason is HoldReason.PAUSE for one in plan.actions)}")


@settings(max_examples=100, deadline=None)
@over(st.data())
def test_a_pause_makes_the_same_plan_with_holds(data: st.DataObject) -> None:
    """So an id that somebody looked at is good for `--expect` once the pause is over."""
    given = paused(data, service_inputs(data))
    plan, free = plan_pass(given), plan_pass(evolve(given, pause=None))
    assert plan.plan_id == free.plan_id
    assert bare(plan) == bare(free)
    assert plan.verdicts == free.verdicts
    for held, other in zip(plan.actions, free.actions, strict=True):
        assert held.hold == other.hold or other.hold is None
    for number, blocker in waits(plan).items():
        assert plan.actions[number].hold is None
        assert blocker is not None


@settings(max_examples=60, deadline=None)
@over(st.data(), st.integers(-(10**7), 10**7))
def test_a_pause_that_is_not_in_force_is_no_pause(data: st.DataObject, moment: int) -> None:
    given = evolve(paused(data, service_inputs(data)), now=moment + NOW)
    is_in_force = NOW - LEEWAY <= given.now < NOW + HOUR
    event(f"in force: {is_in_force}")
    plan, free = plan_pass(given), plan_pass(evolve(given, pause=None))
    assert plan_pass(given) == plan, "the moment is an input, and no clock is read"
    assert is_in_force or plan == free


@settings(max_examples=100, deadline=None)
@over(grounds.inputs(), st.data())
def test_nothing_takes_along_what_is_paused(found: tuple[PlanInput, grounds.Ground], data: st.DataObject) -> None:
    given = paused(data, found[0])
    assert given.pause is not None
    nodes = [*given.graph.nodes.values()]
    nodes += [one for entry in given.trail if isinstance(entry, Declaration) for one in entry.nodes.values()]
    kept = {
        target.key
        for node in nodes
        if given.pause.names(node.resource.id) and not node.resource.absent
        for target in node.targets
        if target.kind == "path"
    }
    removed = grounds.do(plan_pass(given), found[1]).removed
    event(f"removed: {bool(removed)}")
    assert not kept & removed.keys()


@settings(max_examples=150, deadline=None)
@over(managers.worlds, st.data())
def test_a_pass_leaves_alone_what_is_paused_and_does_it_once_that_is_over(
    world: managers.World, data: st.DataObject
) -> None:
    made = world.scene()
    planned = made.bench.plan()
    given = paused(data, planned.given)
    assert given.pause is not None
    host = made.bench.host
    host.world.calls.clear()
    made.manager.calls.clear()
    plan = evolve(planned.plan, actions=tuple(apply_pause(planned.plan.actions, given)))
    results = made.run(planned=evolve(planned, plan=plan))
    files = {one.name for one in given.graph.nodes if given.pause.names(one) and one.type != "daemon"}
    units = {one.name for one in given.graph.nodes if given.pause.names(one) and one.type == "daemon"}
    assert not [call for call in host.calls if call[0] in {"write_file", "remove_file"} and call[1] in files]
    told = [call.split() for call in made.manager.calls]
    assert not [words for words in told if words[0] in TOUCHING and words[-1] in units]
    assert world.changed_while_up(made, world.up) == set()
    assert all(made.unit(name).active for name in world.up), "what ran runs, paused or not"
    assert {one.outcome for one in results} <= {Outcome.APPLIED, Outcome.ALREADY, Outcome.HELD, Outcome.SKIPPED}
    event(f"held: {any(one.outcome is Outcome.HELD for one in results)}")
    made.run()
    assert made.is_converged()
    for name, entry in zip(managers.NAMES, world.entries, strict=False):
        for daemon in entry.listed_by:
            assert made.unit(daemon).read.get(f"/etc/{name}") == made.manager.bytes_at(f"/etc/{name}")
