"""Ordering alone: the rules of ties, knots and soft edges, on ids without a manifest."""

import pytest

from datum.graph.ordering import Ordering, order_nodes
from datum.model.graph import Dependency, DependencyKind
from tests.unit.fakes import declare, nodes_of, rid


def edge(source: str, target: str, *, soft: bool = False, kind: DependencyKind = DependencyKind.AFTER) -> Dependency:
    return Dependency(rid(f"fake:{source}"), rid(f"fake:{target}"), kind, "declared", soft=soft)


def ordered(ids: str, *edges: Dependency) -> Ordering:
    return order_nodes(nodes_of(*(declare(f"fake:{name}") for name in ids)), edges)


def shown(ordering: Ordering) -> str:
    return "".join(origin.name for origin in ordering.order)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], "abcd"),
        (["ad"], "bcda"),
        (["ab", "bc", "cd"], "dcba"),
        (["ac", "bc"], "cabd"),
        (["ba", "ca", "db", "dc"], "abcd"),
    ],
)
def test_what_is_free_goes_by_id(edges: list[str], expected: str) -> None:
    assert shown(ordered("abcd", *(edge(*pair) for pair in edges))) == expected


def test_an_edge_said_twice_is_one() -> None:
    assert len(ordered("ab", edge("a", "b"), edge("a", "b")).dependencies) == 1


def test_edges_of_both_kinds_between_two_resources_are_kept() -> None:
    both = (edge("a", "b"), edge("a", "b", kind=DependencyKind.REQUIRES))
    assert ordered("ab", *both).dependencies == both


def test_a_cycle_leaves_no_order() -> None:
    found = ordered("abc", edge("a", "b"), edge("b", "a"), edge("c", "a", soft=True))
    assert (found.order, found.dependencies, found.dropped) == ((), (), ())
    assert len(found.diagnostics) == 1


def test_of_a_knot_the_shortest_cycle_through_its_smallest_id_is_shown() -> None:
    found = ordered(
        "abcd", edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("b", "a"), edge("d", "c"), edge("c", "d")
    )
    (cycle,) = found.diagnostics
    assert {text for text, _ in cycle.related} == {
        "fake:a after fake:b (declared)",
        "fake:b after fake:a (declared)",
    }


def test_the_edges_of_a_cycle_are_told_one_after_the_other() -> None:
    (cycle,) = ordered("abc", edge("a", "b"), edge("b", "c"), edge("c", "a")).diagnostics
    texts = [text.split() for text, _ in cycle.related]
    assert all(one[2] == other[0] for one, other in zip(texts, [*texts[1:], texts[0]], strict=True))


def test_soft_edges_are_considered_in_their_order() -> None:
    found = ordered("abc", edge("a", "b", soft=True), edge("b", "c", soft=True), edge("c", "a", soft=True))
    assert found.dropped == (edge("c", "a", soft=True),)
    assert shown(found) == "cba"
    assert set(found.dependencies) == {edge("a", "b", soft=True), edge("b", "c", soft=True)}


def test_a_long_cycle_has_a_short_sentence_and_every_edge_below() -> None:
    """Thousands of edges stood in one line, and again below it."""
    names = [f"n{number:03}" for number in range(40)]
    nodes = nodes_of(*(declare(f"fake:{name}") for name in names))
    circle = [edge(source, target) for source, target in zip(names, [*names[1:], names[0]], strict=True)]
    (found,) = order_nodes(nodes, circle).diagnostics
    assert "… 28 more …" in found.detail
    assert found.detail.count("fake:n") == 24
    assert len(found.related) == 40
