"""The resource type `file`: one regular file, its bytes, mode, owner and group."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Operation, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.file import places
from datum_providers.file.desired import DesiredFile, normal_name, parse_file
from datum_providers.file.doing import apply_file
from datum_providers.file.look import Look
from datum_providers.file.steps import plan_file

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class FileProvider:
    """Files; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "file"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "content": FieldClass.ENFORCED,
        "source": FieldClass.ENFORCED,
        "template": FieldClass.ENFORCED,
        "mode": FieldClass.ENFORCED,
        "owner": FieldClass.ENFORCED,
        "group": FieldClass.ENFORCED,
        "validate": FieldClass.INSTRUCTION,
    }
    apply_deadline: ClassVar[float] = 120.0
    # Hashing a file of some gigabytes takes minutes; network and FUSE mounts have a deadline of their own.
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the normal form of a path."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredFile:
        """Normalise one declaration."""
        return parse_file(name, attributes)

    def targets(self, desired: DesiredFile) -> tuple[Target, ...]:
        """Return the path."""
        return (Target("path", desired.path, leaf=True),)

    def edges(self, desired: DesiredFile, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the nearest declared directory above, the owner, the group."""
        found = (
            (index.nearest_parent(desired.path), "parent directory"),
            (index.holder(Target("user", desired.owner)) if desired.owner else None, "owner"),
            (index.holder(Target("group", desired.group)) if desired.group else None, "group"),
        )
        return tuple(ImplicitEdge(target, reason) for target, reason in found if target is not None)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredFile]) -> Mapping[str, Observation]:
        """Look at every path, in their order."""
        look = Look.through(reader)
        return {name: look.at(desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredFile, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted."""
        return plan_file(desired, observed)

    def effects(self, desired: DesiredFile, step: Step) -> tuple[Effect, ...]:
        """Return the path, where the step makes the file."""
        if step.operation in {Operation.CREATE, Operation.REPLACE}:
            return (Effect(Target("path", desired.path)),)
        return ()

    def hazards(self, desired: DesiredFile, step: Step) -> frozenset[Hazard]:
        """Return `data_loss` where something else than a file goes, `access_loss` where a way in hangs on the file."""
        found = set()
        kinds = {change.before for change in step.changes if change.name == "kind"}
        if step.operation.removes and kinds - {None, FileKind.REGULAR.value}:
            found.add(Hazard.DATA_LOSS)
        is_harmless = bool(step.changes) and all(change.name == "residue" for change in step.changes)
        if places.guards_access(desired.path) and not is_harmless:
            found.add(Hazard.ACCESS_LOSS)
        return frozenset(found)

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        """Write, change attributes, or unlink."""
        apply_file(writer, desired, step)

    def removal(self, desired: DesiredFile) -> Removal:
        """Return what its place says."""
        return places.removal_of(desired.path)

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what was observed; the content only if it is a text of bounded size."""
        kind = observed.fields.get("kind")
        if kind != FileKind.REGULAR.value:
            raise DesiredError("", f"a {kind} stands at {name}, and file declares regular files only.")
        text = observed.detail.get("text")
        attributes: dict[str, JsonValue] = {"content": text} if isinstance(text, str) else {}
        for field in ("mode", "owner", "group"):
            value = observed.fields.get(field)
            if isinstance(value, str):
                attributes[field] = value
        return attributes
