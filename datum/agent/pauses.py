"""What a pass says of the pause that it found. Pure."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from datum.agent.desired import Wanted
from datum.agent.settings import Settings
from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.model.identity import ResourceId
from datum.model.moment import format_moment
from datum.model.pause import Pause, PauseState
from datum.planner.inputs import Declaration, Unresolved

TOLD_FOR: Final = 24 * 3600
"""Seconds for which passes tell that a pause has ended; `datum status` tells it for as long as its file lies there."""

NAMED: Final = 5
"""Resources that one sentence names."""


def pause_words(
    pause: Pause | None,
    now: int,
    wanted: Wanted,
    trail: tuple[Declaration | Unresolved, ...],
    settings: Settings,
    types: Collection[str],
) -> Iterator[Diagnostic]:
    """Yield what a person should know of a pause.

    Args:
        pause: as it was found, in force or not; None where there is none.
        now: the moment of the pass, in seconds since 1970.
        wanted: what the target wants.
        trail: what older revisions declared.
        settings: of this host.
        types: that there are.
    """
    where = settings.where
    if pause is None:
        return
    match pause.state(now):
        case PauseState.IN_FORCE:
            yield _in_force(pause, where)
            older = (origin for entry in trail if isinstance(entry, Declaration) for origin in entry.nodes)
            yield from names_no_type(pause, types, settings.pause_path, where)
            unknown = pause.unknown([*wanted.graph.nodes, *older])
            yield from names_nothing(tuple(one for one in unknown if one.type in types))
        case PauseState.OVER:
            if now < pause.until + TOLD_FOR:
                yield _over(pause, where)
        case PauseState.CLOCK_BEHIND:
            yield _clock_behind(pause, now, where)


def in_words(pause: Pause) -> str:
    """Return who keeps what from being changed, since when, until when, and why."""
    since, until = format_moment(pause.since), format_moment(pause.until)
    return f"{pause.who} paused {what_of(pause)} at {since} until {until}: {pause.reason.rstrip('.')}."


def what_of(pause: Pause) -> str:
    """Return what is paused, in words."""
    return "the whole host" if pause.is_whole else _some(pause.only)


def names_nothing(unknown: tuple[ResourceId, ...]) -> Iterator[Diagnostic]:
    """Yield a warning where a pause names what nothing declares: a typing error would keep nothing from being done."""
    if unknown:
        yield Diagnostic(
            code="pause-names-nothing",
            severity=Severity.WARNING,
            summary="The pause names what nothing declares.",
            detail=f"No revision that this host enforces, or may still have something of, declares {_some(unknown)}.",
            hint="datum status --resources lists what is declared; datum pause puts another pause in the place of this",
        )


def names_no_type(pause: Pause, types: Collection[str], path: Path, where: str) -> Iterator[Diagnostic]:
    """Yield a warning where a pause names resources of a type that there is none of; `datum pause` makes no such one.

    Args:
        pause: as it was found.
        types: that there are.
        path: of its file.
        where: the options that lead another command here.
    """
    wrong = tuple(one for one in pause.only if one.type not in types)
    if wrong:
        yield Diagnostic(
            code="pause-names-no-type",
            severity=Severity.WARNING,
            summary="The pause names resources of no type that there is.",
            detail=f"{_some(wrong)}: nothing is paused by that. The types are {', '.join(sorted(types))}.",
            hint=f"correct 'only' in {path}; or datum pause{where} puts another pause in the place of this",
            location=SourceLocation(str(path)),
        )


def _some(origins: Iterable[ResourceId]) -> str:
    names = [str(origin) for origin in origins]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _in_force(pause: Pause, where: str) -> Diagnostic:
    result = "Nothing is changed meanwhile." if pause.is_whole else "The rest is kept as declared."
    return Diagnostic(
        code="paused",
        severity=Severity.NOTE,
        summary="A pause is in force.",
        detail=f"{in_words(pause)} {result}",
        hint=f"datum resume{where} ends it",
    )


def _over(pause: Pause, where: str) -> Diagnostic:
    return Diagnostic(
        code="pause-over",
        severity=Severity.NOTE,
        summary="A pause has ended by its time.",
        detail=f"{in_words(pause)} Passes change this host again.",
        hint=f"datum resume{where} removes what is left of it",
    )


def _clock_behind(pause: Pause, now: int, where: str) -> Diagnostic:
    return Diagnostic(
        code="pause-clock",
        severity=Severity.WARNING,
        summary="The clock is before the begin of a pause, so that is not in force.",
        detail=f"{in_words(pause)} It is {format_moment(now)} now: how long the pause lasted already is not known.",
        hint=f"set the clock right; datum pause{where} makes another pause",
    )
