"""The resource type `hostname`: the names of the host."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import NOTHING, Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, Effect, Need, Operation, Step
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.hostname.desired import (
    HOSTNAME,
    KEY,
    MACHINE_INFO,
    NAME,
    DesiredHostname,
    normal_name,
    parse_hostname,
)
from datum_providers.hostname.doing import apply_hostname
from datum_providers.hostname.look import observe_hostname, paths_of
from datum_providers.shared.above import edges_above
from datum_providers.shared.kinds import residue_change
from datum_providers.shared.other_kinds import in_place_of_file

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class HostnameProvider:
    """Names of the host; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "hostname"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {"static": FieldClass.ENFORCED, "pretty": FieldClass.ENFORCED}
    apply_deadline: ClassVar[float] = 60.0
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return `host`."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredHostname:
        """Normalise one declaration."""
        return parse_hostname(name, attributes)

    def targets(self, desired: DesiredHostname) -> tuple[Target, ...]:
        """Return the files that are kept, and the key of the kernel."""
        key = (Target("kernel_key", KEY),) if desired.static is not None else ()
        return (*(Target("path", path, leaf=True) for path in paths_of(desired)), *key)

    def edges(self, desired: DesiredHostname, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the files lie in."""
        return tuple(dict.fromkeys(edge for path in paths_of(desired) for edge in edges_above(path, index)))

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredHostname]) -> Mapping[str, Observation]:
        """Read the files, and the running name."""
        return {name: observe_hostname(reader, one) for name, one in desired.items()}

    def plan(self, desired: DesiredHostname, observed: Present | Absent) -> Step | None:
        """Return the step; changes stand in the order of files that are none, static, running, pretty, residue."""
        others = tuple(_others(observed))
        changes = (*(change for change, _ in others), *_changes(desired, observed), *residue_change(observed))
        return Step(Operation.UPDATE, changes, tuple(need for _, need in others)) if changes else None

    def effects(self, desired: DesiredHostname, step: Step) -> tuple[Effect, ...]:
        """Return the files that the step writes."""
        changed = {change.name for change in step.changes}
        paths = (path for name, path in (("static", HOSTNAME), ("pretty", MACHINE_INFO)) if name in changed)
        return tuple(Effect(Target("path", path)) for path in paths if path in paths_of(desired))

    def hazards(self, desired: DesiredHostname, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - of every name
        """Return none: nothing that runs loses its connections with the name."""
        return frozenset()

    def apply(self, writer: HostWriter, desired: DesiredHostname, step: Step) -> None:
        """Write the files, and set the running name."""
        apply_hostname(writer, desired, step)

    def removal(self, desired: DesiredHostname) -> Removal:  # noqa: ARG002 - of every name
        """Return that a host keeps its name."""
        return Removal.NEVER

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the names that the host has, where they are ones."""
        seen = {field: observed.fields.get(field) for field in self.fields}
        found: dict[str, JsonValue] = {
            field: value for field, value in seen.items() if isinstance(value, str) and value
        }
        parse_hostname(name, found)
        return found


def _others(observed: Present | Absent) -> Iterator[tuple[Change, Need]]:
    """Yield what stands in the place of the files and is none: it is not done away with."""
    for name, path in (("static_kind", HOSTNAME), ("pretty_kind", MACHINE_INFO)):
        kind = observed.fields.get(name)
        if isinstance(kind, str):
            yield (
                Change(name, kind, FileKind.REGULAR.value),
                Need(Target(NOTHING, NAME), in_place_of_file(path, kind)),
            )


def _changes(desired: DesiredHostname, observed: Present | Absent) -> Iterator[Change]:
    wanted = (("static", desired.static), ("running", desired.static), ("pretty", desired.pretty))
    for name, value in wanted:
        # What is not looked at is no difference.
        before = observed.fields.get(name, value)
        if value is not None and (before is None or isinstance(before, str)) and before != value:
            yield Change(name, before, value)
