"""Which checks judged candidates in a pass, and what they said. Pure."""

from collections.abc import Sequence
from typing import Final

from datum.model.identity import ResourceId
from datum.model.plan import Action, Plan
from datum.model.report import CheckOutcome, CheckReport
from datum.model.result import ActionResult

NOT_RUN_CODE: Final = "check-not-run"
"""Code of the diagnostic on a check whose program could not be run."""


def report_checks(plan: Plan, results: Sequence[ActionResult]) -> tuple[CheckReport, ...]:
    """Return the checks of every transaction that has some, then those that only guard starts and refreshes.

    Args:
        plan: the plan.
        results: of the reconciler; empty for `datum plan`, where nothing was judged yet.
    """
    judged = _judged(plan)
    return tuple(
        CheckReport(
            origin,
            _outcome(origin, [one for one in results if _concerns(one.action, origin, plan)]) if results else None,
            candidates,
        )
        for origin, candidates in judged.items()
    )


def _judged(plan: Plan) -> dict[ResourceId, tuple[ResourceId, ...]]:
    """Return what each check judges, or guards, in the order of the plan."""
    found: dict[ResourceId, dict[ResourceId, None]] = {
        check.resource: {action.resource: None for action in plan.actions if action.transaction == key}
        for key, checks in plan.checks.items()
        for check in checks
    }
    for action in plan.actions:
        for check in action.guards:
            found.setdefault(check.resource, {})[action.resource] = None
    return {origin: tuple(candidates) for origin, candidates in found.items()}


def _concerns(action: Action, origin: ResourceId, plan: Plan) -> bool:
    checks = (*plan.checks.get(action.transaction, ()), *action.guards)
    return any(check.resource == origin for check in checks)


def _outcome(origin: ResourceId, results: Sequence[ActionResult]) -> CheckOutcome:
    refused = [result for result in results if result.refused_by == origin]
    if any(item.code == NOT_RUN_CODE for result in refused for item in result.diagnostics):
        return CheckOutcome.NOT_RUN
    if refused:
        return CheckOutcome.REFUSED
    has_passed = any(origin in result.passed for result in results)
    return CheckOutcome.PASSED if has_passed else CheckOutcome.NOT_RUN


def refusing(plan: Plan, results: Sequence[ActionResult]) -> dict[ResourceId, list[Action]]:
    """Return the resources whose checks kept something from being done, and the actions that each kept."""
    checks = {check.resource for group in plan.checks.values() for check in group}
    checks |= {check.resource for action in plan.actions for check in action.guards}
    found: dict[ResourceId, list[Action]] = {}
    for result in results:
        if result.refused_by in checks and result.refused_by is not None:
            found.setdefault(result.refused_by, []).append(result.action)
    return found
