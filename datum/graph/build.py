"""Manifest to resource graph (design 4.5): parse, claim targets, draw edges, order.

Rules enforced here: target identities are unique, nothing lies below a leaf, the agent's own places are no targets
(design 3.4), references are resolved, no cycle remains. Every diagnostic of a manifest is collected. No effects.

Every provider is called through the guard of this module: what it raises or answers against its contract is told as a
bug of that provider, with the resource and the step.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from datum.diagnostics import Diagnostic, SourceLocation, sorted_unique
from datum.errors import FleetError, ProviderContractError
from datum.graph.ordering import order_nodes
from datum.model.graph import Dependency, DependencyKind, Node, ResourceGraph, Target, may_share
from datum.model.identity import ResourceId
from datum.model.manifest import EffectiveManifest, Resource
from datum.provider.contract import AnyProvider, DesiredError, ImplicitEdge
from datum.provider.paths import is_below, parents

_Answer = TypeVar("_Answer")

PROTECTED_PATHS: Final = ("/etc/datum", "/var/lib/datum")
"""Where configuration, trust and state lie unless the host's configuration says otherwise; the host room refuses
the real places as well, by every spelling."""


class _Index:
    """`TargetIndex` over the claimed targets."""

    def __init__(self, holders: Mapping[Target, ResourceId]) -> None:
        self._holders = holders
        self._paths = {target.key: holder for target, holder in holders.items() if target.kind == "path"}

    def holder(self, target: Target) -> ResourceId | None:
        return self._holders.get(target)

    def nearest_parent(self, path: str) -> ResourceId | None:
        for parent in parents(path):
            if parent in self._paths:
                return self._paths[parent]
        return None


def build_graph(manifest: EffectiveManifest, providers: Mapping[str, AnyProvider]) -> ResourceGraph:
    """Build the graph of one host.

    Raises:
        FleetError: with every diagnostic: values that cannot be meant, targets held twice, cycles.
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    diagnostics: list[Diagnostic] = []
    nodes = _parse(manifest.resources, providers, diagnostics)
    holders = _claim_targets(nodes, diagnostics)
    dependencies = _declared(nodes, frozenset(resource.id for resource in manifest.resources), diagnostics)
    dependencies += _implicit(nodes, providers, _Index(holders))
    ordering = order_nodes(nodes, dependencies)
    diagnostics += ordering.diagnostics
    if diagnostics:
        raise FleetError(*sorted_unique(diagnostics))
    requires: dict[ResourceId, list[ResourceId]] = {}
    for dependency in ordering.dependencies:
        if dependency.kind is DependencyKind.REQUIRES:
            requires.setdefault(dependency.source, []).append(dependency.target)
    return ResourceGraph(
        nodes=nodes,
        dependencies=ordering.dependencies,
        order=ordering.order,
        dropped=ordering.dropped,
        requires={
            source: tuple(sorted(set(targets))) if len(targets) > 1 else tuple(targets)
            for source, targets in requires.items()
        },
        holders=holders,
    )


def _parse(
    resources: Iterable[Resource], providers: Mapping[str, AnyProvider], diagnostics: list[Diagnostic]
) -> dict[ResourceId, Node]:
    """Let each type read its resources, in the order of their ids; what it cannot mean is added to `diagnostics`."""
    nodes: dict[ResourceId, Node] = {}
    for resource in sorted(resources, key=lambda resource: (resource.id.type, resource.id.name)):
        provider = providers[resource.id.type]
        attributes = resource.attributes
        if resource.unmanaged:
            attributes = {name: value for name, value in attributes.items() if name not in resource.unmanaged}
        try:
            desired = provider.parse(resource.id.name, attributes)
        except DesiredError as error:
            diagnostics.append(_bad_value(resource, error))
            continue
        except Exception as error:
            raise _breach(resource, "parse", f"raised {error!r}") from error
        targets = _ask(resource, "targets", lambda provider=provider, desired=desired: tuple(provider.targets(desired)))  # type: ignore[misc]  # mypy cannot type defaults of lambdas
        for target in targets:
            if not isinstance(target, Target):
                raise _breach(resource, "targets", f"answered {target!r}")
        nodes[resource.id] = Node(resource, desired, targets)
    return nodes


def _ask(resource: Resource, step: str, call: Callable[[], _Answer]) -> _Answer:
    """Call into a provider.

    Raises:
        ProviderContractError: whatever it raised.
    """
    try:
        return call()
    except Exception as error:
        raise _breach(resource, step, f"raised {error!r}") from error


def _breach(resource: Resource, step: str, what: str) -> ProviderContractError:
    return ProviderContractError(
        Diagnostic(
            location=resource.location,
            code="provider-breach",
            summary="A provider broke its contract.",
            detail=f"The provider '{resource.id.type}', asked for '{step}' of {resource.id}, {what}. "
            "This is a bug in it.",
            resource=str(resource.id),
        )
    )


def _bad_value(resource: Resource, error: DesiredError) -> Diagnostic:
    origin = resource.origins.get(error.attribute)
    return Diagnostic(
        location=origin.winner.location if origin else resource.location,
        code=error.code,
        summary="A value cannot be meant.",
        detail=error.detail,
        hint=error.hint,
        resource=str(resource.id),
    )


