"""The total order of a graph. Pure.

A graph that has an order and no soft edges needs no more than a heap. networkx, whose import costs as much as
observing thousands of files, is asked where a graph has to be looked at: for knots and for soft edges
(`datum.graph.knots`; ADR 0021). Candidates of one check stand next to each other: while ordering they are one vertex
(ADR 0030).
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.model.graph import Dependency, Node
from datum.model.identity import ResourceId


@frozen
class Ordering:
    """What `order_nodes` found; `order` is empty when `diagnostics` is not."""

    order: tuple[ResourceId, ...]
    dependencies: tuple[Dependency, ...]
    dropped: tuple[Dependency, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


_BY_KEY: Final = attrgetter("sort_key")
_NOBODY: Final[Mapping[ResourceId, str]] = MappingProxyType({})


def order_nodes(
    nodes: Mapping[ResourceId, Node],
    dependencies: Iterable[Dependency],
    guarded: Mapping[ResourceId, str] = _NOBODY,
) -> Ordering:
    """Order all nodes so that each stands after what it depends on; ties are broken by id.

    A soft edge that contradicts the others is dropped. A cycle of the others is a diagnostic that shows it whole,
    one for each knot of the graph.

    Args:
        nodes: by id.
        dependencies: in any order.
        guarded: candidates, and the key of their set: those of one set stand next to each other, placed by the
            smallest id among them. A way from one of them over something else to another one is a cycle.
    """
    held: list[Dependency] = []
    soft: list[Dependency] = []
    for dependency in sorted(set(dependencies), key=_BY_KEY):
        (soft if dependency.soft else held).append(dependency)
    order = _order(nodes, held, guarded)
    if order is None:
        from datum.graph.knots import describe_knots

        return Ordering((), (), (), describe_knots(nodes, held, guarded))
    dropped: list[Dependency] = []
    if soft:
        from datum.graph.knots import split_soft

        kept, dropped = split_soft(nodes, held, soft, guarded)
        held = sorted([*held, *kept], key=_BY_KEY)
        order = _order(nodes, held, guarded) or ()
    return Ordering(tuple(order), tuple(held), tuple(dropped))


def _order(
    nodes: Iterable[ResourceId], dependencies: Sequence[Dependency], guarded: Mapping[ResourceId, str]
) -> Sequence[ResourceId] | None:
    if not guarded:
        return first_by_id(nodes, dependencies)
    sets: dict[str, list[ResourceId]] = {}
    for origin, key in guarded.items():
        sets.setdefault(key, []).append(origin)
    stands_for = {origin: min(members) for members in sets.values() for origin in members}
    inner: dict[ResourceId, list[Dependency]] = {}
    outer: list[tuple[ResourceId, ResourceId]] = []
    for edge in dependencies:
        source = stands_for.get(edge.source, edge.source)
        target = stands_for.get(edge.target, edge.target)
        if source == target and edge.source != edge.target:
            inner.setdefault(source, []).append(edge)
        else:
            outer.append((target, source))
    members = {min(some): first_by_id(some, inner.get(min(some), ())) for some in sets.values()}
    whole = _first_by_id((stands_for.get(origin, origin) for origin in nodes), outer)
    if whole is None or None in members.values():
        return None
    return [one for origin in whole for one in members.get(origin) or (origin,)]


def first_by_id(nodes: Iterable[ResourceId], dependencies: Iterable[Dependency]) -> Sequence[ResourceId] | None:
    """Return the order in which the smallest id goes first of all that are free; None if there is a cycle.

    Kahn's algorithm over a heap, equal to networkx's `lexicographical_topological_sort`, which a property shows.
    """
    return _first_by_id(nodes, ((dependency.target, dependency.source) for dependency in dependencies))


def _first_by_id(
    nodes: Iterable[ResourceId], pairs: Iterable[tuple[ResourceId, ResourceId]]
) -> Sequence[ResourceId] | None:
    """Return that order for pairs of what goes first and what comes later."""
    waits_for = dict.fromkeys(nodes, 0)
    frees: dict[ResourceId, list[ResourceId]] = {}
    for target, source in set(pairs):
        frees.setdefault(target, []).append(source)
        waits_for[source] += 1
    free = [(origin.type, origin.name, origin) for origin, count in waits_for.items() if not count]
    heapify(free)
    order: list[ResourceId] = []
    while free:
        origin = heappop(free)[2]
        order.append(origin)
        for source in frees.get(origin, ()):
            waits_for[source] -= 1
            if not waits_for[source]:
                heappush(free, (source.type, source.name, source))
    return order if len(order) == len(waits_for) else None
