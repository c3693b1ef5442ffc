"""`datum pause` and `datum resume`."""

import sys
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from datum.agent.pauses import in_words, names_nothing, what_of
from datum.agent.pausing import Paused, Resumed
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.problems import write_problems
from datum.diagnostics import Severity
from datum.model.json import JsonValue
from datum.model.moment import format_moment
from datum.model.pause import PauseState
from datum.report.as_json import diagnostic_to_json, pause_to_json


def show_pause(done: Paused, *, is_json: bool) -> None:
    """Show what is paused, until when, what that took the place of, and what goes on meanwhile."""
    warnings = _problem(done)
    warnings += [diagnostic_to_json(item) for item in names_nothing(done.unknown or ())]
    if is_json:
        print_json(_as_json(done, warnings))
        return
    settings, pause, where = done.settings, done.pause, done.settings.where
    paper = Paper()
    until = format_moment(pause.until)
    what = "is paused" if pause.is_whole else f"is paused in part: {what_of(pause)}"
    paper.line((str(settings.host), "bold"), f" {what} until ", (until, "bold"), f", by {pause.who}: {pause.reason}")
    rest = "nothing is changed" if pause.is_whole else "the rest is kept as declared"
    paper.line(f"Passes go on to observe and plan; {rest}.")
    if done.replaced is not None:
        paper.line(("replaced    ", "yellow"), in_words(done.replaced))
    if done.replaced_damaged:
        paper.line(("replaced    ", "yellow"), "a pause that could not be read")
    if done.running is not None:
        running = done.running
        paper.line(
            ("running     ", "bold yellow"),
            f"a pass of process {running.pid} runs since {running.started_at} and goes on to its end: {running.stage}",
        )
    if done.unknown is None:
        paper.line(("not checked ", "yellow"), "whether anything declares what it names")
    paper.line("It ends by itself, or with ", (f"datum resume{where}", "bold"), ".")
    paper.print_to(sys.stdout)
    _print_problems(warnings)


def _problem(done: Paused | Resumed) -> list[Mapping[str, Any]]:
    """Return why no pass begins here, whatever a pause says."""
    problem = done.pointer_problem
    return [] if problem is None else [diagnostic_to_json(evolve(problem, severity=Severity.WARNING))]


def _print_problems(warnings: list[Mapping[str, Any]]) -> None:
    problems = Paper()
    write_problems(problems, warnings)
    problems.print_to(sys.stderr)


def _as_json(done: Paused, warnings: list[Mapping[str, Any]]) -> Mapping[str, JsonValue]:
    running = done.running
    return {
        "schema_version": 1,
        "host": str(done.settings.host),
        "pause": pause_to_json(done.pause),
        "replaced": pause_to_json(done.replaced),
        "is_replaced_damaged": done.replaced_damaged,
        "running": {"pid": running.pid, "stage": running.stage, "started_at": running.started_at} if running else None,
        "diagnostics": warnings,
    }


def show_resume(done: Resumed, *, is_json: bool) -> None:
    """Show what was ended, and what comes next."""
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "host": str(done.settings.host),
                "ended": pause_to_json(done.ended),
                "state": str(done.state) if done.state else None,
                "was_damaged": done.was_damaged,
                "diagnostics": _problem(done),
            }
        )
        return
    paper = Paper()
    host = (str(done.settings.host), "bold")
    if done.was_damaged:
        paper.line(host, " is no longer kept from being changed: a pause that could not be read is gone.")
    elif done.ended is None:
        paper.line(host, " was not paused.")
    elif done.state is PauseState.IN_FORCE:
        paper.line(host, f" is not paused any more. {in_words(done.ended)}")
    else:
        paper.line(host, f" was not paused any more; what was left of a pause is gone. {in_words(done.ended)}")
    if done.pointer_problem is None and (done.was_damaged or done.state is PauseState.IN_FORCE):
        paper.line("Next: ", (f"datum apply{done.settings.where}", "bold"), ", or the next pass of the timer.")
    paper.print_to(sys.stdout)
    _print_problems(_problem(done))
