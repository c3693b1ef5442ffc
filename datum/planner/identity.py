"""`plan_id`: what `apply --expect` compares (design 1.3). Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.json import JsonObject, JsonValue, canonical_json, digest
from datum.model.plan import Action, Plan

PLAN_FORMAT: Final = 1


def plan_identity(plan: Plan) -> str:
    """Return `sha256:<hex>` of the canonical form of what the plan does.

    Labels, holds, timings and observations without an action take no part.
    """
    return digest(canonical_json(identity_object(plan)))


def identity_object(plan: Plan) -> JsonObject:
    """Return the object whose RFC 8785 form `plan_id` is the SHA-256 of."""
    actions: list[JsonValue] = [_identity_action(action) for action in plan.actions]
    return {
        "format": PLAN_FORMAT,
        "revision": plan.revision.key,
        "host": str(plan.host),
        "manifest": plan.manifest_digest,
        "actions": actions,
    }


def _identity_action(action: Action) -> Mapping[str, JsonValue]:
    takes: Mapping[str, JsonValue] = {"takes": [_portable(path) for path in action.takes]} if action.takes else {}
    return {
        "resource": _portable(str(action.resource)),
        "operation": str(action.operation),
        "hazards": sorted(str(hazard) for hazard in action.hazards),
        "before": {change.name: _portable(change.before) for change in action.changes},
        "after": {change.name: _portable(change.after) for change in action.changes},
        **takes,
    }


def _portable(value: JsonValue) -> JsonValue:
    """Return an equal value, but for texts that hold bytes which are not UTF-8.

    Names of a host may hold such (Python shows them as surrogates), and RFC 8785 has no form for them: they stand as
    `{"bytes": <hexadecimal>}`.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"bytes": value.encode("utf-8", "surrogatepass").hex()}
        return value
    if isinstance(value, Mapping):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_portable(item) for item in value]
    return value
