"""What older revisions declared for this host: the trail, what converged last, and the history of git.

Effects: reads the mirror.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from attrs import frozen

from datum.agent.desired import Resolver, Wanted
from datum.diagnostics import Diagnostic, Severity
from datum.model.graph import Node
from datum.model.identity import HostName, ResourceId
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.planner.inputs import Declaration, Unresolved
from datum.repository.mirror import Mirror

HISTORY_LIMIT: Final = 1000
"""Commits that `datum orphans` looks back at most."""


def unresolved_words(trail: Iterable[Declaration | Unresolved]) -> Iterator[Diagnostic]:
    """Yield a warning for each revision of the trail that cannot be resolved: what it declared is not known."""
    for entry in trail:
        if isinstance(entry, Unresolved):
            yield Diagnostic(
                code="trail-unresolved",
                summary="A revision whose resources may still be on this host cannot be resolved.",
                detail=f"Revision {entry.revision.short} of the trail cannot be resolved, so nothing that is no longer "
                f"declared is removed, and whether anything is left of it is unknown: {entry.detail}",
                hint="make resolvable what it names, as by installing the types that it declares",
                severity=Severity.WARNING,
            )


@frozen
class Memory:
    """Resolves what the pointer names."""

    resolver: Resolver
    mirror: Mirror
    pointer: Pointer
    host: HostName

    def older(self, target: TrailEntry, *, has_history: bool) -> tuple[Declaration | Unresolved, ...]:
        """Return what the other entries of the trail declared, newest first.

        Args:
            target: the entry that is enforced by this pass.
            has_history: whether what git says of the time before the trail follows.
        """
        trail = tuple(
            self._resolve(entry.revision, entry.host) for entry in reversed(self.pointer.trail) if entry != target
        )
        return (*trail, *self._history(target)) if has_history else trail

    def converged(
        self, wanted: Wanted, trail: tuple[Declaration | Unresolved, ...]
    ) -> Mapping[ResourceId, Node] | None:
        """Return what the last converged revision declared; None where there is none or it cannot be resolved."""
        revision = self.pointer.converged
        if revision is None:
            return None
        if revision == wanted.manifest.revision:
            return wanted.graph.nodes
        known = next((entry for entry in trail if entry.revision == revision), None)
        older = known or self._resolve(revision, self.host)
        return older.nodes if isinstance(older, Declaration) else None

    def _history(self, target: TrailEntry) -> Iterator[Declaration]:
        """Resolve what git says was declared before the trail begins; what cannot be resolved says nothing."""
        if self.pointer.enrolled is None:
            return
        known = {entry.revision for entry in self.pointer.trail}
        for revision in self.mirror.lineage(target.revision, self.pointer.enrolled, limit=HISTORY_LIMIT):
            if revision not in known:
                older = self._resolve(revision, target.host)
                if isinstance(older, Declaration):
                    yield older

    def _resolve(self, revision: Revision, host: HostName) -> Declaration | Unresolved:
        return self.resolver.resolve_older(partial(self.mirror.tree, revision), TrailEntry(revision, host))
