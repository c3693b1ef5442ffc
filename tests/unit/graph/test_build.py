"""The graph of one host (design 4.5, 3.4): edges, targets, references, and every diagnostic with its places."""

import itertools
from typing import Any

import pytest

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError, ProviderContractError
from datum.model.graph import MADE_PATH, DependencyKind, Target
from datum.model.manifest import Resource
from datum.model.provenance import FieldOrigin, Say
from datum.provider.contract import ImplicitEdge
from tests.unit.fakes import PROVIDERS, Odd, Want, at, declare, graph_of, manifest, odd, raising, rid


def refused(*resources: Resource) -> tuple[Diagnostic, ...]:
    with pytest.raises(FleetError) as caught:
        graph_of(*resources)
    return caught.value.diagnostics


def codes(*resources: Resource) -> list[tuple[str, str]]:
    return [(found.code, found.resource) for found in refused(*resources)]


def order(*resources: Resource) -> list[str]:
    return [str(origin) for origin in graph_of(*resources).order]


# --- order and edges ---


def test_a_graph_of_nothing_is_empty() -> None:
    graph = graph_of()
    assert (graph.nodes, graph.order, graph.dependencies, graph.dropped) == ({}, (), (), ())


def test_without_edges_the_order_is_that_of_the_ids() -> None:
    assert order(declare("user:b"), declare("fake:z"), declare("user:a")) == ["fake:z", "user:a", "user:b"]


def test_ties_are_broken_by_id_among_what_is_free() -> None:
    found = order(declare("fake:a", requires=["fake:z"]), declare("fake:b"), declare("fake:z"), declare("fake:c"))
    assert found == ["fake:b", "fake:c", "fake:z", "fake:a"]


@pytest.mark.parametrize("field", ["requires", "after"])
def test_a_declared_edge_is_an_edge_with_its_place(field: str) -> None:
    said: dict[str, Any] = {field: ["fake:b"]}
    graph = graph_of(declare("fake:a", 4, references={"fake:b": 7}, **said), declare("fake:b"))
    (edge,) = graph.dependencies
    assert (edge.source, edge.target) == (rid("fake:a"), rid("fake:b"))
    assert (edge.kind, edge.reason, edge.location) == (DependencyKind(field), "declared", at(7))
    assert graph.order == (rid("fake:b"), rid("fake:a"))


def test_only_requires_is_in_what_a_resource_requires() -> None:
    graph = graph_of(
        declare("fake:a", requires=["fake:c", "fake:b"], after=["fake:d"]),
        declare("fake:b", requires=["fake:e"]),
        *(declare(f"fake:{name}") for name in "cde"),
    )
    assert graph.requires[rid("fake:a")] == (rid("fake:b"), rid("fake:c"))
    assert graph.required_by(rid("fake:a")) == {rid("fake:b"), rid("fake:c"), rid("fake:e")}
    assert graph.required_by(rid("fake:d")) == frozenset()


def test_implicit_edges_come_from_desired_state_with_their_reason_and_no_place() -> None:
    graph = graph_of(declare("leaf:/d/e/f", owner="u"), declare("folder:/d"), declare("user:u"))
    assert [(str(edge.target), edge.kind, edge.reason, edge.location) for edge in graph.dependencies] == [
        ("folder:/d", DependencyKind.REQUIRES, "parent directory", None),
        ("user:u", DependencyKind.REQUIRES, "owner", None),
    ]


def test_the_nearest_declared_directory_is_the_parent() -> None:
    graph = graph_of(declare("leaf:/d/e/f"), declare("folder:/d"), declare("folder:/d/e"), declare("folder:/"))
    assert graph.requires[rid("leaf:/d/e/f")] == (rid("folder:/d/e"),)
    assert graph.requires[rid("folder:/d/e")] == (rid("folder:/d"),)
    assert graph.requires[rid("folder:/d")] == (rid("folder:/"),)


