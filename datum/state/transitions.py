"""The state machine of the pointer (design 3.5): choosing the target, and the writes W, S, C, Q and X.

Pure: every function takes a pointer and gives another one; reading and writing the file is `pointer_file`'s.
Whatever git knows (who descends from whom) comes in as an argument.

Rules kept here: `accepted` moves to a revision that does not descend from it by X only; a revision is in `trail`
before its first action and until it is settled; a quarantined revision is never a target.
"""

import enum
from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic
from datum.errors import InternalError, SettingsError
from datum.model.identity import HostName
from datum.model.manifest import Enforcement
from datum.model.outcome import Withheld
from datum.model.plan import Label, Operation
from datum.model.pointer import Pointer, SettleInput, TrailEntry
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.model.revision import Revision, SourceStatus

TRAIL_LIMIT: Final = 64
"""Entries of the trail; at one more the oldest is dropped, and the report says so (design 3.5 S)."""

IsDescendant = Callable[[Revision, Revision], bool]
"""Whether the first revision is the second or descends from it, as `Mirror.is_descendant` answers."""


# --- the target ---


class TargetRule(enum.IntEnum):
    """Which rule of *Target* in design 3.5 gave the target; the values are the rules' numbers."""

    REQUESTED = 1
    SOURCE = 2
    ENFORCED = 3
    NONE = 4


@frozen
class Candidate:
    """A revision that somebody offers: `--rev`, or the source."""

    revision: Revision
    # Whether design 3.3 accepts it: `acceptable`, fleet id, agent range, signatures.
    acceptable: bool
    # Whether the approvals that the host demands are there.
    approved: bool = True


@frozen
class TargetChoice:
    """What the pass aims at, and why it is not something else."""

    rule: TargetRule
    # None only for rule 4: nothing is enforced yet, or all of it is quarantined.
    target: TrailEntry | None
    # What became of the offered revision; `OK` when it is the target or is held back.
    source: SourceStatus
    # Set when the source's revision is acceptable, is not enforced, and does not become the target.
    withheld: Withheld | None = None


def acceptable(accepted: Revision | None, candidate: Revision, is_descendant: IsDescendant) -> bool:
    """Return whether the candidate is not below the floor (design 3.3: `accepted` or a descendant of it).

    Before the first contact there is no floor: what makes a first revision trusted is the anchor or `datum init`.
    """
    return accepted is None or candidate == accepted or is_descendant(candidate, accepted)


def choose_target(
    pointer: Pointer | None,
    host: HostName,
    *,
    requested: Candidate | None,
    source: SourceStatus,
    offered: Candidate | None,
    enforcement: Enforcement,
) -> TargetChoice:
    """Return the target by rules (1) to (4) of *Target* in design 3.5.

    A `--rev` that may not be enforced never falls through to the source's revision: nobody asked for that one. The
    pass goes on at the enforced one, as after any refusal (design 3.3).

    Args:
        pointer: None at first contact; on the running system after `unseal`.
        host: Name of this host now; an older trail entry may hold another.
        requested: `--rev`, found and judged; None without the option.
        source: What asking the source gave; `OK` comes with `offered`.
        offered: The source's revision, judged; None when it gave none, or was not asked.
        enforcement: `hold` withholds new revisions of the source, not an explicit `--rev`.
    """
    if requested is not None:
        judged = _judge(pointer, _admit_enforced(pointer, requested))
        if judged is SourceStatus.OK:
            return TargetChoice(TargetRule.REQUESTED, TrailEntry(requested.revision, host), source)
        return _fall_back(pointer, host, judged, None)
    if offered is None:
        return _fall_back(pointer, host, source, None)
    judged = _judge(pointer, offered)
    withheld = _withhold(pointer, offered, enforcement) if judged is SourceStatus.OK else None
    if judged is SourceStatus.OK and withheld is None:
        return TargetChoice(TargetRule.SOURCE, TrailEntry(offered.revision, host), judged)
    return _fall_back(pointer, host, judged, withheld)


def _judge(pointer: Pointer | None, candidate: Candidate) -> SourceStatus:
    """Return `OK`, or why the candidate is not a target."""
    if not candidate.acceptable:
        return SourceStatus.REFUSED
    if pointer is not None and pointer.is_quarantined(candidate.revision):
        return SourceStatus.QUARANTINED
    return SourceStatus.OK


def _admit_enforced(pointer: Pointer | None, requested: Candidate) -> Candidate:
    """Let `--rev` name what is enforced anyway: after Q that is older than the floor."""
    is_enforced = _enforced_revision(pointer) == requested.revision
    return evolve(requested, acceptable=requested.acceptable or is_enforced)


def _withhold(pointer: Pointer | None, offered: Candidate, enforcement: Enforcement) -> Withheld | None:
    """Return what holds the offered revision back; what is enforced already cannot be held back."""
    if _enforced_revision(pointer) == offered.revision:
        return None
    if not offered.approved:
        return Withheld.NOT_APPROVED
    return Withheld.HOLD if enforcement is Enforcement.HOLD else None


