"""`limits`: how much one pass may do (design 4.4). They merge as the other settings do. Pure."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from datum.fleet.findings import problem
from datum.fleet.nodes import Node, Scalar
from datum.fleet.schema import Checker
from datum.fleet.values import Placed
from datum.model.manifest import LimitClass, Limits
from datum.model.revision import Revision

NO_LIMIT: Final = "none"

_CLASSES: Final = tuple(counted.value for counted in LimitClass)
_COMMIT: Final = re.compile(r"(?:sha1:|sha256:)?([0-9a-f]{40}|[0-9a-f]{64})")
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_PERCENT: Final = re.compile(r"([0-9]{1,9})%")
_MOST: Final = 100


def read_limits(node: Node, checker: Checker, said: dict[str, Placed]) -> None:
    """Read `limits` of one file into `said`, by dotted name; what is wrong is noted and left out."""
    table = checker.table(node, "limits")
    nodes = checker.keys(table, (*_CLASSES, "allow"), "limits") if table else {}
    for name in _CLASSES:
        if name in nodes:
            found = nodes[name]
            is_none = isinstance(found, Scalar) and found.text == NO_LIMIT
            most = NO_LIMIT if is_none else _most(name, found, f"limits.{name}", checker)
            if most is not None:
                said[f"limits.{name}"] = Placed(most, found.location)
    if "allow" in nodes:
        _read_allow(nodes["allow"], checker, said)


def limits_of(values: Mapping[str, object]) -> Limits:
    """Return the limits that merged settings say."""
    usual = Limits()
    most = {name: values.get(f"limits.{name}", getattr(usual, name)) for name in _CLASSES}
    bound = {name: value if isinstance(value, int) else None for name, value in most.items()}
    allowed = values.get("limits.allow")
    raised = dict(allowed) if isinstance(allowed, Mapping) else {}
    commit = str(raised.pop("from", ""))
    return Limits(
        **bound,
        allowed=MappingProxyType({LimitClass(name): most for name, most in sorted(raised.items())}),
        allowed_from=Revision(commit, algorithm="sha1" if len(commit) == 40 else "sha256") if commit else None,  # noqa: PLR2004
    )


def _most(name: str, node: Node, what: str, checker: Checker) -> int | None:
    """Read a count, or a share in percent; None after having noted what is wrong."""
    if name != LimitClass.CHANGED:
        return _count(node, what, checker)
    text = node.text if isinstance(node, Scalar) else ""
    match = _PERCENT.fullmatch(text)
    if match is not None and 1 <= int(match[1]) <= _MOST:
        return int(match[1])
    detail = f"{what} is the share of what was declared that one pass may change: 1% to {_MOST}%, or none."
    hint = f"Write {text}%" if _DIGITS.fullmatch(text) and 1 <= int(text) <= _MOST else "Write 50%, or none."
    checker.findings.add(problem("bad-value", node.location, detail, hint=hint))
    return None


def _count(node: Node, what: str, checker: Checker) -> int | None:
    match = _PERCENT.fullmatch(node.text) if isinstance(node, Scalar) else None
    if match is not None:
        detail = f"{what} is a count, not a share."
        checker.findings.add(problem("bad-value", node.location, detail, hint=f"Write a number: {match[1]}"))
        return None
    return checker.integer(node, f"{what} (or none)")


def _read_allow(node: Node, checker: Checker, said: dict[str, Placed]) -> None:
    table = checker.table(node, "limits.allow")
    if table is None:
        return
    before = len(checker.findings.items)
    nodes = checker.keys(table, (*_CLASSES, "from"), "limits.allow")
    if len(checker.findings.items) > before:
        return
    named = [name for name in _CLASSES if name in nodes]
    if not named or "from" not in nodes:
        detail = "limits.allow raises limits for one trail: it says how much of which class, and from which revision."
        hint = "Write allow: {removals: N, from: SHA}; `datum plan` prints both."
        checker.findings.add(problem("missing-field", node.location, detail, hint=hint))
        return
    raised = {name: _allowed(name, nodes[name], checker) for name in named}
    commit = _commit(nodes["from"], checker)
    if commit and None not in raised.values():
        said["limits.allow"] = Placed(MappingProxyType({**raised, "from": commit}), node.location)


def _allowed(name: str, node: Node, checker: Checker) -> int | None:
    what = f"limits.allow.{name}"
    if isinstance(node, Scalar) and node.text == NO_LIMIT:
        detail = f"{what} raises a limit to a value; only limits.{name} itself can be none."
        checker.findings.add(problem("bad-value", node.location, detail, hint="Write what `datum plan` counts."))
        return None
    return _most(name, node, what, checker)


def _commit(node: Node, checker: Checker) -> str:
    """Return the hexadecimal name of a commit, empty after having noted what is wrong."""
    text = checker.text(node, "limits.allow.from")
    match = _COMMIT.fullmatch(text) if text is not None else None
    if text is not None and match is None:
        detail = f"'{text}' is no object name of a commit: 40 or 64 hexadecimal digits are wanted."
        checker.findings.add(problem("bad-value", node.location, detail))
    return match[1] if match is not None else ""
