"""The filters of expressions and templates: total, pure, bounded. `FILTERS` lists them, for the documentation too.

Each is a function of the value and its arguments that returns a JSON value or raises `EvaluationError`; it never
changes what it is given. Lists are in their own order, maps in the order of their keys.
"""

import base64
import json
import math
import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from datum.fleet.expressions.budget import check_size, steps_of
from datum.fleet.expressions.library import Builtin, list_in, map_in, number_in, text_in, wrong_kind
from datum.fleet.expressions.operators import checked, is_list
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, text_of
from datum.model.json import JsonValue, sorted_json, thaw

_INDENT_LIMIT: Final = 64
# systemd.syntax(7) of quoted words; systemd.unit(5) of `%`, and systemd.service(5) of `$` in command lines.
_IN_COMMAND_LINE: Final = {"\\": "\\\\", '"': '\\"', "%": "%%", "$": "$$"}
_CONTROL: Final = re.compile(r"[\x01-\x1f\x7f]")


def lower(value: JsonValue) -> str:
    """A string in lower case."""
    return text_in(value).lower()


def upper(value: JsonValue) -> str:
    """A string in upper case."""
    return text_in(value).upper()


def trim(value: JsonValue) -> str:
    """A string without white space at its ends."""
    return text_in(value).strip()


def replace(value: JsonValue, old: JsonValue, new: JsonValue) -> str:
    """A string in which every `old` is `new`."""
    text, before, after = text_in(value), text_in(old), text_in(new)
    if not before:
        raise EvaluationError("expression-value", "replace needs something to look for.")
    check_size(len(text) + text.count(before) * len(after))
    return text.replace(before, after)


def join(value: JsonValue, separator: JsonValue = "") -> str:
    """The strings, integers and truth values of a list as one string, with a separator between them."""
    texts, between = [text_of(item) for item in list_in(value)], text_in(separator)
    check_size(sum(map(len, texts)) + len(texts) * len(between))
    return between.join(texts)


def split(value: JsonValue, separator: JsonValue = None) -> tuple[str, ...]:
    """The parts of a string between separators; without one, its words."""
    if separator is None:
        return tuple(text_in(value).split())
    if not text_in(separator):
        raise EvaluationError("expression-value", "split needs a separator, or none at all for words.")
    return tuple(text_in(value).split(text_in(separator)))


def default(value: Found, other: JsonValue) -> JsonValue:
    """The value, or `other` where the name has none. `null`, `false` and empty strings are values."""
    return other if isinstance(value, Missing) else value


def length(value: JsonValue) -> int:
    """How many characters a string has, items a list, keys a map."""
    if isinstance(value, str) or is_list(value) or isinstance(value, Mapping):
        return len(value)
    raise wrong_kind("A string, list or map", value)


def _items_of(value: JsonValue) -> tuple[JsonValue, ...]:
    items = tuple(value) if isinstance(value, str) else list_in(value)
    if not items:
        raise EvaluationError("expression-value", "This is empty: there is no first and no last.")
    return items


def first(value: JsonValue) -> JsonValue:
    """The first item of a list, or character of a string, which must not be empty."""
    return _items_of(value)[0]


def last(value: JsonValue) -> JsonValue:
    """The last item of a list, or character of a string, which must not be empty."""
    return _items_of(value)[-1]


def sort(value: JsonValue) -> tuple[JsonValue, ...]:
    """A list of strings, or one of numbers, in order; strings by code point."""
    items = list_in(value)
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) == len(items):
        return tuple(sorted(texts))
    return tuple(sorted(number_in(item) for item in items))


def unique(value: JsonValue) -> tuple[JsonValue, ...]:
    """A list without repetitions, each item where it stands first."""
    found: dict[bytes, JsonValue] = {}
    for item in list_in(value):
        found.setdefault(sorted_json(item), item)
    return tuple(found.values())


def keys(value: JsonValue) -> tuple[str, ...]:
    """The keys of a map, in order."""
    return tuple(sorted(map_in(value)))


def values(value: JsonValue) -> tuple[JsonValue, ...]:
    """The values of a map, in the order of their keys."""
    return tuple(map_in(value)[key] for key in keys(value))


def items(value: JsonValue) -> tuple[tuple[str, JsonValue], ...]:
    """The entries of a map as lists of key and value, in the order of the keys."""
    return tuple((key, map_in(value)[key]) for key in keys(value))


def integer_of(value: JsonValue) -> int:
    """The integer that a string of decimal digits writes; a number without its fraction."""
    if isinstance(value, str):
        digits = value.strip().removeprefix("-").removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 32):  # noqa: PLR2004
            raise EvaluationError("expression-value", f"'{value[:40]}' is no integer.")
        return int(checked(int(value)))
    return int(checked(math.trunc(number_in(value))))


def string_of(value: JsonValue) -> str:
    """A string, integer, truth value or number as text; numbers as JSON writes them."""
    return repr(value) if isinstance(value, float) else text_of(value)


