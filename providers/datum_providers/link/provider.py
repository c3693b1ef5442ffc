"""The resource type `link`: one symbolic link, what it says, its owner and group."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Operation, Step
from datum.provider.contract import CONTRACT_VERSION, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import FileKind, HostReader, HostWriter
from datum_providers.link.desired import DesiredLink, normal_name, parse_link
from datum_providers.link.doing import apply_link
from datum_providers.link.look import Look
from datum_providers.link.steps import plan_link
from datum_providers.shared.above import edges_above
from datum_providers.shared.adoption import adopted_fields
from datum_providers.shared.kinds import hazards_of_kinds
from datum_providers.shared.places import guards_access, removal_of

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class LinkProvider:
    """Symbolic links; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "link"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "target": FieldClass.ENFORCED,
        "owner": FieldClass.ENFORCED,
        "group": FieldClass.ENFORCED,
    }
    apply_deadline: ClassVar[float] = 60.0
    # What is in the way of a link may be a large directory.
    observe_deadline: ClassVar[float] = 600.0

    def normal_name(self, name: str) -> str:
        """Return the normal form of a path."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredLink:
        """Normalise one declaration."""
        return parse_link(name, attributes)

    def targets(self, desired: DesiredLink) -> tuple[Target, ...]:
        """Return the path."""
        return (Target("path", desired.path, leaf=True),)

    def edges(self, desired: DesiredLink, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, the accounts, and softly what the link leads to.

        A link may dangle: what it leads to comes first if that can be had, and is not required.
        """
        folder = index.nearest_parent(desired.path)
        end = index.holder(Target("path", desired.end)) if desired.end is not None else None
        is_new = end is not None and end != folder
        target = (ImplicitEdge(end, "target", DependencyKind.AFTER, soft=True),) if end is not None and is_new else ()
        return (*edges_above(desired.path, index), *desired.owners.edges(index), *target)

    def relate(self, desired: DesiredLink, index: TargetIndex) -> DesiredLink:
        """Learn whether the directory is exclusive: then a link that is dropped is one too many."""
        is_in_exclusive = index.is_exclusive(desired.path.rpartition("/")[0] or "/")
        return evolve(desired, is_in_exclusive=True) if is_in_exclusive else desired

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredLink]) -> Mapping[str, Observation]:
        """Look at every path, in their order."""
        look = Look.through(reader)
        return {name: look.at(desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredLink, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted."""
        return plan_link(desired, observed)

    def effects(self, desired: DesiredLink, step: Step) -> tuple[Effect, ...]:
        """Return the path, where the step makes the link."""
        if step.operation in {Operation.CREATE, Operation.REPLACE}:
            return (Effect(Target("path", desired.path)),)
        return ()

    def hazards(self, desired: DesiredLink, step: Step) -> frozenset[Hazard]:
        """Return `data_loss` where something else than a link goes, `access_loss` where a way in hangs on the path."""
        is_harmless = bool(step.changes) and all(change.name == "residue" for change in step.changes)
        is_way_in = any(guards_access(path) for path in (desired.path, *step.takes)) and not is_harmless
        return hazards_of_kinds(step, FileKind.SYMLINK) | (
            frozenset({Hazard.ACCESS_LOSS}) if is_way_in else frozenset()
        )

    def apply(self, writer: HostWriter, desired: DesiredLink, step: Step) -> None:
        """Point, change owners, or unlink."""
        apply_link(writer, desired, step)

    def removal(self, desired: DesiredLink) -> Removal:
        """Return what its place says, or the directory that it is in."""
        return removal_of(desired.path, is_in_exclusive=desired.is_in_exclusive)

    def can_stage(self, desired: DesiredLink) -> bool:  # noqa: ARG002 - true of every link
        """Return true: a link is made, changed or removed at its path, and nothing else is done."""
        return True

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what was observed."""
        return adopted_fields(name, observed, FileKind.SYMLINK, ("target", "owner", "group"))
