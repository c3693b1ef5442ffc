"""Where a graph has to be looked at: knots shown whole, soft edges that give way. networkx lives here. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import networkx as nx

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.graph import Dependency, Node
from datum.model.identity import ResourceId

SHOWN: Final = 12
"""Edges of a cycle that its sentence names."""


def describe_knots(nodes: Mapping[ResourceId, Node], dependencies: Sequence[Dependency]) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each knot: its shortest cycle, with the origin of every edge."""
    graph = _graph(nodes, dependencies)
    knots = [component for component in nx.strongly_connected_components(graph) if _is_knot(graph, component)]
    return tuple(_describe(nodes, dependencies, _shortest_cycle(graph, knot)) for knot in knots)


def split_soft(
    nodes: Mapping[ResourceId, Node], held: Iterable[Dependency], soft: Iterable[Dependency]
) -> tuple[list[Dependency], list[Dependency]]:
    """Return the soft edges that hold, and those that give way because the others contradict them.

    Taken in their order: a soft edge that holds stands against the later ones.
    """
    graph = _graph(nodes, held)
    kept: list[Dependency] = []
    dropped: list[Dependency] = []
    for dependency in soft:
        if nx.has_path(graph, dependency.source, dependency.target):
            dropped.append(dependency)
        else:
            graph.add_edge(dependency.target, dependency.source)
            kept.append(dependency)
    return kept, dropped


def _graph(nodes: Iterable[ResourceId], dependencies: Iterable[Dependency]) -> "nx.DiGraph[ResourceId]":
    graph: nx.DiGraph[ResourceId] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((dependency.target, dependency.source) for dependency in dependencies)
    return graph


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
        detail=f"No order exists: {_shortened([text for text, _ in steps])}. Remove one of these edges.",
        resource=str(cycle[0]),
        related=tuple(steps),
    )


def _shortened(steps: Sequence[str]) -> str:
    """Return the steps in a sentence; of a long cycle the ends, since every edge stands below with its place."""
    if len(steps) > SHOWN:
        steps = [*steps[: SHOWN // 2], f"… {len(steps) - SHOWN} more …", *steps[-SHOWN // 2 :]]
    return "; ".join(steps)
