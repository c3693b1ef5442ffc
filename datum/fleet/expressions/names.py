"""Looks names up: in maps by key and in lists by position, never an attribute of a Python object. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from datum.fleet.expressions.problems import EvaluationError, Found, Missing, MissingName, kind_of
from datum.model.json import JsonValue
from datum.model.manifest import Late

Scope: TypeAlias = "Mapping[str, JsonValue | Mapping[str, JsonValue]]"
Key: TypeAlias = str | int
# A root and the constant keys after it: `var.ports[0]` is ("var", "ports", 0).
Chain: TypeAlias = tuple[Key, ...]

ROOTS: Final = ("var", "host", "each", "machine")
LATER_ROOTS: Final = ("param", "export", "hosts", "secret")

# What `machine` may be asked for (design 2.9), and the two that `expect` compares.
MACHINE_NAMES: Final = (
    "addresses",
    "arch",
    "cpus",
    "default_interface",
    "machine_id",
    "memory_mib",
    "os",
    "root_disk",
)

_ABSENT_ROOT: Final = MappingProxyType(
    {
        "each": "'each' is known only in a declaration with for_each.",
        "machine": "'machine' is known only on the host.",
    }
)


def dotted(chain: Chain) -> str:
    """Return the text form of a chain; different chains have different texts."""
    text = str(chain[0])
    for key in chain[1:]:
        text += f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"
    return text


def check_root(root: str) -> None:
    """Refuse a root that the design has and this version does not.

    Raises:
        EvaluationError: it is one.
    """
    if root in LATER_ROOTS:
        detail = f"'{root}' is not known to this version of datum; it has {', '.join(ROOTS)}."
        raise EvaluationError("not-in-this-version", detail)


def resolve(scope: Scope, chain: Chain) -> Found:
    """Return the value that a chain names in a scope.

    Raises:
        EvaluationError: the root is not in this version, or the value is one of the machine and stands in a variable.
    """
    root = str(chain[0])
    check_root(root)
    if root not in scope:
        detail = _ABSENT_ROOT.get(root, f"There is no name '{root}' that an expression may start with.")
        return MissingName(root, detail, () if root in ROOTS else ROOTS)
    value: Found = scope[root]
    for position, key in enumerate(chain[1:], 1):
        value = lookup(value, key, chain[:position])
        if isinstance(value, Missing):
            return value
    return value


def lookup(value: Found, key: JsonValue, chain: Chain = ()) -> Found:
    """Return what stands under a key; a `Missing` that names it where nothing does.

    Args:
        value: a map, list or string; of a `Missing` every key is missing.
        key: a key of a map, or a position, negative from the end.
        chain: how the value was reached, for the words.

    Raises:
        EvaluationError: the value is one of the machine.
    """
    if isinstance(value, Missing):
        return value
    before = dotted(chain) if chain else "The value"
    is_position = isinstance(key, int) and not isinstance(key, bool)
    if isinstance(value, Mapping):
        return _entry(value, key, before)
    if isinstance(value, Sequence) and isinstance(key, int) and is_position:
        if -len(value) <= key < len(value):
            return value[key]
        return MissingName(f"{before}[{key}]", f"{before} has {len(value)} items, and none at {key}.")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return MissingName(f"{before}.{key}", f"{before} is a list: its items are reached by number, not by '{key}'.")
    return MissingName(f"{before}.{key}", f"{before} is {kind_of(value)} and has no '{key}'.")


def _entry(value: Mapping[str, JsonValue], key: JsonValue, before: str) -> Found:
    name = f"{before}.{key}"
    if not isinstance(key, str):
        return MissingName(name, f"{before} is a map: its keys are strings, not {kind_of(key)}.")
    try:
        found = value[key]
    except KeyError:
        return MissingName(name, f"{before} has no '{key}'.", tuple(value))
    if isinstance(found, Late):
        raise EvaluationError("late-not-here", f"{name} names the machine; write that in the field itself.")
    return found
