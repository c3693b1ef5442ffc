"""An HTTP proxy that makes tunnels, and counts what goes through them."""

import contextlib
import select
import socket
from typing import Final

from attrs import define, field

from tests.remotes.listening import Listening

_CHUNK: Final = 1 << 16


@define
class Proxy(Listening):
    """A proxy on the loopback; a context manager."""

    # Answers so instead of making a tunnel, as `407 Proxy Authentication Required`.
    refusal: str = ""
    # What clients asked for, heads included.
    asked: list[str] = field(factory=list)
    # Bytes in both directions, TLS included.
    moved: int = 0

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    def _serve(self, connection: socket.socket) -> None:
        with connection as client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1) or b"\r\n\r\n"
            self.asked.append(head.decode())
            if self.refusal:
                client.sendall(f"HTTP/1.1 {self.refusal}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            host, _, port = head.split()[1].decode().rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self._move(client, server)

    def _move(self, client: socket.socket, server: socket.socket) -> None:
        others = {client: server, server: client}
        while True:
            for side in select.select(list(others), [], [])[0]:
                data = side.recv(_CHUNK)
                if not data:
                    return
                self.moved += len(data)
                others[side].sendall(data)
