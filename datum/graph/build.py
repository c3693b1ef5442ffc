"""Manifest to resource graph (design 4.5): parse, claim targets, draw edges, order.

Rules enforced here and in the modules beside it: target identities are unique, references are resolved, what a check
guards can be judged, no cycle remains. Every diagnostic of a manifest is collected. No effects.

Every provider is called through the guard of `datum.graph.asking`: what it raises or answers against its contract is
told as a bug of that provider, with the resource and the step.
"""

from collections.abc import Collection, Iterable, Mapping

from attrs import evolve

from datum.diagnostics import Diagnostic, sorted_unique
from datum.errors import FleetError
from datum.graph.asking import ask, breach, check_answers, named
from datum.graph.checks import guard_candidates
from datum.graph.ordering import order_nodes
from datum.graph.references import unresolved
from datum.graph.stages import stages_of
from datum.graph.stopped import find_stopped
from datum.graph.targets import Index, claim_targets
from datum.graph.triggers import find_triggers
from datum.model.graph import Dependency, DependencyKind, Node, ResourceGraph, Target
from datum.model.identity import ResourceId
from datum.model.manifest import EffectiveManifest, Resource
from datum.provider.contract import AnyProvider, DesiredError, ImplicitEdge, RelatedProvider


def build_graph(manifest: EffectiveManifest, providers: Mapping[str, AnyProvider]) -> ResourceGraph:
    """Build the graph of one host.

    Raises:
        FleetError: with every diagnostic: values that cannot be meant, targets held twice, checks that cannot judge
            what they guard, cycles.
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    diagnostics: list[Diagnostic] = []
    nodes = _parse(manifest.resources, providers, diagnostics)
    claims = claim_targets(nodes)
    index = Index(claims, nodes)
    _relate(nodes, providers, index)
    known = frozenset(resource.id for resource in manifest.resources)
    dependencies = _declared(nodes, known, diagnostics)
    dependencies += claims.edges
    dependencies += _implicit(nodes, providers, index)
    triggering = find_triggers(nodes, providers, known)
    dependencies += triggering.edges
    stopping = find_stopped(nodes, providers, known)
    dependencies += stopping.edges
    guarding = guard_candidates(nodes, providers, dependencies, known)
    ordering = order_nodes(nodes, [*dependencies, *guarding.edges], guarding.guarded, stages_of(nodes, providers))
    diagnostics += [*claims.diagnostics, *triggering.diagnostics, *stopping.diagnostics]
    diagnostics += [*guarding.diagnostics, *ordering.diagnostics]
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
        holders=claims.holders,
        exclusive=claims.exclusive,
        guarded=guarding.guarded,
        checks=guarding.checks,
        triggers=triggering.triggers,
        stopped=stopping.stopped,
    )


def bad_values(manifest: EffectiveManifest, providers: Mapping[str, AnyProvider]) -> tuple[Diagnostic, ...]:
    """Return which values of a manifest its types cannot mean, where no graph can be made of it.

    Raises:
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    diagnostics: list[Diagnostic] = []
    _parse(manifest.resources, providers, diagnostics)
    return tuple(diagnostics)


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
            raise breach(resource, "parse", f"raised {error!r}") from error
        targets = ask(resource, "targets", lambda provider=provider, desired=desired: tuple(provider.targets(desired)))  # type: ignore[misc]  # mypy cannot type defaults of lambdas
        check_answers(resource, "targets", targets, Target)
        nodes[resource.id] = Node(resource, desired, targets)
    return nodes


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


def _relate(nodes: dict[ResourceId, Node], providers: Mapping[str, AnyProvider], index: Index) -> None:
    """Let the types that ask for it learn of the neighbours of each of their resources."""
    related = {kind: provider for kind, provider in named(nodes, providers) if isinstance(provider, RelatedProvider)}
    for origin, node in nodes.items():
        provider = related.get(origin.type)
        if provider is not None:
            nodes[origin] = evolve(node, desired=_related(node, provider, index))


def _related(node: Node, provider: RelatedProvider[object], index: Index) -> object:
    return ask(node.resource, "relate", lambda: provider.relate(node.desired, index))


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
                    diagnostics.append(unresolved(resource, f"refers to {target}", location))
    return dependencies


def _implicit(nodes: Mapping[ResourceId, Node], providers: Mapping[str, AnyProvider], index: Index) -> list[Dependency]:
    """Return the edges that follow from desired state.

    Between two absent resources an edge is turned round: what depends is removed first. Between an absent one and one
    that is wanted there is none.
    """
    found: list[Dependency] = []
    for origin, node in nodes.items():
        for edge in _edges(node, providers[origin.type], index):
            target = nodes.get(edge.target)
            if target is None:
                raise breach(node.resource, "edges", f"answered {edge.target}, which this host does not declare")
            if edge.target == origin or node.resource.absent is not target.resource.absent:
                continue
            if node.resource.absent:
                reason = f"{edge.reason}, removed in reverse"
                found.append(Dependency(edge.target, origin, edge.kind, reason, soft=edge.soft))
            else:
                found.append(Dependency(origin, edge.target, edge.kind, edge.reason, soft=edge.soft))
    return found


def _edges(node: Node, provider: AnyProvider, index: Index) -> tuple[ImplicitEdge, ...]:
    edges = ask(node.resource, "edges", lambda: tuple(provider.edges(node.desired, index)))
    check_answers(node.resource, "edges", edges, ImplicitEdge)
    return edges
