"""What fstab says of mounts, and what is mounted. Reads the host; changes nothing."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from attrs import frozen

from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum.provider.manager import MountEntry
from datum.provider.paths import parents
from datum_providers.mount.desired import DesiredMount, normal_source
from datum_providers.mount.devices import Devices, is_type, is_waiting, topmost
from datum_providers.mount.fstab import FSTAB, FstabEntry, first_of
from datum_providers.mount.options import missing_options
from datum_providers.mount.secrets import without_secrets
from datum_providers.mount.steps import STALE
from datum_providers.mount.units import mount_unit
from datum_providers.shared.other_kinds import in_place_of_file

NO_MANAGER: Final = NotApplicable("no-manager")
LIMIT: Final = 1 << 20
"""Bytes of fstab."""


def observe_mounts(reader: HostReader, desired: Mapping[str, DesiredMount]) -> Mapping[str, Observation]:
    """Answer for every mount point; fstab and the table of mounts are read once for all."""
    if not desired:
        return {}
    try:
        facts = reader.examine(FSTAB)
        if isinstance(facts, FileFacts) and facts.kind is not FileKind.REGULAR:
            return dict.fromkeys(desired, _no_fstab(facts.kind.value))
        look = _Look.through(reader, {one.point for one in desired.values()})
    except HostError as error:
        return dict.fromkeys(desired, error.unobservable())
    return {name: look.at(desired[name]) for name in sorted(desired)}


def _no_fstab(kind: str) -> Present:
    """Return what is known where something else stands in the place of fstab: not even that a mount is not there."""
    return Present({"kind": kind}, obstacles=(in_place_of_file(FSTAB, kind),))


def read_fstab(reader: HostReader) -> tuple[FileFacts | Missing, bytes]:
    """Return what stands at the place of fstab, and its bytes.

    Raises:
        HostError: it cannot be read, or is no file.
    """
    facts = reader.examine(FSTAB)
    if isinstance(facts, Missing):
        return facts, b""
    if facts.kind is not FileKind.REGULAR:
        raise HostError(in_place_of_file(FSTAB, facts.kind.value), code="not-a-file")
    return facts, reader.read_file(FSTAB, limit=LIMIT)


@frozen
class _Look:
    """One observation of many mounts."""

    reader: HostReader
    fstab: bytes
    has_residue: bool
    # None: nothing is mounted by us here.
    entries: Sequence[MountEntry] | None
    devices: Devices
    # Mount points whose units come from an fstab that was changed since.
    stale: frozenset[str]

    @classmethod
    def through(cls, reader: HostReader, points: Collection[str]) -> "_Look":
        """Begin one."""
        facts, data = read_fstab(reader)
        manager = reader.manager()
        entries = None if manager is None else reader.mount_entries()
        units = {mount_unit(point): point for point in points}
        loaded = {} if manager is None else manager.units(sorted(units))
        stale = frozenset(units[name] for name, one in loaded.items() if one.fragment and one.needs_daemon_reload)
        return cls(reader, data, facts.has_residue, entries, Devices(reader, entries or ()), stale)

    def at(self, wanted: DesiredMount) -> Observation:
        try:
            line = first_of(self.fstab, wanted.point)
            entry = topmost(self.entries or (), wanted.point)
            fields = {**self._persistent(wanted, line), **self._live(wanted, entry)}
            if wanted.point in self.stale and wanted.persistent:
                fields["loaded"] = STALE
            if self.has_residue and wanted.persistent:
                fields["residue"] = True
            if line is None and entry is None:
                return Absent({**fields, **self._around(wanted)})
            return Present({**fields, **(self._around(wanted) if entry is None else {})}, obstacles=_obstacles(wanted))
        except HostError as error:
            return error.unobservable()

    def _persistent(self, wanted: DesiredMount, line: FstabEntry | None) -> dict[str, FieldValue]:
        if line is None or (not wanted.persistent and not wanted.is_bare):
            return {"persistent": line is not None}
        source = line.source
        if wanted.source is not None and self.devices.same(source, wanted.source):
            source = wanted.source
        options = wanted.options if set(line.options) == set(wanted.options or ()) else without_secrets(line.options)
        return {
            "persistent": True,
            "source": normal_source(source),
            "fstype": line.fstype,
            "options": options,
            "dump": line.dump,
            "pass": line.passno,
        }

    def _live(self, wanted: DesiredMount, entry: MountEntry | None) -> dict[str, FieldValue]:
        if self.entries is None:
            return {"mounted": NO_MANAGER}
        if entry is None:
            return {"mounted": False}
        fields: dict[str, FieldValue] = {"mounted": True}
        if is_waiting(entry) or not wanted.mounted:
            return fields
        is_same = wanted.fstype is not None and is_type(entry, wanted.fstype)
        fields["mounted_fstype"] = wanted.fstype if is_same and not wanted.is_bind else entry.kind
        if wanted.source is None:
            fields["mounted_source"] = entry.source if entry.root == "/" else None
            return fields
        is_shown = self.devices.shows(entry, wanted.source, is_bind=wanted.is_bind)
        fields["mounted_source"] = wanted.source if is_shown else _what(entry)
        missing = missing_options(wanted.options or (), entry)
        if missing:
            fields["missing_options"] = missing
        return fields

    def _around(self, wanted: DesiredMount) -> dict[str, FieldValue]:
        """Return what is missing of the way to the mount point, above the directory itself."""
        facts = self.reader.examine(wanted.point)
        if not isinstance(facts, Missing) or facts.first == wanted.point:
            return {}
        return {"missing_parent": facts.first} if parents(wanted.point)[0] != "/" else {}


def _what(entry: MountEntry) -> str:
    return entry.source if entry.root == "/" else f"{entry.root} of {entry.source}"


def _obstacles(wanted: DesiredMount) -> tuple[str, ...]:
    return ("The root of a host is always mounted.",) if wanted.point == "/" else ()
