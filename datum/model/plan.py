"""The whole instruction of a pass. Pure."""

import enum
from collections.abc import Collection, Mapping
from typing import Final

from attrs import field, frozen

from datum.diagnostics import SourceLocation
from datum.model.check import Check
from datum.model.graph import Target
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonValue
from datum.model.manifest import Hazard, LimitClass
from datum.model.observation import StaleInput, Unobservable
from datum.model.revision import Revision

RESIDUE: Final = "residue"
"""The field that says that a leftover of a killed write stands beside a path; the first word of such a part's value."""

OWES: Final = "owes"
"""The field that says what a running unit owes: None, `reload` or `restart` (design 4.1). Only marks and refreshes
change it; `Provider.plan` leaves it alone."""

LOADED: Final = "loaded"
"""The field that says whether the service manager has loaded what lies on the disk; other files of a unit change it."""

ATTRIBUTES: Final = frozenset({"mode", "owner", "group"})
"""The fields of what stands at a path that say nothing of its bytes."""

READ_BY_NOBODY: Final = ATTRIBUTES | {LOADED}
"""The fields whose change alone is nothing that a running service has read."""


class Operation(enum.StrEnum):
    """What an action does. `rank` is the order of design 1.4: what a re-plan may become."""

    MARK = "mark"
    CREATE = "create"
    UPDATE = "update"
    STOP = "stop"
    REFRESH_RELOAD = "reload"
    REFRESH_RESTART = "restart"
    REPLACE = "replace"
    DELETE = "delete"

    @property
    def rank(self) -> int:
        """`mark < create = update < reload < restart = stop < replace < delete`; doing nothing is 0."""
        return {
            Operation.MARK: 1,
            Operation.CREATE: 2,
            Operation.UPDATE: 2,
            Operation.REFRESH_RELOAD: 3,
            Operation.REFRESH_RESTART: 4,
            Operation.STOP: 4,
            Operation.REPLACE: 5,
            Operation.DELETE: 6,
        }[self]

    @property
    def refreshes(self) -> bool:
        """Whether it reloads or restarts what runs."""
        return self in {Operation.REFRESH_RELOAD, Operation.REFRESH_RESTART}

    @property
    def removes(self) -> bool:
        """Whether it counts against `limits: {removals}`."""
        return self in {Operation.REPLACE, Operation.DELETE}


class Label(enum.StrEnum):
    """Why an action is planned (design 3.5), the first that fits. Not part of `plan_id`."""

    ADOPT = "adopt"
    DRIFT = "drift"
    RETRY = "retry"
    INTENT = "intent"


class HoldReason(enum.StrEnum):
    """What keeps an action from being done."""

    HAZARD = "hazard"
    PROTECT = "protect"
    LIMIT = "limit"
    AUDIT = "audit"
    PAUSE = "pause"
    # A removal waits because something of this pass is unobservable (design 1.2).
    UNOBSERVABLE = "unobservable"
    CHANGED_UNDER_US = "changed_under_us"


@frozen
class Hold:
    """An action is planned and not done."""

    reason: HoldReason
    # What holds it, and the line or command that releases it.
    detail: str
    release: str = ""
    # The class that is over its limit; None for every other reason.
    limit: LimitClass | None = None


@frozen
class Change:
    """One field before and after."""

    name: str
    before: JsonValue
    after: JsonValue
    # Neither side is ever shown.
    sensitive: bool = False
    # Bounded text of both sides, where both are text, for the diff that people read. Not in `plan_id`.
    before_text: str | None = field(default=None, eq=False, repr=False)
    after_text: str | None = field(default=None, eq=False, repr=False)
    # The blob whose text `after_text` would be, when the provider does not hold it.
    after_blob: str = field(default="", eq=False)
    # The texts are for whoever plans, and are written nowhere: not everybody may read this file.
    is_private: bool = field(default=False, eq=False)

    @property
    def sweeps(self) -> bool:
        """Whether nothing but a leftover of a killed write goes: one of the resource, or of a part of it (`./name`)."""
        if self.name == RESIDUE:
            return True
        left = RESIDUE if self.after is None else f"{RESIDUE} {self.after}"
        return self.name.startswith(".") and self.before == left


@frozen
class Need:
    """Something that must be on the host before a step can work, and is not there yet.

    A target of the space `nothing` is one that nothing can provide: the step is impossible, for the reason given.
    """

    target: Target
    # Full sentence: `the directory /etc/app does not exist`.
    detail: str


