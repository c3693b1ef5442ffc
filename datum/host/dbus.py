"""One conversation with the service manager over D-Bus. Effects: a socket.

systemd's own socket is asked first: it answers root without any other program. Where it cannot be reached, as by an
ordinary user, the system bus is. A connection lives as long as one conversation: none that is idle is left behind when
the manager executes itself anew, and none fills up with signals that nobody reads.

jeepney has no types; what it gives is typed here.
"""

import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

from attrs import frozen
from jeepney import DBusAddress, HeaderFields, Message, MessageType, Parser, new_method_call  # type: ignore[import-untyped]
from jeepney.auth import AuthenticationError  # type: ignore[import-untyped]
from jeepney.io.blocking import prep_socket  # type: ignore[import-untyped]

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError

PRIVATE_SOCKET: Final = "/run/systemd/private"
SYSTEM_BUS: Final = "/run/dbus/system_bus_socket"
SYSTEMD: Final = "org.freedesktop.systemd1"
MANAGER_PATH: Final = "/org/freedesktop/systemd1"
MANAGER: Final = "org.freedesktop.systemd1.Manager"
PROPERTIES: Final = "org.freedesktop.DBus.Properties"

_BUS: Final = "org.freedesktop.DBus"
_CHUNK: Final = 1 << 18
# Calls under way at a time: few enough that neither side's buffer is ever full.
_WINDOW: Final = 64
# Seconds: for the greeting, and for an answer that needs no work.
_GREETING: Final = 10.0
ANSWER: Final = 60.0
# Seconds until it is greeted once more.
_FIRST_PAUSE: Final = 0.002


# A bus says so while the manager is away.
_AWAY: Final = frozenset(
    f"org.freedesktop.DBus.Error.{name}" for name in ("NameHasNoOwner", "ServiceUnknown", "NoReply", "Disconnected")
)


class ConnectionLostError(Exception):
    """There is no connection, or none any more, as when the manager executes itself anew."""


@frozen
class Call:
    """One method call."""

    path: str
    interface: str
    member: str
    # Of its arguments, as D-Bus has it; empty for none.
    signature: str = ""
    arguments: tuple[Any, ...] = ()


@frozen
class Refusal:
    """An answer that is an error."""

    # `org.freedesktop.systemd1.NoSuchUnit`.
    name: str
    text: str


@frozen
class Signal:
    """Something that the manager told unasked."""

    member: str
    arguments: tuple[Any, ...]


