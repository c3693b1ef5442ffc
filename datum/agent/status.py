"""`datum status`: where this host stands, from what lies there; takes no lock and observes nothing."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.agent.first_contact import load_pointer, lost_state, unenrolled
from datum.agent.pause_file import load_pause
from datum.agent.pauses import names_no_type
from datum.agent.ports import Ports
from datum.agent.repeats import Repeat, find_repeats
from datum.agent.reports import read_report
from datum.agent.settings import Options, Settings, read_settings
from datum.agent.wiring import own_pointer
from datum.diagnostics import Diagnostic
from datum.errors import PermissionRefusedError, SettingsError, StateError, UsageError
from datum.model.json import JsonValue
from datum.model.pause import Pause, PauseState
from datum.model.pointer import Pointer
from datum.provider.host import Command, HostError
from datum.state.progress import Progress, read_progress

_TIMER: Final = "datum.timer"
_PROPERTIES: Final = ("LoadState", "UnitFileState", "ActiveState", "NextElapseUSecRealtime")
_SAID: Final = re.compile(r"\w+ (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC", re.ASCII)
# There while systemd is the service manager (sd_booted(3)).
_BOOTED: Final = Path("/run/systemd/system")


@frozen
class Status:
    """What `datum status` shows: from the pointer, the running pass and the newest report."""

    settings: Settings
    pointer: Pointer | None
    running: Progress | None
    # The newest report, as it lies there; None when there is none that can be read.
    newest: Mapping[str, JsonValue] | None
    # What failed in that pass as in those before it.
    repeats: tuple[Repeat, ...] = ()
    # The pause that lies there, and what it is now.
    pause: Pause | None = None
    pause_state: PauseState | None = None
    # Why one that is there cannot be read.
    pause_problem: Diagnostic | None = None
    # What one that is in force names and cannot pause.
    pause_warning: Diagnostic | None = None
    # Seconds that the running pass has lasted, and what it does now; on the clock of this boot.
    elapsed: tuple[float, float] | None = None
    # When the timer begins the next pass, ISO 8601 in UTC; empty where it does not, or that is not known.
    next_pass: str = ""
    # What keeps the timer from beginning passes, in systemd's word: `not-found`, `masked`, `inactive`, `failed`; or
    # `disabled`, which does so after the next boot. Empty: nothing, or that is not known.
    timer: str = ""
    # Why the newest report cannot be read; None where it can, or there is none.
    newest_problem: Diagnostic | None = None
    # Why a pass refuses the pointer that lies there.
    pointer_problem: Diagnostic | None = None
    # Whether a pass would enrol this host, which has no pointer, by the anchor of its configuration.
    makes_contact: bool = False


def status(options: Options, ports: Ports) -> Status:
    """Return where this host stands; takes no lock.

    Raises:
        SettingsError: the configuration is wrong.
        StateError: the pointer is damaged.
        PermissionRefusedError: the caller may not read the pointer.
    """
    settings = read_settings(options)
    pointer = own_pointer(settings)
    try:
        running = read_progress(settings.state_dir)
    except OSError:
        running = None
    found = _with_newest(Status(settings, pointer, running, None, find_repeats(settings.reports_dir)))
    found = evolve(
        found,
        makes_contact=pointer is None and _makes_contact(settings),
        pointer_problem=_lost(settings) if pointer is None else _pointer_problem(settings),
    )
    if running is not None:
        now = ports.monotonic()
        found = evolve(found, elapsed=(now - running.started, now - running.since))
    next_pass, timer = _next_pass(settings, ports)
    return _with_pause(evolve(found, next_pass=next_pass, timer=timer), ports)


def _with_newest(found: Status) -> Status:
    try:
        return evolve(found, newest=read_report(found.settings.reports_dir, ""))
    except UsageError:
        return found
    except (StateError, PermissionRefusedError) as error:
        return evolve(found, newest_problem=error.diagnostics[0])


def _pointer_problem(settings: Settings) -> Diagnostic | None:
    """Return why no pass begins with the pointer of this host, as one of another name."""
    try:
        load_pointer(settings)
    except SettingsError as error:
        return error.diagnostics[0]
    return None


def _lost(settings: Settings) -> Diagnostic | None:
    """Return what keeps a host that has no pointer from being enrolled as a fresh one: lost state."""
    error = unenrolled(settings)
    return error.diagnostics[0] if isinstance(error, StateError) else None


def _makes_contact(settings: Settings) -> bool:
    try:
        return settings.anchor is not None and lost_state(settings) is None
    except StateError:
        return False


def _next_pass(settings: Settings, ports: Ports) -> tuple[str, str]:
    """Return when the timer elapses next, and what keeps it from that.

    Status is shown whatever keeps it from being known.
    """
    if not (settings.is_running_system and _BOOTED.is_dir()):
        return "", ""
    show = ("systemctl", "show", f"--property={','.join(_PROPERTIES)}", "--", _TIMER)
    try:
        # Seconds: a manager that hangs must not keep anybody from looking. systemctl writes times of its own zone.
        done = ports.run(Command(show, timeout=5.0, environment={"TZ": "UTC"}))
    except HostError:
        return "", ""
    said = dict(line.partition("=")[::2] for line in done.stdout.decode(errors="replace").splitlines())
    load, state, active = (said.get(name, "") for name in _PROPERTIES[:3])
    if load not in {"", "loaded"}:
        return "", load
    if active not in {"", "active", "activating", "reloading"}:
        return "", active
    return _moment(said.get(_PROPERTIES[3], "")), state if state == "disabled" else ""


def _moment(text: str) -> str:
    """Return a time of `systemctl show`, `Mon 2026-11-30 20:27:00 UTC`, in ISO 8601; empty for anything else."""
    match = _SAID.fullmatch(text)
    return f"{match[1]}T{match[2]}Z" if match else ""


def _with_pause(status: Status, ports: Ports) -> Status:
    """Return the status with the pause of the host; one that cannot be read ends a pass, and not a look."""
    try:
        pause = load_pause(status.settings)
    except SettingsError as error:
        return evolve(status, pause_problem=error.diagnostics[0])
    if pause is None:
        return status
    state, settings = pause.state(ports.now), status.settings
    warning = next(names_no_type(pause, ports.providers, settings.pause_path, settings.where), None)
    return evolve(
        status, pause=pause, pause_state=state, pause_warning=warning if state is PauseState.IN_FORCE else None
    )
