"""Checks in the graph (design 4.2): edges, transactions, candidates next to each other, and what cannot be judged."""

import pytest

from datum.diagnostics import Diagnostic
from datum.errors import FleetError, ProviderContractError
from datum.model.check import Check
from datum.model.graph import ResourceGraph
from datum.model.manifest import Resource
from tests.unit.fakes import PROVIDERS, Judge, Page, at, declare, graph_of, raising, rid


def refused(*resources: Resource) -> tuple[Diagnostic, ...]:
    with pytest.raises(FleetError) as caught:
        graph_of(*resources)
    return caught.value.diagnostics


def order(graph: ResourceGraph) -> list[str]:
    return [str(origin) for origin in graph.order]


def edges(graph: ResourceGraph) -> set[tuple[str, str, str]]:
    return {(str(edge.source), str(edge.target), edge.reason) for edge in graph.dependencies}


def pages(*names: str) -> list[Resource]:
    return [declare(f"page:/{name}") for name in names]


def test_a_graph_without_checks_has_none() -> None:
    graph = graph_of(*pages("a"))
    assert (graph.guarded, graph.checks) == ({}, {})


def test_a_check_requires_what_it_guards_and_they_are_one_transaction() -> None:
    graph = graph_of(*pages("a", "b"), declare("judge:n", 4, guards=["page:/b", "page:/a"], references={"page:/a": 5}))
    assert edges(graph) == {("judge:n", "page:/a", "guards"), ("judge:n", "page:/b", "guards")}
    assert graph.requires[rid("judge:n")] == (rid("page:/a"), rid("page:/b"))
    assert {edge.location for edge in graph.dependencies} == {at(5), None}
    assert graph.guarded == dict.fromkeys((rid("page:/a"), rid("page:/b")), "check/judge:n")
    assert graph.checks == {"check/judge:n": (Check(rid("judge:n"), ("judge", "n"), 10.0),)}


def test_what_is_guarded_requires_all_that_the_check_requires_but_its_like() -> None:
    graph = graph_of(
        *pages("a", "b"),
        declare("fake:tool"),
        declare("fake:later"),
        declare("user:u"),
        declare(
            "judge:n", guards=["page:/a", "page:/b"], requires=["fake:tool", "page:/b"], after=["fake:later"], owner="u"
        ),
    )
    required = {(source, target) for source, target, reason in edges(graph) if reason == "required by judge:n"}
    assert required == {(f"page:/{name}", target) for name in "ab" for target in ("fake:tool", "user:u")}
    assert graph.requires[rid("page:/a")] == (rid("fake:tool"), rid("user:u"))


def test_candidates_stand_next_to_each_other_placed_by_the_smallest() -> None:
    graph = graph_of(
        *pages("a", "m", "z"),
        *(declare(f"leaf:/{name}") for name in "bc"),
        declare("judge:n", guards=["page:/a", "page:/z"]),
    )
    assert order(graph) == ["leaf:/b", "leaf:/c", "page:/a", "page:/z", "judge:n", "page:/m"]


def test_within_a_set_the_edges_hold() -> None:
    graph = graph_of(
        declare("page:/a", requires=["page:/z"]), *pages("b", "z"), declare("judge:n", guards=["page:/a", "page:/z"])
    )
    assert order(graph) == ["page:/z", "page:/a", "judge:n", "page:/b"]


def test_what_any_of_a_set_requires_comes_before_all_of_it() -> None:
    graph = graph_of(
        *pages("a", "b"), declare("page:/z", requires=["user:u"]), declare("user:u"),
        declare("judge:n", guards=["page:/a", "page:/z"]),
    )  # fmt: skip
    assert order(graph) == ["page:/b", "user:u", "page:/a", "page:/z", "judge:n"]


def test_checks_that_share_a_guard_over_any_chain_judge_one_set() -> None:
    graph = graph_of(
        *pages("a", "b", "c", "d", "e"),
        declare("judge:z", guards=["page:/a", "page:/b"]),
        declare("judge:m", guards=["page:/b", "page:/c"]),
        declare("judge:k", guards=["page:/c", "page:/d"]),
        declare("judge:x", guards=["page:/e"]),
    )
    assert set(graph.guarded.values()) == {"check/judge:k", "check/judge:x"}
    assert [str(check.resource) for check in graph.checks["check/judge:k"]] == ["judge:k", "judge:m", "judge:z"]
    assert [str(check.resource) for check in graph.checks["check/judge:x"]] == ["judge:x"]


def test_a_requirement_of_one_check_that_another_of_the_set_guards_is_a_candidate() -> None:
    graph = graph_of(
        *pages("a", "b", "c"),
        declare("judge:m", guards=["page:/a", "page:/b"], requires=["page:/c"]),
        declare("judge:n", guards=["page:/b", "page:/c"]),
    )
    assert order(graph) == ["page:/a", "page:/b", "page:/c", "judge:m", "judge:n"]


def test_a_check_that_is_to_be_absent_guards_nothing() -> None:
    assert graph_of(*pages("a"), declare("judge:n", absent=True)).checks == {}


def test_a_check_of_nothing_is_no_transaction() -> None:
    assert graph_of(declare("judge:n")).checks == {}


# --- cycles ---


def test_a_way_out_of_a_set_and_back_into_it_is_shown_whole() -> None:
    (found,) = refused(
        declare("page:/a", 1),
        declare("fake:x", 2, requires=["page:/a"], references={"page:/a": 3}),
        declare("page:/z", 4, requires=["fake:x"], references={"fake:x": 5}),
        declare("judge:n", 6, guards=["page:/a", "page:/z"]),
    )
    assert found.code == "dependency-cycle"
    assert {place for _, place in found.related} == {at(1), at(3), at(5)}
    assert {text for text, _ in found.related} == {
        "fake:x requires page:/a (declared)",
        "page:/z requires fake:x (declared)",
        "page:/a is put in place together with page:/z (candidates of judge:n)",
    }
    assert all(text in found.detail for text, _ in found.related)
    assert found.resource == "fake:x"