@frozen
class Effect:
    """What a step brings into being.

    The key `*` stands for any key of its space: a package may bring any unit, user, group or path.
    """

    target: Target
    # A package may create users, files, units: possible, not certain.
    certain: bool = True


@frozen
class Step:
    """What a provider's `plan` answers: one operation on its resource."""

    operation: Operation
    changes: tuple[Change, ...]
    # What must be provided by an earlier action of the same plan (design 1.3).
    needs: tuple[Need, ...] = ()
    # What it removes beside what the resource declares, sorted: paths in a directory that goes, or that `exclusive`
    # clears away; anything else by space and key of its target: `package:NAME` that the package manager removes along,
    # `authorized_key:USER/FINGERPRINT` that `exclusive` takes. Each counts as a removal.
    takes: tuple[str, ...] = ()

    @property
    def removes(self) -> bool:
        """Whether something goes that stands at a path: a leftover beside it is nothing that anybody declared."""
        return self.operation.removes and not sweeps(self.changes)


@frozen
class Action:
    """One resource, one operation, in the total order.

    A service may have several: marks, then its own, then one refresh. Every other resource has one at most.
    """

    resource: ResourceId
    # `<type>` and the version of its provider, for the report.
    provider: str
    operation: Operation
    changes: tuple[Change, ...]
    hazards: frozenset[Hazard] = frozenset()
    label: Label = Label.INTENT
    # Set: planned, and not done.
    hold: Hold | None = None
    # Ids whose planned actions provide what this one needs.
    known_after: tuple[ResourceId, ...] = ()
    # Every resource whose failure skips this action: what it requires, transitively.
    requires: frozenset[ResourceId] = field(default=frozenset(), eq=False, repr=False)
    # Where the resource is declared; None for orphans, whose declaration is in an older revision.
    location: SourceLocation | None = field(default=None, eq=False)
    # The step as the provider gave it.
    step: Step = field(default=Step(Operation.UPDATE, ()), eq=False, repr=False)
    # Removal of something the target does not declare: the trail revision that declared it.
    orphan_of: Revision | None = None
    # Actions with an equal key, adjacent in the order, are committed together.
    transaction: str = ""
    # Services that must carry a mark before this is done, since they list its resource, and what each then owes; their
    # `mark` actions stand before it, or before its transaction. None for what is held, but by a limit.
    marks: Mapping[ResourceId, Operation] = field(factory=dict, eq=False)
    # Services that list its resource and are not marked, since the step changes nothing that they have read: it must
    # not become one that does.
    unmarked: frozenset[ResourceId] = field(default=frozenset(), eq=False, repr=False)
    # What must not run while it is done; a `stop` of each that ran when this was planned stands somewhere before it.
    while_stopped: frozenset[ResourceId] = field(default=frozenset(), eq=False)
    # What those of them owe for it that list its resource, where somebody starts one meanwhile and it cannot be stopped
    # again: the stop of the plan stands for their marks.
    marks_if_up: Mapping[ResourceId, Operation] = field(factory=dict, eq=False, repr=False)
    # What its declaration names and is not stopped, since the step changes nothing that counts: it must not become one
    # that does.
    unstopped: frozenset[ResourceId] = field(default=frozenset(), eq=False, repr=False)
    # The start of what this plan stops: nothing may keep it from being done.
    starts_again: bool = field(default=False, eq=False)
    # What it needs and an action before it may bring, but need not: where that has not, nothing can.
    hoped: Mapping[Target, ResourceId] = field(factory=dict, eq=False, repr=False)
    # Owners of what an action before it may bring along with the directory it needs: what they own there when a create
    # finds it was made by this pass.
    along: frozenset[str] = field(default=frozenset(), eq=False, repr=False)
    # Checks that judge the host as it is before a unit that runs, or shall, is touched: those of every file it lists.
    guards: tuple[Check, ...] = field(default=(), eq=False)
    # A restart for evidence: what changed after the service was started. A mark of that service, for the same, stands
    # directly before it, by itself.
    stale: tuple[StaleInput, ...] = field(default=(), eq=False)

    @property
    def takes(self) -> tuple[str, ...]:
        """What it removes beside what the resource declares, as `Step.takes`."""
        return self.step.takes