def test_the_graph_is_the_same_whatever_the_order_of_the_manifest() -> None:
    resources = [
        declare("leaf:/d/f", owner="u", soft=["package:p"]),
        declare("folder:/d"),
        declare("user:u"),
        declare("package:p", requires=["leaf:/d/f"]),
    ]
    graphs = [graph_of(*some) for some in itertools.permutations(resources)]
    assert all(graph == graphs[0] for graph in graphs)
    assert all(list(graph.nodes) == list(graphs[0].nodes) for graph in graphs)


def test_a_node_holds_what_its_type_read() -> None:
    node = graph_of(declare("leaf:/f", unmanaged=["owner"], owner="u")).nodes[rid("leaf:/f")]
    assert node.targets == (Target("path", "/f"),)
    assert node.targets[0].leaf
    assert getattr(node.desired, "owner", "missing") is None, "an unmanaged field is not looked at"


# --- soft edges ---


def test_a_soft_edge_orders() -> None:
    graph = graph_of(declare("fake:a", soft=["fake:b"]), declare("fake:b"))
    assert order(declare("fake:a", soft=["fake:b"]), declare("fake:b")) == ["fake:b", "fake:a"]
    assert graph.dropped == ()


def test_a_soft_edge_gives_way_to_declared_ones_and_is_listed() -> None:
    graph = graph_of(
        declare("fake:a", soft=["fake:c"]), declare("fake:b", requires=["fake:a"]), declare("fake:c", after=["fake:b"])
    )
    assert [str(origin) for origin in graph.order] == ["fake:a", "fake:b", "fake:c"]
    assert [(str(edge.source), str(edge.target), edge.soft) for edge in graph.dropped] == [("fake:a", "fake:c", True)]
    assert not set(graph.dropped) & set(graph.dependencies)


def test_of_soft_edges_that_contradict_each_other_one_gives_way() -> None:
    graph = graph_of(declare("fake:a", soft=["fake:b"]), declare("fake:b", soft=["fake:a"]))
    assert [(str(edge.source), str(edge.target)) for edge in graph.dropped] == [("fake:b", "fake:a")]
    assert graph.order == (rid("fake:b"), rid("fake:a"))


# --- targets ---


def test_two_resources_that_hold_one_thing_are_refused_with_both_places() -> None:
    (found,) = refused(declare("folder:/a", 3), declare("leaf:/a", 9))
    assert found.code == "duplicate-target"
    assert (found.location, found.resource) == (at(9), "leaf:/a")
    assert found.related == (("folder:/a is declared here", at(3)),)
    assert "folder:/a" in found.detail
    assert "path /a" in found.detail
    assert found.hint == "take leaf:/a out, or folder:/a"


@pytest.mark.parametrize(
    ("one", "hint"), [("folder:/a/b", "`exclusive`"), ("leaf:/a/b", "take its path out of what odd:/a holds")]
)
def test_what_one_path_says_can_be_said_by_who_holds_many(one: str, hint: str) -> None:
    class Many(Odd):
        def targets(self, desired: Want) -> tuple[Target, ...]:
            return (Target("path", desired.name), Target("path", f"{desired.name}/b"))

    with pytest.raises(FleetError) as caught:
        graph_of(declare("odd:/a"), declare(one), providers={**PROVIDERS, "odd": Many()})
    (found,) = caught.value.diagnostics
    assert found.code == "duplicate-target"
    assert hint in found.hint
    assert f"take {one} out" in found.hint


def test_what_is_no_path_gets_no_advice_of_paths() -> None:
    class Account(Odd):
        def targets(self, desired: Want) -> tuple[Target, ...]:
            own = Target("uid", "7")
            return (own, Target("home", desired.name)) if desired.name == "/a" else (own,)

    with pytest.raises(FleetError) as caught:
        graph_of(declare("odd:/a"), declare("odd:/b"), providers={**PROVIDERS, "odd": Account()})
    (found,) = caught.value.diagnostics
    assert found.hint == "take odd:/b out, or odd:/a"


