"""Parts of an answer, each looked at before it is taken: what is not of its form is refused. Pure."""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from datum.model.identity import ResourceId
from datum.model.json import JsonValue

SAFE: Final = 2**53 - 1
"""The greatest number that JSON carries exactly."""

_SHOWN: Final = 80
_T = TypeVar("_T")


class MalformedError(ValueError):
    """An answer is not of the form that it must have; the text says where."""


def plain(value: Any) -> JsonValue:
    """Return a frozen JSON value, of numbers that JSON carries exactly.

    Raises:
        MalformedError: a number is none of these.
    """
    match value:
        case None | bool() | str():
            return value
        case int() if abs(value) <= SAFE:
            return value
        case float() if math.isfinite(value):
            return value
        case list():
            return tuple(map(plain, value))
        case dict():
            return MappingProxyType({name: plain(item) for name, item in value.items()})
        case _:
            raise MalformedError("it is no value of JSON")


def text(value: Any) -> str:
    """Return a text.

    Raises:
        MalformedError: it is none.
    """
    if not isinstance(value, str):
        raise MalformedError("it is no text")
    return value


def number(value: Any) -> int:
    """Return a whole number from 0 on.

    Raises:
        MalformedError: it is none.
    """
    if type(value) is not int or not 0 <= value <= SAFE:
        raise MalformedError("it is no number")
    return value


def resource_id(value: Any) -> ResourceId:
    """Return the id of a resource.

    Raises:
        MalformedError: it is none.
    """
    try:
        return ResourceId.parse(text(value))
    except ValueError as error:
        raise MalformedError("it is no id of a resource") from error


def matching(value: Any, pattern: re.Pattern[str]) -> str:
    """Return a text that a pattern matches.

    Raises:
        MalformedError: it is none.
    """
    if not pattern.fullmatch(text(value)):
        raise MalformedError(f"{value[:_SHOWN]!r} is not of its form")
    return str(value)


def one_of(value: Any, words: Callable[[str], _T]) -> _T:
    """Return a word of a closed set.

    Raises:
        MalformedError: it is none.
    """
    said = text(value)
    try:
        return words(said)
    except ValueError as error:
        raise MalformedError(f"{said[:_SHOWN]!r} is no such word") from error


def maybe(value: Any, read: Callable[[Any], _T]) -> _T | None:
    """Return what is read from a value, None for null.

    Raises:
        MalformedError: it is none.
    """
    return None if value is None else read(value)


def listed(value: Any) -> list[Any]:
    """Return a list.

    Raises:
        MalformedError: it is none.
    """
    if not isinstance(value, list):
        raise MalformedError("it is no list")
    return value


def row_of(value: Any, least: int, most: int = 0) -> list[Any]:
    """Return a list of so many items.

    Raises:
        MalformedError: it is none.
    """
    if not isinstance(value, list) or not least <= len(value) <= (most or least):
        raise MalformedError("a list is of another length")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts.

    Raises:
        MalformedError: it is none.
    """
    return tuple(map(text, listed(value)))


def mapping(value: Any, read: Callable[[Any], _T]) -> Mapping[str, _T]:
    """Return a frozen map of what is read from each value.

    Raises:
        MalformedError: it is none.
    """
    if not isinstance(value, dict):
        raise MalformedError("it is no map")
    return MappingProxyType({name: read(item) for name, item in value.items()})


def fields_of(value: Any, names: frozenset[str] | set[str]) -> dict[str, Any]:
    """Return a map that has exactly these keys.

    Raises:
        MalformedError: it is none.
    """
    if not isinstance(value, dict) or value.keys() != names:
        raise MalformedError("it has other keys")
    return value
