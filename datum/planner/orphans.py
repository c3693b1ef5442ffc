"""What older revisions declared and the target does not (design 4.3). Pure.

Nobody knows who made an orphan. It is removed only if it equals what some revision of the trail declared, no package
owns it, nothing declared lies below it, and its place or its `on_removal` says so; everything else is kept and named.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

from datum.model.graph import Node, ResourceGraph, may_share
from datum.model.identity import ResourceId
from datum.model.manifest import OnRemoval
from datum.model.observation import Absent, Present, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Label, Orphan, OrphanState
from datum.model.revision import Revision
from datum.planner.decide import (
    BreachError,
    deletion,
    equals,
    hazards_of,
    is_comparable,
    is_protected,
    removal_of,
)
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.provider.contract import AnyProvider, Removal
from datum.provider.paths import is_below

KEEP_LINE: Final = "declare it with 'absent: true' to remove it, or leave it: it is kept"


def find_orphans(
    graph: ResourceGraph, trail: tuple[Declaration | Unresolved, ...]
) -> Mapping[ResourceId, tuple[tuple[Revision, Node], ...]]:
    """Return every id that the trail declares and the target does not, with its declarations, newest first.

    An id that the target names in `moved:` is no orphan, and neither is one that was only ever declared absent.
    """
    moved = {node.resource.moved for node in graph.nodes.values()}
    found: dict[ResourceId, list[tuple[Revision, Node]]] = {}
    for entry in trail:
        if isinstance(entry, Unresolved):
            continue
        for origin, node in entry.nodes.items():
            if origin not in graph.nodes and origin not in moved and not node.resource.absent:
                found.setdefault(origin, []).append((entry.revision, node))
    return {origin: tuple(found[origin]) for origin in sorted(found)}


@frozen
class OrphanPlan:
    """What becomes of the orphans: a word on each, and the deletions in their order."""

    orphans: tuple[Orphan, ...]
    actions: tuple[Action, ...]


def plan_orphans(given: PlanInput, hold: Hold | None) -> OrphanPlan:
    """Decide on every orphan.

    Args:
        given: the whole input of the plan.
        hold: set when all removals of the pass are held.
    """
    words: list[Orphan] = []
    actions: dict[ResourceId, Action] = {}
    for origin in sorted(given.orphans):
        word, action = _judge(origin, given.orphans[origin], given)
        words.append(word)
        if action is not None:
            actions[origin] = action if action.hold or hold is None else evolve(action, hold=hold)
    return OrphanPlan(tuple(words), tuple(actions[origin] for origin in _reverse_order(given, actions)))


@frozen
class _Case:
    """One orphan that can be looked at, and what the rules ask."""

    sights: tuple[Sight, ...]
    package: str | None
    package_unknown: str
    provider: AnyProvider
    given: PlanInput

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
    OrphanState.REMOVE, "removable", "It equals a declaration of the trail, and its place or 'on_removal' says delete."
)


def _judge(origin: ResourceId, sight: OrphanSight, given: PlanInput) -> tuple[Orphan, Action | None]:
    provider = given.providers.get(origin.type)
    declared_by = next((entry.revision for entry in given.trail if _declares(entry, origin)), None)
    action = None
    if provider is None or not sight.sights:
        word = _Word(OrphanState.UNSETTLED, "unresolvable", f"No provider of type '{origin.type}' is installed.")
    else:
        case = _Case(sight.sights, sight.package, sight.package_unknown, provider, given)
        try:
            word = next((found for rule in _RULES if (found := rule(case)) is not None), _REMOVABLE)
            if word is _REMOVABLE:
                action = _deletion(origin, case)
        except BreachError as error:
            word = _Word(OrphanState.UNSETTLED, "unobservable", error.unobservable.detail)
    release = KEEP_LINE if word.state is OrphanState.KEPT else ""
    return Orphan(origin, word.state, word.rule, word.detail, release, declared_by), action


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
    return _Word(OrphanState.ABSENT, "absent", "It is not on the host.")


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


def _unwanted(case: _Case) -> _Word | None:
    """Return what the type, the newest declaration and the place say against it."""
    place = removal_of(case.newest.node, case.provider)
    resource = case.newest.node.resource
    if place is Removal.NEVER:
        detail = "It is one of the few things that are never removed by dropping their declaration."
        return _Word(OrphanState.KEPT, "protected_class", detail)
    if resource.audit:
        detail = f"Revision {case.newest.revision.short} declared it with 'audit: true': it was never acted on."
        return _Word(OrphanState.KEPT, "audit", detail)
    if resource.on_removal is OnRemoval.KEEP:
        detail = f"Revision {case.newest.revision.short} declared it with 'on_removal: keep'."
        return _Word(OrphanState.KEPT, "on_removal", detail)
    if resource.on_removal is None and place is Removal.KEEP:
        return _Word(OrphanState.KEPT, "default_keep", "Its place is not one that is meant to be dropped into.")
    return None


def _modified(case: _Case) -> _Word | None:
    if any(equals(seen.node, seen.observation, case.provider) for seen in case.sights):
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
    for holder in _declared_on_or_below(case):
        detail = f"{holder}, which the target declares, lies below it or is the same thing."
        return _Word(OrphanState.KEPT, "declared_below", detail)
    return None


# The first that has a word decides; where none has, the orphan is removed.
_RULES: Final[tuple[Callable[[_Case], _Word | None], ...]] = (
    _unobservable,
    _absent,
    _blocked,
    _unwanted,
    _modified,
    _owned,
    _still_declared,
)


def _declared_on_or_below(case: _Case) -> Iterable[ResourceId]:
    graph = case.given.graph
    orphan = case.newest.node
    paths = [target.key for target in orphan.targets if target.kind == "path"]
    identity = case.newest.observation.identity if isinstance(case.newest.observation, Present) else ""
    for target, holder in graph.holders.items():
        node = graph.nodes[holder]
        if node.resource.absent or (target in orphan.targets and may_share(orphan, node, target)):
            continue
        seen = case.given.observed.observations.get(holder)
        is_on_it = target in orphan.targets
        is_below_it = target.kind == "path" and any(is_below(target.key, path) for path in paths)
        is_same_thing = bool(identity) and isinstance(seen, Present) and seen.identity == identity
        if is_on_it or is_below_it or is_same_thing:
            yield holder


def _deletion(origin: ResourceId, case: _Case) -> Action:
    """Return the action that removes an orphan; hazards have nobody to allow them, since the target is silent on it."""
    newest = case.newest
    assert isinstance(newest.observation, Present)  # noqa: S101  # the rules let nothing else through
    step = deletion(newest.observation)
    hazards = hazards_of(newest.node, step, case.provider)
    hold = None
    if is_protected(newest.node, case.given.declarations(origin)):
        hold = Hold(
            HoldReason.PROTECT,
            f"A revision of the trail declares {origin} with 'protect: true'.",
            "remove it by hand, or declare it again without 'protect' first",
        )
    elif risks := ", ".join(sorted(hazards)):
        hold = Hold(
            HoldReason.HAZARD,
            f"Removing {origin} risks {risks}.",
            f"declare {origin} with 'absent: true' and 'allow: [{risks}]'",
        )
    return Action(
        resource=origin,
        provider=f"{case.provider.type_name} {case.provider.version}",
        operation=step.operation,
        changes=step.changes,
        hazards=hazards,
        label=Label.RETRY if case.given.is_retry else Label.INTENT,
        hold=hold,
        step=step,
        orphan_of=newest.revision,
    )


def _reverse_order(given: PlanInput, actions: Mapping[ResourceId, Action]) -> list[ResourceId]:
    """Return the deletions in reverse of the old graphs' orders, newest revision first."""
    ordered: dict[ResourceId, None] = {}
    for entry in given.trail:
        if isinstance(entry, Declaration):
            ordered.update(dict.fromkeys(origin for origin in reversed(entry.order) if origin in actions))
    return list(ordered)
