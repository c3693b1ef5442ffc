"""Permissions in four octal digits. Pure."""

import re
import stat
from collections.abc import Set as AbstractSet
from typing import Final

from datum.model.manifest import AttributeValue
from datum.model.observation import FieldValue, NotApplicable
from datum.provider.contract import DesiredError
from datum.provider.host import FileFacts

NO_MODES: Final = NotApplicable("no-modes")

SPECIAL_BITS: Final = 0o7000
"""Setuid, setgid and sticky, of which a change of owner leaves none of a file's, also for root (chown(2))."""

_MODE: Final = re.compile(r"[0-7]{3,4}")


def parse_mode(value: AttributeValue, *, attribute: str = "mode", example: str = "0644") -> str | None:
    """Return a mode in four digits; None for none.

    Args:
        value: as it is declared.
        attribute: name of the field.
        example: what the hint shows.

    Raises:
        DesiredError: it is none.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not _MODE.fullmatch(value):
        raise DesiredError(
            attribute,
            f"'{value}' is no mode: three or four octal digits in quotes.",
            hint=f'{attribute}: "{example}"',
            code="bad-mode",
        )
    return value.zfill(4)


def seen_mode(facts: FileFacts) -> FieldValue:
    """Return the mode of what stands there, or that its file system has none."""
    return NO_MODES if "mode" in facts.without else facts.mode


def is_for_all(mode: str) -> bool:
    """Whether everybody may read a file of this mode."""
    return bool(int(mode, 8) & stat.S_IROTH)


def lets_group_write(mode: str) -> bool:
    """Whether the group may make names in a directory of this mode."""
    return bool(int(mode, 8) & stat.S_IWGRP)


def mode_to_set(mode: str | None, changed: AbstractSet[str]) -> str | None:
    """Return the mode that a step has to set: also where it changes an owner and the kernel would take bits away."""
    if "mode" in changed:
        return mode
    is_at_risk = mode is not None and int(mode, 8) & SPECIAL_BITS and changed & {"owner", "group"}
    return mode if is_at_risk else None
