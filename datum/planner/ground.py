"""What the target wants on the host, for what orphans ask: who holds a path, stands there, clears it away. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from datum.model.graph import Node, ResourceGraph, Target, may_share
from datum.model.identity import ResourceId
from datum.model.observation import Observation, Present
from datum.model.plan import Operation
from datum.planner.decide import BreachError, decide
from datum.planner.inputs import PlanInput
from datum.provider.contract import AnyProvider
from datum.provider.paths import parents, paths_below


class Ground:
    """What the target wants on the host, by path, target and identity."""

    def __init__(self, given: PlanInput) -> None:
        """Index what is wanted; what is declared absent is not."""
        self._given = given
        self._nodes = given.graph.nodes
        self._holders = wanted_holders(given.graph)
        self._paths = {target.key: target for target in self._holders if target.kind == "path"}
        self._ordered: Sequence[str] = sorted(self._paths)
        self._identities: dict[str, ResourceId] = {}
        for holder in sorted(set(self._holders.values())):
            seen = given.observed.observations.get(holder)
            if isinstance(seen, Present) and seen.identity:
                self._identities.setdefault(seen.identity, holder)
        # What each exclusive directory takes along, as far as that was asked.
        self._cleared: dict[str, frozenset[str]] = {}

    def on_or_below(self, orphan: Node, observed: Observation) -> Iterator[ResourceId]:
        """Yield what holds a target of an orphan, lies below one of its paths, or is the same thing on the host."""
        for target in orphan.targets:
            yield from self._holder(orphan, target)
        for target in orphan.targets:
            if target.kind == "path":
                for path in paths_below(self._ordered, target.key):
                    yield from self._holder(orphan, self._paths[path])
        if isinstance(observed, Present) and observed.identity in self._identities:
            yield self._identities[observed.identity]

    def _holder(self, orphan: Node, target: Target) -> Iterator[ResourceId]:
        holder = self._holders.get(target)
        if holder is not None and not (target in orphan.targets and may_share(orphan, self._nodes[holder], target)):
            yield holder

    def mover_of(self, orphan: Node) -> ResourceId | None:
        """Return what the target says that an orphan has become."""
        return self._movers.get(orphan.resource.id)

    @cached_property
    def _movers(self) -> Mapping[ResourceId, ResourceId]:
        return movers_of(self._given.graph)

    def heir_of(self, orphan: Node) -> ResourceId | None:
        """Return what holds the very places that an orphan held, where nothing of it can lie beside that."""
        heirs = [self._whole.get(target) for target in orphan.targets]
        pairs = zip(heirs, orphan.targets, strict=True)
        if any(heir is None and self._leaf_above(target) is None for heir, target in pairs):
            return None
        return next((heir for heir in heirs if heir is not None), None)

    def _leaf_above(self, target: Target) -> ResourceId | None:
        above = parents(target.key) if target.kind == "path" else ()
        return next((self._leaves[path] for path in above if path in self._leaves), None)

    @cached_property
    def _whole(self) -> Mapping[Target, ResourceId]:
        """Without what is held in part only: beside that the part of an orphan may be there still."""
        return {target: holder for target, holder in self._holders.items() if not target.shared}

    @cached_property
    def _leaves(self) -> Mapping[str, ResourceId]:
        return leaves_of(self._holders)

    def stands(self, holder: ResourceId) -> bool:
        """Whether what a resource of the target declares is on the host already, whatever is to be changed of it.

        Raises:
            BreachError: its provider raised or broke its contract.
        """
        given = self._given
        return stands(self._nodes[holder], given.observed.observations[holder], given.providers[holder.type])

    def is_cleared(self, orphan: Node) -> bool:
        """Whether it lies in a directory that the target wants to itself, and would be cleared away from there.

        Raises:
            BreachError: the provider of such a directory raised or broke its contract.
        """
        exclusive = self._given.graph.exclusive
        path = next((target.key for target in orphan.targets if target.kind == "path"), None)
        if path is None:
            return False
        folder, *higher = parents(path) or ("",)
        return folder in exclusive or any(path in self._cleared_by(one) for one in higher if one in exclusive)

    def _cleared_by(self, folder: str) -> frozenset[str]:
        """Return what an exclusive directory takes along as it is now: how deep it reaches is for its type to say."""
        found = self._cleared.get(folder)
        if found is None:
            holder = self._holders[Target("path", folder)]
            seen = self._given.observed.observations[holder]
            provider = self._given.providers[holder.type]
            step = decide(self._nodes[holder], seen, provider) if isinstance(seen, Present) else None
            found = self._cleared[folder] = frozenset(step.takes if step is not None else ())
        return found


def movers_of(graph: ResourceGraph) -> Mapping[ResourceId, ResourceId]:
    """Return what names each former id in `moved:`."""
    return {node.resource.moved: origin for origin, node in graph.nodes.items() if node.resource.moved is not None}


def wanted_holders(graph: ResourceGraph) -> Mapping[Target, ResourceId]:
    """Return who holds what, without what is declared absent."""
    return {target: holder for target, holder in graph.holders.items() if not graph.nodes[holder].resource.absent}


def leaves_of(holders: Mapping[Target, ResourceId]) -> Mapping[str, ResourceId]:
    """Return the paths below which nothing can lie, with who holds each."""
    return {target.key: holder for target, holder in holders.items() if target.kind == "path" and target.leaf}


def stands(node: Node, observed: Observation, provider: AnyProvider) -> bool:
    """Whether what a wanted resource declares is on the host, if with other content or rights.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if not isinstance(observed, Present):
        return False
    step = decide(node, observed, provider)
    return step is None or step.operation is Operation.UPDATE


def find_unreachable(
    nodes: Mapping[ResourceId, Node],
    graph: ResourceGraph,
    observations: Mapping[ResourceId, Observation],
    providers: Mapping[str, AnyProvider],
) -> frozenset[ResourceId]:
    """Return which orphans cannot be on the host: the way to each leads through what the target wants no directory.

    Args:
        nodes: declarations of one older revision.
        graph: of the target.
        observations: of what the target declares: a file or link that does not stand yet hides nothing.
        providers: every type.
    """
    leaves = leaves_of(wanted_holders(graph))
    standing: dict[ResourceId, bool] = {}

    def hides(path: str) -> bool:
        holder = leaves.get(path)
        if holder is None:
            return False
        if holder not in standing:
            standing[holder] = False
            with suppress(BreachError):
                standing[holder] = stands(graph.nodes[holder], observations[holder], providers[holder.type])
        return standing[holder]

    def is_hidden(target: Target) -> bool:
        return target.kind == "path" and any(map(hides, parents(target.key)))

    return frozenset(origin for origin, node in nodes.items() if node.targets and all(map(is_hidden, node.targets)))
