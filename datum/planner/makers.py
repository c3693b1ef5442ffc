"""Who may bring into being what a step needs and is not there yet (design 1.3). Pure."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from datum.model.graph import ANY_KEY, NOTHING, Node, ResourceGraph, Target
from datum.model.identity import ResourceId
from datum.model.plan import Effect, Need, Operation, Step

_CERTAIN: Final = 0
_POSSIBLE: Final = 1
# Of those that may bring anything of a space: what comes before by an edge, whose name the key holds, any other.
_EARLIER: Final = 2
_NAMED: Final = 3
_ANY: Final = 4

_ROOT: Final = "root"
_ANY_PATH: Final = Target("path", ANY_KEY)


class Makers:
    """What the steps of a plan so far make, certainly or possibly."""

    def __init__(self, graph: ResourceGraph) -> None:
        """Begin with none."""
        self._graph = graph
        self._found: dict[Target, list[tuple[bool, ResourceId]]] = {}
        self._along: dict[ResourceId, frozenset[str]] = {}

    def add(self, origin: ResourceId, effects: Iterable[Effect]) -> None:
        """Add what the step of a resource makes."""
        owners: set[str] = set()
        for effect in effects:
            self._found.setdefault(effect.target, []).append((effect.certain, origin))
            if effect.target == _ANY_PATH:
                owners.add(_ROOT)
            elif effect.target.kind == "user" and effect.certain:
                owners |= {_ROOT, effect.target.key}
        self._along[origin] = frozenset(owners)

    def is_sure(self, maker: ResourceId, target: Target) -> bool:
        """Whether an action makes this very target, for certain."""
        return (True, maker) in self._found.get(target, ())

    def found_at(self, node: Node, step: Step) -> frozenset[ResourceId]:
        """Return what makes for certain what a step is to create: its turn finds that made, as a mount's own point."""
        if step.operation is not Operation.CREATE:
            return frozenset()
        paths = (target for target in node.targets if target.kind == "path" and not target.shared)
        return frozenset(maker for target in paths for is_sure, maker in self._found.get(target, ()) if is_sure)

    def hoped(self, providing: Mapping[Need, ResourceId]) -> Mapping[Target, ResourceId]:
        """Return what a step needs that its maker may bring, but need not."""
        needed = {need.target: maker for need, maker in providing.items()}
        return {target: maker for target, maker in needed.items() if not self.is_sure(maker, target)}

    def along(self, providing: Mapping[Need, ResourceId]) -> frozenset[str]:
        """Return the owners of what comes along with the paths that a step needs.

        A package brings what its script writes as root, a new account its skeleton; a directory comes empty.
        """
        some = (self._along[maker] for need, maker in providing.items() if need.target.kind == "path")
        return frozenset[str]().union(*some)

    def of(self, origin: ResourceId, target: Target) -> tuple[ResourceId, ...]:
        """Return what may make a target that a resource needs, the likeliest first, else as they stand in the plan."""
        if target.kind == NOTHING:
            return ()
        ranked = [(_CERTAIN if sure else _POSSIBLE, maker) for sure, maker in self._found.get(target, ())]
        anything = self._found.get(Target(target.kind, ANY_KEY), ())
        earlier = self._graph.required_by(origin) | self._after.get(origin, set()) if anything else frozenset()
        for _, maker in anything:
            is_named = maker.name.partition(":")[0] in target.key
            ranked.append((_EARLIER if maker in earlier else _NAMED if is_named else _ANY, maker))
        return tuple(dict.fromkeys(maker for _, maker in sorted(ranked, key=lambda found: found[0])))

    def of_unit(self, service: ResourceId) -> tuple[ResourceId, ...]:
        """Return what may bring the unit of a service: also what may bring any."""
        return self.of(service, Target("unit", service.name))

    def before(self, origin: ResourceId) -> frozenset[ResourceId]:
        """Return what a resource requires or comes after, and what that requires."""
        direct = self._after.get(origin, set())
        some = (self._graph.required_by(one) for one in (origin, *direct))
        return frozenset(direct).union(*some)

    @cached_property
    def _after(self) -> Mapping[ResourceId, set[ResourceId]]:
        """What each resource comes directly after; asked only where something may bring anything."""
        found: dict[ResourceId, set[ResourceId]] = {}
        for edge in self._graph.dependencies:
            found.setdefault(edge.source, set()).add(edge.target)
        return found
