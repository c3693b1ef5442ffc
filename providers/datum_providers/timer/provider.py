"""The resource type `timer`: a timer of the service manager, and the service that it starts."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.access import Access
from datum.model.check import Check
from datum.model.content import Content
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import LOADED, Change, Effect, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    Stage,
    TargetIndex,
)
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.shared.above import edges_above
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.consumers import consumer_of
from datum_providers.shared.root_files import hazards_of_files, is_part_missing
from datum_providers.shared.unit_judging import TIMEOUT, judge_of_files
from datum_providers.shared.unit_loading import NO_MANAGER
from datum_providers.timer.desired import DesiredTimer, normal_name, parse_timer
from datum_providers.timer.doing import apply_timer
from datum_providers.timer.look import observe_timers
from datum_providers.timer.reading import declared_by
from datum_providers.timer.steps import HARMLESS, effects_of_timer, plan_timer

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class TimerProvider:
    """Timers; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "timer"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "on_calendar": FieldClass.ENFORCED,
        "on_boot": FieldClass.ENFORCED,
        "on_unit_active": FieldClass.ENFORCED,
        "persistent": FieldClass.ENFORCED,
        "randomized_delay": FieldClass.ENFORCED,
        "accuracy": FieldClass.ENFORCED,
        "argv": FieldClass.ENFORCED,
        "user": FieldClass.ENFORCED,
        "environment": FieldClass.ENFORCED,
        "working_directory": FieldClass.ENFORCED,
        "description": FieldClass.ENFORCED,
        "running": FieldClass.ENFORCED,
    }
    # It may start what it is for at once, so what that needs is there before.
    order_stage: ClassVar[Stage] = Stage.SERVICES
    apply_deadline: ClassVar[float] = 300.0
    # What is in the way of a file may be a large directory.
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the name of both units without their suffix."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTimer:
        """Normalise one declaration."""
        return parse_timer(name, attributes)

    def targets(self, desired: DesiredTimer) -> tuple[Target, ...]:
        """Return both paths, and the state of the timer."""
        return (
            Target("path", desired.path, leaf=True),
            Target("path", desired.service_path, leaf=True),
            Target("unit_state", desired.unit.full),
        )

    def edges(self, desired: DesiredTimer, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, and what the service needs: user, program, directory."""
        needed = (
            ("user", desired.user, "user"),
            ("path", desired.program, "program"),
            ("path", desired.directory, "working directory"),
        )
        found = [(index.holder(Target(kind, key)), reason) for kind, key, reason in needed if key]
        own = (ImplicitEdge(target, reason) for target, reason in found if target is not None)
        return (*edges_above(desired.path, index), *own)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredTimer]) -> Mapping[str, Observation]:
        """Look at every path, and ask the manager once for all of them."""
        return observe_timers(reader, desired)

    def plan(self, desired: DesiredTimer, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there, and is active, to what is wanted."""
        return plan_timer(desired, observed)

    def effects(self, desired: DesiredTimer, step: Step) -> tuple[Effect, ...]:
        """Return the paths and units that the step makes."""
        return effects_of_timer(desired, step)

    def hazards(self, desired: DesiredTimer, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - as the contract has it
        """Return `data_loss` where something else than a file goes."""
        return hazards_of_files(step, harmless=HARMLESS)

    def apply(self, writer: HostWriter, desired: DesiredTimer, step: Step) -> None:
        """Write the files, have them read, enable and start; or the other way round."""
        apply_timer(writer, desired, step)

    def validation(self, origin: ResourceId, desired: DesiredTimer) -> Check:
        """Return what judges both units as they lie there, drop-ins that nobody declared included."""
        return Check(origin, judge_of_files(desired.path, desired.service_path), TIMEOUT)

    def removal(self, desired: DesiredTimer) -> Removal:  # noqa: ARG002 - true of every timer
        """Return that it is deleted: its place is one that is meant to be dropped into."""
        return Removal.DELETE

    def is_missing(self, change: Change) -> bool:
        """Return whether a file is missing, or the timer neither enabled nor active any more."""
        return is_part_missing(change) or change.before is False or change.name == LOADED

    def access(
        self, desired: Mapping[str, DesiredTimer], text_of: Callable[[Content], str | None]
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return as whom the service runs, and what it is told of."""
        texts = {name: text_of(one.service) for name, one in desired.items() if one.service is not None}
        found = {name: consumer_of(name, (text,)) for name, text in texts.items() if text is not None}
        return {name: (consumer,) for name, consumer in found.items() if consumer is not None}

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes of a pair of unit files as this type writes them."""
        adopted_fields(name, observed, FileKind.REGULAR, ())
        texts = observed.detail.get("timer"), observed.detail.get("service")
        is_running = observed.fields.get("enabled") is True
        if isinstance(texts[0], str) and isinstance(texts[1], str):
            found = declared_by(name, texts[0], texts[1])
            if found and observed.fields.get("running") in {is_running, NO_MANAGER}:
                return found if is_running else {**found, "running": False}
        raise DesiredError(
            "",
            f"{name}.timer and {name}.service say more than a timer can declare, or say it in another way; or one is "
            "active and not enabled, or the other way round.",
            hint=f"datum adopt unit:{name}.timer unit:{name}.service service:{name}.timer",
        )
