"""The resource type `mount`: a file system at a place, by fstab and now."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import CONTRACT_VERSION, DesiredError, FieldClass, ImplicitEdge, Removal, TargetIndex
from datum.provider.host import HostReader, HostWriter
from datum.provider.paths import parents
from datum_providers.mount.desired import DesiredMount, normal_name, parse_mount
from datum_providers.mount.doing import apply_mount
from datum_providers.mount.fstab import FSTAB
from datum_providers.mount.look import observe_mounts
from datum_providers.mount.secrets import is_secret
from datum_providers.mount.steps import hazards_of_mount, plan_mount

_SCHEMA: Final[JsonObject] = json.loads(Path(__file__).with_name("schema.json").read_bytes())
_MOUNT: Final = "mount"
# Debian's packages without which mount(8) does not know a type.
_HELPERS: Final = {
    "cifs": "cifs-utils",
    "glusterfs": "glusterfs-client",
    "nfs": "nfs-common",
    "nfs4": "nfs-common",
    "ntfs-3g": "ntfs-3g",
    "smb3": "cifs-utils",
    "xfs": "xfsprogs",
    "btrfs": "btrfs-progs",
}


class MountProvider:
    """Mounts; see README.md of this folder for what is promised."""

    type_name: ClassVar[str] = _MOUNT
    contract_version: ClassVar[int] = CONTRACT_VERSION
    version: ClassVar[str] = "1"
    schema: ClassVar[JsonObject] = _SCHEMA
    fields: ClassVar[Mapping[str, FieldClass]] = {
        "source": FieldClass.ENFORCED,
        "fstype": FieldClass.ENFORCED,
        "options": FieldClass.ENFORCED,
        "dump": FieldClass.ENFORCED,
        "pass": FieldClass.ENFORCED,
        "mounted": FieldClass.ENFORCED,
        "persistent": FieldClass.ENFORCED,
    }
    # A server that does not answer is waited for by mount(8) itself.
    apply_deadline: ClassVar[float] = 400.0
    observe_deadline: ClassVar[float] = 60.0

    def normal_name(self, name: str) -> str:
        """Return the normal form of the mount point."""
        return normal_name(name)

    def parse(self, name: str, attributes: Mapping[str, AttributeValue]) -> DesiredMount:
        """Normalise one declaration."""
        return parse_mount(name, attributes)

    def targets(self, desired: DesiredMount) -> tuple[Target, ...]:
        """Return the mount point, and fstab, which mounts share."""
        fstab = (Target("path", FSTAB, shared=True, leaf=True),) if desired.persistent else ()
        return (Target(_MOUNT, desired.point), *fstab)

    def edges(self, desired: DesiredMount, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
        """Return what the mount point lies in, what is mounted there, and softly the package that knows the type."""
        found = (*_beneath(desired.point, index), *_above(desired.point, index), *_source(desired, index))
        package = index.holder(Target("package", _HELPERS.get(desired.fstype or "", "")))
        helper = () if package is None else (ImplicitEdge(package, "knows the type", DependencyKind.AFTER, soft=True),)
        return tuple(dict.fromkeys((*found, *helper)))

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredMount]) -> Mapping[str, Observation]:
        """Read fstab and the table of mounts once for all."""
        return observe_mounts(reader, desired)

    def plan(self, desired: DesiredMount, observed: Present | Absent) -> Step | None:
        """Return the step from what is there to what is wanted."""
        return plan_mount(desired, observed)

    def effects(self, desired: DesiredMount, step: Step) -> tuple[Effect, ...]:
        """Return the mount and its mount point, where the step makes them."""
        if any(change.name == "mounted" and change.after is True for change in step.changes):
            return (Effect(Target("path", desired.point)), Effect(Target(_MOUNT, desired.point)))
        return ()

    def hazards(self, desired: DesiredMount, step: Step) -> frozenset[Hazard]:
        """Return `outage` where something is unmounted, and `data_loss` where it lies in memory only."""
        return hazards_of_mount(desired, step)

    def apply(self, writer: HostWriter, desired: DesiredMount, step: Step) -> None:
        """Edit fstab, have it read, and mount, remount or unmount."""
        apply_mount(writer, desired, step)

    def removal(self, desired: DesiredMount) -> Removal:  # noqa: ARG002 - of every mount
        """Return that a mount that is dropped stays: what uses it is not known here."""
        return Removal.KEEP

    def adopt(self, name: str, observed: Present) -> Mapping[str, JsonValue]:
        """Return the line of fstab, or else what is mounted."""
        seen = observed.fields
        if "kind" in seen:
            raise DesiredError("", observed.obstacles[0], code="cannot-be-adopted")
        if seen.get("persistent") is True:
            line: dict[str, JsonValue] = {}
            for field in ("source", "fstype", "options", "dump", "pass"):
                value = seen.get(field)
                if isinstance(value, tuple) and any(is_secret(str(one)) for one in value):
                    # What is not declared stays as it is in the line.
                    continue
                if isinstance(value, (str, int, tuple)) and value not in {0, ()}:
                    line[field] = value
            return {**line, **({"mounted": False} if seen.get("mounted") is False else {})}
        source, fstype = seen.get("mounted_source"), seen.get("mounted_fstype")
        if not isinstance(source, str) or not isinstance(fstype, str):
            raise DesiredError("", f"nothing says where what is mounted on {name} comes from: it is not in {FSTAB}.")
        return {"source": source, "fstype": fstype, "persistent": False}


def _beneath(path: str, index: TargetIndex) -> Iterator[ImplicitEdge]:
    """Yield the directory that is mounted on, where both are to be gone: turned round, it goes after the mount."""
    folder = index.holder(Target("path", path)) if index.is_absent(path) else None
    if folder is not None and folder.type != _MOUNT:
        yield ImplicitEdge(folder, "mount point")


def _above(path: str, index: TargetIndex) -> Iterator[ImplicitEdge]:
    """Yield the nearest declared directory and mount above a path, and not on it."""
    folder = index.nearest_parent(path)
    if folder is not None and folder.type != _MOUNT:
        yield ImplicitEdge(folder, "parent directory")
    mount = _nearest_mount(parents(path), index)
    if mount is not None:
        yield ImplicitEdge(mount, "mount above")


def _source(desired: DesiredMount, index: TargetIndex) -> Iterator[ImplicitEdge]:
    """Yield what brings a source that is a path of the host: a directory that is shown twice, or a file of an image."""
    path = desired.source or ""
    if not path.startswith("/") or path.startswith("/dev/") or path == "/":
        return
    holder = index.holder(Target("path", path)) or index.nearest_parent(path)
    if holder is not None and holder.type != _MOUNT:
        yield ImplicitEdge(holder, "source")
    mount = _nearest_mount((path, *parents(path)), index)
    if mount is not None and mount.name != desired.point:
        yield ImplicitEdge(mount, "mount of the source")


def _nearest_mount(ways: tuple[str, ...], index: TargetIndex) -> ResourceId | None:
    return next((one for way in ways if (one := index.holder(Target(_MOUNT, way))) is not None), None)