class Conversation:
    """A connection to the manager; use it in a `with` statement."""

    def __init__(self, sock: socket.socket, *, is_bus: bool) -> None:
        self._socket: Final = sock
        # Whether others talk on it, too: signals are asked for there.
        self.is_bus: Final = is_bus
        self._parser: Final = Parser()
        self._serial = 0
        # Calls that go out together, before the next answer is waited for.
        self._unsent = b""
        self.signals: Final[deque[Signal]] = deque()
        # Answers to calls before this one are nobody's.
        self._first = 1
        if is_bus:
            self.ask([Call("/org/freedesktop/DBus", _BUS, "Hello")])
        else:
            self._greet()

    @classmethod
    def start(cls) -> Self:
        """Connect.

        Raises:
            ConnectionLostError: neither socket takes a connection.
        """
        reason = ""
        for address in (PRIVATE_SOCKET, SYSTEM_BUS):
            try:
                sock = prep_socket(address, timeout=_GREETING)
            except (OSError, AuthenticationError) as error:
                reason = reason or f"{address}: {getattr(error, 'strerror', None) or error}"
                continue
            try:
                return cls(sock, is_bus=address == SYSTEM_BUS)
            except BaseException:
                sock.close()
                raise
        raise ConnectionLostError(reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, calls: Sequence[Call], *, seconds: float = ANSWER) -> list[Any]:
        """Make calls, several at a time, and return the answers in their order.

        A few calls leave in one piece: of those on its own socket the manager does nothing before it has read them all.

        Args:
            calls: what to call.
            seconds: for the whole.

        Returns:
            For each call a tuple of what it returned, or a `Refusal`. Signals that came meanwhile are in `signals`.

        Raises:
            HostError: `manager-unreachable`: no answer in time.
            ConnectionLostError: the connection ended before all answers were there.
        """
        end = time.monotonic() + seconds
        answers: dict[int, Any] = {}
        first = self._first = self._serial + 1
        try:
            for position, call in enumerate(calls):
                while position - len(answers) >= _WINDOW:
                    self._take(answers, end)
                self._send(call)
            while len(answers) < len(calls):
                self._take(answers, end)
        except TimeoutError as error:
            raise unreachable(f"{calls[len(answers)].member} had no answer in {seconds:g} s") from error
        return [answers[first + position] for position in range(len(calls))]

    def _greet(self) -> None:
        """Call until there is an answer: systemd leaves a call lying that it read together with the end of the
        greeting, and goes on when it hears more.
        """
        end = time.monotonic() + _GREETING
        pause = _FIRST_PAUSE
        while time.monotonic() < end:
            self._send(Call(MANAGER_PATH, "org.freedesktop.DBus.Peer", "Ping"))
            answers: dict[int, Any] = {}
            until = time.monotonic() + pause
            with suppress(TimeoutError):
                while not answers:
                    self._take(answers, until)
                return
            pause = min(pause * 2, 1.0)
        raise unreachable("it takes connections and answers nothing")

    def next_signal(self, *, seconds: float) -> Signal | None:
        """Return the oldest signal that was not taken yet; wait for one at most so long, and return None then.

        Raises:
            ConnectionLostError: the connection ended.
        """
        end = time.monotonic() + seconds
        while not self.signals:
            try:
                self._take({}, end)
            except TimeoutError:
                return None
        return self.signals.popleft()

    def _send(self, call: Call) -> None:
        """Put a call beside those that leave next."""
        self._serial += 1
        address = DBusAddress(
            call.path,
            bus_name=_BUS if call.interface == _BUS else SYSTEMD,
            interface=call.interface,
        )
        message = new_method_call(address, call.member, call.signature or None, call.arguments)
        self._unsent += message.serialise(serial=self._serial)

    def _take(self, answers: dict[int, Any], end: float) -> None:
        """Send what is to be sent, wait for one message, and put it where it belongs."""
        data, self._unsent = self._unsent, b""
        if data:
            with self._until(end):
                self._socket.sendall(data)
        while (message := self._parser.get_next_message()) is None:
            with self._until(end):
                data = self._socket.recv(_CHUNK)
            if not data:
                raise ConnectionLostError("it was closed")
            self._parser.add_data(data)
        self._put(message, answers)

    @contextmanager
    def _until(self, end: float) -> Iterator[None]:
        """Give one call of the socket the time that is left; raise `TimeoutError` after that."""
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        try:
            yield
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLostError(str(error)) from error

    def _put(self, message: Message, answers: dict[int, Any]) -> None:
        fields = message.header.fields
        kind = message.header.message_type
        body = tuple(message.body)
        if kind is MessageType.signal:
            self.signals.append(Signal(fields[HeaderFields.member], body))
            return
        serial = fields.get(HeaderFields.reply_serial, 0)
        if serial < self._first:
            return
        if kind is MessageType.method_return:
            answers[serial] = body
        elif kind is MessageType.error:
            name = fields[HeaderFields.error_name]
            text = body[0] if body and isinstance(body[0], str) else name
            if name in _AWAY:
                raise ConnectionLostError(text)
            answers[serial] = Refusal(name, text)


def unreachable(reason: str) -> HostError:
    """Return the failure of a manager that is process 1 and does not answer."""
    return HostError(
        f"The service manager does not answer: {reason.rstrip('.')}.",
        code="manager-unreachable",
        summary="The service manager does not answer.",
        cause=Cause.DATABASE,
        failure=FailureCause.OTHER,
        hint="see `systemctl status`; where it hangs too, `kill -TERM 1` makes systemd execute itself anew",
    )
