"""The resource type `check`: a program that judges the candidates of other resources before the host gets them."""

# ruff: noqa: ARG002 - the contract names arguments that a type without state has no use for

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.check import Check
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.model.result import FailureCause
from datum.provider.contract import (
    CONTRACT_VERSION,
    DesiredError,
    FieldClass,
    ImplicitEdge,
    Removal,
    TargetIndex,
)
from datum.provider.host import HostError, HostReader, HostWriter
from datum_providers.check.desired import LONGEST, DesiredCheck, parse_check
from datum_providers.shared.programs import normal_token

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class CheckProvider:
    """Checks; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "check"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    # None of them is state of the host: there is nothing to observe, and nothing to compare.
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "run": FieldClass.INSTRUCTION,
        "guards": FieldClass.INSTRUCTION,
        "timeout": FieldClass.INSTRUCTION,
        "environment": FieldClass.INSTRUCTION,
        "network": FieldClass.INSTRUCTION,
    }
    apply_deadline: ClassVar[float] = LONGEST
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return the name, which is the author's word for the set."""
        return normal_token(name, self.type_name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredCheck:
        """Normalise one declaration."""
        return parse_check(attributes)

    def targets(self, desired: DesiredCheck) -> tuple[Target, ...]:
        """Return nothing: a check holds nothing of the host."""
        return ()

    def edges(self, desired: DesiredCheck, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return nothing: the graph draws the edges to what it guards."""
        return ()

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredCheck]) -> Mapping[str, Observation]:
        """Answer that each is there; nothing is looked at, and no program runs."""
        return {name: Present({}) for name in sorted(desired)}

    def plan(self, desired: DesiredCheck, observed: Present | Absent) -> Step | None:
        """Return None: a check has no step of its own; it runs where what it guards has one."""
        return None

    def effects(self, desired: DesiredCheck, step: Step) -> tuple[Effect, ...]:
        """Return nothing."""
        return ()

    def hazards(self, desired: DesiredCheck, step: Step) -> frozenset[Hazard]:
        """Return nothing."""
        return frozenset()

    def apply(self, writer: HostWriter, desired: DesiredCheck, step: Step) -> None:
        """Refuse: there is no step that a check could take.

        Raises:
            HostError: always.
        """
        raise HostError(
            f"A check has no step of its own, and was handed a {step.operation}.", failure=FailureCause.IMPOSSIBLE
        )

    def removal(self, desired: DesiredCheck) -> Removal:
        """Return that nothing is removed: nothing of it is on the host."""
        return Removal.NOTHING

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Refuse: no host says which program its files should be judged by."""
        raise DesiredError(
            "",
            "a check is nothing on the host, so there is nothing to adopt.",
            hint="declare it by hand",
            code="cannot-be-adopted",
        )

    def guards(self, desired: DesiredCheck) -> tuple[ResourceId, ...]:
        """Return the resources whose candidates it judges."""
        return desired.guards

    def check(self, origin: ResourceId, desired: DesiredCheck) -> Check:
        """Return the program that judges them."""
        return Check(origin, desired.run, desired.timeout, desired.environment, desired.network)
