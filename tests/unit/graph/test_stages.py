"""Who goes first of those that are free (ADR 0033): the earlier stage, then the smaller id."""

from typing import Any

import pytest

from datum.errors import ProviderContractError
from datum.graph.ordering import order_nodes
from datum.model.graph import Dependency, DependencyKind
from datum.model.manifest import Resource
from datum.provider.contract import Stage
from tests.unit.fakes import PROVIDERS, declare, graph_of, nodes_of, rid
from tests.unit.services import ALL, service


def order(*resources: Resource, **others: Any) -> list[str]:
    return [str(origin) for origin in graph_of(*resources, **{"providers": ALL, **others}).order]


KINDS = ("service:a", "unit:/b", "fake:c", "package:d", "account:e")


def test_accounts_packages_content_units_and_services_go_in_this_order() -> None:
    """Without an edge between any two of them."""
    assert order(*(declare(text) for text in KINDS)) == list(reversed(KINDS))
    assert graph_of(*(declare(text) for text in KINDS), providers=ALL).dependencies == ()


def test_units_stand_together_so_that_the_manager_is_told_once() -> None:
    texts = ("unit:/b", "service:b", "unit:/a", "service:a", "fake:z", "page:/z")
    assert order(*(declare(text) for text in texts)) == [
        *("fake:z", "page:/z", "unit:/a", "unit:/b", "service:a", "service:b")
    ]


def test_what_has_to_go_goes_before_or_after_everything_that_may_need_it() -> None:
    """A service is stopped before its unit goes, and an account goes when nothing runs as it any more."""
    gone = [declare(text, absent=True) for text in KINDS]
    assert order(*gone, declare("service:wanted"), declare("account:wanted")) == [
        *("service:a", "unit:/b", "account:wanted", "package:d", "fake:c", "service:wanted", "account:e")
    ]


def test_an_edge_is_stronger_than_a_stage() -> None:
    assert order(declare("account:a", requires=["service:s"]), service("s", after=["fake:z"]), declare("fake:z")) == [
        *("fake:z", "service:s", "account:a")
    ]


def test_what_becomes_free_goes_by_its_stage() -> None:
    texts = [declare("package:p", after=["service:s"]), service("s"), service("t"), declare("fake:z")]
    assert order(*texts) == ["fake:z", "service:s", "package:p", "service:t"]


def test_candidates_stand_where_the_first_of_them_by_stage_does() -> None:
    resources = [
        *map(declare, ("unit:/a", "page:/z", "page:/m", "unit:/0")),
        declare("judge:j", guards=["unit:/a", "page:/z"]),
    ]
    assert order(*resources) == ["page:/m", "page:/z", "unit:/a", "judge:j", "unit:/0"]


def test_a_type_of_no_stage_is_of_the_content_and_one_of_a_wrong_stage_is_a_bug() -> None:
    class Wrong(type(PROVIDERS["fake"])):  # type: ignore[misc]  # a class that is found at run time
        order_stage = 9

    assert Stage.CONTENT.value == 4
    with pytest.raises(ProviderContractError) as caught:
        order(declare("fake:a"), providers={**ALL, "fake": Wrong()})
    assert "'order_stage'" in caught.value.diagnostics[0].detail


def test_soft_edges_that_agree_are_kept_without_looking_at_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networkx is asked only where one contradicts (ADR 0021, 0033)."""
    import sys

    nodes = nodes_of(*map(declare, ("fake:a", "fake:b", "fake:c")))
    agreeing = [
        Dependency(rid("fake:a"), rid("fake:b"), DependencyKind.AFTER, "soft wish", soft=True),
        Dependency(rid("fake:b"), rid("fake:c"), DependencyKind.REQUIRES, "declared"),
    ]
    monkeypatch.setitem(sys.modules, "datum.graph.knots", None)
    found = order_nodes(nodes, agreeing)
    assert [str(origin) for origin in found.order] == ["fake:c", "fake:b", "fake:a"]
    assert (found.dependencies, found.dropped) == (tuple(agreeing), ())
    contradicting = Dependency(rid("fake:c"), rid("fake:a"), DependencyKind.AFTER, "soft wish", soft=True)
    with pytest.raises(ImportError):
        order_nodes(nodes, [*agreeing, contradicting])
