"""What became of each resource, where several actions are its own: the worst of them. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from datum.model.identity import ResourceId
from datum.model.plan import Operation, Plan, VerdictKind
from datum.model.result import ActionResult, Outcome

OUTCOME_OF: Final = {
    VerdictKind.IN_SYNC: Outcome.IN_SYNC,
    VerdictKind.SKIPPED: Outcome.SKIPPED,
    VerdictKind.UNOBSERVABLE: Outcome.UNOBSERVABLE,
    VerdictKind.IMPOSSIBLE: Outcome.FAILED,
}

# Worst first.
_ORDER: Final = (
    Outcome.FAILED,
    Outcome.UNVERIFIED,
    Outcome.UNOBSERVABLE,
    Outcome.BUSY,
    Outcome.HELD,
    Outcome.SKIPPED,
    Outcome.APPLIED,
    Outcome.ALREADY,
    Outcome.IN_SYNC,
    Outcome.ORPHAN,
)
_RANK: Final = {outcome: number for number, outcome in enumerate(_ORDER)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of some outcomes; there is one at least."""
    return min(outcomes, key=_RANK.__getitem__)


def outcomes_of(plan: Plan, results: Sequence[ActionResult]) -> dict[ResourceId, Outcome]:
    """Return the outcome of each resource that has a verdict or a result.

    A mark says nothing of its service unless it went wrong: it is set, or spared, for the change of another resource.
    Neither does a stop that was spared.

    Args:
        plan: the plan.
        results: of the reconciler; empty for `datum plan`.
    """
    found = {origin: OUTCOME_OF[verdict.kind] for origin, verdict in plan.verdicts.items()}
    for result in results:
        origin = result.action.resource
        outcome = _own(result)
        found[origin] = worst((found[origin], outcome)) if origin in found else outcome
    return found


def _own(result: ActionResult) -> Outcome:
    """Return what a result says of its resource."""
    operation, outcome = result.action.operation, result.outcome
    is_spared = outcome in {Outcome.ALREADY, Outcome.SKIPPED}
    is_mark_set = operation is Operation.MARK and outcome.is_settled
    is_for_others = operation in {Operation.MARK, Operation.STOP}
    return Outcome.IN_SYNC if is_mark_set or (is_for_others and is_spared) else outcome
