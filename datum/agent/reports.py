"""Where reports lie, which are kept, and how they are read again (design 1.5).

Effects: the folder of reports. Nothing a pass decides depends on them; one that cannot be written goes, shortened, to
stderr, which the journal keeps.
"""

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import DatumError, ExitCode, PermissionRefusedError, StateError, UsageError
from datum.model.json import JsonValue, compact_json
from datum.model.report import PassReport, ResourceReport
from datum.model.result import PassOutcome
from datum.report.as_json import report_to_json
from datum.state.folders import make_folders, replacing

QUIET_KEPT: Final = 20
"""Reports of passes with nothing to do that are kept."""

LOUD_DAYS: Final = 90
"""Days for which reports of passes that changed or failed are kept."""

LEFT: Final = "left.json"
"""What `datum leave` writes beside the reports: those that it names are of an enrolment that was ended on purpose."""

_SUFFIX: Final = ".json"
# More than any process id (proc(5), pid_max).
_BEYOND_PIDS: Final = 10_000_000
_PART: Final = ".report.part"


@frozen
class KnownReport:
    """One report on disk, as far as its name and size tell."""

    path: Path
    id: str
    outcome: str
    is_quiet: bool
    size: int
    # When it was written, by a clock that `write_report` does not let go backward; and its id.
    order: tuple[int, str]


def write_report(folder: Path, report: PassReport, *, limit: int, complain: Callable[[str], None]) -> Path | None:
    """Write one report and let old ones go.

    Args:
        folder: made where it is missing; group-readable.
        report: the report.
        limit: bytes that all reports together may take.
        complain: takes the shortened report when it cannot be written.

    Returns:
        Where it lies; None when it could not be written.
    """
    quiet = "quiet" if is_quiet(report) else "loud"
    path = folder / f"{report.id}.{report.outcome}.{quiet}{_SUFFIX}"
    data = compact_json(report_to_json(without_private(report))).encode()
    try:
        make_folders(folder, mode=0o750)
        known = list_reports(folder)
        # One name for all: what a killed pass left is gone with the next report.
        # A group reads reports.
        with replacing(path, mode=0o640, temporary=folder / _PART) as stream:
            stream.write(data)
            stream.flush()
            newest = max((one.order[0] for one in known), default=0)
            order = set_after(stream.fileno(), newest)
    except OSError as error:
        complain(f"the report cannot be written below {folder} ({error.strerror}); in short: {shorten(report)}")
        return None
    try:
        new = KnownReport(path, report.id, str(report.outcome), is_quiet(report), len(data), (order, report.id))
        _evict([*(one for one in known if one.path != path), new], report.started, limit)
    except OSError as error:
        complain(f"an old report below {folder} cannot be removed ({error.strerror})")
    return path


def with_own_id(folder: Path, report: PassReport) -> PassReport:
    """Return the report under an id that no other report has, whatever the clock said when it began.

    A clock that was set back, or begins anew at each boot, can bring the same second and the same process id again.
    """
    moment, _, pid = report.id.partition("-")
    number = int(pid)
    while any(folder.glob(f"{report.id}.*")):
        number += _BEYOND_PIDS
        report = evolve(report, id=f"{moment}-{number}")
    return report


def set_after(descriptor: int, newest: int) -> int:
    """Let a file be newer than a time in nanoseconds, since the clock may have been set back; return its time."""
    found = os.fstat(descriptor).st_mtime_ns
    if found <= newest:
        os.utime(descriptor, ns=(found, newest + 1))
    return max(found, newest + 1)


def without_private(report: PassReport) -> PassReport:
    """Return the report without the diffs of files that not everybody may read: a group reads reports."""
    resources = tuple(map(_without_private, report.resources))
    return evolve(report, resources=resources)


def _without_private(resource: ResourceReport) -> ResourceReport:
    if not any(change.is_private for change in resource.changes):
        return resource
    changes = (evolve(change, diff="") if change.is_private else change for change in resource.changes)
    return evolve(resource, changes=tuple(changes))


def is_quiet(report: PassReport) -> bool:
    """Whether the pass had nothing to do and left nothing."""
    return report.outcome is PassOutcome.CONVERGED and not report.resources and report.exit_code == ExitCode.OK


def shorten(report: PassReport) -> str:
    """Return what matters of a report in one line."""
    counts = " ".join(f"{outcome}={count}" for outcome, count in report.counts.items())
    target = report.target.short if report.target else "nothing"
    return f"{report.id} {report.host} {report.outcome} at {target} exit {report.exit_code} {counts}".rstrip()


