"""What needs an account that is declared absent: an edge that spreads a failure is a need, and no other one."""

import pytest

from datum.graph.gone import absent_needs
from datum.model.graph import DependencyKind
from datum.provider.contract import ImplicitEdge
from tests.unit.fakes import declare, graph_of, odd, rid

GONE = rid("user:gone")


@pytest.mark.parametrize(
    ("edge", "needy"),
    [
        (ImplicitEdge(GONE, "owner"), ["odd:/a"]),
        (ImplicitEdge(GONE, "owner", soft=True), []),
        (ImplicitEdge(GONE, "owner", DependencyKind.AFTER), []),
        (ImplicitEdge(rid("user:here"), "owner"), []),
        (ImplicitEdge(rid("fake:gone"), "owner"), []),
    ],
)
def test_only_what_requires_an_absent_account_is_told(edge: ImplicitEdge, needy: list[str]) -> None:
    providers = odd(edges=lambda *_: (edge,))
    graph = graph_of(
        declare("odd:/a"),
        declare("odd:/b", absent=True),
        declare("user:here"),
        declare("user:gone", absent=True),
        declare("fake:gone", absent=True),
        providers=providers,
    )
    assert [found.resource for found in absent_needs(graph, providers)] == needy
