"""The accepted-revision pointer: revisions and nothing else (design 3.5). Pure."""

from attrs import field, frozen

from datum.model.identity import HostName
from datum.model.revision import Revision


@frozen
class TrailEntry:
    """A revision whose declarations may still be on the host, and the name the host had then."""

    revision: Revision
    host: HostName


@frozen
class Pointer:
    """What datum keeps between passes. The last entry of `trail` is the revision *enforced*."""

    # UUID of the fleet.
    fleet: str
    host: HostName
    # First accepted.
    enrolled: Revision | None = None
    # The floor: only it and its descendants are acceptable.
    accepted: Revision | None = None
    trail: tuple[TrailEntry, ...] = ()
    # Where a rollback goes.
    previous: Revision | None = None
    # For labels, promotion and people.
    converged: Revision | None = None
    quarantined: tuple[Revision, ...] = ()
    # Set while a lifeline is armed (design 4.6).
    trial: Revision | None = None
    # Written by a pass with `--root` (design 6).
    sealed: bool = False

    @property
    def enforced(self) -> TrailEntry | None:
        """The newest entry of the trail."""
        return self.trail[-1] if self.trail else None

    def is_quarantined(self, revision: Revision) -> bool:
        """Whether the revision is never a target."""
        return revision in self.quarantined


@frozen
class SettleInput:
    """What S of design 3.5 decides on, gathered after the last action."""

    # Every orphan is removed and verified, absent, or kept by a rule that looked at it.
    orphans_settled: bool = field()
    # Every resource that the target and an older trail revision declare differently is verified at the target.
    differences_verified: bool = field()
    # Every older revision of the trail could be resolved.
    trail_resolved: bool = field()

    @property
    def settles(self) -> bool:
        """Whether the trail shrinks to the target."""
        return self.orphans_settled and self.differences_verified and self.trail_resolved
