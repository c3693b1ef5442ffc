"""The resource type `directory`: one directory, its mode, owner and group, and whether it holds anything else."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.access import Access
from datum.model.content import Content
from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.directory.desired import DesiredDirectory, normal_name, parse_directory
from datum_providers.directory.doing import apply_directory
from datum_providers.directory.look import Look
from datum_providers.directory.steps import plan_directory
from datum_providers.shared.above import edges_above
from datum_providers.shared.accounts import rights_as_declared
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.kinds import hazards_of_kinds
from datum_providers.shared.names import path_of
from datum_providers.shared.places import (
    guards_access,
    guards_access_as_directory,
    guards_access_below,
    removal_of_directory,
)
from datum_providers.shared.safety import changes_rights, makes_safe

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class DirectoryProvider:
    """Directories; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "directory"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "mode": FieldClass.ENFORCED,
        "owner": FieldClass.ENFORCED,
        "group": FieldClass.ENFORCED,
        "exclusive": FieldClass.ENFORCED,
        "recurse": FieldClass.INSTRUCTION,
        "keep": FieldClass.INSTRUCTION,
        "recursive": FieldClass.ENFORCED,
    }
    # A hundred thousand paths change their owner one by one.
    apply_deadline: ClassVar[float] = 600.0
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the normal form of a path."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredDirectory:
        """Normalise one declaration."""
        return parse_directory(name, attributes)

    def targets(self, desired: DesiredDirectory) -> tuple[Target, ...]:
        """Return the path, with what it means for those that lie below."""
        return (Target("path", desired.path, exclusive=desired.exclusive, shared_with=desired.shared_with),)

    def edges(self, desired: DesiredDirectory, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, the owner, the group."""
        return (*edges_above(desired.path, index), *desired.owners.edges(index))

    def relate(self, desired: DesiredDirectory, index: TargetIndex) -> DesiredDirectory:
        """Learn what is declared below, which is never cleared away, and whether the directory above is exclusive."""
        return desired.among(index)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredDirectory]) -> Mapping[str, Observation]:
        """Look at every path, in their order."""
        look = Look.through(reader)
        return {name: look.at(desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredDirectory, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted."""
        return plan_directory(desired, observed)

    def effects(self, desired: DesiredDirectory, step: Step) -> tuple[Effect, ...]:
        """Return the path, where the step makes the directory; where it changes its rights, that they are safe."""
        if step.operation in {Operation.CREATE, Operation.REPLACE}:
            return (Effect(Target("path", desired.path)),)
        return makes_safe(desired.path, desired.mode, desired.shared_with) if changes_rights(step) else ()

    def hazards(self, desired: DesiredDirectory, step: Step) -> frozenset[Hazard]:
        """Return `data_loss` where something else goes, `access_loss` where a way in is changed or cleared away.

        What goes along with a directory that is deleted is judged by the planner.
        """
        # Nothing was reached through a directory that was not there.
        is_changed = step.operation is not Operation.CREATE and any(
            not change.name.startswith("./") and change.name != "residue" for change in step.changes
        )
        given = (path_of(desired.path, change.name) for change in step.changes if _is_given(change))
        is_way_in = (
            (is_changed and guards_access_as_directory(desired.path))
            or any(map(guards_access, step.takes))
            or any(map(guards_access_below, given))
        )
        lost = frozenset({Hazard.ACCESS_LOSS}) if is_way_in else frozenset()
        return hazards_of_kinds(step, FileKind.DIRECTORY) | lost

    def apply(self, writer: HostWriter, desired: DesiredDirectory, step: Step) -> None:
        """Make, change attributes, clear, or remove."""
        apply_directory(writer, desired, step)

    def removal(self, desired: DesiredDirectory) -> Removal:
        """Return what its place says, or the directory that it is in."""
        return removal_of_directory(desired.path, is_in_exclusive=desired.is_in_exclusive)

    def can_stage(self, desired: DesiredDirectory) -> bool:
        """Return false where thousands of owners change: a check that refused could not take them back."""
        return not desired.recursive

    def access(
        self,
        desired: Mapping[str, DesiredDirectory],
        text_of: Callable[[Content], str | None],  # noqa: ARG002 - as the contract has it
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return mode and owners."""
        return {
            name: (rights_as_declared(one.path, one.mode, one.owners, is_directory=True),)
            for name, one in desired.items()
        }

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what was observed; never that it is exclusive."""
        return adopted_fields(name, observed, FileKind.DIRECTORY, ("mode", "owner", "group"))


def _is_given(change: Change) -> bool:
    """Whether a change gives something below the directory another owner."""
    return change.name.startswith("./") and change.after is not None
