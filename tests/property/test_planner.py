"""Properties of the planner (design 1.2, 1.3, 4.3) over random declarations, hosts and trails."""

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from attrs import evolve, frozen
from hypothesis import event, settings
from hypothesis import given as over
from hypothesis import strategies as st

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, Limits, OnRemoval, Resource
from datum.model.observation import Absent, FieldValue, Observation, ObservedState, Present, Unobservable
from datum.model.plan import Action, HoldReason, Operation, OrphanState, Plan, VerdictKind
from datum.planner.along import TAKEN_ALONG
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.planner.orphans import TAKEN_OVER, find_orphans
from datum.planner.plan import plan_pass
from datum.provider.contract import Removal
from datum.provider.paths import is_below
from tests.unit.fakes import (
    HIDDEN,
    HOST,
    PROVIDERS,
    TARGET,
    Want,
    after_step,
    declare,
    declared_by,
    graph_of,
    revision,
)

# Candidates in an order that no edge contradicts: an edge leads from a later one to an earlier one.
_Value = TypeVar("_Value")
POOL = (
    *("user:u", "user:v", "package:p", "package:q", "folder:/d", "folder:/d/e.d", "leaf:/d/a", "leaf:/d/e.d/b"),
    *("leaf:/c", "entry:/f#k", "entry:/f#l", "fake:x", "fake:y"),
)
OWNERS = ("u", "v", "w")
VALUES = ("x", "y")


def is_path(text: str) -> bool:
    return text.startswith(("leaf:", "folder:"))


def path_of(text: str) -> str:
    return text.partition(":")[2]


def attributes_of(draw: st.DrawFn, text: str) -> dict[str, Any]:
    kind = text.partition(":")[0]
    said: dict[str, Any] = {"value": draw(st.sampled_from(VALUES))}
    if kind in {"leaf", "folder", "fake"} and draw(st.booleans()):
        said["owner"] = draw(st.sampled_from(OWNERS))
    if kind == "package" and draw(st.booleans()):
        said["may_make"] = [f"user:{draw(st.sampled_from(OWNERS))}"]
    return said


@st.composite
def fleets(draw: st.DrawFn, *, brakes: bool = True, absences: bool = True) -> tuple[Resource, ...]:
    """Return declarations of one host.

    Args:
        draw: of hypothesis.
        brakes: whether some are audited, protected or risky.
        absences: whether some are declared absent.
    """
    chosen = [text for text in POOL if draw(st.booleans())]
    gone = {text for text in chosen if absences and draw(st.integers(0, 4)) == 0}
    # Nothing that is wanted lies below what is to go.
    gone |= {text for text in chosen if any(is_path(text) and is_below(path_of(text), path_of(one)) for one in gone)}
    found = []
    for place, text in enumerate(chosen):
        # What is wanted requires nothing that is to go: no such manifest can be had.
        weaker = [one for one in chosen[:place] if text in gone or one not in gone]
        some = st.sets(st.sampled_from(weaker), max_size=2) if weaker else st.just(set[str]())
        if text in gone:
            found.append(declare(text, place + 1, absent=True))
            continue
        said = attributes_of(draw, text)
        if brakes and draw(st.integers(0, 2)) == 0:
            said["risks"] = ["outage"]
        found.append(
            declare(
                text,
                place + 1,
                requires=sorted(draw(some)),
                after=sorted(draw(some)),
                audit=brakes and draw(st.integers(0, 5)) == 0,
                protect=brakes and draw(st.integers(0, 5)) == 0,
                **said,
            )
        )
    return tuple(found)


@frozen
class World:
    """A host: what is there, by id, and what cannot be looked at."""

    there: Mapping[ResourceId, Mapping[str, FieldValue]]
    hidden: frozenset[ResourceId] = frozenset()

    def has(self, target: Target) -> bool:
        if target.kind == "user":
            return ResourceId("user", target.key) in self.there
        return target.key == "/" or ResourceId("folder", target.key) in self.there

    def look(self, origin: ResourceId, desired: object) -> Observation:
        """Look at one resource, as a provider would."""
        if origin in self.hidden:
            return HIDDEN
        assert isinstance(desired, Want)
        facts: dict[str, FieldValue] = {}
        if desired.owner and not self.has(Target("user", desired.owner)):
            facts["owner_known"] = False
        folder = origin.name.rpartition("/")[0] or "/"
        if origin in self.there:
            return Present({**self.there[origin], **facts})
        if origin.type in {"leaf", "folder"} and not self.has(Target("path", folder)):
            facts["missing_parent"] = folder
        return Absent(facts)

    def after(self, action: Action, desired: object) -> "World":
        """Return the host after an action, and after what it may make has been made."""
        assert isinstance(desired, Want)
        there = dict(self.there)
        found = after_step(self.look(action.resource, desired), action.step)
        if isinstance(found, Present):
            there[action.resource] = {name: value for name, value in found.fields.items() if name != "owner_known"}
            for target in desired.may_make:
                there.setdefault(ResourceId(target.kind, target.key), {"value": "made"})
        else:
            there.pop(action.resource, None)
        return World(there, self.hidden)


