"""Why an action is planned: the first label of design 3.5 that fits. Pure."""

from datum.model.graph import Node
from datum.model.observation import Observation, Present
from datum.model.plan import Label
from datum.planner.inputs import PlanInput


def label_of(node: Node, observation: Observation, given: PlanInput) -> Label:
    """Return `adopt`, `drift`, `retry` or `intent`."""
    origin = node.resource.id
    converged = (given.converged or {}).get(origin)
    if isinstance(observation, Present) and converged is None and not given.declarations(origin):
        return Label.ADOPT
    if converged is not None and _wants_the_same(converged, node):
        return Label.DRIFT
    return Label.RETRY if given.is_retry else Label.INTENT


def _wants_the_same(one: Node, other: Node) -> bool:
    return one.resource.absent == other.resource.absent and bool(one.desired == other.desired)
