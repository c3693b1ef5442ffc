"""What a plan knows to be skipped: for a held action, or for what gets none and is not in sync. Pure."""

from collections.abc import Iterable, Mapping

from datum.model.batches import Batch, batches_of
from datum.model.identity import ResourceId
from datum.model.plan import Action, Plan, VerdictKind


def waits(plan: Plan) -> Mapping[int, ResourceId]:
    """Return the actions that will be skipped, by number, each with what it waits for.

    That is a held action, or a resource that is impossible, skipped or cannot be looked at. They stay in the plan,
    whose id names them: releasing the hold must not make it another plan.
    """
    held = {action.resource for action in plan.actions if action.hold is not None}
    stuck = {
        origin: verdict.blocked_by or origin
        for origin, verdict in plan.verdicts.items()
        if verdict.kind is not VerdictKind.IN_SYNC
    }
    if not held and not stuck:
        return {}
    sets = {action.transaction: action.resource for action in plan.actions if action.hold is not None}
    sets = {key: origin for key, origin in sets.items() if key in plan.checks}
    # What each resource that is held, stuck, or waits, waits for.
    blockers = {**stuck, **{origin: origin for origin in held}}
    found: dict[int, ResourceId] = {}
    for batch in batches_of(plan.actions):
        for number, action in enumerate(batch.group, batch.start):
            waited = _blocker(action, blockers, sets)
            if action.hold is None and waited is not None:
                found[number] = waited
                blockers.setdefault(action.resource, waited)
        found.update(_of_marks(batch, found))
    return found


def _blocker(
    action: Action, blockers: Mapping[ResourceId, ResourceId], sets: Mapping[str, ResourceId]
) -> ResourceId | None:
    waited = [blockers[origin] for origin in action.requires if origin in blockers]
    if action.transaction in sets:
        waited.append(sets[action.transaction])
    return min(waited, default=None)


def _of_marks(batch: Batch, found: Mapping[int, ResourceId]) -> Iterable[tuple[int, ResourceId]]:
    """Yield the marks whose changes all wait or are held: nothing is owed for what is not done."""
    for number, mark in enumerate(batch.marks, batch.first):
        changes = [(at, action) for at, action in enumerate(batch.group, batch.start) if mark.resource in action.marks]
        undone = [found.get(at, action.resource) for at, action in changes if at in found or action.hold is not None]
        if changes and len(undone) == len(changes):
            yield number, min(undone)