@st.composite
def worlds(draw: st.DrawFn, *, hiding: bool = True) -> World:
    """Return a host on which each candidate is there or not, in one state or another."""
    there: dict[ResourceId, Mapping[str, FieldValue]] = {}
    for text in POOL:
        if draw(st.booleans()):
            kind = text.partition(":")[0]
            fields: dict[str, FieldValue] = {"value": draw(st.sampled_from(VALUES))}
            if draw(st.booleans()):
                fields["owner"] = draw(st.sampled_from(OWNERS))
            if draw(st.integers(0, 6)) == 0:
                fields["kind"] = "thing" if draw(st.booleans()) else kind
            there[ResourceId.parse(text)] = fields
    hidden = draw(st.sets(st.sampled_from(POOL), max_size=3)) if hiding else set[str]()
    return World(there, frozenset(ResourceId.parse(text) for text in hidden))


Trail: TypeAlias = tuple[Declaration | Unresolved, ...]


def inputs(resources: tuple[Resource, ...], world: World, trail: Trail = ()) -> PlanInput:
    graph = graph_of(*resources)
    seen = {origin: world.look(origin, node.desired) for origin, node in graph.nodes.items()}
    orphans = {
        origin: OrphanSight(tuple(Sight(one, node, world.look(origin, node.desired)) for one, node in sayings))
        for origin, sayings in find_orphans(graph, trail).items()
    }
    return PlanInput(
        revision=TARGET,
        host=HOST,
        manifest_digest="sha256:00",
        graph=graph,
        providers=PROVIDERS,
        observed=ObservedState(seen),
        trail=trail,
        orphans=orphans,
        limits=Limits(None),
    )


def done(plan: Plan, given: PlanInput, world: World) -> World:
    """Return the host after every action that is not held."""
    for action in plan.actions:
        assert action.hold is None
        if action.orphan_of is None:
            desired = given.graph.nodes[action.resource].desired
        else:
            desired = given.orphans[action.resource].sights[0].node.desired
        world = world.after(action, desired)
    return world


# --- in sync, and what is left after an apply ---


@settings(max_examples=50, deadline=None)
@over(fleets())
def test_where_everything_is_as_declared_the_plan_is_empty(resources: tuple[Resource, ...]) -> None:
    given = inputs(resources, World({}))
    seen: dict[ResourceId, Observation] = {}
    for origin, node in given.graph.nodes.items():
        assert isinstance(node.desired, Want)
        fields = {"value": node.desired.value, "owner": node.desired.owner}
        seen[origin] = Absent() if node.resource.absent else Present(fields)
    plan = plan_pass(evolve(given, observed=ObservedState(seen)))
    assert plan.is_empty
    assert {verdict.kind for verdict in plan.verdicts.values()} <= {VerdictKind.IN_SYNC}


