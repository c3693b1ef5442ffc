"""What the deletions of a plan remove, so that what would take it along takes the others only. Pure.

What a deletion, a replacement, what is exclusive, or the package manager would take along, and an earlier deletion of
the same plan removes, is not taken: it goes by its own rules, with its own hazards, and if it stays, what would have
taken it stays too.
"""

from collections.abc import Iterable, Iterator

from attrs import frozen

from datum.model.graph import Node, Target
from datum.model.identity import ResourceId
from datum.model.plan import Change, Step


def names_of(targets: Iterable[Target]) -> Iterator[str]:
    """Yield what `Step.takes` calls the things that targets stand for: but for paths nothing that is shared goes."""
    for target in targets:
        if target.kind == "path":
            yield target.key
        elif not target.shared:
            yield f"{target.kind}:{target.key}"


def removed_with(node: Node) -> Iterator[str]:
    """Yield the names of what goes when a resource is removed: not of what it shares, as one line does its file."""
    return names_of(target for target in node.targets if not target.shared)


@frozen
class Taking:
    """What one step takes along, and on which deletions it leans."""

    # What no deletion of the plan removes, sorted.
    names: tuple[str, ...] = ()
    # The deletions that remove the others.
    leans_on: frozenset[ResourceId] = frozenset()


class Removals:
    """The deletions so far, by what they remove."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_name: dict[str, ResourceId] = {}

    def copy(self) -> "Removals":
        """Return the same ones, to which others can be added."""
        twin = Removals()
        twin._by_name.update(self._by_name)
        return twin

    def add(self, node: Node, takes: Iterable[str] = ()) -> None:
        """Add a deletion: of what its resource declares, and of what it takes along."""
        for name in (*removed_with(node), *takes):
            self._by_name.setdefault(name, node.resource.id)

    def left_of(self, names: Iterable[str]) -> Taking:
        """Return what is left of some that are sorted."""
        left: list[str] = []
        leans_on: set[ResourceId] = set()
        for name in names:
            remover = self._by_name.get(name)
            if remover is None:
                left.append(name)
            else:
                leans_on.add(remover)
        return Taking(tuple(left), frozenset(leans_on))


def changes_left(node: Node, step: Step, taking: Taking) -> tuple[Change, ...]:
    """Return the changes of a step without the parts that go by deletions of their own."""
    gone = set(step.takes).difference(taking.names)
    folders = [target.key.rstrip("/") for target in node.targets if target.kind == "path" and not target.leaf]
    parts = {f".{path[len(folder) :]}" for folder in folders for path in gone if path.startswith(f"{folder}/")}
    return tuple(change for change in step.changes if change.after is not None or change.name not in parts)
