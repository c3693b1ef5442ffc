"""The resource type `package_source`: a source of apt in the form of deb822, and the key that signs it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, Effect, Step
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
from datum_providers.package_source.desired import DesiredSource, normal_name, own_key_path, parse_source
from datum_providers.package_source.doing import apply_source
from datum_providers.package_source.look import observe_source
from datum_providers.package_source.stanza import EMBEDDED
from datum_providers.package_source.steps import effects_of_source, plan_source
from datum_providers.shared.above import edges_above
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.root_files import hazards_of_files, is_part_missing

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class PackageSourceProvider:
    """Sources of packages; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "package_source"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "uris": FieldClass.ENFORCED,
        "suites": FieldClass.ENFORCED,
        "components": FieldClass.ENFORCED,
        "types": FieldClass.ENFORCED,
        "architectures": FieldClass.ENFORCED,
        "key": FieldClass.ENFORCED,
        "keys": FieldClass.ENFORCED,
        "signed_by": FieldClass.ENFORCED,
        "fingerprint": FieldClass.INSTRUCTION,
        "enabled": FieldClass.ENFORCED,
        "options": FieldClass.ENFORCED,
    }
    order_stage: ClassVar[Stage] = Stage.SOURCES
    apply_deadline: ClassVar[float] = 60.0
    # What is in the way of a file may be a large directory.
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the name, which is that of the file without `.sources`."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredSource:
        """Normalise one declaration, and compare a key with its fingerprint."""
        return parse_source(name, attributes)

    def targets(self, desired: DesiredSource) -> tuple[Target, ...]:
        """Return the path of the source and of its own key, and what packages are found by."""
        index, source = Target("apt_index", "", shared=True), Target("path", desired.path, leaf=True)
        return (source, Target("path", desired.key_path, leaf=True), index) if desired.has_key else (source, index)

    def edges(self, desired: DesiredSource, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the paths wait for, and the keyring that somebody else brings."""
        paths = (desired.path, desired.key_path) if desired.has_key else (desired.path,)
        found = [edge for path in paths for edge in edges_above(path, index)]
        keyring = index.holder(Target("path", desired.keyring)) if desired.keyring else None
        if keyring is not None:
            found.append(ImplicitEdge(keyring, "keyring"))
        return tuple(dict.fromkeys(found))

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredSource]) -> Mapping[str, Observation]:
        """Look at every source, in the order of their names."""
        return {name: observe_source(reader, desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredSource, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted, field by field."""
        return plan_source(desired, observed)

    def effects(self, desired: DesiredSource, step: Step) -> tuple[Effect, ...]:
        """Return the paths that the step makes, and the index of packages."""
        return effects_of_source(desired, step)

    def hazards(self, desired: DesiredSource, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - as the contract has it
        """Return `data_loss` where something else than a file goes."""
        return hazards_of_files(step)

    def apply(self, writer: HostWriter, desired: DesiredSource, step: Step) -> None:
        """Write the key, then the source; remove them the other way round."""
        apply_source(writer, desired, step)

    def can_stage(self, desired: DesiredSource) -> bool:  # noqa: ARG002 - true of every source
        """Return true: nothing but the files changes."""
        return True

    def removal(self, desired: DesiredSource) -> Removal:  # noqa: ARG002 - true of every source
        """Return that it is deleted: its places are meant to be dropped into."""
        return Removal.DELETE

    def is_missing(self, change: Change) -> bool:
        """Return whether the source, the key or a field of them is missing."""
        return is_part_missing(change)

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the fields of the source, and its key where that lies where a declared one would."""
        adopted_fields(name, observed, FileKind.REGULAR, ())
        fields, signed_by = observed.fields, observed.fields.get("signed_by")
        if fields.get("readable") is False or not fields.get("uris"):
            raise DesiredError("", f"{name}.sources does not hold one source that apt would read.")
        if signed_by == EMBEDDED or " " in str(signed_by):
            raise DesiredError("", f"{name}.sources names its key in a way that is not declared.", hint="use signed_by")
        found: dict[str, JsonValue] = {}
        for field in ("types", "uris", "suites", "components", "architectures", "options"):
            if value := _plain(fields.get(field)):
                found[field] = value
        if fields.get("enabled") is False:
            found["enabled"] = False
        key = observed.detail.get("key")
        if signed_by == own_key_path(name) and isinstance(key, str):
            found["key"] = key
        elif isinstance(signed_by, str) and signed_by:
            found["signed_by"] = signed_by
        return found


def _plain(value: object) -> JsonValue:
    if isinstance(value, (tuple, list)):
        return tuple(str(item) for item in value)
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, Mapping) else None
