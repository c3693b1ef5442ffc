"""`datum pause` and `datum resume`: a person keeps passes from changing this host, for a time (design 4.4).

Neither waits for a pass: one that runs goes on to its end, and that is said. Effects: `pause.yaml`.
"""

import os
import re
from collections.abc import Collection, Sequence
from typing import Final

from attrs import frozen

from datum.agent.commands import declared_here
from datum.agent.first_contact import load_pointer
from datum.agent.pause_file import encode_pause, load_pause
from datum.agent.pauses import in_words
from datum.agent.ports import Ports
from datum.agent.settings import Options, Settings, read_settings
from datum.agent.wiring import own_pointer
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, PermissionRefusedError, SettingsError, StateError, UsageError
from datum.model.identity import ResourceId
from datum.model.pause import LONGEST, Pause, PauseState, in_force
from datum.state.pause import remove_pause, write_pause_bytes
from datum.state.progress import Progress, read_progress

REASON_LENGTH: Final = 500
"""Characters of a reason."""

_UNITS: Final = {"m": 60, "h": 3600, "d": 24 * 3600}
_DURATION: Final = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?", re.ASCII)


_TIMES: Final = "say --for 2h, --for 90m or --for 1d12h"
_FOR_LONGER: Final = "for longer say 'enforcement: observe' in the fleet or in agent.yaml, where everybody sees it"
# An option without a value is shown as the shell writes it.
_EMPTY: Final = "''"


@frozen
class Wish:
    """What `datum pause` was asked for."""

    reason: str
    # Like `2h`.
    duration: str
    only: tuple[str, ...] = ()


@frozen
class Paused:
    """What `datum pause` did."""

    settings: Settings
    pause: Pause
    # The one that it took the place of, in force or not.
    replaced: Pause | None
    # What was there could not be read.
    replaced_damaged: bool
    # The pass that runs now, and goes on.
    running: Progress | None
    # What it names and nothing declares here; None where that could not be found out.
    unknown: tuple[ResourceId, ...] | None = ()
    # Why no pass can use the pointer of this host.
    pointer_problem: Diagnostic | None = None


@frozen
class Resumed:
    """What `datum resume` did."""

    settings: Settings
    # What it removed; None where there was none, or it could not be read.
    ended: Pause | None
    state: PauseState | None
    was_damaged: bool
    pointer_problem: Diagnostic | None = None


def pause(options: Options, wish: Wish, ports: Ports) -> Paused:
    """Write a pause, in the place of the one that is there.

    Raises:
        UsageError: the reason, the time or a resource is none; or nothing declares any of the resources, and a pause is
            in force, which stays.
        SettingsError: the configuration is wrong, or this host is not enrolled.
        PermissionRefusedError: the caller is not root.
        StateError: it cannot be written.
    """
    seconds = read_duration(wish.duration)
    reason = _reason(wish.reason)
    only = read_only(wish.only, ports.providers)
    settings = read_settings(options)
    _require_root(settings)
    problem = _require_enrolled(settings)
    before, is_damaged = _known(settings)
    now = ports.now
    made = Pause(ports.trigger.who or str(os.getuid()), reason, now, now + seconds, only)
    unknown = _refuse_in_vain(settings, made, before, ports)
    write_pause_bytes(settings.pause_path, encode_pause(made))
    if unknown is None:
        unknown = _unknown(settings, made, ports)
    return Paused(settings, made, before, is_damaged, _running(settings), unknown, problem)


def resume(options: Options, ports: Ports) -> Resumed:
    """Remove the pause, whatever it is.

    Raises:
        SettingsError: the configuration is wrong.
        PermissionRefusedError: the caller is not root.
        StateError: it cannot be removed.
    """
    settings = read_settings(options)
    _require_root(settings)
    problem = _require_enrolled(settings)
    before, is_damaged = _known(settings)
    is_removed = remove_pause(settings.pause_path)
    ended = before if is_removed else None
    return Resumed(settings, ended, ended.state(ports.now) if ended else None, is_damaged and is_removed, problem)


def _refuse_in_vain(
    settings: Settings, made: Pause, before: Pause | None, ports: Ports
) -> tuple[ResourceId, ...] | None:
    """Return what a pause names and nothing declares; None where that was not looked for yet, or cannot be found out.

    Looked for before the pause is made only where another one keeps the host meanwhile.

    Raises:
        UsageError: nothing declares any of it: a typing error must not end a pause that holds something.
    """
    held = in_force(before, ports.now)
    if made.is_whole or held is None:
        return None
    unknown = _unknown(settings, made, ports)
    if unknown is None or len(unknown) < len(made.only):
        return unknown
    names = ", ".join(str(one) for one in unknown)
    raise _bad_resource(names, f"nothing declares this here, so the pause that is in force stays. {in_words(held)}")


