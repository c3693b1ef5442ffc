"""Questions to a person at a terminal: on stderr, since stdout is for the result; answers from stdin."""

import sys
from collections.abc import Callable
from typing import NoReturn

from datum.cli.effects import can_take_back
from datum.cli.views.paper import Paper, clean
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, UsageError

_YES = frozenset({"y", "yes"})
_NO = frozenset({"n", "no"})


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def say(paper: Paper) -> None:
    """Show what a question is about."""
    paper.print_to(sys.stderr)


def clear_line() -> None:
    """Take away the line of progress that the cursor stands in."""
    if can_take_back():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def ask(question: str, check: Callable[[str], object], *, suggestion: str = "", may_be_empty: bool = False) -> str:
    """Return an answer that passes the check; a wrong one is told what is wrong with it, and asked for again.

    Args:
        question: without the colon.
        check: raises ValueError or DatumError for what is no answer.
        suggestion: shown, and the answer where nothing is typed.
        may_be_empty: whether nothing is an answer.

    Raises:
        UsageError: the terminal ended.
    """
    shown = f"{question} [{suggestion}]: " if suggestion else f"{question}: "
    while True:
        answer = _line(shown) or suggestion
        if not answer:
            if may_be_empty:
                return ""
            continue
        try:
            check(answer)
        except (ValueError, DatumError) as error:
            complain(error)
        else:
            return answer


def confirm(question: str) -> bool:
    """Return whether the answer is yes; where nothing is typed it is no.

    Raises:
        UsageError: the terminal ended.
    """
    while True:
        answer = _line(f"{question} [y/N]: ").lower()
        if answer in _YES:
            return True
        if not answer or answer in _NO:
            return False


def _line(shown: str) -> str:
    sys.stderr.write(clean(shown))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        _ended()
    return line.strip()


def complain(error: ValueError | DatumError) -> None:
    """Say why an answer is none, and what to try."""
    paper = Paper()
    if isinstance(error, DatumError):
        found = error.diagnostics[0]
        paper.line("  ", found.detail or found.summary)
        if found.hint:
            paper.line("  ", ("try: ", "cyan"), found.hint)
    else:
        paper.line("  ", f"{error}.")
    say(paper)


def _ended() -> NoReturn:
    sys.stderr.write("\n")
    raise UsageError(
        Diagnostic(
            code="no-answer",
            summary="A question got no answer.",
            detail="The terminal ended. Nothing was enrolled or removed.",
            hint="answer, or say everything on the command line",
        )
    )
