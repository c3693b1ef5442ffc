"""Where a graph has to be looked at: knots shown whole, soft edges that give way. networkx lives here. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import networkx as nx

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.graph import Dependency, Node
from datum.model.identity import ResourceId

SHOWN: Final = 12
"""Edges of a cycle that its sentence names."""

_Vertex: TypeAlias = "ResourceId | str"
"""A resource, or the key of a set of candidates that stands for all of them."""


def describe_knots(
    nodes: Mapping[ResourceId, Node], dependencies: Sequence[Dependency], guarded: Mapping[ResourceId, str]
) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each knot: its shortest cycle, with the origin of every edge.

    A set of candidates is looked at as one vertex where the resources by themselves have no knot.
    """
    plain = _cycles(_graph(nodes, dependencies, lambda origin: origin))
    if plain:
        return tuple(_describe(_steps(nodes, dependencies, cycle), str(cycle[0])) for cycle in plain)
    found = []
    for cycle in _cycles(_graph(nodes, dependencies, _standing(guarded))):
        edges = _edges_of(dependencies, cycle, guarded)
        found.append(_describe(_ways(nodes, edges, guarded), str(min(edge.source for edge in edges))))
    return tuple(found)


def split_soft(
    nodes: Mapping[ResourceId, Node],
    held: Sequence[Dependency],
    soft: Iterable[Dependency],
    guarded: Mapping[ResourceId, str],
) -> tuple[list[Dependency], list[Dependency]]:
    """Return the soft edges that hold, and those that give way because the others contradict them.

    Taken in their order: a soft edge that holds stands against the later ones.
    """
    stands_for = _standing(guarded)
    fine = _graph(nodes, held, lambda origin: origin)
    coarse = _graph(nodes, held, stands_for) if guarded else fine
    kept: list[Dependency] = []
    dropped: list[Dependency] = []
    for dependency in soft:
        source, target = stands_for(dependency.source), stands_for(dependency.target)
        if source == target:
            contradicted = nx.has_path(fine, dependency.source, dependency.target)
        else:
            contradicted = nx.has_path(coarse, source, target)
        if contradicted:
            dropped.append(dependency)
        else:
            fine.add_edge(dependency.target, dependency.source)
            if source != target:
                coarse.add_edge(target, source)
            kept.append(dependency)
    return kept, dropped


def _standing(guarded: Mapping[ResourceId, str]) -> Callable[[ResourceId], _Vertex]:
    return lambda origin: guarded.get(origin, origin)


def _graph(
    nodes: Iterable[ResourceId], dependencies: Iterable[Dependency], stands_for: Callable[[ResourceId], _Vertex]
) -> "nx.DiGraph[_Vertex]":
    """Return the graph whose edges lead from what goes first to what comes later; within a set there are none."""
    graph: nx.DiGraph[_Vertex] = nx.DiGraph()
    graph.add_nodes_from(stands_for(origin) for origin in nodes)
    for edge in dependencies:
        target, source = stands_for(edge.target), stands_for(edge.source)
        if target != source or edge.target == edge.source:
            graph.add_edge(target, source)
    return graph


def _cycles(graph: "nx.DiGraph[_Vertex]") -> list[Sequence[_Vertex]]:
    """Return the shortest cycle of each knot."""
    knots = [component for component in nx.strongly_connected_components(graph) if _is_knot(graph, component)]
    return [_shortest_cycle(graph, knot) for knot in knots]


def _is_knot(graph: "nx.DiGraph[_Vertex]", component: set[_Vertex]) -> bool:
    if len(component) > 1:
        return True
    only = next(iter(component))
    return graph.has_edge(only, only)


def _shortest_cycle(graph: "nx.DiGraph[_Vertex]", knot: set[_Vertex]) -> Sequence[_Vertex]:
    """Return the shortest cycle through the knot's smallest id, each after what it depends on."""
    start = min(knot, key=_by_id)
    inner = graph.subgraph(knot)
    paths = [nx.shortest_path(inner, successor, start) for successor in sorted(inner.successors(start), key=_by_id)]
    return [start, *min(paths, key=len)[:-1]]


def _by_id(vertex: _Vertex) -> tuple[str, str]:
    return (vertex.type, vertex.name) if isinstance(vertex, ResourceId) else ("", vertex)


_Step: TypeAlias = tuple[str, SourceLocation]


def _step(nodes: Mapping[ResourceId, Node], edge: Dependency) -> _Step:
    return (
        f"{edge.source} {edge.kind} {edge.target} ({edge.reason})",
        edge.location or nodes[edge.source].resource.location,
    )


def _steps(
    nodes: Mapping[ResourceId, Node], dependencies: Sequence[Dependency], cycle: Sequence[_Vertex]
) -> Iterator[_Step]:
    """Yield every edge of a cycle of resources."""
    for target, source in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        yield from (_step(nodes, edge) for edge in dependencies if (edge.source, edge.target) == (source, target))


def _edges_of(
    dependencies: Sequence[Dependency], cycle: Sequence[_Vertex], guarded: Mapping[ResourceId, str]
) -> Sequence[Dependency]:
    """Return one edge for each part of a cycle over sets of candidates."""
    stands_for = _standing(guarded)
    pairs = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    return [
        next(edge for edge in dependencies if (stands_for(edge.target), stands_for(edge.source)) == pair)
        for pair in pairs
    ]


def _ways(
    nodes: Mapping[ResourceId, Node], edges: Sequence[Dependency], guarded: Mapping[ResourceId, str]
) -> Iterator[_Step]:
    """Yield the edges of a cycle over sets of candidates, and between two what holds a set together."""
    for earlier, edge in zip([edges[-1], *edges[:-1]], edges, strict=True):
        entered, left = earlier.source, edge.target
        if entered != left:
            check = guarded[left].removeprefix("check/")
            text = f"{left} is put in place together with {entered} (candidates of {check})"
            yield text, nodes[left].resource.location
        yield _step(nodes, edge)


def _describe(found: Iterable[_Step], resource: str) -> Diagnostic:
    steps = list(found)
    steps.reverse()
    return Diagnostic(
        location=steps[0][1],
        code="dependency-cycle",
        summary="Resources wait for each other.",
        detail=f"No order exists: {_shortened([text for text, _ in steps])}. Remove one of these edges.",
        resource=resource,
        related=tuple(steps),
    )


def _shortened(steps: Sequence[str]) -> str:
    """Return the steps in a sentence; of a long cycle the ends, since every edge stands below with its place."""
    if len(steps) > SHOWN:
        steps = [*steps[: SHOWN // 2], f"… {len(steps) - SHOWN} more …", *steps[-SHOWN // 2 :]]
    return "; ".join(steps)
