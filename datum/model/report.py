"""What a pass did, for people and machines (design 1 and 5). Pure."""

import enum
from collections.abc import Mapping

from attrs import field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import Enforcement
from datum.model.pause import Pause
from datum.model.plan import Hold, Kept, Orphan, Stale
from datum.model.pointer import Pointer
from datum.model.result import Outcome, PassOutcome
from datum.model.revision import Revision, SourceStatus
from datum.model.trigger import Asked, Trigger


@frozen
class SourceReport:
    """What asking the source gave."""

    # As configured, without credentials.
    remote: str
    ref: str
    status: SourceStatus
    # What the source names, whether or not it is acceptable.
    revision: Revision | None = None
    # Why it is not `ok`, and the command that would proceed.
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen
class ChangeReport:
    """One field of one resource; `diff` is a unified diff where both sides are text and neither is secret."""

    field: str
    before: JsonValue
    after: JsonValue
    diff: str = ""
    # The diff is shown to whoever runs the pass, and not kept with the report.
    is_private: bool = False


@frozen
class ResourceReport:
    """One resource that is not simply in sync."""

    id: ResourceId
    # None: planned, and not tried.
    outcome: Outcome | None
    # `create`, `update`, …; empty where there is no action.
    operation: str = ""
    # `intent`, `drift`, `adopt`, `retry`; empty where there is no action.
    label: str = ""
    location: SourceLocation | None = None
    changes: tuple[ChangeReport, ...] = ()
    hazards: tuple[str, ...] = ()
    # Whose outcome skipped this one.
    blocked_by: ResourceId | None = None
    hold: Hold | None = None
    detail: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    remarks: tuple[str, ...] = ()
    # Seconds.
    duration: float = 0.0
    # Paths that are removed beside what the resource declares.
    takes: tuple[str, ...] = ()
    # The check that refused this candidate, or that could not be run.
    refused_by: ResourceId | None = None
    # Ids whose actions provide what this one needs: what it comes to is known after them.
    known_after: tuple[ResourceId, ...] = ()
    # Services that are marked before this is done, and what each owes then: `reload` or `restart`.
    marks: Mapping[ResourceId, str] = field(factory=dict)
    # Services that do not run while it is done, sorted.
    while_stopped: tuple[ResourceId, ...] = ()


class CheckOutcome(enum.StrEnum):
    """What a check said of its candidates."""

    PASSED = "passed"
    REFUSED = "refused"
    # There was nothing to judge any more, another check refused first, or its program could not be run.
    NOT_RUN = "not_run"


@frozen
class CheckReport:
    """One check whose candidates had something to do, or that guards a start or a refresh."""

    id: ResourceId
    # None: planned, and not tried.
    outcome: CheckOutcome | None
    # What it judges and has an action, and what is started or refreshed only when it passes, in the order of the plan.
    candidates: tuple[ResourceId, ...] = ()


@frozen
class LeftOver:
    """What the closing plan still contains, and who may have caused it."""

    resource: ResourceId
    fields: tuple[str, ...]
    # Resources whose actions ran after this one's own.
    suspects: tuple[ResourceId, ...] = ()


@frozen
class EnforcementReport:
    """How far a pass went, and who says so."""

    mode: Enforcement = Enforcement.ENFORCE
    # A file of the fleet, or of this host; None where nothing says it.
    location: SourceLocation | None = None


@frozen
class PassReport:
    """One pass. `datum report --json` prints it by the schema of `datum/report/schema.json`."""

    # `20261129T031500Z-4711`: when it began (UTC) and the process.
    id: str
    host: HostName
    # ISO 8601, UTC.
    started: str
    # Seconds.
    duration: float
    source: SourceReport
    outcome: PassOutcome
    exit_code: int
    # What was enforced by this pass; None when there was nothing to enforce.
    target: Revision | None = None
    manifest_digest: str = ""
    plan_id: str = ""
    # As the pass found it and as it left it; None: there was none.
    pointer_before: Pointer | None = None
    pointer_after: Pointer | None = None
    # Resources by outcome; `in_sync` ones are only counted.
    counts: Mapping[Outcome, int] = field(factory=dict)
    resources: tuple[ResourceReport, ...] = ()
    orphans: tuple[Orphan, ...] = ()
    left_over: tuple[LeftOver, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    # `datum`, `python` and each provider.
    versions: Mapping[str, str] = field(factory=dict)
    # Seconds by stage.
    stages: Mapping[str, float] = field(factory=dict)
    # Equal requests that this pass answered as well, in the order in which they came (design 1.6).
    joined: tuple[Asked, ...] = ()
    # Older entries fell off the trail in this pass (3.5).
    is_trail_cut: bool = False
    checks: tuple[CheckReport, ...] = ()
    # What resources leave alone below themselves, those in sync included.
    kept: Mapping[ResourceId, Kept] = field(factory=dict)
    # What runs although something that it lists has changed since, as the last look of the pass found it.
    stale: Mapping[ResourceId, Stale] = field(factory=dict)
    # What made it begin.
    trigger: Trigger = field(factory=Trigger)
    # How far it went.
    enforcement: EnforcementReport = field(factory=EnforcementReport)
    # In force while it ran; None: none was.
    pause: Pause | None = None
