"""Asks a child without powers to do something, and tells what it got."""

import json
import socket
from collections.abc import Callable
from typing import Any

from datum.host.powerless import Bounds, Identity, start_powerless

NUMBER = 65529
IDENTITY = Identity(NUMBER, NUMBER)
BOUNDS = Bounds(1 << 30, 60)


def told(value: object) -> bytes:
    return json.dumps(value).encode()


def asked(do: Callable[[], object], bounds: Bounds = BOUNDS, identity: Identity = IDENTITY) -> Any:
    """Return what a child without powers gets: a value, or the name and number of an error."""

    def serve(end: socket.socket) -> None:
        end.recv(1)
        try:
            end.sendall(told(do()))
        except OSError as error:
            end.sendall(told([type(error).__name__, error.errno]))
        except MemoryError:
            end.sendall(told("MemoryError"))

    child = start_powerless(serve, identity, bounds)
    try:
        child.socket.sendall(b"x")
        return json.loads(child.socket.recv(1 << 16))
    finally:
        child.end()