def _known(settings: Settings) -> tuple[Pause | None, bool]:
    """Return the pause that is there, and whether there is one that cannot be read."""
    try:
        return load_pause(settings), False
    except SettingsError:
        return None, True


def _unknown(settings: Settings, made: Pause, ports: Ports) -> tuple[ResourceId, ...] | None:
    """Return what a pause names and nothing declares; the pause is made already, so nothing that fails here counts."""
    if made.is_whole:
        return ()
    try:
        declared = declared_here(settings, ports)
    except (DatumError, OSError):
        return None
    return made.unknown(declared) if declared is not None else None


def _running(settings: Settings) -> Progress | None:
    try:
        return read_progress(settings.state_dir)
    except OSError:
        return None


def _require_root(settings: Settings) -> None:
    if settings.is_running_system and os.geteuid() != 0:
        raise PermissionRefusedError(
            Diagnostic(
                code="not-root",
                summary="This needs root.",
                detail="Only root decides whether this host is kept as declared.",
                hint="run it as root, or with --root DIR against another root",
            )
        )


def _require_enrolled(settings: Settings) -> Diagnostic | None:
    """Refuse a host that no pass would change; return why no pass can use its pointer.

    A pointer that cannot be used keeps nobody from pausing: that is when a person wants to.

    Raises:
        SettingsError: this host is not enrolled.
    """
    try:
        is_enrolled = own_pointer(settings) is not None
    except StateError as error:
        return error.diagnostics[0]
    try:
        load_pointer(settings)
    except SettingsError as error:
        if not is_enrolled:
            raise
        return error.diagnostics[0]
    return None


def read_duration(text: str) -> int:
    """Return the seconds of a text like `90m`, `2h`, `1d` or `1d12h`.

    Raises:
        UsageError: it is none, nothing, or more than a pause may last.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise _bad_duration(text, "days, hours and minutes are expected, in that order: 1d12h, 2h, 90m")
    seconds = sum(int(count) * unit for count, unit in zip(match.groups("0"), reversed(_UNITS.values()), strict=True))
    if not seconds:
        raise _bad_duration(text, "that is no time at all")
    if seconds > LONGEST:
        most = LONGEST // _UNITS["d"]
        raise _bad_duration(text, f"a pause lasts {most} days at most, so that nobody forgets it", _FOR_LONGER)
    return seconds


def _bad_duration(text: str, what: str, hint: str = _TIMES) -> UsageError:
    return UsageError(
        Diagnostic(
            code="bad-duration",
            summary="This is no time for a pause.",
            detail=f"--for {text or _EMPTY}: {what}.",
            hint=hint,
        )
    )


def _reason(text: str) -> str:
    words = " ".join(text.split())
    if words and words.isprintable() and len(words) <= REASON_LENGTH:
        return words
    what = "is empty" if not words else f"has {len(words)} characters" if words.isprintable() else "is not printable"
    raise UsageError(
        Diagnostic(
            code="bad-reason",
            summary="This is no reason for a pause.",
            detail=f"--reason {what}; whoever finds this host paused reads it. At most {REASON_LENGTH} characters.",
            hint="say in a few words what is being done, and where one can ask",
        )
    )


def read_only(texts: Sequence[str], types: Collection[str]) -> tuple[ResourceId, ...]:
    """Return the resources of `--only`, sorted, each once; `TYPE:*` is every one of a type.

    Raises:
        UsageError: one is no resource, or of no type that there is.
    """
    found = set()
    for text in texts:
        try:
            text.encode()
            origin = ResourceId.parse(text)
            Pause.check_name(origin)
        except UnicodeEncodeError as error:
            raise _bad_resource(ascii(text), "it is not UTF-8, and no manifest can declare it") from error
        except ValueError as error:
            raise _bad_resource(text, f"{error}") from error
        if origin.type not in types:
            raise _bad_resource(text, f"there is no resource type '{origin.type}'")
        found.add(origin)
    return tuple(sorted(found))


def _bad_resource(text: str, what: str) -> UsageError:
    return UsageError(
        Diagnostic(
            code="bad-resource",
            summary="This names no resource.",
            detail=f"--only {text or _EMPTY}: {what.rstrip('.')}.",
            hint="datum status --resources lists the resources of this host",
        )
    )
