"""Properties of marks and refreshes in plans (design 4.1; ADR 0034) over random declarations, hosts and trails."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen
from hypothesis import event, settings
from hypothesis import given as over
from hypothesis import strategies as st

from datum.model.batches import batches_of
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, Limits, Resource
from datum.model.observation import Absent, FieldValue, Observation, ObservedState, Present
from datum.model.plan import OWES, Action, Operation, VerdictKind
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass, relabel
from datum.planner.replan import replan
from tests.unit.fakes import HIDDEN, HOST, TARGET, after_step, declare, graph_of, rid
from tests.unit.services import ALL, Wish, earlier, service

# In an order that no edge contradicts: an edge leads from a later one to an earlier one.
THINGS = ("account:u", "package:p", "package:q", "fake:a", "fake:b", "page:/c", "unit:/d")
SERVICES = ("service:s", "service:t", "service:v")
POOL = (*THINGS, *SERVICES, "fake:z", "package:z")
# What only an older revision declares.
DROPPED = ("leaf:/x.d/f", "leaf:/x.d/g")
VALUES = ("x", "y")
OWED = (None, "reload", "restart")


def lists_of(draw: st.DrawFn, some: Collection[str]) -> dict[str, Any]:
    listed = sorted(draw(st.sets(st.sampled_from(sorted(some)), max_size=3))) if some else []
    cut = draw(st.integers(0, len(listed)))
    return {"restart_on": listed[:cut], "reload_on": listed[cut:]}


def service_of(
    draw: st.DrawFn, text: str, listed: Collection[str], weaker: Collection[str], *, brakes: bool
) -> Resource:
    said = lists_of(draw, listed)
    required = draw(st.sets(st.sampled_from(sorted(weaker)), max_size=1)) if weaker else ()
    return service(
        text,
        **said,
        requires=sorted(required),
        value=draw(st.sampled_from([None, "x"])),
        running=draw(st.sampled_from([True, True, True, None, False])),
        can_reload=draw(st.booleans()),
        audit=brakes and draw(st.integers(0, 5)) == 0,
        refresh_risks=["outage"] if brakes and draw(st.integers(0, 4)) == 0 else [],
        needs=["unit:x"] if "package:p" in weaker and draw(st.integers(0, 3)) == 0 else [],
    )


@st.composite
def fleets(draw: st.DrawFn, *, brakes: bool = True) -> tuple[Resource, ...]:
    """Return declarations of one host: things, services that list them and each other, and what requires those."""
    chosen = [text for text in POOL if draw(st.integers(0, 3))]
    gone = {text for text in chosen if text in THINGS and draw(st.integers(0, 6)) == 0}
    found: list[Resource] = []
    for place, text in enumerate(chosen):
        weaker = [one for one in chosen[:place] if one not in gone]
        if text in gone:
            found.append(declare(text, absent=True))
        elif text in SERVICES:
            found.append(service_of(draw, text, chosen[:place], weaker, brakes=brakes))
        else:
            some = st.sets(st.sampled_from(weaker), max_size=2) if weaker else st.just(set[str]())
            said: dict[str, Any] = {"value": draw(st.sampled_from(VALUES)), "requires": sorted(draw(some))}
            if text in ("fake:a", "fake:b"):
                said["owner"] = draw(st.sampled_from("uv"))
            if text == "package:p":
                said["may_make"] = ["unit:*"]
            found.append(declare(text, **said, audit=brakes and draw(st.integers(0, 6)) == 0))
    return tuple(found)


@st.composite
def trails(draw: st.DrawFn, target: tuple[Resource, ...]) -> tuple[Declaration, ...]:
    """Return older revisions, newest first: some of what the target declares, otherwise, and what it dropped."""
    found = []
    for number in range(draw(st.integers(0, 2)), 0, -1):
        things = [declare(text) for text in DROPPED if draw(st.booleans())]
        kept = [one for one in target if one.id.type not in {"service", "package"} and not one.absent]
        things += [
            declare(str(one.id), value=draw(st.sampled_from(VALUES)), owner="u") for one in kept if draw(st.booleans())
        ]
        listed = [str(one.id) for one in things]
        services = [service(text, **lists_of(draw, listed)) for text in SERVICES if draw(st.booleans())]
        found.append(earlier(number, *things, *services))
    return tuple(found)


@frozen
class World:
    """A host: what is there, by id, what cannot be looked at, and what runs with something older than there is."""

    there: Mapping[ResourceId, Mapping[str, FieldValue]]
    hidden: frozenset[ResourceId] = frozenset()
    stale: frozenset[ResourceId] = field(default=frozenset())

    def look(self, origin: ResourceId) -> Observation:
        if origin in self.hidden:
            return HIDDEN
        if origin in self.there:
            return Present(self.there[origin])
        return Absent({"unit_known": rid("package:p") in self.there})

    def is_running(self, origin: ResourceId) -> bool:
        return self.there.get(origin, {}).get("running") is True

    def with_fields(self, origin: ResourceId, fields: Mapping[str, FieldValue], *, is_fresh: bool) -> "World":
        stale = self.stale - {origin} if is_fresh else self.stale
        return evolve(self, there={**self.there, origin: fields}, stale=stale)


@st.composite
def worlds(draw: st.DrawFn, *, hiding: bool = True) -> World:
    there: dict[ResourceId, Mapping[str, FieldValue]] = {}
    for text in (*THINGS, *DROPPED, "fake:z", "package:z"):
        if draw(st.booleans()):
            there[rid(text)] = {"value": draw(st.sampled_from(VALUES)), "owner": draw(st.sampled_from("uv"))}
    for text in SERVICES:
        if draw(st.integers(0, 3)):
            is_running = draw(st.booleans())
            owes = draw(st.sampled_from(OWED)) if is_running else None
            there[rid(text)] = {"running": is_running, OWES: owes, "value": draw(st.sampled_from(VALUES))}
    hidden = draw(st.sets(st.sampled_from(POOL), max_size=2)) if hiding else set[str]()
    return World(there, frozenset(map(rid, hidden)))


def inputs(
    resources: tuple[Resource, ...], world: World, trail: tuple[Declaration, ...] = (), **others: Any
) -> PlanInput:
    graph = graph_of(*resources, providers=ALL)
    orphans = {
        origin: OrphanSight(tuple(Sight(one, node, world.look(origin)) for one, node in sayings))
        for origin, sayings in find_orphans(graph, trail).items()
    }
    return PlanInput(
        revision=TARGET,
        host=HOST,
        manifest_digest="sha256:00",
        graph=graph,
        providers=ALL,
        observed=ObservedState({origin: world.look(origin) for origin in graph.nodes}),
        trail=trail,
        orphans=orphans,
        **{"limits": Limits(None, package_removals=None), **others},
    )


def listing(given: PlanInput, action: Action) -> frozenset[ResourceId]:
    """Return what may run with something older once this was done: by the declarations, not by what the plan says."""
    found = {origin for origin, listed in given.graph.triggers.items() if action.resource in listed}
    if action.operation is Operation.DELETE:
        for entry in given.trail:
            assert isinstance(entry, Declaration)
            for origin in given.graph.triggers:
                older = entry.nodes.get(origin)
                wish = given.graph.nodes[origin].desired
                assert isinstance(wish, Wish)
                if older is not None and wish.running is not False:
                    assert isinstance(older.desired, Wish)
                    found |= {origin} if action.resource in older.desired.lists else set()
    return frozenset(found)


def node_of(given: PlanInput, action: Action) -> Node:
    if action.orphan_of is None:
        return given.graph.nodes[action.resource]
    return given.orphans[action.resource].sights[0].node


def done(given: PlanInput, actions: Iterable[Action], world: World) -> World:
    """Return the host after some actions at their turns, as the reconciler would do them."""
    for action in actions:
        assert action.hold is None
        answer = replan(action, node_of(given, action), world.look(action.resource), providers=ALL)
        assert answer.hold is None, answer.hold
        if answer.step is not None:
            world = _after(given, evolve(action, step=answer.step, operation=answer.step.operation), world)
            world = marked_again(action, world)
    return world


def marked_again(action: Action, world: World) -> World:
    """Mark what was started between its mark and the change, as part of verifying that."""
    for origin, owed in action.marks.items():
        if world.is_running(origin):
            fields = world.there[origin]
            owes: Any = max(fields[OWES], str(owed), key=OWED.index)
            world = world.with_fields(origin, {**fields, OWES: owes}, is_fresh=False)
    return world


def _after(given: PlanInput, action: Action, world: World) -> World:
    origin, operation = action.resource, action.operation
    was_running = world.is_running(origin)
    found = after_step(world.look(origin), action.step)
    if origin.type == "service" and isinstance(found, Present):
        is_started = found.fields.get("running") is True and not was_running
        is_fresh = is_started or operation.refreshes or found.fields.get("running") is not True
        fields = {**found.fields, OWES: None} if is_fresh else found.fields
        world = world.with_fields(origin, fields, is_fresh=is_fresh)
        is_change = is_started or operation.refreshes
    else:
        there = {one: fields for one, fields in world.there.items() if one != origin}
        if isinstance(found, Present):
            there[origin] = found.fields
        if action.resource == rid("package:p") and operation is Operation.CREATE:
            there = {**started_by_the_package(given), **there}
        world = evolve(world, there=there)
        is_change = any(change.name not in {"owner", "mode", "group"} for change in action.step.changes)
    if not is_change:
        return world
    return evolve(world, stale=world.stale | {one for one in listing(given, action) if world.is_running(one)})


def started_by_the_package(given: PlanInput) -> Mapping[ResourceId, Mapping[str, FieldValue]]:
    """Return the services whose unit it brings, running: Debian starts what it installs."""
    wishes = {origin: given.graph.nodes[origin].desired for origin in given.graph.triggers}
    fields: Mapping[str, FieldValue] = {"running": True, OWES: None}
    return {origin: fields for origin, wish in wishes.items() if isinstance(wish, Wish) and wish.needs}


def starts(world: World, action: Action) -> bool:
    fields = {change.name: change.after for change in action.changes}
    return fields.get("running") is True and not world.is_running(action.resource)


# --- what stands in a plan ---


def is_marking(world: World, action: Action) -> bool:
    """Whether an action changes what a service may have read; what owner alone is about is asked elsewhere."""
    if action.hold is not None or action.operation is Operation.MARK:
        return False
    if action.resource.type == "service":
        return action.operation.refreshes or (action.operation is not Operation.DELETE and starts(world, action))
    return {change.name for change in action.changes} != {"owner"}


@settings(max_examples=80, deadline=None)
@over(st.data(), fleets(), worlds())
def test_before_every_change_that_a_service_lists_there_is_a_mark_and_after_it_one_refresh_at_most(
    data: st.DataObject, resources: tuple[Resource, ...], world: World
) -> None:
    trail = data.draw(trails(resources))
    given = inputs(resources, world, trail)
    plan = plan_pass(given)
    last_change: dict[ResourceId, int] = {}
    refreshed: dict[ResourceId, int] = {}
    for batch in batches_of(plan.actions):
        marked = {mark.resource for mark in batch.marks}
        assert sorted(marked) == [mark.resource for mark in batch.marks]
        assert marked == {service for action in batch.group for service in action.marks}
        for number, action in enumerate(batch.group, batch.start):
            assert set(action.marks) <= listing(given, action)
            if is_marking(world, action):
                assert set(action.marks) == listing(given, action), action
            for origin in action.marks:
                last_change[origin] = number
            if action.operation.refreshes:
                assert action.resource not in refreshed
                refreshed[action.resource] = number
    event(f"refreshes: {len(refreshed)}, marked: {len(last_change)}")
    for origin, place in refreshed.items():
        assert last_change.get(origin, -1) < place
        assert set(given.graph.triggers[origin]) <= plan.actions[place].requires
        for number, action in enumerate(plan.actions):
            if origin in given.graph.requires.get(action.resource, ()) and action.operation is not Operation.MARK:
                assert number > place
            if action.resource == origin:
                assert number <= place


@settings(max_examples=80, deadline=None)
@over(st.data(), fleets(), worlds(), st.booleans())
def test_every_resource_has_a_word_and_equal_inputs_give_an_equal_plan(
    data: st.DataObject, resources: tuple[Resource, ...], world: World, is_retry: bool
) -> None:
    trail = data.draw(trails(resources))
    limits = Limits(data.draw(st.sampled_from([None, 0])), restarts=data.draw(st.sampled_from([None, 0, 1])))
    given = inputs(resources, world, trail, is_retry=is_retry, limits=limits)
    plan = plan_pass(given)
    own = {action.resource for action in plan.actions if action.operation is not Operation.MARK}
    assert given.graph.nodes.keys() <= own | plan.verdicts.keys() | {action.resource for action in plan.actions}
    assert not own & plan.verdicts.keys()
    marked = {action.resource for action in plan.actions if action.operation is Operation.MARK}
    assert all(plan.verdicts[origin].kind is not VerdictKind.IN_SYNC for origin in marked & plan.verdicts.keys())
    shuffled = tuple(data.draw(st.permutations(resources)))
    other = plan_pass(inputs(shuffled, world, trail, is_retry=is_retry, limits=limits))
    assert (other, other.plan_id) == (plan, plan.plan_id)
    free = plan_pass(evolve(given, limits=Limits(None)))
    assert free.plan_id == plan.plan_id, "a limit is released with the id of the plan that it held"
    known = evolve(given, converged=given.graph.nodes)
    assert relabel(plan, known) == plan_pass(known)
    assert relabel(plan, known).plan_id == plan.plan_id


@settings(max_examples=50, deadline=None)
@over(fleets(), worlds())
def test_a_held_refresh_is_held_for_a_reason_of_its_service_and_a_mark_never(
    resources: tuple[Resource, ...], world: World
) -> None:
    given = inputs(resources, world)
    for action in plan_pass(given).actions:
        if action.operation is Operation.MARK:
            assert (action.hold, action.hazards) == (None, frozenset())
        elif action.operation.refreshes:
            resource = given.graph.nodes[action.resource].resource
            assert bool(action.hold) is (resource.audit or Hazard.OUTAGE in action.hazards)
        if action.hold is not None:
            assert action.marks == {}


states = st.builds(
    lambda value, owner: {"value": value, "owner": owner}, st.sampled_from(VALUES), st.sampled_from("uvw")
)


@settings(max_examples=80, deadline=None)
@over(states, states, st.none() | states, st.booleans())
def test_whatever_happens_meanwhile_nothing_that_was_read_changes_without_a_mark(
    wanted: dict[str, Any], before: dict[str, Any], now: dict[str, Any] | None, is_retry: bool
) -> None:
    resources = (declare("fake:a", **wanted), service("s", restart_on=["fake:a"]))
    world = World({rid("fake:a"): before, rid("service:s"): {"running": True, OWES: None}})
    given = inputs(resources, world, is_retry=is_retry)
    for action in plan_pass(given).actions:
        if action.resource == rid("fake:a"):
            seen = Absent() if now is None else Present(now)
            answer = replan(action, node_of(given, action), seen, providers=ALL)
            event(f"marked: {bool(action.marks)}, held: {answer.hold is not None}")
            if answer.step is not None and not action.marks:
                assert {change.name for change in answer.step.changes} == {"owner"}


# --- what is left after an apply, and after a kill ---


@settings(max_examples=80, deadline=None)
@over(st.data(), fleets(brakes=False), worlds(hiding=False))
def test_after_everything_was_done_the_next_plan_is_empty_and_nothing_runs_with_what_is_older(
    data: st.DataObject, resources: tuple[Resource, ...], world: World
) -> None:
    trail = data.draw(trails(resources))
    given = inputs(resources, world, trail)
    plan = plan_pass(given)
    event(f"actions: {len(plan.actions) // 4 * 4}+")
    after = done(given, plan.actions, world)
    closing = plan_pass(inputs(resources, after, trail))
    impossible = {origin for origin, verdict in plan.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    assert closing.is_empty or impossible, closing
    assert after.stale - impossible == frozenset()


@settings(max_examples=120, deadline=None)
@over(st.data(), fleets(brakes=False), worlds(hiding=False))
def test_no_kill_loses_a_restart(data: st.DataObject, resources: tuple[Resource, ...], world: World) -> None:
    """Whatever of a plan was done, the next pass refreshes what runs with something older."""
    trail = data.draw(trails(resources))
    given = inputs(resources, world, trail)
    plan = plan_pass(given)
    killed = done(given, plan.actions[: data.draw(st.integers(0, len(plan.actions)))], world)
    event(f"stale: {len(killed.stale)}")
    for origin in killed.stale:
        assert killed.there[origin][OWES] is not None, "what it owes stands where no kill reaches it"
    again = inputs(resources, killed, trail, is_retry=True)
    left = plan_pass(again)
    stuck = {origin for origin, verdict in left.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    assert done(again, left.actions, killed).stale - stuck == frozenset()


@settings(max_examples=50, deadline=None)
@over(fleets(brakes=False), worlds(hiding=False), st.data())
def test_a_chmod_by_hand_restarts_nothing(resources: tuple[Resource, ...], world: World, data: st.DataObject) -> None:
    given = inputs(resources, world)
    after = done(given, plan_pass(given).actions, world)
    owned = [rid(text) for text in ("fake:a", "fake:b") if rid(text) in after.there]
    for origin in owned:
        after = after.with_fields(
            origin, {**after.there[origin], "owner": data.draw(st.sampled_from("uvw"))}, is_fresh=False
        )
    drift = plan_pass(inputs(resources, after, is_retry=True))
    stuck = {origin for origin, verdict in drift.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    assert {action.resource for action in drift.actions} <= set(owned) | stuck
