"""Asking for refs in git's packets, and what a server answers in protocol 2 or 0 (gitprotocol-v2, -pack). Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import field, frozen

_HEADER: Final = 4
_PEELED: Final = "^{}"
# Names of objects.
_SHA1: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@frozen
class RemoteRef:
    """One line of a remote's answer."""

    # Object the ref names.
    target: str
    # What an annotated tag stands for, in the end; empty for everything else.
    peeled: str = ""
    # Full name of the ref that a symbolic ref names; empty for everything else.
    symbolic: str = ""


@frozen
class Listing:
    """What a server said."""

    refs: Mapping[str, RemoteRef] = field(factory=dict)
    # The server spoke protocol 2, so only what was asked for was sent.
    is_narrow: bool = True
    # All that was announced arrived.
    is_whole: bool = True
    # Names its objects by SHA-256.
    is_sha256: bool = False


def refs_request(prefixes: Iterable[str]) -> bytes:
    """Return the request for the refs whose names begin so, in protocol 2."""
    lines = ["command=ls-refs", None, "peel", "symrefs", *(f"ref-prefix {name}" for name in prefixes)]
    return b"".join(b"0001" if line is None else _packet(line) for line in lines) + b"0000"


def parse_listing(data: bytes) -> Listing:
    """Return the refs of an answer: capabilities and refs of protocol 2, or the whole list of protocol 0.

    Raises:
        ValueError: it is neither.
    """
    parts = list(_answers(data))
    first = parts[0][0] if parts[0] else b""
    is_sha256 = any(b"object-format=sha256" in line for line in parts[0])
    name = _SHA256 if is_sha256 else _SHA1
    if first == b"version 2":
        refs = dict(_narrow_ref(line, name) for line in (parts[1] if len(parts) > 1 else ()))
        return Listing(refs, is_whole=len(parts) > 2, is_sha256=is_sha256)  # noqa: PLR2004  # each ends with a flush
    if not data:
        return Listing(is_whole=False)
    lines = [line for line in parts[0] if line != b"version 1"]
    return Listing(_all_refs(lines, name), is_narrow=False, is_whole=len(parts) > 1, is_sha256=is_sha256)


def _packet(line: str) -> bytes:
    data = line.encode(errors="surrogateescape") + b"\n"
    return f"{len(data) + _HEADER:04x}".encode() + data


def _answers(data: bytes) -> Iterator[tuple[bytes, ...]]:
    """Split into answers, each of which ends with a flush packet; one that was cut off ends where it was cut."""
    answer: list[bytes] = []
    at = 0
    while at + _HEADER <= len(data):
        size = int(data[at : at + _HEADER], 16)
        if not size:
            yield tuple(answer)
            answer.clear()
        elif size == 2:  # noqa: PLR2004  # the end of a response, which a helper adds (gitprotocol-v2)
            pass
        elif size < _HEADER:
            raise ValueError(size)
        elif at + size <= len(data):
            answer.append(data[at + _HEADER : at + size].rstrip(b"\n"))
        at += max(size, _HEADER)
    yield tuple(answer)


def _narrow_ref(line: bytes, form: re.Pattern[str]) -> tuple[str, RemoteRef]:
    target, name, *attributes = line.decode(errors="surrogateescape").split(" ")
    values = dict(attribute.split(":", 1) for attribute in attributes)
    if not all(form.fullmatch(value) for value in (target, values.get("peeled", target))):
        raise ValueError(line)
    return name, RemoteRef(target, values.get("peeled", ""), values.get("symref-target", ""))


def _all_refs(lines: Iterable[bytes], form: re.Pattern[str]) -> Mapping[str, RemoteRef]:
    """Return the refs of protocol 0: what a tag stands for is a line of its own, `HEAD` is told by a capability."""
    refs: dict[str, RemoteRef] = {}
    symbolic: dict[str, str] = {}
    for line in lines:
        said, _, capabilities = line.decode(errors="surrogateescape").partition("\0")
        target, _, name = said.partition(" ")
        if not name or not form.fullmatch(target):
            raise ValueError(said)
        symbolic |= dict(
            word.removeprefix("symref=").split(":", 1) for word in capabilities.split() if word.startswith("symref=")
        )
        tag = name.removesuffix(_PEELED)
        if name == "capabilities" + _PEELED:
            continue
        refs[tag] = (
            RemoteRef(refs[tag].target, target)
            if name.endswith(_PEELED) and tag in refs
            else RemoteRef(target, symbolic=symbolic.get(name, ""))
        )
    return refs
