"""From what is observed of a service to what is wanted: the step, and why it cannot be taken. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import OWES, Change, Need, Operation, Step
from datum_providers.service.desired import MASKED, DesiredService
from datum_providers.service.look import NO_FILE, NO_MARKS, RETRYING, STARTING, STOPPING, WORKING
from datum_providers.shared.units import NEW_UNIT_FILE

_ON_THE_WAY: Final = (STARTING, RETRYING, STOPPING, WORKING)

# States that are not "started at boot, for good"; what is enabled for this boot only is not enabled at the next.
_OFF: Final = frozenset({
    "static", "indirect", "transient", "alias", "linked", "linked-runtime", "enabled-runtime", NO_FILE,
})  # fmt: skip

_GENERATED: Final = (
    "its unit file is made at boot by a generator, from a script in /etc/init.d or from fstab, which alone decides "
    "whether it starts. Give it a unit file with unit:{unit}, or take 'enabled' out and say it where it comes from."
)
_RUNTIME: Final = "it is masked until the next boot. `systemctl unmask --runtime {unit}` lifts that."
_BAD: Final = "its unit file cannot be read: {load}"

# Why a state cannot become enabled; every other can.
_NOT_ENABLED: Final[Mapping[str, str]] = {
    "static": "its unit file has no [Install] section, so nothing says what would start it at boot. Take 'enabled' "
    "out, since other units start it, or give it a section: unit:{unit}/install with [Install] and WantedBy=.",
    NO_FILE: "it has no unit file that could be enabled.",
    "indirect": "its [Install] section only names other units (Also=), or a link enables it by a name that its file "
    "does not know. Declare those units, or that name.",
    "generated": _GENERATED,
    "transient": "it was made by a program, for as long as it runs, and is gone at the next boot.",
    "masked-runtime": _RUNTIME,
    "bad": _BAD,
}
_NOT_DISABLED: Final[Mapping[str, str]] = {"generated": _GENERATED, "masked-runtime": _RUNTIME, "bad": _BAD}


@frozen
class _Wish:
    """One field that is not as wanted."""

    change: Change
    # What must be provided first.
    need: Need | None = None


def plan_service(desired: DesiredService, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order enabled, running, and lists that cannot be kept."""
    wishes = [*_enablement(desired, observed), *_run(desired, observed), *_lists(desired, observed)]
    if not wishes:
        return None
    needs = tuple(dict.fromkeys(wish.need for wish in wishes if wish.need is not None))
    operation = Operation.CREATE if isinstance(observed, Absent) else Operation.UPDATE
    return Step(operation, tuple(wish.change for wish in wishes), needs)


def refresh_service(desired: DesiredService, observed: Present | Absent) -> Step | None:
    """Return the reload or restart that is owed; None where nothing is, or where it does not run.

    One that is being started owes as well: what it read may be older. It can only be restarted.
    """
    running = observed.fields.get("running")
    if desired.shall_not_run or desired.is_of_agent or running not in (True, STARTING):
        return None
    due = observed.fields.get(OWES)
    if due not in {Operation.REFRESH_RELOAD.value, Operation.REFRESH_RESTART.value}:
        return None
    can_reload = running is True and due == Operation.REFRESH_RELOAD.value and observed.fields.get("can_reload") is True
    operation = Operation.REFRESH_RELOAD if can_reload else Operation.REFRESH_RESTART
    return Step(operation, (Change(OWES, _plain(due), None),))


def stop_service(desired: DesiredService, observed: Present | Absent) -> Step | None:  # noqa: ARG001 - as the contract has it
    """Return the step that stops it while others change; what waits to be started again runs as well.

    Of what is on its way down the stop waits for the end.
    """
    running = observed.fields.get("running")
    if running is not True and running not in _ON_THE_WAY:
        return None
    return Step(Operation.STOP, (Change("running", _plain(running), after=False),))


def predict_service(desired: DesiredService, observed: Observation) -> Present | None:
    """Return what a unit that is not there may be once it is installed: Debian's packages start what they bring."""
    is_missing = isinstance(observed, Absent) and observed.fields.get("unit_known") is False
    if not is_missing or (desired.running is not False and desired.enabled is not False):
        return None
    running: FieldValue = True
    if isinstance(observed, Absent) and isinstance(observed.fields.get("running"), NotApplicable):
        running = observed.fields["running"]
    return Present({"running": running, "enabled": True, OWES: None})


def hazards_of_service(desired: DesiredService, step: Step) -> frozenset[Hazard]:
    """Return `outage` where it is stopped, `access_loss` where a way in, or the agent, stops or will not come back."""
    changes = {change.name: change for change in step.changes}
    stops = "running" in changes and changes["running"].before is not False and changes["running"].after is not True
    is_off = "enabled" in changes and changes["enabled"].before is True
    # What is on its way down is not brought down by this, but somebody's start of it may be called off.
    found = {Hazard.OUTAGE} if stops and changes["running"].before != STOPPING else set()
    if desired.unit.guards_access and (stops or is_off or step.operation is Operation.REFRESH_RESTART):
        found.add(Hazard.ACCESS_LOSS)
    return frozenset(found)


