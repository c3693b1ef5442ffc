"""How much one pass may do (design 4.4): over a limit, every action of the class is held. Pure.

Limits come last: they see each action's label, and hold nothing that is held already. What they hold stays in the plan,
so that `--expect` with the id of this plan releases it. A mark counts nowhere: it is not set for what is held.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from attrs import evolve, frozen

from datum.model.identity import ResourceId
from datum.model.manifest import LimitClass
from datum.model.plan import Action, Hold, HoldReason, Label, Operation
from datum.planner.inputs import Declaration, PlanInput

CHANGED_AT_LEAST: Final = 10
"""Fewer changes than this are never too large a share."""

_PACKAGE: Final = "package"

_IN_TURN: Final = (*(kind for kind in LimitClass if kind is not LimitClass.RESTARTS), LimitClass.RESTARTS)
"""Restarts last: nothing is stopped for a change that another class holds."""


def apply_limits(actions: Iterable[Action], given: PlanInput) -> tuple[Action, ...]:
    """Return the actions, held where their class is over its limit; holds of limits that they had are dropped."""
    current = [_without_limit(action) for action in actions]
    for kind in _IN_TURN:
        current = _limited(kind, current, given)
    return _with_their_marks(current)


def _with_their_marks(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions, the mark for evidence held where the restart is: nothing is owed for what waits."""
    holds = {action.resource: action.hold for action in actions if action.stale and action.operation.refreshes}
    return tuple(
        evolve(action, hold=holds[action.resource]) if action.stale and action.operation is Operation.MARK else action
        for action in actions
    )


def _without_limit(action: Action) -> Action:
    is_limit = action.hold is not None and action.hold.reason is HoldReason.LIMIT
    return evolve(action, hold=None) if is_limit else action


@frozen
class _Amount:
    """How much of one class a plan has."""

    # What is compared with the limit, rounded up.
    number: int
    # Full sentence but for its end.
    detail: str
    unit: str = ""


def _limited(kind: LimitClass, actions: Sequence[Action], given: PlanInput) -> list[Action]:
    base = _base(given) if kind is LimitClass.CHANGED else ()
    needed = _stopped(actions) if kind is LimitClass.RESTARTS else ()
    counts = [0 if action.hold else _count(kind, action, base, needed) for action in actions]
    concerned = [action for action, count in zip(actions, counts, strict=True) if count]
    limit = _limit(kind, concerned, given)
    if limit is None or not concerned:
        return list(actions)
    amount = _amount(kind, _total(kind, actions, counts), len(base))
    if amount is None or amount.number <= limit:
        return list(actions)
    hold = _hold(kind, amount, limit, _oldest(concerned, given))
    return [evolve(action, hold=hold) if count else action for action, count in zip(actions, counts, strict=True)]


def _stopped(actions: Sequence[Action]) -> Collection[ResourceId]:
    """Return what is stopped: for a change that is not held, or for good."""
    started = {action.resource for action in actions if action.starts_again}
    ending = {action.resource for action in actions if action.operation is Operation.STOP} - started
    return ending.union(*(action.while_stopped for action in actions if action.hold is None))


def _total(kind: LimitClass, actions: Sequence[Action], counts: Sequence[int]) -> int:
    """Return the sum; of restarts how many services are: one that is stopped may have a refresh as well."""
    if kind is not LimitClass.RESTARTS:
        return sum(counts)
    return len({action.resource for action, count in zip(actions, counts, strict=True) if count})


def _count(kind: LimitClass, action: Action, base: Collection[ResourceId], needed: Collection[ResourceId] = ()) -> int:
    """Return what one action adds to a class. Drift that is repaired adds nothing but what it takes along.

    Args:
        kind: the class.
        action: that is not held.
        base: what was declared before.
        needed: what is stopped for a change that is not held, or for good; any other stop is not done.
    """
    is_drift = action.label is Label.DRIFT
    is_deletion = action.operation is Operation.DELETE and action.step.removes and not is_drift
    packages = sum(taken.startswith(f"{_PACKAGE}:") for taken in action.takes)
    is_package = action.resource.type == _PACKAGE
    if kind is LimitClass.REMOVALS:
        return len(action.takes) - packages + (is_deletion and not is_package)
    if kind is LimitClass.PACKAGE_REMOVALS:
        return packages + (is_deletion and is_package)
    if kind is LimitClass.REPLACES:
        return int(action.operation is Operation.REPLACE and not is_drift)
    if kind is LimitClass.RESTARTS:
        is_stopped = action.operation is Operation.STOP and action.resource in needed
        return int(action.operation.refreshes or is_stopped)
    is_change = action.operation in {Operation.UPDATE, Operation.REPLACE}
    # What was stopped is started, whatever the limits say.
    is_meant = action.label in {Label.INTENT, Label.RETRY} and not action.starts_again
    return int(is_change and is_meant and action.resource in base)


def _base(given: PlanInput) -> Collection[ResourceId]:
    """Return what was declared before: by what converged last, else by the oldest revision that can be resolved."""
    if given.converged is not None:
        return given.converged.keys()
    return next((entry.nodes.keys() for entry in reversed(given.trail) if isinstance(entry, Declaration)), ())


def _amount(kind: LimitClass, count: int, declared: int) -> _Amount | None:
    """Return how much it is; None where so little never holds."""
    if kind is LimitClass.REMOVALS:
        return _Amount(count, f"This pass would remove {count} resources and paths")
    if kind is LimitClass.REPLACES:
        return _Amount(count, f"This pass would replace {count} resources by something of another kind")
    if kind is LimitClass.RESTARTS:
        return _Amount(count, f"This pass would restart or reload {count} services")
    if kind is LimitClass.PACKAGE_REMOVALS:
        return _Amount(count, f"This pass would remove {count} packages")
    share = -(-count * 100 // declared)
    detail = f"This pass would change {count} of the {declared} resources declared before, {share}%"
    return _Amount(share, detail, "%") if count >= CHANGED_AT_LEAST else None


def _hold(kind: LimitClass, amount: _Amount, limit: int, oldest: str) -> Hold:
    value = f"{amount.number}{amount.unit}"
    return Hold(
        HoldReason.LIMIT,
        f"{amount.detail}; the limit is {limit}{amount.unit}.",
        f"datum apply --allow {kind}={value} --expect PLAN_ID, or 'limits: {{allow: {{{kind}: {value}, "
        f"from: {oldest}}}}}' in the fleet",
        limit=kind,
    )


def _limit(kind: LimitClass, concerned: Sequence[Action], given: PlanInput) -> int | None:
    limits = given.limits
    usual = {
        LimitClass.REMOVALS: limits.removals,
        LimitClass.REPLACES: limits.replaces,
        LimitClass.RESTARTS: limits.restarts,
        LimitClass.PACKAGE_REMOVALS: limits.package_removals,
        LimitClass.CHANGED: limits.changed,
    }[kind]
    if usual is None:
        return None
    raised = [usual, given.allowed.get(kind, usual)]
    is_named = limits.allowed_from is not None and limits.allowed_from.commit == _oldest(concerned, given)
    if is_named and kind in limits.allowed:
        raised.append(limits.allowed[kind])
    return max(raised)


def _oldest(concerned: Iterable[Action], given: PlanInput) -> str:
    """Return the commit of the oldest trail revision that declares one of these, else the target's."""
    wanted = {action.resource for action in concerned}
    for entry in reversed(given.trail):
        if isinstance(entry, Declaration) and wanted & entry.nodes.keys():
            return entry.revision.commit
    return given.revision.commit
