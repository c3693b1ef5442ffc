"""Arithmetic of expressions and templates: numbers that JSON carries, text, lists; bounded. Pure.

Numbers are integers up to 2**53 and finite decimals; truth values are no numbers.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeGuard

from datum.fleet.expressions.budget import check_size
from datum.fleet.expressions.problems import EvaluationError, Found, Missing, kind_of
from datum.model.json import JsonValue

_EXACT: Final = 2**53 - 1
_POWER_LIMIT: Final = 64

_ARITHMETIC: Final[Mapping[str, Callable[[int | float, int | float], int | float]]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "**": operator.pow,
    }
)

OPERATORS: Final = tuple(_ARITHMETIC)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether it is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_list(value: object) -> TypeGuard[Sequence[JsonValue]]:
    """Tell whether it is a list; a string is none."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def wanted(value: Found) -> JsonValue:
    """Return the value if it is one.

    Raises:
        EvaluationError: the name has no value.
    """
    if isinstance(value, Missing):
        raise value.problem()
    return value


def checked(number: object) -> int | float:
    """Return a number if JSON carries it exactly.

    Raises:
        EvaluationError: it is too large, not finite, or not real.
    """
    if isinstance(number, int) and abs(number) <= _EXACT:
        return number
    if isinstance(number, float) and math.isfinite(number):
        return number
    raise EvaluationError("expression-value", "The result is no number that JSON carries exactly.")


def binary(symbol: str, left: Found, right: Found) -> JsonValue:
    """Return what an arithmetic operator gives.

    Raises:
        EvaluationError: the operator does not take such values, or there is no result.
    """
    left, right = wanted(left), wanted(right)
    if is_number(left) and is_number(right):
        return _calculate(symbol, left, right)
    if symbol == "+" and isinstance(left, str) and isinstance(right, str):
        check_size(len(left) + len(right))
        return left + right
    if symbol == "+" and is_list(left) and is_list(right):
        return (*left, *right)
    raise EvaluationError("expression-value", f"'{symbol}' does not take {kind_of(left)} and {kind_of(right)}.")


def _calculate(symbol: str, left: float, right: float) -> int | float:
    if symbol == "**" and abs(right) > _POWER_LIMIT:
        raise EvaluationError("expression-budget", f"A power above {_POWER_LIMIT} is not computed.")
    try:
        return checked(_ARITHMETIC[symbol](left, right))
    except ZeroDivisionError as error:
        raise EvaluationError("expression-value", "This divides by zero.") from error
    except OverflowError as error:
        raise EvaluationError("expression-value", "The result is too large.") from error


def unary(symbol: str, value: Found) -> JsonValue:
    """Return a number with the sign before it.

    Raises:
        EvaluationError: it is no number.
    """
    value = wanted(value)
    if not is_number(value):
        raise EvaluationError("expression-value", f"'{symbol}' does not take {kind_of(value)}.")
    return checked(-value if symbol == "-" else value)
