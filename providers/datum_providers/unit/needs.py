"""What a unit file names that must be there before its unit can start: accounts, files, programs. Pure.

Source of the rules: systemd.exec(5), systemd.service(5), systemd.socket(5), systemd.syntax(7).
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.graph import DependencyKind, Target
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum_providers.shared.unit_text import assignments, plain

# Kinds of units that run programs of their own.
_EXEC: Final = frozenset({"Service", "Socket", "Mount", "Swap"})
_ACCOUNTS: Final = {
    "User": ("user", "user of the unit"),
    "SocketUser": ("user", "user of the unit"),
    "Group": ("group", "group of the unit"),
    "SocketGroup": ("group", "group of the unit"),
}
_PATHS: Final = {"EnvironmentFile": "environment file", "WorkingDirectory": "working directory"}
_PROGRAM: Final = re.compile(r"Exec(?:Condition|Start|Stop|Reload)(?:Pre|Post)?")
# Prefixes of a command line; the word after them is in quotes or ends with the next space.
_COMMAND: Final = re.compile(r"([@\-:+!|]*)(?:\"([^\"\\]*)\"|'([^'\\]*)'|([^\s\"'\\]+))(?=\s|\Z)")


@frozen
class Needed:
    """One thing that a unit file names."""

    target: Target
    reason: str
    # Whether the unit starts without it, too.
    may_be_missing: bool = False


def edges_of_content(content: Content | None, index: TargetIndex) -> Iterator[ImplicitEdge]:
    """Yield the edges to what a unit file names, as far as resources declare it, each once.

    Content that lies in the repository alone is not read: nothing is known of it.
    """
    if content is None or content.inline is None:
        return
    found: dict[tuple[str, str], ImplicitEdge] = {}
    for one in needed_by(content.inline.decode("utf-8", "replace")):
        holder = index.holder(one.target)
        if holder is None:
            continue
        edge = ImplicitEdge(holder, one.reason)
        if one.may_be_missing:
            edge = ImplicitEdge(holder, one.reason, DependencyKind.AFTER, soft=True)
        key = (str(holder), one.reason)
        if key not in found or found[key].soft:
            found[key] = edge
    yield from found.values()


def needed_by(text: str) -> tuple[Needed, ...]:
    """Return what the text of a unit file names, in its order; an empty value takes back what was said before.

    Values with specifiers or patterns are left out: what they stand for is known on the host alone.
    """
    found: dict[str, list[Needed]] = {}
    for section, key, value in assignments(text):
        if section not in _EXEC:
            continue
        if not value:
            found.pop(key, None)
            continue
        one = _needed(key, value)
        # All but lists have one value, the last.
        kept = found.get(key, []) if key == "EnvironmentFile" or _PROGRAM.fullmatch(key) else []
        found[key] = kept if one is None else [*kept, one]
    return tuple(one for each in found.values() for one in each)


def _needed(key: str, value: str) -> Needed | None:
    if key in _ACCOUNTS:
        space, reason = _ACCOUNTS[key]
        name = plain(value)
        return Needed(Target(space, name), reason) if name else None
    if key in _PATHS:
        return _path(value.removeprefix("-"), _PATHS[key], may_be_missing=value.startswith("-"))
    command = _COMMAND.match(value) if _PROGRAM.fullmatch(key) else None
    if command is None:
        return None
    prefixes, *words = command.groups()
    return _path(next(filter(None, words), ""), "program", may_be_missing="-" in prefixes)


def _path(value: str, reason: str, *, may_be_missing: bool) -> Needed | None:
    path = plain(value)
    if not path.startswith("/"):
        return None
    return Needed(Target("path", posixpath.normpath(path)), reason, may_be_missing)
