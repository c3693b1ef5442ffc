"""The units of a fake host: what lies on its disk, what is loaded, and how jobs of each will end. In memory only."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from datum.host.unit_names import name_fault, template_of
from datum.provider.host import FileKind
from datum.provider.manager import UnitFacts

if TYPE_CHECKING:
    from datum.testing.world import FakeFile

# Where unit files lie, the first wins.
_FOLDERS: Final = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_YES: Final = frozenset({"1", "yes", "true", "on"})
_NOT_FOUND: Final = "not-found"

# Path and bytes of every file that a unit is read from.
_Source = tuple[tuple[str, bytes], ...]


@define
class FakeUnit:
    """One unit as it is loaded, and how its jobs will end."""

    facts: UnitFacts
    # Results of its next jobs: `done`, `failed`, `timeout`, `dependency`, `canceled`, `skipped`.
    start_result: str = "done"
    stop_result: str = "done"
    reload_result: str = "done"
    # What it is once it was stopped: `failed` where it ends with an error then.
    stopped_as: str = "inactive"
    # Whether it stays active when it was started; a oneshot without RemainAfterExit does not.
    stays: bool = True
    # Units whose `.wants` it is linked into when it is enabled; none: it cannot be enabled.
    wanted_by: tuple[str, ...] = ("multi-user.target",)
    # What it was read from; nothing for a unit that was added without files.
    source: _Source = ()


@define
class FakeUnits:
    """The service manager's memory."""

    # By `UnitFacts.name`.
    units: dict[str, FakeUnit] = field(factory=dict)
    # Lines of the journal by unit, oldest first.
    lines: dict[str, list[str]] = field(factory=dict)
    # False: systemd is not process 1 here.
    is_there: bool = True
    # Whether it knows marks (systemd 248 and later).
    has_marks: bool = True
    # How often something was started; gives every start its invocation and its time.
    starts: int = 0

    def find(self, name: str, files: Mapping[str, "FakeFile"]) -> FakeUnit | None:
        """Return a unit by its name or an alias of it; one that only lies on the disk is loaded by that."""
        for unit in self.units.values():
            if name == unit.facts.name or name in unit.facts.names:
                return unit
        found = None if name_fault(name) else self._read(name, files)
        if found is not None:
            self.units[name] = found
        return found

    def facts(self, name: str, files: Mapping[str, "FakeFile"]) -> UnitFacts:
        """Return what the manager says of a name."""
        fault = name_fault(name)
        if fault:
            return UnitFacts(name, load="error", load_error=fault)
        unit = self.find(name, files)
        if unit is None:
            return UnitFacts(name, frozenset({name}), load=_NOT_FOUND, load_error=f"Unit {name} not found.")
        is_other = bool(unit.source) and unit.source != _source(name, files)
        marks = unit.facts.marks if self.has_marks else None
        names = unit.facts.names | {unit.facts.name}
        stale = unit.facts.needs_daemon_reload or is_other
        started = {other.facts.name for other in self.units.values() if unit.facts.name in other.facts.triggered_by}
        triggers = tuple(sorted({*unit.facts.triggers, *started}))
        return evolve(unit.facts, names=names, needs_daemon_reload=stale, marks=marks, triggers=triggers)

    def reload(self, files: Mapping[str, "FakeFile"]) -> None:
        """Read all unit files again: what runs goes on running, marks stay."""
        for name, unit in list(self.units.items()):
            if not unit.source:
                unit.facts = self._reread(name, unit.facts, files)
                continue
            new = self._read(name, files)
            if new is None and unit.facts.active == "inactive":
                del self.units[name]
            elif new is None:
                unit.facts = evolve(
                    unit.facts, load=_NOT_FOUND, file_state="", fragment="", drop_ins=(), needs_daemon_reload=False
                )
                unit.source = ()
            else:
                unit.facts = _alive(new.facts, unit.facts)
                unit.source, unit.wanted_by = new.source, new.wanted_by

    def _reread(self, name: str, facts: UnitFacts, files: Mapping[str, "FakeFile"]) -> UnitFacts:
        """Return the facts of a unit that was added without files, with the links that now lie on the disk."""
        if is_masked(name, files):
            return evolve(facts, load="masked", file_state="masked", needs_daemon_reload=False)
        state = facts.file_state
        if state in {"enabled", "disabled", "masked"}:
            state = "enabled" if is_linked(name, files) else "disabled"
        load = "loaded" if facts.load == "masked" else facts.load
        return evolve(facts, load=load, file_state=state, needs_daemon_reload=False)

    def _read(self, name: str, files: Mapping[str, "FakeFile"]) -> FakeUnit | None:
        """Return a unit as its files have it, inactive; None where there are none."""
        if is_masked(name, files):
            fragment = f"{_FOLDERS[0]}/{name}"
            facts = UnitFacts(name, frozenset({name}), load="masked", file_state="masked", fragment=fragment)
            return FakeUnit(facts, source=_source(name, files))
        fragment = _fragment(name, files)
        if not fragment:
            return None
        source = _source(name, files)
        settings = _settings(source)
        wanted_by = tuple(word for text in settings.get("WantedBy", ()) for word in text.split())
        state = ("enabled" if is_linked(name, files) else "disabled") if wanted_by else "static"
        is_service = name.endswith(".service")
        kind = _last(settings, "Type", "simple") if is_service else ""
        remains = _last(settings, "RemainAfterExit") in _YES
        facts = UnitFacts(
            name,
            frozenset({name}),
            file_state=state,
            fragment=fragment,
            drop_ins=tuple(path for path, _data in source if path != fragment),
            can_reload=bool(settings.get("ExecReload")) or kind == "notify-reload",
            kind=kind,
            remains=remains,
            user=_last(settings, "User"),
        )
        return FakeUnit(facts, stays=kind != "oneshot" or remains, wanted_by=wanted_by, source=source)


