"""The resource type `user`: one account of this host's own files, with its groups, password and dates."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.access import Access, UserAccount
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
from datum_providers.user.desired import NEVER, DesiredUser, normal_name, parse_user, relate_user
from datum_providers.user.doing import apply_user
from datum_providers.user.look import observe_users
from datum_providers.user.neighbours import edges_of_user, targets_of_user
from datum_providers.user.steps import effects_of_user, hazards_of_user, plan_user

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class UserProvider:
    """Users; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "user"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "uid": FieldClass.ENFORCED,
        "group": FieldClass.ENFORCED,
        "groups": FieldClass.ENFORCED,
        "groups_mode": FieldClass.INSTRUCTION,
        "comment": FieldClass.ENFORCED,
        "home": FieldClass.ENFORCED,
        "shell": FieldClass.ENFORCED,
        "password": FieldClass.ENFORCED,
        "locked": FieldClass.ENFORCED,
        "expires": FieldClass.ENFORCED,
        "min_days": FieldClass.ENFORCED,
        "max_days": FieldClass.ENFORCED,
        "warn_days": FieldClass.ENFORCED,
        "inactive_days": FieldClass.ENFORCED,
        "system": FieldClass.CREATION_ONLY,
        "create_home": FieldClass.CREATION_ONLY,
    }
    # Each tool waits for locks, and usermod walks through a home when the uid changes.
    apply_deadline: ClassVar[float] = 400.0
    observe_deadline: ClassVar[float] = 60.0
    # A package that makes an account of this name finds it there, with its declared number.
    order_stage: ClassVar[Stage] = Stage.ACCOUNTS

    def normal_name(self, name: str) -> str:
        """Return the name, which has one spelling."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredUser:
        """Normalise one declaration."""
        return parse_user(name, attributes)

    def targets(self, desired: DesiredUser) -> tuple[Target, ...]:
        """Return the name, the number, and the memberships that are this account's to say."""
        return targets_of_user(desired)

    def edges(self, desired: DesiredUser, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the groups, and what the home lies on."""
        return edges_of_user(desired, index)

    def relate(self, desired: DesiredUser, index: TargetIndex) -> DesiredUser:
        """Learn whether the group of its name is declared: then it does not go with the account."""
        return relate_user(desired, index)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredUser]) -> Mapping[str, Observation]:
        """Read the account files once, and answer for all."""
        return observe_users(reader, desired)

    def plan(self, desired: DesiredUser, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_user(desired, observed)

    def effects(self, desired: DesiredUser, step: Step) -> tuple[Effect, ...]:
        """Return the account, its own group, and its home."""
        return effects_of_user(desired, step)

    def hazards(self, desired: DesiredUser, step: Step) -> frozenset[Hazard]:
        """Return `access_loss` where a person or administrator is shut out."""
        return hazards_of_user(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredUser, step: Step) -> None:
        """Run the shadow tools."""
        apply_user(writer, desired, step)

    def removal(self, desired: DesiredUser) -> Removal:  # noqa: ARG002 - of every account
        """Return that accounts are never removed by dropping them: files would belong to nobody."""
        return Removal.NEVER

    def access(
        self,
        desired: Mapping[str, DesiredUser],
        text_of: Callable[[Content], str | None],  # noqa: ARG002 - as the contract has it
    ) -> Mapping[str, tuple[Access, ...]]:
        """Return number and groups."""
        return {name: (UserAccount(one.name, one.uid, one.group, one.groups or ()),) for name, one in desired.items()}

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return attributes that declare what was observed; a password stays where it is."""
        if observed.fields.get("foreign") is True:
            raise DesiredError("", f"{name} is no account of this host's own files.", code="cannot-be-adopted")
        if observed.fields.get("unfinished") is True:
            raise DesiredError("", f"The making of {name} was interrupted.", code="cannot-be-adopted")
        fields = ("uid", "group", "groups", "comment", "home", "shell", "locked", "expires")
        found: dict[str, JsonValue] = {}
        for field in fields:
            value = observed.fields.get(field)
            is_text = isinstance(value, str) and value != "" and not value.startswith("bytes:")
            if is_text or isinstance(value, (bool, int)) or (isinstance(value, (list, tuple)) and value):
                found[field] = value  # type: ignore[assignment]  # what is neither unobservable nor inapplicable
        if found.get("expires") == NEVER:
            del found["expires"]
        return found
