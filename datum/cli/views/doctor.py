"""`datum doctor`."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from datum.agent.doctor.as_json import diagnosis_to_json
from datum.agent.doctor.catalogue import CHECKS
from datum.agent.doctor.finding import Diagnosis, Finding, State
from datum.cli.views.paper import Paper, print_json

_STATES: Final[Mapping[State, tuple[str, str]]] = {
    State.OK: ("ok", "green"),
    State.WARNING: ("warning", "bold yellow"),
    State.FAULT: ("FAULT", "bold red"),
    State.NOT_CHECKED: ("-", "dim"),
}
_WORD: Final = 8
_NAME: Final = 22
_MARGIN: Final = "  "
_INDENT: Final = len(_MARGIN) + _WORD + _NAME
# Columns: on wider terminals a line is not longer, on narrower ones not shorter.
_WIDEST: Final = 110
_NARROWEST: Final = 60


def show(diagnosis: Diagnosis, *, is_json: bool) -> None:
    """Show what was found, group by group."""
    if is_json:
        print_json(diagnosis_to_json(diagnosis))
        return
    paper = Paper()
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    for (group, title), findings in groupby(diagnosis.findings, _section):
        paper.line((group, "bold"), f" {title}" if title else "")
        for like in _alike(findings):
            _write(paper, like, width)
    _write_sum(paper, diagnosis, width)
    paper.print_to(sys.stdout)


def _section(finding: Finding) -> tuple[str, str]:
    """Return the group, and of the source the remote: its hops belong together."""
    group = CHECKS[finding.check].group
    return group, finding.of if group == "source" else ""


def _alike(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Yield runs of what was not checked for one reason, and everything else by itself."""
    run: list[Finding] = []
    for finding in findings:
        is_same = bool(run) and finding.state is State.NOT_CHECKED and _reason(finding) == _reason(run[-1])
        if run and not is_same:
            yield run
            run = []
        run.append(finding)
    if run:
        yield run


def _reason(finding: Finding) -> tuple[State, str, str]:
    return finding.state, finding.found, finding.cure


def _write(paper: Paper, alike: Sequence[Finding], width: int) -> None:
    finding = alike[0]
    word, style = _STATES[finding.state]
    first, *rest = list(_wrapped(finding.found, width - _INDENT))
    paper.line(_MARGIN, (f"{word:<{_WORD}}", style), f"{finding.check:<{_NAME}}", first)
    for line in rest:
        paper.line(" " * _INDENT, line)
    if alike[1:]:
        _write_part(paper, "likewise ", ", ".join(dict.fromkeys(each.check for each in alike[1:])), width)
    is_to_do = finding.state in {State.WARNING, State.FAULT}
    if is_to_do:
        _write_part(paper, "why: ", CHECKS[finding.check].why, width)
    if finding.cure and (is_to_do or not finding.needs_root):
        _write_part(paper, "try: ", finding.cure, width)


def _write_part(paper: Paper, label: str, text: str, width: int) -> None:
    for number, line in enumerate(_wrapped(text, width - _INDENT - len(label))):
        paper.line(" " * _INDENT, (label, "cyan") if not number else " " * len(label), line)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield lines; a word that is longer, as a path or command, is not broken."""
    for line in text.splitlines() or [""]:
        yield from textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]


def _write_sum(paper: Paper, diagnosis: Diagnosis, width: int) -> None:
    faults, warnings = diagnosis.count(State.FAULT), diagnosis.count(State.WARNING)
    style = "bold red" if faults else "bold yellow" if warnings else "green"
    paper.line(
        (f"{_count(faults, 'fault')}, {_count(warnings, 'warning')}", style),
        f", {diagnosis.count(State.OK)} ok, {diagnosis.count(State.NOT_CHECKED)} not checked.",
    )
    bugs = sum(finding.is_bug for finding in diagnosis.findings)
    if bugs:
        paper.line((f"{_count(bugs, 'check')} broke", "bold red"), ", which is a bug in datum; please report it.")
    shut = [finding.check for finding in diagnosis.findings if finding.needs_root]
    if shut:
        names = ", ".join(dict.fromkeys(shut))
        for line in _wrapped(f"As root datum doctor also checks {names}.", width):
            paper.line((line, "bold"))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
