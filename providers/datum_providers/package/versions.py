"""Versions of Debian packages, compared as deb-version(7) says, and ranges of them. Pure.

`1.0~rc1` is before `1.0`, `1.10` after `1.9`, `1:0.1` after `9`: no order of texts says that. Two texts may be one
version: `1.0` and `0:1.0-0` are.
"""

import re
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import frozen

LONGEST: Final = 256
"""Characters of a version; int() refuses some thousand digits with an error of its own."""

_LAST_EPOCH: Final = 2**31 - 1
_SYNTAX: Final = re.compile(r"(?:[0-9]+:)?[0-9][A-Za-z0-9.+~:-]*")
_PIECE: Final = re.compile(r"([^0-9]*)([0-9]*)")
_CLAUSE: Final = re.compile(r"(>=|<=|>|<)\s*(.*)")
# The end of a version: after `~`, before everything else.
_END: Final[tuple[tuple[int, ...], int]] = ((0,), 0)

_Part: TypeAlias = "tuple[tuple[tuple[int, ...], int], ...]"
Key: TypeAlias = "tuple[int, _Part, _Part]"


@lru_cache(maxsize=4096)
def key_of(version: str) -> Key:
    """Return what two versions are compared by; equal for versions that are equal to dpkg.

    Any text has one: what stands on a host is compared, whether or not it is well-formed.
    """
    text = version[:LONGEST]
    epoch, colon, rest = text.partition(":")
    if not colon or not (epoch.isascii() and epoch.isdigit()):
        epoch, rest = "0", text
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch), _part(upstream), _part(revision)


def _part(text: str) -> _Part:
    pieces = [((*map(_order, letters), 0), int(digits or 0)) for letters, digits in _PIECE.findall(text)]
    # A zero at the end says nothing, and neither does an end of no letters; the first piece is always there.
    while len(pieces) > 1 and pieces[-1] == _END:
        pieces.pop()
    return (*pieces, _END)


def _order(letter: str) -> int:
    """Return the place of a character: `~` is before the end of the text (0), letters are before all others."""
    if letter == "~":
        return -1
    return ord(letter) if letter.isascii() and letter.isalpha() else ord(letter) + 256


def complaint_of(version: str) -> str:
    """Return what is wrong with a version that somebody wrote; empty if nothing is."""
    if len(version) > LONGEST:
        return f"a version has at most {LONGEST} characters."
    if not _SYNTAX.fullmatch(version):
        return f"'{version}' is no version of a package: a digit, then letters, digits and . + ~ - (deb-version(7))."
    epoch, colon, rest = version.partition(":")
    if colon and not epoch.isdigit():
        return f"'{version}' has a colon, and no number before it that could be its epoch."
    if colon and (len(epoch) > len(str(_LAST_EPOCH)) or int(epoch) > _LAST_EPOCH):
        return f"the epoch of '{version}' is greater than dpkg knows."
    upstream, dash, revision = (rest if colon else version).rpartition("-")
    if (dash and not (upstream and revision)) or (colon and not rest[:1].isdigit()):
        return f"'{version}' has an empty part."
    return ""


@frozen
class Clause:
    """One bound of a range."""

    # `>=`, `<=`, `>` or `<`.
    operator: str
    version: str

    def __str__(self) -> str:
        return f"{self.operator}{self.version}"

    @property
    def is_lower(self) -> bool:
        """Whether it says what is too old."""
        return self.operator.startswith(">")

    def admits(self, version: str) -> bool:
        """Whether a version is within this bound."""
        found, bound = key_of(version), key_of(self.version)
        if found == bound:
            return self.operator.endswith("=")
        return (found > bound) is self.is_lower


@frozen
class Wanted:
    """The versions that are wanted: exactly one, or all within some bounds."""

    # Empty where there are bounds.
    exact: str = ""
    clauses: tuple[Clause, ...] = ()

    def __str__(self) -> str:
        return self.exact or ", ".join(map(str, self.clauses))

    def admits(self, version: str) -> bool:
        """Whether a version is one of them."""
        if self.exact:
            return key_of(version) == key_of(self.exact)
        return all(clause.admits(version) for clause in self.clauses)

    def is_passed_by(self, version: str) -> bool:
        """Whether a version is newer than every one of them."""
        if self.exact:
            return key_of(version) > key_of(self.exact)
        return any(not clause.is_lower and not clause.admits(version) for clause in self.clauses)


def parse_wanted(text: str) -> Wanted:
    """Read `1.2-3`, or bounds as `>=1.2, <2`.

    Raises:
        ValueError: with a sentence that says what is wrong.
    """
    pieces = [piece.strip() for piece in text.split(",")]
    if len(pieces) == 1 and not _CLAUSE.match(pieces[0]):
        if complaint := complaint_of(pieces[0]):
            raise ValueError(complaint)
        return Wanted(pieces[0])
    clauses = tuple(_clause(piece) for piece in pieces)
    for low in (clause for clause in clauses if clause.is_lower):
        for high in (clause for clause in clauses if not clause.is_lower):
            if not (low.admits(high.version) and high.admits(low.version)):
                raise ValueError(f"no version is both {low} and {high}.")
    return Wanted(clauses=clauses)


def _clause(text: str) -> Clause:
    found = _CLAUSE.match(text)
    if found is None:
        raise ValueError(f"'{text}' is no bound of a range: it begins with >=, <=, > or <.")
    version = found[2].strip()
    if version.startswith(("<", ">", "=")):
        raise ValueError(f"'{text}' is no bound of a range: dpkg's << and >> are written < and >.")
    if complaint := complaint_of(version):
        raise ValueError(complaint)
    return Clause(found[1], version)