def _enablement(desired: DesiredService, observed: Present | Absent) -> Iterator[_Wish]:
    wanted, fields = desired.enabled, observed.fields
    if wanted is None or _is_unknown(fields.get("enabled")):
        return
    if fields.get("unit_known") is False:
        if wanted is True:
            yield _Wish(Change("enabled", None, after=True), _unit_need(desired))
        elif wanted == MASKED:
            yield _Wish(Change("enabled", None, MASKED))
        return
    before = _plain(fields.get("enabled"))
    if before == wanted or (wanted is False and isinstance(before, str) and before in _OFF):
        return
    why = _why_not(desired, before, fields)
    yield _Wish(Change("enabled", before, wanted), _nothing(desired, "enabled", why) if why else None)


def _why_not(desired: DesiredService, before: JsonValue, fields: Mapping[str, FieldValue]) -> str:
    """Return why a unit cannot be enabled, disabled or masked; empty where it can."""
    alias = fields.get("alias_of")
    if alias is not None and desired.enabled is not True:
        return f"it is an alias of {alias}, which is what is disabled or masked. Declare service:{_short(alias)}."
    if desired.enabled == MASKED:
        path = f"/etc/systemd/system/{desired.unit.full}"
        is_taken = fields.get("own_file") is True
        return f"its unit file lies at {path}, where the mask would stand. Remove that file first." if is_taken else ""
    reasons = _NOT_ENABLED if desired.enabled else _NOT_DISABLED
    text = reasons.get(before, "") if isinstance(before, str) else ""
    return text.format(unit=desired.unit.full, load=fields.get("load", "systemctl status says why"))


def _run(desired: DesiredService, observed: Present | Absent) -> Iterator[_Wish]:
    wanted, fields = desired.running, observed.fields
    before = fields.get("running")
    if wanted is None or before is wanted or not (isinstance(before, bool) or before in _ON_THE_WAY):
        return
    if wanted is False and before in (STOPPING, WORKING):
        # It ends by itself.
        return
    if wanted is False:
        yield _Wish(Change("running", _plain(before), after=False))
    elif fields.get("unit_known") is False:
        yield _Wish(Change("running", _plain(before), after=True), _unit_need(desired))
    else:
        why = _why_not_up(desired, fields)
        need = _nothing(desired, "running", why) if why else None
        yield _Wish(Change("running", _plain(before), after=True), need)


def _why_not_up(desired: DesiredService, fields: Mapping[str, FieldValue]) -> str:
    """Return why a unit cannot be kept running; empty where it can."""
    state = fields.get("enabled")
    if state == "masked-runtime":
        return _RUNTIME.format(unit=desired.unit.full)
    if state == MASKED and desired.enabled is None:
        return "it is masked, so nothing can start it. Declare enabled: true or enabled: false to lift that."
    if "load" in fields:
        return f"the manager cannot load it: {fields['load']}"
    if fields.get("stays") is False:
        return _ONESHOT
    if fields.get("can_start") is False:
        return "its unit file says RefuseManualStart=yes, so only other units start it."
    return ""


_ONESHOT: Final = (
    "it is a oneshot without RemainAfterExit=yes, which ends as soon as it has done its work. Declare a command with a "
    "guard (inputs and outputs, creates, unless) for that work, or the timer that starts the unit."
)


def _lists(desired: DesiredService, observed: Present | Absent) -> Iterator[_Wish]:
    """Yield lists that cannot be kept: of units that do not stay up, and where the manager has no marks."""
    if desired.shall_not_run or desired.is_of_agent:
        return
    listed = {"restart_on": desired.restart_on, "reload_on": desired.reload_on}
    listed = {name: ids for name, ids in listed.items() if ids}
    if observed.fields.get(OWES) == NO_MARKS:
        own = {"restart_on": tuple(one for one, _ in desired.own)} if desired.own else {}
        listed, why = listed or own, (
            "this service manager has no marks (systemd 248 and later have), so a restart that is owed could be lost. "
            "Take the list out; of its own unit files and drop-ins say on_change: nothing."
        )  # fmt: skip
    elif observed.fields.get("stays") is False:
        why = _ONESHOT
    else:
        return
    for name, ids in listed.items():
        yield _Wish(Change(name, None, tuple(map(str, ids))), _nothing(desired, name, why))


def _unit_need(desired: DesiredService) -> Need:
    return Need(desired.provided_as, f"There is no unit {desired.unit.full}.")


def _nothing(desired: DesiredService, field: str, why: str) -> Need:
    """Return the need of a wish that cannot hold as the unit is; its declared unit files may make it another one."""
    if desired.own:
        target = Target(NEW_UNIT_FILE, desired.unit.full)
    else:
        target = Target(NOTHING, f"{field} of {desired.unit.full}")
    detail = why if why.endswith(".") else f"{why}."
    return Need(target, f"'{field}' of {desired.unit.full} cannot hold: {detail}")


def _short(name: FieldValue) -> str:
    return str(name).removesuffix(".service")


def _is_unknown(value: FieldValue) -> bool:
    return isinstance(value, (Unobservable, NotApplicable))


def _plain(value: FieldValue) -> JsonValue:
    return None if isinstance(value, (Unobservable, NotApplicable)) else value
