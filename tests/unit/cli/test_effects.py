"""Clock, signals, and progress on a terminal."""

import re
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from datum.agent.ports import COMMITTING, show_nothing
from datum.agent.settings import Options
from datum.cli.asking import clear_line
from datum.cli.effects import PATIENCE, Progress, Signals, looking_ports, make_ports, pass_ports
from datum.model.plan import Operation
from tests.unit.cli.screen import Terminal, coloured, is_harmless
from tests.unit.report.samples import action

# Another root: revisions are read by this process.
BELOW = Options(root="/usr")


@pytest.fixture(autouse=True)
def _usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured(monkeypatch)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Put the handlers of signals back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ports_hold_clock_process_and_types() -> None:
    """Read once for a command."""
    ports = make_ports()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ports.started)
    assert re.fullmatch(r"\d{8}T\d{6}Z-\d+", ports.report_id())
    assert "file" in ports.providers
    assert set(ports.versions(["file", "nothing"])) == {"datum", "python", "file"}
    assert (ports.signal(), ports.progress) == (None, show_nothing)


@pytest.mark.usefixtures("handlers")
def test_first_signal_is_remembered_and_second_interrupt_ends() -> None:
    """The action in hand is finished; who asks twice means it."""
    with pass_ports(BELOW, catches_signals=True) as ports:
        assert ports.signal() is None
        signal.raise_signal(signal.SIGTERM)
        assert ports.signal() == signal.SIGTERM
        signal.raise_signal(signal.SIGTERM)
        assert ports.signal() == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("handlers")
def test_signals_are_left_alone_where_nothing_is_changed() -> None:
    """`datum plan` ends at once."""
    before = signal.getsignal(signal.SIGTERM)
    with pass_ports(BELOW) as ports:
        assert signal.getsignal(signal.SIGTERM) is before
        assert ports.signal() is None
    assert Signals().number is None


def late() -> float:
    return time.monotonic() - PATIENCE - 1


def test_progress_is_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays within the terminal, is clean, and is removed once."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "40")
    progress = Progress(late())
    progress.show("reconciler", 3, 9, action("file:/etc/\x9b31m" + "x" * 90, Operation.CREATE))
    text = screen.getvalue()
    assert text.startswith("\r\x1b[Kreconciler 3/9 create file:/etc/\\x9b31m")
    assert len(text) == len("\r\x1b[K") + 39
    assert is_harmless(text.removeprefix("\r\x1b[K"))
    progress.show("closing", 0, 0, None)
    assert screen.getvalue().endswith("\r\x1b[Kclosing")
    progress.clear()
    progress.clear()
    assert screen.getvalue().endswith("closing\r\x1b[K")


@pytest.mark.parametrize(("term", "shows"), [("dumb", False), ("unknown", False), ("xterm", True), ("", True)])
def test_a_terminal_without_control_sequences_shows_no_progress(
    monkeypatch: pytest.MonkeyPatch, term: str, *, shows: bool
) -> None:
    """A line that cannot be taken away again would stay between the answers."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", term)
    with pass_ports(BELOW) as ports:
        assert (ports.progress != show_nothing) is shows
    with looking_ports(BELOW) as (ports, _):
        assert (ports.progress != show_nothing) is shows
    clear_line()
    assert screen.getvalue() == "\r\x1b[K" * shows


def test_short_commands_show_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing flickers, and nothing is removed."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with pass_ports(BELOW) as ports:
        assert ports.progress != show_nothing
        ports.progress("observer", 0, 0, None)
    assert screen.getvalue() == ""


def test_a_commit_of_many_actions_is_shown_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take minutes, and nothing else is heard of meanwhile."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with pass_ports(BELOW) as ports:
        ports.progress(f"{COMMITTING} 12", 3, 40, action("package:nginx", Operation.CREATE))
    assert screen.getvalue() == "\r\x1b[Kcommitting 12 3/40 create package:nginx\r\x1b[K"


def test_progress_is_gone_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error starts on a line of its own."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("datum.cli.effects.PATIENCE", 0.0)
    with pytest.raises(ValueError, match="x"), pass_ports(BELOW) as ports:
        ports.progress("observer", 0, 0, None)
        raise ValueError("x")
    assert screen.getvalue() == "\r\x1b[Kobserver\r\x1b[K"


def test_without_a_terminal_there_is_no_progress() -> None:
    """Logs stay readable."""
    with pass_ports(BELOW) as ports:
        assert ports.progress is show_nothing
