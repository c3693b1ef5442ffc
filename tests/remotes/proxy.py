"""Proxies that make tunnels, and count what goes through them: one of HTTP, and one of SOCKS 5."""

import base64
import contextlib
import select
import socket
from typing import Final

from attrs import define, field

from tests.remotes.listening import Listening

_CHUNK: Final = 1 << 16
# RFC 1928, RFC 1929.
_VERSION: Final = 5
_OPEN: Final = 0
_PASSWORD: Final = 2
_NOTHING_FITS: Final = 0xFF
_BY_NAME: Final = 3


@define
class _Tunnels(Listening):
    """Connects its clients to where they ask for; a context manager."""

    # `user:password` without which nobody gets through.
    credentials: str = field(default="", kw_only=True)
    # Bytes in both directions, TLS included.
    moved: int = field(default=0, kw_only=True)

    def _move(self, client: socket.socket, server: socket.socket) -> None:
        others = {client: server, server: client}
        while True:
            for side in select.select(list(others), [], [])[0]:
                data = side.recv(_CHUNK)
                if not data:
                    return
                self.moved += len(data)
                others[side].sendall(data)


@define
class Proxy(_Tunnels):
    """A proxy of HTTP on the loopback; a context manager."""

    # Answers so instead of making a tunnel, as `407 Proxy Authentication Required`.
    refusal: str = ""
    # What it offers to who brings no credentials.
    challenge: str = 'Basic realm="proxy"'
    # What clients asked for, heads included.
    asked: list[str] = field(factory=list)

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
            refusal = self.refusal or self._refused(head.decode())
            if refusal:
                client.sendall(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            host, _, port = head.split()[1].decode().rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self._move(client, server)

    def _refused(self, head: str) -> str:
        expected = base64.b64encode(self.credentials.encode()).decode()
        if not self.credentials or f"Proxy-Authorization: Basic {expected}\r\n" in head:
            return ""
        return f"407 Proxy Authentication Required\r\nProxy-Authenticate: {self.challenge}"


@define
class SocksProxy(_Tunnels):
    """A proxy of SOCKS 5 on the loopback; a context manager."""

    # The code of its answer to each request; 0: it makes the tunnel.
    refusal: int = 0
    # Names and ports that clients asked for; an address stands as such.
    asked: list[tuple[str, int]] = field(factory=list)

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"socks5h://127.0.0.1:{self.port}"

    def _serve(self, connection: socket.socket) -> None:
        with connection as client, contextlib.suppress(OSError), client.makefile("rb") as stream:
            version, count = stream.read(2)
            wanted = _PASSWORD if self.credentials else _OPEN
            chosen = wanted if version == _VERSION and wanted in stream.read(count) else _NOTHING_FITS
            client.sendall(bytes([_VERSION, chosen]))
            if chosen == _NOTHING_FITS:
                return
            if chosen == _PASSWORD:
                _, size = stream.read(2)
                user = stream.read(size)
                password = stream.read(stream.read(1)[0])
                is_in = f"{user.decode()}:{password.decode()}" == self.credentials
                client.sendall(bytes([1, 0 if is_in else 1]))
                if not is_in:
                    return
            *_, kind = stream.read(4)
            host = stream.read(stream.read(1)[0]).decode() if kind == _BY_NAME else socket.inet_ntoa(stream.read(4))
            port = int.from_bytes(stream.read(2))
            self.asked.append((host, port))
            client.sendall(bytes([_VERSION, self.refusal, 0, 1, 0, 0, 0, 0, 0, 0]))
            if not self.refusal:
                with socket.create_connection((host, port)) as server:
                    self._move(client, server)
