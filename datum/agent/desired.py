"""From a revision's tree to what is wanted on this host: manifest, machine, graph.

The machine is observed before the graph is built, because what a resource holds may depend on a late value
(ADR 0016). Effects: reads the machine through the reader, and nothing else.
"""

from collections.abc import Callable, Mapping

from attrs import Factory, field, frozen

from datum.agent.resolver.interface import Manifests
from datum.agent.resolver.own import OwnManifests
from datum.diagnostics import Diagnostic
from datum.errors import DatumError
from datum.graph.build import build_graph
from datum.model.graph import ResourceGraph
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import EffectiveManifest, Late
from datum.model.observation import Cause, Machine, Unobservable
from datum.model.pointer import TrailEntry
from datum.model.source import SourceTree
from datum.planner.inputs import Declaration, Unresolved
from datum.provider.contract import AnyProvider

ReadMachine = Callable[[], Machine]


@frozen
class Wanted:
    """What one revision wants of this host."""

    # As the revision says it: late values unevaluated.
    manifest: EffectiveManifest
    # Built with the machine's values.
    graph: ResourceGraph
    tree: SourceTree
    machine: Machine
    # Resources whose late values this machine cannot give.
    known: Mapping[ResourceId, Unobservable] = field(factory=dict)


@frozen
class Resolver:
    """Resolves revisions for one pass: everything but the tree and the host name stays the same."""

    providers: Mapping[str, AnyProvider]
    agent: str
    read_machine: ReadMachine
    manifests: Manifests = field(
        default=Factory(lambda self: OwnManifests(self.providers, self.agent), takes_self=True)
    )

    def resolve(self, tree: SourceTree, host: HostName) -> Wanted:
        """Return what this tree wants of this host.

        Raises:
            FleetError: with every diagnostic.
        """
        manifest = self.manifests.manifest(tree, host)
        if not has_late(manifest):
            machine = self.read_machine() if manifest.expect.values else Machine()
            return Wanted(manifest, build_graph(manifest, self.providers), tree, machine)
        machine = self.read_machine()
        concrete, problems = self.manifests.concrete(manifest, tree, machine)
        known = {origin: _unobservable(problem) for origin, problem in problems.items()}
        return Wanted(manifest, build_graph(concrete, self.providers), tree, machine, known)

    def resolve_older(self, tree_of: Callable[[], SourceTree], entry: TrailEntry) -> Declaration | Unresolved:
        """Return what a revision of the trail declared under the name the host had then."""
        try:
            wanted = self.resolve(tree_of(), entry.host)
        except DatumError as error:
            return Unresolved(entry.revision, _why(error))
        return Declaration(entry.revision, wanted.graph.nodes, wanted.graph.order)


def has_late(manifest: EffectiveManifest) -> bool:
    """Whether some field, or a part of one, waits for the machine."""
    return any(
        isinstance(part, Late)
        for resource in manifest.resources
        for value in resource.attributes.values()
        for part in (value if isinstance(value, tuple) else (value,))
    )


def _unobservable(problem: Diagnostic) -> Unobservable:
    return Unobservable(Cause.LATE_VALUE, problem.detail)


def _why(error: DatumError) -> str:
    """Return the first reason as a sentence; a type that is gone may be named by each of its resources."""
    first, *others = dict.fromkeys(found.detail or found.summary for found in error.diagnostics)
    return f"{first} ({len(others)} more)" if others else first
