"""Who asked for a pass, how far it went and who said so, what was paused, and what took its time.

Works on reports as JSON, those that lie on a disk included: what is missing, or of the wrong kind, is not told.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper
from datum.cli.views.problems import place_of

SLOW: Final = 1.0
"""Seconds from which on an action is named for its time."""

_NAMED: Final = 3
_MINUTE: Final = 60
_LONG: Final = 10


def who_asked(asked: object) -> str:
    """Return `timer`, `boot`, `operator alice`; empty where nothing is said."""
    if not isinstance(asked, Mapping) or not asked.get("kind"):
        return ""
    return " ".join(str(asked[key]) for key in ("kind", "who") if asked.get(key))


def write_asked(paper: Paper, report: Mapping[str, Any]) -> None:
    """Write what made a pass begin, and each request that it answered as well."""
    if who := who_asked(report.get("trigger")):
        paper.line(("asked by ", "dim"), who)
    joined = report.get("joined")
    for one in joined if isinstance(joined, list) else ():
        if isinstance(one, Mapping):
            at = f" at {one['asked_at']}" if one.get("asked_at") else ""
            pid = f" (process {one['pid']})" if one.get("pid") else ""
            paper.line(("also requested by ", "dim"), f"{who_asked(one) or 'somebody'}{at}{pid}")


def write_enforcement(paper: Paper, report: Mapping[str, Any]) -> None:
    """Write how far a pass went where that is not all the way, and who says so."""
    if words := enforcement_words(report.get("enforcement")):
        paper.line(("enforcement ", "yellow"), words)


def enforcement_words(said: object) -> str:
    """Return a mode that is no `enforce`, and where it is said; empty for any other."""
    if not isinstance(said, Mapping) or said.get("mode") in {None, "enforce"}:
        return ""
    location = said.get("location")
    return f"{said['mode']}{f', says {place_of(location)}' if isinstance(location, Mapping) else ''}"


def pause_line(pause: Mapping[str, Any]) -> str:
    """Return a pause in one line."""
    only = pause.get("only")
    what = f" ({', '.join(map(str, only))})" if isinstance(only, Sequence) and only else ""
    return f"until {pause.get('until', '?')} by {pause.get('who', '?')}{what}: {pause.get('reason', '?')}"


def write_times(paper: Paper, report: Mapping[str, Any]) -> None:
    """Write how long each stage took, and the actions that took longest."""
    stages = report.get("stages")
    if isinstance(stages, Mapping) and stages:
        paper.line(("stages ", "dim"), ", ".join(f"{name} {took(seconds)}" for name, seconds in stages.items()))
    slow = [one for one in report["resources"] if one["duration"] >= SLOW]
    for one in sorted(slow, key=lambda one: -one["duration"])[:_NAMED]:
        paper.line(("slow   ", "dim"), f"{one['operation']} {one['id']} {took(one['duration'])}")


def took(seconds: float) -> str:
    """Return a time in a form that people read: `0.12 s`, `34 s`, `2 min 5 s`."""
    if seconds < _LONG:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
