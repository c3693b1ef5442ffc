"""The total order of a graph, its cycles, and the soft edges that give way. networkx lives here. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import networkx as nx
from attrs import frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.graph import Dependency, Node
from datum.model.identity import ResourceId


@frozen
class Ordering:
    """What `order_nodes` found; `order` is empty when `diagnostics` is not."""

    order: tuple[ResourceId, ...]
    dependencies: tuple[Dependency, ...]
    dropped: tuple[Dependency, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def order_nodes(nodes: Mapping[ResourceId, Node], dependencies: Iterable[Dependency]) -> Ordering:
    """Order all nodes so that each stands after what it depends on; ties are broken by id.

    A soft edge that contradicts the others is dropped. A cycle of the others is a diagnostic that shows it whole,
    one for each knot of the graph.
    """
    graph: nx.DiGraph[ResourceId] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    held: list[Dependency] = []
    soft: list[Dependency] = []
    for dependency in sorted(set(dependencies)):
        (soft if dependency.soft else held).append(dependency)
    graph.add_edges_from((dependency.target, dependency.source) for dependency in held)
    knots = [component for component in nx.strongly_connected_components(graph) if _is_knot(graph, component)]
    if knots:
        cycles = tuple(_describe(nodes, held, _shortest_cycle(graph, knot)) for knot in knots)
        return Ordering((), (), (), cycles)
    dropped: list[Dependency] = []
    for dependency in soft:
        if nx.has_path(graph, dependency.source, dependency.target):
            dropped.append(dependency)
        else:
            graph.add_edge(dependency.target, dependency.source)
            held.append(dependency)
    order = nx.lexicographical_topological_sort(graph, key=lambda origin: (origin.type, origin.name))
    return Ordering(tuple(order), tuple(sorted(held)), tuple(dropped))


def _is_knot(graph: "nx.DiGraph[ResourceId]", component: set[ResourceId]) -> bool:
    if len(component) > 1:
        return True
    only = next(iter(component))
    return graph.has_edge(only, only)


def _shortest_cycle(graph: "nx.DiGraph[ResourceId]", knot: set[ResourceId]) -> Sequence[ResourceId]:
    """Return the shortest cycle through the knot's smallest id, each id after what it depends on."""
    start = min(knot)
    inner = graph.subgraph(knot)
    paths = [nx.shortest_path(inner, successor, start) for successor in sorted(inner.successors(start))]
    return [start, *min(paths, key=len)[:-1]]


def _describe(
    nodes: Mapping[ResourceId, Node], dependencies: Iterable[Dependency], cycle: Sequence[ResourceId]
) -> Diagnostic:
    steps: list[tuple[str, SourceLocation]] = []
    for target, source in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        steps.extend(
            (
                f"{source} {edge.kind} {target} ({edge.reason})",
                edge.location or nodes[source].resource.location,
            )
            for edge in dependencies
            if (edge.source, edge.target) == (source, target)
        )
    steps.reverse()
    return Diagnostic(
        location=steps[0][1],
        code="dependency-cycle",
        summary="Resources wait for each other.",
        detail="No order exists: " + "; ".join(text for text, _ in steps) + ". Remove one of these edges.",
        resource=str(cycle[0]),
        related=tuple(steps),
    )
