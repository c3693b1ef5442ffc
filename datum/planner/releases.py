"""The line that settles what an orphan is kept or held for (design 4.3): how it would have to be declared. Pure."""

from collections.abc import Iterable
from typing import Final

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Observation, Present
from datum.planner.decide import BreachError, all_are, deletion, guarded, hazards_of
from datum.planner.inputs import PlanInput
from datum.provider.contract import AbsentNameProvider, AnyProvider

_LEAVE: Final = "leave it: it is kept"
_BY_HAND: Final = "remove it by hand"


def release_of(origin: ResourceId, given: PlanInput) -> str:
    """Return the line that has an orphan removed which no pass removes by itself; empty where nobody can say it."""
    sight, provider = given.orphans[origin], given.providers.get(origin.type)
    if provider is None or not sight.sights:
        return ""
    newest = sight.sights[0]
    try:
        return line_of_kept(newest.node, newest.observation, provider)
    except BreachError:
        return ""


def line_of_kept(node: Node, observation: Observation, provider: AnyProvider) -> str:
    """Return the line that has something removed which is kept; that it can be left alone where nothing removes it.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if isinstance(observation, Present) and observation.obstacles:
        return _LEAVE
    risks: frozenset[Hazard] = frozenset()
    if isinstance(observation, Present):
        step = deletion(observation)
        risks = hazards_of(node, step, provider) | ({Hazard.DATA_LOSS} if step.takes else frozenset())
    declare = _absent(node, risks, provider)
    return f"{declare} to remove it, or {_LEAVE}" if declare else f"{_BY_HAND}, or {_LEAVE}"


def line_of_held(node: Node, risks: Iterable[Hazard], provider: AnyProvider) -> str:
    """Return the line that allows a removal that risks something.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    return _absent(node, risks, provider) or f"{_BY_HAND}, or declare it again"


def _absent(node: Node, risks: Iterable[Hazard], provider: AnyProvider) -> str:
    """Return how it is declared absent, with what has to be allowed then; empty where it cannot be."""
    origin = node.resource.id
    name: str | None = origin.name
    if isinstance(provider, AbsentNameProvider):
        name = guarded(provider, "absent_name", lambda: provider.absent_name(origin.name, node.desired))
        all_are(provider, "absent_name", () if name is None else (name,), str)
    if name is None:
        return ""
    allowed = ", ".join(sorted(risks))
    allow = f" and 'allow: [{allowed}]'" if allowed else ""
    return f"declare {origin.type}:{name} with 'absent: true'{allow}"
