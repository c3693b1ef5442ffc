"""Why an action is planned: the first label of design 3.5 that fits. Pure."""

from collections.abc import Container, Iterable
from typing import Final

from attrs import evolve

from datum.model.batches import batches_of
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Observation, Present
from datum.model.plan import Action, Label
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

    What was owed before this pass keeps the label of its own service: owed is drift.
    """
    found = list(actions)
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
            found[place] = evolve(mark, label=_most_meant(own[mark.resource]))
    return found


def _most_meant(labels: Container[Label]) -> Label:
    return next(label for label in _MEANT if label in labels)


def _wants_the_same(one: Node, other: Node) -> bool:
    return one.resource.absent == other.resource.absent and bool(one.desired == other.desired)
