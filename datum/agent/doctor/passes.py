"""What passes came to lately, and what they may do. Effects: reads reports and the pause."""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from datum.agent.doctor.clock import moment_of, seconds_between, span
from datum.agent.doctor.disk import size
from datum.agent.doctor.finding import Facts, Finding, State, counted, from_diagnostics, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import is_refusal, without_rights
from datum.agent.pause_file import load_pause
from datum.agent.pauses import names_no_type
from datum.agent.reports import list_reports, read_report
from datum.errors import PermissionRefusedError, SettingsError, StateError, UsageError
from datum.model.manifest import Enforcement
from datum.model.moment import format_moment
from datum.model.pause import Pause, PauseState
from datum.model.result import PassOutcome

NAMES: Final = ("pass-reports", "last-pass", "report-space")

# Seconds: the timer lets a pass begin every ten minutes, and a pass may last.
_OLD: Final = 6 * 3600
_GOOD: Final = frozenset({PassOutcome.CONVERGED, PassOutcome.WAITING, PassOutcome.PARTIAL, PassOutcome.PLANNED})
_LIMIT: Final = 256 << 20
_REPORT: Final = "datum report"


@frozen
class Reports:
    """What lies in the folder of reports."""

    count: int
    bytes: int
    # Beginning of the newest one's id, ISO 8601; empty where there is none.
    began: str = ""
    outcome: str = ""


def look(given: Given) -> Iterator[Finding]:
    """Look at the reports."""
    folder = given.reports_dir
    if folder.exists() and not given.has_rights and not _can_list(given):
        yield from (without_rights(name, what=str(folder)) for name in NAMES)
        return
    known = list_reports(folder)
    newest = known[-1] if known else None
    found = Reports(
        len(known),
        sum(each.size for each in known),
        newest.id.partition("-")[0] if newest else "",
        newest.outcome if newest else "",
    )
    yield judge_age(found, given.ports.started, is_enrolled=given.pointer is not None)
    yield _look_at_newest(given) or judge_outcome(found)
    yield judge_size(found, given.settings.report_bytes if given.settings else _LIMIT)


def _look_at_newest(given: Given) -> Finding | None:
    """Return why the newest report cannot be used; None where it can, or there is none."""
    try:
        read_report(given.reports_dir, "")
    except UsageError:
        return None
    except (PermissionRefusedError, StateError) as error:
        if is_refusal(error) and not given.is_root:
            return without_rights("last-pass", what=str(given.reports_dir))
        return from_diagnostics("last-pass", State.WARNING, error.diagnostics)
    return None


def _can_list(given: Given) -> bool:
    try:
        next(iter(given.reports_dir.iterdir()), None)
    except PermissionError:
        return False
    return True


def judge_age(found: Reports, now: str, *, is_enrolled: bool) -> Finding:
    """Say whether passes run at all."""
    moment = moment_of(found.began)
    if moment is None:
        if is_enrolled:
            return warning("pass-reports", "No pass wrote a report yet.", "datum apply; then look at the timer")
        return not_checked("pass-reports", "No pass ran here yet.")
    age = seconds_between(found.began, moment_of(now) or moment)
    facts: Facts = {"reports": found.count, "newest": moment.isoformat(), "age_seconds": round(age)}
    if age > _OLD:
        text = f"The newest report is {span(age)} old: no pass ran since, or none could write one."
        return warning("pass-reports", text, "systemctl list-timers datum.timer; journalctl -u datum.service", facts)
    return ok("pass-reports", f"{counted(found.count, 'report')}; the newest is {span(max(age, 0))} old.", facts)


def judge_outcome(found: Reports) -> Finding:
    """Say what the newest pass left."""
    if not found.outcome:
        return not_checked("last-pass", "There is no report.")
    facts: Facts = {"outcome": found.outcome}
    words = found.outcome.replace("_", " ")
    if found.outcome in _GOOD:
        return ok("last-pass", f"{words}.", facts)
    return warning("last-pass", f"{words}.", _REPORT, facts)


def judge_size(found: Reports, limit: int) -> Finding:
    """Say whether reports keep within their limit."""
    facts: Facts = {"bytes": found.bytes, "limit": limit}
    text = f"{size(found.bytes)} of {size(limit)}"
    if found.bytes > limit:
        cure = "raise reports.byte_limit in agent.yaml; the newest of each outcome are never removed"
        return warning("report-space", f"{text}: the next pass removes old ones.", cure, facts)
    return ok("report-space", f"{text}.", facts)


def look_at_enforcement(given: Given) -> Iterator[Finding]:
    """Look at the enforcement that the configuration says, and at a pause."""
    settings = given.settings
    if settings is None:
        yield not_checked("enforcement", "The configuration is wrong.")
        return
    try:
        pause = load_pause(settings)
    except SettingsError as error:
        if is_refusal(error) and not given.is_root:
            yield without_rights("enforcement", what=str(settings.pause_path))
            return
        yield from_diagnostics("enforcement", State.FAULT, error.diagnostics)
        return
    now = given.ports.now
    found = judge_enforcement(settings.enforcement, pause, now, given.where)
    if pause is not None and given.types_error is None and pause.state(now) is PauseState.IN_FORCE:
        for wrong in names_no_type(pause, given.ports.providers, settings.pause_path, given.where):
            also = from_diagnostics("enforcement", State.WARNING, (wrong,), found.facts)
            found = evolve(also, found=f"{found.found} {also.found}", cure=f"{found.cure}; {also.cure}")
    yield found


def judge_enforcement(enforcement: Enforcement, pause: Pause | None, now: int, where: str) -> Finding:
    """Say whether passes change this host.

    Args:
        enforcement: of the configuration; the fleet may be tighter.
        pause: as it was found.
        now: seconds since 1970.
        where: the options that lead another command here.
    """
    state = pause.state(now) if pause is not None else None
    facts: Mapping[str, str | None] = {
        "enforcement": str(enforcement),
        "pause": str(state) if state is not None else None,
        "paused_until": format_moment(pause.until) if pause is not None else None,
    }
    if pause is not None and state is PauseState.CLOCK_BEHIND:
        text = f"The clock is before the begin of a pause ({format_moment(pause.since)}), so that is not in force."
        return warning("enforcement", text, f"set the clock right; or datum resume{where} removes the pause", facts)
    if pause is not None and state is PauseState.IN_FORCE:
        what = "This host" if pause.is_whole else "A part of this host"
        text = f"{what} is paused by {pause.who} until {format_moment(pause.until)}: {pause.reason}."
        return warning("enforcement", text, f"datum resume{where} ends it", facts)
    if enforcement is not Enforcement.ENFORCE:
        text = f"agent.yaml says 'enforcement: {enforcement}'."
        return warning("enforcement", text, "remove it from agent.yaml to have revisions enforced", facts)
    return ok("enforcement", "Neither the configuration nor a pause keeps passes from changing this host.", facts)
