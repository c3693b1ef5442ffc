"""Asking the service manager: `ManagerReader` of the running system. Effects: D-Bus; reads only.

Measured, and why these calls: ADR 0035.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from datum.host.dbus import (
    MANAGER,
    MANAGER_PATH,
    PROPERTIES,
    Call,
    ConnectionLostError,
    Conversation,
    Refusal,
    unreachable,
)
from datum.host.jobs import manager_refused
from datum.host.unit_names import name_fault, template_of
from datum.provider.host import Command, HostError
from datum.provider.manager import UnitFacts

UNITS: Final = "/org/freedesktop/systemd1/unit/"
UNIT: Final = "org.freedesktop.systemd1.Unit"
SERVICE: Final = "org.freedesktop.systemd1.Service"

_JOB: Final = "org.freedesktop.systemd1.Job"
# Of a service; its other properties cost a look at its control group each.
_OF_SERVICE: Final = ("Type", "RemainAfterExit", "Result", "NRestarts", "User", "ExecMainStartTimestamp")
# Seconds: how long a manager may be away that executes itself anew, and between two attempts.
PATIENCE: Final = 5.0
_PAUSE: Final = 0.05
_JOURNAL_SECONDS: Final = 10.0

AnswerT = TypeVar("AnswerT")


def unit_path(name: str) -> str:
    """Return the D-Bus path of a unit, by any of its names; a look at it loads the unit."""
    return UNITS + "".join(
        chr(byte) if chr(byte).isalnum() and (position or not chr(byte).isdecimal()) else f"_{byte:02x}"
        for position, byte in enumerate(name.encode("ascii"))
    )


def converse(talk: Callable[[Conversation], AnswerT]) -> AnswerT:
    """Ask in a conversation; begin anew where the manager closes it, as when it executes itself anew.

    Raises:
        HostError: `manager-unreachable`: for some seconds no conversation came about or to its end; or what `talk`
            raises.
    """
    end = time.monotonic() + PATIENCE
    while True:
        began = time.monotonic()
        try:
            with Conversation.start() as conversation:
                return talk(conversation)
        except ConnectionLostError as error:
            now = time.monotonic()
            if now - began >= PATIENCE:
                # It was there for that long, as for a job that takes its time: only now it is away.
                end = now + PATIENCE
            if now >= end:
                raise unreachable(str(error)) from error
        time.sleep(_PAUSE)


class LocalManagerReader:
    """The service manager, to be asked."""

    def units(self, names: Sequence[str]) -> Mapping[str, UnitFacts]:
        """Return what is loaded under each name, in one conversation; a unit that is not there has load `not-found`.

        A name that systemd does not take has load `error`.

        Raises:
            HostError: `manager-unreachable`.
        """
        faults = {name: name_fault(name) for name in names}
        sound = [name for name, fault in faults.items() if not fault]
        found = converse(lambda conversation: _facts(conversation, sound)) if sound else {}
        bad = {name: _unloadable(name, fault) for name, fault in faults.items() if fault}
        return {name: found[name] if name in found else bad[name] for name in faults}

    def instances(self, template: str) -> tuple[str, ...]:
        """Return the names of the loaded instances of a template, sorted.

        Raises:
            HostError: `manager-unreachable`, or `manager-refused`.
        """
        # These patterns take a backslash for one (FNM_NOESCAPE of fnmatch(3)), and names hold no other sign of theirs.
        pattern = template.replace("@.", "@*.")
        call = Call(MANAGER_PATH, MANAGER, "ListUnitsByPatterns", "asas", ([], [pattern]))
        (answer,) = converse(lambda conversation: conversation.ask([call]))
        if isinstance(answer, Refusal):
            raise manager_refused(f"list instances of {template}", answer.text)
        return tuple(sorted(name for name, *_ in answer[0] if template_of(name) == template))

    def journal(self, name: str, *, lines: int) -> str:
        """Return the newest lines of the journal of one unit, oldest first; empty when it cannot be read."""
        from datum.host.program import run_program

        argv = ("journalctl", "--quiet", "--no-pager", "--output=short-iso", f"--lines={lines}", f"--unit={name}")
        try:
            outcome = run_program(Command(argv, timeout=_JOURNAL_SECONDS))
        except HostError:
            return ""
        return outcome.stdout.decode("utf-8", "replace").rstrip("\n")


def _facts(conversation: Conversation, names: Sequence[str]) -> dict[str, UnitFacts]:
    """Ask for the properties of units, then for what hangs on their answers."""
    answers = conversation.ask([Call(unit_path(name), PROPERTIES, "GetAll", "s", (UNIT,)) for name in names])
    general: dict[str, Mapping[str, Any]] = {}
    found: dict[str, UnitFacts] = {}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, Refusal):
            found[name] = _unloadable(name, answer.text)
        else:
            general[name] = {key: value for key, (_signature, value) in answer[0].items()}
    services = [name for name, properties in general.items() if _is_service(properties)]
    jobs = [name for name, properties in general.items() if properties["Job"][0]]
    calls = [_get(unit_path(name), SERVICE, prop) for name in services for prop in _OF_SERVICE]
    calls += [_get(general[name]["Job"][1], _JOB, "JobType") for name in jobs]
    values = [None if isinstance(each, Refusal) else each[0][1] for each in conversation.ask(calls)]
    width = len(_OF_SERVICE)
    of_service = {
        name: dict(zip(_OF_SERVICE, values[place * width :], strict=False)) for place, name in enumerate(services)
    }
    of_job = dict(zip(jobs, values[len(services) * width :], strict=True))
    for name, properties in general.items():
        # a job that ended in between is none
        found[name] = _unit(properties, of_service.get(name, {}), of_job.get(name) or "")
    return found


def _get(path: str, interface: str, name: str) -> Call:
    return Call(path, PROPERTIES, "Get", "ss", (interface, name))


def _is_service(properties: Mapping[str, Any]) -> bool:
    return str(properties["Id"]).endswith(".service") and properties["LoadState"] != "not-found"


def _unit(properties: Mapping[str, Any], service: Mapping[str, Any], job: str) -> UnitFacts:
    marks = properties.get("Markers")
    return UnitFacts(
        name=properties["Id"],
        names=frozenset(properties["Names"]),
        load=properties["LoadState"],
        load_error=properties["LoadError"][1],
        active=properties["ActiveState"],
        sub=properties["SubState"],
        file_state=properties["UnitFileState"],
        fragment=properties["FragmentPath"],
        drop_ins=tuple(properties["DropInPaths"]),
        needs_daemon_reload=properties["NeedDaemonReload"],
        can_start=properties["CanStart"],
        can_reload=properties["CanReload"],
        invocation=bytes(properties["InvocationID"]).hex(),
        marks=None if marks is None else frozenset(marks),
        kind=service.get("Type") or "",
        remains=bool(service.get("RemainAfterExit")),
        result=service.get("Result") or "",
        restarts=service.get("NRestarts") or 0,
        user=service.get("User") or "",
        changed=properties["StateChangeTimestamp"],
        began=properties["InactiveExitTimestamp"],
        up_since=properties["ActiveEnterTimestamp"],
        main_started=service.get("ExecMainStartTimestamp") or 0,
        triggered_by=tuple(properties["TriggeredBy"]),
        triggers=tuple(properties["Triggers"]),
        job=job,
    )


def _unloadable(name: str, reason: str) -> UnitFacts:
    return UnitFacts(name, frozenset({name}), load="error", load_error=reason)
