"""Hypothesis strategies for attributes that fit the schema of a resource type, as `parse` gets them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datum.model.json import JsonObject
from datum.model.manifest import AttributeValue
from datum.testing.strategies import contents, folders, json_values

_Value = TypeVar("_Value")

# No field of a schema has such a name.
_OTHER_NAMES = st.from_regex(r"other-[a-z]{1,6}", fullmatch=True)


def attributes_for(schema: JsonObject) -> st.SearchStrategy[Mapping[str, AttributeValue]]:
    """Return a strategy for attributes that a schema of a resource type lets through.

    Understands `type`, `enum`, `const`, `pattern`, `minLength`, `minimum`, `maximum`, `items`, `minItems`,
    `properties`, `required`, `additionalProperties` and `x-datum`; other keywords are not looked at.
    """
    properties = schema.get("properties")
    fields = {
        name: _value_for(about)
        for name, about in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(about, Mapping)
    }
    named = schema.get("required")
    required = {name for name in named if isinstance(name, str)} if isinstance(named, (list, tuple)) else set()
    return st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in required},
        optional={name: fields[name] for name in fields if name not in required},
    )


def check_all(strategy: st.SearchStrategy[_Value], check: Callable[[_Value], None]) -> None:
    """Let a check see many values; raise what it raises for the simplest one it does not like."""

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def run(value: _Value) -> None:
        check(value)

    run()


def _value_for(about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    match about.get("x-datum"):
        case "source" | "template" | "slot":
            return contents
        case "folder":
            return folders
        case "parts":
            # When `parse` is called no value is late.
            return _as_value(st.lists(contents, min_size=_number(about, "minItems") or 0, max_size=4).map(tuple))
        case _:
            return _plain_value_for(about)


def _plain_value_for(about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    if "const" in about:
        return st.just(about["const"])
    choices = about.get("enum")
    if isinstance(choices, (list, tuple)):
        return st.sampled_from(choices)
    kinds = about.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, (list, tuple)) else []
    return st.one_of([_value_of(str(name), about) for name in names]) if names else json_values


def _value_of(kind: str, about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    match kind:
        case "string":
            return _text_for(about)
        case "integer":
            return st.integers(_number(about, "minimum"), _number(about, "maximum"))
        case "number":
            return st.integers(_number(about, "minimum"), _number(about, "maximum")) | st.floats(
                _number(about, "minimum"), _number(about, "maximum"), allow_nan=False, allow_infinity=False
            )
        case "boolean":
            return st.booleans()
        case "array":
            items = about.get("items")
            inner = _value_for(items) if isinstance(items, Mapping) else json_values
            return _as_value(st.lists(inner, min_size=_number(about, "minItems") or 0, max_size=5))
        case "object":
            return _as_value(_object_for(about))
        case _:
            return st.none()


def _object_for(about: JsonObject) -> st.SearchStrategy[Mapping[str, AttributeValue]]:
    named = attributes_for(about)
    others = about.get("additionalProperties")
    if others is False:
        return named
    inner = _value_for(others) if isinstance(others, Mapping) else json_values
    # What is named keeps to its own schema.
    return st.builds(lambda loose, fixed: {**loose, **fixed}, st.dictionaries(_OTHER_NAMES, inner, max_size=4), named)


def _text_for(about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    pattern = about.get("pattern")
    if isinstance(pattern, str):
        return st.from_regex(pattern)
    smallest = _number(about, "minLength") or 0
    # Lone surrogates are what JSON's escapes can carry and UTF-8 cannot.
    odd = st.sampled_from(["0", "007", "4294967295", "root", "{path}", "/etc/x", "-x", "a:b", "\ud800", "é", "no"])
    return st.text(min_size=smallest, max_size=20) | odd.filter(lambda text: len(text) >= smallest)


def _number(about: JsonObject, key: str) -> int | None:
    value = about.get(key)
    return value if isinstance(value, int) else None


def _as_value(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[AttributeValue]:
    """Say that a strategy makes attributes: it is built of such, which the type of a nested list cannot tell."""
    return strategy
