"""What older revisions declared and the target does not (design 4.3). Pure.

Nobody knows who made an orphan. It is removed only if it equals what some revision of the trail declared, no package
owns it, nothing declared lies below it, its place or its `on_removal` says so, and nothing would go with it that no
deletion removes by itself; everything else is kept and named. What lies deeper is judged first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from attrs import evolve, frozen

from datum.model.graph import Node, ResourceGraph
from datum.model.identity import ResourceId
from datum.model.manifest import OnRemoval
from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Label, Orphan, OrphanState, Step
from datum.model.revision import Revision
from datum.planner.decide import (
    BreachError,
    deletion,
    hazards_of,
    is_comparable,
    is_protected,
    is_rest_of,
    removal_of,
    sweep,
)
from datum.planner.ground import Ground, movers_of
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.planner.releases import line_of_held, line_of_kept
from datum.planner.removals import Removals
from datum.provider.contract import AnyProvider, Removal
from datum.provider.paths import parents

SHOWN: Final = 5
"""Paths that the word on an orphan names."""

REMOVABLE: Final = "removable"
"""The rule on what goes by a deletion of its own."""
TAKEN_OVER: Final = "taken_over"
"""The rule on what has all its places held by other resources of the target now."""
MOVED: Final = "moved"
"""The rule on what the target names in `moved:`, and what holds other places under its new id."""


def find_orphans(
    graph: ResourceGraph, trail: tuple[Declaration | Unresolved, ...]
) -> Mapping[ResourceId, tuple[tuple[Revision, Node], ...]]:
    """Return every id that the trail declares and the target does not, with its declarations, newest first.

    An id that the target names in `moved:` is no orphan where the new one holds all that the old one held, and neither
    is one that was only ever declared absent.
    """
    movers = movers_of(graph)
    found: dict[ResourceId, list[tuple[Revision, Node]]] = {}
    for entry in trail:
        if isinstance(entry, Unresolved):
            continue
        for origin, node in entry.nodes.items():
            mover = movers.get(origin)
            is_moved = mover is not None and set(node.targets) <= set(graph.nodes[mover].targets)
            if origin not in graph.nodes and not is_moved and not node.resource.absent:
                found.setdefault(origin, []).append((entry.revision, node))
    return {origin: tuple(found[origin]) for origin in sorted(found)}


@frozen
class OrphanPlan:
    """What becomes of the orphans: a word on each, sorted, and the deletions in their order."""

    orphans: tuple[Orphan, ...]
    actions: tuple[Action, ...]
    # What the deletions remove.
    removals: Removals


def plan_orphans(given: PlanInput) -> OrphanPlan:
    """Decide on every orphan, the deepest paths first: a directory may go when all that lies in it goes."""
    removals = Removals()
    if not given.orphans:
        return OrphanPlan((), (), removals)
    ground = Ground(given)
    # What deletions remove that lie deeper: of orphans, and of what the target declares absent, whatever may hold it.
    going = Removals()
    words: dict[ResourceId, Orphan] = {}
    actions: dict[ResourceId, Action] = {}
    for origin in _deepest_first(given):
        sight = given.orphans.get(origin)
        if sight is None:
            seen = given.observed.observations[origin]
            assert isinstance(seen, Present)  # noqa: S101  # `_deepest_first` names no others
            going.add(given.graph.nodes[origin], seen.holds)
            continue
        words[origin], action = _judge(origin, sight, given, (ground, going))
        if action is not None:
            actions[origin] = action
            for one in (going, removals):
                one.add(sight.sights[0].node)
    return OrphanPlan(
        tuple(words[origin] for origin in sorted(words)),
        tuple(actions[origin] for origin in _in_order(given, actions)),
        removals,
    )


def _deepest_first(given: PlanInput) -> Sequence[ResourceId]:
    """Return the orphans and what the target declares absent, the deepest paths first."""
    depths = {origin: _depth(sight.sights[0].node if sight.sights else None) for origin, sight in given.orphans.items()}
    for origin, node in given.graph.nodes.items():
        if node.resource.absent and isinstance(given.observed.observations[origin], Present):
            depths[origin] = _depth(node)
    return sorted(depths, key=lambda origin: (-depths[origin], origin))


def _depth(node: Node | None) -> int:
    """Return how many directories are above its uppermost path; 0 without a path."""
    targets = node.targets if node is not None else ()
    return min((len(parents(target.key)) for target in targets if target.kind == "path"), default=0)


@frozen
class _Case:
    """One orphan that can be looked at, and what the rules ask."""

    sights: tuple[Sight, ...]
    package: str | None
    package_unknown: str
    provider: AnyProvider
    given: PlanInput
    ground: Ground
    # Deletions of the plan that may lie below it.
    going: Removals

    @property
    def newest(self) -> Sight:
        return self.sights[0]


@frozen
class _Word:
    """What one rule says of an orphan."""

    state: OrphanState
    rule: str
    detail: str


_REMOVABLE: Final = _Word(
    OrphanState.REMOVE, REMOVABLE, "It equals a declaration of the trail, and its place or 'on_removal' says delete."
)
_NO_DROP_IN: Final = "Its place is not one that is meant to be dropped into."
_SWEPT: Final = _Word(
    OrphanState.REMOVE, REMOVABLE, "It is not on the host, but what a killed write or removal left is beside its place."
)


def _judge(
    origin: ResourceId, sight: OrphanSight, given: PlanInput, around: tuple[Ground, Removals]
) -> tuple[Orphan, Action | None]:
    provider = given.providers.get(origin.type)
    declared_by = next((entry.revision for entry in given.trail if _declares(entry, origin)), None)
    action, release = None, ""
    if provider is None or not sight.sights:
        word = _Word(OrphanState.UNSETTLED, "unresolvable", f"No provider of type '{origin.type}' is installed.")
    else:
        case = _Case(sight.sights, sight.package, sight.package_unknown, provider, given, *around)
        try:
            word = next((found for rule in _RULES if (found := rule(case)) is not None), _REMOVABLE)
            if word.rule == REMOVABLE:
                action = _deletion(origin, case)
            release = _release(word, case)
        except BreachError as error:
            word, release = _Word(OrphanState.UNSETTLED, "unobservable", error.unobservable.detail), ""
    return Orphan(origin, word.state, word.rule, word.detail, release, declared_by), action


def _release(word: _Word, case: _Case) -> str:
    """Return the line that settles what is kept: none that the target could not be declared with."""
    if word.state is not OrphanState.KEPT or word.rule == TAKEN_OVER:
        return ""
    if word.rule == MOVED:
        origin = case.newest.node.resource.id
        return f"drop 'moved: {origin}' and declare {origin} with 'absent: true' to remove it, or leave it: it is kept"
    for holder in case.ground.on_or_below(case.newest.node, case.newest.observation):
        return f"leave it: it is kept while {holder} is declared; what else of it is to go, declare absent by its path"
    return line_of_kept(case.newest.node, case.newest.observation, case.provider)


def _declares(entry: Declaration | Unresolved, origin: ResourceId) -> bool:
    return isinstance(entry, Declaration) and origin in entry.nodes and not entry.nodes[origin].resource.absent


def _unobservable(case: _Case) -> _Word | None:
    found = case.newest.observation
    return _Word(OrphanState.UNSETTLED, "unobservable", found.detail) if isinstance(found, Unobservable) else None


def _absent(case: _Case) -> _Word | None:
    if not isinstance(case.newest.observation, Absent):
        return None
    for older in case.sights[1:]:
        if isinstance(older.observation, Unobservable):
            return _Word(OrphanState.UNSETTLED, "unobservable", older.observation.detail)
        if isinstance(older.observation, Present):
            detail = f"Revision {older.revision.short} declared it otherwise, and what it meant is on the host."
            return _Word(OrphanState.KEPT, "declared_otherwise", detail)
    return None if sweep(case.newest.observation) else _Word(OrphanState.ABSENT, "absent", "It is not on the host.")


def _taken_over(case: _Case) -> _Word | None:
    heir = case.ground.heir_of(case.newest.node)
    if heir is None:
        return None
    if case.ground.stands(heir):
        return _Word(OrphanState.ABSENT, TAKEN_OVER, f"{heir}, which the target declares, stands in its place.")
    return _Word(OrphanState.KEPT, TAKEN_OVER, f"Its place is that of {heir} now, which is not there yet.")


def _blocked(case: _Case) -> _Word | None:
    """Return why nothing at all may be removed in this pass."""
    for entry in case.given.trail:
        if isinstance(entry, Unresolved):
            detail = f"Revision {entry.revision.short} of the trail cannot be resolved, so nothing is removed: "
            return _Word(OrphanState.UNSETTLED, "unresolvable", detail + entry.detail)
    if not case.given.graph.nodes:
        detail = "The target declares nothing for this host, so nothing is removed."
        return _Word(OrphanState.UNSETTLED, "empty_manifest", detail)
    return None


def _moved(case: _Case) -> _Word | None:
    mover = case.ground.mover_of(case.newest.node)
    if mover is None:
        return None
    detail = f"It has the id {mover} now, which holds another place: what it was before is never removed by moving."
    return _Word(OrphanState.KEPT, MOVED, detail)


def _unwanted(case: _Case) -> _Word | None:
    """Return what the type, the newest declaration and the place say against it."""
    node, removal = case.newest.node, removal_of(case.newest.node, case.provider)
    resource = node.resource
    if removal is Removal.NEVER:
        detail = "It is one of the few things that are never removed by dropping their declaration."
        return _Word(OrphanState.KEPT, "protected_class", detail)
    if resource.audit:
        detail = f"Revision {case.newest.revision.short} declared it with 'audit: true': it was never acted on."
        return _Word(OrphanState.KEPT, "audit", detail)
    if resource.on_removal is OnRemoval.KEEP:
        detail = f"Revision {case.newest.revision.short} declared it with 'on_removal: keep'."
        return _Word(OrphanState.KEPT, "on_removal", detail)
    if resource.on_removal is None and removal is Removal.KEEP and not _is_cleared(case):
        is_placed = any(target.kind == "path" and not target.shared for target in node.targets)
        stays = f"A {resource.id.type} stays when its declaration is dropped: what else needs it is not known."
        return _Word(OrphanState.KEPT, "default_keep", _NO_DROP_IN if is_placed else stays)
    return None


def _is_cleared(case: _Case) -> bool:
    """Whether the target clears it away: where a revision protects it, that is held, and a deletion would be too."""
    older = case.given.declarations(case.newest.node.resource.id)
    return not is_protected(case.newest.node, older) and case.ground.is_cleared(case.newest.node)


def _modified(case: _Case) -> _Word | None:
    if isinstance(case.newest.observation, Absent):
        return None
    if any(is_rest_of(seen.node, seen.observation, case.provider) for seen in case.sights):
        return None
    if all(is_comparable(seen.observation) for seen in case.sights):
        detail = "It was changed since: no revision of the trail declared it so."
        return _Word(OrphanState.KEPT, "modified", detail)
    return _Word(OrphanState.UNSETTLED, "unobservable", "It cannot be compared with what the trail declared.")


def _owned(case: _Case) -> _Word | None:
    if case.package_unknown:
        return _Word(OrphanState.UNSETTLED, "unobservable", case.package_unknown)
    if case.package is None:
        return None
    return _Word(OrphanState.KEPT, "package_owned", f"The package {case.package} owns it.")


def _still_declared(case: _Case) -> _Word | None:
    for holder in case.ground.on_or_below(case.newest.node, case.newest.observation):
        detail = f"{holder}, which the target declares, lies below it or is the same thing."
        return _Word(OrphanState.KEPT, "declared_below", detail)
    return None


def _in_the_way(case: _Case) -> _Word | None:
    seen = case.newest.observation
    for path in seen.mounts if isinstance(seen, Present) else ():
        return _Word(OrphanState.KEPT, "holds_mount", f"Something is mounted on {path}.")
    for obstacle in seen.obstacles if isinstance(seen, Present) else ():
        return _Word(OrphanState.KEPT, "obstacle", obstacle)
    return None


def _holding(case: _Case) -> _Word | None:
    left = case.going.left_of(_holds(case.newest.observation)).names
    if not left:
        return None
    shown = ", ".join(left[:SHOWN]) + (f" and {len(left) - SHOWN} more" if len(left) > SHOWN else "")
    detail = f"It would take along what no deletion of this plan removes: {shown}."
    return _Word(OrphanState.KEPT, "holds_data", detail)


def _swept(case: _Case) -> _Word | None:
    return _SWEPT if isinstance(case.newest.observation, Absent) else None


# The first that has a word decides; where none has, the orphan is removed.
_RULES: Final[tuple[Callable[[_Case], _Word | None], ...]] = (
    _unobservable,
    _absent,
    _taken_over,
    _blocked,
    _moved,
    _unwanted,
    _modified,
    _owned,
    _still_declared,
    _in_the_way,
    _holding,
    _swept,
)


def _holds(observation: Observation) -> tuple[str, ...]:
    return observation.holds if isinstance(observation, Present) else ()


def _step(observation: Observation) -> Step:
    """Return the step that removes it, or what is left beside its place."""
    step = sweep(observation) if isinstance(observation, Absent) else None
    if step is not None:
        return step
    assert isinstance(observation, Present)  # noqa: S101  # the rules let nothing else through
    return deletion(observation)


def _deletion(origin: ResourceId, case: _Case) -> Action:
    """Return the action that removes an orphan; hazards have nobody to allow them, since the target is silent on it."""
    newest = case.newest
    taking = case.going.left_of(_holds(newest.observation))
    step = evolve(_step(newest.observation), takes=taking.names)
    hazards = hazards_of(newest.node, step, case.provider)
    hold = None
    if step.removes and is_protected(newest.node, case.given.declarations(origin)):
        hold = Hold(
            HoldReason.PROTECT,
            f"A revision of the trail declares {origin} with 'protect: true'.",
            "remove it by hand, or declare it again without 'protect' first",
        )
    elif risks := ", ".join(sorted(hazards)):
        hold = Hold(
            HoldReason.HAZARD,
            f"Removing {origin} risks {risks}.",
            line_of_held(newest.node, hazards, case.provider),
        )
    return Action(
        resource=origin,
        provider=f"{case.provider.type_name} {case.provider.version}",
        operation=step.operation,
        changes=step.changes,
        hazards=hazards,
        label=Label.RETRY if case.given.is_retry else Label.INTENT,
        hold=hold,
        requires=taking.leans_on,
        step=step,
        orphan_of=newest.revision,
    )


def _in_order(given: PlanInput, actions: Mapping[ResourceId, Action]) -> Iterable[ResourceId]:
    """Return the deletions in reverse of the old graphs' orders, newest revision first, but what lies deeper first."""
    reverse: dict[ResourceId, None] = {}
    for entry in given.trail:
        if isinstance(entry, Declaration):
            reverse.update(dict.fromkeys(origin for origin in reversed(entry.order) if origin in actions))
    place = {origin: number for number, origin in enumerate(reverse)}
    waits_for = {origin: actions[origin].requires & actions.keys() for origin in reverse}
    frees: dict[ResourceId, list[ResourceId]] = {}
    for origin, others in waits_for.items():
        for other in others:
            frees.setdefault(other, []).append(origin)
    left = {origin: len(others) for origin, others in waits_for.items()}
    free = [(place[origin], origin) for origin, number in left.items() if not number]
    heapify(free)
    while free:
        _, origin = heappop(free)
        yield origin
        for freed in frees.get(origin, ()):
            left[freed] -= 1
            if not left[freed]:
                heappush(free, (place[freed], freed))
