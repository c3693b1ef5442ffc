"""What a pause of some resources holds (design 4.4). Pure.

Like a limit it holds actions of a plan that is made already: they stay in it, and so does what requires them, so that
the plan has the same id with the pause and without. A mark is set all the same: it says what is owed and changes
nothing that runs, and without it a restart would be lost. What would take a named resource along is held as well. A
pause of the whole host holds nothing here: then nothing of the plan is done at all.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.moment import format_moment
from datum.model.pause import Pause, in_force
from datum.model.plan import Action, Hold, HoldReason, Operation
from datum.planner.inputs import Declaration, PlanInput
from datum.planner.removals import names_of, removed_with

RELEASE = "datum resume"
"""The command that ends a pause."""


def apply_pause(actions: Iterable[Action], given: PlanInput) -> list[Action]:
    """Return the actions, held where the pause names their resource, or something that they take along."""
    pause = in_force(given.pause, given.now)
    if pause is None or pause.is_whole:
        return list(actions)
    names = _names_of(pause, given)
    return [_paused(action, pause, names, given) for action in actions]


def _paused(action: Action, pause: Pause, names: Mapping[str, ResourceId], given: PlanInput) -> Action:
    if action.hold is not None or action.operation is Operation.MARK:
        return action
    if pause.names(action.resource):
        return evolve(action, hold=_hold(pause, f"{action.resource} is paused"))
    taken = next((names[name] for name in _taken(action, given) if name in names), None)
    if taken is None:
        return action
    return evolve(action, hold=_hold(pause, f"It would take along {taken}, which is paused"))


def _hold(pause: Pause, what: str) -> Hold:
    until = format_moment(pause.until)
    reason = pause.reason.rstrip(".")
    return Hold(HoldReason.PAUSE, f"{what} by {pause.who} until {until}: {reason}.", f"{RELEASE}, or {until}")


def _taken(action: Action, given: PlanInput) -> Iterable[str]:
    """Return what goes with an action, by name: beside its resource, and in the place where that comes."""
    if not action.operation.removes or action.orphan_of is not None:
        return action.takes
    node = given.graph.nodes[action.resource]
    return (*removed_with(node), *action.takes)


def _names_of(pause: Pause, given: PlanInput) -> Mapping[str, ResourceId]:
    """Return what the paused resources of target and trail hold, by name."""
    declarations = (entry.nodes for entry in given.trail if isinstance(entry, Declaration))
    found: dict[str, ResourceId] = {}
    for nodes in (given.graph.nodes, *declarations):
        for node in _named(pause, nodes):
            for name in names_of(node.targets):
                found.setdefault(name, node.resource.id)
    return found


def _named(pause: Pause, nodes: Mapping[ResourceId, Node]) -> Iterable[Node]:
    return [node for origin, node in nodes.items() if pause.names(origin) and not node.resource.absent]