def test_a_cycle_over_two_sets_names_what_holds_each_together() -> None:
    (found,) = refused(
        declare("page:/a", requires=["page:/d"]),
        declare("page:/c", requires=["page:/b"]),
        *pages("b", "d"),
        declare("judge:m", guards=["page:/a", "page:/b"]),
        declare("judge:n", guards=["page:/c", "page:/d"]),
    )
    assert sorted(text for text, _ in found.related if "together" in text) == [
        "page:/b is put in place together with page:/a (candidates of judge:m)",
        "page:/d is put in place together with page:/c (candidates of judge:n)",
    ]


def test_what_requires_a_check_and_is_guarded_by_it_is_a_cycle() -> None:
    (found,) = refused(declare("page:/a", requires=["judge:n"]), declare("judge:n", guards=["page:/a"]))
    assert found.code == "dependency-cycle"
    assert "judge:n requires page:/a (guards)" in found.detail


def test_a_requirement_of_a_check_that_requires_its_guard_is_a_cycle_with_the_reason() -> None:
    (found,) = refused(
        *pages("a"),
        declare("fake:x", requires=["page:/a"]),
        declare("judge:n", guards=["page:/a"], requires=["fake:x"]),
    )
    assert "page:/a requires fake:x (required by judge:n)" in found.detail


def test_a_cycle_within_a_set_is_one() -> None:
    (found,) = refused(
        declare("page:/a", requires=["page:/b"]),
        declare("page:/b", requires=["page:/a"]),
        declare("judge:n", guards=["page:/a", "page:/b"]),
    )
    assert "together" not in found.detail


@pytest.mark.parametrize(("source", "target"), [("page:/a", "fake:x"), ("fake:x", "page:/z")])
def test_a_soft_edge_that_would_lead_out_of_a_set_and_back_gives_way(source: str, target: str) -> None:
    hard = {"page:/a": ["fake:x"], "fake:x": ["page:/z"]}
    soft = {source: hard.pop(source)}
    graph = graph_of(
        *(
            declare(text, requires=hard.get(text, ()), soft=soft.get(text, ()))
            for text in ("page:/a", "page:/z", "fake:x")
        ),
        declare("judge:n", guards=["page:/a", "page:/z"]),
    )
    assert [(str(edge.source), str(edge.target)) for edge in graph.dropped] == [(source, target)]


def test_soft_edges_hold_within_a_set_and_between_sets() -> None:
    graph = graph_of(
        declare("page:/a", soft=["page:/b", "page:/z"]),
        declare("page:/b", soft=["page:/a"], requires=["page:/c"]),
        *pages("c", "z"),
        declare("judge:n", guards=["page:/a", "page:/b", "page:/c"]),
    )
    assert order(graph) == ["page:/z", "page:/c", "page:/b", "page:/a", "judge:n"]
    assert [(str(edge.source), str(edge.target)) for edge in graph.dropped] == [("page:/b", "page:/a")]


# --- what cannot be judged ---


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("fake:x", "of type 'fake'"),
        ("judge:other", "of type 'judge'"),
        ("page:/late", "as it is declared"),
        ("judge:n", "itself"),
    ],
)
def test_what_cannot_be_shown_to_a_program_cannot_be_guarded(guard: str, words: str) -> None:
    (found,) = refused(
        declare("fake:x"),
        declare("page:/late", value="at-once"),
        declare("judge:other"),
        declare("judge:n", 7, guards=[guard], references={guard: 8}),
    )
    assert (found.code, found.location, found.resource) == ("cannot-be-checked", at(8), "judge:n")
    assert words in found.detail
    assert found.hint


def test_a_guard_that_is_not_declared_is_unresolved() -> None:
    (found,) = refused(declare("judge:n", 7, guards=["page:/none"]))
    assert (found.code, found.location) == ("unresolved-reference", at(7))
    assert "page:/none" in found.detail


def test_a_guard_with_a_bad_value_is_no_second_error() -> None:
    (found,) = refused(declare("page:/a", value="bad"), declare("judge:n", guards=["page:/a"]))
    assert found.code == "bad-fake"


# --- providers that break the contract ---


def test_a_judge_or_a_candidate_that_answers_nonsense_is_named() -> None:
    class Nonsense(Judge):
        def __init__(self, **answers: object) -> None:
            self.__dict__.update(answers)

    class Shy(Page):
        def __init__(self, answer: object) -> None:
            self.__dict__["can_stage"] = answer

    def breach(*resources: Resource, **providers: object) -> str:
        with pytest.raises(ProviderContractError) as caught:
            graph_of(*resources, providers={**PROVIDERS, **providers})  # type: ignore[dict-item]  # what a test is about
        (found,) = caught.value.diagnostics
        return found.detail

    resources = (*pages("a"), declare("judge:n", guards=["page:/a"]))
    for step, answer in (
        ("guards", raising),
        ("guards", lambda _: ("page:/a",)),
        ("check", raising),
        ("check", lambda *_: "nginx -t"),
        ("check", lambda *_: Check(rid("judge:other"), ("true",), 1.0)),
    ):
        assert f"asked for '{step}' of judge:n" in breach(*resources, judge=Nonsense(**{step: answer}))
    for answer in (raising, lambda _: "yes"):
        assert "asked for 'can_stage' of page:/a" in breach(*resources, page=Shy(answer))
