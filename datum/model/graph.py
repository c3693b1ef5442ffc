"""Resources in an order that respects every edge. Pure; no networkx object in it."""

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from datum.diagnostics import SourceLocation
from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.manifest import Resource

if TYPE_CHECKING:
    from datum.model.plan import Operation

MADE_PATH: Final = "made_path"
"""Space of paths that a resource brings about and does not hold, as a command does: whoever wants to may declare them,
and no exclusive directory clears them away, nor what lies below them."""

SAFE_FOLDER: Final = "safe_folder"
"""Space of directories that a step leaves so that nobody else can turn what is written below them elsewhere."""


NOTHING: Final = "nothing"
"""Space of what nothing can provide: a step that needs it is impossible."""

ANY_KEY: Final = "*"
"""Key of an effect that may be any of its space."""


class DependencyKind(enum.StrEnum):
    """systemd's words: `requires` is order, and a failure spreads; `after` is order only."""

    REQUIRES = "requires"
    AFTER = "after"


@frozen(order=True)
class Target:
    """What a resource holds on the host: two resources must not hold the same one.

    `kind` names the space (`path`, `user`, `unit`, `port`); `key` is the normal form in it.
    """

    kind: str
    key: str
    # A keyed edit shares its file with edits of its own type, never with another type.
    shared: bool = field(default=False, eq=False, order=False)
    # Nothing can lie below it: a regular file, a link.
    leaf: bool = field(default=False, eq=False, order=False)
    # A directory in which nothing stays that is not declared.
    exclusive: bool = field(default=False, eq=False, order=False)
    # The group, by name or digits, that may make names in this directory, as its declaration says; else empty.
    shared_with: str = field(default="", eq=False, order=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@frozen(order=True)
class Dependency:
    """`source` comes after `target`."""

    source: ResourceId
    target: ResourceId
    kind: DependencyKind
    # For people: `declared`, `parent directory`, `owner`.
    reason: str
    # Where it is declared; None for implicit edges.
    location: SourceLocation | None = field(default=None, order=False)
    # Soft edges give way to declared ones that contradict them.
    soft: bool = False

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Sort ten thousands by this: comparing them one by one costs as much as reading their files."""
        source, target = self.source, self.target
        return (source.type, source.name, target.type, target.name, self.kind, self.reason, "1" if self.soft else "")


@frozen
class Node:
    """One resource of the graph with what its provider read from it."""

    resource: Resource
    # What `Provider.parse` returned; opaque to the engine.
    desired: object
    targets: tuple[Target, ...]


def may_share(one: Node, other: Node, target: Target) -> bool:
    """Whether both may hold a target: edits of parts of one thing, by one type (design 2.1)."""
    claims = [claim for node in (one, other) for claim in node.targets if claim == target]
    return one.resource.id.type == other.resource.id.type and all(claim.shared for claim in claims)


@frozen
class ResourceGraph:
    """Acyclic by construction; every reference resolved; target identities unique."""

    nodes: Mapping[ResourceId, Node]
    # Every edge that holds, sorted.
    dependencies: tuple[Dependency, ...]
    # All ids; respects every edge, ties broken by stage and id.
    order: tuple[ResourceId, ...]
    # Soft edges that gave way to declared ones.
    dropped: tuple[Dependency, ...] = ()
    # id to the ids it directly requires (kind `requires` only), sorted.
    requires: Mapping[ResourceId, tuple[ResourceId, ...]] = field(factory=dict, repr=False)
    # Who holds a target.
    holders: Mapping[Target, ResourceId] = field(factory=dict, repr=False)
    # Paths of the directories in which nothing stays that is not declared.
    exclusive: frozenset[str] = field(default=frozenset(), repr=False)
    # Each resource that a check guards, and the key of the transaction it is a candidate of. Members of one
    # transaction stand next to each other in `order`.
    guarded: Mapping[ResourceId, str] = field(factory=dict, repr=False)
    # The checks of each of these transactions, sorted by resource.
    checks: Mapping[str, tuple[Check, ...]] = field(factory=dict, repr=False)
    # Everything wanted that can be restarted or reloaded, and the resources after whose change each owes which of both.
    triggers: "Mapping[ResourceId, Mapping[ResourceId, Operation]]" = field(factory=dict, repr=False)
    # Everything that is stopped while others change, and these, sorted.
    stopped: Mapping[ResourceId, tuple[ResourceId, ...]] = field(factory=dict, repr=False)

    def required_by(self, origin: ResourceId) -> frozenset[ResourceId]:
        """Return every id that `origin` requires, transitively, without itself."""
        found: set[ResourceId] = set()
        waiting = list(self.requires.get(origin, ()))
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self.requires.get(current, ()))
        return frozenset(found)
