"""Properties of what a pass removes (design 4.3, 4.4) over random hosts, trails, targets and limits."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen
from hypothesis import assume, event, settings
from hypothesis import given as over
from hypothesis import strategies as st

from datum.errors import FleetError
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, LimitClass, Limits, OnRemoval, Resource
from datum.model.observation import Absent, Observation, ObservedState, Present
from datum.model.plan import Action, Label, Operation, OrphanState, Plan, VerdictKind
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass, relabel
from datum.provider.paths import is_below
from tests.unit.fakes import HOST, PROVIDERS, TARGET, declare, declared_by, graph_of, nodes_of, rid

FOLDERS = ("/t", "/t/a", "/t/a/e.d", "/t/b")
FILES = ("/t/a/e.d/x", "/t/a/y", "/t/b/z", "/u")
FOREIGN = ("/t/a/e.d/w", "/t/b/v")
VALUES = ("x", "y")


@frozen
class Ground:
    """A host: what stands at each path, and where something is mounted."""

    # `folder` or `leaf`, and its value.
    there: Mapping[str, tuple[str, str]]
    mounts: frozenset[str] = frozenset()

    def below(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(one for one in self.there if one != path and is_below(one, path)))

    def look(self, origin: ResourceId, *, is_removal: bool) -> Observation:
        """Look at a path, as the observer and the types would."""
        if origin.name not in self.there:
            return Absent()
        kind, value = self.there[origin.name]
        found = Present({"kind": kind if kind == "folder" or origin.type == "folder" else origin.type, "value": value})
        if not is_removal and kind != "folder":
            return found
        mounts = tuple(sorted(one for one in self.mounts if is_below(one, origin.name)))
        return evolve(found, holds=self.below(origin.name), mounts=mounts)

    def without(self, *paths: str) -> "Ground":
        return evolve(self, there={path: what for path, what in self.there.items() if path not in paths})


@st.composite
def grounds(draw: st.DrawFn) -> Ground:
    there: dict[str, tuple[str, str]] = {}
    for path in sorted((*FOLDERS, *FILES, *FOREIGN)):
        parent = path.rpartition("/")[0]
        if (not parent or there.get(parent, ("", ""))[0] == "folder") and draw(st.integers(0, 4)):
            there[path] = ("folder" if path in FOLDERS else "leaf", draw(st.sampled_from(VALUES)))
    mounts = draw(st.sets(st.sampled_from(FOLDERS), max_size=1)) if draw(st.integers(0, 5)) == 0 else set[str]()
    return Ground(there, frozenset(mounts & there.keys()))


@st.composite
def targets(draw: st.DrawFn) -> tuple[Resource, ...]:
    """Return what a revision declares: each path not at all, wanted, wanted as something else, or absent."""
    found: list[Resource] = [declare("fake:anchor")]
    for path in (*FOLDERS, *FILES):
        how = draw(st.sampled_from(["", "", "wanted", "absent", "leaf"]))
        kind = "folder" if path in FOLDERS and how != "leaf" else "page" if draw(st.booleans()) else "leaf"
        if not how:
            continue
        said: dict[str, Any] = {"value": draw(st.sampled_from(VALUES))} if how != "absent" else {}
        if kind == "folder" and how == "wanted":
            said["exclusive"] = draw(st.booleans())
        found.append(
            declare(
                f"{kind}:{path}",
                absent=how == "absent",
                allow=[Hazard.DATA_LOSS] if draw(st.booleans()) else [],
                protect=draw(st.integers(0, 9)) == 0,
                audit=draw(st.integers(0, 9)) == 0,
                **said,
            )
        )
    pages = [str(one.id) for one in found if one.id.type == "page"]
    if pages:
        guards = draw(st.sets(st.sampled_from(pages), max_size=3))
        found.append(declare("judge:j", guards=sorted(guards)))
    return tuple(found)


@st.composite
def declarations(draw: st.DrawFn, number: int) -> Declaration:
    found = [
        declare(
            f"{'folder' if path in FOLDERS else 'leaf'}:{path}",
            on_removal=draw(st.sampled_from([None, OnRemoval.DELETE, OnRemoval.DELETE])),
            protect=draw(st.integers(0, 9)) == 0,
            value=draw(st.sampled_from(VALUES)),
        )
        for path in (*FOLDERS, *FILES)
        if draw(st.booleans())
    ]
    return declared_by(number, *found)


def input_of(resources: tuple[Resource, ...], ground: Ground, trail: tuple[Declaration, ...]) -> PlanInput:
    try:
        graph = graph_of(*resources)
    except FleetError:
        # Something would lie where nothing can lie.
        assume(False)
        raise
    declared = {target.key for target in graph.holders if target.kind == "path"}
    seen: dict[ResourceId, Observation] = {}
    for origin, node in graph.nodes.items():
        seen[origin] = Present({"value": "x"})
        if origin.type not in {"fake", "judge"}:
            seen[origin] = ground.look(origin, is_removal=node.resource.absent or origin.type == "folder")
        found = seen[origin]
        if isinstance(found, Present) and origin.type == "folder" and not node.resource.absent:
            # What is declared stays in an exclusive directory, and what it lies in.
            kept = tuple(path for path in found.holds if not any(is_below(one, path) for one in declared))
            seen[origin] = evolve(found, holds=kept)
    orphans = {
        origin: OrphanSight(tuple(Sight(one, node, ground.look(origin, is_removal=True)) for one, node in sayings))
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
        limits=Limits(None, None, None),
    )


@st.composite
def inputs(draw: st.DrawFn) -> tuple[PlanInput, Ground]:
    ground = draw(grounds())
    trail = tuple(draw(declarations(number)) for number in range(draw(st.integers(0, 2)), 0, -1))
    return input_of(draw(targets()), ground, trail), ground


def is_done(action: Action, broken: set[ResourceId]) -> bool:
    return action.hold is None and not action.requires & broken


@frozen
class Done:
    """What a pass does that does the plan, as the reconciler does: nothing whose requirement came to nothing."""

    ground: Ground
    removed: dict[str, Action] = field(factory=dict)


def do(plan: Plan, ground: Ground) -> Done:
    """Do the plan on a host; what goes along must be what the plan says, no more."""
    done = Done(ground)
    broken = {origin for origin, verdict in plan.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    for action in plan.actions:
        path = action.resource.name
        if not is_done(action, broken):
            broken.add(action.resource)
            continue
        below = done.ground.below(path)
        if action.operation is Operation.UPDATE:
            # An exclusive directory in another one finds that it was cleared already.
            gone: tuple[str, ...] = tuple(path for path in action.takes if path in below)
        elif action.operation is Operation.CREATE or path == "anchor":
            continue
        else:
            assert set(below) <= set(action.takes), f"{action.resource} would be held: it changed under us"
            gone = (path, *below)
        done.removed.update(dict.fromkeys(gone, action))
        done = evolve(done, ground=done.ground.without(*gone))
    return done


@settings(max_examples=100, deadline=None)
@over(inputs())
def test_what_goes_along_is_what_the_plan_says_at_every_turn(found: tuple[PlanInput, Ground]) -> None:
    """Nothing that is planned and not held has to be held when its turn comes, and what is in the way goes first."""
    given, ground = found
    plan = plan_pass(given)
    done = do(plan, ground)
    event(f"removed: {min(len(done.removed), 4)}")
    for action in plan.actions:
        event(f"{action.operation} takes {bool(action.takes)} orphan {action.orphan_of is not None}")


@settings(max_examples=100, deadline=None)
@over(inputs())
def test_what_goes_is_declared_so_dropped_and_as_declared_or_allowed_to_be_lost(
    found: tuple[PlanInput, Ground],
) -> None:
    given, ground = found
    plan = plan_pass(given)
    guarded = {
        target.key
        for entry in given.trail
        if isinstance(entry, Declaration)
        for node in entry.nodes.values()
        if node.resource.protect
        for target in node.targets
    }
    for path, action in do(plan, ground).removed.items():
        assert path not in guarded or action.resource.name == path, f"{path} is protected"
        assert not any(is_below(mount, path) for mount in ground.mounts) or action.operation is Operation.UPDATE
        node = given.graph.nodes.get(action.resource)
        if action.orphan_of is not None:
            assert path == action.resource.name, "a dropped directory takes nothing along"
            values = {sight.node.resource.attributes["value"] for sight in given.orphans[action.resource].sights}
            assert ground.there[path][1] in values
            assert path not in guarded
        elif path != action.resource.name and action.operation.removes:
            assert Hazard.DATA_LOSS in action.hazards
            assert node is not None
            assert Hazard.DATA_LOSS in node.resource.allow
        elif path != action.resource.name:
            assert node is not None
            assert getattr(node.desired, "exclusive", False)


@settings(max_examples=60, deadline=None)
@over(inputs())
def test_words_and_actions_agree_and_deeper_ones_go_first(found: tuple[PlanInput, Ground]) -> None:
    given, ground = found
    plan = plan_pass(given)
    removed = [action.resource for action in plan.actions if action.orphan_of is not None]
    gone = do(plan, ground).removed
    for word in plan.orphans:
        event(f"{word.state} {word.rule}")
        assert (word.resource in removed) is (word.rule == "removable")
        assert (word.rule in {"removable", "taken_along"}) <= (word.state is OrphanState.REMOVE)
        assert word.state is not OrphanState.KEPT or word.resource.name not in gone, "what is kept stays"
    for place, origin in enumerate(removed):
        assert not any(later != origin and is_below(later.name, origin.name) for later in removed[place:])
    known = {action.resource for action in plan.actions} | given.graph.nodes.keys()
    for place, action in enumerate(plan.actions):
        assert action.requires <= known
        assert not action.requires & {later.resource for later in plan.actions[place:]}


@settings(max_examples=60, deadline=None)
@over(inputs())
def test_candidates_stand_together_and_are_all_in_the_plan_or_none(found: tuple[PlanInput, Ground]) -> None:
    given, _ = found
    plan = plan_pass(given)
    keys = [action.transaction for action in plan.actions]
    for key in set(keys) - {""}:
        places = [place for place, one in enumerate(keys) if one == key]
        assert places == list(range(places[0], places[-1] + 1))
    assert set(plan.checks) == {key for key in keys if key.startswith("check/")}
    for key in given.graph.checks:
        members = {origin for origin, one in given.graph.guarded.items() if one == key}
        stuck = {origin for origin in members if origin in plan.verdicts and not in_sync(plan, origin)}
        stuck |= {action.resource for action in plan.actions if action.resource in members and action.hold}
        if stuck:
            assert not any(action.resource in members and not action.hold for action in plan.actions)


def in_sync(plan: Plan, origin: ResourceId) -> bool:
    return plan.verdicts[origin].kind is VerdictKind.IN_SYNC


some_limits = st.builds(
    Limits,
    st.none() | st.integers(0, 4),
    st.none() | st.integers(0, 2),
    st.none() | st.integers(0, 100),
    st.dictionaries(st.sampled_from(LimitClass), st.integers(0, 4)),
    st.none() | st.just(TARGET),
)


def amounts(actions: list[Action]) -> tuple[int, int]:
    fresh = [action for action in actions if action.label is not Label.DRIFT]
    deleted = sum(action.operation is Operation.DELETE for action in fresh)
    return (
        deleted + sum(len(action.takes) for action in actions),
        sum(action.operation is Operation.REPLACE for action in fresh),
    )


@settings(max_examples=60, deadline=None)
@over(inputs(), some_limits, st.dictionaries(st.sampled_from(LimitClass), st.integers(0, 4)), st.data())
def test_no_class_is_over_its_limit_and_a_relabelled_plan_is_the_plan(
    found: tuple[PlanInput, Ground], limits: Limits, allowed: Mapping[LimitClass, int], data: st.DataObject
) -> None:
    given, _ = found
    nodes: Mapping[ResourceId, Node] = dict(given.graph.nodes)
    converged = data.draw(
        st.none()
        | st.just(nodes)
        | st.just({**nodes, **nodes_of(*(declare(f"folder:{path}", value="was") for path in FOLDERS))})
    )
    given = evolve(given, limits=limits, allowed=allowed, converged=converged, is_retry=data.draw(st.booleans()))
    plan = plan_pass(given)
    free = [action for action in plan.actions if action.hold is None]
    named = limits.allowed if limits.allowed_from else {}
    for amount, usual, kind in zip(amounts(free), (limits.removals, limits.replaces), LimitClass, strict=False):
        most = None if usual is None else max(usual, allowed.get(kind, 0), named.get(kind, 0))
        assert most is None or amount <= most
    assert relabel(plan_pass(evolve(given, converged=None)), given) == plan
    assert relabel(plan, given) == plan
    assert plan.plan_id == plan_pass(evolve(given, limits=Limits(None, None, None))).plan_id


def test_a_share_that_is_too_large_is_relabelled_away() -> None:
    """The property above has too few resources for the ten changes that the share needs."""
    resources = tuple(declare(f"fake:{number:02}") for number in range(12))
    graph = graph_of(*resources)
    older = declared_by(1, *(declare(str(one.id), value="old") for one in resources))
    seen: dict[ResourceId, Observation] = {origin: Present({"value": "z"}) for origin in graph.order}
    start = PlanInput(
        TARGET, HOST, "sha256:00", graph, PROVIDERS, ObservedState(seen), (older,), limits=Limits(changed=50)
    )
    assert all(action.hold for action in plan_pass(start).actions)
    for base in (graph.nodes, nodes_of(*resources[:3]), {**graph.nodes, rid("fake:more"): graph.nodes[rid("fake:00")]}):
        known = evolve(start, converged=base)
        assert relabel(plan_pass(start), known) == plan_pass(known)
