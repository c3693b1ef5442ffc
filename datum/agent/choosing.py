"""Which revision one pass enforces, and what that wants of this host (design 3.5, *Target*).

Effects: through the mirror and, where late values ask for it, the machine.
"""

from collections.abc import Callable

from attrs import evolve, frozen

from datum.agent.desired import Resolver, Wanted
from datum.agent.settings import Settings
from datum.agent.source import Consulted, refused, tolerated
from datum.agent.story import Story
from datum.diagnostics import Diagnostic, Severity
from datum.errors import FleetError, RepositoryError, RepositoryUnreachableError
from datum.model.outcome import PassEnd
from datum.model.pointer import Pointer, TrailEntry
from datum.model.report import EnforcementReport
from datum.model.revision import Revision, SourceStatus
from datum.model.source import SourceTree
from datum.state.transitions import TargetChoice, choose_target


@frozen
class Chosen:
    """The target, and what it wants; `wanted` is None where there is no target."""

    choice: TargetChoice
    wanted: Wanted | None
    enforcement: EnforcementReport

    @property
    def target(self) -> TrailEntry | None:
        """The entry of the trail that is enforced."""
        return self.choice.target


@frozen
class Chooser:
    """Chooses for one pass, and tells its story what it found."""

    settings: Settings
    resolver: Resolver
    # Returns the tree of a revision.
    tree_of: Callable[[Revision], SourceTree]
    pointer: Pointer
    story: Story

    def choose(self, consulted: Consulted, *, is_untrusted: bool) -> Chosen:
        """Choose the target and resolve it.

        How far the pass goes is read from what the source offers, or else from the target; the configuration may only
        tighten it.

        Args:
            consulted: what the source gave.
            is_untrusted: whether to take a revision that is not acceptable for one that is.

        Raises:
            FleetError: what is wanted is invalid.
            RepositoryError: the target cannot be had.
        """
        if is_untrusted:
            consulted = tolerated(consulted)
            self.story.source = consulted.report
        offered = consulted.offered
        wanted = self._resolve_offered(offered.revision) if offered is not None and offered.acceptable else None
        if offered is not None and offered.acceptable and wanted is None:
            offered = None
        said = self._enforcement(wanted)
        choice = choose_target(
            self.pointer,
            self.settings.host,
            requested=consulted.requested,
            source=consulted.report.status,
            offered=offered,
            enforcement=said.mode,
        )
        self._tell(choice, consulted)
        if choice.withheld is not None and offered is not None:
            self.story.diagnostics.append(_held_back(offered.revision, choice, said))
        if choice.target is None:
            return Chosen(choice, None, said)
        revision = self.story.named(choice.target.revision)
        if wanted is not None and wanted.manifest.revision == revision:
            return Chosen(choice, wanted, said)
        found = self.resolver.resolve(self._tree(revision), self.settings.host)
        return Chosen(choice, found, said if wanted is not None else self._enforcement(found))

    def _enforcement(self, wanted: Wanted | None) -> EnforcementReport:
        """Return the tighter of what a revision says and what the configuration says; of equal ones the first."""
        own = EnforcementReport(self.settings.enforcement, self.settings.enforcement_at)
        if wanted is None or wanted.manifest.enforcement.tightness < own.mode.tightness:
            return own
        return EnforcementReport(wanted.manifest.enforcement, wanted.manifest.enforcement_at or own.location)

    def _tell(self, choice: TargetChoice, consulted: Consulted) -> None:
        story = self.story
        story.facts = evolve(story.facts, source=choice.source, withheld=choice.withheld)
        story.source = evolve(story.source, status=choice.source)
        if choice.source is SourceStatus.REFUSED:
            story.source = refused(story.source, consulted.evidence)

    def _tree(self, revision: Revision) -> SourceTree:
        try:
            return self.tree_of(revision)
        except RepositoryError as error:
            # When mirror and source are both gone, the source is what a person can bring back.
            if self.story.source.diagnostics:
                raise RepositoryUnreachableError(*self.story.source.diagnostics, *error.diagnostics) from error
            raise

    def _resolve_offered(self, revision: Revision) -> Wanted | None:
        """Resolve what the source offers; None when it is invalid and the enforced one is to be repaired meanwhile."""
        try:
            return self.resolver.resolve(self.tree_of(revision), self.settings.host)
        except FleetError as error:
            if not self.settings.repairs_on_invalid or self.pointer.enforced is None:
                self.story.target = self.story.named(revision)
                raise
            self.story.end(PassEnd.INVALID, error)
            return None


def _held_back(offered: Revision, choice: TargetChoice, said: EnforcementReport) -> Diagnostic:
    now = f"{choice.target.revision.short} stays enforced" if choice.target else "nothing is enforced"
    return Diagnostic(
        code="revision-held-back",
        summary="A newer revision is held back.",
        detail=f"{offered} is acceptable and is not enforced, because 'enforcement' says {choice.withheld}; {now}.",
        hint="set 'enforcement: enforce' in the fleet, and in the configuration of the agent if it says otherwise",
        severity=Severity.NOTE,
        location=said.location,
    )