def read_report(folder: Path, wanted: str) -> Mapping[str, JsonValue]:
    """Return a report by the beginning of its id, or the newest.

    Raises:
        UsageError: there is none, or several fit.
        StateError: `report-damaged`; or `report-unreadable`: it, or the folder, cannot be read.
        PermissionRefusedError: the caller may not read it.
    """
    try:
        path = _fitting(folder, wanted)
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(Path(error.filename or folder), error) from error
    try:
        value = json.loads(data)
    except ValueError as error:
        raise damaged_report(f"{path}: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise damaged_report(f"{path}: it is no report")
    return value


def _fitting(folder: Path, wanted: str) -> Path:
    fitting = [item for item in find_reports(folder) if item.id.startswith(wanted)]
    known = [item for item in fitting if item.id == wanted] or fitting
    if not known:
        raise UsageError(
            Diagnostic(
                code="no-such-report",
                summary="There is no such report.",
                detail=f"No report '{wanted}' lies in {folder}." if wanted else f"No report lies in {folder}.",
                hint="datum status names the newest; each pass writes one",
            )
        )
    if wanted and len({item.id for item in known}) > 1:
        raise UsageError(
            Diagnostic(
                code="report-ambiguous",
                summary="Several reports fit.",
                detail=f"{len(known)} reports begin with '{wanted}'; the newest of them is {known[-1].id}.",
                hint="say more of the id",
            )
        )
    return known[-1].path


def _unreadable(path: Path, error: OSError) -> DatumError:
    found = Diagnostic(
        code="report-unreadable",
        summary="What a pass came to cannot be read.",
        detail=f"{path}: {error.strerror}.",
        hint="run it as root, or as a member of the group of the reports; else check the disk",
        location=SourceLocation(str(path)),
    )
    is_refused = isinstance(error, PermissionError) and os.geteuid() != 0
    return PermissionRefusedError(found) if is_refused else StateError(found)


def damaged_report(why: str) -> StateError:
    """Return the error on a report that cannot be used; `why` is the beginning of a sentence."""
    return StateError(
        Diagnostic(
            code="report-damaged",
            summary="The report cannot be read.",
            detail=f"{why}.",
            hint="no pass depends on it; delete it",
        )
    )


def list_reports(folder: Path) -> list[KnownReport]:
    """Return what lies in the folder, oldest first; nothing when it cannot be read."""
    try:
        return find_reports(folder)
    except OSError:
        return []


def may_hold_reports(folder: Path) -> bool:
    """Whether reports lie in a folder, or that cannot be told."""
    try:
        return bool(find_reports(folder))
    except OSError:
        return True


def find_reports(folder: Path) -> list[KnownReport]:
    """Return what lies in the folder, oldest first; nothing where there is no such folder.

    Raises:
        OSError: the folder cannot be read, so what lies there is not known.
    """
    try:
        with os.scandir(folder) as entries:
            found = [one for entry in entries if (one := _known(entry)) is not None]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda item: item.order)


def _known(entry: "os.DirEntry[str]") -> KnownReport | None:
    """Return a report; None for what is none, or was removed meanwhile."""
    parts = entry.name.split(".")
    if not entry.name.endswith(_SUFFIX) or len(parts) != 4 or not parts[0]:  # noqa: PLR2004
        return None
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    order = (status.st_mtime_ns, parts[0])
    return KnownReport(Path(entry.path), parts[0], parts[1], parts[2] == "quiet", status.st_size, order)


def _evict(known: list[KnownReport], now: str, limit: int) -> None:
    """Delete by significance; the newest, and the newest of each outcome, stay whatever the limit says."""
    kept_for_ever = {item.path for item in {item.outcome: item for item in known}.values()}
    kept_for_ever |= {item.path for item in known[-1:]}
    floor = _days_before(now, LOUD_DAYS)
    quiet = [item for item in known if item.is_quiet]
    old = quiet[:-QUIET_KEPT] + [item for item in known if not item.is_quiet and item.id < floor]
    going = [item for item in old if item.path not in kept_for_ever]
    staying = [item for item in known if item not in going]
    total = sum(item.size for item in staying)
    for item in sorted(staying, key=lambda item: (not item.is_quiet, item.id)):
        if total > limit and item.path not in kept_for_ever:
            going.append(item)
            total -= item.size
    for item in going:
        item.path.unlink(missing_ok=True)


def _days_before(now: str, days: int) -> str:
    """Return the beginning of an id that many days before an ISO 8601 time."""
    from datetime import datetime, timedelta

    moment = datetime.fromisoformat(now) - timedelta(days=days)
    return moment.strftime("%Y%m%dT%H%M%SZ")
