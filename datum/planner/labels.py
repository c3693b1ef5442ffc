"""Why an action is planned: the first label of design 3.5 that fits. Pure."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from datum.model.batches import batches_of
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Observation, Present
from datum.model.plan import Action, Label, Operation
from datum.planner.inputs import PlanInput

_MEANT: Final = (Label.INTENT, Label.RETRY, Label.ADOPT, Label.DRIFT)
"""What is meant most first: it is said of what has several causes."""


def label_of(node: Node, observation: Observation, given: PlanInput) -> Label:
    """Return `adopt`, `drift`, `retry` or `intent`."""
    origin = node.resource.id
    converged = (given.converged or {}).get(origin)
    if isinstance(observation, Present) and converged is None and not given.declarations(origin):
        return Label.ADOPT
    if converged is not None and _wants_the_same(converged, node):
        return Label.DRIFT
    return Label.RETRY if given.is_retry else Label.INTENT


def label_owed(actions: Iterable[Action]) -> list[Action]:
    """Return the actions, each mark and refresh with the label of the changes that it is owed to.

    What was owed before this pass, or is owed for evidence, keeps the label of its own service: owed is drift.
    """
    found = _labelled_by_stops(list(actions))
    causes: dict[ResourceId, set[Label]] = {}
    for batch in batches_of(found):
        own: dict[ResourceId, set[Label]] = {}
        for place, action in enumerate(batch.group, batch.start):
            if action.operation.refreshes and action.resource in causes:
                found[place] = evolve(action, label=_most_meant(causes[action.resource]))
            for service in action.marks:
                own.setdefault(service, set()).add(found[place].label)
                causes.setdefault(service, set()).add(found[place].label)
        for place, mark in enumerate(batch.marks, batch.first):
            if mark.resource in own:
                found[place] = evolve(mark, label=_most_meant(own[mark.resource]))
    return found


def _labelled_by_stops(actions: Sequence[Action]) -> list[Action]:
    """Return the actions, each stop and the start after it with the label of the changes that they are for."""
    causes: dict[ResourceId, set[Label]] = {}
    for action in actions:
        for service in action.while_stopped:
            causes.setdefault(service, set()).add(action.label)
    if not causes:
        return list(actions)
    return [evolve(action, label=_of_stop(action, causes)) for action in actions]


def _of_stop(action: Action, causes: Mapping[ResourceId, Collection[Label]]) -> Label:
    if action.operation is not Operation.STOP and not action.starts_again:
        return action.label
    # What changes beside whether it runs has a label of its own.
    own = {action.label} if len(action.changes) > 1 else set()
    return _most_meant({*causes[action.resource], *own})


def _most_meant(labels: Container[Label]) -> Label:
    return next(label for label in _MEANT if label in labels)


def _wants_the_same(one: Node, other: Node) -> bool:
    return one.resource.absent == other.resource.absent and bool(one.desired == other.desired)
