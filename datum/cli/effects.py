"""The effects a command line hands to the agent: clock, process, signals, progress on a terminal."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from attrs import evolve

from datum.agent.ports import COMMITTING, Ports, show_nothing
from datum.agent.reading import reading
from datum.agent.settings import Options, root_of
from datum.cli.triggers import read_trigger
from datum.cli.views.paper import clean
from datum.errors import DatumError, ProviderError
from datum.host.program import run_program
from datum.model.identity import HostName
from datum.model.plan import Action
from datum.provider.contract import AnyProvider
from datum.registry.discover import find_providers

if TYPE_CHECKING:
    from datum.host.inhibit import ShutdownDelay

PATIENCE: Final = 1.0
"""Seconds after which a person at a terminal wants to see that something goes on."""


# Terminals without control sequences (terminfo(5)); rich sends them no style either.
_DUMB: Final = frozenset({"dumb", "unknown"})


def make_ports(providers: Mapping[str, AnyProvider] | None = None) -> Ports:
    """Read the clock and find the types, once for the command; with types that were found already."""
    return Ports(
        providers=find_providers() if providers is None else providers,
        run=run_program,
        started=read_clock(),
        monotonic=time.monotonic,
        pid=os.getpid(),
        clock=read_clock,
    )


def read_clock() -> str:
    """Return what time it is, ISO 8601 in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def asking_ports() -> Ports:
    """Return what `make_ports` gives, and who asks."""
    return evolve(make_ports(), trigger=read_trigger(os.environ))


@contextmanager
def pass_ports(options: Options, *, catches_signals: bool = False) -> Iterator[Ports]:
    """Give what a pass needs beside that: signals, and progress on a terminal, which is gone afterwards."""
    signals = Signals()
    if catches_signals:
        signals.install()
    progress = Progress(time.monotonic())
    ports = asking_ports() if catches_signals else make_ports()
    delay = Delay()
    ports = evolve(
        ports,
        signal=lambda: signals.number or delay.signal(),
        delaying=delay.held,
        progress=progress.show if can_take_back() else show_nothing,
    )
    try:
        # Before anything else is open: what reads revisions is a fork of this process.
        with reading(ports, is_running_system=root_of(options) == "/") as own:
            yield own
    finally:
        progress.clear()


@contextmanager
def looking_ports(options: Options) -> Iterator[tuple[Ports, tuple[DatumError | None, DatumError | None]]]:
    """Give what looking needs where even that may be broken.

    Yields:
        Ports; and why types cannot be told, of which they have none then, and why what reads revisions could not be
        started.
    """
    no_types: DatumError | None = None
    no_reader: DatumError | None = None
    found: Mapping[str, AnyProvider] = {}
    try:
        found = find_providers()
    except ProviderError as error:
        no_types = error
    progress = Progress(time.monotonic())
    ports = evolve(make_ports(found), progress=progress.show if can_take_back() else show_nothing)
    with ExitStack() as stack:
        stack.callback(progress.clear)
        is_running_system = root_of(options) == "/"
        try:
            ports = stack.enter_context(reading(ports, is_running_system=is_running_system))
        except DatumError as error:
            no_reader = error
        yield ports, (no_types, no_reader)


def can_take_back() -> bool:
    """Whether what is written on stderr can be taken away again: by a terminal, and one with control sequences."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in _DUMB


def machine_name() -> str:
    """Return what this machine calls itself, if it could be a name in a fleet: a suggestion, never an answer."""
    name = os.uname().nodename.lower()
    try:
        return str(HostName(name))
    except ValueError:
        return ""


def own_command() -> str:
    """Return the absolute path of the `datum` command that runs now; empty where it is run otherwise.

    As it was called, links included: an upgrade may turn them to the next version.
    """
    called = shutil.which(sys.argv[0]) if "/" not in sys.argv[0] else sys.argv[0]
    beside = os.path.join(os.path.dirname(sys.executable), "datum")  # noqa: PTH118, PTH120  # no Path for two names
    for path in (called or "", beside):
        if os.path.basename(path) == "datum" and os.access(path, os.X_OK):  # noqa: PTH119
            return os.path.abspath(path)  # noqa: PTH100
    return ""


class Signals:
    """Remembers the first SIGTERM, SIGINT or SIGHUP, so that the action in hand is finished.

    The second SIGINT ends at once.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    def install(self) -> None:
        """Catch them from now on."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.number is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = number


class Delay:
    """Holds a shutdown back while a pass changes the host."""

    def __init__(self) -> None:
        self._delay: ShutdownDelay | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it back in the body."""
        # A pass with nothing to do has no use for it.
        from datum.host.inhibit import ShutdownDelay

        self._delay = ShutdownDelay("a pass changes this host")
        with self._delay.held():
            yield

    def signal(self) -> int | None:
        """Return SIGTERM once the host is about to shut down: it would come anyway, when nothing can be started."""
        return signal.SIGTERM if self._delay is not None and self._delay.is_announced() else None


class Progress:
    """One line on stderr that says what runs long, and is gone when it ended."""

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._is_shown = False

    def show(self, stage: str, number: int, total: int, action: Action | None) -> None:
        """Take what the pass does now."""
        if time.monotonic() - self._begun < PATIENCE and not stage.startswith(COMMITTING):
            return
        text = f"{stage} {number}/{total} {action.operation} {action.resource}" if action else stage
        sys.stderr.write(f"\r\x1b[K{clean(text)[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
        self._is_shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_shown = False
