"""What became of actions, resources and passes: closed sets (design 5). Pure."""

import enum

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.model.identity import ResourceId
from datum.model.plan import Action, Change, Hold


class Outcome(enum.StrEnum):
    """What became of one resource."""

    IN_SYNC = "in_sync"
    APPLIED = "applied"
    ALREADY = "already"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    SKIPPED = "skipped"
    HELD = "held"
    BUSY = "busy"
    UNOBSERVABLE = "unobservable"
    ORPHAN = "orphan"

    @property
    def spreads(self) -> bool:
        """Whether what requires this resource, and has something to do, is skipped."""
        return self in {
            Outcome.FAILED,
            Outcome.UNVERIFIED,
            Outcome.SKIPPED,
            Outcome.HELD,
            Outcome.BUSY,
            Outcome.UNOBSERVABLE,
        }

    @property
    def is_settled(self) -> bool:
        """Whether the resource is as declared."""
        return self in {Outcome.IN_SYNC, Outcome.APPLIED, Outcome.ALREADY}


class FailureCause(enum.StrEnum):
    """Why an action failed, as far as design 3.5 Q asks."""

    BUSY = "busy"
    NETWORK = "network"
    NO_SPACE = "no_space"
    READ_ONLY = "read_only"
    IMPOSSIBLE = "impossible"
    CHECK = "check"
    BREACH = "breach"
    DEADLINE = "deadline"
    # What was done could not be looked at afterwards.
    UNOBSERVABLE = "unobservable"
    OTHER = "other"


class PassOutcome(enum.StrEnum):
    """What became of a pass."""

    CONVERGED = "converged"
    WAITING = "waiting"
    FAILED = "failed"
    HELD = "held"
    INCOMPLETE = "incomplete"
    ROLLED_BACK = "rolled_back"
    PARTIAL = "partial"
    INTERRUPTED = "interrupted"
    NOT_OBTAINED = "not_obtained"
    INVALID = "invalid"
    UNOBSERVED = "unobserved"
    REFUSED = "refused"
    # `datum plan`, and a pass whose enforcement is `observe`: planned, nothing done.
    PLANNED = "planned"


@frozen
class Verification:
    """Made by the engine only: observe again, plan again."""

    converged: bool
    # What the second plan would still change.
    remaining: tuple[Change, ...] = ()


@frozen
class ActionResult:
    """Every action of the plan has exactly one."""

    action: Action
    outcome: Outcome
    verification: Verification | None = None
    # What holds it: as planned, or what was found when its turn came. Set with `held` only.
    hold: Hold | None = None
    # The resource whose outcome skipped this one.
    blocked_by: ResourceId | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    cause: FailureCause | None = None
    # Seconds on the monotonic clock.
    duration: float = field(default=0.0, eq=False)
    # Remarks of the writer: `not_atomic`, the fallback of a check.
    remarks: tuple[str, ...] = ()
    # Set when the host had moved on and another step than the planned one was applied.
    replanned: bool = False
    # The check that refused this candidate, or that could not be run.
    refused_by: ResourceId | None = None
    # The checks that this candidate passed, in their order.
    passed: tuple[ResourceId, ...] = ()
