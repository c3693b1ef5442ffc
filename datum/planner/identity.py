"""`plan_id`: what `apply --expect` compares (design 1.3). Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.json import JsonObject, JsonValue, canonical_json, digest, sorted_json
from datum.model.plan import Action, Plan

PLAN_FORMAT: Final = 1

# The greatest integer that RFC 8785 has a form for.
_GREATEST: Final = 2**53 - 1
# Below the first character that UTF-16 has two units for, or that is one of these, both orders are one.
_FIRST_SURROGATE: Final = "\ud800"


def plan_identity(plan: Plan) -> str:
    """Return `sha256:<hex>` of the canonical form of what the plan does.

    Labels, holds, timings and observations without an action take no part.
    """
    value = identity_object(plan)
    # Ten thousand actions are some megabytes, which take RFC 8785 in Python as long as planning them.
    return digest(sorted_json(value) if _is_plain(value) else canonical_json(value))


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


def _is_plain(value: JsonValue) -> bool:
    """Whether the C encoder writes a value of portable texts as RFC 8785 has it.

    The two differ in how fractions are written, in what integers there are, and in the order of names: by code points
    the one, by UTF-16 the other.
    """
    if isinstance(value, str) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) <= _GREATEST
    if isinstance(value, dict):
        names = "".join(value)
        return (names.isascii() or max(names) < _FIRST_SURROGATE) and all(map(_is_plain, value.values()))
    return isinstance(value, list) and all(map(_is_plain, value))
