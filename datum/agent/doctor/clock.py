"""The clock: kept by something, equal to the source's, never behind the newest report.

Effects: asks the kernel.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from datum.agent.doctor.finding import Facts, Finding, counted, fault, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import without_rights
from datum.agent.reports import list_reports
from datum.host.clock import KernelClock, read_kernel_clock

_SYNCHRONIZE: Final = "timedatectl set-ntp true, or start chrony; timedatectl timesync-status says what it does"
# Seconds: a commit dated further ahead of the host waits (design 3.3); from the other one on it deserves a look.
AHEAD: Final = 600
_OFF: Final = 60
_MILLISECOND: Final = 1000


def look_at_kernel(_given: Given) -> Iterator[Finding]:
    """Ask the kernel."""
    yield judge_kernel(read_kernel_clock())


def look_at_reports(given: Given) -> Iterator[Finding]:
    """Compare with the newest report."""
    if not given.has_rights and given.reports_dir.exists() and not os.access(given.reports_dir, os.R_OK):
        yield without_rights("clock-of-reports", what=str(given.reports_dir))
        return
    yield judge_reports(given.ports.started, _newest(given))


def judge_kernel(clock: KernelClock) -> Finding:
    """Say whether something keeps the clock."""
    facts: Facts = {"is_synchronized": clock.is_synchronized, "maximal_error_microseconds": clock.maximal_error}
    if clock.is_synchronized:
        most = clock.maximal_error / _MILLISECOND
        return ok("clock-synchronized", f"The clock is synchronized, and off by {most:.0f} ms at most.", facts)
    return warning("clock-synchronized", "Nothing keeps the clock synchronized.", _SYNCHRONIZE, facts)


def _newest(given: Given) -> str:
    """Return when the newest report began; empty where there is none."""
    known = list_reports(given.reports_dir)
    return known[-1].id.partition("-")[0] if known else ""


def judge_reports(now: str, newest: str) -> Finding:
    """Say whether the newest report is of the past.

    Args:
        now: ISO 8601.
        newest: the beginning of a report's id; empty: there is none.
    """
    moment = moment_of(newest)
    if moment is None:
        return not_checked("clock-of-reports", "There is no report to compare with.")
    ahead = seconds_between(now, moment)
    facts: Facts = {"now": now, "newest_report": moment.isoformat()}
    if ahead > _OFF:
        return warning(
            "clock-of-reports",
            f"The newest report began {span(ahead)} from now: the clock was set back since.",
            f"look at the clock; {_SYNCHRONIZE}",
            facts,
        )
    return ok("clock-of-reports", "The newest report is of the past.", facts)


def judge_source(host: str, *, ahead: float, what: str) -> Finding:
    """Say how far the host's clock is from what the source says.

    Args:
        host: of the source, for the text.
        ahead: seconds by which the source is ahead of the host.
        what: the thing that says so, as `The clock of`.
    """
    facts: Facts = {"source_is_ahead_seconds": round(ahead)}
    text = f"{what} {host} is {span(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} that of this host."
    if abs(ahead) > AHEAD:
        return fault("clock-of-source", text, f"look which of both is right; {_SYNCHRONIZE}", facts, of=host)
    if abs(ahead) > _OFF:
        return warning("clock-of-source", text, f"look which of both is right; {_SYNCHRONIZE}", facts, of=host)
    return ok("clock-of-source", f"{what} {host} and that of this host agree.", facts, of=host)


def judge_commit(host: str, short: str, *, ahead: float) -> Finding:
    """Say whether the newest commit is of the past: only that much can be told where a source tells no time."""
    facts: Facts = {"commit_is_ahead_seconds": round(ahead)}
    if ahead > AHEAD:
        return warning(
            "clock-of-source",
            f"{short}, which {host} offers, is dated {span(ahead)} ahead of the clock of this host.",
            f"look whether this clock or that of the commit's author is wrong; {_SYNCHRONIZE}",
            facts,
            of=host,
        )
    return ok(
        "clock-of-source",
        f"{short}, which {host} offers, is not dated ahead of the clock of this host.",
        facts,
        of=host,
    )


def moment_of(text: str) -> datetime | None:
    """Return an ISO 8601 time, with or without its signs; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def seconds_between(earlier: str, later: datetime) -> float:
    """Return the seconds from one moment to another."""
    return (later - datetime.fromisoformat(earlier)).total_seconds()


def span(seconds: float) -> str:
    """Return seconds as people read them, in one unit."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}s"
    return counted(int(seconds), "second")
