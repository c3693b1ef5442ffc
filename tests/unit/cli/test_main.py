"""The one place that exits: what ended a command, as an exit code (design 5)."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from datum import errors
from datum.agent import status
from datum.cli import app
from datum.cli.main import main
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, ExitCode
from tests.unit.cli.screen import is_harmless

FOUND = Diagnostic(code="some-code", summary="It went wrong.", detail="Because.\x1b[2J", hint="do this")


def leaves(kind: type[DatumError] = DatumError) -> list[type[DatumError]]:
    """Return every kind of error that the package itself defines."""
    own = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, kind)]
    return sorted(own, key=lambda one: one.__name__)


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(*_: Any, **__: Any) -> int:
        raise error

    monkeypatch.setattr(app, "app", run)


@pytest.mark.parametrize("kind", leaves())
def test_every_error_has_its_exit_code(
    kind: type[DatumError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people on stderr, for programs on stdout; nothing of it is raw."""
    raising(monkeypatch, kind(FOUND))
    assert main(["status"]) == kind.exit_code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error[some-code]: It went wrong.\n  Because.\\x1b[2J\n  try: do this\n"
    assert main(["status", "--json"]) == kind.exit_code
    shown = capsys.readouterr()
    value = json.loads(shown.out)
    assert (value["schema_version"], value["error"]["exit_code"], shown.err) == (1, kind.exit_code, "")
    assert value["error"]["diagnostics"][0]["code"] == "some-code"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["nonsense"], "datum"),
        (["apply", "--nonsense"], "datum apply"),
        (["apply", "extra"], "datum apply"),
        (["plan", "--rev"], "datum plan"),
        (["apply", "--wait", "soon"], "datum apply"),
        (["graph", "--format", "svg"], "datum graph"),
        (["why"], "datum why"),
        (["\x1b[2J"], "datum"),
    ],
)
def test_usage_errors_are_64(words: list[str], command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, with the way to the command's help, in own words, and without what the terminal would obey."""
    assert main(words) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("datum: ")
    assert shown.err.endswith(f"\nTry '{command} --help'.\n")
    assert "Value error" not in shown.err
    assert is_harmless(shown.err)


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """In its lines; 64, for nothing was asked for."""
    assert main([]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Usage: datum ")
    assert "\\x0a" not in shown.err
    assert len(shown.err.splitlines()) > 10


@pytest.mark.parametrize("words", [["--help"], ["apply", "--help"], ["--version"]])
def test_help_and_version_are_results(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """0, on stdout."""
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "datum" in shown.out
    assert shown.err == ""


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    """And is a usage error."""
    assert main([]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert "Commands" in shown.out + shown.err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """128 and the number of SIGINT."""
    raising(monkeypatch, KeyboardInterrupt())
    assert main(["status"]) == 130


def test_bug_is_70_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where, what, and that it is a bug; no folder of this machine, nothing raw."""
    raising(monkeypatch, ZeroDivisionError("oh\x1b[2J no"))
    assert main(["status"]) == ExitCode.SOFTWARE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert "run at test_main.py:" in shown.err
    assert "datum: ZeroDivisionError: oh\\x1b[2J no\nThis is a bug in datum." in shown.err
    assert str(Path(__file__).parent) not in shown.err


def test_interrupt_within_a_command_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer has an opinion of its own on that."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status, "status", interrupted)
    assert main(["status"]) == 130


def test_answers_that_are_no_number_are_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer gives None where a command ends early."""
    monkeypatch.setattr(app, "app", lambda **_: None)
    assert main(["status"]) == 0


def test_stdout_of_another_encoding_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A locale without an arrow does not end a command."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))

    def run(**_: Any) -> int:
        sys.stdout.write("a → é\n")
        return 0

    monkeypatch.setattr(app, "app", run)
    assert main(["status"]) == 0
    assert raw.getvalue() == b"a \\u2192 \xe9\n"


def test_stdout_without_an_encoding_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a test or another program calls it."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(app, "app", lambda **_: 3)
    assert main(["status"]) == 3


@pytest.mark.parametrize("arguments", [("--help",), ("status", "--root", "/nonexistent", "--json")])
def test_closed_pipe_is_141_and_silent(arguments: tuple[str, ...]) -> None:
    """Whoever read went away: the result as well as the error as JSON."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "datum", *arguments], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 141


def test_arguments_of_the_process_are_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the installed command does; the cycle collector is off in there, and comes back for the other tests."""
    import gc

    monkeypatch.setattr(sys, "argv", ["datum", "--version"])
    try:
        assert main() == 0
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert capsys.readouterr().out.startswith("datum ")


@pytest.mark.parametrize("words", [["apply", "--root", "/nonexistent"]])
def test_the_command_of_a_timer_is_refused_alike(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is read without Typer, with the same exit codes."""
    assert main(words) == ExitCode.USAGE
    short = capsys.readouterr()
    assert main([*words, "--offline"]) == ExitCode.USAGE
    assert capsys.readouterr() == short
    assert "root-missing" in short.err
