"""What is declared and needs an account that is declared absent. Pure.

A warning and no error: a directory of accounts may have the name as well. Other needs are not judged here: below an
absent directory nothing may lie at all, and what a package brings, or the system has, is declared nowhere.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from datum.diagnostics import Diagnostic, Severity, sorted_unique
from datum.graph.asking import ask
from datum.graph.targets import Index, claim_targets
from datum.model.graph import DependencyKind, Node, ResourceGraph
from datum.model.identity import ResourceId
from datum.provider.contract import AnyProvider, ImplicitEdge

CODE: Final = "needs-what-is-absent"

_ACCOUNTS: Final = frozenset({"user", "group"})


def absent_needs(graph: ResourceGraph, providers: Mapping[str, AnyProvider]) -> tuple[Diagnostic, ...]:
    """Return a warning for everything wanted that needs an account which shall not be.

    Raises:
        ProviderContractError: a provider raised.
    """
    gone = {origin: node for origin, node in graph.nodes.items() if node.resource.absent and _is_account(node)}
    return sorted_unique(list(_found(graph, providers, gone))) if gone else ()


def _found(
    graph: ResourceGraph, providers: Mapping[str, AnyProvider], gone: Mapping[ResourceId, Node]
) -> Iterator[Diagnostic]:
    index = Index(claim_targets(graph.nodes), graph.nodes)
    for origin, node in graph.nodes.items():
        if node.resource.absent:
            continue
        for edge in _edges(node, providers[origin.type], index):
            if edge.target in gone and edge.kind is DependencyKind.REQUIRES and not edge.soft:
                yield _told(node, gone[edge.target], edge)


def _edges(node: Node, provider: AnyProvider, index: Index) -> tuple[ImplicitEdge, ...]:
    return ask(node.resource, "edges", lambda: tuple(provider.edges(node.desired, index)))


def _is_account(node: Node) -> bool:
    return any(target.kind in _ACCOUNTS for target in node.targets)


def _told(node: Node, gone: Node, edge: ImplicitEdge) -> Diagnostic:
    wanted, absent = node.resource, gone.resource
    return Diagnostic(
        location=wanted.location,
        code=CODE,
        summary="What is declared needs an account that is declared absent.",
        detail=f"{wanted.id} needs {absent.id} ({edge.reason}), which is declared with 'absent: true'. "
        "Unless something else than this host's own files has the account, it cannot be had.",
        resource=str(wanted.id),
        hint=f"name another account, declare {wanted.id} absent too, or drop 'absent: true' from {absent.id}",
        severity=Severity.WARNING,
        related=((f"{absent.id} is declared here", absent.location),),
    )
