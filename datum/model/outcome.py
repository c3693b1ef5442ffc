"""What a pass came to, and the exit code that says so (design 3.5, its table, and 5). Pure.

Both functions read the same facts, and both are lists of rules of which the first that holds decides.
"""

import enum
from typing import Final

from attrs import field, frozen

from datum.errors import SIGNAL_BASE, ExitCode
from datum.model.result import Outcome, PassOutcome
from datum.model.revision import SourceStatus


class Withheld(enum.StrEnum):
    """Why an acceptable revision of the source that is not enforced yet is not the target."""

    # `enforcement: hold`.
    HOLD = "hold"
    # Approvals that the host demands are missing.
    NOT_APPROVED = "not_approved"


class PassEnd(enum.Enum):
    """Why a pass ended before its first action; the host is untouched."""

    USAGE = "usage"
    # The fleet repository's content is wrong.
    INVALID = "invalid"
    NO_SUCH_REVISION = "no_such_revision"
    HOST_NOT_IN_FLEET = "host_not_in_fleet"
    PLANNING_FAILED = "planning_failed"
    # Observing ended the pass (design 1.2, scope `host`).
    UNOBSERVED = "unobserved"
    STATE = "state"
    LOCKED = "locked"
    NOT_ALLOWED = "not_allowed"
    CONFIGURATION = "configuration"
    # No target: neither the source nor the trail gives a revision (rule 4 of *Target*).
    NO_TARGET = "no_target"


@frozen(kw_only=True)
class PassFacts:
    """All that outcome and exit code depend on. The defaults are a pass that found nothing to do."""

    # Every outcome that some resource of the pass has; what only waits for a window is left out, see `waits`.
    outcomes: frozenset[Outcome] = frozenset()
    # Some action waits for a window, and for nothing else.
    waits: bool = False
    # The closing plan is empty, or there was nothing to do (design 1.4).
    closing_empty: bool = True
    # A required check is red at the end (design 4.2).
    check_red: bool = False
    source: SourceStatus = SourceStatus.OK
    # Set when the source has an acceptable revision that is held back.
    withheld: Withheld | None = None
    # This pass wrote Q, and its actions are those of the pass at `previous`.
    rolled_back: bool = False
    # `datum plan`, enforcement `observe`, or paused: planned, nothing done.
    planned_only: bool = False
    # `--only`.
    only: bool = False
    ended: PassEnd | None = None
    # Number of the signal that ended the pass.
    signal: int | None = None
    # A provider broke its contract, or datum has a bug, whatever else was done.
    bug: bool = False
    # The host was changed; for `planned_only`: the plan has actions.
    changes: bool = False
    # `--detailed-exitcode`.
    detailed: bool = field(default=False)


_ENDS: Final = {
    PassEnd.USAGE: (PassOutcome.FAILED, ExitCode.USAGE),
    PassEnd.INVALID: (PassOutcome.INVALID, ExitCode.DATAERR),
    PassEnd.NO_SUCH_REVISION: (PassOutcome.NOT_OBTAINED, ExitCode.NOINPUT),
    PassEnd.HOST_NOT_IN_FLEET: (PassOutcome.INVALID, ExitCode.NOHOST),
    PassEnd.PLANNING_FAILED: (PassOutcome.FAILED, ExitCode.SOFTWARE),
    PassEnd.UNOBSERVED: (PassOutcome.UNOBSERVED, ExitCode.OSERR),
    PassEnd.STATE: (PassOutcome.FAILED, ExitCode.IOERR),
    PassEnd.LOCKED: (PassOutcome.FAILED, ExitCode.TEMPFAIL),
    PassEnd.NOT_ALLOWED: (PassOutcome.FAILED, ExitCode.NOPERM),
    PassEnd.CONFIGURATION: (PassOutcome.FAILED, ExitCode.CONFIG),
}
_FAILED: Final = frozenset({Outcome.FAILED, Outcome.UNVERIFIED})
_INCOMPLETE: Final = frozenset({Outcome.UNOBSERVABLE, Outcome.BUSY})
# Outcomes of a pass that left something (design 5, code 1).
_LEFT: Final = frozenset({PassOutcome.FAILED, PassOutcome.INCOMPLETE, PassOutcome.ROLLED_BACK, PassOutcome.HELD})


def pass_outcome(facts: PassFacts) -> PassOutcome:
    """Return what became of the pass (design 3.5, table; 5)."""
    if facts.signal is not None:
        return PassOutcome.INTERRUPTED
    if facts.ended is PassEnd.NO_TARGET:
        return PassOutcome.REFUSED if facts.source is SourceStatus.REFUSED else PassOutcome.NOT_OBTAINED
    if facts.ended is not None:
        return _ENDS[facts.ended][0]
    if facts.planned_only:
        return PassOutcome.PLANNED
    return PassOutcome.PARTIAL if facts.only else _verdict(facts)


def exit_code(facts: PassFacts) -> int:
    """Return the exit code of the command that ran the pass: the first row of design 5 that holds."""
    if facts.signal is not None:
        return SIGNAL_BASE + facts.signal
    if facts.bug or facts.ended is PassEnd.PLANNING_FAILED:
        return ExitCode.SOFTWARE
    # A plan answers for itself: what it would leave is its content, not its failure.
    verdict = PassOutcome.PLANNED if facts.planned_only else _verdict(facts)
    if verdict in _LEFT:
        return ExitCode.LEFT
    if verdict is PassOutcome.WAITING:
        return ExitCode.WAITING
    return _exit_code_of_end(facts)


def _exit_code_of_end(facts: PassFacts) -> int:
    """Return the code of a pass that left nothing undone of what it began."""
    if facts.ended not in {None, PassEnd.NO_TARGET}:
        return _ENDS[facts.ended][1]
    has_no_target = facts.ended is PassEnd.NO_TARGET
    if facts.source is SourceStatus.REFUSED:
        return ExitCode.PROTOCOL
    if facts.source is SourceStatus.GONE and has_no_target:
        return ExitCode.NOINPUT
    if has_no_target or facts.source in {SourceStatus.UNREACHABLE, SourceStatus.GONE}:
        return ExitCode.UNAVAILABLE
    return ExitCode.CHANGES if facts.detailed and facts.changes else ExitCode.OK


def _verdict(facts: PassFacts) -> PassOutcome:
    """Return what the resources, the checks and the source leave, whatever part of the fleet was looked at."""
    rules = (
        (facts.check_red or bool(facts.outcomes & _FAILED), PassOutcome.FAILED),
        (bool(facts.outcomes & _INCOMPLETE), PassOutcome.INCOMPLETE),
        (facts.rolled_back or facts.source is SourceStatus.QUARANTINED, PassOutcome.ROLLED_BACK),
        (facts.withheld is not None or Outcome.HELD in facts.outcomes, PassOutcome.HELD),
        (facts.waits, PassOutcome.WAITING),
        (Outcome.SKIPPED in facts.outcomes or not facts.closing_empty, PassOutcome.INCOMPLETE),
    )
    return next((outcome for holds, outcome in rules if holds), PassOutcome.CONVERGED)
