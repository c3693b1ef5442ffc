"""Unit files and links of enablement as they lie on the disk, where no service manager can be asked. Reads the host.

The words are those of `systemctl is-enabled`; source of the rules: systemctl(1), systemd.unit(5), and the lookup of
states in systemd 252.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field, frozen

from datum.provider.host import FileFacts, FileKind, HostError, HostReader, Missing
from datum_providers.shared.units import SYSTEM, UnitName

RUNTIME: Final = "/run/systemd/system"

FOLDERS: Final = (SYSTEM, RUNTIME, "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
"""Where unit files lie; the first wins."""

_SIZE_LIMIT: Final = 256 * 1024
_WANTS: Final = (".wants", ".requires", ".upholds")
_RULES: Final = ("WantedBy", "RequiredBy", "UpheldBy", "Alias")


@frozen
class _File:
    """A unit file."""

    # Where it was found, and where the links there lead; the same where there are none.
    path: str
    end: str
    # Its name there; another than the one looked for where it is an alias.
    name: str


@define
class UnitFiles:
    """One look at the unit files of a host; what is read is read once."""

    reader: HostReader
    _listed: dict[str, tuple[str, ...]] = field(factory=dict, init=False)
    _looked: dict[str, FileFacts | Missing] = field(factory=dict, init=False)

    def state(self, unit: UnitName) -> str:
        """Return the state of a unit's file; `not-found` where there is none.

        Raises:
            HostError: a file or folder of it cannot be looked at.
        """
        found = self._find(unit)
        if found is None:
            init = self._look(f"/etc/init.d/{unit.stem}") if unit.suffix == "service" else None
            return "generated" if isinstance(init, FileFacts) else "not-found"
        if found.end == "":
            return "masked-runtime" if found.path.startswith(f"{RUNTIME}/") else "masked"
        if found.name not in unit.sources:
            return "alias"
        install = self._install(unit, found)
        enabled = self._enablement(unit, install)
        if enabled:
            return enabled
        if self._has_another_name(unit):
            return "indirect"
        if any(install.get(rule) for rule in _RULES):
            return "disabled"
        return "indirect" if install.get("Also") else "static"

    def real_name(self, unit: UnitName) -> str:
        """Return the full name that an alias leads to; its own where it is none."""
        found = self._find(unit)
        if found is None or found.name in {*unit.sources, ""}:
            return unit.full
        # An alias of a template stands for each of its instances.
        return found.name.replace("@.", f"@{unit.stem.partition('@')[2]}.") if unit.template else found.name

    def has_own_file(self, unit: UnitName) -> bool:
        """Whether a file that is no link lies where the administrator's file of this unit would."""
        facts = self._look(f"{SYSTEM}/{unit.full}")
        return isinstance(facts, FileFacts) and facts.kind is not FileKind.SYMLINK

    def is_linked_anywhere(self, unit: UnitName) -> bool:
        """Whether a link of enablement leads to a unit, or to an instance of a template, for good or for this boot."""
        for folder in (SYSTEM, RUNTIME):
            for place in self._places(folder):
                names = (name for name in self._list(place) if place not in {SYSTEM, RUNTIME})
                if any(name == unit.full or UnitName(name).template == unit.full for name in names):
                    return True
        return False

    def _find(self, unit: UnitName) -> _File | None:
        for name in unit.sources:
            for folder in FOLDERS:
                facts = self._look(f"{folder}/{name}")
                if isinstance(facts, FileFacts):
                    return self._follow(f"{folder}/{name}", facts)
        return None

    def _follow(self, path: str, facts: FileFacts) -> _File:
        """Follow the links of a unit file; the end of a mask is empty."""
        end = path
        for _ in range(8):
            if facts.kind is not FileKind.SYMLINK:
                # An empty file masks as well.
                is_mask = facts.kind is FileKind.CHARACTER_DEVICE or (facts.kind is FileKind.REGULAR and not facts.size)
                return _File(path, "" if is_mask else end, "" if is_mask else posixpath.basename(end))
            end = posixpath.normpath(posixpath.join(posixpath.dirname(end), facts.link))
            if end == "/dev/null":
                return _File(path, "", "")
            further = self._look(end)
            if isinstance(further, Missing):
                return _File(path, end, posixpath.basename(end))
            facts = further
        raise HostError(f"The links of '{path}' lead nowhere.", code="bad-unit-link", hint=f"remove {path}")

    def _install(self, unit: UnitName, found: _File) -> Mapping[str, list[str]]:
        """Return the settings of the section that says how a unit is enabled, drop-ins included."""
        settings: dict[str, list[str]] = {}
        for path in (found.end, *self._drop_ins(unit)):
            if isinstance(self._look(path), FileFacts):
                data = self.reader.read_file(path, limit=_SIZE_LIMIT)
                read_install(data.decode("utf-8", "replace"), settings)
        return settings

    def _drop_ins(self, unit: UnitName) -> Iterator[str]:
        for name in unit.sources:
            for folder in FOLDERS:
                inner = f"{folder}/{name}.d"
                yield from (f"{inner}/{each}" for each in self._list(inner) if each.endswith(".conf"))

    def _enablement(self, unit: UnitName, install: Mapping[str, list[str]]) -> str:
        names = (unit.full, *install.get("Alias", ()))
        for folder, state in ((SYSTEM, "enabled"), (RUNTIME, "enabled-runtime")):
            if any(self._is_linked(unit, place, names) for place in self._places(folder)):
                return state
        for folder, state in ((SYSTEM, "linked"), (RUNTIME, "linked-runtime")):
            facts = self._look(f"{folder}/{unit.full}")
            if isinstance(facts, FileFacts) and facts.kind is FileKind.SYMLINK:
                return state
        return ""

    def _places(self, folder: str) -> Iterator[str]:
        yield folder
        yield from (f"{folder}/{name}" for name in self._list(folder) if name.endswith(_WANTS))

    def _is_linked(self, unit: UnitName, place: str, names: tuple[str, ...]) -> bool:
        """Whether a link in a folder enables a unit: by its own name in one that wants, by an alias in any."""
        listed = self._list(place)
        for name in names:
            if name not in listed or (name == unit.full and place in {SYSTEM, RUNTIME}):
                continue
            facts = self._look(f"{place}/{name}")
            if not isinstance(facts, FileFacts) or facts.kind is not FileKind.SYMLINK:
                continue
            if name == unit.full or posixpath.basename(facts.link) in unit.sources:
                return True
        return False

    def _has_another_name(self, unit: UnitName) -> bool:
        """Whether a link that its file says nothing of leads to a unit, as `default.target` does."""
        for place in (each for folder in (SYSTEM, RUNTIME) for each in self._places(folder)):
            for name in self._list(place):
                facts = self._look(f"{place}/{name}")
                if isinstance(facts, Missing) or name == unit.full:
                    continue
                if facts.kind is FileKind.SYMLINK and posixpath.basename(facts.link) == unit.full:
                    return True
        return False

    def _look(self, path: str) -> FileFacts | Missing:
        if path not in self._looked:
            self._looked[path] = self.reader.examine(path)
        return self._looked[path]

    def _list(self, folder: str) -> tuple[str, ...]:
        if folder not in self._listed:
            facts = self._look(folder)
            is_folder = isinstance(facts, FileFacts) and facts.kind is FileKind.DIRECTORY
            self._listed[folder] = self.reader.list_directory(folder) if is_folder else ()
        return self._listed[folder]


def read_install(text: str, settings: dict[str, list[str]]) -> None:
    """Add what the section [Install] of a unit file says; an empty value takes back what was said before."""
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        bare = line.strip()
        if bare.startswith("["):
            section = bare
        key, equals, value = bare.partition("=")
        if section != "[Install]" or not equals or bare.startswith(("#", ";")):
            continue
        words = value.split()
        settings[key.strip()] = [*settings.get(key.strip(), []), *words] if words else []
