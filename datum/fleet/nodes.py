"""What a YAML text says, with the place of every value and key. Pure; frozen; no object of the YAML library in it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from attrs import field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.json import JsonValue

SIZE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a text."""

_NONE: Mapping[str, SourceLocation] = MappingProxyType({})


@frozen
class Scalar:
    """One value that is neither a list nor a map."""

    # What both YAML 1.1 and YAML 1.2 read; the text itself where they differ (`ambiguity` is set then).
    value: bool | int | float | str | None
    # As written, after quotes, folding and escapes were undone.
    text: str
    location: SourceLocation
    # Written without quotes and not as a block: only such a scalar can be something else than a string.
    is_plain: bool = False
    # Why this plain scalar must be quoted; empty where its meaning is clear. Whoever wants a string takes `text` and
    # ignores it; for every other use it is an error.
    ambiguity: str = ""


@frozen
class ListNode:
    """A list."""

    items: "tuple[Node, ...]"
    location: SourceLocation


@frozen
class MapNode:
    """A map; keys are distinct strings, in the order of the text."""

    items: "Mapping[str, Node]"
    key_locations: Mapping[str, SourceLocation] = field(default=_NONE)
    location: SourceLocation = field(default=SourceLocation(""))


Node: TypeAlias = Scalar | ListNode | MapNode

ReadYaml: TypeAlias = Callable[[bytes, str], tuple[Node | None, tuple[Diagnostic, ...]]]
"""Reads the bytes of a file, whose path is given for places: what it says, and what is wrong with it."""


def plain(node: Node) -> JsonValue:
    """Return the frozen JSON value of a node; an ambiguous scalar gives its text."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, ListNode):
        return tuple(plain(item) for item in node.items)
    return MappingProxyType({key: plain(item) for key, item in node.items.items()})
