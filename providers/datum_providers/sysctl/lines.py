"""Files of sysctl.d(5): the settings in them, and the text of one. Pure."""

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from datum_providers.shared.kernel import collapsed
from datum_providers.shared.kernel_names import slash_form

_COMMENT: Final = ("#", ";")
_GLOB: Final = frozenset("*?[")


@frozen
class Setting:
    """One line that sets one key."""

    # Slash form.
    key: str
    # White space collapsed.
    value: str
    # Counted from 1.
    line: int


def settings_of(text: str) -> Iterator[Setting]:
    """Yield what a file sets, in its order. A pattern is none: systemd takes every key that is named out of it."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith(_COMMENT):
            continue
        name, equals, value = stripped.partition("=")
        name = name.strip().removeprefix("-").strip()
        if equals and name and _GLOB.isdisjoint(name):
            yield Setting(slash_form(name), collapsed(value), number)


def text_for(key: str, value: str) -> str:
    """Return the file that sets a key at boot."""
    return f"# sysctl:{key}, kept by datum.\n{key} = {value}\n"
