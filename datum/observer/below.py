"""What would go along if a resource were removed, and what is mounted there. Reads only."""

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from datum.model.graph import Target
from datum.model.observation import Present
from datum.provider.host import HostReader
from datum.provider.paths import parents

LIMIT: Final = 10_000
"""Paths below one directory; of what holds more nobody can say in a plan what would go."""


def has_room(targets: Iterable[Target]) -> bool:
    """Whether something can lie below one of these: a directory that is no one else's too."""
    return any(target.kind == "path" and not (target.shared or target.leaf) for target in targets)


def with_holds(targets: Iterable[Target], seen: Present, reader: HostReader) -> Present:
    """Return what was seen, with all that lies below its directories and is no target of its own.

    Raises:
        HostError: it cannot be looked at, or there is too much of it.
    """
    paths = {target.key: target for target in targets if target.kind == "path" and not target.shared}
    holds, mounts = set(seen.holds), set(seen.mounts)
    for path in _uppermost(paths):
        found = reader.below(path, limit=LIMIT + len(paths))
        holds.update(one for one in found.paths if one not in paths)
        mounts.update(found.mounts)
    return evolve(seen, holds=tuple(sorted(holds)), mounts=tuple(sorted(mounts)))


def _uppermost(paths: dict[str, Target]) -> Iterable[str]:
    """Return the directories among these that lie below no other of them."""
    folders = {path for path, target in paths.items() if not target.leaf}
    return [path for path in sorted(folders) if folders.isdisjoint(parents(path))]
