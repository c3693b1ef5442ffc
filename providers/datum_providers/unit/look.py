"""What stands at the paths of unit files, and whether the manager has loaded it. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import blob_id
from datum.model.json import EMPTY, JsonObject
from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum.provider.manager import UnitFacts
from datum_providers.shared.accounts import NO_OWNERS
from datum_providers.shared.kinds import in_the_way, seen_parent, seen_residue
from datum_providers.shared.modes import seen_mode
from datum_providers.shared.texts import TEXT_LIMIT, text_detail
from datum_providers.shared.unit_loading import DOWN, NO_MANAGER, STALE, loaded_state
from datum_providers.shared.units import obstacles_of
from datum_providers.unit.desired import OWNER, DesiredUnit

# Values of `kind` beside those of files: a link that masks the unit; a file that is gone and still loaded.
MASK: Final = "mask"
GONE: Final = "gone"


def observe_units(reader: HostReader, desired: Mapping[str, DesiredUnit]) -> Mapping[str, Observation]:
    """Answer for every name, from one conversation with the manager."""
    if not desired:
        return {}
    names = sorted({one.unit.full for one in desired.values() if not one.is_for_many})
    try:
        manager = reader.manager()
        loaded = manager.units(names) if manager is not None and names else {}
    except HostError as error:
        return dict.fromkeys(sorted(desired), error.unobservable())
    look = _Look(reader, loaded, has_manager=manager is not None)
    return {name: look.at(one) for name, one in sorted(desired.items())}


@frozen
class _Look:
    """One observation of many unit files."""

    reader: HostReader
    # By full name of the unit.
    loaded: Mapping[str, UnitFacts]
    has_manager: bool

    def at(self, wanted: DesiredUnit) -> Observation:
        """Look at one file."""
        try:
            facts = self.reader.examine(wanted.path, blob=wanted.content.algorithm if wanted.content else "")
            if isinstance(facts, Missing):
                return self._missing(wanted, facts)
            if facts.kind is FileKind.REGULAR:
                return self._regular(wanted, facts)
            if facts.kind is FileKind.SYMLINK and facts.link == "/dev/null":
                # A mask is a state of the unit, and nothing that an absent file could be.
                return Absent(seen_residue(facts)) if wanted.content is None else Present({"kind": MASK})
            other = in_the_way(self.reader, wanted.path, facts)
            fields = {"kind": other.kind, **seen_residue(facts)}
            return Present(fields, identity=facts.identity, holds=other.holds, mounts=other.mounts)
        except HostError as error:
            return error.unobservable()

    def _missing(self, wanted: DesiredUnit, missing: Missing) -> Present | Absent:
        facts = self.loaded.get(wanted.unit.full)
        is_loaded = facts is not None and wanted.path in {facts.fragment, *facts.drop_ins}
        if is_loaded and wanted.content is None:
            return Present({"kind": GONE, "loaded": STALE, **seen_residue(missing)}, obstacles=self._obstacles(wanted))
        is_own_folder = bool(wanted.drop_in) and missing.first == wanted.folder
        parent = {} if is_own_folder else seen_parent(wanted.path, missing)
        return Absent({**seen_residue(missing), **parent})

    def _regular(self, wanted: DesiredUnit, facts: FileFacts) -> Present:
        fields: dict[str, FieldValue] = {"kind": facts.kind.value}
        detail = self._content(wanted, facts, fields)
        fields["mode"] = seen_mode(facts)
        uid, gid = self.reader.caller
        has_owners = "owner" not in facts.without
        fields["owner"] = self._owner(facts.uid, uid) if has_owners else NO_OWNERS
        fields["group"] = self._group(facts.gid, gid) if has_owners else NO_OWNERS
        fields.update(self._loaded(wanted))
        fields.update(seen_residue(facts))
        return Present(fields, detail, facts.identity, obstacles=self._obstacles(wanted))

    def _obstacles(self, wanted: DesiredUnit) -> tuple[str, ...]:
        """Return why a unit file stays: before it goes, what runs from it is stopped."""
        facts = self.loaded.get(wanted.unit.full)
        runs = facts is not None and facts.active not in DOWN
        return () if wanted.drop_in else obstacles_of(wanted.unit, runs=runs)

    def _owner(self, found: int, own: int) -> str:
        # Below another root the files of who works on it stand for root's.
        return OWNER if found == own else self.reader.user_name(found)

    def _group(self, found: int, own: int) -> str:
        return OWNER if found == own else self.reader.group_name(found)

    def _content(self, wanted: DesiredUnit, facts: FileFacts, fields: dict[str, FieldValue]) -> JsonObject:
        """Put the content into the fields; return its text where it is not the wanted one."""
        if wanted.content is not None:
            fields["content"] = f"blob:{facts.blob}"
            if facts.blob == wanted.content.blob or facts.size > TEXT_LIMIT:
                return EMPTY
        elif facts.size > TEXT_LIMIT:
            return EMPTY
        try:
            data = self.reader.read_file(wanted.path, limit=TEXT_LIMIT + 1)
        except HostError as error:
            if wanted.content is None:
                fields["content"] = error.unobservable()
            return EMPTY
        fields.setdefault("content", f"blob:{blob_id(data)}")
        return text_detail(data)

    def _loaded(self, wanted: DesiredUnit) -> dict[str, FieldValue]:
        """Return whether what lies on the disk is what the manager has loaded, where that is known of one unit."""
        if not self.has_manager:
            return {"loaded": NO_MANAGER}
        facts = self.loaded.get(wanted.unit.full)
        # A unit that is not there, or is masked, has no drop-ins loaded.
        if facts is None or (facts.load in {"not-found", "masked"} and wanted.drop_in):
            return {}
        return {"loaded": loaded_state(facts)}
