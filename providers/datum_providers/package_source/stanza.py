"""A source of apt in the form of deb822, sources.list(5): read, compared in a normal form, written. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.json import JsonValue

LISTS: Final = {
    "types": "Types",
    "uris": "URIs",
    "suites": "Suites",
    "components": "Components",
    "architectures": "Architectures",
}
"""Fields of the type that hold words, and their names in the file; apt does not care for the order of the words."""

SIGNED_BY: Final = "Signed-By"
ENABLED: Final = "Enabled"

OWN: Final = frozenset(name.lower() for name in (*LISTS.values(), SIGNED_BY, ENABLED))
"""What a field of the type says, in small letters: no option."""

EMBEDDED: Final = "embedded"
"""Value of `signed_by` where the key itself stands in the file."""

# What apt takes for no, in StringToBool.
_NO: Final = frozenset({"no", "false", "without", "off", "disable", "0"})
_FIELD: Final = re.compile(r"([!-9;-~]+)[ \t]*:(.*)")


@frozen
class Stanza:
    """One source."""

    # By field of the type; words in the order in which they are declared.
    lists: Mapping[str, tuple[str, ...]]
    # Absolute path, fingerprints, `embedded`, or empty.
    signed_by: str = ""
    is_enabled: bool = True
    # By name as it is written.
    options: Mapping[str, str] = field(factory=dict)

    def normal(self) -> dict[str, JsonValue]:
        """Return what two spellings of one source have in common."""
        found: dict[str, JsonValue] = {name: tuple(sorted(set(words))) for name, words in self.lists.items()}
        options = {name.lower(): text for name, text in self.options.items()}
        return {
            **found,
            "signed_by": self.signed_by,
            "enabled": self.is_enabled,
            "options": {name: options[name] for name in sorted(options)},
        }

    def render(self) -> str:
        """Return the file."""
        lines = [f"{LISTS[name]}: {' '.join(words)}" for name, words in self.lists.items() if words]
        if self.signed_by:
            lines.append(f"{SIGNED_BY}: {self.signed_by}")
        lines += [f"{name}: {self.options[name]}" for name in sorted(self.options)]
        if not self.is_enabled:
            lines.append(f"{ENABLED}: no")
        return "".join(f"{line}\n" for line in lines)


def read_stanza(data: bytes) -> Stanza | None:
    """Return the one source of a file; None where it holds none, several, or what apt would not read."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # A line of a comment is no end of a stanza, wherever it stands.
    lines = [line.rstrip() for line in text.split("\n") if not line.startswith("#")]
    stanzas = [part for part in re.split(r"\n{2,}", "\n".join(lines).strip("\n")) if part]
    found = _fields(stanzas[0]) if len(stanzas) == 1 else None
    if found is None:
        return None
    return Stanza(
        {name: tuple(found.pop(written.lower(), "").split()) for name, written in LISTS.items()},
        _signed_by(found.pop(SIGNED_BY.lower(), "")),
        is_enabled=found.pop(ENABLED.lower(), "yes").strip().lower() not in _NO,
        options={name: " ".join(value.split()) for name, value in found.items()},
    )


def _fields(stanza: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    name = ""
    for line in stanza.split("\n"):
        if line.startswith((" ", "\t")) and name:
            found[name] += f"\n{line.strip()}"
            continue
        matched = _FIELD.fullmatch(line)
        if matched is None or matched[1].lower() in found:
            return None
        name = matched[1].lower()
        found[name] = matched[2].strip()
    return found


def _signed_by(value: str) -> str:
    return EMBEDDED if "-----BEGIN PGP" in value else " ".join(value.split())
