"""Which checks judged candidates in a pass, and what they said. Pure."""

from collections.abc import Sequence
from typing import Final

from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.plan import Plan
from datum.model.report import CheckOutcome, CheckReport
from datum.model.result import ActionResult

NOT_RUN_CODE: Final = "check-not-run"
"""Code of the diagnostic on a check whose program could not be run."""


def report_checks(plan: Plan, results: Sequence[ActionResult]) -> tuple[CheckReport, ...]:
    """Return the checks of every transaction that has some, in the order of the plan.

    Args:
        plan: the plan.
        results: of the reconciler; empty for `datum plan`, where nothing was judged yet.
    """
    shown: list[CheckReport] = []
    for key, checks in plan.checks.items():
        candidates = tuple(action.resource for action in plan.actions if action.transaction == key)
        own = [result for result in results if result.action.transaction == key]
        shown.extend(
            CheckReport(check.resource, _outcome(check, own) if results else None, candidates) for check in checks
        )
    return tuple(shown)


def _outcome(check: Check, results: Sequence[ActionResult]) -> CheckOutcome:
    if any(check.resource in result.passed for result in results):
        return CheckOutcome.PASSED
    refused = [result for result in results if result.refused_by == check.resource]
    if refused and not any(item.code == NOT_RUN_CODE for result in refused for item in result.diagnostics):
        return CheckOutcome.REFUSED
    return CheckOutcome.NOT_RUN


def refusing(plan: Plan, results: Sequence[ActionResult]) -> dict[ResourceId, list[ResourceId]]:
    """Return the check resources that kept candidates from the host, and which ones each kept."""
    checks = {check.resource for group in plan.checks.values() for check in group}
    found: dict[ResourceId, list[ResourceId]] = {}
    for result in results:
        if result.refused_by in checks and result.refused_by is not None:
            found.setdefault(result.refused_by, []).append(result.action.resource)
    return found