def test_an_absent_resource_holds_its_target_too() -> None:
    assert codes(declare("folder:/a", absent=True), declare("leaf:/a")) == [("duplicate-target", "leaf:/a")]


def test_a_shared_target_is_shared_within_its_type() -> None:
    graph = graph_of(declare("entry:/f#a"), declare("entry:/f#b"))
    assert graph.holders[Target("path", "/f", shared=True)] == rid("entry:/f#a")


@pytest.mark.parametrize("other", ["twin:/f#a", "leaf:/f", "folder:/f"])
def test_a_shared_target_is_not_shared_with_another_type(other: str) -> None:
    assert ("duplicate-target", max("entry:/f#b", other)) in codes(declare("entry:/f#b"), declare(other))


def test_every_resource_that_holds_anothers_target_is_named() -> None:
    found = codes(declare("entry:/f#a", 1), declare("entry:/f#b", 2), declare("leaf:/f", 3), declare("folder:/f", 4))
    assert [code for code, _ in found].count("duplicate-target") >= 2
    assert {("duplicate-target", "leaf:/f"), ("duplicate-target", "folder:/f")} <= set(found)


def test_nothing_lies_below_a_leaf() -> None:
    (found,) = refused(declare("leaf:/a", 3), declare("leaf:/a/b/c", 9))
    assert (found.code, found.location, found.resource) == ("below-a-file", at(9), "leaf:/a/b/c")
    assert found.related == (("leaf:/a is declared here", at(3)),)


def test_beside_a_leaf_and_below_a_directory_is_fine() -> None:
    assert order(declare("leaf:/a"), declare("leaf:/ab"), declare("folder:/d"), declare("leaf:/d/a"))


@pytest.mark.parametrize("kind", ["leaf", "folder"])
def test_nothing_that_is_wanted_lies_below_what_is_to_be_absent(kind: str) -> None:
    (found,) = refused(declare(f"{kind}:/a", 3, absent=True), declare("leaf:/a/b/c", 9))
    assert (found.code, found.location, found.resource) == ("below-absent", at(9), "leaf:/a/b/c")
    assert found.related == ((f"{kind}:/a is declared here", at(3)),)


def test_below_a_file_of_which_a_part_is_absent_is_no_second_error() -> None:
    assert order(declare("entry:/f#k", absent=True), declare("leaf:/f/x"))


def test_what_is_absent_below_a_leaf_is_removed_before_the_leaf_takes_its_place() -> None:
    """Else it would be taken along by what replaces the directory, and nobody would have said so."""
    graph = graph_of(declare("leaf:/a"), declare("leaf:/a/b", absent=True), declare("leaf:/a/c/d", absent=True))
    assert [str(origin) for origin in graph.order] == ["leaf:/a/b", "leaf:/a/c/d", "leaf:/a"]
    assert {(edge.kind, edge.soft) for edge in graph.dependencies} == {(DependencyKind.AFTER, True)}


def test_two_resources_with_many_targets_in_common_are_told_once() -> None:
    def many(desired: Want) -> tuple[Target, ...]:
        return tuple(Target("path", f"/t/{number}", leaf=number == 0) for number in range(50))

    def deep(desired: Want) -> tuple[Target, ...]:
        return (*many(desired), Target("path", "/t/0/x"), Target("path", "/t/0/y"))

    providers = {**PROVIDERS, "odd": Odd(targets=many), "leaf": Odd(targets=deep)}
    with pytest.raises(FleetError) as caught:
        graph_of(declare("odd:/a"), declare("leaf:/b"), providers=providers)
    assert [found.code for found in caught.value.diagnostics] == ["below-a-file", "duplicate-target"]
    assert "path /t/0 and 49 more" in caught.value.diagnostics[1].detail


# --- neighbours ---


