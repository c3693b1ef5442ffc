"""A git server over TLS: git's own `http-backend`, behind the standard library's web server."""

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from attrs import define, field

HOST: Final = "localhost"


@define
class Request:
    """One request as the server got it."""

    method: str
    target: str
    headers: dict[str, str]


@define
class HttpsServer:
    """Serves the repositories below a folder on a port of the loopback; a context manager."""

    folder: Path
    # Key and certificate in one file.
    certificate: Path
    # `user:token` without which nothing is served.
    credentials: str = ""
    # Takes over a request where it returns True; `None`: all goes to git.
    instead: Callable[[BaseHTTPRequestHandler], bool] | None = None
    # Whether the client's wish for protocol 2 reaches git.
    passes_protocol: bool = True
    # The authority of which each client has to show a certificate; None: it needs none.
    clients: Path | None = None
    # Where it listens.
    address: tuple[str, int] = ("127.0.0.1", 0)
    requests: list[Request] = field(factory=list)
    # Bytes of heads and bodies, in both directions, without TLS.
    moved: int = 0
    _server: ThreadingHTTPServer = field(init=False)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        self._server = _Server(self.address, _Handler)
        self._server.owner = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        if self.clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.clients)
        # The handshake happens in the thread of the connection: one that stalls holds up nobody.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def url(self, name: str = "fleet", host: str = HOST) -> str:
        """Return the URL of a repository of the folder."""
        return f"https://{host}:{self.port}/{name}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: HttpsServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up, and certificates that they refuse, are what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server  # type: ignore[mutable-override]  # what makes handlers is that server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.requests.append(Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        owner.moved += len(self.requestline) + 2 + len(bytes(self.headers)) + len(body)
        if owner.instead is not None and owner.instead(self):
            return
        expected = "Basic " + base64.b64encode(owner.credentials.encode()).decode()
        if owner.credentials and self.headers.get("Authorization") != expected:
            self.answer(401, {"WWW-Authenticate": 'Basic realm="fleet"'}, b"no\n")
            return
        self._serve(body)

    def do_POST(self) -> None:
        self.do_GET()

    def _serve(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_PROJECT_ROOT": str(self.server.owner.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        if self.server.owner.passes_protocol:
            environment["GIT_PROTOCOL"] = self.headers.get("Git-Protocol", "")
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=environment, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.answer(int(fields.pop("Status", "200").split()[0]), fields, content)

    def answer(self, status: int, fields: dict[str, str], content: bytes) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        head: list[bytes] = getattr(self, "_headers_buffer", [])
        self.server.owner.moved += sum(len(line) for line in head) + 2 + len(content)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
