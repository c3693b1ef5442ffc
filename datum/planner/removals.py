"""Which paths the deletions of a plan remove, so that what lies above them takes the others only. Pure.

What a deletion, a replacement or an exclusive directory would take along, and an earlier deletion of the same plan
removes, is not taken: it goes by its own rules, with its own hazards, and if it stays, what would have taken it stays
too.
"""

from collections.abc import Iterable

from attrs import frozen

from datum.model.graph import Node
from datum.model.identity import ResourceId


@frozen
class Taking:
    """What one step takes along, and on which deletions it leans."""

    # Paths that no deletion of the plan removes, sorted.
    paths: tuple[str, ...] = ()
    # The deletions that remove the others.
    leans_on: frozenset[ResourceId] = frozenset()


class Removals:
    """The deletions so far, by the paths that they remove."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_path: dict[str, ResourceId] = {}

    def add(self, node: Node, takes: Iterable[str] = ()) -> None:
        """Add a deletion: of the paths that its resource declares, and of what it takes along."""
        own = (target.key for target in node.targets if target.kind == "path" and not target.shared)
        for path in (*own, *takes):
            self._by_path.setdefault(path, node.resource.id)

    def left_of(self, paths: Iterable[str]) -> Taking:
        """Return what is left of some sorted paths."""
        left: list[str] = []
        leans_on: set[ResourceId] = set()
        for path in paths:
            remover = self._by_path.get(path)
            if remover is None:
                left.append(path)
            else:
                leans_on.add(remover)
        return Taking(tuple(left), frozenset(leans_on))
