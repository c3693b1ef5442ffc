"""A stream that says it is a terminal, and what a reader of one must never be sent."""

import io

import pytest

from datum.cli.views.paper import Paper


class Terminal(io.StringIO):
    """What `isatty` says decides on colour, on the line of progress, and on nothing else."""

    def isatty(self) -> bool:
        return True


def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the environment that of a terminal with colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def plain(paper: Paper) -> str:
    """Return what a paper writes to a file."""
    stream = io.StringIO()
    paper.print_to(stream)
    return stream.getvalue()


def is_harmless(text: str) -> bool:
    """Whether no character of it drives or misleads a terminal."""
    return all(char.isprintable() or char in "\n\t\u3000" for char in text)
