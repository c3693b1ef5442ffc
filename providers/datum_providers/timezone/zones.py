"""The zones of the tz database that a host has. Reads the host; changes nothing."""

import difflib
import posixpath
from typing import Final

from datum.provider.host import FileKind, HostReader, Missing
from datum.provider.paths import normal_path
from datum_providers.timezone.desired import ZONEINFO

# First bytes of tzfile(5).
_MAGIC: Final = b"TZif"
_HOPS: Final = 8
_ENTRIES: Final = 10_000
_NEAR: Final = 3
_ALIKE: Final = 0.6
# What a tz database without links has as files of their own.
_UTC: Final = frozenset({"UTC", "UCT", "Universal", "Zulu", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"})
# Further copies of all zones, one without leap seconds and one with them.
_COPIES: Final = ("posix/", "right/")


def zone_of(path: str, link: str) -> str | None:
    """Return the zone that a link at a path names, from the texts alone; None where it leads elsewhere."""
    try:
        end = normal_path(posixpath.normpath(posixpath.join(posixpath.dirname(path), link)))
    except ValueError:
        return None
    return end.removeprefix(f"{ZONEINFO}/") if end.startswith(f"{ZONEINFO}/") else None


def canonical(reader: HostReader, zone: str) -> str:
    """Return the zone that a name is another name for: the end of the links of the tz database.

    Raises:
        HostError: it cannot be looked at.
    """
    for _ in range(_HOPS):
        path = f"{ZONEINFO}/{zone}"
        facts = reader.examine(path)
        if isinstance(facts, Missing) or facts.kind is not FileKind.SYMLINK:
            break
        end = zone_of(path, facts.link)
        if end is None:
            break
        zone = end
    return "Etc/UTC" if zone in _UTC else zone


def is_known(reader: HostReader, zone: str) -> bool:
    """Whether the host has a zone.

    Raises:
        HostError: it cannot be looked at.
    """
    path = f"{ZONEINFO}/{canonical(reader, zone)}"
    facts = reader.examine(path)
    if isinstance(facts, Missing) or facts.kind is not FileKind.REGULAR:
        return False
    return reader.read_file(path, limit=len(_MAGIC)) == _MAGIC


def near(reader: HostReader, zone: str) -> tuple[str, ...]:
    """Return the zones whose names are most like one that there is not; none where the host has no zones.

    Raises:
        HostError: they cannot be looked at.
    """
    paths = reader.below(ZONEINFO, limit=_ENTRIES).paths
    names = [path.removeprefix(f"{ZONEINFO}/") for path in paths]
    known = {name.lower(): name for name in names if name[:1].isupper() and not name.startswith(_COPIES)}
    last = zone.lower().rpartition("/")[2]
    exact = sorted(name for lower, name in known.items() if lower.rpartition("/")[2] == last)
    alike = difflib.get_close_matches(zone.lower(), sorted(known), _NEAR, _ALIKE)
    return tuple(dict.fromkeys((*exact, *(known[one] for one in alike))))[:_NEAR]
