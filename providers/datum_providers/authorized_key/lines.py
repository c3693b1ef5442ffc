r"""The lines of an authorized_keys file, as sshd(8) reads them. Pure, and over bytes.

A line is options, if there are some, a type, a key in base64, and a comment. Options are separated by commas and end at
the first white space outside of double quotes, in which `\"` is a quote. What is no such line is a comment or nothing
that sshd takes, and stays as it is.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Iterator
from typing import Final

from attrs import frozen

from datum_providers.shared.account_files import as_json

UNMANAGED: Final = "unmanaged"
"""What stands in a file of keys and nobody declared, as it is shown."""

_SPACE: Final = b" \t"
_TYPE: Final = re.compile(rb"[a-z][a-z0-9@.-]+")
# A length of four bytes goes before each part of a key (RFC 4253, 6.6).
_LENGTH: Final = 4


@frozen
class KeyLine:
    """One line that grants a key."""

    # As they stand there, in their order: `from="10.0.0.0/8"`, `no-pty`.
    options: tuple[bytes, ...]
    kind: bytes
    # Base64, as it stands there.
    blob: bytes
    # Without white space around it; empty for none.
    comment: bytes = b""

    @property
    def fingerprint(self) -> str:
        """What ssh-keygen(1) shows of the key: equal for equal keys."""
        return fingerprint_of(self.blob)

    @property
    def shown(self) -> str:
        """Its type and fingerprint, with its comment."""
        comment = self.comment.decode("utf-8", "surrogateescape")
        return as_json(f"{self.kind.decode()} {self.fingerprint} {comment}".rstrip())

    def text(self) -> bytes:
        """Return the line, without its end."""
        parts = (b",".join(self.options), self.kind, self.blob, self.comment)
        return b" ".join(part for part in parts if part)


def fingerprint_of(blob: bytes) -> str:
    """Return `SHA256:` and the digest of a key that is in base64."""
    digest = hashlib.sha256(_decoded(blob) or b"").digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of a file with their ends; joined they are the file. A carriage return by itself ends none."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def parse_line(line: bytes) -> KeyLine | None:
    """Return what a line grants; None for one that grants nothing."""
    text = line.strip(b" \t\r\n")
    if not text or text.startswith(b"#"):
        return None
    whole = _key(text, ())
    if whole is not None:
        return whole
    end = _end_of_options(text)
    options = split_options(text[:end])
    return None if options is None else _key(text[end:].lstrip(_SPACE), options)


def _key(text: bytes, options: tuple[bytes, ...]) -> KeyLine | None:
    parts = text.split(None, 2)
    if len(parts) < 2 or not is_key(parts[0], parts[1]):  # noqa: PLR2004 - a type and a key
        return None
    return KeyLine(options, parts[0], parts[1], parts[2].strip() if parts[2:] else b"")


def is_key(kind: bytes, blob: bytes) -> bool:
    """Whether these are the type of a key, and that key: it begins with its type."""
    if not _TYPE.fullmatch(kind):
        return False
    data = _decoded(blob)
    head = len(kind).to_bytes(_LENGTH, "big") + kind
    return data is not None and data.startswith(head) and len(data) > len(head)


def _decoded(blob: bytes) -> bytes | None:
    try:
        return base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return None


def _end_of_options(text: bytes) -> int:
    is_quoted, at = False, 0
    while at < len(text) and (is_quoted or text[at : at + 1] not in {b" ", b"\t"}):
        if text[at : at + 2] == b'\\"':
            at += 1
        elif text[at : at + 1] == b'"':
            is_quoted = not is_quoted
        at += 1
    return at


def split_options(text: bytes) -> tuple[bytes, ...] | None:
    """Return the options of a text; None where quotes are not closed, an option is empty, or white space parts them."""
    found: list[bytes] = []
    for part, is_closed in _parts(text):
        if not part or not is_closed:
            return None
        found.append(part)
    return tuple(found)


def _parts(text: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield what stands between commas outside of quotes, and whether its quotes are closed."""
    is_quoted, begin, at = False, 0, 0
    while at < len(text):
        if text[at : at + 2] == b'\\"':
            at += 1
        elif text[at : at + 1] == b'"':
            is_quoted = not is_quoted
        elif text[at : at + 1] == b"," and not is_quoted:
            yield text[begin:at], True
            begin = at + 1
        at += 1
    yield text[begin:], not is_quoted


def first_of(data: bytes, fingerprint: str) -> tuple[KeyLine | None, int, bool]:
    """Return the first line of a key, which is the one that sshd tries first.

    Returns:
        The line, None for none; how many lines there are of this key; whether there is no line of another key.
    """
    found = [line for line in map(parse_line, split_lines(data)) if line is not None]
    own = [line for line in found if line.fingerprint == fingerprint]
    return (own[0] if own else None), len(own), len(own) == len(found)


def with_line(data: bytes, wanted: KeyLine) -> bytes:
    """Return a file with a line in the place of the first of its key, else at the end; all else is as it was."""
    lines = split_lines(data)
    for number, line in enumerate(lines):
        old = parse_line(line)
        if old is not None and old.fingerprint == wanted.fingerprint:
            end = line[len(line.rstrip(b"\r\n")) :]
            lines[number] = wanted.text() + end
            return b"".join(lines)
    gap = b"\n" if data and not data.endswith(b"\n") else b""
    return data + gap + wanted.text() + b"\n"


def without_key(data: bytes, fingerprint: str) -> bytes:
    """Return a file without the lines of a key; all else is as it was."""
    lines = ((line, parse_line(line)) for line in split_lines(data))
    return b"".join(line for line, key in lines if key is None or key.fingerprint != fingerprint)


def keys_beside(data: bytes, listed: Collection[str]) -> tuple[KeyLine, ...]:
    """Return what grants a key that is not listed, or one that is for another time: sshd tries all lines."""
    return tuple(key for _, key in _judged(data, listed) if key is not None)


def without_keys_beside(data: bytes, listed: Collection[str], told: Collection[str]) -> bytes:
    """Return a file without those of them that are told, as they are shown; all else is as it was."""
    return b"".join(line for line, key in _judged(data, listed) if key is None or key.shown not in told)


def _judged(data: bytes, listed: Collection[str]) -> Iterator[tuple[bytes, KeyLine | None]]:
    """Yield every line, with its key where that is one too many."""
    found: set[str] = set()
    for line in split_lines(data):
        key = parse_line(line)
        yield line, None if key is None or (key.fingerprint in listed and key.fingerprint not in found) else key
        if key is not None:
            found.add(key.fingerprint)
