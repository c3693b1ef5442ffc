"""What is on the host of each declared resource, and whether it is as declared, as JSON. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Action, Operation, Plan, Verdict, VerdictKind
from datum.model.secret import HIDDEN, Secret
from datum.report.as_json import location_to_json
from datum.report.build import report_change

_NONE: Final = Verdict(VerdictKind.IN_SYNC)


def standing_to_json(
    plan: Plan, nodes: Mapping[ResourceId, Node], observations: Mapping[ResourceId, Observation]
) -> list[JsonValue]:
    """Return every resource by id: what was seen, whether that is as declared, and what a pass would do.

    Args:
        plan: made from these observations.
        nodes: of the graph.
        observations: an answer for each of them.
    """
    actions: dict[ResourceId, list[int]] = {}
    for number, action in enumerate(plan.actions):
        # A mark is made for the change of another resource, and says nothing of its own.
        if action.operation is not Operation.MARK and action.orphan_of is None:
            actions.setdefault(action.resource, []).append(number)
    return [
        _standing(origin, nodes[origin], observations.get(origin), plan, actions.get(origin, ()))
        for origin in sorted(nodes)
    ]


def _standing(
    origin: ResourceId, node: Node, seen: "Observation | None", plan: Plan, numbers: Iterable[int]
) -> JsonValue:
    actions = [plan.actions[number] for number in numbers]
    verdict = plan.verdicts.get(origin, _NONE)
    sensitive = {change.name for action in actions for change in action.changes if change.sensitive}
    names = seen.fields if isinstance(seen, (Present, Absent)) else ()
    sensitive |= {name for name in names if isinstance(getattr(node.desired, name, None), Secret)}
    is_in_sync = not actions and verdict.kind is VerdictKind.IN_SYNC
    return {
        "id": str(origin),
        "location": location_to_json(node.resource.location),
        "in_sync": is_in_sync,
        "state": _state(seen),
        "fields": _fields(seen, sensitive),
        "detail": seen.detail if isinstance(seen, Unobservable) else verdict.detail,
        "actions": [_action(action) for action in actions],
        "verdict": None if actions else str(verdict.kind),
        "blocked_by": str(verdict.blocked_by) if verdict.blocked_by else None,
    }


def _action(action: Action) -> JsonValue:
    return {
        "operation": str(action.operation),
        "held": action.hold is not None,
        "changes": [
            {"field": change.field, "before": change.before, "after": change.after, "diff": change.diff}
            for change in map(report_change, action.changes)
        ],
    }


def _state(seen: "Observation | None") -> str:
    match seen:
        case Present():
            return "present"
        case Absent():
            return "absent"
        case _:
            return "unobservable"


def _fields(seen: "Observation | None", sensitive: Iterable[str]) -> JsonValue:
    if not isinstance(seen, (Present, Absent)):
        return {}
    hidden = set(sensitive)
    return {name: HIDDEN if name in hidden else _field(value) for name, value in sorted(seen.fields.items())}


def _field(value: FieldValue) -> JsonValue:
    match value:
        case NotApplicable():
            return {"not_applicable": value.cause}
        case Unobservable():
            return {"unobservable": str(value.cause), "detail": value.detail}
        case _:
            return value
