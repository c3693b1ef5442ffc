"""Servers that misbehave on the level of bytes, with or without TLS; each connection is served by a script."""

import contextlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from attrs import define

from tests.remotes.listening import Listening


@define
class HostileServer(Listening):
    """Hands each connection, after the handshake, to a script; a context manager."""

    script: Callable[[socket.socket], None]
    # Key and certificate; None: the script gets the bare connection.
    certificate: Path | None = None

    def url(self, scheme: str = "https") -> str:
        """Return the URL of a repository."""
        return f"{scheme}://localhost:{self.port}/fleet"

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if self.certificate is None:
                self.script(connection)
                return
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            with context.wrap_socket(connection, server_side=True) as encrypted:
                self.script(encrypted)


def packet(text: bytes) -> bytes:
    """Return a packet of git."""
    return f"{len(text) + 4:04x}".encode() + text


def head(kind: str, length: int | None = None) -> bytes:
    """Return the head of an answer of git's kind; without a length it ends with the connection."""
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-{kind}\r\n{size}\r\n".encode()


CAPABILITIES = (
    packet(b"# service=git-upload-pack\n")
    + b"0000"
    + b"".join(packet(line) for line in (b"version 2\n", b"agent=x\n", b"ls-refs\n", b"fetch=shallow\n"))
    + b"0000"
)


def read_request(connection: socket.socket) -> bytes:
    """Read a request, and return its head; a body of a POST is read as far as its length says."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            raise ConnectionResetError
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += connection.recv(1 << 16)
    return top