def neighbourhood(*resources: Resource) -> dict[str, tuple[tuple[str, ...], bool]]:
    nodes = graph_of(*resources).nodes
    return {
        str(origin): (node.desired.neighbours, node.desired.is_kept_tidy)
        for origin, node in nodes.items()
        if isinstance(node.desired, Want) and origin.type == "page"
    }


def test_a_type_that_asks_for_it_learns_what_lies_below_a_path_and_whether_it_is_exclusive() -> None:
    found = neighbourhood(
        declare("folder:/d", exclusive=True),
        declare("folder:/d-e"),
        declare("leaf:/d/x", absent=True),
        declare("page:/d/p"),
        declare("page:/q"),
        declare("fake:/d/none"),
        declare("leaf:/d0"),
    )
    assert found == {
        "page:/d/p": (("/d/p", "/d/x"), True),
        "page:/q": (("/d", "/d-e", "/d/p", "/d/x", "/d0", "/q"), False),
    }


def test_a_type_that_asks_for_it_learns_what_is_to_be_absent() -> None:
    nodes = graph_of(declare("page:/d/p"), declare("leaf:/d/x", absent=True), declare("leaf:/d/y")).nodes
    desired = nodes[rid("page:/d/p")].desired
    assert isinstance(desired, Want)
    assert desired.absent_ones == ("/d/x",)


def test_paths_that_are_made_lie_below_as_well_and_are_held_by_nobody() -> None:
    def makes(desired: Want) -> tuple[Target, ...]:
        return tuple(Target(MADE_PATH, path, shared=True) for path in ("/d/made", "/d/x"))

    providers = {**PROVIDERS, "odd": Odd(targets=makes)}
    resources = (declare("page:/d/p"), declare("leaf:/d/x"), declare("odd:a"), declare("odd:b"))
    graph = graph_of(*resources, providers=providers)
    desired = graph.nodes[rid("page:/d/p")].desired
    assert isinstance(desired, Want)
    assert desired.neighbours == ("/d/made", "/d/p", "/d/x")
    assert graph.holders[Target("path", "/d/x")] == rid("leaf:/d/x")
    assert Target("path", "/d/made") not in graph.holders


def test_an_exclusive_directory_that_is_to_go_is_none() -> None:
    nodes = graph_of(declare("folder:/d", absent=True), declare("page:/d/p", absent=True)).nodes
    desired = nodes[rid("page:/d/p")].desired
    assert isinstance(desired, Want)
    assert not desired.is_kept_tidy


def test_a_neighbour_that_raises_is_a_breach() -> None:
    providers = {**PROVIDERS, "odd": Odd(relate=raising)}
    with pytest.raises(ProviderContractError, match="relate"):
        graph_of(declare("odd:/a"), providers=providers)


# --- the agent's own places (3.4) ---


@pytest.mark.parametrize("place", ["/etc/datum", "/var/lib/datum", "/run/datum.lock"])
@pytest.mark.parametrize("kind", ["leaf", "folder"])
@pytest.mark.parametrize("below", ["", "/agent.yaml", "/a/b"])
@pytest.mark.parametrize("absent", [True, False])
def test_the_agents_places_are_no_target_nor_what_lies_below_them(
    place: str, kind: str, below: str, absent: bool
) -> None:
    (found,) = refused(declare(f"{kind}:{place}{below}", 5, absent=absent))
    assert (found.code, found.location) == ("protected-path", at(5))
    assert place in found.detail


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("leaf:/etc", False),
        ("leaf:/var", False),
        ("leaf:/var/lib", False),
        ("folder:/var/lib", True),
        ("folder:/run", True),
        ("folder:/", True),
    ],
)
def test_a_parent_of_the_agents_places_is_neither_replaced_by_a_leaf_nor_removed(name: str, absent: bool) -> None:
    assert codes(declare(name, absent=absent)) == [("protected-path", name)]


@pytest.mark.parametrize(
    "name", ["folder:/var/lib", "folder:/", "folder:/run", "leaf:/etc/datum.conf", "leaf:/var/lib/datums"]
)
def test_a_parent_that_stays_and_a_neighbour_are_fine(name: str) -> None:
    assert order(declare(name)) == [name]


