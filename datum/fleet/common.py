"""The fields that every resource has (design 2.1). Pure."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from datum.fleet.findings import listing, suggestion
from datum.fleet.shape import ANY, TEXT, TEXTS, Shape
from datum.fleet.values import kind_of
from datum.model.json import JsonValue
from datum.model.manifest import Hazard, OnRemoval

CONTROL_FIELDS: Final = frozenset({"when", "for_each", "override", "without"})
"""They say how one layer's declaration takes part, and are not merged."""

REFERENCE_FIELDS: Final = ("requires", "after", "while_stopped", "restart_on", "reload_on", "guards")
"""Lists of resource ids; those of several layers unite. The last three belong to the types that have them."""

LATER_FIELDS: Final = MappingProxyType(
    {
        "windows": "maintenance windows",
    }
)

ELSEWHERE: Final = MappingProxyType(
    {
        "check": "A check is a resource of its own, which names this one: check:NAME: {run: […], guards: [ID]}",
        "contribute": 'It stands at the top of the file, beside resources: contribute: {SLOT: {KEY: "text"}}',
    }
)
"""What is no field of a resource and looks like one, and where it belongs."""

COMMON_SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "requires": TEXTS,
        "after": TEXTS,
        "while_stopped": TEXTS,
        "absent": ANY,
        "on_removal": TEXT,
        "protect": ANY,
        "allow": TEXTS,
        "unmanaged": TEXTS,
        "audit": ANY,
        "moved": TEXT,
        "note": TEXT,
    }
)
"""Fields of every type that are merged."""


def wrong_common(name: str, value: JsonValue, enforced: Sequence[str]) -> tuple[str, str, str] | None:
    """Return code, detail and hint of what is wrong with a common field, None if nothing is.

    Args:
        name: of the field.
        value: of the field.
        enforced: fields of the type that are compared with the host, each by itself.
    """
    return _CHECKS[name](name, value, enforced)


def _truth(name: str, value: JsonValue, _own: Sequence[str]) -> tuple[str, str, str] | None:
    if isinstance(value, bool):
        return None
    return "wrong-type", f"'{name}' is {kind_of(value)}, and true or false is wanted.", ""


def _text(name: str, value: JsonValue, _own: Sequence[str]) -> tuple[str, str, str] | None:
    if isinstance(value, str):
        return None
    return "wrong-type", f"'{name}' is {kind_of(value)}, and a string is wanted.", ""


def _removal(name: str, value: JsonValue, own: Sequence[str]) -> tuple[str, str, str] | None:
    return _text(name, value, own) or _one_of(name, value, [choice.value for choice in OnRemoval])


def _hazards(name: str, value: JsonValue, _own: Sequence[str]) -> tuple[str, str, str] | None:
    return _list_of(name, value, [hazard.value for hazard in Hazard])


def _enforced_fields(name: str, value: JsonValue, enforced: Sequence[str]) -> tuple[str, str, str] | None:
    wrong = _list_of(name, value, enforced)
    if wrong is None or wrong[0] != "bad-value":
        return wrong
    code, detail, hint = wrong
    return code, detail, hint or "Only what is compared with the host by itself can be left unmanaged."


def _list_of(name: str, value: JsonValue, known: Sequence[str]) -> tuple[str, str, str] | None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        hint = f"Write {name}: [{value}]" if isinstance(value, str) else "Write a list."
        return "wrong-type", f"'{name}' is {kind_of(value)}, and a list is wanted.", hint
    return next(filter(None, (_one_of(f"Every item of '{name}'", item, known) for item in value)), None)


def _one_of(name: str, value: JsonValue, known: Sequence[str]) -> tuple[str, str, str] | None:
    if isinstance(value, str) and value in known:
        return None
    return "bad-value", f"{name} is one of {listing(known)}, not {value!r}.", suggestion(str(value), known)


_CHECKS: Final[Mapping[str, Callable[[str, JsonValue, Sequence[str]], tuple[str, str, str] | None]]] = MappingProxyType(
    {
        "absent": _truth,
        "protect": _truth,
        "audit": _truth,
        "note": _text,
        "moved": _text,
        "on_removal": _removal,
        "allow": _hazards,
        "unmanaged": _enforced_fields,
    }
)
