"""The resource type `unit`: a unit file of the administrator's, or a drop-in of one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.access import Access
from datum.model.check import Check
from datum.model.content import Content
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
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.shared.above import edges_above
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.places import removal_of
from datum_providers.shared.unit_judging import TIMEOUT
from datum_providers.shared.units import NEW_UNIT_FILE, PART, part_key, unit_path
from datum_providers.unit.access import access_of_units
from datum_providers.unit.desired import DesiredUnit, normal_name, parse_unit
from datum_providers.unit.doing import apply_unit
from datum_providers.unit.judging import judge_as_it_is
from datum_providers.unit.look import observe_units
from datum_providers.unit.needs import edges_of_content
from datum_providers.unit.steps import hazards_of_unit, plan_unit

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())

# Units that start another one, by default the service of their name, which `systemd-analyze verify` looks for.
_STARTERS: Final = frozenset({"socket", "timer", "path"})


class UnitProvider:
    """Unit files and drop-ins; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "unit"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "content": FieldClass.ENFORCED,
        "source": FieldClass.ENFORCED,
        "template": FieldClass.ENFORCED,
        "parts": FieldClass.ENFORCED,
        "on_change": FieldClass.INSTRUCTION,
    }
    order_stage: ClassVar[Stage] = Stage.UNITS
    # What runs from a file that goes is stopped first, which may take what its unit allows.
    apply_deadline: ClassVar[float] = 300.0
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the unit's full name, and that of the drop-in without `.conf`."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredUnit:
        """Normalise one declaration."""
        return parse_unit(name, attributes)

    def targets(self, desired: DesiredUnit) -> tuple[Target, ...]:
        """Return the path, and what its change means for the unit."""
        path = Target("path", desired.path, leaf=True)
        if desired.on_change is None:
            return (path,)
        return (path, Target(PART, part_key(desired.on_change, desired.path)))

    def edges(self, desired: DesiredUnit, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, what its text names, and softly the files it is judged with and a package."""
        found = []
        if desired.drop_in:
            found = [(index.holder(Target("path", unit_path(name))), "unit file") for name in desired.unit.sources]
        elif desired.unit.suffix in _STARTERS:
            service = f"{desired.unit.stem}.service"
            found = [(index.holder(Target("path", unit_path(service))), f"what the {desired.unit.suffix} starts")]
        found.append((index.holder(Target("package", desired.unit.prefix)), "package of its name"))
        soft = (ImplicitEdge(one, why, DependencyKind.AFTER, soft=True) for one, why in found if one is not None)
        return (*edges_above(desired.path, index), *soft, *edges_of_content(desired.content, index))

    def relate(self, desired: DesiredUnit, index: TargetIndex) -> DesiredUnit:
        """Learn whether its directory is exclusive, and whether that of a drop-in is declared."""
        return evolve(
            desired,
            is_in_exclusive=index.is_exclusive(desired.folder),
            has_declared_folder=index.holder(Target("path", desired.folder)) is not None,
        )

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredUnit]) -> Mapping[str, Observation]:
        """Look at every path, and ask the manager once which of the files it has loaded."""
        return observe_units(reader, desired)

    def plan(self, desired: DesiredUnit, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there, and is loaded, to what is wanted."""
        return plan_unit(desired, observed)

    def effects(self, desired: DesiredUnit, step: Step) -> tuple[Effect, ...]:
        """Return the path, and the unit of a unit file, where the step makes the file; what it changes of the unit."""
        new = Effect(Target(NEW_UNIT_FILE, desired.unit.full))
        if step.operation not in {Operation.CREATE, Operation.REPLACE}:
            return (new,) if any(change.name in {"content", "loaded"} for change in step.changes) else ()
        made = (Effect(Target("path", desired.path)), new)
        return made if desired.drop_in else (*made, Effect(Target("unit", desired.unit.full)))

    def hazards(self, desired: DesiredUnit, step: Step) -> frozenset[Hazard]:
        """Return `data_loss` where something else goes, `access_loss` where a way in hangs on the unit."""
        return hazards_of_unit(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredUnit, step: Step) -> None:
        """Write, change attributes, or remove; the manager learns of it by `settle`."""
        apply_unit(writer, desired, step)

    def settle(self, writer: HostWriter) -> None:
        """Have the manager read all unit files again, where there is one."""
        manager = writer.manager()
        if manager is not None:
            manager.daemon_reload()

    def can_stage(self, desired: DesiredUnit) -> bool:
        """Return whether nothing but the file changes: before a unit file goes, its unit is stopped."""
        return bool(desired.drop_in) or desired.content is not None

    def validation(self, origin: ResourceId, desired: DesiredUnit) -> Check | None:
        """Return what judges the unit as it lies there, drop-ins that nobody declared included."""
        argv = judge_as_it_is(desired)
        return Check(origin, argv, TIMEOUT) if argv else None

    def removal(self, desired: DesiredUnit) -> Removal:
        """Return that it is deleted: its place is one that is meant to be dropped into. The agent's own are not."""
        return removal_of(desired.path, is_in_exclusive=desired.is_in_exclusive)

    def access(
        self, desired: Mapping[str, DesiredUnit], text_of: Callable[[Content], str | None]
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return as whom the programs of service units run, and what they are told of."""
        return access_of_units(desired, text_of)

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the content, if it is a text of bounded size."""
        adopted_fields(name, observed, FileKind.REGULAR, ())
        text = observed.detail.get("text")
        return {"content": text} if isinstance(text, str) else {}
