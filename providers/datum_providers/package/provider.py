"""The resource type `package`: a package of Debian, its version and its marks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import (
    CONTRACT_VERSION,
    FieldClass,
    ImplicitEdge,
    Removal,
    Stage,
    TargetIndex,
)
from datum.provider.host import HostReader, HostWriter
from datum_providers.package.desired import PURGED, DesiredPackage, Neighbours, normal_name, parse_package
from datum_providers.package.doing import Staged, apply_packages, transaction_of
from datum_providers.package.guarded import is_kept_for_ever
from datum_providers.package.look import PATIENCE, observe_packages
from datum_providers.package.steps import effects_of_package, hazards_of_package, plan_package
from datum_providers.package.tools import FETCHING, LOCK_PATIENCE, WORKING

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())
_CONFIGURATION: Final = "/etc/apt"
_SOURCES: Final = f"{_CONFIGURATION}/sources.list.d"


class PackageProvider:
    """Packages of Debian; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "package"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "version": FieldClass.ENFORCED,
        "hold": FieldClass.ENFORCED,
        "manual": FieldClass.ENFORCED,
        "purge": FieldClass.ENFORCED,
        "recommends": FieldClass.CREATION_ONLY,
    }
    order_stage: ClassVar[Stage] = Stage.PACKAGES
    # dpkg is not killed in the middle: more than all that may be waited for.
    apply_deadline: ClassVar[float] = 2 * WORKING + FETCHING + 4 * LOCK_PATIENCE
    # What an earlier pass has begun is waited for.
    observe_deadline: ClassVar[float] = PATIENCE + 600.0

    def normal_name(self, name: str) -> str:
        """Return the name, which has one spelling."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredPackage:
        """Normalise one declaration."""
        return parse_package(name, attributes)

    def targets(self, desired: DesiredPackage) -> tuple[Target, ...]:
        """Return the package."""
        own = Target("package", desired.name)
        return (own, Target(PURGED, desired.name)) if desired.purge else (own,)

    def edges(self, desired: DesiredPackage, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return softly what says where packages come from, and accounts that the package would else make itself.

        Without a source that is declared the package would come from another archive, so sources are required. They
        give way where a source itself requires a package, as that of its keyring.
        """
        sources = [(Target("path", path), "package source") for path in index.paths_below(_SOURCES)]
        others = [(Target("path", path), "apt configuration") for path in index.paths_below(_CONFIGURATION)]
        others += [(Target(space, desired.package), "account of the same name") for space in ("user", "group")]
        edges: dict[ResourceId, ImplicitEdge] = {}
        for kind, found in ((DependencyKind.REQUIRES, sources), (DependencyKind.AFTER, others)):
            for target, reason in found:
                if (holder := index.holder(target)) is not None:
                    edges.setdefault(holder, ImplicitEdge(holder, reason, kind, soft=True))
        return tuple(edges.values())

    def relate(self, desired: DesiredPackage, index: TargetIndex) -> DesiredPackage:
        """Learn which packages are wanted besides, and which services are not to be started by installing."""
        neighbours = Neighbours(index)
        return evolve(desired, is_going=neighbours.is_going(desired.name), neighbours=neighbours)

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredPackage]) -> Mapping[str, Observation]:
        """Read dpkg's database once."""
        return observe_packages(reader, desired)

    def plan(self, desired: DesiredPackage, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_package(desired, observed)

    def effects(self, desired: DesiredPackage, step: Step) -> tuple[Effect, ...]:
        """Return the package, and what it may bring."""
        return effects_of_package(desired, step)

    def hazards(self, desired: DesiredPackage, step: Step) -> frozenset[Hazard]:
        """Return what removals, purges and downgrades may cost."""
        return hazards_of_package(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredPackage, step: Step) -> None:
        """Do one step in a transaction of its own."""
        apply_packages(writer, [Staged(desired, step)])

    def transaction(self, desired: DesiredPackage, step: Step) -> str:
        """Return which steps one run of apt can do."""
        return transaction_of(desired, step)

    def stage(self, writer: HostWriter, desired: DesiredPackage, step: Step) -> Staged:  # noqa: ARG002 - nothing yet
        """Remember the step."""
        return Staged(desired, step)

    def commit(self, writer: HostWriter, staged: Sequence[object]) -> None:
        """Do all of them by one run of apt."""
        apply_packages(writer, [each for each in staged if isinstance(each, Staged)])

    def removal(self, desired: DesiredPackage) -> Removal:
        """Return that it is kept: who else needs it, nobody knows; what the host is reached by is never removed."""
        return Removal.NEVER if is_kept_for_ever(desired.name) else Removal.KEEP

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - the host says it all
        """Return the marks that are not the usual ones; a version would be pinned for ever."""
        found: dict[str, JsonValue] = {}
        if observed.fields.get("hold") is True:
            found["hold"] = True
        if observed.fields.get("manual") is False:
            found["manual"] = False
        return found
