"""Plan and results to the resources of a report. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from datum.model.identity import ResourceId
from datum.model.plan import Action, Change, Orphan, OrphanState, Plan, Verdict, VerdictKind
from datum.model.report import ChangeReport, LeftOver, ResourceReport
from datum.model.result import ActionResult, Outcome
from datum.model.secret import HIDDEN
from datum.report.checks import refusing

DIFF_LINES: Final = 200
"""A diff is cut after this many lines; what follows is counted."""

LINE_LENGTH: Final = 1024
"""A text with a longer line is no text for a diff (measured by others: terminals and reviews choke on it)."""

NAMED: Final = 10
"""Names that one sentence holds."""

_VERDICTS: Final = {
    VerdictKind.IN_SYNC: Outcome.IN_SYNC,
    VerdictKind.SKIPPED: Outcome.SKIPPED,
    VerdictKind.UNOBSERVABLE: Outcome.UNOBSERVABLE,
    VerdictKind.IMPOSSIBLE: Outcome.FAILED,
}

_RAN: Final = frozenset({Outcome.APPLIED, Outcome.FAILED, Outcome.UNVERIFIED, Outcome.BUSY})


def report_resources(plan: Plan, results: Sequence[ActionResult]) -> tuple[ResourceReport, ...]:
    """Return everything that is not simply in sync: actions in their order, then verdicts by id.

    Args:
        plan: the plan.
        results: of the reconciler; empty for `datum plan`, where each action is shown as planned.
    """
    by_action = {result.action.resource: result for result in results}
    refused = refusing(plan, results)
    waiting = {} if results else _waiting(plan)
    shown = [
        _from_action(
            action,
            by_action.get(action.resource),
            is_judged=action.transaction in plan.checks,
            waits_for=waiting.get(action.resource),
        )
        for action in plan.actions
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
    counts: Counter[Outcome] = Counter(
        Outcome.FAILED if origin in refused else _VERDICTS[verdict.kind] for origin, verdict in plan.verdicts.items()
    )
    counts.update(result.outcome for result in results)
    counts.update(Outcome.ORPHAN for orphan in plan.orphans if is_left(orphan))
    return dict(sorted(counts.items()))


def is_left(orphan: Orphan) -> bool:
    """Whether an orphan stays on the host after this plan."""
    return orphan.state in {OrphanState.KEPT, OrphanState.UNSETTLED}


def left_over(plan: Plan, closing: Plan, results: Sequence[ActionResult]) -> tuple[LeftOver, ...]:
    """Return what the closing plan would still do to resources that this pass believed settled.

    Suspect is what ran after the resource's own action, whatever became of it; all that ran where it had none.
    """
    unsettled = {result.action.resource for result in results if not result.outcome.is_settled}
    unsettled |= {origin for origin, verdict in plan.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC}
    order = [result.action.resource for result in results]
    ran = [(number, result.action.resource) for number, result in enumerate(results) if result.outcome in _RAN]

    def tell(origin: ResourceId, changes: Iterable[Change]) -> LeftOver:
        own = order.index(origin) if origin in order else -1
        suspects = tuple(other for number, other in ran if number > own)
        return LeftOver(origin, tuple(change.name for change in changes), suspects)

    found = [tell(action.resource, action.changes) for action in closing.actions if action.resource not in unsettled]
    for origin, verdict in sorted(closing.verdicts.items()):
        if verdict.kind is not VerdictKind.IN_SYNC and origin not in unsettled:
            found.append(tell(origin, verdict.step.changes if verdict.step else ()))
    return tuple(found)


def _waiting(plan: Plan) -> Mapping[ResourceId, ResourceId]:
    """Return the actions that a held one of the same plan will have skipped, each with that one.

    They stay in the plan, whose id names them: releasing the hold must not make it another plan.
    """
    held = {action.resource: action for action in plan.actions if action.hold is not None}
    sets = {action.transaction: origin for origin, action in held.items() if action.transaction in plan.checks}
    found: dict[ResourceId, ResourceId] = {}
    for action in plan.actions if held else ():
        blockers = [found.get(origin, origin) for origin in action.requires if origin in held or origin in found]
        if action.transaction in sets:
            blockers.append(sets[action.transaction])
        if action.hold is None and blockers:
            found[action.resource] = min(blockers)
    return found


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
    )


def _detail(action: Action, blocker: ResourceId | None, *, is_judged: bool) -> str:
    if action.orphan_of:
        return f"no longer declared; last by {action.orphan_of.short}"
    if is_judged and blocker and blocker not in action.requires:
        return f"It is checked together with {blocker}, or with what requires that: all or nothing."
    return ""


def _refusal(origin: ResourceId, verdict: Verdict, candidates: Sequence[ResourceId]) -> ResourceReport:
    names = ", ".join(map(str, candidates[:NAMED]))
    more = f" and {len(candidates) - NAMED} more" if len(candidates) > NAMED else ""
    return ResourceReport(
        id=origin, outcome=Outcome.FAILED, location=verdict.location, detail=f"It kept {names}{more} from the host."
    )


def _from_verdict(origin: ResourceId, verdict: Verdict) -> ResourceReport:
    changes: Iterable[Change] = verdict.step.changes if verdict.step else ()
    return ResourceReport(
        id=origin,
        outcome=_VERDICTS[verdict.kind],
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