def _fall_back(
    pointer: Pointer | None, host: HostName, source: SourceStatus, withheld: Withheld | None
) -> TargetChoice:
    """Rules (3) and (4): the newest of the trail that is not quarantined, else none."""
    for entry in reversed(pointer.trail if pointer is not None else ()):
        if pointer is not None and not pointer.is_quarantined(entry.revision):
            return TargetChoice(TargetRule.ENFORCED, TrailEntry(entry.revision, host), source, withheld)
    return TargetChoice(TargetRule.NONE, None, source, withheld)


def _enforced_revision(pointer: Pointer | None) -> Revision | None:
    return pointer.enforced.revision if pointer is not None and pointer.enforced is not None else None


# --- the writes of a pass ---


@frozen
class Transition:
    """The pointer after a write that may have made the trail longer."""

    pointer: Pointer
    # Entries that the limit pushed out: what they declared is found by `datum orphans` only. The report says so.
    dropped: tuple[TrailEntry, ...] = ()


def begin(
    pointer: Pointer | None, target: TrailEntry, *, descends: bool, fleet: str, sealed: bool = False
) -> Transition:
    """W of design 3.5: after planning succeeded, before the first action, whether or not there is one.

    Args:
        pointer: None at first contact.
        target: The revision, and the host's name now.
        descends: Whether the target is `accepted` or descends from it; not looked at when nothing is accepted.
        fleet: UUID of the target's fleet, for the first pointer.
        sealed: Whether this pass works below `--root` (design 6): the pointer it writes is sealed.
    """
    if pointer is None:
        pointer = Pointer(fleet, target.host)
    elif not sealed:
        pointer = unseal(pointer, target.host)
    if pointer.is_quarantined(target.revision):
        raise _bug("a quarantined revision became a target")
    previous = pointer.previous
    if _enforced_revision(pointer) != target.revision:
        previous = _previous_for(pointer, target.revision)
    pointer = evolve(pointer, previous=previous, sealed=sealed)
    if pointer.accepted is None:
        pointer = evolve(pointer, enrolled=target.revision, accepted=target.revision)
    elif descends:
        pointer = evolve(pointer, accepted=target.revision)
    return _append(pointer, target)


def _previous_for(pointer: Pointer, target: Revision) -> Revision | None:
    """Return where a rollback of a new target goes: `converged`, else the enforced one, else nowhere."""
    for revision in (pointer.converged, _enforced_revision(pointer)):
        if revision is not None and revision != target and not pointer.is_quarantined(revision):
            return revision
    return None


def settle(pointer: Pointer, target: TrailEntry, verdict: SettleInput) -> Pointer:
    """S of design 3.5, after the last action; never in a pass with `--only`.

    Only the target stays in the trail, when nothing that an older entry declared can still be on the host.
    """
    _check_enforced(pointer, target)
    return evolve(pointer, trail=(target,)) if verdict.settles else pointer


def converge(pointer: Pointer, target: TrailEntry) -> Pointer:
    """C of design 3.5: the closing plan is empty and required checks are green, and not `--only`."""
    _check_enforced(pointer, target)
    return evolve(pointer, converged=target.revision)


# --- rollback ---


class RollbackCause(enum.StrEnum):
    """Why a pass goes back to `previous`."""

    REQUIRED_CHECK = "required_check"
    CANDIDATE_CHECK = "candidate_check"
    LIFELINE = "lifeline"
    FAILED_ACTION = "failed_action"


@frozen(kw_only=True)
class RollbackFacts:
    """What the guard of Q looks at, beside the pointer."""

    # `on_failure: rollback` in the target.
    wanted: bool
    # `--only`.
    only: bool = False
    # This pass is itself the one at `previous` after Q.
    is_rollback: bool = False
    # The target was in the trail before this pass.
    is_repetition: bool = False
    # Some required check is red at the end.
    check_red: bool = False
    # One of those was green before the first action.
    check_turned_red: bool = False
    # A `check:` of candidates failed (design 4.2).
    candidate_check_failed: bool = False
    # The lifeline was armed and not confirmed (design 4.6).
    lifeline_unconfirmed: bool = False
    results: tuple[ActionResult, ...] = ()


_EXCUSED: Final = frozenset({FailureCause.BUSY, FailureCause.NETWORK, FailureCause.NO_SPACE, FailureCause.UNOBSERVABLE})


def may_roll_back(pointer: Pointer, target: TrailEntry, facts: RollbackFacts) -> RollbackCause | None:
    """Return the cause for Q of design 3.5, or None when its guard forbids it or nothing calls for it."""
    if not facts.wanted or facts.only or facts.is_rollback:
        return None
    if pointer.converged == target.revision or not _has_way_back(pointer, target.revision):
        return None
    causes = (
        (facts.check_turned_red or (facts.is_repetition and facts.check_red), RollbackCause.REQUIRED_CHECK),
        (facts.candidate_check_failed, RollbackCause.CANDIDATE_CHECK),
        (facts.lifeline_unconfirmed, RollbackCause.LIFELINE),
        (any(_is_to_blame(result) for result in facts.results), RollbackCause.FAILED_ACTION),
    )
    return next((cause for holds, cause in causes if holds), None)


