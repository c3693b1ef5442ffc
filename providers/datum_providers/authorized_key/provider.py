"""The resource type `authorized_key`: one key that lets somebody in as a user, a line of a file of several."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import CONTRACT_VERSION, DesiredError, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import HostReader, HostWriter
from datum_providers.authorized_key.desired import DesiredKey, normal_name, parse_key
from datum_providers.authorized_key.doing import apply_key
from datum_providers.authorized_key.lines import UNMANAGED
from datum_providers.authorized_key.look import observe_keys
from datum_providers.authorized_key.neighbours import edges_of_key, related_key, targets_of_key
from datum_providers.authorized_key.steps import hazards_of_key, plan_key

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class AuthorizedKeyProvider:
    """Keys of ssh; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "authorized_key"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "key": FieldClass.ENFORCED,
        "options": FieldClass.ENFORCED,
        "comment": FieldClass.ENFORCED,
        "exclusive": FieldClass.ENFORCED,
        "path": FieldClass.INSTRUCTION,
    }
    apply_deadline: ClassVar[float] = 60.0
    # Where a Match of its configuration speaks of keys, sshd is asked for each user.
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return the name, which has one spelling."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredKey:
        """Normalise one declaration."""
        return parse_key(name, attributes)

    def targets(self, desired: DesiredKey) -> tuple[Target, ...]:
        """Return the key of this user, and the file where the declaration says it."""
        return targets_of_key(desired)

    def edges(self, desired: DesiredKey, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return the user, and what the file lies in."""
        return edges_of_key(desired, index)

    def relate(self, desired: DesiredKey, index: TargetIndex) -> DesiredKey:
        """Learn the home that is declared for the user, and who declares the file as a whole."""
        return related_key(desired, index)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredKey]) -> Mapping[str, Observation]:
        """Read each file once, and answer for all."""
        return observe_keys(reader, desired)

    def plan(self, desired: DesiredKey, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_key(desired, observed)

    def effects(self, desired: DesiredKey, step: Step) -> tuple[Effect, ...]:  # noqa: ARG002 - nothing is built on a key
        """Return nothing: nothing is built on a key."""
        return ()

    def hazards(self, desired: DesiredKey, step: Step) -> frozenset[Hazard]:
        """Return `access_loss` where the last key goes."""
        return hazards_of_key(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredKey, step: Step) -> None:
        """Change one line, or take away those that nobody declared."""
        apply_key(writer, desired, step)

    def removal(self, desired: DesiredKey) -> Removal:
        """Return that a key that is dropped is removed: who shall not come in any more must not (ADR 0041)."""
        return Removal.NOTHING if desired.is_of_all else Removal.DELETE

    def absent_name(self, name: str, desired: DesiredKey) -> str | None:  # noqa: ARG002 - whatever it is called
        """Return the name by its fingerprint: none for a key of another file than the usual one."""
        is_named = desired.path is None and not desired.is_of_all
        return f"{desired.user}/{desired.fingerprint}" if is_named else None

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - what is seen says it
        """Return attributes that declare what was observed."""
        if UNMANAGED in observed.fields:
            return {"exclusive": not observed.fields[UNMANAGED]}
        if "closed" in observed.fields:
            raise DesiredError("", observed.obstacles[0], code="cannot-be-adopted")
        line, options, comment = (
            observed.detail.get("line"),
            observed.fields.get("options"),
            observed.fields.get("comment"),
        )
        found: dict[str, JsonValue] = {"key": line} if isinstance(line, str) else {}
        if isinstance(options, (list, tuple)) and options and not any(_is_odd(option) for option in options):
            found["options"] = options
        if isinstance(comment, str) and comment and not _is_odd(comment):
            found["comment"] = comment
        return found


def _is_odd(text: object) -> bool:
    return not isinstance(text, str) or text.startswith("bytes:")
