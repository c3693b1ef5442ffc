"""Finds the expressions of a string: `${ … }`, and `$${` for a literal `${`. Pure.

Read from the left: `$$${x}` is a `$`, then the literal `${x}`.
"""

import re
from functools import lru_cache
from typing import Final

from attrs import frozen

from datum.fleet.expressions.names import Chain
from datum.fleet.expressions.problems import EvaluationError

_OPEN: Final = re.compile(r"\$?\$\{")
# What matters inside: strings, in which braces are text, and braces.
_INSIDE: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}]|["']""", re.DOTALL)
_PATH: Final = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\s*")
# Words of the grammar that no expression can use as its first name.
_WORDS: Final = frozenset(
    ("true", "True", "false", "False", "none", "None", "and", "or", "not", "in", "is", "if", "else")
)


@frozen
class Part:
    """A piece of a string."""

    # Literal text with its escapes undone, or what stands between `${` and `}`.
    text: str
    is_expression: bool = False
    # Set when the expression is a plain dotted name, which needs no parser.
    chain: Chain | None = None


def has_expression(text: str) -> bool:
    """Tell whether the text holds an unescaped `${`, closed or not."""
    return any(match[0] == "${" for match in _OPEN.finditer(text))


@lru_cache(maxsize=4096)
def scan(text: str) -> tuple[Part, ...]:
    """Return the pieces of a string in order; an empty string has none.

    Raises:
        EvaluationError: an expression is not closed, or empty.
    """
    parts: list[Part] = []
    literal: list[str] = []
    position = 0
    while match := _OPEN.search(text, position):
        literal.append(text[position : match.start()])
        position = match.end()
        if match[0] == "$${":
            literal.append("${")
            continue
        _flush(literal, parts)
        end = _closing(text, position)
        parts.append(_expression(text[position:end]))
        position = end + 1
    literal.append(text[position:])
    _flush(literal, parts)
    return tuple(parts)


def _flush(literal: list[str], parts: list[Part]) -> None:
    joined = "".join(literal)
    literal.clear()
    if joined:
        parts.append(Part(joined))


def _expression(source: str) -> Part:
    if not source.strip():
        raise EvaluationError("expression-syntax", "There is nothing between ${ and }.", "$${ is a literal ${.")
    if not _PATH.fullmatch(source):
        return Part(source, is_expression=True)
    names = tuple(source.strip().split("."))
    return Part(source, is_expression=True, chain=None if names[0] in _WORDS else names)


def _closing(text: str, start: int) -> int:
    """Return where the brace stands that closes an expression."""
    depth = 0
    for match in _INSIDE.finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            if not depth:
                return match.start()
            depth -= 1
        elif match[0] in {'"', "'"}:
            break
    shown = text[start - 2 : start + 40]
    raise EvaluationError(
        "expression-unterminated",
        f"'{shown}' has no closing }}. Where a value is not quoted, YAML ends it at ` #`, at `: ` and, between"
        " { }, at } and commas.",
        "Close it, or quote the whole value; $${ is a literal ${.",
    )
