"""The units that run passes: put in place, switched on and off, looked at (design 6, ADR 0049).

Effects: files below /etc/systemd/system of the root, and systemctl(1) through the program door. A distribution's
package brings the units itself; where there is none they are written, with the command that runs this agent.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.agent.settings import Settings
from datum.agent.unit_files import (
    BOOT_TIMER,
    DROP_IN,
    SERVICE,
    TIMER,
    UNITS,
    are_installed,
    are_packaged,
    has_drop_in,
    has_own_units,
    lies,
    remove_files,
    require_executable,
    write_files,
)
from datum.diagnostics import Diagnostic
from datum.errors import SettingsError, StateError, UsageError
from datum.provider.host import Command, HostError, ProgramRunner

__all__ = [
    "BOOT_TIMER",
    "SERVICE",
    "TIMER",
    "UNITS",
    "TimerSwitch",
    "UnitStanding",
    "are_installed",
    "are_packaged",
    "disable_timer",
    "enable_timer",
    "has_own_units",
    "install_units",
    "remove_units",
    "standing",
    "timers_on",
]

_BOOTED: Final = "/run/systemd/system"
# Seconds for one call of systemctl: it waits for no pass.
_DEADLINE: Final = 90.0
_PROPERTIES: Final = (
    "Id", "LoadState", "UnitFileState", "ActiveState", "FragmentPath", "DropInPaths", "NeedDaemonReload", "Result",
    "ExecMainStatus", "NextElapseUSecRealtime",
)  # fmt: skip


@frozen
class UnitStanding:
    """One unit as the service manager, or below another root the disk, has it."""

    name: str
    # `loaded`, `not-found`, `masked`, `bad-setting`, `error`: systemd's word. Below another root the first three.
    load: str
    # Where its file lies; empty where it is not there.
    file: str = ""
    drop_ins: tuple[str, ...] = ()
    # systemd's word: `enabled`, `disabled`, `static`, `masked`; empty where it is not known.
    enabled: str = ""
    # systemd's word: `active` of a timer that runs; empty without a manager.
    active: str = ""
    # Of the last pass in the service: `success`, `exit-code`, `signal`; and its exit code.
    result: str = ""
    exit_code: int | None = None
    # When the timer elapses next, as systemctl writes it; empty where it does not.
    next_run: str = ""
    # Files that changed since the manager read them.
    is_stale: bool = False


@frozen
class TimerSwitch:
    """What became of switching the timer."""

    # False when it was so already.
    is_changed: bool
    # False where no service manager runs here: what is enabled starts with the next boot.
    has_manager: bool


def install_units(settings: Settings, run: ProgramRunner, *, executable: str) -> tuple[str, ...]:
    """Write the units where no package brought them, and have the service manager read them.

    What an earlier `init` wrote is kept up to date; once a package brings the units it is removed, since it would stand
    before them. What a person wrote stays.

    Args:
        settings: of this host; a configuration at another place than the usual one is named in the command.
        run: the program door.
        executable: absolute path of the `datum` command that passes are run with.

    Returns:
        The paths that were written or removed, as seen below the root; nothing when all was so already.

    Raises:
        UsageError: `units-executable`: the command is no absolute path that a unit can name.
        StateError: `units-unwritable`, or `timer-refused`: systemctl could not do it, and does it the next time.
    """
    changed = write_files(settings, executable)
    _have_read(settings, run, changed)
    return changed


def remove_units(settings: Settings, run: ProgramRunner) -> tuple[str, ...]:
    """Remove what `install_units` wrote, and return the paths; what a package or a person brought stays.

    Raises:
        StateError: `units-unwritable`, or `timer-refused`: systemctl could not do it.
    """
    changed = remove_files(settings)
    _have_read(settings, run, changed)
    return changed


def enable_timer(settings: Settings, run: ProgramRunner) -> TimerSwitch:
    """Enable the timers, and start the regular one where a service manager runs.

    The pass at boot is left to the next boot: started later, its timer would elapse at once.

    Raises:
        UsageError: `no-service-manager`: there is no systemctl here; or `units-missing`.
        SettingsError: `timer-masked`: somebody masked a unit that is needed.
        StateError: `timer-refused`: systemctl could not do it.
    """
    units = {one.name: one for one in standing(settings, run)}
    _require(settings, units)
    has_manager = _has_manager(settings)
    is_on = all(units[name].enabled == "enabled" for name in (TIMER, BOOT_TIMER))
    runs = units[TIMER].active == "active"
    if not is_on:
        _systemctl(settings, run, "enable", TIMER)
    if has_manager and not runs:
        _systemctl(settings, run, "start", TIMER)
    return TimerSwitch(is_changed=not is_on or (has_manager and not runs), has_manager=has_manager)


def timers_on(settings: Settings, run: ProgramRunner) -> tuple[str, ...]:
    """Return the timers that are enabled or active: what `disable_timer` switches off.

    Raises:
        StateError: `timer-refused`: systemctl could not say it.
    """
    try:
        units = standing(settings, run)
    except UsageError:
        return ()
    return tuple(
        one.name for one in units
        if one.name != SERVICE and one.file and (one.enabled == "enabled" or one.active == "active")
    )  # fmt: skip


def disable_timer(settings: Settings, run: ProgramRunner) -> TimerSwitch:
    """Disable the timers and stop them where a service manager runs; a pass that runs goes on to its end.

    Raises:
        StateError: `timer-refused`: systemctl could not do it.
    """
    has_manager = _has_manager(settings)
    try:
        units = [one for one in standing(settings, run) if one.name != SERVICE and one.file]
    except UsageError:
        # Nothing that could start a pass.
        return TimerSwitch(is_changed=False, has_manager=has_manager)
    on = [one.name for one in units if one.enabled == "enabled"]
    up = [one.name for one in units if one.active == "active"]
    if up:
        _systemctl(settings, run, "stop", *up)
    if on:
        _systemctl(settings, run, "disable", *on)
    return TimerSwitch(is_changed=bool(on or up), has_manager=has_manager)


def standing(settings: Settings, run: ProgramRunner) -> tuple[UnitStanding, ...]:
    """Return how the units stand, in the order of `UNITS`.

    Raises:
        UsageError: `no-service-manager`: there is no systemctl here.
        StateError: `timer-refused`: it does not answer.
    """
    if not _has_manager(settings):
        return tuple(_on_disk(settings, run, unit) for unit in UNITS)
    said = _systemctl(settings, run, "show", f"--property={','.join(_PROPERTIES)}", "--", *UNITS)
    blocks = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in said.split("\n\n")]
    return tuple(_of_manager(block) for block in blocks if block.get("Id"))


def _of_manager(said: Mapping[str, str]) -> UnitStanding:
    status = said.get("ExecMainStatus", "")
    return UnitStanding(
        said["Id"],
        said.get("LoadState", ""),
        said.get("FragmentPath", ""),
        tuple(said.get("DropInPaths", "").split()),
        said.get("UnitFileState", ""),
        said.get("ActiveState", ""),
        said.get("Result", ""),
        int(status) if status.isdecimal() else None,
        said.get("NextElapseUSecRealtime", ""),
        said.get("NeedDaemonReload") == "yes",
    )


def _on_disk(settings: Settings, run: ProgramRunner, unit: str) -> UnitStanding:
    word = _systemctl(settings, run, "is-enabled", unit, success=frozenset(range(256))).strip()
    file = lies(settings, unit)
    load = "masked" if word.startswith("masked") else "loaded" if file else "not-found"
    return UnitStanding(unit, load, file, enabled=word if file else "")


def require_switchable(settings: Settings, run: ProgramRunner, *, executable: str) -> None:
    """Make sure that the units could be written, and the timers be enabled.

    Args:
        settings: of this host.
        run: the program door.
        executable: see `install_units`.

    Raises:
        UsageError: `no-service-manager`: there is no systemctl here; or `units-executable`.
        SettingsError: `timer-masked`: somebody masked a unit that is needed.
        StateError: `timer-refused`: systemctl could not say it.
    """
    _refuse_masked({one.name: one for one in standing(settings, run)})
    require_executable(settings, executable)


def _refuse_masked(units: Mapping[str, UnitStanding]) -> None:
    masked = [name for name in UNITS if units[name].load == "masked"]
    if masked:
        names = " ".join(masked)
        raise SettingsError(
            Diagnostic(
                code="timer-masked",
                summary="A unit that runs passes is masked.",
                detail=f"{names}: somebody masked it, so nothing starts it.",
                hint=f"systemctl unmask {names}",
            )
        )


def _require(settings: Settings, units: Mapping[str, UnitStanding]) -> None:
    """Refuse to switch on what is not there, or what somebody switched off for good."""
    _refuse_masked(units)
    missing = [name for name in UNITS if not units[name].file]
    if missing:
        raise UsageError(
            Diagnostic(
                code="units-missing",
                summary="The units that run passes are not there.",
                detail=f"{' '.join(missing)}: neither a package nor datum init put it below {settings.root}.",
                hint="run datum init again, or install the package anew",
            )
        )


def _have_read(settings: Settings, run: ProgramRunner, changed: Sequence[str]) -> None:
    """Have the service manager read what changed, by this call or by one that was killed before it had."""
    if _has_manager(settings) and (changed or _is_unread(settings, standing(settings, run))):
        _systemctl(settings, run, "daemon-reload")


def _is_unread(settings: Settings, units: Sequence[UnitStanding]) -> bool:
    """Whether the manager knows of something else than lies there; of a new folder of drop-ins it does not say so."""
    service = next((one for one in units if one.name == SERVICE), None)
    is_read = service is not None and DROP_IN in service.drop_ins
    return has_drop_in(settings) is not is_read or any(one.is_stale for one in units)


def _has_manager(settings: Settings) -> bool:
    """Whether a service manager runs that these units are for (sd_booted(3))."""
    return settings.is_running_system and Path(_BOOTED).is_dir()


def _systemctl(settings: Settings, run: ProgramRunner, *words: str, success: frozenset[int] = frozenset({0})) -> str:
    """Run systemctl and return what it wrote.

    Raises:
        UsageError: `no-service-manager`.
        StateError: `timer-refused`.
    """
    where: Sequence[str] = () if _has_manager(settings) else (f"--root={settings.root}",)
    argv = ("systemctl", *where, "--no-pager", "--no-ask-password", *words)
    try:
        return run(Command(argv, timeout=_DEADLINE, success=success)).stdout.decode("utf-8", "replace")
    except HostError as error:
        if error.diagnostics[0].code == "program-missing":
            raise _no_manager() from error
        raise StateError(
            Diagnostic(
                code="timer-refused",
                summary="The service manager did not switch the timer.",
                detail=f"{shlex.join(argv)}: {error.detail}",
                hint="run it by hand to see more, or add --no-timer and run 'datum apply' in another way",
            )
        ) from error


def _no_manager() -> UsageError:
    return UsageError(
        Diagnostic(
            code="no-service-manager",
            summary="There is no service manager that could run passes.",
            detail="systemctl is not installed here, so there is nothing for datum.timer to be enabled in.",
            hint="add --no-timer, and run 'datum apply' from cron or whatever starts things here",
        )
    )
