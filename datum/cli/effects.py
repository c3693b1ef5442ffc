"""The effects a command line hands to the agent: clock, process, signals, progress on a terminal."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from attrs import evolve

from datum.agent.ports import COMMITTING, Ports, show_nothing
from datum.cli.views.paper import clean
from datum.host.program import run_program
from datum.model.plan import Action
from datum.registry.discover import find_providers

PATIENCE: Final = 1.0
"""Seconds after which a person at a terminal wants to see that something goes on."""


def make_ports() -> Ports:
    """Read the clock and find the types, once for the command."""
    return Ports(
        providers=find_providers(),
        run=run_program,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        monotonic=time.monotonic,
        pid=os.getpid(),
    )


@contextmanager
def pass_ports(*, catches_signals: bool = False) -> Iterator[Ports]:
    """Give what a pass needs beside that: signals, and progress on a terminal, which is gone afterwards."""
    signals = Signals()
    if catches_signals:
        signals.install()
    progress = Progress(time.monotonic())
    try:
        yield evolve(
            make_ports(),
            signal=lambda: signals.number,
            progress=progress.show if sys.stderr.isatty() else show_nothing,
        )
    finally:
        progress.clear()


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
