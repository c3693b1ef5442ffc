"""The resource type `tree`: a folder of the repository onto a folder of the host, as one resource."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import FileKind, HostReader, HostWriter
from datum.provider.paths import parents
from datum_providers.shared import places
from datum_providers.shared.above import edges_above
from datum_providers.shared.exclusive import Neighbours
from datum_providers.shared.names import normal_name
from datum_providers.tree.desired import TYPE, DesiredTree, parse_tree
from datum_providers.tree.doing import apply_tree
from datum_providers.tree.entries import Entry
from datum_providers.tree.look import TreeLook
from datum_providers.tree.steps import effects_of_tree, hazards_of_tree, plan_tree

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class TreeProvider:
    """Trees; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = TYPE
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        # These say how each path shall be, and all of that is compared: without one its default would be enforced.
        "source": FieldClass.INSTRUCTION,
        "mode": FieldClass.INSTRUCTION,
        "executable_mode": FieldClass.INSTRUCTION,
        "directory_mode": FieldClass.INSTRUCTION,
        "rules": FieldClass.INSTRUCTION,
        "owner": FieldClass.ENFORCED,
        "group": FieldClass.ENFORCED,
        "links": FieldClass.INSTRUCTION,
        "exclusive": FieldClass.ENFORCED,
        "keep": FieldClass.INSTRUCTION,
    }
    # Ten thousand files on a slow disk take minutes.
    apply_deadline: ClassVar[float] = 3600.0
    observe_deadline: ClassVar[float] = 3600.0

    def normal_name(self, name: str) -> str:
        """Return the normal form of a path."""
        return normal_name(name, self.type_name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTree:
        """Normalise one declaration."""
        return parse_tree(name, attributes)

    def targets(self, desired: DesiredTree) -> tuple[Target, ...]:
        """Return every path of the tree; its folders may hold what other resources declare."""
        if not desired.entries:
            return (Target("path", desired.path),)
        return tuple(_target(entry, exclusive=desired.exclusive) for entry in desired.entries)

    def edges(self, desired: DesiredTree, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the path waits for, and every owner and group."""
        found = list(edges_above(desired.path, index))
        for owners in desired.accounts:
            found.extend(owners.edges(index))
        return tuple(dict.fromkeys(found))

    def relate(self, desired: DesiredTree, index: TargetIndex) -> DesiredTree:
        """Learn what others declare inside, which an exclusive tree keeps, and whether the parent is exclusive."""
        own = {entry.path for entry in desired.entries}
        found = Neighbours.of(desired.path, index)
        return evolve(
            desired,
            neighbours=(found.declared | found.closed) - own,
            is_in_exclusive=index.is_exclusive(parents(desired.path)[0]),
        )

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredTree]) -> Mapping[str, Observation]:
        """Look at every path of every tree, in their order."""
        look = TreeLook.through(reader)
        return {name: look.at(desired[name]) for name in sorted(desired)}

    def plan(self, desired: DesiredTree, observed: Present | Absent) -> Step | None:
        """Return the step from what stands there to what is wanted, a change for each path."""
        return plan_tree(desired, observed)

    def effects(self, desired: DesiredTree, step: Step) -> tuple[Effect, ...]:
        """Return the paths that the step makes."""
        return effects_of_tree(desired, step)

    def hazards(self, desired: DesiredTree, step: Step) -> frozenset[Hazard]:
        """Return `data_loss` and `access_loss` where one of its changes costs that."""
        return hazards_of_tree(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredTree, step: Step) -> None:
        """Make folders, write files and links, clear away; or remove the tree."""
        apply_tree(writer, desired, step)

    def can_stage(self, desired: DesiredTree) -> bool:  # noqa: ARG002 - no tree is an exception
        """Whether a check can judge it: every step of a tree changes paths only."""
        return True

    def removal(self, desired: DesiredTree) -> Removal:
        """Return what its place says, and the directory it lies in."""
        return places.removal_of_directory(desired.path, is_in_exclusive=desired.is_in_exclusive)

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - whatever it is
        """Refuse: the files would have to be in the repository first."""
        raise DesiredError(
            "",
            f"a tree is a folder of the repository, and what stands at {name} is not in it.",
            hint=f"copy {name} into the repository and name that folder as source",
            code="cannot-be-adopted",
        )


def _target(entry: Entry, *, exclusive: bool) -> Target:
    if entry.kind is not FileKind.DIRECTORY:
        return Target("path", entry.path, leaf=True)
    return Target("path", entry.path, exclusive=exclusive, shared_with=entry.shared_with)
