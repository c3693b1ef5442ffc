"""What filters and tests have in common: how they are written, looked up and applied. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from datum.fleet.expressions.operators import is_list, is_number, wanted
from datum.fleet.expressions.problems import EvaluationError, Found, kind_of, suggestion
from datum.model.json import JsonValue


@frozen
class Builtin:
    """One filter or test; its docstring is its documentation."""

    # How it is written after `|` or `is`, with its arguments.
    usage: str
    # `Callable[..., Any]`: each takes the value and its own arguments.
    function: Callable[..., Any]
    # Whether a name without a value may stand before it.
    takes_missing: bool = False

    @property
    def summary(self) -> str:
        """What it promises, for the documentation."""
        return (self.function.__doc__ or "").strip()


def wrong_kind(what: str, value: object) -> EvaluationError:
    """Return the error that a value of another kind is."""
    return EvaluationError("expression-value", f"{what} is wanted here, and this is {kind_of(value)}.")


def text_in(value: JsonValue) -> str:
    """Return the value if it is a string.

    Raises:
        EvaluationError: it is none.
    """
    if not isinstance(value, str):
        raise wrong_kind("A string", value)
    return value


def number_in(value: JsonValue) -> int | float:
    """Return the value if it is a number.

    Raises:
        EvaluationError: it is none.
    """
    if not is_number(value):
        raise wrong_kind("A number", value)
    return value


def list_in(value: JsonValue) -> tuple[JsonValue, ...]:
    """Return the value if it is a list.

    Raises:
        EvaluationError: it is none.
    """
    if not is_list(value):
        raise wrong_kind("A list", value)
    return tuple(value)


def map_in(value: JsonValue) -> Mapping[str, JsonValue]:
    """Return the value if it is a map.

    Raises:
        EvaluationError: it is none.
    """
    if not isinstance(value, Mapping):
        raise wrong_kind("A map", value)
    return value


def find(table: Mapping[str, Builtin], name: str) -> Builtin:
    """Return the filter or test of a name.

    Raises:
        EvaluationError: there is none.
    """
    if name in table:
        return table[name]
    detail = f"There is no '{name}' here; there are {', '.join(table)}."
    raise EvaluationError("unknown-filter", detail, suggestion(name, table))


def apply(
    builtin: Builtin,
    value: Found,
    arguments: tuple[Found, ...],
    named: Mapping[str, Found],
) -> JsonValue:
    """Return what a filter or test gives.

    Raises:
        EvaluationError: it does not take these values, or a name has no value.
    """
    if not builtin.takes_missing:
        value = wanted(value)
    positional = [wanted(item) for item in arguments]
    keyed = {name: wanted(item) for name, item in named.items()}
    try:
        result: JsonValue = builtin.function(value, *positional, **keyed)
    except TypeError as error:
        raise EvaluationError("expression-value", f"It is written {builtin.usage}.") from error
    except UnicodeEncodeError as error:
        raise EvaluationError("expression-value", "This text is no Unicode.") from error
    return result