def is_linked(name: str, files: Mapping[str, "FakeFile"]) -> bool:
    """Whether a link in some `.wants` or `.requires` enables a unit for good."""
    return bool(links_of(name, files))


def links_of(name: str, files: Mapping[str, "FakeFile"]) -> list[str]:
    """Return the links that enable a unit, or the instances of a template, for good."""
    found = []
    for path in files:
        folder, _, last = path.rpartition("/")
        is_link = folder.startswith(f"{_FOLDERS[0]}/") and folder.endswith((".wants", ".requires"))
        if is_link and name in {last, template_of(last)}:
            found.append(path)
    return found


def has_file(name: str, files: Mapping[str, "FakeFile"]) -> bool:
    """Whether a unit, or its template, lies on the disk."""
    return bool(_fragment(name, files))


def is_masked(name: str, files: Mapping[str, "FakeFile"]) -> bool:
    """Whether a mask for good lies on the disk, loaded or not."""
    found = files.get(f"{_FOLDERS[0]}/{name}")
    return found is not None and found.kind is FileKind.SYMLINK and found.link == "/dev/null"


def _fragment(name: str, files: Mapping[str, "FakeFile"]) -> str:
    for each in filter(None, (name, template_of(name))):
        for folder in _FOLDERS:
            found = files.get(f"{folder}/{each}")
            if found is not None and found.kind in {FileKind.REGULAR, FileKind.SYMLINK}:
                return f"{folder}/{each}"
    return ""


def _source(name: str, files: Mapping[str, "FakeFile"]) -> _Source:
    fragment = _fragment(name, files)
    drop_ins = [
        path
        for folder in reversed(_FOLDERS)
        for path in sorted(files)
        if path.startswith(f"{folder}/{name}.d/") and path.endswith(".conf")
    ]
    paths = (*((fragment,) if fragment else ()), *drop_ins)
    return tuple((path, files[path].data or files[path].link.encode()) for path in paths)


def _settings(source: _Source) -> dict[str, list[str]]:
    """Return the settings of a unit by key, in order; an empty one forgets those before it."""
    found: dict[str, list[str]] = {}
    for _path, data in source:
        for key, value in _assignments(data.decode("utf-8", "replace")):
            if value:
                found.setdefault(key, []).append(value)
            else:
                found.pop(key, None)
    return found


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key[:1] not in {"#", ";"}:
            yield key.strip(), value.strip()


def _last(settings: Mapping[str, list[str]], key: str, otherwise: str = "") -> str:
    return settings[key][-1] if settings.get(key) else otherwise


def _alive(new: UnitFacts, old: UnitFacts) -> UnitFacts:
    """Return facts that were read anew of a unit that went on running meanwhile."""
    return evolve(
        new,
        names=old.names,
        active=old.active,
        sub=old.sub,
        invocation=old.invocation,
        marks=old.marks,
        result=old.result,
        restarts=old.restarts,
        changed=old.changed,
        began=old.began,
        up_since=old.up_since,
        main_started=old.main_started,
        triggered_by=old.triggered_by,
        triggers=old.triggers,
        can_start=old.can_start,
    )