def test_other_spaces_than_paths_are_not_protected() -> None:
    assert order(declare("fake:/etc/datum")) == ["fake:/etc/datum"]


# --- references ---


def test_a_reference_to_nothing_is_refused_at_its_place() -> None:
    found = refused(
        declare("fake:a", 2, requires=["fake:x"], after=["fake:y"], references={"fake:x": 11}),
    )
    assert [(one.code, one.location) for one in found] == [
        ("unresolved-reference", at(2)),
        ("unresolved-reference", at(11)),
    ]
    assert "fake:y" in found[0].detail
    assert "fake:x" in found[1].detail


def test_a_reference_to_an_absent_resource_is_an_edge() -> None:
    assert order(declare("fake:a", after=["fake:b"]), declare("fake:b", absent=True)) == ["fake:b", "fake:a"]


def test_a_reference_to_a_resource_with_a_bad_value_is_no_second_error() -> None:
    assert codes(declare("fake:a", value="bad"), declare("fake:b", requires=["fake:a"])) == [("bad-fake", "fake:a")]


# --- absent resources ---


def test_an_absent_resource_has_no_implicit_edges_to_what_is_wanted() -> None:
    graph = graph_of(declare("leaf:/d/f", absent=True), declare("folder:/d"))
    assert graph.dependencies == ()
    graph = graph_of(declare("leaf:/f", owner="u"), declare("user:u", absent=True))
    assert graph.dependencies == ()


def test_of_two_absent_resources_what_depends_goes_first() -> None:
    graph = graph_of(declare("folder:/d", absent=True), declare("leaf:/d/f", absent=True))
    assert graph.order == (rid("leaf:/d/f"), rid("folder:/d"))
    (edge,) = graph.dependencies
    assert (edge.source, edge.target) == (rid("folder:/d"), rid("leaf:/d/f"))
    assert "parent directory" in edge.reason


# --- cycles ---


def test_a_cycle_is_shown_whole_with_the_origin_of_each_edge() -> None:
    (found,) = refused(
        declare("fake:a", 1, requires=["fake:b"], references={"fake:b": 2}),
        declare("fake:b", 3, after=["fake:c"], references={"fake:c": 4}),
        declare("fake:c", 5, requires=["fake:a"], references={"fake:a": 6}),
        declare("fake:d", 7, requires=["fake:a"]),
    )
    assert found.code == "dependency-cycle"
    assert {place for _, place in found.related} == {at(2), at(4), at(6)}
    assert {text for text, _ in found.related} == {
        "fake:a requires fake:b (declared)",
        "fake:b after fake:c (declared)",
        "fake:c requires fake:a (declared)",
    }
    assert all(text in found.detail for text, _ in found.related)
    assert "fake:d" not in found.detail


def test_an_implicit_edge_of_a_cycle_is_placed_at_its_resource() -> None:
    (found,) = refused(
        declare("folder:/d", 4, requires=["leaf:/d/f"], references={"leaf:/d/f": 5}), declare("leaf:/d/f", 8)
    )
    assert set(found.related) == {
        ("folder:/d requires leaf:/d/f (declared)", at(5)),
        ("leaf:/d/f requires folder:/d (parent directory)", at(8)),
    }


def test_both_edges_between_two_resources_of_a_cycle_are_shown() -> None:
    (found,) = refused(
        declare("folder:/d", 1, requires=["leaf:/d/f"]),
        declare("leaf:/d/f", 8, after=["folder:/d"], references={"folder:/d": 9}),
    )
    assert {
        ("leaf:/d/f requires folder:/d (parent directory)", at(8)),
        ("leaf:/d/f after folder:/d (declared)", at(9)),
    } <= set(found.related)


def test_a_resource_that_waits_for_itself_is_a_cycle() -> None:
    (found,) = refused(declare("fake:a", 1, requires=["fake:a"], references={"fake:a": 2}))
    assert found.related == (("fake:a requires fake:a (declared)", at(2)),)


