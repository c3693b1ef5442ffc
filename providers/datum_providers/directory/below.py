"""Who owns what lies below a directory, where the directory says so. Reads the host; changes nothing."""

import stat
from collections.abc import Collection, Mapping
from typing import Final

from attrs import field, frozen

from datum.provider.host import FileFacts, FileKind, HostReader, Missing
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.shared.kinds import ENTRIES_LIMIT

_SHOWN: Final = 3


@frozen
class Strangers:
    """What lies below a directory and belongs to others than it shall."""

    # In their order, with uid and gid of each.
    owners: Mapping[str, tuple[int, int]] = field(factory=dict)
    # What stays as it is, and why, in words.
    kept: Mapping[str, str] = field(factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every one of them, in their order."""
        return tuple(self.owners)

    def words(self, folder: str) -> str:
        """Return how many they are, and the first of them, for people."""
        names = [f"./{path[len(folder) + 1 :]}" for path in self.paths[:_SHOWN]]
        more = ", …" if len(self.paths) > _SHOWN else ""
        return f"{len(self.paths)} of others ({', '.join(names)}{more})"


def strangers_below(
    reader: HostReader, wanted: DesiredDirectory, uid: int | None, gid: int | None, *, going: Collection[str] = ()
) -> Strangers:
    """Look at everything below, but for mounts, and what is declared with all below it.

    Args:
        reader: of the host.
        wanted: the directory.
        uid: who shall own it; None: anybody.
        gid: likewise.
        going: what is cleared away, and needs no other owner.

    Raises:
        HostError: there is too much, or it cannot be looked at.
    """
    found: dict[str, tuple[int, int]] = {}
    kept: dict[str, str] = {}
    sticky = {wanted.path} if _is_sticky(reader.examine(wanted.path)) else set()
    below = reader.below(wanted.path, limit=ENTRIES_LIMIT)
    closed = wanted.neighbours.declared | set(below.mounts) | set(going)
    covered: set[str] = set()
    for path in below.paths:
        if path in closed or path.rpartition("/")[0] in covered:
            covered.add(path)
            continue
        facts = reader.examine(path)
        if isinstance(facts, Missing):
            continue
        if _is_sticky(facts):
            sticky.add(path)
        if path.rpartition("/")[0] in sticky and uid is not None and facts.uid not in {0, uid}:
            kept[path] = f"it is user {facts.uid}'s, in a directory where everybody makes names"
            covered.add(path)
        elif _is_theirs(facts, uid, gid):
            continue
        elif facts.links > 1 and facts.kind is not FileKind.DIRECTORY:
            kept[path] = "its owner stays: the file has other names, too"
        else:
            found[path] = (facts.uid, facts.gid)
    return Strangers(found, kept)


def _is_sticky(facts: FileFacts | Missing) -> bool:
    """Whether it is a directory in which a name is its maker's."""
    if isinstance(facts, Missing) or facts.kind is not FileKind.DIRECTORY:
        return False
    return bool(int(facts.mode or "0", 8) & stat.S_ISVTX)


def _is_theirs(facts: FileFacts, uid: int | None, gid: int | None) -> bool:
    return "owner" in facts.without or ((uid is None or facts.uid == uid) and (gid is None or facts.gid == gid))