@settings(max_examples=60, deadline=None)
@over(fleets(brakes=False, absences=False), worlds(hiding=False))
def test_after_the_plan_is_done_the_plan_is_empty(resources: tuple[Resource, ...], world: World) -> None:
    # A thing in the way is replaced: allowed here, so that nothing is held.
    free = tuple(evolve(one, allow=frozenset({Hazard.DATA_LOSS})) for one in resources)
    given = inputs(free, world)
    plan = plan_pass(given)
    lost = {origin for origin, verdict in plan.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    event(f"impossible: {bool(lost)}")
    again = plan_pass(inputs(free, done(plan, given, world)))
    assert {action.resource for action in again.actions} <= lost
    if not lost:
        assert again.is_empty


@settings(max_examples=50, deadline=None)
@over(fleets(brakes=False), worlds(hiding=False))
def test_what_is_declared_absent_is_gone_after_the_plan_is_done(resources: tuple[Resource, ...], world: World) -> None:
    free = tuple(evolve(one, allow=frozenset({Hazard.DATA_LOSS})) for one in resources)
    given = inputs(free, world)
    left = done(plan_pass(given), given, world)
    assert not {one.id for one in free if one.absent} & left.there.keys() - {
        # A package may have made the account anew.
        ResourceId("user", owner)
        for owner in OWNERS
    }


# --- what cannot be known ---


@settings(max_examples=60, deadline=None)
@over(fleets(), worlds())
def test_no_action_has_something_unobservable_among_what_it_requires(
    resources: tuple[Resource, ...], world: World
) -> None:
    given = inputs(resources, world)
    plan = plan_pass(given)
    for action in plan.actions:
        assert action.resource not in world.hidden
        needed = given.graph.required_by(action.resource)
        assert not needed & world.hidden
        assert needed <= action.requires
        assert action.requires == needed | set(action.known_after)
        # Removals are held as a class, once the plan is known: what requires them keeps its action.
        held = {one.resource for one in plan.actions if one.hold and one.hold.reason is not HoldReason.UNOBSERVABLE}
        assert not needed & held
        assert not set(action.known_after) & held


@settings(max_examples=60, deadline=None)
@over(fleets(), worlds())
def test_every_resource_is_accounted_for_and_actions_embed_the_order(
    resources: tuple[Resource, ...], world: World
) -> None:
    given = inputs(resources, world)
    plan = plan_pass(given)
    acted = [action.resource for action in plan.actions]
    assert {*acted, *plan.verdicts} == set(given.graph.order)
    assert not {*acted} & plan.verdicts.keys()
    place = {origin: index for index, origin in enumerate(given.graph.order)}
    assert acted == sorted(acted, key=place.__getitem__)
    for action in plan.actions:
        assert all(place[source] < place[action.resource] for source in {*action.known_after, *action.requires})


@settings(max_examples=60, deadline=None)
@over(fleets(), worlds())
def test_what_is_skipped_names_what_it_requires_and_had_something_to_do(
    resources: tuple[Resource, ...], world: World
) -> None:
    given = inputs(resources, world)
    plan = plan_pass(given)
    stuck = {one.resource for one in plan.actions if one.hold} | {
        origin
        for origin, verdict in plan.verdicts.items()
        if verdict.kind in {VerdictKind.UNOBSERVABLE, VerdictKind.IMPOSSIBLE}
    }
    for origin, verdict in plan.verdicts.items():
        if verdict.kind is VerdictKind.SKIPPED:
            assert verdict.blocked_by in stuck
            assert verdict.step is not None
            assert verdict.step.changes
            if not verdict.step.needs:
                assert verdict.blocked_by in given.graph.required_by(origin)
        if verdict.kind is VerdictKind.UNOBSERVABLE:
            assert origin in world.hidden


@settings(max_examples=60, deadline=None)
@over(fleets(brakes=False), worlds())
def test_one_unknown_never_blocks_an_unrelated_branch(resources: tuple[Resource, ...], world: World) -> None:
    """What neither requires nor needs a hidden resource is planned as if nothing were hidden, but for removals."""
    seeing = evolve(world, hidden=frozenset())
    blind, clear = plan_pass(inputs(resources, world)), plan_pass(inputs(resources, seeing))
    graph = graph_of(*resources)
    expected = {action.resource: action for action in clear.actions}
    found = {action.resource: action for action in blind.actions}
    for origin, action in expected.items():
        related = {origin, *graph.required_by(origin), *action.known_after}
        related.update(*(graph.required_by(maker) for maker in action.known_after))
        # What a maker of a need waits for in its turn.
        related.update(*(expected[maker].known_after for maker in related if maker in expected))
        if not related & world.hidden and all(not graph.required_by(maker) & world.hidden for maker in related):
            assert origin in found
            assert found[origin].changes == action.changes
    assert found.keys() <= expected.keys()


@settings(max_examples=50, deadline=None)
@over(fleets(), worlds())
def test_while_something_is_hidden_nothing_is_deleted(resources: tuple[Resource, ...], world: World) -> None:
    plan = plan_pass(inputs(resources, world))
    unseen = any(verdict.kind is VerdictKind.UNOBSERVABLE for verdict in plan.verdicts.values())
    assert not unseen or all(action.hold for action in plan.actions if action.operation is Operation.DELETE)


# --- determinism ---


@settings(max_examples=50, deadline=None)
@over(fleets(), worlds(), st.data())
def test_equal_inputs_give_an_equal_plan_whatever_the_order_of_mappings(
    resources: tuple[Resource, ...], world: World, data: st.DataObject
) -> None:
    older = (declared_by(1, declare("leaf:/d/e.d/b"), declare("entry:/f#m"), declare("entry:/f#n")),)
    given = inputs(resources, world, older)

    def shuffled(found: Mapping[ResourceId, _Value]) -> Mapping[ResourceId, _Value]:
        return {key: found[key] for key in data.draw(st.permutations(list(found)))}

    graph = graph_of(*data.draw(st.permutations(resources)))
    other = evolve(
        given,
        graph=evolve(graph, nodes=shuffled(graph.nodes), requires=shuffled(graph.requires)),
        observed=ObservedState(shuffled(given.observed.observations)),
        orphans=shuffled(given.orphans),
        trail=tuple(evolve(entry, nodes=shuffled(entry.nodes)) for entry in older),
    )
    one, two = plan_pass(given), plan_pass(other)
    assert one == two
    assert one.plan_id == two.plan_id
    assert [action.requires for action in one.actions] == [action.requires for action in two.actions]


# --- removals ---


@st.composite
def trails(draw: st.DrawFn) -> Trail:
    """Return a trail, newest first, of things that lie anywhere and were declared in any way."""
    candidates = (
        "leaf:/x.d/f",
        "leaf:/x/f",
        "leaf:/etc/ssh/x.d/k",
        "user:gone",
        "entry:/f#k",
        "folder:/d",
        "leaf:/d/a",
    )
    found: list[Declaration | Unresolved] = []
    for number in range(draw(st.integers(1, 3)), 0, -1):
        if draw(st.integers(0, 9)) == 0:
            found.append(Unresolved(revision(number), "It cannot be resolved."))
            continue
        declared = [
            declare(
                text,
                on_removal=draw(st.none() | st.sampled_from(OnRemoval)),
                protect=draw(st.integers(0, 5)) == 0,
                value=draw(st.sampled_from(VALUES)),
            )
            for text in candidates
            if draw(st.booleans())
        ]
        found.append(declared_by(number, *declared))
    return tuple(found)


orphan_states: st.SearchStrategy[Observation] = st.sampled_from(
    [Absent(), HIDDEN, *(Present({"value": value}) for value in (*VALUES, "edited"))]
)


@settings(max_examples=150, deadline=None)
@over(fleets(), worlds(), trails(), st.data())
def test_nothing_is_removed_but_what_equals_a_declaration_in_its_place_and_belongs_to_nobody(
    resources: tuple[Resource, ...], world: World, trail: Trail, data: st.DataObject
) -> None:
    given = inputs(resources, world, trail)
    orphans = {}
    for origin, sight in given.orphans.items():
        seen = data.draw(orphan_states)
        package = data.draw(st.sampled_from([None, None, "nginx"]))
        orphans[origin] = OrphanSight(tuple(evolve(one, observation=seen) for one in sight.sights), package)
    plan = plan_pass(evolve(given, orphans=orphans))
    assert [word.resource for word in plan.orphans] == sorted(orphans)
    removed = [action for action in plan.actions if action.orphan_of is not None]
    doing = [action for action in plan.actions if action.hold is None and action.operation.removes]
    going = {word.resource: word for word in plan.orphans if word.state is OrphanState.REMOVE}
    assert {action.resource for action in removed} <= going.keys()
    for origin in going.keys() - {action.resource for action in removed}:
        assert going[origin].rule in {TAKEN_ALONG, TAKEN_OVER}, "it goes with something that the target says"
        assert any(is_below(origin.name, one.resource.name) for one in doing)
    event(f"removed: {len(removed)}")
    for action in removed:
        sights = orphans[action.resource].sights
        seen = sights[0].observation
        values = {one.node.resource.attributes["value"] for one in sights}
        wish = sights[0].node.resource.on_removal
        place = PROVIDERS[action.resource.type].removal(sights[0].node.desired)
        assert isinstance(seen, Present)
        assert seen.fields["value"] in values, "it equals no declaration of the trail"
        assert orphans[action.resource].package is None, "a package owns it"
        assert place is not Removal.NEVER
        assert wish is OnRemoval.DELETE or (wish is None and place is Removal.DELETE), "its place does not say so"
        assert resources, "an empty manifest removes nothing"
        assert not any(isinstance(entry, Unresolved) for entry in trail)
        held = any(one.resource.protect for one in given.declarations(action.resource))
        held |= any(isinstance(found, Unobservable) for found in given.observed.observations.values())
        assert bool(action.hold) is held