def test_each_knot_is_one_diagnostic() -> None:
    found = codes(
        declare("fake:a", 1, requires=["fake:b"]),
        declare("fake:b", 2, requires=["fake:a"]),
        declare("user:a", 3, requires=["user:b"]),
        declare("user:b", 4, requires=["user:a", "fake:a"]),
    )
    assert found == [("dependency-cycle", "fake:a"), ("dependency-cycle", "user:a")]


def test_a_soft_edge_makes_no_cycle() -> None:
    assert order(declare("fake:a", soft=["fake:b"]), declare("fake:b", requires=["fake:a"])) == ["fake:a", "fake:b"]


# --- everything at once ---


def test_every_diagnostic_of_a_manifest_is_collected_and_sorted_by_place() -> None:
    found = refused(
        declare("fake:e", 9, requires=["fake:f"]),
        declare("fake:f", 8, requires=["fake:e"]),
        declare("leaf:/etc/datum/x", 7),
        declare("fake:c", 6, requires=["fake:x"]),
        declare("leaf:/b/c", 5),
        declare("leaf:/b", 1),
        declare("leaf:/a", 4),
        declare("folder:/a", 3),
        declare("fake:a", 2, value="bad"),
    )
    assert [one.code for one in found] == [
        "bad-fake",
        "duplicate-target",
        "below-a-file",
        "unresolved-reference",
        "protected-path",
        "dependency-cycle",
    ]
    assert list(found) == sorted(found)


def test_a_bad_value_is_shown_where_the_field_was_said() -> None:
    said = FieldOrigin(Say("base", SourceLocation("layers/base.yaml", 3, 5), "bad"))
    resource = declare("fake:a", 2, value="bad")
    placed = Resource(resource.id, resource.attributes, resource.location, origins={"value": said})
    (found,) = refused(placed)
    assert found.location == SourceLocation("layers/base.yaml", 3, 5)
    assert (found.code, found.detail, found.hint) == ("bad-fake", "The value is bad.", "Say something else.")


# --- providers that break the contract ---


@pytest.mark.parametrize("step", ["parse", "targets", "edges"])
def test_a_provider_that_raises_is_named_with_the_resource_and_the_step(step: str) -> None:
    with pytest.raises(ProviderContractError) as caught:
        graph_of(declare("odd:/a", 4), providers=odd(**{step: raising}))
    (found,) = caught.value.diagnostics
    assert (found.code, found.resource) == ("provider-breach", "odd:/a")
    assert "'odd'" in found.detail
    assert step in found.detail
    assert "no such luck" in found.detail


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        ("targets", lambda _: None),
        ("targets", lambda _: ("path /a",)),
        ("edges", lambda _desired, _index: None),
        ("edges", lambda _desired, _index: ("fake:a",)),
        ("edges", lambda _desired, _index: (ImplicitEdge(rid("fake:nowhere"), "a guess"),)),
    ],
    ids=["no-targets", "texts-for-targets", "no-edges", "texts-for-edges", "edge-to-nowhere"],
)
def test_a_provider_that_answers_nonsense_is_named(step: str, answer: object) -> None:
    with pytest.raises(ProviderContractError, match=step):
        graph_of(declare("odd:/a"), providers=odd(**{step: answer}))  # type: ignore[arg-type]  # what a test is about


def test_an_edge_to_itself_is_none() -> None:
    graph = graph_of(
        declare("odd:/a"), providers=odd(edges=lambda _desired, _index: (ImplicitEdge(rid("odd:/a"), "itself"),))
    )
    assert graph.dependencies == ()


def test_a_manifest_is_not_changed() -> None:
    resources = (declare("fake:b", unmanaged=["value"]), declare("fake:a"))
    before = manifest(*resources)
    graph_of(*resources)
    assert before == manifest(declare("fake:b", unmanaged=["value"]), declare("fake:a"))
