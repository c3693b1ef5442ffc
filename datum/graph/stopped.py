"""What changes only while a service is stopped (`while_stopped`; ADR 0043): who may be named, and the edges. Pure.

What is named comes after what names it: it is started there. That it is stopped before is a matter of the plan.
"""

from collections.abc import Collection, Mapping
from typing import Final

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.graph.asking import ask, check_answers, named
from datum.graph.references import unresolved
from datum.model.graph import Dependency, DependencyKind, Node
from datum.model.identity import ResourceId
from datum.provider.contract import AnyProvider
from datum.provider.stopped import StoppedProvider, Stopping

REASON: Final = "while_stopped"
"""Of the edges, for people: the field that they come from."""


@frozen
class Stopped:
    """What the field adds to a graph."""

    # Everything that is stopped while others change, and these, sorted.
    stopped: Mapping[ResourceId, tuple[ResourceId, ...]] = field(factory=dict)
    edges: tuple[Dependency, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def find_stopped(
    nodes: Mapping[ResourceId, Node], providers: Mapping[str, AnyProvider], known: Collection[ResourceId]
) -> Stopped:
    """Collect what names what.

    Args:
        nodes: of the graph, in the order of their ids.
        providers: every type.
        known: every declared id, those included that have no node because of an error of their own.

    Raises:
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    naming = [node for node in nodes.values() if node.resource.while_stopped]
    if not naming:
        return Stopped()
    kinds = {kind: one for kind, one in named(nodes, providers) if isinstance(one, StoppedProvider)}
    found: dict[ResourceId, list[ResourceId]] = {}
    edges: list[Dependency] = []
    diagnostics: list[Diagnostic] = []
    for node in naming:
        for target in node.resource.while_stopped:
            if target not in nodes:
                if target not in known:
                    says, location = f"names {target} in 'while_stopped'", node.resource.stopped_at.get(target)
                    diagnostics.append(unresolved(node.resource, says, location or node.resource.location))
                continue
            why, hint = _why_not(node, nodes[target], kinds.get(target.type))
            if why:
                diagnostics.append(_refused(node, target, why, hint))
            else:
                found.setdefault(target, []).append(node.resource.id)
                edges.append(_edge(node, target))
    stopped = {target: tuple(found[target]) for target in sorted(found)}
    return Stopped(stopped, tuple(edges), tuple(diagnostics))


def _edge(node: Node, target: ResourceId) -> Dependency:
    location = node.resource.stopped_at.get(target)
    return Dependency(target, node.resource.id, DependencyKind.AFTER, REASON, location)


def _why_not(node: Node, target: Node, provider: StoppedProvider[object] | None) -> tuple[str, str]:
    """Return why something cannot be stopped while another changes, and what to do; empty where it can."""
    origin = target.resource.id
    if origin == node.resource.id:
        return "nothing changes while it is stopped itself", "say 'running' of it, or name another one"
    if provider is None:
        return f"resources of type '{origin.type}' do not run", "name a service"
    if target.resource.absent or _stopping(target, provider) is not None:
        return "", ""
    why = "its declaration does not say 'running', so that nothing would start it again after a pass that was killed"
    return why, f"declare {origin} with 'running: true'"


def _stopping(target: Node, provider: StoppedProvider[object]) -> Stopping | None:
    answer = ask(target.resource, "stopping", lambda: provider.stopping(target.desired))
    if answer is not None:
        check_answers(target.resource, "stopping", (answer,), Stopping)
    return answer


def _refused(node: Node, target: ResourceId, why: str, hint: str) -> Diagnostic:
    resource = node.resource
    return Diagnostic(
        location=resource.stopped_at.get(target, resource.location),
        code="cannot-be-stopped",
        summary="Something is to change while what cannot be stopped is.",
        detail=f"{resource.id} cannot change while {target} is stopped: {why}.",
        hint=hint,
        resource=str(resource.id),
    )