def _is_to_blame(result: ActionResult) -> bool:
    """Whether the revision itself, not the moment, made this action fail; a mark is between manager and engine."""
    return (
        result.outcome in {Outcome.FAILED, Outcome.UNVERIFIED}
        and result.action.operation is not Operation.MARK
        and result.action.label in {Label.INTENT, Label.RETRY}
        and result.cause not in _EXCUSED
    )


def _has_way_back(pointer: Pointer, target: Revision) -> bool:
    previous = pointer.previous
    return previous is not None and previous != target and not pointer.is_quarantined(previous)


def roll_back(pointer: Pointer, target: TrailEntry) -> Transition:
    """Q of design 3.5: the target is quarantined and `previous` becomes the newest of the trail.

    `may_roll_back` was asked first; an ordinary pass at `previous` follows.
    """
    _check_enforced(pointer, target)
    if pointer.previous is None or not _has_way_back(pointer, target.revision):
        raise _bug("there is no revision to roll back to")
    return _append(_add_quarantined(pointer, target.revision), TrailEntry(pointer.previous, target.host))


# --- commands ---


def quarantine(pointer: Pointer, revision: Revision) -> Transition:
    """`datum quarantine` (design 3.5): of the enforced revision it is Q's write, of another one the mark alone."""
    enforced = pointer.enforced
    if enforced is not None and enforced.revision == revision and _has_way_back(pointer, revision):
        return roll_back(pointer, enforced)
    return Transition(_add_quarantined(pointer, revision))


def rewind(pointer: Pointer, revision: Revision, is_descendant: IsDescendant) -> Transition:
    """X of design 3.5, `accept R --rewind`: the only way of `accepted` to a revision that does not descend from it.

    Whoever accepts a revision by name takes it out of quarantine: else it could not be the target.

    Args:
        pointer: As it is.
        revision: R, the new floor.
        is_descendant: Asked whether R descends from each revision of the trail; False for one that is lost.
    """
    newer = [
        entry.revision
        for entry in pointer.trail
        if entry.revision != revision and not is_descendant(revision, entry.revision)
    ]
    kept = tuple(known for known in pointer.quarantined if known != revision)
    pointer = _add_quarantined(evolve(pointer, quarantined=kept), *newer)
    pointer = evolve(pointer, enrolled=pointer.enrolled or revision, accepted=revision)
    return _append(pointer, TrailEntry(revision, pointer.host))


def rename(pointer: Pointer, old: HostName, new: HostName) -> Pointer:
    """`datum init --rename OLD` (design 3.5 X): the pointer is `new`'s, trail entries keep the name they had.

    Raises:
        SettingsError: the pointer was not written for `old`.
    """
    if pointer.host != old:
        raise SettingsError(
            Diagnostic(
                code="rename-of-another-host",
                summary="The pointer belongs to another host name",
                detail=f"It was written for '{pointer.host}', not for '{old}'.",
                hint=f"datum init --rename {pointer.host}",
            )
        )
    return evolve(pointer, host=new)


def unseal(pointer: Pointer, host: HostName) -> Pointer:
    """Rebind a pointer that a pass with `--root` wrote, for use on the running system (design 6).

    Applied to what was read, before anything is decided on it; W stores it. What was converged in an image says
    nothing of this machine, so it counts as a first pass. A pointer that is not sealed is returned as it is.
    """
    if not pointer.sealed:
        return pointer
    return evolve(pointer, sealed=False, host=host, converged=None, previous=None)


# --- shared ---


def _append(pointer: Pointer, entry: TrailEntry) -> Transition:
    """`trail += entry`: one that is there already moves to the end, so no entry stands twice."""
    if pointer.enforced == entry:
        return Transition(pointer)
    trail = (*(known for known in pointer.trail if known != entry), entry)
    return Transition(evolve(pointer, trail=trail[-TRAIL_LIMIT:]), trail[:-TRAIL_LIMIT])


def _add_quarantined(pointer: Pointer, *revisions: Revision) -> Pointer:
    return evolve(pointer, quarantined=tuple(dict.fromkeys((*pointer.quarantined, *revisions))))


def _check_enforced(pointer: Pointer, target: TrailEntry) -> None:
    if pointer.enforced != target:
        raise _bug("a write of a pass names another target than the pass began with")


def _bug(what: str) -> InternalError:
    return InternalError(
        Diagnostic(
            code="pointer-transition-bug",
            summary="A rule of the pointer would be broken",
            detail=f"Datum was about to write a pointer although {what}. This is a bug in datum; nothing was written.",
            hint="report it together with the pass report",
        )
    )
