"""Holding a shutdown back: the lock of logind, what is announced meanwhile, and buses that are of no help."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from jeepney import DBusAddress, MessageFlag, new_signal  # type: ignore[import-untyped]

from datum.host import inhibit
from datum.host.inhibit import ShutdownDelay
from tests.unit.host.systemd import HangUpError, Line, Systemd, systemd

LOGIND = DBusAddress("/org/freedesktop/login1", "org.freedesktop.login1", "org.freedesktop.login1.Manager")


class Logind:
    """Gives locks, as the ends of a pipe whose other end tells whether one is still held."""

    def __init__(self, *, preparing: bool = False, refuses: str = "", announces: str = "") -> None:
        self.preparing = preparing
        # A member that it refuses, and one before whose answer it announces a shutdown.
        self.refuses, self.announces = refuses, announces
        self.arguments: list[tuple[Any, ...]] = []
        self.line: Line | None = None
        self.watched = -1

    def __call__(self, line: Line, member: str, _path: str, arguments: tuple[Any, ...]) -> Any:
        self.line = line
        if member == self.announces:
            self.announce()
        if member == self.refuses:
            return "org.freedesktop.DBus.Error.AccessDenied No."
        if member == "Hello":
            return "s", (":1.1",)
        if member == "Get":
            return "v", (("b", self.preparing),)
        if member == "Inhibit":
            self.arguments.append(arguments)
            self.watched, given = os.pipe()
            return "h", (given,)
        return "", ()

    def announce(self, *, begins: bool = True, member: str = "PrepareForShutdown") -> None:
        assert self.line is not None
        self.line.send(new_signal(LOGIND, member, "b", (begins,)))


Serve = Callable[[Logind], Systemd]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(logind: Logind) -> Systemd:
            made = stack.enter_context(systemd(tmp_path, logind))
            monkeypatch.setattr(inhibit, "SYSTEM_BUS", made.address)
            return made

        yield start


def has_lock(delay: ShutdownDelay) -> bool:
    return delay._lock is not None


def is_told(delay: ShutdownDelay) -> bool:
    """Whether it is told within a while."""
    end = time.monotonic() + 10
    while not delay.is_announced() and time.monotonic() < end:
        time.sleep(0.005)
    return delay.is_announced()


def test_a_lock_that_delays_a_shutdown_is_held_in_the_body_only(serve: Serve) -> None:
    logind = Logind()
    found = serve(logind)
    delay = ShutdownDelay("because")
    with delay.held():
        assert has_lock(delay)
        assert not os.get_inheritable(delay._lock or -1)
        assert not delay.is_announced()
    assert not has_lock(delay)
    assert logind.arguments == [("shutdown", "datum", "because", "delay")]
    assert found.calls == ["Hello", "AddMatch", "Get", "Inhibit"]
    assert not delay.is_announced()


def test_what_is_announced_while_it_is_held_is_told_from_then_on(serve: Serve) -> None:
    logind = Logind()
    serve(logind)
    delay = ShutdownDelay("because")
    with delay.held():
        logind.announce(member="PrepareForSleep")
        logind.announce(begins=False)
        assert not delay.is_announced()
        logind.announce()
        assert is_told(delay)
    assert delay.is_announced()


def test_a_shutdown_that_goes_on_already_is_told_and_no_lock_asked_for(serve: Serve) -> None:
    logind = Logind(preparing=True)
    serve(logind)
    delay = ShutdownDelay("because")
    with delay.held():
        assert delay.is_announced()
    assert not logind.arguments


def test_what_is_announced_while_the_lock_is_asked_for_is_not_lost(serve: Serve) -> None:
    serve(Logind(announces="Inhibit"))
    delay = ShutdownDelay("because")
    with delay.held():
        assert delay.is_announced()


@pytest.mark.parametrize("refused", ["Hello", "AddMatch", "Get", "Inhibit"])
def test_a_bus_or_logind_that_refuses_delays_nothing(serve: Serve, refused: str) -> None:
    serve(Logind(refuses=refused))
    delay = ShutdownDelay("because")
    with delay.held():
        assert not delay.is_announced()
        assert not has_lock(delay)


def test_no_logind_is_started_for_it(serve: Serve) -> None:
    assert MessageFlag.no_auto_start
    flags: list[Any] = []
    original = Systemd._answer

    def noting(self: Systemd, line: Line, message: Any) -> None:
        flags.append(message.header.flags)
        original(self, line, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Systemd, "_answer", noting)
        serve(Logind())
        with ShutdownDelay("because").held():
            pass
    assert flags
    assert all(flag & MessageFlag.no_auto_start for flag in flags)


def test_without_a_bus_nothing_is_delayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inhibit, "SYSTEM_BUS", str(tmp_path / "none"))
    delay = ShutdownDelay("because")
    with delay.held():
        assert not delay.is_announced()


def test_a_bus_that_answers_nothing_costs_a_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inhibit, "_PATIENCE", 0.1)
    address = str(tmp_path / "bus")
    monkeypatch.setattr(inhibit, "SYSTEM_BUS", address)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        delay = ShutdownDelay("because")
        with delay.held():
            assert not delay.is_announced()


def test_a_bus_that_hangs_up_leaves_the_lock_alone(serve: Serve) -> None:
    logind = Logind()
    serve(logind)
    delay = ShutdownDelay("because")
    with delay.held():
        assert logind.line is not None
        logind.line.sock.shutdown(socket.SHUT_RDWR)
        end = time.monotonic() + 10
        while delay._bus is not None and time.monotonic() < end:
            assert not delay.is_announced()
        assert delay._bus is None
        assert has_lock(delay)
    assert not has_lock(delay)


def test_a_bus_that_hangs_up_in_the_middle_delays_nothing(serve: Serve) -> None:
    class HangingUp(Logind):
        def __call__(self, line: Line, member: str, path: str, arguments: tuple[Any, ...]) -> Any:
            if member == "Inhibit":
                raise HangUpError
            return super().__call__(line, member, path, arguments)

    serve(HangingUp())
    delay = ShutdownDelay("because")
    with delay.held():
        assert not has_lock(delay)


def test_an_error_of_the_body_drops_the_lock_and_is_not_swallowed(serve: Serve) -> None:
    serve(Logind())
    delay = ShutdownDelay("because")
    with pytest.raises(RuntimeError, match="body"), delay.held():
        raise RuntimeError("body")
    assert not has_lock(delay)
