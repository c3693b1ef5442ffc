"""The total order of a graph. Pure.

A graph that has an order and no soft edges needs no more than a heap. networkx, whose import costs as much as
observing thousands of files, is asked where a graph has to be looked at: for knots and for soft edges
(`datum.graph.knots`; ADR 0021).
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
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


def order_nodes(nodes: Mapping[ResourceId, Node], dependencies: Iterable[Dependency]) -> Ordering:
    """Order all nodes so that each stands after what it depends on; ties are broken by id.

    A soft edge that contradicts the others is dropped. A cycle of the others is a diagnostic that shows it whole,
    one for each knot of the graph.
    """
    held: list[Dependency] = []
    soft: list[Dependency] = []
    for dependency in sorted(set(dependencies), key=_BY_KEY):
        (soft if dependency.soft else held).append(dependency)
    order = first_by_id(nodes, held)
    if order is None:
        from datum.graph.knots import describe_knots

        return Ordering((), (), (), describe_knots(nodes, held))
    dropped: list[Dependency] = []
    if soft:
        from datum.graph.knots import split_soft

        kept, dropped = split_soft(nodes, held, soft)
        held = sorted([*held, *kept], key=_BY_KEY)
        order = first_by_id(nodes, held) or ()
    return Ordering(tuple(order), tuple(held), tuple(dropped))


def first_by_id(nodes: Iterable[ResourceId], dependencies: Iterable[Dependency]) -> Sequence[ResourceId] | None:
    """Return the order in which the smallest id goes first of all that are free; None if there is a cycle.

    Kahn's algorithm over a heap, equal to networkx's `lexicographical_topological_sort`, which a property shows.
    """
    waits_for = dict.fromkeys(nodes, 0)
    frees: dict[ResourceId, list[ResourceId]] = {}
    for target, source in {(dependency.target, dependency.source) for dependency in dependencies}:
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
