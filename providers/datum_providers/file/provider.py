"""The resource type `file`: one regular file, its bytes, mode, owner and group."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.access import Access
from datum.model.check import Check
from datum.model.content import Content
from datum.model.graph import Target
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
    TargetIndex,
)
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.file.desired import DesiredFile, normal_name, parse_file
from datum_providers.file.doing import VALIDATE_TIMEOUT, apply_file
from datum_providers.file.look import Look
from datum_providers.file.steps import plan_file
from datum_providers.shared.above import edges_above
from datum_providers.shared.accounts import rights_as_declared
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.kinds import hazards_of_kinds
from datum_providers.shared.places import guards_access, removal_of

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class FileProvider:
    """Files; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "file"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "2"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "content": FieldClass.ENFORCED,
        "source": FieldClass.ENFORCED,
        "template": FieldClass.ENFORCED,
        "base64": FieldClass.ENFORCED,
        "parts": FieldClass.ENFORCED,
        "assemble": FieldClass.ENFORCED,
        "seed": FieldClass.INSTRUCTION,
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
        """Return what the path waits for, the owner, the group."""
        return (*edges_above(desired.path, index), *desired.owners.edges(index))

    def relate(self, desired: DesiredFile, index: TargetIndex) -> DesiredFile:
        """Learn whether the directory is exclusive: then a file that is dropped is one too many."""
        is_in_exclusive = index.is_exclusive(desired.path.rpartition("/")[0] or "/")
        return evolve(desired, is_in_exclusive=True) if is_in_exclusive else desired

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
        is_harmless = bool(step.changes) and all(change.name == "residue" for change in step.changes)
        is_way_in = any(guards_access(path) for path in (desired.path, *step.takes)) and not is_harmless
        return hazards_of_kinds(step, FileKind.REGULAR) | (
            frozenset({Hazard.ACCESS_LOSS}) if is_way_in else frozenset()
        )

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        """Write, change attributes, or unlink."""
        apply_file(writer, desired, step)

    def removal(self, desired: DesiredFile) -> Removal:
        """Return what its place says, or the directory that it is in."""
        return removal_of(desired.path, is_in_exclusive=desired.is_in_exclusive)

    def can_stage(self, desired: DesiredFile) -> bool:  # noqa: ARG002 - true of every file
        """Return true: a file is written, changed or removed at its path, and nothing else is done."""
        return True

    def validation(self, origin: ResourceId, desired: DesiredFile) -> Check | None:
        """Return `validate` with the path in it: it judges the file as it stands there."""
        if not desired.validate:
            return None
        return Check(origin, tuple(part.replace("{path}", desired.path) for part in desired.validate), VALIDATE_TIMEOUT)

    def access(
        self,
        desired: Mapping[str, DesiredFile],
        text_of: Callable[[Content], str | None],  # noqa: ARG002 - as the contract has it
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return mode and owners; a file without content is none that Datum makes."""
        return {
            name: (rights_as_declared(one.path, one.mode, one.owners, is_made=one.content is not None),)
            for name, one in desired.items()
        }

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what was observed; the content only if it is a text of bounded size."""
        attributes = adopted_fields(name, observed, FileKind.REGULAR, ("mode", "owner", "group"))
        text = observed.detail.get("text")
        return {"content": text, **attributes} if isinstance(text, str) else attributes
