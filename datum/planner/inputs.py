"""What a plan is a function of (design 1.3). Values only."""

from collections.abc import Mapping

from attrs import field, frozen

from datum.model.graph import Node, ResourceGraph
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import LimitClass, Limits
from datum.model.observation import Observation, ObservedState
from datum.model.pause import Pause
from datum.model.revision import Revision
from datum.provider.contract import AnyProvider


@frozen
class Declaration:
    """What one older revision declared for this host."""

    revision: Revision
    nodes: Mapping[ResourceId, Node]
    # All ids of `nodes`; deletions go in the reverse of it.
    order: tuple[ResourceId, ...]


@frozen
class Unresolved:
    """A revision of the trail that this agent cannot resolve: nothing may be removed on its account."""

    revision: Revision
    # Full sentence: why.
    detail: str


@frozen
class Sight:
    """One older declaration of an orphan, and what is on the host in its terms."""

    revision: Revision
    node: Node
    observation: Observation


@frozen
class OrphanSight:
    """Everything known of one orphan."""

    # Newest declaration first; never empty.
    sights: tuple[Sight, ...]
    # The package that owns one of its paths, if any.
    package: str | None = None
    # Why it is not known whether a package owns one; empty when it is known.
    package_unknown: str = ""


@frozen
class PlanInput:
    """Equal inputs give an equal plan."""

    revision: Revision
    host: HostName
    manifest_digest: str
    graph: ResourceGraph
    providers: Mapping[str, AnyProvider]
    observed: ObservedState
    # Newest first, without the target.
    trail: tuple[Declaration | Unresolved, ...] = ()
    # Whether the target was in the trail before this pass.
    is_retry: bool = False
    # What the last converged revision declared; None if there is none, or it cannot be resolved.
    converged: Mapping[ResourceId, Node] | None = None
    orphans: Mapping[ResourceId, OrphanSight] = field(factory=dict)
    limits: Limits = field(factory=Limits)
    # `--allow removals=N` and the like, valid with `--expect ID` only.
    allowed: Mapping[LimitClass, int] = field(factory=dict)
    # As it was found, in force or not, and the moment of the pass: seconds since 1970.
    pause: Pause | None = None
    now: int = 0

    def declarations(self, origin: ResourceId) -> tuple[Node, ...]:
        """Return what the older revisions of the trail declared under this id, newest first."""
        return tuple(
            entry.nodes[origin] for entry in self.trail if isinstance(entry, Declaration) and origin in entry.nodes
        )
