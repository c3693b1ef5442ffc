"""Properties of the graph (design 4.5) over random declarations: order, determinism, cycles shown whole."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from datum.errors import FleetError
from datum.graph.build import build_graph
from datum.graph.ordering import first_by_stage, order_nodes
from datum.model.graph import Dependency, DependencyKind, ResourceGraph
from datum.model.identity import ResourceId
from datum.model.manifest import Resource
from datum.provider.contract import Stage
from tests.unit.fakes import PROVIDERS, declare, graph_of, manifest, nodes_of

NAMES = "abcdefgh"
IDS = tuple(ResourceId("fake", name) for name in NAMES)
NODES = nodes_of(*(declare(str(origin), line) for line, origin in enumerate(IDS, 1)))

edges = st.lists(
    st.builds(
        Dependency,
        st.sampled_from(IDS),
        st.sampled_from(IDS),
        st.sampled_from(DependencyKind),
        st.sampled_from(["declared", "owner"]),
        soft=st.booleans(),
    ),
    max_size=14,
)
stages = st.dictionaries(st.sampled_from(IDS), st.sampled_from([*Stage, Stage.ACCOUNTS - 1, Stage.SERVICES + 1]))
forward = edges.map(lambda found: [edge for edge in found if edge.soft or edge.source > edge.target])


@st.composite
def acyclic_resources(draw: st.DrawFn) -> tuple[Resource, ...]:
    """Return declarations whose declared edges go to weaker ids; implicit and soft ones go where they like."""
    pool = ["user:u", "user:v", "folder:/d", "folder:/d/e", "leaf:/d/f", "leaf:/d/e/g", "leaf:/h", "package:p"]
    chosen = [text for text in pool if draw(st.booleans())]
    found = []
    for place, text in enumerate(chosen):
        weaker = st.sets(st.sampled_from(chosen[:place]), max_size=2) if place else st.just(set[str]())
        soft = sorted(draw(st.sets(st.sampled_from(chosen), max_size=2)) - {text})
        attributes: dict[str, Any] = {"soft": soft} | (
            {"owner": draw(st.sampled_from("uvw"))} if draw(st.booleans()) else {}
        )
        found.append(
            declare(
                text,
                place + 1,
                requires=sorted(draw(weaker)),
                after=sorted(draw(weaker)),
                **(attributes if not text.startswith("user") else {}),
            )
        )
    return tuple(found)


def respects(order: tuple[ResourceId, ...], dependencies: tuple[Dependency, ...]) -> bool:
    place = {origin: index for index, origin in enumerate(order)}
    return all(place[edge.target] < place[edge.source] for edge in dependencies)


@settings(max_examples=100, deadline=None)
@given(forward)
def test_the_order_respects_every_edge_that_holds(found: list[Dependency]) -> None:
    ordering = order_nodes(NODES, found)
    assert ordering.diagnostics == ()
    assert sorted(ordering.order) == list(IDS)
    assert respects(ordering.order, ordering.dependencies)
    assert {*ordering.dependencies, *ordering.dropped} == set(found)
    assert not set(ordering.dependencies) & set(ordering.dropped)
    assert all(edge.soft for edge in ordering.dropped)


@settings(max_examples=100, deadline=None)
@given(forward, stages)
def test_each_place_of_the_order_holds_the_first_by_stage_and_id_that_is_free(
    found: list[Dependency], staged: dict[ResourceId, int]
) -> None:
    ordering = order_nodes(NODES, found, stages=staged)
    unstaged = order_nodes(NODES, found)
    assert (ordering.dependencies, ordering.dropped) == (unstaged.dependencies, unstaged.dropped), "a stage is no edge"
    done: set[ResourceId] = set()
    for origin in ordering.order:
        free = [
            one
            for one in IDS
            if one not in done and all(edge.target in done for edge in ordering.dependencies if edge.source == one)
        ]
        assert origin == min(free, key=lambda one: (staged.get(one, Stage.CONTENT), one))
        done.add(origin)


@settings(max_examples=100, deadline=None)
@given(forward)
def test_a_soft_edge_is_dropped_only_if_it_contradicts_what_holds(found: list[Dependency]) -> None:
    ordering = order_nodes(NODES, found)
    for edge in ordering.dropped:
        reached = {edge.target}
        while more := {one.target for one in ordering.dependencies if one.source in reached} - reached:
            reached |= more
        assert edge.source in reached


@settings(max_examples=100, deadline=None)
@given(edges, st.randoms(use_true_random=False))
def test_the_order_is_stable_under_shuffling(found: list[Dependency], random: Random) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    origins = list(NODES)
    random.shuffle(origins)
    one = order_nodes(NODES, found)
    other = order_nodes({origin: NODES[origin] for origin in origins}, shuffled)
    assert (one.order, one.dependencies, one.dropped) == (other.order, other.dependencies, other.dropped)
    assert set(one.diagnostics) == set(other.diagnostics)


@settings(max_examples=100, deadline=None)
@given(edges, st.lists(st.sampled_from(IDS), min_size=1, max_size=5, unique=True))
def test_every_injected_cycle_is_reported_whole_once_for_each_knot(
    found: list[Dependency], ring: list[ResourceId]
) -> None:
    injected = [
        Dependency(source, target, DependencyKind.REQUIRES, "injected")
        for source, target in zip(ring, [*ring[1:], ring[0]], strict=True)
    ]
    ordering = order_nodes(NODES, [*found, *injected])
    hard = {(edge.source, edge.target) for edge in [*found, *injected] if not edge.soft}
    knots = {frozenset(one for one in IDS if reaches(hard, one, root) and reaches(hard, root, one)) for root in IDS}
    knots = {knot for knot in knots if knot}
    assert any(set(ring) <= knot for knot in knots)
    assert len(ordering.diagnostics) == len(knots)
    for cycle in ordering.diagnostics:
        shown = [re.fullmatch(r"(\S+) (requires|after) (\S+) \((.+)\)", text) for text, _ in cycle.related]
        steps = [(ResourceId.parse(one[1]), ResourceId.parse(one[3])) for one in shown if one]
        assert len(steps) == len(shown)
        assert set(steps) <= hard
        sources = {source for source, _ in steps}
        assert sources == {target for _, target in steps}
        assert any(sources <= knot for knot in knots)
        assert all(sum(source == one for one, _ in set(steps)) == 1 for source in sources), "one simple cycle"
        for (_, place), (source, _) in zip(cycle.related, steps, strict=True):
            assert place == NODES[source].resource.location


def reaches(pairs: set[tuple[ResourceId, ResourceId]], start: ResourceId, end: ResourceId) -> bool:
    """Whether a way of at least one edge leads from start to end."""
    reached: set[ResourceId] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for source, target in pairs:
            if source == here and target not in reached:
                reached.add(target)
                waiting.append(target)
    return end in reached


@settings(max_examples=50, deadline=None)
@given(acyclic_resources())
def test_a_graph_respects_every_edge_of_a_manifest(resources: tuple[Resource, ...]) -> None:
    graph = graph_of(*resources)
    assert respects(graph.order, graph.dependencies)
    assert set(graph.order) == {resource.id for resource in resources} == set(graph.nodes)
    declared = {(one.id, target) for one in resources for target in (*one.requires, *one.after)}
    drawn = {(edge.source, edge.target) for edge in graph.dependencies if edge.reason == "declared"}
    assert drawn == declared
    for resource in resources:
        direct = graph.requires.get(resource.id, ())
        assert list(direct) == sorted(set(direct))
        assert set(resource.requires) <= set(direct) <= graph.required_by(resource.id)
        assert resource.id not in graph.required_by(resource.id)


@settings(max_examples=50, deadline=None)
@given(acyclic_resources(), st.data())
def test_a_graph_is_equal_for_shuffled_manifests(resources: tuple[Resource, ...], data: st.DataObject) -> None:
    def made(some: tuple[Resource, ...]) -> ResourceGraph:
        return build_graph(manifest(*some), PROVIDERS)

    shuffled = tuple(data.draw(st.permutations(resources)))
    one, other = made(resources), made(shuffled)
    assert one == other
    assert list(one.holders.items()) == list(other.holders.items())


@settings(max_examples=100, deadline=None)
@given(acyclic_resources(), st.data())
def test_an_edge_backwards_is_always_found(resources: tuple[Resource, ...], data: st.DataObject) -> None:
    assume(resources)
    graph = graph_of(*resources)
    source = data.draw(st.sampled_from(resources))
    target = data.draw(st.sampled_from(sorted({source.id, *graph.required_by(source.id)})))
    (old,) = (one for one in resources if one.id == target)
    attributes: Mapping[str, Any] = old.attributes
    bent = declare(
        str(target),
        old.location.line,
        requires=map(str, {*old.requires, source.id}),
        after=map(str, old.after),
        **attributes,
    )
    with pytest.raises(FleetError) as caught:
        graph_of(*(bent if one.id == target else one for one in resources))
    assert [found.code for found in caught.value.diagnostics] == ["dependency-cycle"]


# --- candidates of checks ---

sets = st.lists(st.none() | st.sampled_from(["check/judge:a", "check/judge:b"]), min_size=8, max_size=8).map(
    lambda found: {origin: key for origin, key in zip(IDS, found, strict=True) if key is not None}
)


@settings(max_examples=200, deadline=None)
@given(edges, sets, stages)
def test_candidates_of_one_set_stand_together_and_every_edge_holds(
    found: list[Dependency], guarded: dict[ResourceId, str], staged: dict[ResourceId, int]
) -> None:
    ordering = order_nodes(NODES, found, guarded, staged)
    hard = {(edge.source, edge.target) for edge in found if not edge.soft}
    merged = {(guarded.get(source, source), guarded.get(target, target)) for source, target in hard}
    loops = {(source, target) for source, target in merged if source == target}
    tied = {pair for pair in hard if guarded.get(pair[0], pair[0]) == guarded.get(pair[1], pair[1])}
    has_knot = knotted(hard) or knotted(merged - loops) or knotted(tied)
    assert bool(ordering.diagnostics) is has_knot
    if has_knot:
        assert {one.code for one in ordering.diagnostics} == {"dependency-cycle"}
        return
    assert sorted(ordering.order) == list(IDS)
    assert respects(ordering.order, ordering.dependencies)
    assert {*ordering.dependencies, *ordering.dropped} == set(found)
    assert all(edge.soft for edge in ordering.dropped)
    for key in set(guarded.values()):
        places = [place for place, origin in enumerate(ordering.order) if guarded.get(origin) == key]
        assert places == list(range(places[0], places[-1] + 1))


def knotted(pairs: set[tuple[Any, Any]]) -> bool:
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_edges_from(pairs)
    return not nx.is_directed_acyclic_graph(graph)


@settings(max_examples=100, deadline=None)
@given(edges, sets)
def test_a_way_out_of_a_set_and_back_is_shown_whole(found: list[Dependency], guarded: dict[ResourceId, str]) -> None:
    """Every step is an edge, or says which set holds two candidates together; the steps close a circle."""
    hard = {(str(edge.source), str(edge.target)) for edge in found if not edge.soft}
    assume(not knotted(hard))
    for cycle in order_nodes(NODES, found, guarded).diagnostics:
        ends: list[tuple[str, str]] = []
        for text, _ in cycle.related:
            if together := re.fullmatch(r"(\S+) is put in place together with (\S+) \(candidates of judge:\S\)", text):
                left, entered = together[1], together[2]
                assert guarded[ResourceId.parse(left)] == guarded[ResourceId.parse(entered)]
                ends.append((left, entered))
                continue
            edge = re.fullmatch(r"(\S+) (requires|after) (\S+) \(.+\)", text)
            assert edge is not None
            assert (edge[1], edge[3]) in hard
            ends.append((edge[1], edge[3]))
        assert any("together" in text for text, _ in cycle.related)
        for (_, target), (source, _) in zip(ends, [*ends[1:], ends[0]], strict=True):
            assert target == source


@settings(max_examples=100, deadline=None)
@given(edges, st.randoms(use_true_random=False), sets)
def test_the_order_of_candidates_is_stable_under_shuffling(
    found: list[Dependency], random: Random, guarded: dict[ResourceId, str]
) -> None:
    shuffled, origins, members = list(found), list(NODES), list(guarded)
    for some in (shuffled, origins, members):
        random.shuffle(some)
    one = order_nodes(NODES, found, guarded)
    other = order_nodes({key: NODES[key] for key in origins}, shuffled, {key: guarded[key] for key in members})
    assert (one.order, one.dependencies, one.dropped) == (other.order, other.dependencies, other.dropped)
    assert set(one.diagnostics) == set(other.diagnostics)


@settings(max_examples=100, deadline=None)
@given(edges)
def test_sets_of_one_change_nothing(found: list[Dependency]) -> None:
    alone = {origin: f"check/judge:{origin.name}" for origin in IDS}
    assert order_nodes(NODES, found, alone) == order_nodes(NODES, found)


@settings(max_examples=100, deadline=None)
@given(edges)
def test_soft_edges_hold_exactly_as_if_each_were_tried_in_its_order(found: list[Dependency]) -> None:
    """Trying all of them at once first changes nothing but what it costs."""
    held = sorted({edge for edge in found if not edge.soft}, key=lambda edge: edge.sort_key)
    kept = list(held)
    dropped: list[Dependency] = []
    if first_by_stage(IDS, held) is None:
        assert order_nodes(NODES, found).diagnostics
        return
    for edge in sorted({edge for edge in found if edge.soft}, key=lambda edge: edge.sort_key):
        holds = first_by_stage(IDS, [*kept, edge]) is not None
        (kept if holds else dropped).append(edge)
    ordering = order_nodes(NODES, found)
    assert set(ordering.dependencies) == set(kept)
    assert ordering.dropped == tuple(dropped)


@settings(max_examples=100, deadline=None)
@given(edges, stages)
def test_the_order_is_the_one_of_networkx(found: list[Dependency], staged: dict[ResourceId, int]) -> None:
    """The pass orders by a heap, without importing networkx; both must agree, also on whether there is an order."""

    def place(origin: ResourceId) -> tuple[int, str]:
        return staged.get(origin, Stage.CONTENT), str(origin)

    graph: nx.DiGraph[ResourceId] = nx.DiGraph()
    graph.add_nodes_from(IDS)
    graph.add_edges_from((edge.target, edge.source) for edge in found)
    try:
        expected: list[ResourceId] | None = list(nx.lexicographical_topological_sort(graph, key=place))
    except nx.NetworkXUnfeasible:
        expected = None
    order = first_by_stage(IDS, found, staged)
    assert (None if order is None else list(order)) == expected
