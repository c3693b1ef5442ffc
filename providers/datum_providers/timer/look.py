"""What stands at the paths of a timer, what the manager says of it. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import blob_id
from datum.model.json import JsonValue
from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import HostError, HostReader, Missing
from datum.provider.manager import UnitFacts
from datum_providers.shared.accounts import is_number
from datum_providers.shared.root_files import NONE, SeenFile, see_file
from datum_providers.shared.texts import TEXT_LIMIT, text_of
from datum_providers.shared.unit_files import UnitFiles
from datum_providers.shared.unit_loading import NO_MANAGER, loaded_state
from datum_providers.shared.units import SYSTEM, UnitName
from datum_providers.timer.desired import DesiredTimer

SERVICE: Final = "service_"
"""Prefix of what is seen of the unit file of the service."""

MASK: Final = "mask"
"""Value of `kind` of a link that masks a unit."""

_UP: Final = frozenset({"active", "reloading"})
_STATES: Final[Mapping[str, FieldValue]] = {"enabled": True, "disabled": False, "static": False, "": False}


def observe_timers(reader: HostReader, desired: Mapping[str, DesiredTimer]) -> Mapping[str, Observation]:
    """Answer for every name, from one conversation with the manager."""
    if not desired:
        return {}
    names = [unit for name in sorted(desired) for unit in (f"{name}.timer", f"{name}.service")]
    try:
        manager = reader.manager()
        loaded = manager.units(names) if manager is not None else None
    except HostError as error:
        return dict.fromkeys(sorted(desired), error.unobservable())
    look = _Look(reader, loaded)
    return {name: look.at(one) for name, one in sorted(desired.items())}


@frozen
class _Look:
    """One observation of many timers."""

    reader: HostReader
    # By full name of the unit; None where there is no manager.
    loaded: Mapping[str, UnitFacts] | None

    def at(self, wanted: DesiredTimer) -> Observation:
        """Look at one timer."""
        try:
            timer = self._file(wanted.path, "")
            service = self._file(wanted.service_path, SERVICE)
            fields: dict[str, FieldValue] = {**self._missing(wanted, timer)}
            residue = {"residue": True} if "residue" in {*timer.fields, *service.fields} else {}
            if timer.fields["kind"] == NONE and service.fields[f"{SERVICE}kind"] == NONE:
                return Absent({**residue, **fields})
            fields.update({**timer.fields, **service.fields, **residue})
            fields.update(self._state(wanted))
        except HostError as error:
            return error.unobservable()
        detail: dict[str, JsonValue] = {}
        for name, seen in (("timer", timer), ("service", service)):
            if seen.data is not None:
                fields[name] = f"blob:{blob_id(seen.data)}"
                text = text_of(seen.data)
                detail.update({name: text} if text is not None else {})
        holds = tuple(sorted((*timer.holds, *service.holds)))
        return Present(fields, detail, timer.identity, holds=holds, mounts=(*timer.mounts, *service.mounts))

    def _file(self, path: str, prefix: str) -> SeenFile:
        facts = self.reader.examine(path)
        if not isinstance(facts, Missing) and facts.link == "/dev/null":
            residue: dict[str, FieldValue] = {"residue": True} if facts.has_residue else {}
            return SeenFile({f"{prefix}kind": MASK, **residue}, identity=facts.identity)
        return see_file(self.reader, path, prefix=prefix, limit=TEXT_LIMIT)

    def _missing(self, wanted: DesiredTimer, timer: SeenFile) -> dict[str, FieldValue]:
        """Return what is missing that others bring."""
        fields: dict[str, FieldValue] = {}
        if timer.first_missing not in {"", wanted.path}:
            fields["missing_parent"] = SYSTEM
        if wanted.user and not is_number(wanted.user) and self.reader.user_id(wanted.user) is None:
            fields["user_known"] = False
        for name, path in (("program_known", wanted.program), ("directory_known", wanted.directory)):
            if path and isinstance(self.reader.examine(path), Missing):
                fields[name] = False
        return fields

    def _state(self, wanted: DesiredTimer) -> dict[str, FieldValue]:
        if self.loaded is None:
            state = UnitFiles(self.reader).state(wanted.unit)
            state = "" if state == "not-found" else state
            return {"enabled": _STATES.get(state, state), "running": NO_MANAGER, "loaded": NO_MANAGER}
        timer, service = self.loaded[wanted.unit.full], self.loaded[UnitName(f"{wanted.name}.service").full]
        return {
            "enabled": _STATES.get(timer.file_state, timer.file_state),
            "running": timer.active in _UP,
            "loaded": loaded_state(timer, service),
        }
