"""Plan and results to the resources of a report. Pure."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from datum.model.identity import ResourceId
from datum.model.plan import Action, Change, Operation, Orphan, OrphanState, Plan, Verdict, VerdictKind
from datum.model.report import ChangeReport, LeftOver, ResourceReport
from datum.model.result import ActionResult, Outcome
from datum.model.secret import HIDDEN
from datum.report.checks import refusing
from datum.report.outcomes import OUTCOME_OF, outcomes_of
from datum.report.stale import reason_of
from datum.report.waiting import waits

DIFF_LINES: Final = 200
"""A diff is cut after this many lines; what follows is counted."""

LINE_LENGTH: Final = 1024
"""A text with a longer line is no text for a diff (measured by others: terminals and reviews choke on it)."""

NAMED: Final = 10
"""Names that one sentence holds."""

_RAN: Final = frozenset({Outcome.APPLIED, Outcome.FAILED, Outcome.UNVERIFIED, Outcome.BUSY})


def report_resources(plan: Plan, results: Sequence[ActionResult]) -> tuple[ResourceReport, ...]:
    """Return everything that is not simply in sync: actions in their order, then verdicts by id.

    Args:
        plan: the plan.
        results: of the reconciler; empty for `datum plan`, where each action is shown as planned.
    """
    by_resource: dict[ResourceId, deque[ActionResult]] = defaultdict(deque)
    for result in results:
        by_resource[result.action.resource].append(result)
    refused = refusing(plan, results)
    waiting = {} if results else waits(plan)
    shown = [
        _from_action(
            action,
            by_resource[action.resource].popleft() if by_resource[action.resource] else None,
            is_judged=action.transaction in plan.checks,
            waits_for=waiting.get(number),
        )
        for number, action in enumerate(plan.actions)
    ]
    for origin, verdict in sorted(plan.verdicts.items()):
        if origin in refused:
            shown.append(_refusal(origin, verdict, refused[origin]))
        elif verdict.kind is not VerdictKind.IN_SYNC:
            shown.append(_from_verdict(origin, verdict))
    return tuple(shown)


def count_outcomes(plan: Plan, results: Sequence[ActionResult]) -> Mapping[Outcome, int]:
    """Count the resources by outcome; kept orphans count as `orphan`."""
    refused = refusing(plan, results)
    failed = refused.keys() & plan.verdicts.keys()
    counts = Counter(
        Outcome.FAILED if origin in failed else outcome for origin, outcome in outcomes_of(plan, results).items()
    )
    counts.update(Outcome.ORPHAN for orphan in plan.orphans if is_left(orphan))
    return dict(sorted(counts.items()))


def is_left(orphan: Orphan) -> bool:
    """Whether an orphan stays on the host after this plan."""
    return orphan.state in {OrphanState.KEPT, OrphanState.UNSETTLED}


def left_over(plan: Plan, closing: Plan, results: Sequence[ActionResult]) -> tuple[LeftOver, ...]:
    """Return what the closing plan would still do to resources that this pass believed settled.

    Suspect is what ran after the resource's own action, whatever became of it; all that ran where it had none.
    """
    unsettled = {origin for origin, outcome in outcomes_of(plan, results).items() if not outcome.is_settled}
    own = {result.action.resource: number for number, result in enumerate(results)}
    ran = [(number, result.action.resource) for number, result in enumerate(results) if _has_run(result)]

    def tell(origin: ResourceId, changes: Iterable[Change]) -> LeftOver:
        later = (other for number, other in ran if number > own.get(origin, -1) and other != origin)
        suspects = tuple(dict.fromkeys(later))
        return LeftOver(origin, tuple(change.name for change in changes), suspects)

    found = [
        tell(action.resource, action.changes)
        for action in closing.actions
        if action.resource not in unsettled and not _is_for_others(action)
    ]
    for origin, verdict in sorted(closing.verdicts.items()):
        if verdict.kind is not VerdictKind.IN_SYNC and origin not in unsettled:
            found.append(tell(origin, verdict.step.changes if verdict.step else ()))
    return tuple(found)


def _is_for_others(action: Action) -> bool:
    """Whether what an action does is for the change of another resource: a mark, a stop, the start after that."""
    is_start = action.starts_again and len(action.changes) == 1
    return is_start or action.operation in {Operation.MARK, Operation.STOP}


def _has_run(result: ActionResult) -> bool:
    """Whether an action may have changed something that people see: a mark is for the manager alone."""
    return result.outcome in _RAN and result.action.operation is not Operation.MARK


def _from_action(
    action: Action, result: ActionResult | None, *, is_judged: bool, waits_for: ResourceId | None
) -> ResourceReport:
    planned = Outcome.HELD if action.hold else (Outcome.SKIPPED if waits_for else None)
    outcome = result.outcome if result else planned
    blocker = result.blocked_by if result else waits_for
    return ResourceReport(
        id=action.resource,
        outcome=outcome,
        operation=str(action.operation),
        label=str(action.label),
        location=action.location,
        changes=tuple(report_change(change) for change in action.changes),
        hazards=tuple(sorted(str(hazard) for hazard in action.hazards)),
        blocked_by=blocker,
        hold=(result.hold if result else None) or action.hold,
        detail=_detail(action, blocker, is_judged=is_judged),
        diagnostics=result.diagnostics if result else (),
        remarks=result.remarks if result else (),
        duration=result.duration if result else 0.0,
        takes=action.takes,
        refused_by=result.refused_by if result else None,
        known_after=action.known_after,
        marks={service: str(owes) for service, owes in action.marks.items()},
        while_stopped=tuple(sorted(action.while_stopped)),
    )


def _detail(action: Action, blocker: ResourceId | None, *, is_judged: bool) -> str:
    if action.stale and action.operation.refreshes and blocker is None:
        return reason_of(action.stale)
    if action.orphan_of:
        return f"no longer declared; last by {action.orphan_of.short}"
    if blocker is None or blocker in action.requires:
        return ""
    words = _of_services(action, blocker)
    if is_judged and not words:
        return f"It is checked together with {blocker}, or with what requires that: all or nothing."
    return words


def _of_services(action: Action, blocker: ResourceId) -> str:
    """Return why an action is not done, where that is about marks and stops."""
    if action.operation is Operation.MARK:
        return f"What it stands before is not done, because of {blocker}: nothing is owed for it."
    if action.operation is Operation.STOP:
        return f"What it would be stopped for is not done, because of {blocker}."
    if blocker in action.while_stopped:
        return f"It changes only while {blocker} is stopped, and that is not."
    if blocker in action.marks:
        return f"{blocker} would owe a {action.marks[blocker]} for it, and could not be marked."
    return ""


def _refusal(origin: ResourceId, verdict: Verdict, kept: Sequence[Action]) -> ResourceReport:
    guarded = [action.resource for action in kept if _is_guarded(action, origin)]
    candidates = [action.resource for action in kept if not _is_guarded(action, origin)]
    words = [f"{_named(candidates)} from the host"] if candidates else []
    words += [f"{_named(guarded)} from being started or refreshed"] if guarded else []
    return ResourceReport(
        id=origin, outcome=Outcome.FAILED, location=verdict.location, detail=f"It kept {', and '.join(words)}."
    )


def _is_guarded(action: Action, origin: ResourceId) -> bool:
    return any(check.resource == origin for check in action.guards)


def _named(origins: Sequence[ResourceId]) -> str:
    more = f" and {len(origins) - NAMED} more" if len(origins) > NAMED else ""
    return f"{', '.join(map(str, origins[:NAMED]))}{more}"


def _from_verdict(origin: ResourceId, verdict: Verdict) -> ResourceReport:
    changes: Iterable[Change] = verdict.step.changes if verdict.step else ()
    return ResourceReport(
        id=origin,
        outcome=OUTCOME_OF[verdict.kind],
        operation=str(verdict.step.operation) if verdict.step else "",
        location=verdict.location,
        changes=tuple(report_change(change) for change in changes),
        blocked_by=verdict.blocked_by,
        detail=verdict.detail,
        takes=verdict.step.takes if verdict.step else (),
    )


def report_change(change: Change) -> ChangeReport:
    """Return a change as it may be shown: a secret never, a text as a diff."""
    if change.sensitive:
        return ChangeReport(change.name, HIDDEN, HIDDEN)
    return ChangeReport(change.name, change.before, change.after, unified_diff(change), change.is_private)


def unified_diff(change: Change) -> str:
    """Return the unified diff of two texts, bounded; empty where one side is no text that people can read."""
    before, after = change.before_text, change.after_text
    if after is None or (before is None and change.before is not None):
        return ""
    old, new = _lines(before or ""), _lines(after)
    if any(len(line) > LINE_LENGTH for line in (*old, *new)):
        return ""
    from difflib import unified_diff as compare

    lines = [line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in compare(old, new)][2:]
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"… {len(lines) - DIFF_LINES} more lines\n"]
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Split at newlines and at nothing else: a carriage return or form feed is part of its line."""
    *whole, last = text.split("\n")
    lines = [line + "\n" for line in whole]
    return [*lines, last] if last else lines
