"""Values on their way from YAML nodes to the fields of a resource: each keeps its place. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from attrs import frozen

from datum.diagnostics import SourceLocation
from datum.fleet.nodes import ListNode, Scalar, plain
from datum.model.json import JsonValue
from datum.model.manifest import Late


class Placed(NamedTuple):
    """A value and where it stands."""

    value: "Value"
    location: SourceLocation


@frozen
class Table:
    """A map whose entries keep their places, so that maps of several layers merge by key."""

    items: Mapping[str, Placed]


@frozen
class Pieces:
    """A list whose items keep their places and may hold late values: what a content is put together from."""

    items: tuple[Placed, ...]


# Nodes are values of variables, which are merged before they are evaluated.
Value: TypeAlias = "JsonValue | Late | Table | Pieces | Scalar | ListNode"


def plain_value(value: Value) -> JsonValue:
    """Return the frozen JSON value; a late value gives its text, a null entry of a map is left out."""
    if value is None or isinstance(value, (str, bool, int, float, tuple)):
        return value
    if isinstance(value, Table):
        return MappingProxyType(
            {key: plain_value(entry.value) for key, entry in value.items.items() if entry.value is not None}
        )
    if isinstance(value, Pieces):
        return tuple(plain_value(piece.value) for piece in value.items)
    if isinstance(value, Late):
        return value.text
    if isinstance(value, (Scalar, ListNode)):
        return plain(value)
    return value


def same_value(left: JsonValue, right: JsonValue) -> bool:
    """Tell whether two JSON values are equal; `true` is not `1`, whereas `1` is `1.0`."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if _is_list(left) and _is_list(right):
        return len(left) == len(right) and all(map(same_value, left, right))  # type: ignore[arg-type]  # narrowed by _is_list
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def kind_of(value: JsonValue) -> str:
    """Return what a person calls the kind of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a map" if isinstance(value, Mapping) else "a list"
