"""What owes a restart or a reload after others changed (design 4.1): the edges that follow from it. Pure.

What is listed comes before what lists it, and that is all: a failure of it keeps nothing from being started or stopped.
The planner alone lets it keep the refresh from being done.
"""

from collections.abc import Collection, Mapping

from attrs import field, frozen

from datum.diagnostics import Diagnostic, Severity
from datum.graph.asking import ask, breach, check_answers, named
from datum.graph.references import unresolved
from datum.model.graph import Dependency, DependencyKind, Node, ResourceGraph
from datum.model.identity import ResourceId
from datum.model.plan import Operation
from datum.provider.contract import AnyProvider, RefreshedProvider


@frozen
class Triggering:
    """What the triggers of a graph add to it."""

    # Everything wanted that can be refreshed, and after whose change each owes what; all ids are declared.
    triggers: Mapping[ResourceId, Mapping[ResourceId, Operation]] = field(factory=dict)
    edges: tuple[Dependency, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def find_triggers(
    nodes: Mapping[ResourceId, Node], providers: Mapping[str, AnyProvider], known: Collection[ResourceId]
) -> Triggering:
    """Ask everything that can be refreshed what it lists; what is declared absent lists nothing.

    Args:
        nodes: of the graph, in the order of their ids.
        providers: every type.
        known: every declared id, those included that have no node because of an error of their own.

    Raises:
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    kinds = {kind: provider for kind, provider in named(nodes, providers) if isinstance(provider, RefreshedProvider)}
    triggers: dict[ResourceId, Mapping[ResourceId, Operation]] = {}
    edges: list[Dependency] = []
    diagnostics: list[Diagnostic] = []
    for origin, node in nodes.items() if kinds else ():
        provider = kinds.get(origin.type)
        if provider is None or node.resource.absent:
            continue
        listed = _listed(node, provider)
        triggers[origin] = {one: listed[one] for one in sorted(listed) if one in nodes and one != origin}
        for one, operation in triggers[origin].items():
            location = node.resource.references.get(one)
            edges.append(Dependency(origin, one, DependencyKind.AFTER, field_of(operation), location))
        diagnostics += [_refused(node, one, listed[one]) for one in listed if one == origin or one not in known]
    return Triggering(triggers, tuple(edges), tuple(diagnostics))


def advise(graph: ResourceGraph, providers: Mapping[str, AnyProvider]) -> tuple[Diagnostic, ...]:
    """Return a note for each thing that can be refreshed and is listed by another one: what that does not mean."""
    return tuple(
        _advice(graph.nodes[origin], one, operation)
        for origin, listed in graph.triggers.items()
        for one, operation in listed.items()
        if isinstance(providers[one.type], RefreshedProvider)
    )


def _advice(node: Node, listed: ResourceId, operation: Operation) -> Diagnostic:
    resource, origin = node.resource, node.resource.id
    said = resource.origins.get(field_of(operation))
    return Diagnostic(
        location=resource.references.get(listed, said.winner.location if said else resource.location),
        code="restart-with-another",
        summary="It goes along with another one in a pass alone.",
        detail=f"{origin} lists {listed} in '{field_of(operation)}': it is refreshed where the same pass restarts, "
        "reloads or starts that one, and not where somebody else does.",
        hint=f"if it shall always go along, say so to systemd: PartOf= in a drop-in of {origin.name}",
        resource=str(origin),
        severity=Severity.NOTE,
    )


def field_of(operation: Operation) -> str:
    """Return the field of a declaration that lists what an operation is owed to."""
    return "reload_on" if operation is Operation.REFRESH_RELOAD else "restart_on"


def _listed(node: Node, provider: RefreshedProvider[object]) -> Mapping[ResourceId, Operation]:
    resource = node.resource
    listed = ask(resource, "triggers", lambda: dict(provider.triggers(node.desired)))
    check_answers(resource, "triggers", listed, ResourceId)
    check_answers(resource, "triggers", listed.values(), Operation)
    for operation in listed.values():
        if not operation.refreshes:
            raise breach(resource, "triggers", f"answered {operation}, which is neither a restart nor a reload")
    return listed


def _refused(node: Node, listed: ResourceId, operation: Operation) -> Diagnostic:
    resource = node.resource
    location = resource.references.get(listed, resource.location)
    if listed == resource.id:
        return Diagnostic(
            location=location,
            code="bad-value",
            summary="A value cannot be meant.",
            detail=f"{resource.id} lists itself in '{field_of(operation)}': its own change is no reason to refresh it.",
            hint=f"take {listed} out of '{field_of(operation)}'",
            resource=str(resource.id),
        )
    return unresolved(resource, f"lists {listed} in '{field_of(operation)}'", location)
