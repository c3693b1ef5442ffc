r"""The lines of fstab(5): read, and edited one by one. Pure, and over bytes.

Fields are parted by spaces and tabs; a space, tab, line end, backslash or number sign in one is `\040` and so on. What
is no entry, and what stands after the sixth field, stays as it is.
"""

import posixpath
import re
from typing import Final

from attrs import frozen

from datum_providers.mount.options import DEFAULTS, split

FSTAB: Final = "/etc/fstab"

_FIELDS: Final = 6
# Source, mount point, type: what a line without is none.
_LEAST: Final = 3
_PARTS: Final = re.compile(rb"[^ \t]+|[ \t]+")
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_ESCAPED: Final = {" ": r"\040", "\t": r"\011", "\n": r"\012", "\\": r"\134", "#": r"\043"}


@frozen
class FstabEntry:
    """One line, its escapes resolved."""

    source: str
    # Without a slash at its end.
    point: str
    fstype: str
    # Without `defaults`.
    options: tuple[str, ...] = ()
    dump: int = 0
    passno: int = 0

    def fields(self) -> tuple[bytes, ...]:
        """Return the six fields of its line."""
        words = (
            escaped(self.source),
            escaped(self.point),
            escaped(self.fstype),
            escaped(",".join(self.options) or DEFAULTS),
            str(self.dump),
            str(self.passno),
        )
        return tuple(word.encode("utf-8", "surrogateescape") for word in words)


def escaped(text: str) -> str:
    """Return a field as it stands in the file."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def entry_of(line: bytes) -> FstabEntry | None:
    """Return what a line says; None for a comment, an empty line, and one that is no entry."""
    words = line.split()
    if len(words) < _LEAST or words[0].startswith(b"#"):
        return None
    texts = [_resolved(word) for word in words[:_FIELDS]]
    numbers = [int(text) if text.isascii() and text.isdigit() else 0 for text in (*texts[4:], "", "")]
    options = split(texts[3]) if len(texts) > _LEAST else ()
    return FstabEntry(texts[0], _point(texts[1]), texts[2], options, numbers[0], numbers[1])


def first_of(data: bytes, point: str) -> FstabEntry | None:
    """Return the first entry of a mount point, which is the one that counts for systemd; None for none."""
    entries = (entry_of(line) for line in data.split(b"\n"))
    return next((entry for entry in entries if entry is not None and entry.point == point), None)


def with_entry(data: bytes, wanted: FstabEntry) -> bytes:
    """Return a file with an entry in the place of the first of its mount point, else at the end; all else stays."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        old = entry_of(line)
        if old is not None and old.point == wanted.point:
            lines[number] = _changed(line, old, wanted)
            return b"\n".join(lines)
    end = b"" if not data or data.endswith(b"\n") else b"\n"
    return data + end + b" ".join(wanted.fields()) + b"\n"


def without_point(data: bytes, point: str) -> bytes:
    """Return a file without the entries of a mount point; all else stays."""
    lines = data.split(b"\n")
    return b"\n".join(line for line in lines if (entry := entry_of(line)) is None or entry.point != point)


def _changed(line: bytes, old: FstabEntry, wanted: FstabEntry) -> bytes:
    """Return a line with other fields: those that mean the same keep their spelling, and all keep their distances."""
    texts = list(zip(old.fields(), wanted.fields(), strict=True))
    parts: list[bytes] = []
    at = 0
    for part in _PARTS.findall(line.rstrip(b"\r")):
        if part.strip() and at < _FIELDS:
            before, after = texts[at]
            parts.append(part if before == after else after)
            at += 1
        else:
            parts.append(part)
    rest = [after for before, after in texts[at:]]
    tail = b"".join(b" " + word for word in rest)
    return b"".join(parts).rstrip(b" \t") + tail if rest else b"".join(parts)


def _resolved(word: bytes) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), word.decode("utf-8", "surrogateescape"))


def _point(text: str) -> str:
    return posixpath.normpath(text) if text.startswith("/") else text
