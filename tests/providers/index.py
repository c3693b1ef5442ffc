"""What a graph says of the paths and accounts that are declared around a resource."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from datum.model.graph import MADE_PATH, Target
from datum.model.identity import ResourceId
from datum.provider.paths import is_below, parents


@frozen
class Index:
    """Who holds which target, and which directories are exclusive."""

    holders: Mapping[Target, ResourceId] = field(factory=dict)
    exclusive: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> Self:
        """Return the index of resources by id.

        The value `exclusive` is that of an exclusive directory, `absent` of what is declared absent; the name of a
        command stands for a path that it makes.
        """
        ids = {ResourceId.parse(text): value for text, value in declared.items()}
        spaces = {"user": "user", "group": "group", "command": MADE_PATH}
        return cls(
            {Target(spaces.get(each.type, "path"), each.name): each for each in ids},
            frozenset(each.name for each, value in ids.items() if value == "exclusive"),
            frozenset(each.name for each, value in ids.items() if value == "absent"),
        )

    def holder(self, target: Target) -> ResourceId | None:
        return self.holders.get(target)

    def nearest_parent(self, path: str) -> ResourceId | None:
        found = (self.holders.get(Target("path", folder)) for folder in parents(path))
        return next((each for each in found if each is not None), None)

    def keys(self, kind: str) -> tuple[str, ...]:
        gone = {Target("path", path) for path in self.absent}
        return tuple(sorted(target.key for target in self.holders if target.kind == kind and target not in gone))

    def paths_below(self, path: str) -> tuple[str, ...]:
        keys = {target.key for target in self.holders if target.kind in {"path", MADE_PATH}}
        return tuple(sorted(key for key in keys if key != path and is_below(key, path)))

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        return tuple(target for target, holder in self.holders.items() if holder == origin)

    def is_absent(self, path: str) -> bool:
        return path in self.absent

    def is_exclusive(self, path: str) -> bool:
        return path in self.exclusive


def index_of(declared: Mapping[str, Any]) -> Index:
    """Return the index of resources by the target that each holds, as `kind key`."""
    holders = {}
    for target, origin in declared.items():
        kind, _, key = target.partition(" ")
        holders[Target(kind, key)] = ResourceId.parse(origin)
    return Index(holders)
