"""`while_stopped` in a graph (ADR 0043): who may be named, what comes after what, and cycles."""

from collections.abc import Mapping
from typing import Any

import pytest

from datum.diagnostics import Diagnostic
from datum.errors import FleetError, ProviderContractError
from datum.graph.stopped import find_stopped
from datum.model.graph import Dependency, DependencyKind
from datum.model.manifest import Resource
from tests.unit.fakes import at, declare, graph_of, raising, rid
from tests.unit.services import ALL, odd_service, service

A, SERVICE = "fake:a", "service:s"


def wrong(*resources: Resource) -> Diagnostic:
    with pytest.raises(FleetError) as caught:
        graph_of(*resources, providers=ALL)
    (found,) = caught.value.diagnostics
    return found


def test_what_is_named_comes_after_what_names_it() -> None:
    graph = graph_of(
        declare("leaf:/z", while_stopped={SERVICE: 7}), declare(A, while_stopped=[SERVICE]), service("s"), providers=ALL
    )
    assert graph.stopped == {rid(SERVICE): (rid(A), rid("leaf:/z"))}
    after = Dependency(rid(SERVICE), rid("leaf:/z"), DependencyKind.AFTER, "while_stopped", at(7))
    assert after in graph.dependencies
    assert after.location == next(edge.location for edge in graph.dependencies if edge == after)
    assert graph.order[-1] == rid(SERVICE)
    assert graph.requires == {}


@pytest.mark.parametrize(
    "stopped", [service("s", running=False), declare(SERVICE, absent=True)], ids=["stopped", "absent"]
)
def test_what_shall_not_run_may_be_named(stopped: Resource) -> None:
    assert graph_of(declare(A, while_stopped=[SERVICE]), stopped, providers=ALL).stopped == {rid(SERVICE): (rid(A),)}


@pytest.mark.parametrize(
    ("named", "word", "hint"),
    [
        (service("s", running=None), "does not say 'running'", "declare service:s with 'running: true'"),
        (declare("leaf:/s"), "resources of type 'leaf' do not run", "name a service"),
    ],
)
def test_what_nothing_would_start_again_is_an_error_at_its_place(named: Resource, word: str, hint: str) -> None:
    found = wrong(declare(A, while_stopped={str(named.id): 5}), named)
    assert (found.code, found.location, found.hint) == ("cannot-be-stopped", at(5), hint)
    assert found.detail.startswith(f"{A} cannot change while {named.id} is stopped: ")
    assert word in found.detail


def test_a_service_cannot_name_itself() -> None:
    found = wrong(service("s", while_stopped=[SERVICE]))
    assert (found.code, found.detail) == (
        "cannot-be-stopped",
        "service:s cannot change while service:s is stopped: nothing changes while it is stopped itself.",
    )


def test_what_is_not_declared_is_an_error() -> None:
    found = wrong(declare(A, while_stopped={SERVICE: 6}))
    assert (found.code, found.location) == ("unresolved-reference", at(6))


def test_what_has_an_error_of_its_own_is_told_once() -> None:
    found = wrong(declare(A, while_stopped=["fake:b"]), declare("fake:b", value="bad"))
    assert found.code == "bad-fake"


def test_what_must_run_before_and_not_meanwhile_is_a_cycle_with_both_places() -> None:
    found = wrong(
        declare(A, requires=[SERVICE], references={SERVICE: 3}, while_stopped={SERVICE: 4}), service("s", line=9)
    )
    assert found.code == "dependency-cycle"
    assert dict(found.related) == {
        f"{A} requires {SERVICE} (declared)": at(3),
        f"{SERVICE} after {A} (while_stopped)": at(4),
    }


def test_what_the_service_requires_may_change_while_it_is_stopped() -> None:
    graph = graph_of(declare(A, while_stopped=[SERVICE]), service("s", requires=[A]), providers=ALL)
    assert graph.order == (rid(A), rid(SERVICE))


@pytest.mark.parametrize("answers", [{"stopping": raising}, {"stopping": lambda *_: True}])
def test_a_provider_that_breaks_its_contract_is_told(answers: Mapping[str, Any]) -> None:
    with pytest.raises(ProviderContractError, match="asked for 'stopping' of oddservice:s"):
        graph_of(declare(A, while_stopped=["oddservice:s"]), service("oddservice:s"), providers=odd_service(**answers))


def test_a_graph_that_stops_nothing_asks_nobody() -> None:
    nodes = graph_of(declare(A), service("oddservice:s"), providers=ALL).nodes
    assert find_stopped(nodes, odd_service(stopping=raising), nodes).stopped == {}
