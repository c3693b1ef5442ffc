"""Diagnostics for people, on stderr; as JSON on stdout where that was asked for."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper, print_json
from datum.diagnostics import Diagnostic
from datum.report.as_json import diagnostic_to_json

_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def show_error(diagnostics: Sequence[Diagnostic], exit_code: int, *, is_json: bool) -> None:
    """Show what ended a command."""
    if is_json:
        print_json(error_object(diagnostics, exit_code))
        return
    paper = Paper()
    write_problems(paper, [diagnostic_to_json(item) for item in diagnostics])
    paper.print_to(sys.stderr)


def error_object(diagnostics: Iterable[Diagnostic], exit_code: int) -> Mapping[str, Any]:
    """Return what `--json` prints when there is no result."""
    return {
        "schema_version": 1,
        "error": {"exit_code": exit_code, "diagnostics": [diagnostic_to_json(item) for item in diagnostics]},
    }


def write_problems(paper: Paper, problems: Iterable[Mapping[str, Any]]) -> None:
    """Write diagnostics as `place: severity[code]: summary`, detail, related places and hint below."""
    for item in problems:
        place = place_of(item["location"])
        style = _STYLES[item["severity"]]
        head: list[str | tuple[str, str]] = [(f"{place}: ", "bold")] if place else []
        paper.line(*head, (f"{item['severity']}[{item['code']}]: ", style), item["summary"])
        for text in item["detail"].splitlines():
            paper.line("  ", text)
        for related in item["related"]:
            paper.line("  ", (f"{place_of(related['location'])}: ", "bold"), related["what"])
        if item["hint"]:
            paper.line("  ", ("try: ", "cyan"), item["hint"])


def place_of(location: Mapping[str, Any] | None) -> str:
    """Return file:line:column, as far as known."""
    if not location:
        return ""
    if not location["line"]:
        return str(location["file"])
    return f"{location['file']}:{location['line']}:{location['column']}"


def complain(text: str) -> None:
    """Say something on stderr that is no result."""
    paper = Paper()
    paper.line("datum: ", text)
    paper.print_to(sys.stderr)
