"""What a plan knows to be skipped: for a held action, or for what gets none and is not in sync. Pure."""

from collections.abc import Collection, Iterable, Mapping

from datum.model.batches import Batch, batches_of
from datum.model.identity import ResourceId
from datum.model.plan import Action, Operation, Plan, VerdictKind


def waits(plan: Plan) -> Mapping[int, ResourceId]:
    """Return the actions that will be skipped, by number, each with what it waits for.

    That is a held action, or a resource that is impossible, skipped or cannot be looked at. They stay in the plan,
    whose id names them: releasing the hold must not make it another plan.
    """
    holding = [action for action in plan.actions if action.hold is not None]
    # A stop that is held keeps its changes from being done, and nothing else: what it would stop runs.
    stops = {action.resource for action in holding if action.operation is Operation.STOP}
    held = {action.resource for action in holding if action.operation is not Operation.STOP}
    stuck = {
        origin: verdict.blocked_by or origin
        for origin, verdict in plan.verdicts.items()
        if verdict.kind is not VerdictKind.IN_SYNC
    }
    if not holding and not stuck:
        return {}
    sets = {action.transaction: action.resource for action in holding}
    sets = {key: origin for key, origin in sets.items() if key in plan.checks}
    # What each resource that is held, stuck, or waits, waits for.
    blockers = {**stuck, **{origin: origin for origin in held}}
    found: dict[int, ResourceId] = {}
    for batch in batches_of(plan.actions):
        for number, action in enumerate(batch.group, batch.start):
            waited = _blocker(action, blockers, sets) or _kept_up(action, stops)
            if action.hold is None and waited is not None:
                found[number] = waited
                blockers.setdefault(action.resource, waited)
        found.update(_of_marks(batch, found))
    found.update(_of_stops(plan, found))
    return found


def _blocker(
    action: Action, blockers: Mapping[ResourceId, ResourceId], sets: Mapping[str, ResourceId]
) -> ResourceId | None:
    waited = [blockers[origin] for origin in action.requires if origin in blockers]
    if action.transaction in sets:
        waited.append(sets[action.transaction])
    return min(waited, default=None)


def _kept_up(action: Action, stops: Collection[ResourceId]) -> ResourceId | None:
    """Return what a change waits for, since its stop is held; what was stopped itself is started all the same."""
    return None if action.starts_again else min(action.while_stopped.intersection(stops), default=None)


def _of_marks(batch: Batch, found: Mapping[int, ResourceId]) -> Iterable[tuple[int, ResourceId]]:
    """Yield the marks whose changes all wait or are held: nothing is owed for what is not done."""
    for number, mark in enumerate(batch.marks, batch.first):
        changes = [(at, action) for at, action in enumerate(batch.group, batch.start) if mark.resource in action.marks]
        undone = [found.get(at, action.resource) for at, action in changes if at in found or action.hold is not None]
        if changes and len(undone) == len(changes):
            yield number, min(undone)


def _of_stops(plan: Plan, found: Mapping[int, ResourceId]) -> Iterable[tuple[int, ResourceId]]:
    """Return the stops whose changes all wait or are held: nothing is stopped for what is not done.

    What shall not run is stopped all the same: nothing of the plan starts it.
    """
    started = {action.resource for action in plan.actions if action.starts_again}
    # What keeps the changes of each service from being done; None: one of them is done.
    undone: dict[ResourceId, ResourceId | None] = {}
    for number, action in enumerate(plan.actions):
        is_done = number not in found and action.hold is None
        cause = found.get(number, action.resource)
        for service in action.while_stopped & started:
            first = undone.get(service, cause)
            undone[service] = None if is_done or first is None else min(first, cause)
    return [
        (number, waited)
        for number, stop in enumerate(plan.actions)
        if stop.operation is Operation.STOP and stop.hold is None and (waited := undone.get(stop.resource)) is not None
    ]
