"""Asking the source: which revision there is, and whether it is acceptable (design 3.2, 3.3, 3.5).

Effects: through the mirror. Whatever the source does, the pass goes on at the enforced revision; nothing here raises
for it, except where a person named a revision that cannot be had.
"""

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, TypeVar

from attrs import Factory, evolve, field, frozen

from datum.agent.anchor import ADVICE, is_anchored, unanchored
from datum.agent.resolver.interface import Manifests
from datum.agent.resolver.own import OwnManifests
from datum.agent.settings import Settings
from datum.diagnostics import Diagnostic, Severity
from datum.errors import (
    RepositoryError,
    RepositoryUnreachableError,
    RevisionNotFoundError,
    RevisionRefusedError,
)
from datum.model.fleet import agent_fits
from datum.model.pointer import Pointer
from datum.model.report import SourceReport
from datum.model.revision import Revision, SourceStatus
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from datum.state.transitions import Candidate, acceptable

_COMMIT_ID: Final = re.compile(r"[0-9a-f]{7,64}")
_T = TypeVar("_T")


def from_first(remotes: Iterable[Remote], attempt: Callable[[Remote], _T]) -> tuple[_T, tuple[Diagnostic, ...]]:
    """Return what the first remote gave that could be had, and as warnings why those before it could not.

    A remote that answers counts, whatever it says: one that has no such ref is not passed over.

    Raises:
        RepositoryUnreachableError: none could; with the reasons of all.
        RevisionNotFoundError: one answered so; with the warnings.
    """
    reasons: list[Diagnostic] = []
    for remote in remotes:
        try:
            return attempt(remote), _warnings(reasons)
        except RepositoryUnreachableError as error:
            reasons += (_of(remote, reason) for reason in error.diagnostics)
        except RevisionNotFoundError as error:
            raise RevisionNotFoundError(*_warnings(reasons), *error.diagnostics) from error
    raise RepositoryUnreachableError(*reasons)


def _of(remote: Remote, reason: Diagnostic) -> Diagnostic:
    """Return a reason that names its remote."""
    return reason if remote.url in reason.detail else evolve(reason, detail=f"{remote}: {reason.detail}")


