"""The resource type `timezone`: the time zone of the host."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import DependencyKind, Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import HostReader, HostWriter
from datum_providers.shared.above import edges_above
from datum_providers.timezone.desired import (
    LOCALTIME,
    TIMEZONE,
    ZONEINFO,
    DesiredTimezone,
    normal_name,
    parse_timezone,
)
from datum_providers.timezone.doing import apply_timezone
from datum_providers.timezone.look import observe_timezone
from datum_providers.timezone.steps import plan_timezone

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class TimezoneProvider:
    """The time zone; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "timezone"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {"zone": FieldClass.ENFORCED}
    apply_deadline: ClassVar[float] = 60.0
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return `host`."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTimezone:
        """Normalise one declaration."""
        return parse_timezone(name, attributes)

    def targets(self, desired: DesiredTimezone) -> tuple[Target, ...]:
        """Return the two files."""
        paths = (LOCALTIME, TIMEZONE) if desired.zone is not None else ()
        return tuple(Target("path", path, leaf=True) for path in paths)

    def edges(self, desired: DesiredTimezone, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the link lies in, and softly the package of the zones, or the file of this one."""
        brings = (Target("package", "tzdata"), Target("path", f"{ZONEINFO}/{desired.zone}"))
        found = (index.holder(target) for target in brings)
        zones = (ImplicitEdge(one, "zones", DependencyKind.AFTER, soft=True) for one in found if one is not None)
        return (*edges_above(LOCALTIME, index), *zones)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredTimezone]) -> Mapping[str, Observation]:
        """Read the link and the name."""
        return {name: observe_timezone(reader, one) for name, one in desired.items()}

    def plan(self, desired: DesiredTimezone, observed: Present | Absent) -> Step | None:
        """Return the step from the zone that is seen to the one that is wanted."""
        return plan_timezone(desired, observed)

    def effects(self, desired: DesiredTimezone, step: Step) -> tuple[Effect, ...]:  # noqa: ARG002 - the step says it
        """Return the link, where the step makes it."""
        return (Effect(Target("path", LOCALTIME)),) if any(change.name == "kind" for change in step.changes) else ()

    def hazards(self, desired: DesiredTimezone, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - of every zone
        """Return none: what runs keeps the zone that it read."""
        return frozenset()

    def apply(self, writer: HostWriter, desired: DesiredTimezone, step: Step) -> None:
        """Write the link and the name."""
        apply_timezone(writer, desired, step)

    def removal(self, desired: DesiredTimezone) -> Removal:  # noqa: ARG002 - of every zone
        """Return that a host keeps its time zone."""
        return Removal.NEVER

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the zone that the link names."""
        zone = observed.fields.get("zone")
        found: dict[str, JsonValue] = {"zone": zone} if isinstance(zone, str) else {}
        parse_timezone(name, found)
        return found
