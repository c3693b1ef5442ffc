"""What failed the same way in one pass after the other, as far as reports lie there.

Effects: reads the folder of reports. For people alone: no pass reads a report (design 1.5).
"""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from datum.agent.reports import list_reports
from datum.report.alike import FAILURES, Reason, reason_of

LOOKED_BACK: Final = 1000
"""Reports that are read at most."""


@frozen
class Repeat:
    """Resources that failed alike in the newest pass, and in the same passes before it."""

    resources: tuple[str, ...]
    reason: Reason
    # How many passes in a row; there may have been more where `is_cut`.
    passes: int
    # When the first of them began, ISO 8601.
    since: str
    is_cut: bool


@frozen
class _Run:
    """How far back one resource failed the same way."""

    reason: Reason
    passes: int
    since: str
    is_open: bool = True


def find_repeats(folder: Path) -> tuple[Repeat, ...]:
    """Return what failed in the newest pass and in the one before it for the same reason, longest first.

    Passes that ended before there were results neither count nor interrupt.
    """
    reports = islice(_reports(folder), LOOKED_BACK)
    newest = next(reports, None)
    if newest is None:
        return ()
    runs = {name: _Run(reason, 1, _started(newest)) for name, reason in _failures(newest).items()}
    for older in reports:
        if not any(run.is_open for run in runs.values()):
            break
        runs = _further(runs, older)
    return _grouped({name: run for name, run in runs.items() if run.passes > 1})


def _further(runs: Mapping[str, _Run], older: Mapping[str, Any]) -> dict[str, _Run]:
    before = _failures(older)
    found = {}
    for name, run in runs.items():
        reason = before.get(name)
        if run.is_open and reason is not None and reason.roughly == run.reason.roughly:
            found[name] = _Run(run.reason, run.passes + 1, _started(older))
        else:
            found[name] = _Run(run.reason, run.passes, run.since, is_open=False)
    return found


def _grouped(runs: Mapping[str, _Run]) -> tuple[Repeat, ...]:
    groups: dict[_Run, list[str]] = {}
    for name, run in runs.items():
        groups.setdefault(run, []).append(name)
    found = [
        Repeat(tuple(names), run.reason, run.passes, run.since, is_cut=run.passes >= LOOKED_BACK)
        for run, names in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.passes, one.resources)))


def _reports(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the reports of passes that came to results, newest first; one that cannot be read says nothing."""
    for known in reversed(list_reports(folder)):
        try:
            report = json.loads(known.path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(report, dict) and report.get("counts"):
            yield report


def _failures(report: Mapping[str, Any]) -> dict[str, Reason]:
    """Return why each resource failed that did; the first reason of one that has several."""
    found: dict[str, Reason] = {}
    resources = report.get("resources")
    for resource in resources if isinstance(resources, list) else ():
        reason = reason_of(resource) if isinstance(resource, dict) else None
        if reason is not None and reason.outcome in FAILURES:
            found.setdefault(str(resource.get("id", "")), reason)
    return found


def _started(report: Mapping[str, Any]) -> str:
    return str(report.get("started", ""))
