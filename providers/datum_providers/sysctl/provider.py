"""The resource type `sysctl`: one key of the kernel, as it is now and after a boot."""

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
from datum.provider.host import HostReader, HostWriter
from datum_providers.shared.above import edges_above
from datum_providers.shared.kernel_names import KERNEL_KEY
from datum_providers.sysctl.boot import FOLDERS, LAST
from datum_providers.sysctl.desired import DesiredSysctl, is_of_a_key, normal_name, parse_sysctl
from datum_providers.sysctl.doing import apply_sysctl
from datum_providers.sysctl.look import observe_sysctls
from datum_providers.sysctl.steps import plan_sysctl

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())


class SysctlProvider:
    """Keys of the kernel; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = "sysctl"
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "value": FieldClass.ENFORCED,
        "read_back": FieldClass.INSTRUCTION,
    }
    apply_deadline: ClassVar[float] = 60.0
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return the slash form of a key."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredSysctl:
        """Normalise one declaration."""
        return parse_sysctl(name, attributes)

    def targets(self, desired: DesiredSysctl) -> tuple[Target, ...]:
        """Return the key, and the file that sets it at boot."""
        return (Target(KERNEL_KEY, desired.key), Target("path", desired.path, leaf=True))

    def edges(self, desired: DesiredSysctl, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the file lies in, and softly the files that are read at boot beside it."""
        files = (index.holder(Target("path", path)) for path in _neighbours(index))
        beside = (
            ImplicitEdge(file, "read at boot", DependencyKind.AFTER, soft=True)
            for file in dict.fromkeys(files)
            if file is not None
        )
        return (*edges_above(desired.path, index), *beside)

    def relate(self, desired: DesiredSysctl, index: TargetIndex) -> DesiredSysctl:
        """Learn which of the files that are read at boot are declared absent: they set nothing any more."""
        going = frozenset(path for path in _neighbours(index) if index.is_absent(path))
        return evolve(desired, going=going) if going else desired

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredSysctl]) -> Mapping[str, Observation]:
        """Read each key, its file, and once the files of others."""
        return observe_sysctls(reader, desired)

    def plan(self, desired: DesiredSysctl, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_sysctl(desired, observed)

    def effects(self, desired: DesiredSysctl, step: Step) -> tuple[Effect, ...]:
        """Return the file, where the step makes it."""
        return (Effect(Target("path", desired.path)),) if step.operation is Operation.CREATE else ()

    def hazards(self, desired: DesiredSysctl, step: Step) -> frozenset[Hazard]:  # noqa: ARG002 - no key is judged
        """Return none: what a key does to a host is not known here."""
        return frozenset()

    def apply(self, writer: HostWriter, desired: DesiredSysctl, step: Step) -> None:
        """Set the one key, and write its file."""
        apply_sysctl(writer, desired, step)

    def removal(self, desired: DesiredSysctl) -> Removal:  # noqa: ARG002 - of every key
        """Return that the file goes: its place is one that is meant to be dropped into."""
        return Removal.DELETE

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:  # noqa: ARG002 - what is seen says it
        """Return the running value, or else the one that the file sets."""
        values = (observed.fields.get(name) for name in ("value", "persistent"))
        value = next((one for one in values if isinstance(one, str)), None)
        return {} if value is None else {"value": value}


def _neighbours(index: TargetIndex) -> tuple[str, ...]:
    """Return the declared files that are read at boot, absent ones included; those of keys are none of them."""
    found = [path for folder in FOLDERS for path in index.paths_below(folder)]
    return tuple(path for path in (*found, LAST) if not is_of_a_key(path))
