"""`datum status`."""

import sys
from collections.abc import Mapping
from typing import Any, Final, cast

from datum.agent.commands import Standing
from datum.agent.repeats import Repeat
from datum.agent.status import Status
from datum.agent.wiring import enrol_line
from datum.cli.views.asking import enforcement_words, pause_line, took, who_asked
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.present import write_repeats, write_standing
from datum.cli.views.problems import write_problems
from datum.cli.views.resources import count_words
from datum.diagnostics import Diagnostic
from datum.model.manifest import Enforcement
from datum.model.pause import PauseState
from datum.model.pointer import Pointer
from datum.model.report import PassReport
from datum.report.as_json import diagnostic_to_json, location_to_json, pause_to_json, pointer_to_json

_PAUSES: Final = {
    PauseState.IN_FORCE: ("paused", "bold yellow"),
    PauseState.OVER: ("was paused", "dim"),
    PauseState.CLOCK_BEHIND: ("was paused", "bold yellow"),
}
_OF_NEWEST: Final = (
    "id",
    "outcome",
    "exit_code",
    "counts",
    "source",
    "stale",
    "trigger",
    "joined",
    "enforcement",
    "pause",
    "stages",
)
_PATHS: Final = 3
"""Paths that a line names."""


def show(status: Status, standing: Standing | None = None, *, is_json: bool) -> None:
    """Show where a host stands, and where it was looked at each of its resources."""
    repeats = [_repeat(one) for one in status.repeats]
    if is_json:
        print_json({**_as_json(status), "repeats": repeats, **_standing_json(standing)})
        return
    paper = Paper()
    settings = status.settings
    paper.line((str(settings.host), "bold"), f" follows {settings.ref} of {settings.repo}")
    if status.pointer is None:
        paper.line(("not enrolled", "bold red"), f"; {_contact(status)}")
    else:
        _write_pointer(paper, status.pointer, settings.where)
    if status.pointer_problem is not None:
        write_problems(paper, [diagnostic_to_json(status.pointer_problem)])
    _write_mode(paper, status)
    _write_running(paper, status)
    if status.newest:
        _write_newest(paper, status.newest)
    elif status.newest_problem is None:
        paper.line(("last pass   ", "dim"), "no report yet")
    else:
        paper.line(("last pass   ", "dim"), ("not known", "yellow"))
        write_problems(paper, [diagnostic_to_json(status.newest_problem)])
    _write_next(paper, status)
    write_repeats(paper, repeats)
    if standing is not None:
        _write_standing(paper, standing, is_running=status.running is not None)
    paper.print_to(sys.stdout)


def _write_next(paper: Paper, status: Status) -> None:
    """Write when the timer begins a pass, or that it does not."""
    label = ("next pass   ", "dim")
    if status.timer == "disabled":
        when = f"{status.next_pass}; " if status.next_pass else ""
        paper.line(label, when, ("datum.timer is disabled: none after a boot", "yellow"))
    elif status.timer:
        paper.line(label, (f"none by itself: datum.timer is {status.timer}", "yellow"))
    elif status.next_pass:
        paper.line(label, status.next_pass)


def _contact(status: Status) -> str:
    """Return what enrols a host that has no pointer."""
    anchor = status.settings.anchor
    if status.makes_contact and anchor is not None:
        return f"the first pass makes contact, with {anchor.short} or what descends from it"
    if status.pointer_problem is not None:
        return "its state may be lost"
    return enrol_line(status.settings)


def _write_mode(paper: Paper, status: Status) -> None:
    """Write what keeps this host from being changed: its configuration, the fleet, or a person."""
    settings = status.settings
    own = {"mode": str(settings.enforcement), "location": location_to_json(settings.enforcement_at)}
    newest = status.newest or {}
    words = enforcement_words(own) or enforcement_words(newest.get("enforcement"))
    if words:
        paper.line(("enforcement ", "yellow"), words, "" if enforcement_words(own) else ", in the newest pass")
    if status.pause_problem is not None:
        write_problems(paper, [diagnostic_to_json(status.pause_problem)])
    if status.pause is None or status.pause_state is None:
        return
    label, style = _PAUSES[status.pause_state]
    paper.line((f"{label:<12}", style), pause_line(cast("Mapping[str, Any]", pause_to_json(status.pause))))
    if status.pause_state is PauseState.IN_FORCE:
        paper.line("            ends by itself, or with ", (f"datum resume{settings.where}", "bold"))
        write_problems(paper, [diagnostic_to_json(status.pause_warning)] if status.pause_warning else [])
    elif status.pause_state is PauseState.CLOCK_BEHIND:
        paper.line("            not in force: the clock is before its begin")
    else:
        paper.line("            not in force any more; ", (f"datum resume{settings.where}", "bold"), " removes it")


def _write_running(paper: Paper, status: Status) -> None:
    """Write what the running pass does, and for how long it has."""
    running = status.running
    if running is None:
        return
    whole, part = map(took, status.elapsed or (0.0, 0.0))
    asked = f", asked by {running.asked_by}" if running.asked_by else ""
    paper.line(("running     ", "cyan"), f"pass of process {running.pid}, since {running.started_at} ({whole}){asked}")
    paper.line("            ", f"{running.stage}{f' {running.action}' if running.action else ''} ({part})")


def _write_standing(paper: Paper, standing: Standing, *, is_running: bool) -> None:
    if is_running:
        paper.line(("A pass is running", "cyan"), ": what follows was seen while it changes this host.")
    if standing.resources is None:
        problems = dict.fromkeys((*standing.report.source.diagnostics, *standing.report.diagnostics))
        write_problems(paper, [diagnostic_to_json(item) for item in problems])
        paper.line(("Its resources are not known", "bold red"), f": {standing.report.outcome}.")
        return
    write_standing(paper, [one for one in standing.resources if isinstance(one, Mapping)], would=_would(standing))


