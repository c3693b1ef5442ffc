r"""Patterns over relative paths: `*`, `?` and `[…]` as in sh, none of which crosses `/`; `**`, which does. Pure.

`**` is a whole name of a pattern and stands for any number of names: `**/x` is every `x`, `x` itself included, and
`x/**` is all that lies below `x`. Unlike in sh `*` also matches names that begin with a dot. `\` takes its meaning from
the next character. Time is the product of the lengths of pattern and path, whatever they hold.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

from attrs import frozen

Matcher: TypeAlias = Callable[[str], bool]

_DEEP: Final = "**"


@frozen
class _Any:
    """Any number of characters, or of names."""


@frozen
class _Characters:
    """One character: of these, of these ranges, or none of them."""

    singles: frozenset[str]
    ranges: tuple[tuple[str, str], ...] = ()
    is_negated: bool = False

    def fits(self, character: str) -> bool:
        """Whether it is one."""
        is_in = character in self.singles or any(first <= character <= last for first, last in self.ranges)
        return is_in is not self.is_negated


_Name: TypeAlias = "tuple[_Characters | _Any, ...]"
_Pattern: TypeAlias = "tuple[_Name | _Any, ...]"
_ItemT = TypeVar("_ItemT")
_TokenT = TypeVar("_TokenT")

_ANY: Final = _Any()
_ONE: Final = _Characters(frozenset(), is_negated=True)


def compile_globs(patterns: Iterable[str]) -> Matcher:
    """Return what says whether a relative path matches any of these patterns.

    Raises:
        ValueError: a pattern is none; the message is a part of a sentence and says which and why.
    """
    compiled = tuple(_pattern(text) for text in patterns)

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(_fits(pattern, names, _fits_name) for pattern in compiled)

    return matches


def _fits_name(pattern: _Name, name: str) -> bool:
    return _fits(pattern, name, _Characters.fits)


def _fits(
    pattern: Sequence[_TokenT | _Any], items: Sequence[_ItemT], fits_one: Callable[[_TokenT, _ItemT], bool]
) -> bool:
    """Whether a pattern fits all items: every `_Any` takes as few as it can, and the last one more when that fails."""
    at = item = 0
    # Where the last `_Any` stands, and where what it took ends.
    last, end = -1, 0
    while item < len(items):
        token = pattern[at] if at < len(pattern) else None
        if isinstance(token, _Any):
            last, end = at, item
            at += 1
        elif token is not None and fits_one(token, items[item]):
            at, item = at + 1, item + 1
        elif last >= 0:
            end += 1
            at, item = last + 1, end
        else:
            return False
    return all(isinstance(token, _Any) for token in pattern[at:])


def _pattern(text: str) -> _Pattern:
    if not text:
        raise ValueError("a pattern is empty")
    if "\0" in text:
        raise ValueError(f"the pattern {text!r} holds a NUL byte")
    if text.startswith("/"):
        raise ValueError(f"the pattern '{text}' starts with /: patterns are relative to the directory")
    names = text.split("/")
    odd = next((name for name in names if name in {"", ".", ".."}), None)
    if odd is not None:
        raise ValueError(f"the pattern '{text}' holds the name '{odd}', which no file has")
    found: list[_Name | _Any] = [_ANY if name == _DEEP else _name(name, text) for name in names]
    # Below a directory is not the directory itself.
    return (*found[:-1], (_ANY,), _ANY) if found[-1] is _ANY else tuple(found)


def _name(name: str, text: str) -> _Name:
    if _DEEP in name:
        raise ValueError(f"in the pattern '{text}' ** is a part of '{name}': it stands for whole names")
    tokens: list[_Characters | _Any] = []
    at = 0
    while at < len(name):
        token, at = _token(name, at, text)
        tokens.append(token)
    return tuple(tokens)


def _token(name: str, at: int, text: str) -> tuple[_Characters | _Any, int]:
    """Return the token that begins here, and where the next one does."""
    character = name[at]
    if character == "*":
        return _ANY, at + 1
    if character == "?":
        return _ONE, at + 1
    if character == "[":
        return _set(name, at, text)
    single, after = _literal(name, at, text)
    return _Characters(frozenset(single)), after


def _literal(name: str, at: int, text: str) -> tuple[str, int]:
    if name[at] != "\\":
        return name[at], at + 1
    if at + 1 == len(name):
        raise ValueError(f"in the pattern '{text}' nothing follows the last \\")
    return name[at + 1], at + 2


def _set(name: str, start: int, text: str) -> tuple[_Characters, int]:
    at = start + 1
    is_negated = name[at : at + 1] in {"!", "^"}
    at += is_negated
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    first = at
    while name[at : at + 1] != "]" or at == first:
        if at >= len(name):
            raise ValueError(f"in the pattern '{text}' a [ is not closed")
        if name.startswith("[:", at):
            raise ValueError(f"the pattern '{text}' holds a class of characters, which is not read: write them out")
        low, at = _literal(name, at, text)
        if name[at : at + 1] == "-" and name[at + 1 : at + 2] not in {"", "]"}:
            high, at = _literal(name, at + 1, text)
            if high < low:
                raise ValueError(f"in the pattern '{text}' the range {low}-{high} is empty")
            ranges.append((low, high))
        else:
            singles.add(low)
    return _Characters(frozenset(singles), tuple(ranges), is_negated), at + 1
