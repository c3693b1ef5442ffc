"""A service manager for tests: answers D-Bus on a socket as it is told, and hangs up when it is told to."""

import socket
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from attrs import define, field
from jeepney import (  # type: ignore[import-untyped]
    DBusAddress,
    HeaderFields,
    Message,
    Parser,
    new_error,
    new_method_return,
    new_signal,
)

MANAGER: Final = "org.freedesktop.systemd1.Manager"
_BEGIN: Final = b"BEGIN\r\n"
_SIGNALS: Final = DBusAddress("/org/freedesktop/systemd1", "org.freedesktop.systemd1", MANAGER)


class HangUpError(Exception):
    """Raised by a handler: the connection is closed without an answer."""


@define
class Line:
    """One connection, as a handler sees it."""

    sock: socket.socket
    # The first call on it is left lying until there is another one, as systemd may do.
    sleepy: bool = False
    serial: int = 0

    def signal(self, member: str, signature: str, *arguments: Any) -> None:
        self.send(new_signal(_SIGNALS, member, signature, arguments))

    def job_removed(self, path: str, result: str) -> None:
        self.signal("JobRemoved", "uoss", 1, path, "a.service", result)

    def send(self, message: Message) -> None:
        self.serial += 1
        descriptors = array("i")
        data = message.serialise(serial=self.serial, fds=descriptors)
        if descriptors:
            socket.send_fds(self.sock, [data], list(descriptors))
        else:
            self.sock.sendall(data)


# Gets the connection, the member, the object's path and the arguments; returns a signature and what it returns, or the
# name and the text of an error.
Handler = Callable[[Line, str, str, tuple[Any, ...]], "tuple[str, tuple[Any, ...]] | str"]


@define
class Systemd:
    """What it heard, and what it answers."""

    address: str
    handler: Handler
    is_sleepy: bool = False
    calls: list[str] = field(factory=list)
    connections: int = 0

    def serve(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                sock, _ = server.accept()
                self.connections += 1
                with sock, suppress(HangUpError, ConnectionError):
                    self._talk(Line(sock, self.is_sleepy), _greet(sock))

    def _talk(self, line: Line, data: bytes) -> None:
        parser = Parser()
        lying: list[Message] = []
        while data := data or line.sock.recv(1 << 16):
            parser.add_data(data)
            data = b""
            while (message := parser.get_next_message()) is not None:
                lying.append(message)
                if line.sleepy and len(lying) < 2:
                    continue
                line.sleepy = False
                for each in lying:
                    self._answer(line, each)
                lying = []

    def _answer(self, line: Line, message: Message) -> None:
        fields = message.header.fields
        member = fields[HeaderFields.member]
        self.calls.append(member)
        if member == "Ping":
            line.send(new_method_return(message))
            return
        answer = self.handler(line, member, fields[HeaderFields.path], tuple(message.body))
        if isinstance(answer, str):
            name, _, text = answer.partition(" ")
            line.send(new_error(message, name, "s", (text,)))
        else:
            signature, body = answer
            line.send(new_method_return(message, signature or None, body))


def _greet(sock: socket.socket) -> bytes:
    """Take the greeting, and return what was read beyond it."""
    said = b""
    while _BEGIN not in said:
        data = sock.recv(1024)
        if not data:
            raise HangUpError
        if b"AUTH EXTERNAL" in data:
            sock.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        if b"NEGOTIATE_UNIX_FD" in data:
            sock.sendall(b"AGREE_UNIX_FD\r\n")
        said += data
    return said.partition(_BEGIN)[2]


@contextmanager
def systemd(folder: Path, handler: Handler, *, is_sleepy: bool = False) -> Iterator[Systemd]:
    """Serve on a socket in a folder."""
    made = Systemd(str(folder / "private"), handler, is_sleepy)
    server = socket.socket(socket.AF_UNIX)
    server.bind(made.address)
    server.listen()
    thread = threading.Thread(target=made.serve, args=(server,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)
