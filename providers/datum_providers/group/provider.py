"""The resource type `group`: one group of this host's own files, its number and its members."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.access import Access, GroupAccount
from datum.model.content import Content
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
    Stage,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum_providers.group.desired import DesiredGroup, normal_name, parse_group
from datum_providers.group.look import observe_groups
from datum_providers.group.steps import apply_group, effects_of_group, hazards_of_group, plan_group
from datum_providers.shared.numbers import after_the_numbered

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class GroupProvider:
    """Groups; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "group"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "gid": FieldClass.ENFORCED,
        "members": FieldClass.ENFORCED,
        "system": FieldClass.CREATION_ONLY,
    }
    # Each tool waits for locks.
    apply_deadline: ClassVar[float] = 300.0
    observe_deadline: ClassVar[float] = 60.0
    # A package that makes a group of this name finds it there, with its declared number.
    order_stage: ClassVar[Stage] = Stage.ACCOUNTS

    def normal_name(self, name: str) -> str:
        """Return the name, which has one spelling."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredGroup:
        """Normalise one declaration."""
        return parse_group(name, attributes)

    def targets(self, desired: DesiredGroup) -> tuple[Target, ...]:
        """Return the name, the number, and the memberships, where it says them: then no user does."""
        found = [Target("group", desired.name)]
        if desired.gid is not None:
            found.append(Target("gid", str(desired.gid)))
        if desired.members is not None:
            found.append(Target("members", desired.name))
        found += [Target("memberships", name, shared=True) for name in desired.members or ()]
        return tuple(found)

    def edges(self, desired: DesiredGroup, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the members; softly, since a user of whom this is the primary group comes after it.

        And, where its number is for groupadd to choose, those whose number is given.
        """
        holders = (index.holder(Target("user", name)) for name in desired.members or ())
        members = (ImplicitEdge(holder, "member", soft=True) for holder in holders if holder is not None)
        return (*members, *(after_the_numbered(index, "gid") if desired.gid is None else ()))

    def relate(self, desired: DesiredGroup, index: TargetIndex) -> DesiredGroup:
        """Learn whether the user of the same name goes: then it is no obstacle that this is its primary group."""
        is_known = index.holder(Target("user", desired.name)) is not None
        return evolve(desired, is_left=is_known and desired.name not in index.keys("user"))

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredGroup]) -> Mapping[str, Observation]:
        """Read the account files once, and answer for all."""
        return observe_groups(reader, desired)

    def plan(self, desired: DesiredGroup, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_group(desired, observed)

    def effects(self, desired: DesiredGroup, step: Step) -> tuple[Effect, ...]:
        """Return the group."""
        return effects_of_group(desired, step)

    def hazards(self, desired: DesiredGroup, step: Step) -> frozenset[Hazard]:
        """Return `access_loss` where an administrator becomes none."""
        return hazards_of_group(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredGroup, step: Step) -> None:
        """Run the shadow tools."""
        apply_group(writer, desired, step)

    def removal(self, desired: DesiredGroup) -> Removal:  # noqa: ARG002 - of every group
        """Return that groups are never removed by dropping them: files would belong to nobody."""
        return Removal.NEVER

    def access(
        self,
        desired: Mapping[str, DesiredGroup],
        text_of: Callable[[Content], str | None],  # noqa: ARG002 - as the contract has it
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return number and members."""
        return {name: (GroupAccount(one.name, one.gid, one.members),) for name, one in desired.items()}

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the number; who is a member is most often said by users."""
        if observed.fields.get("foreign") is True:
            raise DesiredError("", f"{name} is no group of this host's own files.", code="cannot-be-adopted")
        gid = observed.fields.get("gid")
        return {"gid": gid} if isinstance(gid, int) else {}
