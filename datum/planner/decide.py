"""One resource: what is wanted against what is there. Pure.

Every provider is called through the guards of this module, so that whatever it raises is a breach of that provider
and never an error of the pass.
"""

from collections.abc import Callable
from typing import TypeVar

from attrs import evolve

from datum.model.graph import Node
from datum.model.json import JsonValue
from datum.model.manifest import Hazard
from datum.model.observation import (
    Absent,
    Cause,
    NotApplicable,
    Observation,
    Present,
    Unobservable,
)
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import AnyProvider

_Answer = TypeVar("_Answer")


class BreachError(Exception):
    """A provider raised or broke its contract; `unobservable` is the answer for its resource."""

    def __init__(self, provider: AnyProvider, what: str) -> None:
        super().__init__(what)
        self.unobservable = Unobservable(
            Cause.BREACH,
            f"The provider '{provider.type_name}' broke its contract: {what}. This is a bug in it.",
            discounted=True,
        )


def guarded(provider: AnyProvider, what: str, call: Callable[[], _Answer]) -> _Answer:
    """Call into a provider.

    Raises:
        BreachError: whatever it raised.
    """
    try:
        return call()
    except Exception as error:
        raise BreachError(provider, f"{what} raised {error!r}") from error


def decide(node: Node, observed: Present | Absent, provider: AnyProvider) -> Step | None:
    """Return the step that this resource needs, None if it is in sync.

    Fields that could not be observed, or do not apply here, are left alone, except where the resource is created.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if node.resource.absent:
        return deletion(observed) if isinstance(observed, Present) else None
    step = guarded(provider, "plan", lambda: provider.plan(node.desired, observed))
    if step is None:
        return None
    _verify(provider, step, observed)
    if isinstance(observed, Present) and step.operation is Operation.UPDATE:
        changes = tuple(change for change in step.changes if not _is_unknown(observed, change.name))
        if not changes:
            return None
        step = evolve(step, changes=changes)
    return step


def deletion(observed: Present) -> Step:
    """Return the step that removes what is there; its changes show every field that is known."""
    changes = tuple(
        Change(name, before, None)
        for name, before in sorted(observed.fields.items())
        if not isinstance(before, (Unobservable, NotApplicable))
    )
    return Step(Operation.DELETE, changes)


def hazards_of(node: Node, step: Step, provider: AnyProvider) -> frozenset[Hazard]:
    """Return what the step may cost and the declaration does not allow."""
    found = guarded(provider, "hazards", lambda: provider.hazards(node.desired, step))
    return frozenset(found) - node.resource.allow


def effects_of(node: Node, step: Step, provider: AnyProvider) -> tuple[Effect, ...]:
    """Return what the step brings into being; nothing for a deletion."""
    if step.operation is Operation.DELETE:
        return ()
    return guarded(provider, "effects", lambda: tuple(provider.effects(node.desired, step)))


def equals(node: Node, observation: Observation, provider: AnyProvider) -> bool:
    """Whether what is there equals a declaration in every enforced field.

    A field that cannot be observed makes it not equal: what cannot be compared is kept.
    """
    if not isinstance(observation, Present) or node.resource.absent:
        return False
    if any(isinstance(value, Unobservable) for value in observation.fields.values()):
        return False
    return decide(node, observation, provider) is None


def plain_fields(observed: Present) -> dict[str, JsonValue]:
    """Return the fields that are known."""
    return {
        name: value for name, value in observed.fields.items() if not isinstance(value, (Unobservable, NotApplicable))
    }


def _is_unknown(observed: Present, name: str) -> bool:
    return isinstance(observed.fields.get(name), (Unobservable, NotApplicable))


def _verify(provider: AnyProvider, step: Step, observed: Present | Absent) -> None:
    if not isinstance(step, Step):
        raise BreachError(provider, f"plan answered {type(step).__name__}")
    if not step.changes:
        raise BreachError(provider, "plan answered a step that changes nothing")
    if (step.operation is Operation.CREATE) is not isinstance(observed, Absent):
        there = "nothing is there" if isinstance(observed, Absent) else "something is there"
        raise BreachError(provider, f"plan answered {step.operation} although {there}")
    if step.operation is Operation.DELETE:
        raise BreachError(provider, "plan answered delete, which only the engine plans")
