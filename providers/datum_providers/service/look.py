"""What the service manager, or the disk, says of services. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from datum.model.json import JsonObject
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present
from datum.model.plan import OWES, Operation
from datum.provider.host import HostError, HostReader
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART, ManagerReader, UnitFacts
from datum_providers.service.desired import MASKED, DesiredService, triggers_of
from datum_providers.service.evidence import stale_inputs
from datum_providers.shared.unit_files import UnitFiles
from datum_providers.shared.unit_loading import NO_MANAGER
from datum_providers.shared.units import UnitName, obstacles_of, unit_path

NO_MARKS: Final = NotApplicable("no-marks")

NO_FILE: Final = "none"
"""Value of `enabled` of a unit that has no file."""

STARTING: Final = "starting"
"""Value of `running` of a unit whose processes run already and are not up yet: they may have read what is older."""

RETRYING: Final = "starting-again"
"""Value of `running` of a unit that failed, and that the manager is about to start again by itself."""

STOPPING: Final = "stopping"
"""Value of `running` of a unit that is on its way down: its processes may still run."""

WORKING: Final = "working"
"""Value of `running` of a unit that does a work which ends by itself, and does not stay up after it."""

_NOT_FOUND: Final = "not-found"
_UP: Final = frozenset({"active", "reloading", "refreshing"})
_DOWN: Final = frozenset({"inactive", "failed"})
_LASTING: Final = (True, STARTING, RETRYING)
_STATES: Final[Mapping[str, FieldValue]] = {"enabled": True, "disabled": False, "": NO_FILE}


def is_up(facts: UnitFacts) -> bool:
    """Whether a unit runs; one that is being started, or started again after it failed, does not."""
    return facts.active in _UP


def running_state(facts: UnitFacts) -> FieldValue:
    """Return whether a unit runs, or what it is on the way to; what ends with its work is never up.

    Only what is down for sure does not run: the cleaning of a unit (`maintenance`) works on its files.
    """
    if is_up(facts) or facts.active in _DOWN:
        return is_up(facts)
    if facts.active != "activating":
        return STOPPING
    if facts.kind == "oneshot" and not facts.remains:
        return WORKING
    return RETRYING if facts.sub.startswith("auto-restart") else STARTING


def observe_services(reader: HostReader, desired: Mapping[str, DesiredService]) -> Mapping[str, Observation]:
    """Answer for every name, from one conversation with the manager."""
    if not desired:
        return {}
    try:
        manager = reader.manager()
        if manager is not None:
            loaded = _loaded(manager, desired)
            return {name: _of_manager(reader, one, loaded[one.unit.full]) for name, one in sorted(desired.items())}
    except HostError as error:
        return dict.fromkeys(sorted(desired), error.unobservable())
    files = UnitFiles(reader)
    return {name: _of_disk(files, one) for name, one in sorted(desired.items())}


def _loaded(manager: ManagerReader, desired: Mapping[str, DesiredService]) -> Mapping[str, UnitFacts]:
    return manager.units(sorted({one.unit.full for one in desired.values()}))


def _of_manager(reader: HostReader, wanted: DesiredService, facts: UnitFacts) -> Observation:
    running, enabled = running_state(facts), _STATES.get(facts.file_state, facts.file_state)
    fields: dict[str, FieldValue] = {"running": running, "enabled": enabled, OWES: owed(facts)}
    if facts.load == _NOT_FOUND and running not in _LASTING:
        return Absent({"unit_known": False, "running": running})
    fields.update(_oddities(wanted, facts))
    answer = _answer(wanted, fields, facts.name, _detail(facts))
    if isinstance(answer, Present) and is_up(facts):
        return evolve(answer, stale=stale_inputs(reader, wanted.inputs, facts, fields[OWES]))
    return answer


def _of_disk(files: UnitFiles, wanted: DesiredService) -> Observation:
    try:
        state = files.state(wanted.unit)
        if state == _NOT_FOUND:
            return Absent({"unit_known": False, "running": NO_MANAGER, OWES: NO_MANAGER})
        fields: dict[str, FieldValue] = {"running": NO_MANAGER, "enabled": _STATES.get(state, state), OWES: NO_MANAGER}
        name = files.real_name(wanted.unit)
        if name != wanted.unit.full:
            real = files.state(UnitName(name))
            fields.update({"enabled": _STATES.get(real, real), "alias_of": name})
        if wanted.enabled == MASKED and files.has_own_file(wanted.unit):
            fields["own_file"] = True
        return _answer(wanted, fields, name, {})
    except HostError as error:
        return error.unobservable()


def _answer(wanted: DesiredService, fields: Mapping[str, FieldValue], name: str, detail: JsonObject) -> Observation:
    """Return that a service is there while its unit runs or is being started, or is enabled.

    A mask is there for who declares something. What is on its way down, or ends by itself, is not there for that.
    """
    running, enabled = fields["running"], fields["enabled"]
    runs = running in _LASTING
    if not (runs or enabled is True or (enabled == MASKED and not wanted.is_bare)):
        return Absent(fields)
    return Present(fields, detail, name, obstacles=obstacles_of(wanted.unit, runs=runs))


def _oddities(wanted: DesiredService, facts: UnitFacts) -> dict[str, FieldValue]:
    """Return what keeps wishes from holding, where it does; `steps` makes the reasons of it."""
    fields: dict[str, FieldValue] = {}
    if facts.can_reload and (
        owed(facts) == Operation.REFRESH_RELOAD or Operation.REFRESH_RELOAD in triggers_of(wanted).values()
    ):
        fields["can_reload"] = True
    if facts.name != wanted.unit.full:
        fields["alias_of"] = facts.name
    if facts.load not in {"loaded", MASKED, _NOT_FOUND}:
        fields["load"] = facts.load_error or facts.load
    if facts.kind == "oneshot" and not facts.remains:
        fields["stays"] = False
    if not facts.can_start and facts.load == "loaded":
        fields["can_start"] = False
    if wanted.enabled == MASKED and facts.fragment == unit_path(wanted.unit.full) and facts.load != MASKED:
        fields["own_file"] = True
    return fields


def owed(facts: UnitFacts) -> FieldValue:
    """Return what a unit owes, from its marks (design 4.1): both stand for a reload, the first alone for a restart."""
    if facts.marks is None:
        return NO_MARKS
    if running_state(facts) not in (True, STARTING):
        return None
    if NEEDS_RELOAD in facts.marks:
        return Operation.REFRESH_RELOAD.value
    return Operation.REFRESH_RESTART.value if NEEDS_RESTART in facts.marks else None


def _detail(facts: UnitFacts) -> JsonObject:
    result = f", {facts.result}" if facts.result not in {"", "success"} else ""
    return {"state": f"{facts.active} ({facts.sub}{result})"}