def _claim_targets(nodes: Mapping[ResourceId, Node], diagnostics: list[Diagnostic]) -> dict[Target, ResourceId]:
    holders: dict[Target, ResourceId] = {}
    for origin, node in nodes.items():
        for target in node.targets:
            other = holders.setdefault(target, origin)
            if other != origin and not may_share(nodes[other], node, target):
                diagnostics.append(_held_twice(nodes, target, other, origin))
            diagnostics.extend(_protected(node, target))
    diagnostics.extend(_below_leaves(nodes, holders))
    return holders


def _below_leaves(nodes: Mapping[ResourceId, Node], holders: Mapping[Target, ResourceId]) -> Iterable[Diagnostic]:
    present = {
        target.key: (target, holder)
        for target, holder in holders.items()
        if target.kind == "path" and not nodes[holder].resource.absent
    }
    leaves = {path: holder for path, (target, holder) in present.items() if target.leaf}
    for path, (_, holder) in present.items():
        for parent in parents(path):
            if parent in leaves:
                yield _below_leaf(nodes, leaves[parent], holder)


def _held_twice(nodes: Mapping[ResourceId, Node], target: Target, first: ResourceId, second: ResourceId) -> Diagnostic:
    return Diagnostic(
        location=nodes[second].resource.location,
        code="duplicate-target",
        summary="Two resources hold one thing.",
        detail=f"{second} and {first} both hold the {target}. One of them must go, or both must be one resource.",
        resource=str(second),
        related=((f"{first} is declared here", nodes[first].resource.location),),
    )


def _below_leaf(nodes: Mapping[ResourceId, Node], leaf: ResourceId, below: ResourceId) -> Diagnostic:
    return Diagnostic(
        location=nodes[below].resource.location,
        code="below-a-file",
        summary="Nothing can lie below a file.",
        detail=f"{below} lies below {leaf}, which is no directory. Move one of them.",
        resource=str(below),
        related=((f"{leaf} is declared here", nodes[leaf].resource.location),),
    )


def _protected(node: Node, target: Target) -> Iterable[Diagnostic]:
    if target.kind != "path":
        return
    for protected in PROTECTED_PATHS:
        takes_along = is_below(protected, target.key) and (target.leaf or node.resource.absent)
        if is_below(target.key, protected) or takes_along:
            yield Diagnostic(
                location=node.resource.location,
                code="protected-path",
                summary="The agent's own places are no target.",
                detail=(
                    f"{node.resource.id} would reach {protected}, where the agent keeps its state, configuration "
                    "and trust. These are changed by datum's own commands only."
                ),
                resource=str(node.resource.id),
            )
            return


def _declared(
    nodes: Mapping[ResourceId, Node], known: Collection[ResourceId], diagnostics: list[Diagnostic]
) -> list[Dependency]:
    """Return the declared edges; `known` holds the ids that have no node because of an error of their own as well."""
    dependencies: list[Dependency] = []
    for origin, node in nodes.items():
        resource = node.resource
        for kind, targets in ((DependencyKind.REQUIRES, resource.requires), (DependencyKind.AFTER, resource.after)):
            for target in targets:
                location = resource.references.get(target, resource.location)
                if target in nodes:
                    dependencies.append(Dependency(origin, target, kind, "declared", location))
                elif target not in known:
                    diagnostics.append(_unresolved(resource, target, location))
    return dependencies


def _unresolved(resource: Resource, target: ResourceId, location: SourceLocation) -> Diagnostic:
    return Diagnostic(
        location=location,
        code="unresolved-reference",
        summary="A reference names nothing.",
        detail=f"{resource.id} refers to {target}, which this host does not declare.",
        resource=str(resource.id),
    )


def _implicit(
    nodes: Mapping[ResourceId, Node], providers: Mapping[str, AnyProvider], index: _Index
) -> list[Dependency]:
    """Return the edges that follow from desired state.

    Between two absent resources an edge is turned round: what depends is removed first. Between an absent one and one
    that is wanted there is none.
    """
    found: list[Dependency] = []
    for origin, node in nodes.items():
        for edge in _edges(node, providers[origin.type], index):
            target = nodes.get(edge.target)
            if target is None:
                raise _breach(node.resource, "edges", f"answered {edge.target}, which this host does not declare")
            if edge.target == origin or node.resource.absent is not target.resource.absent:
                continue
            if node.resource.absent:
                reason = f"{edge.reason}, removed in reverse"
                found.append(Dependency(edge.target, origin, edge.kind, reason, soft=edge.soft))
            else:
                found.append(Dependency(origin, edge.target, edge.kind, edge.reason, soft=edge.soft))
    return found


def _edges(node: Node, provider: AnyProvider, index: _Index) -> tuple[ImplicitEdge, ...]:
    edges = _ask(node.resource, "edges", lambda: tuple(provider.edges(node.desired, index)))
    for edge in edges:
        if not isinstance(edge, ImplicitEdge):
            raise _breach(node.resource, "edges", f"answered {edge!r}")
    return edges
