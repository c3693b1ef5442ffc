"""What older revisions declared and the target does not (design 4.3). Pure.

Nobody knows who made an orphan. It is removed only if it equals what some revision of the trail declared, no package
owns it, nothing declared lies below it, and its place or its `on_removal` says so; everything else is kept and named.
"""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from datum.model.graph import Node, ResourceGraph
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, OnRemoval
from datum.model.observation import Absent, Observation, ObservedState, Present, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Label, Orphan, OrphanState
from datum.model.revision import Revision
from datum.planner.decide import BreachError, deletion, equals, guarded, hazards_of
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
    blocked = _blocked(given)
    words: dict[ResourceId, Orphan] = {}
    actions: dict[ResourceId, Action] = {}
    for origin, sight in given.orphans.items():
        provider = given.providers.get(origin.type)
        word, action = _judge(origin, sight, provider, given, blocked)
        words[origin] = word
        if action is not None:
            actions[origin] = action if action.hold or hold is None else _held(action, hold)
    ordered = tuple(actions[origin] for origin in _reverse_order(given, actions))
    return OrphanPlan(tuple(words[origin] for origin in sorted(words)), ordered)


def _held(action: Action, hold: Hold) -> Action:
    return evolve(action, hold=hold)


def _blocked(given: PlanInput) -> Orphan | None:
    """Return why nothing at all may be removed in this pass, as a word without a resource."""
    for entry in given.trail:
        if isinstance(entry, Unresolved):
            return _word(
                "unresolvable",
                f"Revision {entry.revision.short} of the trail cannot be resolved, so nothing is removed: "
                f"{entry.detail}",
            )
    if not given.graph.nodes:
        return _word("empty_manifest", "The target declares nothing for this host, so nothing is removed.")
    return None


def _word(rule: str, detail: str) -> Orphan:
    return Orphan(ResourceId("orphan", "?"), OrphanState.UNSETTLED, rule, detail)


def _judge(
    origin: ResourceId,
    sight: OrphanSight,
    provider: AnyProvider | None,
    given: PlanInput,
    blocked: Orphan | None,
) -> tuple[Orphan, Action | None]:
    newest = sight.sights[0]

    def word(state: OrphanState, rule: str, detail: str, release: str = "") -> Orphan:
        return Orphan(origin, state, rule, detail, release, newest.revision)

    if provider is None:
        return word(OrphanState.UNSETTLED, "unresolvable", f"No provider of type '{origin.type}' is installed."), None
    if isinstance(newest.observation, Unobservable):
        return word(OrphanState.UNSETTLED, "unobservable", newest.observation.detail), None
    if isinstance(newest.observation, Absent):
        return word(OrphanState.ABSENT, "absent", "It is not on the host."), None
    if blocked is not None:
        return word(OrphanState.UNSETTLED, blocked.rule, blocked.detail), None
    try:
        kept = _keep_rule(sight, provider, given)
        if kept is not None:
            rule, detail = kept
            return word(OrphanState.KEPT, rule, detail, KEEP_LINE), None
        action = _deletion(origin, newest, provider, given)
    except BreachError as error:
        return word(OrphanState.UNSETTLED, "unobservable", error.unobservable.detail), None
    return word(OrphanState.REMOVE, "removable", "It equals its declaration and its place says delete."), action


def _keep_rule(sight: OrphanSight, provider: AnyProvider, given: PlanInput) -> tuple[str, str] | None:
    newest = sight.sights[0]
    wish = newest.node.resource.on_removal
    place = guarded(provider, "removal", lambda: provider.removal(newest.node.desired))
    if place is Removal.NEVER:
        return "protected_class", "It is one of the few things that are never removed by dropping their declaration."
    if wish is OnRemoval.KEEP:
        return "on_removal", f"Revision {newest.revision.short} declared it with 'on_removal: keep'."
    if wish is None and place is Removal.KEEP:
        return "default_keep", "Its place is not one that is meant to be dropped into."
    if not any(equals(seen.node, seen.observation, provider) for seen in sight.sights):
        return "modified", "It was changed since, or cannot be compared: no revision of the trail declared it so."
    if sight.package:
        return "package_owned", f"The package {sight.package} owns it."
    below = _declared_on_or_below(newest, given.graph, given.observed)
    if below is not None:
        return "declared_below", f"{below}, which the target declares, lies below it or is the same thing."
    return None


def _declared_on_or_below(newest: Sight, graph: ResourceGraph, observed: ObservedState) -> ResourceId | None:
    paths = [target.key for target in newest.node.targets if target.kind == "path"]
    identity = newest.observation.identity if isinstance(newest.observation, Present) else ""
    for target, holder in graph.holders.items():
        if graph.nodes[holder].resource.absent:
            continue
        if target in newest.node.targets:
            return holder
        if target.kind == "path" and any(is_below(target.key, path) for path in paths):
            return holder
        seen: Observation | None = observed.observations.get(holder)
        if identity and isinstance(seen, Present) and seen.identity == identity:
            return holder
    return None


def _deletion(origin: ResourceId, newest: Sight, provider: AnyProvider, given: PlanInput) -> Action | None:
    if not isinstance(newest.observation, Present):
        return None
    step = deletion(newest.observation)
    hazards: frozenset[Hazard] = hazards_of(newest.node, step, provider)
    hold = None
    if any(node.resource.protect for node in given.declarations(origin)):
        hold = Hold(
            HoldReason.PROTECT,
            f"A revision of the trail declares {origin} with 'protect: true'.",
            "remove it by hand, or declare it again without 'protect' first",
        )
    elif hazards:
        hold = Hold(
            HoldReason.HAZARD,
            f"Removing {origin} risks {', '.join(sorted(hazards))}.",
            f"declare {origin} with 'absent: true' and 'allow: [{', '.join(sorted(hazards))}]'",
        )
    return Action(
        resource=origin,
        provider=f"{provider.type_name} {provider.version}",
        operation=step.operation,
        changes=step.changes,
        hazards=hazards,
        label=Label.INTENT if not given.is_retry else Label.RETRY,
        hold=hold,
        step=step,
        orphan_of=newest.revision,
    )


def _reverse_order(given: PlanInput, actions: Mapping[ResourceId, Action]) -> list[ResourceId]:
    """Return the deletions in reverse of the old graphs' orders, newest revision first."""
    ordered: list[ResourceId] = []
    for entry in given.trail:
        if isinstance(entry, Declaration):
            ordered.extend(origin for origin in reversed(entry.order) if origin in actions and origin not in ordered)
    return ordered
