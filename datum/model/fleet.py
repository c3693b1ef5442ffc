"""What fleet.yaml says of who may read it, and which versions a range holds. Pure."""

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from attrs import frozen

_COMPARATOR: Final = re.compile(r"\s*(>=|<=|==|>|<|=)\s*([0-9][0-9A-Za-z.+-]*)\s*")
_VERSION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)*)(.*)")
_Version: TypeAlias = "tuple[tuple[int, ...], bool]"

_OPERATORS: Final[Mapping[str, Callable[[_Version, _Version], bool]]] = MappingProxyType(
    {
        ">=": operator.ge,
        "<=": operator.le,
        "==": operator.eq,
        "=": operator.eq,
        ">": operator.gt,
        "<": operator.lt,
    }
)


@frozen
class FleetHeader:
    """Which fleet this is, and who may read it."""

    # `datum:`, the manifest format.
    format: int
    # UUID, lower case.
    fleet: str
    # `agent:`, comparators joined by commas; empty for any agent.
    agent: str


def agent_fits(spec: str, version: str) -> bool:
    """Tell whether a version satisfies every comparator; an empty range fits every version.

    Versions compare number by number, `1.0` equals `1`, and what a suffix marks as coming before a release
    (`1.0rc1`, `1.0.dev3`) is less than it.

    Raises:
        ValueError: the range or the version is none.
    """
    if not spec.strip():
        return True
    matches = [_COMPARATOR.fullmatch(part) for part in spec.split(",")]
    own = _version_key(version)
    fits = True
    for match in matches:
        if match is None:
            raise ValueError(f"'{spec}' is no range of versions, such as '>=1.0, <2'")
        fits &= _OPERATORS[match[1]](own, _version_key(match[2]))
    return fits


def _version_key(text: str) -> _Version:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is no version")
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    is_release = not match[2] or match[2].startswith((".post", "+", "-"))
    return tuple(numbers), is_release
