"""The resource type `service`: a unit of the service manager, whether it runs, and whether it is enabled."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Operation, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    FieldClass,
    ImplicitEdge,
    Removal,
    Stage,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum.provider.stopped import Stopping
from datum_providers.service.desired import (
    LONGEST,
    MASKED,
    DesiredService,
    normal_name,
    own_files,
    parse_service,
    relate_service,
    triggers_of,
)
from datum_providers.service.doing import apply_service
from datum_providers.service.look import observe_services
from datum_providers.service.steps import (
    hazards_of_service,
    plan_service,
    predict_service,
    refresh_service,
    stop_service,
)

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())

UNIT_STATE: Final = "unit_state"
"""Space of what a unit is and does at run time; its file is of the space `unit`."""

# Packages whose units have another name than they.
_PACKAGES: Final[Mapping[str, str]] = {"ssh": "openssh-server", "sshd": "openssh-server"}

# Options of all services, one file for each.
_DEFAULTS: Final = "/etc/default"

# Units of these types start others.
_STARTERS: Final = frozenset({"socket", "timer", "path"})


class ServiceProvider:
    """Services; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "service"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "running": FieldClass.ENFORCED,
        "enabled": FieldClass.ENFORCED,
        "restart_on": FieldClass.INSTRUCTION,
        "reload_on": FieldClass.INSTRUCTION,
        "settle": FieldClass.INSTRUCTION,
        "when_stale": FieldClass.INSTRUCTION,
    }
    order_stage: ClassVar[Stage] = Stage.SERVICES
    # A stop and a start may each take what their unit allows, which is 90 s unless it says otherwise.
    apply_deadline: ClassVar[float] = 600.0 + LONGEST
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return the name without `.service`."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredService:
        """Normalise one declaration."""
        return parse_service(name, attributes)

    def targets(self, desired: DesiredService) -> tuple[Target, ...]:
        """Return the state of the unit."""
        return (Target(UNIT_STATE, desired.unit.full),)

    def relate(self, desired: DesiredService, index: TargetIndex) -> DesiredService:
        """Learn which resources are its own unit files and drop-ins, listed unasked, and where its inputs lie."""
        return relate_service(desired, index)

    def edges(self, desired: DesiredService, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return its unit files and drop-ins, which it requires, and softly its socket, and what has its name."""
        own = dict.fromkeys(ImplicitEdge(holder, what) for holder, what, _ in own_files(desired.unit, index))
        socket = index.holder(Target(UNIT_STATE, f"{desired.unit.stem}.socket"))
        packages = dict.fromkeys(index.holder(Target("package", key)) for key in _bringing(desired, index))
        found = [(package, "package of its name") for package in packages]
        found += [(holder, "configuration of its name") for holder in _configuration(desired, index)]
        if desired.unit.suffix == "service":
            found.append((socket, "its socket"))
        soft = (ImplicitEdge(one, why, DependencyKind.AFTER, soft=True) for one, why in found if one is not None)
        return (*own, *soft)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredService]) -> Mapping[str, Observation]:
        """Ask the manager for all of them in one conversation, or look at the disk where there is none."""
        return observe_services(reader, desired)

    def plan(self, desired: DesiredService, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted; what is owed is no part of it."""
        return plan_service(desired, observed)

    def predict(self, desired: DesiredService, observed: Observation) -> Present | None:
        """Return that a unit which is still to come may run: one that shall not is looked at again then."""
        return predict_service(desired, observed)

    def triggers(self, desired: DesiredService) -> Mapping[ResourceId, Operation]:
        """Return after whose change it owes a restart or a reload."""
        return triggers_of(desired)

    def refresh(self, desired: DesiredService, observed: Present | Absent) -> Step | None:
        """Return the reload or restart that is owed."""
        return refresh_service(desired, observed)

    def acts_on_stale(self, desired: DesiredService) -> bool:
        """Return whether `when_stale` says that it is restarted for evidence alone."""
        return desired.acts_on_stale

    def stopping(self, desired: DesiredService) -> Stopping | None:
        """Return whether it shall run; None where its declaration does not say so."""
        if desired.running is None and desired.enabled != MASKED:
            return None
        return Stopping(runs=desired.running is True, starts_others=desired.unit.suffix in _STARTERS)

    def stop(self, desired: DesiredService, observed: Present | Absent) -> Step | None:
        """Return the step that stops it while others change."""
        return stop_service(desired, observed)

    def effects(self, desired: DesiredService, step: Step) -> tuple[Effect, ...]:  # noqa: ARG002 - as the contract has it
        """Return nothing: others need files, packages and accounts, and no unit that runs."""
        return ()

    def hazards(self, desired: DesiredService, step: Step) -> frozenset[Hazard]:
        """Return `outage` where it is stopped, `access_loss` where a way in hangs on it."""
        return hazards_of_service(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredService, step: Step) -> None:
        """Mark, start, stop, restart, reload, enable, disable or mask."""
        apply_service(writer, desired, step)

    def removal(self, desired: DesiredService) -> Removal:
        """Return that it is kept; the agent's own units always."""
        return Removal.NEVER if desired.is_of_agent else Removal.KEEP

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - as the contract has it
        """Return whether it runs and is enabled, where that can be declared."""
        running, enabled = observed.fields.get("running"), observed.fields.get("enabled")
        found: dict[str, JsonValue] = {}
        if running is True:
            found["running"] = True
        elif running is False and observed.fields.get("stays") is not False:
            found["running"] = False
        if enabled == MASKED or isinstance(enabled, bool):
            found["enabled"] = enabled if isinstance(enabled, bool) else MASKED
        return {"enabled": MASKED} if found.get("enabled") == MASKED else found


def _configuration(desired: DesiredService, index: TargetIndex) -> Iterator[ResourceId]:
    """Yield once each what is declared at or below the usual places of its configuration, and it does not list."""
    name = desired.unit.prefix
    folder = f"/etc/{name}"
    # That of all services is not the one of a service that is called so.
    own = () if folder == _DEFAULTS else (folder, *index.paths_below(folder))
    paths = (f"{folder}.conf", f"{_DEFAULTS}/{name}", *own)
    found = dict.fromkeys(index.holder(Target("path", path)) for path in paths)
    listed = {*desired.restart_on, *desired.reload_on}
    yield from (holder for holder in found if holder is not None and holder not in listed)


def _bringing(desired: DesiredService, index: TargetIndex) -> Iterator[str]:
    """Yield the packages that may bring a unit, by their names; those of its very name also where they are to go."""
    stem = desired.unit.prefix
    yield from (stem, _PACKAGES.get(stem, stem))
    yield from (key for key in index.keys("package") if _brings(key, desired))


def _brings(package: str, desired: DesiredService) -> bool:
    """Whether a package may be the one that brings a unit, by its name: `nginx-light` for `nginx.service`."""
    name, stem = package.partition(":")[0], desired.unit.prefix
    return name == stem or name.startswith(f"{stem}-") or stem.startswith(f"{name}-") or _PACKAGES.get(stem) == name
