"""Checks and the candidates they judge (design 4.2): edges, and which resources make one transaction. Pure.

A check requires what it guards, and what it guards requires all that the check requires: when the candidates are
judged, everything else that the judge needs is there. Checks that share a guard judge one set.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.graph.asking import ask, breach, check_answers, named
from datum.graph.references import unresolved
from datum.model.check import Check
from datum.model.graph import Dependency, DependencyKind, Node
from datum.model.identity import ResourceId
from datum.provider.contract import AnyProvider, CheckingProvider, StagedProvider


@frozen
class Guarding:
    """What the checks of a graph add to it."""

    # Each candidate, and the key of its transaction.
    guarded: Mapping[ResourceId, str] = field(factory=dict)
    # The checks of each transaction, in the order of their ids.
    checks: Mapping[str, tuple[Check, ...]] = field(factory=dict)
    edges: tuple[Dependency, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def guard_candidates(
    nodes: Mapping[ResourceId, Node],
    providers: Mapping[str, AnyProvider],
    dependencies: Iterable[Dependency],
    known: Collection[ResourceId],
) -> Guarding:
    """Ask every check what it guards; a check that is declared absent guards nothing.

    Args:
        nodes: of the graph, in the order of their ids.
        providers: every type.
        dependencies: declared and implicit edges.
        known: every declared id, those included that have no node because of an error of their own.

    Raises:
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    checking = {kind: provider for kind, provider in named(nodes, providers) if isinstance(provider, CheckingProvider)}
    judges = [node for origin, node in nodes.items() if origin.type in checking and not node.resource.absent]
    if not judges:
        return Guarding()
    guards: dict[ResourceId, tuple[ResourceId, ...]] = {}
    checks: dict[ResourceId, Check] = {}
    diagnostics: list[Diagnostic] = []
    for node in judges:
        origin = node.resource.id
        guards[origin] = tuple(_guards_of(node, checking[origin.type], nodes, known, diagnostics))
        checks[origin] = _check_of(node, checking[origin.type])
    diagnostics.extend(_uncheckable(guards, nodes, providers))
    sets = _sets(guards)
    guarded = {guard: sets[origin] for origin, some in guards.items() for guard in some}
    by_key: dict[str, tuple[Check, ...]] = {}
    for origin in sorted(sets):
        by_key[sets[origin]] = (*by_key.get(sets[origin], ()), checks[origin])
    return Guarding(guarded, by_key, tuple(_edges(guards, guarded, nodes, dependencies)), tuple(diagnostics))


def _guards_of(
    node: Node,
    provider: CheckingProvider[object],
    nodes: Mapping[ResourceId, Node],
    known: Collection[ResourceId],
    diagnostics: list[Diagnostic],
) -> Iterator[ResourceId]:
    """Yield what a check guards and what is there, each once; what is wrong with the others is added."""
    resource = node.resource
    answers = ask(resource, "guards", lambda: tuple(provider.guards(node.desired)))
    check_answers(resource, "guards", answers, ResourceId)
    for guard in dict.fromkeys(answers):
        location = resource.references.get(guard, resource.location)
        if guard == resource.id:
            diagnostics.append(_refused(node, guard, "a check cannot guard itself", "take it out of 'guards'"))
        elif guard in nodes:
            yield guard
        elif guard not in known:
            diagnostics.append(unresolved(resource, f"guards {guard}", location))


def _check_of(node: Node, provider: CheckingProvider[object]) -> Check:
    resource = node.resource
    check = ask(resource, "check", lambda: provider.check(resource.id, node.desired))
    check_answers(resource, "check", (check,), Check)
    if check.resource != resource.id:
        raise breach(resource, "check", f"answered the check of {check.resource}")
    return check


def _uncheckable(
    guards: Mapping[ResourceId, Sequence[ResourceId]],
    nodes: Mapping[ResourceId, Node],
    providers: Mapping[str, AnyProvider],
) -> Iterator[Diagnostic]:
    staged = {kind: provider for kind, provider in named(nodes, providers) if isinstance(provider, StagedProvider)}
    for origin, some in guards.items():
        for guard in some:
            why = _why_not(nodes[guard], staged.get(guard.type))
            if why:
                hint = f"take {guard} out of 'guards'; what it needs first belongs into 'requires' of the check"
                yield _refused(nodes[origin], guard, why, hint)


def _why_not(node: Node, provider: StagedProvider[object] | None) -> str:
    if provider is None:
        return f"resources of type '{node.resource.id.type}' cannot be shown to a program before they are in place"
    answer = ask(node.resource, "can_stage", lambda: provider.can_stage(node.desired))
    check_answers(node.resource, "can_stage", (answer,), bool)
    return "" if answer else "as it is declared, it cannot be shown to a program before it is in place"


def _refused(node: Node, guard: ResourceId, why: str, hint: str) -> Diagnostic:
    resource = node.resource
    return Diagnostic(
        location=resource.references.get(guard, resource.location),
        code="cannot-be-checked",
        summary="A check names something that it cannot judge.",
        detail=f"{resource.id} cannot guard {guard}: {why}.",
        hint=hint,
        resource=str(resource.id),
    )


def _sets(guards: Mapping[ResourceId, Sequence[ResourceId]]) -> Mapping[ResourceId, str]:
    """Return the transaction of each check that guards something: one for those that share a guard, over any chain."""
    judges: dict[ResourceId, list[ResourceId]] = {}
    for origin, some in guards.items():
        for guard in some:
            judges.setdefault(guard, []).append(origin)
    keys: dict[ResourceId, str] = {}
    for first in sorted(origin for origin, some in guards.items() if some):
        waiting = [first]
        while waiting:
            origin = waiting.pop()
            if origin not in keys:
                keys[origin] = f"check/{first}"
                waiting.extend(judge for guard in guards[origin] for judge in judges[guard])
    return keys


def _edges(
    guards: Mapping[ResourceId, Sequence[ResourceId]],
    guarded: Mapping[ResourceId, str],
    nodes: Mapping[ResourceId, Node],
    dependencies: Iterable[Dependency],
) -> Iterator[Dependency]:
    """Yield the edges from each check to its guards, and from these to what the check requires."""
    required: dict[ResourceId, dict[ResourceId, None]] = {}
    for edge in dependencies:
        if edge.source in guards and edge.kind is DependencyKind.REQUIRES and not edge.soft:
            required.setdefault(edge.source, {})[edge.target] = None
    for origin, some in guards.items():
        references = nodes[origin].resource.references
        for guard in some:
            yield Dependency(origin, guard, DependencyKind.REQUIRES, "guards", references.get(guard))
            for target in required.get(origin, {}):
                if guarded.get(target) != guarded[guard]:
                    reason = f"required by {origin}"
                    yield Dependency(guard, target, DependencyKind.REQUIRES, reason, references.get(target))
