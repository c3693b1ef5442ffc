"""The one place that exits: runs a command and maps what it came to, or what ended it, to an exit code (design 5)."""

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from datum.agent.settings import Options
from datum.cli.streams import LostResultError, secure
from datum.diagnostics import Diagnostic
from datum.errors import SIGNAL_BASE, DatumError, ExitCode

if TYPE_CHECKING:
    from typer.exceptions import TyperException

_WITH_ROOT: Final = 3
# What checks the options begins its words with.
_LIBRARY: Final = "Value error, "
BUG: Final = "This is a bug in datum. Please report it with the lines above."


def command() -> NoReturn:
    """Be the command of the process: run it, and end with its exit code.

    What a pass made of a large manifest is not taken apart first: for 10,000 files that is a thirtieth of the pass.
    """
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, LostResultError):
            stream.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: of the command line without the program's name; None for those of this process.

    Returns:
        The exit code.
    """
    if arguments is None:
        # A command is short and makes few cycles: looking for them over tens of thousands of values that all stay
        # alive costs more than observing the host (10,000 files: 4.7 s of CPU with, 2.9 s without).
        gc.disable()
        secure()
        # Whatever the caller's umask: state, configuration and reports are nobody else's to write.
        os.umask(os.umask(0o077) | 0o022)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A locale that lacks an arrow does not end a pass.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _answer(words)
    except KeyboardInterrupt:
        return SIGNAL_BASE + signal.SIGINT
    except BrokenPipeError:
        # Whoever read stdout went away; what was done is done. Keep Python from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SIGNAL_BASE + signal.SIGPIPE
    except LostResultError as error:
        return _regret(error)
    except Exception as error:  # noqa: BLE001  # the last line before a traceback
        return _confess(error)


def _answer(words: Sequence[str]) -> int:
    try:
        code = _run(words)
    except DatumError as error:
        code = _refuse(error, is_json="--json" in words)
    sys.stdout.flush()
    return code


def _run(words: Sequence[str]) -> int:
    if words == ["apply"] or (len(words) == _WITH_ROOT and words[:2] == ["apply", "--root"]):
        # What a timer runs, every few minutes on every host: Typer would cost more than the rest of the start.
        from datum.cli.passes import run_pass

        return run_pass(Options(root=words[2] if len(words) == _WITH_ROOT else None))
    from typer.exceptions import TyperException

    from datum.cli.app import app

    try:
        answer = app(args=words, prog_name="datum", standalone_mode=False)
    except TyperException as error:
        return _explain(error, words)
    except SystemExit as error:
        # Typer's own answer to a closed pipe, with a code that would say that something is left.
        raise BrokenPipeError from error
    return int(answer) if isinstance(answer, int) else ExitCode.OK


def _explain(error: "TyperException", words: Sequence[str]) -> int:
    """Say on stderr what is wrong with the command line: the help where nothing was asked for."""
    from datum.cli.views.paper import clean

    message = error.format_message()
    if not words:
        sys.stderr.writelines(f"{clean(line)}\n" for line in message.splitlines())
        return ExitCode.USAGE
    from datum.cli.app import app

    names = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    command = f"datum {words[0]}" if words[0] in names else "datum"
    # Choices come one a line.
    said = " ".join(message.replace(_LIBRARY, "").split())
    sys.stderr.write(f"datum: {clean(said)}\nTry '{command} --help'.\n")
    return ExitCode.USAGE


def _refuse(error: DatumError, *, is_json: bool) -> int:
    from datum.cli.views.problems import show_error

    show_error(error.diagnostics, int(error.exit_code), is_json=is_json)
    return error.exit_code


def _regret(error: LostResultError) -> int:
    """Say on stderr that stdout takes nothing, whatever was asked for."""
    from datum.cli.views.problems import show_error

    found = Diagnostic(
        code="output-lost",
        summary="The result could not be written.",
        detail=f"Writing to stdout: {error}. What was done is done.",
        hint="make room, or direct stdout elsewhere; datum report shows what a pass did",
    )
    show_error((found,), ExitCode.IOERR, is_json=False)
    return ExitCode.IOERR


def _confess(error: Exception) -> int:
    """Say that datum has a bug: where, in one line a frame, since nobody can report what they cannot see."""
    import traceback

    from datum.cli.views.paper import clean

    for frame in traceback.extract_tb(error.__traceback__)[-6:]:
        sys.stderr.write(f"  {frame.name} at {os.path.basename(frame.filename)}:{frame.lineno}\n")  # noqa: PTH119
    sys.stderr.write(f"datum: {type(error).__name__}: {clean(str(error))}\n{BUG}\n")
    return ExitCode.SOFTWARE