def to_json(value: JsonValue, indent: JsonValue = None) -> str:
    """Any value as JSON, keys in order; `indent` spaces for each level, on one line without."""
    width = None if indent is None else _width(indent)
    steps_of(value)
    return json.dumps(thaw(value), sort_keys=True, ensure_ascii=False, allow_nan=False, indent=width)


def quote(value: JsonValue) -> str:
    """A string, integer or truth value as one word of a POSIX shell."""
    text = text_of(value)
    if "\0" in text:
        raise EvaluationError("expression-value", "A shell word cannot hold a NUL character.")
    return shlex.quote(text)


def systemd_words(value: JsonValue) -> str:
    """The items of a list as words of a command line in a unit file of systemd: each arrives as it is."""
    return " ".join(_systemd_word(text_of(item)) for item in list_in(value))


def _systemd_word(text: str) -> str:
    if "\0" in text:
        raise EvaluationError("expression-value", "A word of a command line cannot hold a NUL character.")
    plain = "".join(_IN_COMMAND_LINE.get(character, character) for character in text)
    return f'"{_CONTROL.sub(lambda found: f"{chr(92)}x{ord(found[0]):02x}", plain)}"'


def _width(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _INDENT_LIMIT:
        raise EvaluationError("expression-value", f"An indent is an integer from 0 to {_INDENT_LIMIT}.")
    return value


def indent_lines(value: JsonValue, width: JsonValue = 4, first: JsonValue = False) -> str:  # noqa: FBT002
    """A string whose lines start with `width` spaces more; the first only if asked, empty ones never."""
    space = " " * _width(width)
    head, *rest = text_in(value).split("\n")
    check_size(len(head) + sum(map(len, rest)) + (len(rest) + 1) * (len(space) + 1))
    start = space if first and head else ""
    return "\n".join([start + head, *(space + line if line else line for line in rest)])


def percent(value: JsonValue, share: JsonValue) -> int:
    """So many hundredths of a number, rounded down to an integer."""
    return int(checked(math.floor(checked(number_in(value) * number_in(share)) // 100)))


def _least(value: JsonValue, others: tuple[JsonValue, ...]) -> list[int | float]:
    numbers = [number_in(item) for item in (list_in(value) if is_list(value) else (value,)) + others]
    if not numbers:
        raise EvaluationError("expression-value", "This is empty: there is no least and no greatest.")
    return numbers


def minimum(value: JsonValue, *others: JsonValue) -> int | float:
    """The least of a number, or list of numbers, and the arguments."""
    return min(_least(value, others))


def maximum(value: JsonValue, *others: JsonValue) -> int | float:
    """The greatest of a number, or list of numbers, and the arguments."""
    return max(_least(value, others))


def round_down(value: JsonValue, step: JsonValue = 1) -> int:
    """The greatest multiple of an integer step that is not above the number."""
    size = number_in(step)
    if not isinstance(size, int) or size < 1:
        raise EvaluationError("expression-value", "round_down takes a step of 1 or more.")
    return int(checked(math.floor(number_in(value) // size) * size))


def absolute(value: JsonValue) -> int | float:
    """A number without its sign."""
    return abs(number_in(value))


def base64_of(value: JsonValue) -> str:
    """The UTF-8 bytes of a string in Base64, on one line."""
    return base64.b64encode(text_in(value).encode()).decode("ascii")


def json_string(value: JsonValue) -> str:
    """A string as a JSON string, with its quotes."""
    return json.dumps(text_in(value), ensure_ascii=False)


FILTERS: Final[Mapping[str, Builtin]] = MappingProxyType(
    {
        "abs": Builtin("abs", absolute),
        "base64": Builtin("base64", base64_of),
        "default": Builtin("default(other)", default, takes_missing=True),
        "first": Builtin("first", first),
        "indent": Builtin("indent(width=4, first=false)", indent_lines),
        "int": Builtin("int", integer_of),
        "items": Builtin("items", items),
        "join": Builtin("join(separator='')", join),
        "json_string": Builtin("json_string", json_string),
        "keys": Builtin("keys", keys),
        "last": Builtin("last", last),
        "length": Builtin("length", length),
        "lower": Builtin("lower", lower),
        "max": Builtin("max(other…)", maximum),
        "min": Builtin("min(other…)", minimum),
        "percent": Builtin("percent(share)", percent),
        "quote": Builtin("quote", quote),
        "replace": Builtin("replace(old, new)", replace),
        "round_down": Builtin("round_down(step=1)", round_down),
        "sort": Builtin("sort", sort),
        "split": Builtin("split(separator)", split),
        "string": Builtin("string", string_of),
        "systemd_words": Builtin("systemd_words", systemd_words),
        "to_json": Builtin("to_json(indent)", to_json),
        "trim": Builtin("trim", trim),
        "unique": Builtin("unique", unique),
        "upper": Builtin("upper", upper),
        "values": Builtin("values", values),
    }
)
"""Filters by name: `value | name(arguments)`."""
