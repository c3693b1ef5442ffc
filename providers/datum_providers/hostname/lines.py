"""The two files of names, as hostname(5) and machine-info(5) have them. Pure, and over bytes."""

import re
from typing import Final

_PRETTY: Final = b"PRETTY_HOSTNAME"
_LINE: Final = re.compile(rb"\s*(?:export\s+)?PRETTY_HOSTNAME=")
# What a shell would read in double quotes.
_SPECIAL: Final = re.compile(r'([\\"$`])')
_ESCAPED: Final = re.compile(r'\\([\\"$`])')


def static_of(data: bytes) -> str | None:
    """Return the name that a hostname file says: the first line that is neither empty nor a comment."""
    for line in data.splitlines():
        text = line.strip()
        if text and not text.startswith(b"#"):
            return text.decode("utf-8", "backslashreplace")
    return None


def pretty_of(data: bytes) -> str:
    """Return the pretty name of a machine-info file; empty for none. The last line that says it counts."""
    found = ""
    for line in data.split(b"\n"):
        if _LINE.match(line):
            found = _unquoted(line.partition(b"=")[2].strip().decode("utf-8", "backslashreplace"))
    return found


def with_pretty(data: bytes, name: str) -> bytes:
    """Return a machine-info file with another pretty name, in the place of the first line that said one.

    Every other line stays as it is.
    """
    wanted = b'%s="%s"' % (_PRETTY, _SPECIAL.sub(r"\\\1", name).encode())
    kept: list[bytes] = []
    is_said = not name
    for line in data.split(b"\n"):
        if not _LINE.match(line):
            kept.append(line)
        elif not is_said:
            kept.append(wanted)
            is_said = True
    if is_said:
        return b"\n".join(kept)
    end = b"" if not data or data.endswith(b"\n") else b"\n"
    return data + end + wanted + b"\n"


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    return _ESCAPED.sub(r"\1", inner)
