"""OpenPGP keys as far as apt needs them: armour taken off, fingerprints worked out. Pure.

Source: RFC 9580, sections 4.2 (packets), 5.5.4 (fingerprints), 6 (armour); RFC 4880 for version 4. No signature is
verified: whom a key belongs to is what its fingerprint is compared for.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

_KEY: Final = 6
_SECRET_KEY: Final = 5
_NAMED: Final = 0x80
_NEW_FORM: Final = 0x40
_ARMOUR: Final = re.compile(
    rb"-----BEGIN PGP ([A-Z ]+)-----[ \t]*\r?\n(.*?)\r?\n-----END PGP \1-----", re.DOTALL
)  # fmt: skip
_PUBLIC: Final = b"PUBLIC KEY BLOCK"
_COLUMNS: Final = 64
# By version of the key: the byte before its length, bytes of the length, and the digest.
_FORMS: Final = {4: (0x99, 2, "sha1"), 5: (0x9A, 4, "sha256"), 6: (0x9B, 4, "sha256")}


def dearmor(data: bytes) -> bytes:
    """Return keys as packets, whatever form they have; several blocks of armour are joined.

    Raises:
        ValueError: there is no key in it, or something else than public keys.
    """
    if data[:1] and data[0] & _NAMED:
        return data
    blocks = _ARMOUR.findall(data)
    if not blocks:
        raise ValueError("neither an armoured key, with the lines BEGIN and END, nor a binary one")
    kinds = {kind for kind, _ in blocks}
    if kinds != {_PUBLIC}:
        odd = sorted(kind.decode() for kind in kinds - {_PUBLIC})
        raise ValueError(f"no public key, but a PGP {odd[0]}")
    return b"".join(_body(block) for _, block in blocks)


def armor(data: bytes) -> str:
    """Return packets of public keys as a text that `dearmor` reads."""
    text = base64.b64encode(data).decode()
    lines = [text[start : start + _COLUMNS] for start in range(0, len(text), _COLUMNS)]
    name = _PUBLIC.decode()
    return "\n".join((f"-----BEGIN PGP {name}-----", "", *lines, f"-----END PGP {name}-----", ""))


def fingerprints(data: bytes) -> tuple[str, ...]:
    """Return the fingerprint of every primary key, in capital hexadecimal digits, in the order of the keys.

    Args:
        data: packets.

    Raises:
        ValueError: the packets are broken, or the first of them is no public key.
    """
    found = []
    for number, (tag, body) in enumerate(_packets(data)):
        if tag == _SECRET_KEY:
            raise ValueError("no public key, but a secret one")
        if not number and tag != _KEY:
            raise ValueError("no key: the first packet is another one")
        if tag == _KEY:
            found.append(_fingerprint(body))
    if not found:
        raise ValueError("empty")
    return tuple(found)


def _body(block: bytes) -> bytes:
    """Return what a block of armour holds: its headers end at an empty line, a checksum begins with `=`."""
    lines = [line.strip() for line in block.splitlines()]
    if b"" in lines:
        lines = lines[lines.index(b"") + 1 :]
    text = b"".join(line for line in lines if not re.fullmatch(rb"=[A-Za-z0-9+/]{4}", line))
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"no key: the armour holds what is no base64 ({error})") from error


def _fingerprint(body: bytes) -> str:
    version = body[0] if body else 0
    if version not in _FORMS:
        raise ValueError(f"a key of version {version}, which no fingerprint can be trusted of")
    first, octets, digest = _FORMS[version]
    head = bytes([first]) + len(body).to_bytes(octets, "big")
    # SHA-1 is what a fingerprint of version 4 is defined by.
    return hashlib.new(digest, head + body, usedforsecurity=False).hexdigest().upper()


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(data):
        head = data[place]
        if not head & _NAMED:
            raise ValueError(f"broken: no packet begins at byte {place}")
        if head & _NEW_FORM:
            tag = head & 0x3F
            octets, length = _new_length(data, place + 1)
        else:
            tag = (head >> 2) & 0x0F
            octets, length = _old_length(data, place + 1, head & 3)
        start = place + 1 + octets
        if start + length > len(data):
            raise ValueError("cut off: its last packet is longer than what is there")
        yield tag, data[start : start + length]
        place = start + length


def _old_length(data: bytes, place: int, kind: int) -> tuple[int, int]:
    if kind == 3:  # noqa: PLR2004 - the two bits of RFC 9580, 4.2.2
        raise ValueError("broken: a packet of a key says its length")
    octets = 1 << kind
    return octets, int.from_bytes(data[place : place + octets], "big")


def _new_length(data: bytes, place: int) -> tuple[int, int]:
    """Read RFC 9580, 4.2.1: one, two or five bytes; packets of keys do not come in parts."""
    first = data[place] if place < len(data) else 0
    if first < 192:  # noqa: PLR2004 - likewise
        return 1, first
    if first < 224:  # noqa: PLR2004 - likewise
        second = data[place + 1] if place + 1 < len(data) else 0
        return 2, ((first - 192) << 8) + second + 192
    if first < 255:  # noqa: PLR2004 - likewise
        raise ValueError("broken: a packet of a key comes in parts")
    return 5, int.from_bytes(data[place + 1 : place + 5], "big")
