"""The text of unit files and drop-ins as systemd.syntax(7) has it, one assignment after the other. Pure."""

import re
from collections.abc import Iterator
from typing import Final

_CONTINUED: Final = "\\"
# Specifiers, and patterns of file names: what they stand for is known on the host alone.
_UNKNOWN: Final = re.compile(r"%(?!%)|[*?\[]")


def assignments(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value; lines that go on are joined, and comments among them left out."""
    section, begun = "", ""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(("#", ";")) or (not bare and not begun):
            continue
        begun += bare
        if begun.endswith(_CONTINUED):
            begun = f"{begun[:-1]} "
            continue
        if begun.startswith("[") and begun.endswith("]"):
            section = begun[1:-1]
        key, equals, value = begun.partition("=")
        if equals:
            yield section, key.strip(), value.strip()
        begun = ""


def plain(value: str) -> str:
    """Return a value with its percent signs; empty where it takes the manager to know it."""
    return "" if _UNKNOWN.search(value.replace("%%", "")) else value.replace("%%", "%")
