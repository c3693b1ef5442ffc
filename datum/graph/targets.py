"""Who holds what on the host (design 4.5, 3.4). Pure.

Rules enforced here: target identities are unique, nothing lies below a leaf or below what is declared absent, the
agent's own places are no targets. One resource may claim thousands of paths: all of this is linear in the claims, and
what two resources have against each other is told once.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.model.graph import MADE_PATH, Dependency, DependencyKind, Node, Target
from datum.model.identity import ResourceId
from datum.provider.paths import is_below, parents, paths_below

PROTECTED_PATHS: Final = ("/etc/datum", "/run/datum.lock", "/var/lib/datum")
"""Where configuration, trust, the lock of the host and state lie unless the host's configuration says otherwise; the
host room refuses the real places as well, by every spelling."""


@frozen
class Claims:
    """What came of all claims."""

    # In the order of the ids; of a shared target the first that claims it.
    holders: Mapping[Target, ResourceId]
    # Paths of exclusive directories that are wanted.
    exclusive: frozenset[str]
    # Paths that are declared absent.
    absent: frozenset[str]
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    # What is declared absent below something that becomes a leaf goes first.
    edges: tuple[Dependency, ...] = ()


class Index:
    """`TargetIndex` over the claimed targets."""

    def __init__(self, claims: Claims, nodes: Mapping[ResourceId, Node]) -> None:
        """Index the paths; sorting them waits until somebody asks what lies below one."""
        self._holders = claims.holders
        self._nodes = nodes
        self._exclusive = claims.exclusive
        self._absent = claims.absent
        self._paths = {target.key: holder for target, holder in claims.holders.items() if target.kind == "path"}

    def holder(self, target: Target) -> ResourceId | None:
        """Return the resource that declares this very target."""
        return self._holders.get(target)

    def nearest_parent(self, path: str) -> ResourceId | None:
        """Return the resource that declares the nearest directory above a path."""
        for parent in parents(path):
            if parent in self._paths:
                return self._paths[parent]
        return None

    def paths_below(self, path: str) -> tuple[str, ...]:
        """Return every path below this one that a resource declares or makes, absent ones included, sorted."""
        return tuple(paths_below(self._sorted, path))

    def is_absent(self, path: str) -> bool:
        """Whether this very path is declared absent."""
        return path in self._absent

    def is_exclusive(self, path: str) -> bool:
        """Whether this very path is declared as an exclusive directory."""
        return path in self._exclusive

    def keys(self, kind: str) -> tuple[str, ...]:
        """Return the keys of every target of one space that is declared and not absent, sorted."""
        return self._keys.get(kind, ())

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        """Return what a resource holds; nothing for one that is not declared."""
        node = self._nodes.get(origin)
        return node.targets if node is not None else ()

    @cached_property
    def _keys(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, set[str]] = {}
        for node in self._nodes.values():
            for target in () if node.resource.absent else node.targets:
                found.setdefault(target.kind, set()).add(target.key)
        return {kind: tuple(sorted(keys)) for kind, keys in found.items()}

    @cached_property
    def _sorted(self) -> Sequence[str]:
        made = {target.key for target in self._holders if target.kind == MADE_PATH}
        return sorted(made.union(self._paths))


def claim_targets(nodes: Mapping[ResourceId, Node]) -> Claims:
    """Let every resource claim its targets, in the order of the ids."""
    holders: dict[Target, ResourceId] = {}
    # Targets that their first holder shares within its type.
    shared: set[Target] = set()
    exclusive: set[str] = set()
    doubles: dict[tuple[ResourceId, ResourceId], list[Target]] = {}
    diagnostics: list[Diagnostic] = []
    for origin, node in nodes.items():
        for target in node.targets:
            other = holders.setdefault(target, origin)
            if other is origin:
                if target.shared:
                    shared.add(target)
            elif other.type != origin.type or not (target.shared and target in shared):
                doubles.setdefault((other, origin), []).append(target)
            if target.exclusive and not node.resource.absent:
                exclusive.add(target.key)
        diagnostics.extend(_protected(node))
    diagnostics.extend(_held_twice(nodes, targets, *pair) for pair, targets in doubles.items())
    paths, gone, leaves = _sorted_out(nodes, holders)
    below, edges = _below(nodes, paths, gone, leaves)
    return Claims(holders, frozenset(exclusive), frozenset(gone), (*diagnostics, *below), edges)


def _below(
    nodes: Mapping[ResourceId, Node],
    paths: Sequence[tuple[str, ResourceId, bool]],
    gone: Mapping[str, ResourceId],
    leaves: Mapping[str, ResourceId],
) -> tuple[list[Diagnostic], tuple[Dependency, ...]]:
    """Return what lies where nothing can lie, and the edges to what has to go before something becomes a leaf."""
    if not (gone or leaves):
        return [], ()
    found: dict[tuple[str, ResourceId, ResourceId], Diagnostic] = {}
    edges: dict[tuple[ResourceId, ResourceId], Dependency] = {}
    for path, holder, is_absent in paths:
        for parent in parents(path):
            if parent in leaves and is_absent:
                edge = Dependency(
                    leaves[parent], holder, DependencyKind.AFTER, "removed from below it first", soft=True
                )
                edges.setdefault((leaves[parent], holder), edge)
            elif parent in leaves:
                key = ("below-a-file", leaves[parent], holder)
                found[key] = found.get(key) or _below_leaf(nodes, leaves[parent], holder)
            elif parent in gone and not is_absent:
                key = ("below-absent", gone[parent], holder)
                found[key] = found.get(key) or _below_absent(nodes, gone[parent], holder)
    return list(found.values()), tuple(edges.values())


def _sorted_out(
    nodes: Mapping[ResourceId, Node], holders: Mapping[Target, ResourceId]
) -> tuple[list[tuple[str, ResourceId, bool]], dict[str, ResourceId], dict[str, ResourceId]]:
    """Return every path with its holder and whether that is to be absent; those that go; those that are leaves."""
    paths: list[tuple[str, ResourceId, bool]] = []
    gone: dict[str, ResourceId] = {}
    leaves: dict[str, ResourceId] = {}
    for target, holder in holders.items():
        if target.kind != "path":
            continue
        is_absent = nodes[holder].resource.absent
        paths.append((target.key, holder, is_absent))
        # What a part of a file is declared absent from stays.
        if is_absent and not target.shared:
            gone[target.key] = holder
        elif target.leaf and not is_absent:
            leaves[target.key] = holder
    return paths, gone, leaves


def _held_twice(
    nodes: Mapping[ResourceId, Node], targets: Sequence[Target], first: ResourceId, second: ResourceId
) -> Diagnostic:
    others = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
    return Diagnostic(
        location=nodes[second].resource.location,
        code="duplicate-target",
        summary="Two resources hold one thing.",
        detail=f"{second} and {first} both hold the {targets[0]}{others}. "
        "One of them must go, or both must be one resource.",
        hint=_merging(nodes, first, second),
        resource=str(second),
        related=((f"{first} is declared here", nodes[first].resource.location),),
    )


def _merging(nodes: Mapping[ResourceId, Node], first: ResourceId, second: ResourceId) -> str:
    """Return what one of two can say for the other, where one holds many paths and the other is one of them."""
    many, one = sorted((first, second), key=lambda origin: len(nodes[origin].targets), reverse=True)
    is_of_paths = any(target.kind == "path" for target in nodes[one].targets)
    if not is_of_paths or len(nodes[many].targets) == len(nodes[one].targets):
        return f"take {second} out, or {first}"
    if any(target.leaf for target in nodes[one].targets):
        return f"take {one} out, or take its path out of what {many} holds"
    return (
        f"take {one} out, and say it with the fields of {many}: of a tree these are `exclusive`, `directory_mode`, and "
        "`rules` for the folders in it"
    )


def _below_leaf(nodes: Mapping[ResourceId, Node], leaf: ResourceId, below: ResourceId) -> Diagnostic:
    return Diagnostic(
        location=nodes[below].resource.location,
        code="below-a-file",
        summary="Nothing can lie below a file.",
        detail=f"{below} lies below {leaf}, which is no directory. Move one of them.",
        resource=str(below),
        related=((f"{leaf} is declared here", nodes[leaf].resource.location),),
    )


def _below_absent(nodes: Mapping[ResourceId, Node], absent: ResourceId, below: ResourceId) -> Diagnostic:
    return Diagnostic(
        location=nodes[below].resource.location,
        code="below-absent",
        summary="Nothing can lie below what is to be absent.",
        detail=f"{below} is wanted, and lies below {absent}, which is declared with 'absent: true'. "
        "Both cannot be had.",
        resource=str(below),
        hint=f"declare {below} absent too, or drop 'absent: true' from {absent}",
        related=((f"{absent} is declared here", nodes[absent].resource.location),),
    )


def _protected(node: Node) -> Iterator[Diagnostic]:
    """Yield what the first claim of the agent's own places says against it: one is enough for a resource."""
    reached = next(_reached(node), None)
    if reached is not None:
        yield Diagnostic(
            location=node.resource.location,
            code="protected-path",
            summary="The agent's own places are no target.",
            detail=(
                f"{node.resource.id} would reach {reached}, where the agent keeps its state, configuration, "
                "trust and lock. These are changed by datum's own commands only."
            ),
            resource=str(node.resource.id),
        )


def _reached(node: Node) -> Iterator[str]:
    for target in node.targets:
        if target.kind != "path":
            continue
        for protected in PROTECTED_PATHS:
            takes_along = (target.leaf or node.resource.absent) and is_below(protected, target.key)
            if takes_along or is_below(target.key, protected):
                yield protected
