"""What a graph says of the paths and accounts that are declared around a resource."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.provider.paths import is_below, parents


@frozen
class Index:
    """Who holds which target, and which directories are exclusive."""

    holders: Mapping[Target, ResourceId] = field(factory=dict)
    exclusive: frozenset[str] = frozenset()

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> Self:
        """Return the index of resources by id; an id with the value `exclusive` is an exclusive directory."""
        ids = [ResourceId.parse(text) for text in declared]
        spaces = {"user": "user", "group": "group"}
        return cls(
            {Target(spaces.get(each.type, "path"), each.name): each for each in ids},
            frozenset(ResourceId.parse(text).name for text, value in declared.items() if value == "exclusive"),
        )

    def holder(self, target: Target) -> ResourceId | None:
        return self.holders.get(target)

    def nearest_parent(self, path: str) -> ResourceId | None:
        found = (self.holders.get(Target("path", folder)) for folder in parents(path))
        return next((each for each in found if each is not None), None)

    def paths_below(self, path: str) -> tuple[str, ...]:
        keys = (target.key for target in self.holders if target.kind == "path")
        return tuple(sorted(key for key in keys if key != path and is_below(key, path)))

    def is_exclusive(self, path: str) -> bool:
        return path in self.exclusive
