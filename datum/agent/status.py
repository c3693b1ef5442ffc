"""`datum status`: where this host stands, from what lies there; takes no lock and observes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from datum.agent.pause_file import load_pause
from datum.agent.ports import Ports
from datum.agent.repeats import Repeat, find_repeats
from datum.agent.reports import read_report
from datum.agent.settings import Options, Settings, read_settings
from datum.agent.wiring import own_pointer
from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, UsageError
from datum.model.json import JsonValue
from datum.model.pause import Pause, PauseState
from datum.model.pointer import Pointer
from datum.provider.host import Command, HostError
from datum.state.progress import Progress, read_progress

_TIMER: Final = "datum.timer"
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
    # Seconds that the running pass has lasted, and what it does now; on the clock of this boot.
    elapsed: tuple[float, float] | None = None
    # When the timer begins the next pass, as systemctl writes it; empty where it does not, or that is not known.
    next_pass: str = ""


def status(options: Options, ports: Ports) -> Status:
    """Return where this host stands; takes no lock.

    Raises:
        SettingsError: the configuration is wrong.
        StateError: the pointer is damaged.
    """
    settings = read_settings(options)
    pointer = own_pointer(settings)
    try:
        running = read_progress(settings.state_dir)
    except OSError:
        running = None
    try:
        newest: Mapping[str, JsonValue] | None = read_report(settings.reports_dir, "")
    except UsageError:
        newest = None
    found = Status(settings, pointer, running, newest, find_repeats(settings.reports_dir))
    if running is not None:
        now = ports.monotonic()
        found = evolve(found, elapsed=(now - running.started, now - running.since))
    return _with_pause(evolve(found, next_pass=_next_pass(settings, ports)), ports)


def _next_pass(settings: Settings, ports: Ports) -> str:
    """Return when the timer elapses next; status is shown whatever keeps it from being known."""
    if not (settings.is_running_system and _BOOTED.is_dir()):
        return ""
    show = ("systemctl", "show", "--property=NextElapseUSecRealtime", "--value", "--", _TIMER)
    try:
        # Seconds: a manager that hangs must not keep anybody from looking.
        done = ports.run(Command(show, timeout=5.0))
    except HostError:
        return ""
    return done.stdout.decode(errors="replace").strip()


def _with_pause(status: Status, ports: Ports) -> Status:
    """Return the status with the pause of the host; one that cannot be read ends a pass, and not a look."""
    try:
        pause = load_pause(status.settings)
    except SettingsError as error:
        return evolve(status, pause_problem=error.diagnostics[0])
    return evolve(status, pause=pause, pause_state=pause.state(ports.now)) if pause is not None else status
