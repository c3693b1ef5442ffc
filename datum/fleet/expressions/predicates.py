"""The tests of expressions and templates: what may stand after `is`. Pure; total."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from datum.fleet.expressions.library import Builtin, list_in, text_in
from datum.fleet.expressions.operators import is_list, is_number
from datum.fleet.expressions.problems import Found, Missing
from datum.model.json import JsonValue


def is_defined(value: Found) -> bool:
    """The name has a value; `null` is one."""
    return not isinstance(value, Missing)


def is_none(value: JsonValue) -> bool:
    """It is `null`."""
    return value is None


def is_string(value: JsonValue) -> bool:
    """It is a string."""
    return isinstance(value, str)


def is_integer(value: JsonValue) -> bool:
    """It is a number without a fraction; `true` is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_boolean(value: JsonValue) -> bool:
    """It is `true` or `false`."""
    return isinstance(value, bool)


def is_mapping(value: JsonValue) -> bool:
    """It is a map."""
    return isinstance(value, Mapping)


def is_number_test(value: JsonValue) -> bool:
    """It is a number; `true` is none."""
    return is_number(value)


def is_sequence(value: JsonValue) -> bool:
    """It is a list; a string is none."""
    return is_list(value)


def is_in(value: JsonValue, container: JsonValue) -> bool:
    """It is an item of a list, a key of a map, or a part of a string."""
    if isinstance(container, str):
        return text_in(value) in container
    if isinstance(container, Mapping):
        return value in container
    return value in list_in(container)


def starts_with(value: JsonValue, start: JsonValue) -> bool:
    """It is a string that starts with another."""
    return text_in(value).startswith(text_in(start))


def ends_with(value: JsonValue, end: JsonValue) -> bool:
    """It is a string that ends with another."""
    return text_in(value).endswith(text_in(end))


TESTS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {
        "boolean": Builtin("boolean", is_boolean),
        "defined": Builtin("defined", is_defined, takes_missing=True),
        "ends_with": Builtin("ends_with(end)", ends_with),
        "in": Builtin("in(container)", is_in),
        "integer": Builtin("integer", is_integer),
        "mapping": Builtin("mapping", is_mapping),
        "none": Builtin("none", is_none),
        "number": Builtin("number", is_number_test),
        "sequence": Builtin("sequence", is_sequence),
        "starts_with": Builtin("starts_with(start)", starts_with),
        "string": Builtin("string", is_string),
    }
)
"""Tests by name: `value is name(arguments)`."""
