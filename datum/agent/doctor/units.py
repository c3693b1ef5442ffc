"""The units that run passes, and the service manager behind them. Effects: asks it over D-Bus."""

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Final

from datum.agent.doctor.finding import Facts, Finding, fault, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.units import BOOT_TIMER, SERVICE, TIMER
from datum.errors import ExitCode
from datum.host.booted import is_booted
from datum.host.manager import LocalManagerReader
from datum.host.units_in_short import LastRun, ManagerFacts, TimerFacts, read_last_run, read_manager, read_timer
from datum.provider.manager import UnitFacts

NAMES: Final = ("service-manager", "timer-unit", "service-unit", "failed-units", "login-manager")

_LOGIND: Final = "systemd-logind.service"
_PATTERN: Final = "datum*"
_MICROSECOND: Final = 1_000_000
_ENABLE: Final = "systemctl enable --now datum.timer"
_SET_UP: Final = "datum init writes the units and enables the timer; or install the package"
_NOT_THERE: Final = "There is no service manager to ask"


def look(given: Given) -> Iterator[Finding]:
    """Ask the service manager; where there is none nothing of this is there."""
    if not given.is_running_system or not is_booted():
        why = "below another root nothing runs" if not given.is_running_system else "systemd is not process 1 here"
        yield from (not_checked(name, f"{_NOT_THERE}: {why}.") for name in NAMES)
        return
    manager = read_manager(_PATTERN)
    units = LocalManagerReader().units((TIMER, BOOT_TIMER, SERVICE, _LOGIND))
    yield judge_manager(manager, units[SERVICE].marks is not None)
    for name in (TIMER, BOOT_TIMER):
        yield judge_timer(units[name], read_timer(name))
    yield judge_service(units[SERVICE], read_last_run(SERVICE))
    yield judge_failed(manager.failed)
    yield judge_logind(units[_LOGIND])


def judge_manager(found: ManagerFacts, has_marks: bool) -> Finding:  # noqa: FBT001  # a fact beside the others
    """Say whether the manager can hold what restarts are owed."""
    facts: Facts = {"version": found.version, "has_marks": has_marks}
    if not has_marks:
        return fault(
            "service-manager",
            f"systemd {found.version} has no Markers=: no restart can be owed, so none is planned.",
            "upgrade to systemd 248 or later",
            facts,
        )
    return ok("service-manager", f"systemd {found.version}, which marks what owes a restart.", facts)


def judge_timer(unit: UnitFacts, timer: TimerFacts) -> Finding:
    """Say whether a timer will start passes."""
    facts: Facts = {**_facts(unit), "next": _moment(timer.next_elapse), "last": _moment(timer.last_trigger)}
    name, check = unit.name, "timer-unit"
    problem = _unloaded(check, unit, facts)
    if problem is not None:
        return problem
    if unit.file_state not in {"enabled", "enabled-runtime", "static", "linked"}:
        return fault(
            check,
            f"{name} is {unit.file_state or 'not enabled'}: after a boot nothing starts passes.",
            _ENABLE,
            facts,
            of=name,
        )
    if unit.active != "active" and name != BOOT_TIMER:
        text = f"{name} is {unit.active}: nothing starts passes."
        return fault(check, text, "systemctl start datum.timer", facts, of=name)
    when = _moment(timer.next_elapse)
    text = f"{name} is enabled" + (f", and elapses next at {when}" if when else "")
    return _with_files(check, unit, text, facts)


def judge_service(unit: UnitFacts, run: LastRun) -> Finding:
    """Say whether the pass that the timer starts can be started, and how the last one ended."""
    facts: Facts = {**_facts(unit), "result": unit.result, "exit_code": run.status, "ended": _moment(run.ended)}
    check = "service-unit"
    problem = _unloaded(check, unit, facts)
    if problem is not None:
        return problem
    if unit.active == "failed" or (unit.result not in {"", "success"}):
        words = _exit_words(run.status) if unit.result == "exit-code" else f"ended by '{unit.result}'"
        return warning(
            check,
            f"The last pass of {unit.name} {words}.",
            "datum report; journalctl -u datum.service",
            facts,
            of=unit.name,
        )
    return _with_files(check, unit, f"{unit.name} is loaded; its last run was a success", facts)


def _exit_words(code: int) -> str:
    names = {int(each): each.name for each in ExitCode}
    return f"ended with {code}" + (f" ({names[code]})" if code in names else "")


def _unloaded(check: str, unit: UnitFacts, facts: Facts) -> Finding | None:
    """Return the fault of a unit that the manager has not, or not in a form that it can start."""
    if unit.load == "loaded":
        return None
    if unit.load == "masked":
        text, cure = f"{unit.name} is masked, so nothing starts it.", f"systemctl unmask {unit.name}"
    elif unit.load == "not-found":
        text, cure = f"There is no {unit.name}: passes run only when somebody starts them.", _SET_UP
    else:
        text, cure = (
            f"{unit.name} cannot be loaded ({unit.load}): {unit.load_error}.",
            f"systemd-analyze verify {unit.name}",
        )
    return fault(check, text, cure, facts, of=unit.name)


def _with_files(check: str, unit: UnitFacts, text: str, facts: Facts) -> Finding:
    """Return that a unit is well, with its drop-ins; a warning where the manager has not read its files anew."""
    more = f"; drop-ins: {', '.join(unit.drop_ins)}" if unit.drop_ins else ""
    if unit.needs_daemon_reload:
        return warning(
            check,
            f"{text}; its files changed since they were read{more}.",
            "systemctl daemon-reload",
            facts,
            of=unit.name,
        )
    return ok(check, f"{text}{more}.", facts, of=unit.name)


def judge_failed(failed: tuple[str, ...]) -> Finding:
    """List units of datum that failed."""
    if failed:
        cure = f"systemctl status {' '.join(failed)}; systemctl reset-failed when it is mended"
        return warning("failed-units", f"Failed: {', '.join(failed)}.", cure, {"units": failed})
    return ok("failed-units", "None.")


def judge_logind(unit: UnitFacts) -> Finding:
    """Say whether a shutdown can be made to wait."""
    if unit.active == "active":
        return ok("login-manager", "logind runs: a shutdown waits for the action in hand.", _facts(unit))
    word = unit.active if unit.load == "loaded" else unit.load
    return warning(
        "login-manager",
        f"{unit.name} is {word}: a shutdown waits for nothing but the stop of the unit.",
        "install and start systemd-logind (dbus has to be there); or leave it so",
        _facts(unit),
    )


def _facts(unit: UnitFacts) -> Facts:
    return {
        "unit": unit.name,
        "load": unit.load,
        "active": unit.active,
        "file_state": unit.file_state,
        "fragment": unit.fragment,
        "drop_ins": unit.drop_ins,
    }


def _moment(microseconds: int) -> str:
    if not microseconds:
        return ""
    moment = datetime.fromtimestamp(microseconds / _MICROSECOND, timezone.utc)  # noqa: UP017  # as elsewhere
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
