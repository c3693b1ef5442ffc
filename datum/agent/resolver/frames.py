"""One question or answer on a socket: a head of JSON, and bytes behind it. Effects: on the socket.

Eight bytes say how long both are. Nothing is believed: a length counts against a bound before anything is held, and
what is no JSON object is refused.
"""

import json
import math
import re
import socket
import struct
import time
from typing import Any, Final, NoReturn

from datum.model.json import JsonObject, compact_json

HEAD_LIMIT: Final = 16 << 20
"""Bytes of a head: the names of a folder, or what is wrong with a revision. 100,000 names take some 10 MB."""

# Bytes of a head with a body behind it, so that no answer has two of them that are large.
_SMALL_HEAD: Final = 4096
# Half of a surrogate pair, as JSON can name it; most of these are of whole pairs.
_ESCAPED_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
# All but those that stand for bytes of a name that are no UTF-8 (PEP 383).
_HALF: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_LENGTHS: Final = struct.Struct(">II")
_CHUNK: Final = 1 << 20


class FrameError(Exception):
    """What came is no frame, or is too long."""


class TooLongError(FrameError):
    """It is longer than such an answer may be."""


class EndedError(Exception):
    """The other side closed its end, in the middle of a frame or before one."""


def send(end: socket.socket, head: JsonObject, body: bytes = b"", *, descriptor: int | None = None) -> None:
    """Send a frame, and a descriptor with it.

    Raises:
        OSError: the other side is gone, or takes nothing within the time-out of the socket.
    """
    data = compact_json(head).encode()
    first = _LENGTHS.pack(len(data), len(body)) + data
    if descriptor is not None:
        sent = socket.send_fds(end, [first], [descriptor])
        first = first[sent:]
    end.sendall(first + body if len(body) < _CHUNK else first)
    if len(body) >= _CHUNK:
        end.sendall(body)


def receive(end: socket.socket, *, most: int, until: float) -> tuple[dict[str, Any], bytes]:
    """Return the next frame; descriptors that come along are closed by the kernel.

    Args:
        end: this side.
        most: bytes that may stand behind the head; 0: none are awaited.
        until: a moment of the monotonic clock.

    Raises:
        FrameError: it is no frame.
        TooLongError: there is more behind the head than may be.
        EndedError: the other side ended.
        TimeoutError: not all of it came in time.
    """
    head, body = _LENGTHS.unpack(_exactly(end, _LENGTHS.size, until))
    if head > (_SMALL_HEAD if body else HEAD_LIMIT):
        raise FrameError(f"its head is of {head} bytes, and {body} are behind it")
    if body > most:
        raise (TooLongError if most else FrameError)(f"{body} bytes, where {most} may come")
    return read_object(_exactly(end, head, until)), bytes(_exactly(end, body, until))


def receive_question(end: socket.socket) -> tuple[dict[str, Any], bytes, int | None]:
    """Return a question, in the child: from who made it, so nothing is bounded; and the descriptor that came along.

    Raises:
        EndedError: there is none any more.
    """
    first, descriptors, _, _ = socket.recv_fds(end, _LENGTHS.size, 1)
    if not first:
        raise EndedError
    first += _exactly(end, _LENGTHS.size - len(first), math.inf)
    head, body = _LENGTHS.unpack(first)
    found = read_object(_exactly(end, head, math.inf))
    return found, bytes(_exactly(end, body, math.inf)), descriptors[0] if descriptors else None


def read_object(data: bytes | bytearray) -> dict[str, Any]:
    """Return the JSON object that bytes hold.

    Raises:
        FrameError: they hold something else.
    """
    found = read_json(data)
    if not isinstance(found, dict):
        raise FrameError("its head is no JSON object")
    return found


def read_json(data: bytes | bytearray) -> Any:
    """Return what JSON says, without NaN and the infinities.

    Its texts can all be shown and written: they hold no half of a surrogate pair but those that stand for bytes.

    Raises:
        FrameError: it is no JSON, nested beyond what can be read, or has a text that is none.
    """
    try:
        said = data.decode()
        found = json.loads(said, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"it is no JSON ({error})") from error
    # Few have any escape of the kind, and looking for two letters is cheaper.
    if "\\u" in said and _ESCAPED_HALF.search(said):
        _require_texts(found)
    return found


def _require_texts(value: Any) -> None:
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                if _HALF.search(text):
                    raise FrameError("a text holds half of a surrogate pair")
            case list() as items:
                left += items
            case dict() as items:
                left += items
                left += items.values()
            case _:
                pass


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _exactly(end: socket.socket, count: int, until: float) -> bytearray:
    """Receive so many bytes; what is held grows as they come, whatever was announced."""
    found = bytearray()
    while len(found) < count:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        end.settimeout(None if math.isinf(left) else left)
        data = end.recv(min(count - len(found), _CHUNK))
        if not data:
            raise EndedError
        found += data
    return found