def _would(standing: Standing) -> str:
    """Return how a pass comes to change what it finds: a pause of the whole host, or its mode, keeps it from that."""
    report = standing.report
    if report.pause is not None and report.pause.is_whole:
        return "after the pause a pass would"
    return "a pass would, were it not for 'enforcement: observe'," if _observes(report) else "a pass would"


def _observes(report: PassReport) -> bool:
    return report.enforcement.mode is Enforcement.OBSERVE


def _standing_json(standing: Standing | None) -> Mapping[str, Any]:
    if standing is None:
        return {}
    report = standing.report
    return {
        "observed": {
            "started": report.started,
            "revision": str(report.target) if report.target else None,
            "outcome": str(report.outcome),
            "diagnostics": [diagnostic_to_json(item) for item in report.diagnostics],
        },
        "resources": standing.resources,
    }


def _repeat(one: Repeat) -> Mapping[str, Any]:
    return {
        "resources": list(one.resources),
        "outcome": one.reason.outcome,
        "codes": [saying.code for saying in one.reason.sayings],
        "reason": one.reason.in_short,
        "passes": one.passes,
        "since": one.since,
        "is_cut": one.is_cut,
    }


def _write_pointer(paper: Paper, pointer: Pointer, where: str) -> None:
    enforced = pointer.enforced
    paper.line(
        ("enforced    ", "dim"), enforced.revision.key if enforced else f"nothing yet; datum apply{where} begins"
    )
    if pointer.accepted:
        paper.line(("accepted    ", "dim"), pointer.accepted.key)
    paper.line(("converged   ", "dim"), pointer.converged.key if pointer.converged else "never")
    if len(pointer.trail) > 1:
        paper.line(("trail       ", "dim"), f"{len(pointer.trail)} revisions may still have something on this host")
    for revision in pointer.quarantined:
        paper.line(("quarantined ", "yellow"), revision.key)


def _write_newest(paper: Paper, newest: Mapping[str, Any]) -> None:
    outcome = str(newest.get("outcome", "unknown"))
    counts = newest.get("counts")
    sums = count_words(counts) if isinstance(counts, Mapping) else ""
    style = "green" if outcome == "converged" else "bold red"
    paper.line(
        ("last pass   ", "dim"),
        f"{newest.get('id', '?')} ",
        (outcome.replace("_", " "), style),
        f": {sums}" if sums else "",
    )
    if who := who_asked(newest.get("trigger")):
        paper.line(("asked by    ", "dim"), who)
    _write_unresolved(paper, newest)
    _write_stale(paper, newest)
    source = _source(newest)
    if source is not None:
        status = str(source.get("status", "unknown"))
        names = f", names {source['revision']}" if source.get("revision") else ""
        style = "" if status in {"ok", "not_asked"} else "yellow"
        paper.line(("source      ", "dim"), (status.replace("_", " "), style), f" in that pass{names}")


def _write_unresolved(paper: Paper, newest: Mapping[str, Any]) -> None:
    """Write what that pass could not know; a report is data of a file, and may be damaged."""
    found = newest.get("diagnostics")
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping) and item.get("code") == "trail-unresolved":
            paper.line(("unknown     ", "magenta"), str(item.get("detail", "")))


def _write_stale(paper: Paper, newest: Mapping[str, Any]) -> None:
    """Write what that pass left running with what it read before a change; a report may be damaged."""
    for entry in _maps(newest.get("stale")):
        paths = [str(one.get("path", "")) for one in _maps(entry.get("inputs"))]
        more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
        words = f"{entry.get('id', '?')} was started before {', '.join(paths[:_PATHS])}{more} changed"
        paper.line(("stale       ", "yellow"), words)


def _maps(found: object) -> list[Mapping[str, Any]]:
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _source(newest: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what asking the source gave when it was last asked; a report is data of a file, and may be damaged."""
    source = newest.get("source")
    return source if isinstance(source, Mapping) else None


def _problem_json(problem: Diagnostic | None) -> Mapping[str, Any] | None:
    return None if problem is None else diagnostic_to_json(problem)


def _as_json(status: Status) -> Mapping[str, Any]:
    running = status.running
    newest = status.newest or {}
    elapsed = status.elapsed or (0.0, 0.0)
    settings = status.settings
    problem = status.pause_problem
    return {
        "schema_version": 1,
        "host": str(status.settings.host),
        "repo": status.settings.repo,
        "ref": status.settings.ref,
        "pointer": pointer_to_json(status.pointer),
        "running": {
            "pid": running.pid,
            "stage": running.stage,
            "action": running.action,
            "started_at": running.started_at,
            "asked_by": running.asked_by,
            "elapsed": round(elapsed[0], 3),
            "elapsed_in_action": round(elapsed[1], 3),
        }
        if running
        else None,
        "enforcement": {
            "mode": str(settings.enforcement),
            "location": location_to_json(settings.enforcement_at),
        },
        "next_pass": status.next_pass or None,
        "timer": status.timer or None,
        "pointer_problem": _problem_json(status.pointer_problem),
        "newest_problem": _problem_json(status.newest_problem),
        "pause": pause_to_json(status.pause),
        "pause_state": "damaged" if problem else str(status.pause_state) if status.pause_state else None,
        "pause_problem": _problem_json(problem),
        "pause_warning": _problem_json(status.pause_warning),
        "newest": {key: newest.get(key) for key in _OF_NEWEST} if newest else None,
    }
