"""A shutdown waits for the action in hand. Effects: a socket to the system bus, a lock of logind.

logind delays a shutdown by as long as somebody holds such a lock, and at most by `InhibitDelayMaxSec` (logind.conf(5),
5 s by default), and tells it before (`PrepareForShutdown`). In that time the manager still takes jobs, which an action
may need; after it the unit is stopped like any other (ADR 0049). Where there is no logind nothing is held.
"""

import logging
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from attrs import define, field

_log: Final = logging.getLogger(__name__)

SYSTEM_BUS: Final = "/run/dbus/system_bus_socket"

_BUS: Final = "org.freedesktop.DBus"
_LOGIND: Final = "org.freedesktop.login1"
_PATH: Final = "/org/freedesktop/login1"
_MANAGER: Final = f"{_LOGIND}.Manager"
_SIGNAL: Final = "PrepareForShutdown"
_MATCH: Final = f"type='signal',sender='{_LOGIND}',path='{_PATH}',interface='{_MANAGER}',member='{_SIGNAL}'"
# Seconds for the whole of taking a lock: a bus that answers nothing costs no more than this.
_PATIENCE: Final = 2.0
_CHUNK: Final = 1 << 16
# Of ancillary data, for a few descriptors.
_ROOM: Final = socket.CMSG_SPACE(64)


class _RefusedError(Exception):
    """Bus or logind answered with an error."""


@define
class ShutdownDelay:
    """Holds a shutdown back while `held`, and says whether one was announced meanwhile."""

    # What `systemd-inhibit --list` shows.
    why: str
    _bus: "_Bus | None" = field(default=None, init=False)
    _lock: int | None = field(default=None, init=False)
    _is_announced: bool = field(default=False, init=False)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock in the body, where it can be had; what cannot be had is logged at debug level."""
        self._take()
        try:
            yield
        finally:
            self._drop()

    def is_announced(self) -> bool:
        """Whether the host is about to shut down; once true it stays so."""
        if self._bus is not None and not self._is_announced:
            try:
                self._is_announced = self._bus.is_announced()
            except OSError as error:
                # A bus that is restarted forgets who listens; the lock itself is logind's and stays.
                _log.debug("the bus went away while a shutdown was delayed: %s", error)
                self._bus.close()
                self._bus = None
        return self._is_announced

    def _take(self) -> None:
        try:
            self._bus = _Bus(time.monotonic() + _PATIENCE)
            self._lock, self._is_announced = self._bus.delay(self.why)
        except (OSError, _RefusedError) as error:
            _log.debug("no shutdown is delayed: %s", error)
            self._drop()

    def _drop(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._bus is not None:
            self._bus.close()
            self._bus = None


class _Bus:
    """One connection to the system bus, as far as this needs one."""

    def __init__(self, end: float) -> None:
        """Connect, and be greeted.

        Raises:
            OSError: there is no bus, or it does not answer by `end`, on the monotonic clock.
        """
        # jeepney costs milliseconds that a pass with nothing to do need not pay
        from jeepney import Parser  # type: ignore[import-untyped]
        from jeepney.auth import AuthenticationError  # type: ignore[import-untyped]
        from jeepney.io.blocking import prep_socket  # type: ignore[import-untyped]

        self._end: Final = end
        self._parser: Final = Parser()
        self._serial = 0
        self._announced = False
        try:
            self._socket: Final[socket.socket] = prep_socket(SYSTEM_BUS, enable_fds=True, timeout=_PATIENCE)
        except AuthenticationError as error:
            raise ConnectionError(str(error)) from error
        try:
            self._ask(_BUS, "/org/freedesktop/DBus", _BUS, "Hello")
        except BaseException:
            self.close()
            raise

    def delay(self, why: str) -> tuple[int | None, bool]:
        """Return the descriptor that is the lock, and whether a shutdown goes on already.

        Raises:
            OSError: no answer in time, or the connection ended.
            _RefusedError: there is no logind, or it gives no lock.
        """
        # Asked for before the lock: what is announced in between is heard.
        self._ask(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", (_MATCH,))
        get = ("org.freedesktop.DBus.Properties", "Get", "ss", (_MANAGER, "PreparingForShutdown"))
        ((_signature, is_going),) = self._ask(_LOGIND, _PATH, *get)
        if is_going:
            return None, True
        words = ("shutdown", "datum", why, "delay")
        (lock,) = self._ask(_LOGIND, _PATH, _MANAGER, "Inhibit", "ssss", words)
        descriptor: int = lock.to_raw_fd()
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - as it is
        return descriptor, self._announced

    def is_announced(self) -> bool:
        """Take what has come, without waiting, and say whether a shutdown was told.

        Raises:
            OSError: the connection ended.
        """
        while not self._announced and select.select([self._socket], [], [], 0)[0]:
            self._receive()
            while (message := self._parser.get_next_message()) is not None:
                self._hear(message)
        return self._announced

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def _ask(self, name: str, path: str, interface: str, member: str, signature: str = "", body: Any = ()) -> Any:
        from jeepney import DBusAddress, HeaderFields, MessageFlag, MessageType, new_method_call

        self._serial += 1
        address = DBusAddress(path, bus_name=name, interface=interface)
        call = new_method_call(address, member, signature or None, body)
        # A host without logind is not made to start one.
        call.header.flags |= MessageFlag.no_auto_start
        self._socket.settimeout(max(self._end - time.monotonic(), 0.001))
        self._socket.sendall(call.serialise(serial=self._serial))
        while True:
            while (message := self._parser.get_next_message()) is None:
                self._receive()
            if message.header.fields.get(HeaderFields.reply_serial) != self._serial:
                self._hear(message)
            elif message.header.message_type is MessageType.error:
                raise _RefusedError(message.header.fields[HeaderFields.error_name])
            else:
                return message.body

    def _receive(self) -> None:
        from jeepney.fds import FileDescriptor  # type: ignore[import-untyped]

        left = self._end - time.monotonic()
        # What is there already is taken however late it is.
        self._socket.settimeout(max(left, 0.001))
        data, ancillary, _flags, _address = self._socket.recvmsg(_CHUNK, _ROOM)
        if not data:
            raise ConnectionError("the bus closed the connection")
        self._parser.add_data(data, fds=FileDescriptor.from_ancdata(ancillary))

    def _hear(self, message: Any) -> None:
        from jeepney import HeaderFields, MessageType

        is_it = message.header.message_type is MessageType.signal
        if is_it and message.header.fields.get(HeaderFields.member) == _SIGNAL and message.body[0]:
            self._announced = True
