r"""The lines of an authorized_keys file, as sshd(8) reads them. Pure, and over bytes.

A line is options, if there are some, a type, a key in base64, and a comment; it ends at a byte that is zero, since sshd
reads a text of C. Options are separated by commas and end at the first blank or tab outside of double quotes, in which
`\"` is a quote. What is no such line is a comment or nothing that sshd takes, and stays as it is: but for keys that
nobody declared, where every word is taken for a key that can be one.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from attrs import frozen

from datum_providers.shared.account_files import as_json

UNMANAGED: Final = "unmanaged"
"""What stands in a file of keys and nobody declared, as it is shown."""

_SPACE: Final = b" \t"
_SPACES: Final = re.compile(rb"[ \t]+")
# White space for b64_pton(3), by which sshd reads base64: it stands for nothing there.
_IGNORED: Final = b"\r\v\f"
# Types that sshd takes for keys of another one.
_ALIASES: Final[Mapping[bytes, bytes]] = {
    b"rsa-sha2-256": b"ssh-rsa",
    b"rsa-sha2-512": b"ssh-rsa",
    b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com": b"sk-ecdsa-sha2-nistp256@openssh.com",
}
_TYPE: Final = re.compile(rb"[a-z][a-z0-9@.-]+")
# A length of four bytes goes before each part of a key (RFC 4253, 6.6).
_LENGTH: Final = 4


@frozen
class KeyLine:
    """One line that grants a key."""

    # As they stand there, in their order: `from="10.0.0.0/8"`, `no-pty`.
    options: tuple[bytes, ...]
    # That of the key itself: `ssh-rsa`, where `rsa-sha2-256` stands there.
    kind: bytes
    # Base64, without what stands for nothing in it.
    blob: bytes
    # Without white space around it; empty for none.
    comment: bytes = b""

    @property
    def fingerprint(self) -> str:
        """What ssh-keygen(1) shows of the key: equal for equal keys."""
        return fingerprint_of(self.blob)

    @property
    def shown(self) -> str:
        """Its type and fingerprint, with its comment; whatever that is, `fingerprint_shown` finds the fingerprint."""
        comment = as_json(self.comment.decode("utf-8", "surrogateescape"))
        return f"{self.kind.decode()} {self.fingerprint} {comment}".rstrip()

    def text(self) -> bytes:
        """Return the line, without its end."""
        parts = (b",".join(self.options), self.kind, self.blob, self.comment)
        return b" ".join(part for part in parts if part)


def fingerprint_of(blob: bytes) -> str:
    """Return `SHA256:` and the digest of a key that is in base64."""
    digest = hashlib.sha256(_decoded(blob) or b"").digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def fingerprint_shown(shown: str) -> str:
    """Return the fingerprint of a key from `KeyLine.shown`."""
    return shown.split(" ", 2)[1]


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of a file with their ends; joined they are the file. A carriage return by itself ends none."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def parse_line(line: bytes) -> KeyLine | None:
    """Return what a line grants; None for one that grants nothing."""
    text = _text_of(line)
    whole = _key(text, ())
    if whole is not None:
        return whole
    end = _end_of_options(text)
    options = split_options(text[:end])
    return None if options is None else _key(text[end:].lstrip(_SPACE), options)


def _text_of(line: bytes) -> bytes:
    """Return what sshd sees of a line; empty for a comment."""
    text = line.partition(b"\0")[0].lstrip(_SPACE).rstrip(b" \t\r\n")
    return b"" if text.startswith(b"#") else text


def _key(text: bytes, options: tuple[bytes, ...]) -> KeyLine | None:
    parts = _SPACES.split(text, 2)
    found = _named(parts[1]) if parts[1:] else None
    if found is None or _ALIASES.get(parts[0], parts[0]) != found[0]:
        return None
    return KeyLine(options, *found, parts[2].strip() if parts[2:] else b"")


def _named(word: bytes) -> tuple[bytes, bytes] | None:
    """Return type and base64 of a word that is a key, as it begins with its type; None where it is none."""
    blob = word.translate(None, _IGNORED)
    data = _decoded(blob)
    if data is None:
        return None
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
    kind = data[_LENGTH:end]
    return (kind, blob) if end < len(data) and _TYPE.fullmatch(kind) else None


def _decoded(blob: bytes) -> bytes | None:
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Neither has bits that are left over, nor more signs of the end than are due: sshd takes no such key.
    return data if base64.b64encode(data) == blob else None


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
    return tuple(key for _, keys in _judged(data, listed) for key in keys)


def without_keys_beside(data: bytes, listed: Collection[str], told: Collection[str]) -> bytes:
    """Return a file without the lines of those of them that are told, as they are shown; all else is as it was."""
    return b"".join(line for line, keys in _judged(data, listed) if not any(key.shown in told for key in keys))


def _judged(data: bytes, listed: Collection[str]) -> Iterator[tuple[bytes, tuple[KeyLine, ...]]]:
    """Yield every line, with its keys that are too many."""
    found: set[str] = set()
    for line in split_lines(data):
        key = parse_line(line)
        if key is None:
            yield line, _possible_keys(line)
            continue
        is_first = key.fingerprint in listed and key.fingerprint not in found
        yield line, () if is_first else (key,)
        found.add(key.fingerprint)


def _possible_keys(line: bytes) -> tuple[KeyLine, ...]:
    """Return the keys in a line that is not understood: whatever sshd makes of the rest, it can take no other ones."""
    found = (_named(word) for word in _SPACES.split(_text_of(line)))
    return tuple(KeyLine((), *key) for key in found if key is not None)