def _warnings(reasons: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(evolve(reason, severity=Severity.WARNING) for reason in reasons)


@frozen
class Consulted:
    """What the source gave, judged."""

    report: SourceReport
    # The source's revision; None when it gave none or was not asked.
    offered: Candidate | None = None
    # `--rev`; None without the option.
    requested: Candidate | None = None
    # Why a candidate is not acceptable.
    evidence: tuple[Diagnostic, ...] = field(default=())


@frozen
class Source:
    """One conversation with the source."""

    settings: Settings
    mirror: Mirror
    pointer: Pointer
    agent: str
    # Whether what is acceptable moves from quarantine into the mirror; `datum plan` leaves no trace.
    is_lasting: bool = True
    manifests: Manifests = field(default=Factory(lambda self: OwnManifests({}, self.agent), takes_self=True))

    def consult(self) -> Consulted:
        """Ask, fetch what is new, and judge it.

        Raises:
            RevisionNotFoundError: `--rev` names nothing that can be had.
            FleetError: the header of the revision cannot be read: it is invalid.
        """
        try:
            return self._consult()
        except RevisionNotFoundError as error:
            # Only `--rev` ends a pass so: without it the pass goes on at the enforced revision.
            raise RevisionNotFoundError(*(self._not_there(item) for item in error.diagnostics)) from error

    def _consult(self) -> Consulted:
        settings = self.settings
        if settings.rev is not None and (wanted := self._known(settings.rev)) is not None:
            report = self._report(SourceStatus.NOT_ASKED)
            candidate, evidence = self._judge(wanted)
            return Consulted(report, requested=candidate, evidence=evidence)
        if settings.is_offline:
            self._require_known()
            return Consulted(self._report(SourceStatus.NOT_ASKED))
        return self._ask()

    def _ask(self) -> Consulted:
        settings = self.settings
        try:
            (remote, revision), passed = from_first(settings.remotes, self._reach)
        except RevisionNotFoundError as error:
            self._require_known()
            return Consulted(evolve(self._report(SourceStatus.GONE), diagnostics=error.diagnostics))
        except RepositoryUnreachableError as error:
            self._require_known()
            return Consulted(evolve(self._report(SourceStatus.UNREACHABLE), diagnostics=error.diagnostics))
        candidate, evidence = self._admit(revision)
        status = SourceStatus.OK if candidate.acceptable else SourceStatus.REFUSED
        report = evolve(self._report(status), remote=remote.url, revision=revision, diagnostics=(*passed, *evidence))
        if settings.rev is None:
            return Consulted(report, offered=candidate, evidence=evidence)
        requested, evidence = self._admit(self._obtain(remote, settings.rev))
        return Consulted(report, offered=candidate, requested=requested, evidence=evidence)

    def _reach(self, remote: Remote) -> tuple[Remote, Revision]:
        """Ask one remote, and fetch what is new there; all of it together within `source.timeout`."""
        settings = self.settings
        end = time.monotonic() + settings.source_timeout
        revision = self.mirror.ask(remote, settings.ref, timeout=settings.source_timeout)
        if remote != settings.remotes[0]:
            self._refuse_behind(remote, revision)
        self._recover(remote, revision, end)
        self._fetch(remote, revision, end)
        return remote, revision

    def _refuse_behind(self, remote: Remote, revision: Revision) -> None:
        """Pass over a remote that stands in for another, and has not yet what this host has accepted.

        Raises:
            RepositoryUnreachableError: it is behind. Of the first remote this would be a branch that was set back.
        """
        accepted = self.pointer.accepted
        if accepted is None or revision == accepted or not (self.mirror.has(revision) and self.mirror.has(accepted)):
            return
        if is_behind(self.mirror, revision, accepted):
            raise RepositoryUnreachableError(
                Diagnostic(
                    code="remote-behind",
                    summary="The remote is behind.",
                    detail=f"{remote} stands in for {self.settings.repo}, and still names {revision.short}, which is "
                    f"older than the accepted revision {accepted.short}.",
                    hint="Bring that copy up to date.",
                )
            )

    def _admit(self, revision: Revision) -> tuple[Candidate, tuple[Diagnostic, ...]]:
        """Judge what was fetched; what is acceptable moves into the mirror, whoever named it."""
        candidate, evidence = self._judge(revision)
        if candidate.acceptable and self.is_lasting:
            self.mirror.promote(revision)
        return candidate, evidence

    def _obtain(self, remote: Remote, rev: str) -> Revision:
        """Return the revision that `--rev` names: a commit that came along, or a branch or tag of the source."""
        known = self.mirror.resolve(rev) if _COMMIT_ID.fullmatch(rev) else self._known(rev)
        if known is None:
            end = time.monotonic() + self.settings.source_timeout
            known = self.mirror.ask(remote, rev, timeout=self.settings.source_timeout)
            self._fetch(remote, known, end)
        return known

    def _not_there(self, found: Diagnostic) -> Diagnostic:
        """Return what `--rev` came to: nothing is wrong with the branch, and nothing was done."""
        enforced = self.pointer.enforced
        stays = f" The host stays at {enforced.revision.short}." if enforced else ""
        if found.code not in {"ref-gone", "revision-missing"}:
            return evolve(found, detail=f"{found.detail}{stays}")
        hint = f"correct --rev, or leave it out to follow {self.settings.ref}"
        if self.settings.is_offline:
            hint += "; without --offline the source is asked for it"
        return evolve(found, detail=f"{found.detail}{stays}", hint=hint)

    def _fetch(self, remote: Remote, revision: Revision, end: float) -> None:
        if not self.mirror.is_sound([revision]):
            self.mirror.fetch(
                remote,
                self.settings.ref,
                revision,
                timeout=max(end - time.monotonic(), 0),
                byte_limit=self.settings.source_bytes,
                also=() if self.is_lasting else self._lost(),
            )

    def _recover(self, remote: Remote, offered: Revision, end: float) -> None:
        """Fetch again what a lost mirror had and the source may have dropped since: a cache costs time only.

        As far as it goes: the remote need not have a commit that no ref of it names.
        """
        for revision in self._lost() if self.is_lasting else ():
            if revision != offered:
                with suppress(RepositoryError):
                    self._fetch(remote, revision, end)
                    self.mirror.promote(revision)

    def _lost(self) -> tuple[Revision, ...]:
        """Return what the pointer names and the mirror has not; the accepted revision tells whether to look."""
        accepted = self.pointer.accepted
        if accepted is None or self.mirror.has(accepted):
            return ()
        named = dict.fromkeys((*(entry.revision for entry in self.pointer.trail), accepted))
        return tuple(revision for revision in named if not self.mirror.has(revision))

    def _known(self, rev: str) -> Revision | None:
        try:
            return self.mirror.resolve(rev)
        except RevisionNotFoundError:
            return None

    def _require_known(self) -> None:
        if self.settings.rev is not None:
            self.mirror.resolve(self.settings.rev)

    def _report(self, status: SourceStatus) -> SourceReport:
        return SourceReport(self.settings.repo, self.settings.ref, status)

    def _judge(self, revision: Revision) -> tuple[Candidate, tuple[Diagnostic, ...]]:
        """Return the candidate and the evidence against it (design 3.3, as far as there are no signatures).

        Of what does not descend from what is trusted no file is read: who wrote it has had no say on this host, and
        what reads it reads the enforced revision afterwards.
        """
        evidence = self._strangeness(revision) or self._misfit(revision)
        return Candidate(revision, acceptable=not evidence), evidence

    def _strangeness(self, revision: Revision) -> tuple[Diagnostic, ...]:
        """Return the evidence by ancestry: commits are looked at, and no file."""
        try:
            return self._unproved(revision)
        except RevisionRefusedError as error:
            return tuple(self._refusal(revision, item.code, item.detail, item.hint) for item in error.diagnostics)

    def _unproved(self, revision: Revision) -> tuple[Diagnostic, ...]:
        """Return the evidence that a revision does not descend from what is trusted.

        Raises:
            RevisionRefusedError: it does, and from too far away for a proof.
        """
        accepted, anchor = self.pointer.accepted, self.settings.anchor
        if not acceptable(accepted, revision, self.mirror.is_descendant):
            return (self._refusal(revision, "not-a-descendant", *self._rewritten(revision)),)
        if accepted is None and not is_anchored(self.mirror, revision, anchor):
            detail = unanchored(self.mirror, revision, anchor)
            return (self._refusal(revision, "not-anchored", detail, ADVICE),)
        return ()

    def _misfit(self, revision: Revision) -> tuple[Diagnostic, ...]:
        """Return the evidence that the header gives: all of it, not only the first."""
        evidence: list[Diagnostic] = []
        header, fleet = self.manifests.header(self.mirror.tree(revision)), self.pointer.fleet
        if fleet and header.fleet != fleet:
            evidence.append(self._refusal(revision, "foreign-fleet", foreign(header.fleet, fleet), ""))
        if not agent_fits(header.agent, self.agent):
            detail = f"It asks for agent {header.agent}; this is {self.agent}."
            evidence.append(self._refusal(revision, "agent-out-of-range", detail, "upgrade datum on this host"))
        return tuple(evidence)

    def _rewritten(self, revision: Revision) -> tuple[str, str]:
        accepted = self.pointer.accepted
        assert accepted is not None  # noqa: S101  # without a floor everything is acceptable
        detail = (
            f"It does not descend from the accepted revision {accepted.short}: the branch was rewritten or set back, "
            f"or this is another repository. Offered: {self._said(revision)}. Accepted: {self._said(accepted)}."
        )
        hint = (
            f"put the branch back onto {accepted.short} or a descendant of it; accepting a rewind on the host is not "
            "in this version"
        )
        return detail, hint

    def _said(self, revision: Revision) -> str:
        """Return what a commit says of itself; its id alone where it is lost."""
        try:
            found = self.mirror.describe(revision)
        except RepositoryError:
            return f"{revision.short} (no longer in the mirror)"
        return f"{revision.short} '{found.subject}' by {found.committer}, {found.committed_at}"

    def _refusal(self, revision: Revision, code: str, detail: str, hint: str) -> Diagnostic:
        enforced = self.pointer.enforced
        now = f" Still enforced: {enforced.revision.short}." if enforced else " Nothing is enforced."
        return Diagnostic(code=code, summary="The revision is refused.", detail=f"{revision}: {detail}{now}", hint=hint)


def is_behind(mirror: Mirror, revision: Revision, accepted: Revision) -> bool:
    """Whether a revision is one that was accepted earlier than another, or is in its history; False if unknown."""
    try:
        return mirror.is_descendant(accepted, revision)
    except RevisionRefusedError:
        # It is in the history, and only too far down for a proof, which nothing that is passed over needs.
        return True
    except RepositoryError:
        return False


def refused(report: SourceReport, evidence: Iterable[Diagnostic]) -> SourceReport:
    """Return a report with what a revision is refused for, and still with why earlier remotes did not answer."""
    passed = (item for item in report.diagnostics if item.severity is Severity.WARNING)
    return evolve(report, diagnostics=tuple(dict.fromkeys((*passed, *evidence))))


def tolerated(consulted: Consulted) -> Consulted:
    """Return what was found as if it were acceptable, the evidence as warnings: `plan --untrusted` asked for it."""
    evidence = tuple(
        evolve(item, severity=Severity.WARNING, summary="A pass refuses this revision.") for item in consulted.evidence
    )
    offered, requested = (
        None if one is None else evolve(one, acceptable=True) for one in (consulted.offered, consulted.requested)
    )
    status = consulted.report.status
    report = evolve(
        refused(consulted.report, evidence),
        status=SourceStatus.OK if status is SourceStatus.REFUSED else status,
    )
    return evolve(consulted, offered=offered, requested=requested, evidence=evidence, report=report)


def foreign(theirs: str, ours: str) -> str:
    """Return the sentence on a revision of another fleet."""
    return f"It belongs to fleet {theirs}; this host is enrolled in fleet {ours}."
