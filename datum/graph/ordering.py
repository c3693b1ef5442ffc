"""The total order of a graph. Pure.

A graph that has an order which every soft edge agrees with needs no more than a heap. networkx, whose import costs as
much as observing thousands of files, is asked where a graph has to be looked at: for knots, and for soft edges that
contradict the others (`datum.graph.knots`; ADR 0021). Of what is free the earliest stage goes first, then the smallest
id (ADR 0033). Candidates of one check stand next to each other: while ordering they are one vertex (ADR 0030).
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeAlias

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.model.graph import Dependency, Node
from datum.model.identity import ResourceId
from datum.provider.contract import Stage


@frozen
class Ordering:
    """What `order_nodes` found; `order` is empty when `diagnostics` is not."""

    order: tuple[ResourceId, ...]
    dependencies: tuple[Dependency, ...]
    dropped: tuple[Dependency, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


_BY_KEY: Final = attrgetter("sort_key")
_NOBODY: Final[Mapping[ResourceId, str]] = MappingProxyType({})

Stages: TypeAlias = Mapping[ResourceId, int]
"""The stage of every resource that is not of stage `CONTENT`."""

_ALIKE: Final[Stages] = MappingProxyType({})


def order_nodes(
    nodes: Mapping[ResourceId, Node],
    dependencies: Iterable[Dependency],
    guarded: Mapping[ResourceId, str] = _NOBODY,
    stages: Stages = _ALIKE,
) -> Ordering:
    """Order all nodes so that each stands after what it depends on; ties are broken by stage, then by id.

    A soft edge that contradicts the others is dropped. A cycle of the others is a diagnostic that shows it whole,
    one for each knot of the graph.

    Args:
        nodes: by id.
        dependencies: in any order.
        guarded: candidates, and the key of their set: those of one set stand next to each other, placed by the
            first by stage and id among them. A way from one of them over something else to another one is a cycle.
        stages: of those that go before or after the others where no edge decides.
    """
    edges = sorted(set(dependencies), key=_BY_KEY)
    order = _order(nodes, edges, guarded, stages)
    if order is not None:
        return Ordering(tuple(order), tuple(edges), ())
    held = [edge for edge in edges if not edge.soft]
    soft = [edge for edge in edges if edge.soft]
    if not soft or _order(nodes, held, guarded, stages) is None:
        from datum.graph.knots import describe_knots

        return Ordering((), (), (), describe_knots(nodes, held, guarded))
    from datum.graph.knots import split_soft

    kept, dropped = split_soft(nodes, held, soft, guarded)
    held = sorted([*held, *kept], key=_BY_KEY)
    return Ordering(tuple(_order(nodes, held, guarded, stages) or ()), tuple(held), tuple(dropped))


def _order(
    nodes: Iterable[ResourceId], dependencies: Sequence[Dependency], guarded: Mapping[ResourceId, str], stages: Stages
) -> Sequence[ResourceId] | None:
    if not guarded:
        return first_by_stage(nodes, dependencies, stages)

    def place(origin: ResourceId) -> tuple[int, ResourceId]:
        return stages.get(origin, Stage.CONTENT), origin

    sets: dict[str, list[ResourceId]] = {}
    for origin, key in guarded.items():
        sets.setdefault(key, []).append(origin)
    stands_for = {origin: min(members, key=place) for members in sets.values() for origin in members}
    inner: dict[ResourceId, list[Dependency]] = {}
    outer: list[tuple[ResourceId, ResourceId]] = []
    for edge in dependencies:
        source = stands_for.get(edge.source, edge.source)
        target = stands_for.get(edge.target, edge.target)
        if source == target and edge.source != edge.target:
            inner.setdefault(source, []).append(edge)
        else:
            outer.append((target, source))
    members = {
        stands_for[some[0]]: first_by_stage(some, inner.get(stands_for[some[0]], ()), stages) for some in sets.values()
    }
    whole = _first_by_stage((stands_for.get(origin, origin) for origin in nodes), outer, stages)
    if whole is None or None in members.values():
        return None
    return [one for origin in whole for one in members.get(origin) or (origin,)]


def first_by_stage(
    nodes: Iterable[ResourceId], dependencies: Iterable[Dependency], stages: Stages = _ALIKE
) -> Sequence[ResourceId] | None:
    """Return the order in which of all that are free the earliest by stage and id goes first; None if there is a cycle.

    Kahn's algorithm over a heap, equal to networkx's `lexicographical_topological_sort`, which a property shows.
    """
    return _first_by_stage(nodes, ((dependency.target, dependency.source) for dependency in dependencies), stages)


def _first_by_stage(
    nodes: Iterable[ResourceId], pairs: Iterable[tuple[ResourceId, ResourceId]], stages: Stages
) -> Sequence[ResourceId] | None:
    """Return that order for pairs of what goes first and what comes later."""
    waits_for = dict.fromkeys(nodes, 0)
    frees: dict[ResourceId, list[ResourceId]] = {}
    for target, source in set(pairs):
        frees.setdefault(target, []).append(source)
        waits_for[source] += 1
    usual = int(Stage.CONTENT)
    free = [
        (stages.get(origin, usual), origin.type, origin.name, origin)
        for origin, count in waits_for.items()
        if not count
    ]
    heapify(free)
    order: list[ResourceId] = []
    while free:
        origin = heappop(free)[3]
        order.append(origin)
        for source in frees.get(origin, ()):
            waits_for[source] -= 1
            if not waits_for[source]:
                heappush(free, (stages.get(source, usual), source.type, source.name, source))
    return order if len(order) == len(waits_for) else None