@frozen
class Replan:
    """What the planner says of one action when its turn has come and the resource was observed again."""

    # None: the host is already as this action would leave it, or `hold` says why it stays as it is.
    step: Step | None = None
    hold: Hold | None = None
    # The step is another than the planned one.
    differs: bool = False
    # The provider raised or broke its contract while this was planned again; `hold` says how.
    is_breach: bool = False
    # What it needs is not there although what might bring it was done; `hold` says what and by whom.
    is_impossible: bool = False


class VerdictKind(enum.StrEnum):
    """What the planner found for a resource without an action."""

    IN_SYNC = "in_sync"
    SKIPPED = "skipped"
    UNOBSERVABLE = "unobservable"
    # Nothing in the plan or on the host can provide what it needs.
    IMPOSSIBLE = "impossible"


@frozen
class Verdict:
    """A resource of the graph that gets no action, and why.

    A service whose own action is not to be, or what it owes waits for something, may be marked all the same.
    """

    kind: VerdictKind
    # The resource that causes it (skipped), else None.
    blocked_by: ResourceId | None = None
    detail: str = ""
    unobservable: Unobservable | None = None
    # The step that would be taken were it not skipped; None when in sync or unknown.
    step: Step | None = field(default=None, eq=False, repr=False)
    location: SourceLocation | None = field(default=None, eq=False)


class OrphanState(enum.StrEnum):
    """What becomes of something that the trail declares and the target does not."""

    # An action of the plan removes it: its own deletion, or one that takes it along or takes its place.
    REMOVE = "remove"
    # It is not on the host, or what has its place now is: settled.
    ABSENT = "absent"
    # A rule looked at it and keeps it: settled.
    KEPT = "kept"
    # Could not be decided now: keeps the trail.
    UNSETTLED = "unsettled"


@frozen
class Orphan:
    """One id that some revision of the trail declared and the target does not (design 4.3)."""

    resource: ResourceId
    state: OrphanState
    # The rule that decided: `unobservable`, `absent`, `unresolvable`, `empty_manifest`, `protected_class`, `audit`,
    # `on_removal`, `default_keep`, `modified`, `package_owned`, `declared_below`, `holds_mount`, `obstacle`,
    # `holds_data`, `declared_otherwise`, `removable`, `moved`, `taken_over`, `taken_along`.
    rule: str
    # Full sentence, and the line or command that settles it.
    detail: str
    release: str = ""
    # The newest trail revision that declares it.
    declared_by: Revision | None = None


@frozen
class Kept:
    """What a resource leaves alone below itself although it decides there."""

    # Relative to the resource, beginning with `./`, and why each stays, in words. Bounded.
    paths: Mapping[str, str]
    # How many there are beside these.
    more: int = 0


@frozen
class Stale:
    """What something that runs has read, and what has changed since (design 4.1, rule 7)."""

    inputs: tuple[StaleInput, ...]
    # Full sentence: what becomes of it, or what would settle it.
    detail: str
    # An action of the plan settles it, unless that is held.
    is_acted_on: bool = False


@frozen
class Plan:
    """Total order of actions; equal inputs give an equal plan."""

    revision: Revision
    host: HostName
    manifest_digest: str
    actions: tuple[Action, ...]
    # An entry for every resource of the graph that has no action; of those that are only marked unless in sync.
    verdicts: Mapping[ResourceId, Verdict] = field(factory=dict)
    orphans: tuple[Orphan, ...] = ()
    # The checks of each transaction that has some, in the order of their ids. Actions of such a transaction are
    # candidates: staged together, shown to every check, and put in place only when all of them passed.
    checks: Mapping[str, tuple[Check, ...]] = field(factory=dict)
    # `sha256:<hex>` as design 1.3.
    plan_id: str = ""
    # Only resources that leave something alone, with an action or without, by id. Not in `plan_id`.
    kept: Mapping[ResourceId, Kept] = field(factory=dict, eq=False)
    # What runs although something that it lists has changed since, by id. Not in `plan_id`, and nothing that is left to
    # do.
    stale: Mapping[ResourceId, Stale] = field(factory=dict, eq=False)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done and nothing stands in the way: the closing plan of `converged`."""
        return not self.actions and all(verdict.kind is VerdictKind.IN_SYNC for verdict in self.verdicts.values())


def sweeps(changes: Collection[Change]) -> bool:
    """Whether changes clear leftovers of killed writes, and do nothing else."""
    return bool(changes) and all(change.sweeps for change in changes)
