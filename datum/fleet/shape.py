"""What a place of a manifest takes, as far as reading a scalar needs to know. Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from datum.model.json import EMPTY, JsonObject, JsonValue

# Schemas nest no deeper than this; below, anything is taken.
_DEPTH: Final = 8

_CONTENTS: Final = frozenset({"source", "template", "folder", "parts", "slot"})


@frozen
class Shape:
    """What is expected at one place."""

    # A string may stand here: a scalar that YAML readers disagree about is taken by its text.
    takes_text: bool = False
    # Nothing but a string may stand here.
    only_text: bool = False
    # The string must be quoted, however clear it is (`x-datum: quoted`).
    is_quoted: bool = False
    # It decides what is removed, which no value of the machine may (`x-datum: removes`).
    removes: bool = False
    # What it names or holds becomes contents: `source`, `template`, `folder`, `parts`, `slot`, else empty.
    content: str = ""
    # What a late value must be, by JSON Schema's name of the type; empty for anything.
    types: tuple[str, ...] = ()
    items: "Shape | None" = None
    entries: Mapping[str, "Shape"] = field(factory=dict)
    others: "Shape | None" = None

    def item(self) -> "Shape":
        """Return what a list takes."""
        return self.items or ANY

    def entry(self, key: str) -> "Shape":
        """Return what a map takes at a key."""
        return self.entries.get(key) or self.others or ANY


ANY: Final = Shape()
TEXT: Final = Shape(takes_text=True, only_text=True, types=("string",))
TEXTS: Final = Shape(items=TEXT)


def shape_of(schema: JsonValue, depth: int = _DEPTH) -> Shape:
    """Read a JSON Schema: `type`, `items`, `properties`, `additionalProperties`, `anyOf`, `oneOf`, `x-datum`."""
    if not isinstance(schema, Mapping) or not depth:
        return ANY
    choices = [shape_of(choice, depth - 1) for name in ("anyOf", "oneOf") for choice in _list(schema, name)]
    types = _types(schema) or tuple(dict.fromkeys(kind for choice in choices for kind in choice.types))
    annotation = schema.get("x-datum")
    items = [shape_of(schema["items"], depth - 1)] if "items" in schema else []
    items.extend(choice.items for choice in choices if choice.items is not None)
    others = schema.get("additionalProperties")
    return Shape(
        takes_text="string" in types,
        only_text=types == ("string",),
        is_quoted=annotation == "quoted",
        removes=annotation == "removes",
        content=str(annotation) if annotation in _CONTENTS else "",
        types=types,
        items=items[0] if items else None,
        entries=shapes_of(schema, depth - 1),
        others=shape_of(others, depth - 1) if isinstance(others, Mapping) else None,
    )


def shapes_of(schema: JsonObject, depth: int = _DEPTH) -> Mapping[str, Shape]:
    """Return the shape of every property of an object's schema."""
    properties = schema.get("properties", EMPTY)
    if not isinstance(properties, Mapping):
        return MappingProxyType({})
    return MappingProxyType({name: shape_of(part, depth) for name, part in properties.items()})


def _types(schema: JsonObject) -> tuple[str, ...]:
    found = schema.get("type", ())
    if isinstance(found, str):
        return (found,)
    if found:
        return tuple(str(kind) for kind in found) if isinstance(found, (list, tuple)) else ()
    choices = _list(schema, "enum")
    if choices and all(isinstance(choice, str) for choice in choices):
        return ("string",)
    return ()


def _list(schema: JsonObject, name: str) -> list[JsonValue]:
    found = schema.get(name, ())
    return list(found) if isinstance(found, (list, tuple)) else []
