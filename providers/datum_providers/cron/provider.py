"""The resource type `cron`: a file in /etc/cron.d, one job or the whole file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.cron.desired import DesiredCron, normal_name, parse_cron
from datum_providers.cron.doing import apply_cron
from datum_providers.cron.look import observe_cron
from datum_providers.cron.steps import makes_file, plan_cron
from datum_providers.shared.above import edges_above
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.root_files import hazards_of_files

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class CronProvider:
    """Files of cron; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "cron"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "schedule": FieldClass.ENFORCED,
        "command": FieldClass.ENFORCED,
        "user": FieldClass.ENFORCED,
        "environment": FieldClass.ENFORCED,
        "content": FieldClass.ENFORCED,
        "template": FieldClass.ENFORCED,
    }
    apply_deadline: ClassVar[float] = 60.0
    # What is in the way of the file may be a large directory.
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the name, which has one spelling."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredCron:
        """Normalise one declaration."""
        return parse_cron(name, attributes)

    def targets(self, desired: DesiredCron) -> tuple[Target, ...]:
        """Return the path."""
        return (Target("path", desired.path, leaf=True),)

    def edges(self, desired: DesiredCron, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, and the user."""
        user = index.holder(Target("user", desired.user)) if desired.user else None
        found = () if user is None else (ImplicitEdge(user, "user"),)
        return (*edges_above(desired.path, index), *found)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredCron]) -> Mapping[str, Observation]:
        """Look at every path, in their order."""
        return {name: observe_cron(reader, desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredCron, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted."""
        return plan_cron(desired, observed)

    def effects(self, desired: DesiredCron, step: Step) -> tuple[Effect, ...]:
        """Return the path, where the step makes the file."""
        return (Effect(Target("path", desired.path)),) if makes_file(step) else ()

    def hazards(self, desired: DesiredCron, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - as the contract has it
        """Return `data_loss` where something else than a file goes."""
        return hazards_of_files(step)

    def apply(self, writer: HostWriter, desired: DesiredCron, step: Step) -> None:
        """Write, change attributes, or unlink; cron sees by itself that the file is another."""
        apply_cron(writer, desired, step)

    def can_stage(self, desired: DesiredCron) -> bool:  # noqa: ARG002 - true of every file
        """Return true: nothing but the file changes."""
        return True

    def removal(self, desired: DesiredCron) -> Removal:  # noqa: ARG002 - true of every file
        """Return that it is deleted: its place is one that is meant to be dropped into."""
        return Removal.DELETE

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the file as a whole, if it is a text of bounded size."""
        adopted_fields(name, observed, FileKind.REGULAR, ())
        text = observed.detail.get("text")
        return {"content": text} if isinstance(text, str) else {}
