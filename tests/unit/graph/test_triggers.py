"""What lists others for a restart or a reload (design 4.1): edges, references, and who lists itself."""

from typing import Any

import pytest

from datum.diagnostics import Severity
from datum.errors import FleetError, ProviderContractError
from datum.graph.triggers import advise
from datum.model.graph import Dependency, DependencyKind
from datum.model.manifest import Resource
from datum.model.plan import Operation
from tests.unit.fakes import at, declare, graph_of, raising, rid
from tests.unit.services import ALL, odd_service, service

S = rid("service:s")


def graph(*resources: Resource, **others: Any) -> Any:
    return graph_of(*resources, **{"providers": ALL, **others})


def refused(*resources: Resource) -> list[tuple[str, int]]:
    with pytest.raises(FleetError) as caught:
        graph(*resources)
    return [(found.code, found.location.line if found.location else 0) for found in caught.value.diagnostics]


def test_what_a_service_lists_comes_before_it_and_keeps_nothing_from_being_done() -> None:
    found = graph(
        declare("fake:a"),
        declare("fake:z"),
        service("s", restart_on=["fake:z"], reload_on=["fake:a"], references={"fake:z": 7}),
    )
    assert [edge for edge in found.dependencies if edge.source == S] == [
        Dependency(S, rid("fake:a"), DependencyKind.AFTER, "reload_on"),
        Dependency(S, rid("fake:z"), DependencyKind.AFTER, "restart_on", at(7)),
    ]
    assert found.dependencies[1].location == at(7)
    assert found.order[-1] == S
    assert found.requires == {}
    assert dict(found.triggers[S]) == {
        rid("fake:a"): Operation.REFRESH_RELOAD,
        rid("fake:z"): Operation.REFRESH_RESTART,
    }


def test_what_is_to_be_absent_comes_before_too() -> None:
    """It is removed before the refresh."""
    found = graph(declare("fake:z", absent=True), service("a", restart_on=["fake:z"]))
    assert [str(origin) for origin in found.order] == ["fake:z", "service:a"]


def test_everything_wanted_that_can_be_refreshed_is_named_and_nothing_else() -> None:
    found = graph(declare("fake:a"), service("s"), declare("service:gone", absent=True))
    assert found.triggers == {S: {}}
    assert graph(declare("fake:a")).triggers == {}


def test_what_is_listed_and_not_declared_is_an_error_at_its_place() -> None:
    missing = service("s", restart_on=["fake:nope"], references={"fake:nope": 4})
    assert refused(missing, declare("fake:a")) == [("unresolved-reference", 4)]
    with pytest.raises(FleetError) as caught:
        graph(missing)
    assert "service:s lists fake:nope in 'restart_on'" in caught.value.diagnostics[0].detail


def test_what_is_listed_and_has_an_error_of_its_own_is_told_once() -> None:
    assert refused(service("s", restart_on=["fake:a"]), declare("fake:a", 3, value="bad")) == [("bad-fake", 3)]


def test_a_service_does_not_list_itself() -> None:
    assert refused(service("s", reload_on=["service:s"], references={"service:s": 5})) == [("bad-value", 5)]
    assert refused(service("s", line=9, reload_on=["service:s"])) == [("bad-value", 9)]


def test_what_lists_what_requires_it_is_a_cycle() -> None:
    assert refused(service("s", restart_on=["fake:a"]), declare("fake:a", requires=["service:s"])) == [
        ("dependency-cycle", 1)
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (raising, "no such luck"),
        (lambda _: 5, "raised"),
        (lambda _: {"fake:a": Operation.REFRESH_RESTART}, "answered 'fake:a'"),
        (lambda _: {rid("fake:a"): "restart"}, "answered 'restart'"),
        (lambda _: {rid("fake:a"): Operation.CREATE}, "neither a restart nor a reload"),
    ],
)
def test_what_a_type_cannot_list_is_its_bug(answer: Any, words: str) -> None:
    with pytest.raises(ProviderContractError) as caught:
        graph(service("oddservice:o"), declare("fake:a"), providers=odd_service(triggers=answer))
    assert words in caught.value.diagnostics[0].detail
    assert "'triggers'" in caught.value.diagnostics[0].detail


def test_what_lists_another_that_runs_gets_a_note_on_what_that_does_not_mean() -> None:
    found = graph(
        declare("fake:a"),
        service("db"),
        service("app", restart_on=["fake:a", "service:db"], references={"service:db": 7}),
        service("cache", reload_on=["service:db"]),
    )
    notes = advise(found, ALL)
    assert [(note.code, note.severity, note.resource) for note in notes] == [
        ("restart-with-another", Severity.NOTE, "service:app"),
        ("restart-with-another", Severity.NOTE, "service:cache"),
    ]
    assert notes[0].location == at(7)
    assert "service:app lists service:db in 'restart_on'" in notes[0].detail
    assert "'reload_on'" in notes[1].detail
    assert "PartOf=" in notes[0].hint
    assert advise(graph(declare("fake:a"), service("s", restart_on=["fake:a"])), ALL) == ()
