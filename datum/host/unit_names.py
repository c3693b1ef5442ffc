"""Names of units, as systemd.unit(5) has them. Pure."""

import re
from typing import Final

# UNIT_NAME_MAX of systemd, the trailing NUL included.
_LONGEST: Final = 255
_SUFFIXES: Final = frozenset({
    "service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope",
})  # fmt: skip
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9:_.\\@-]+")


def name_fault(name: str) -> str:
    """Return why the manager takes no unit of this name, as a sentence; empty when it takes it.

    A bare template (`getty@.service`) is a unit file and no unit.
    """
    stem, _, suffix = name.rpartition(".")
    is_sound = bool(stem and len(name) <= _LONGEST and _CHARACTERS.fullmatch(name) and suffix in _SUFFIXES)
    prefix, at, instance = stem.partition("@")
    if not is_sound or not prefix:
        return f"Unit name {name} is not valid."
    if at and not instance:
        return f"Unit name {name} is missing the instance name."
    return ""


def template_of(name: str) -> str:
    """Return the template of an instance, `getty@.service` of `getty@tty1.service`; empty for any other name."""
    stem, _, suffix = name.rpartition(".")
    prefix, at, instance = stem.partition("@")
    return f"{prefix}@.{suffix}" if prefix and at and instance else ""
