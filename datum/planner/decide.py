"""One resource: what is wanted against what is there. Pure.

Every provider is called through the guards of this module, so that whatever it raises is a breach of that provider
and never an error of the pass.
"""

from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, Final, TypeVar

from attrs import evolve

from datum.model.graph import NOTHING, SAFE_FOLDER, Node, Target
from datum.model.json import is_json
from datum.model.manifest import Hazard
from datum.model.observation import (
    Absent,
    Cause,
    NotApplicable,
    Observation,
    Present,
    Unobservable,
)
from datum.model.plan import RESIDUE, Change, Effect, Need, Operation, Step
from datum.provider.contract import AnyProvider, PredictingProvider, Removal, TransactionalProvider
from datum.provider.parted import PartedProvider

_Answer = TypeVar("_Answer")

UNMOUNTED: Final = "unmounted"
"""The kind of a target that says that nothing is mounted on a path."""


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
    What is mounted in the way of a replacement or a deletion, or keeps it from being done otherwise, is a need that
    nothing fulfils; a directory on the way through which somebody else could turn the write is one that a step fulfils
    which corrects it.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    step = _wanted(node, observed, provider)
    if step is None or node.resource.audit or not observed.unsafe:
        return step
    safe = (Need(Target(SAFE_FOLDER, folder.path), folder.detail) for folder in observed.unsafe)
    return evolve(step, needs=(*step.needs, *safe))


def _wanted(node: Node, observed: Present | Absent, provider: AnyProvider) -> Step | None:
    if node.resource.absent:
        return deletion(observed) if isinstance(observed, Present) else sweep(observed)
    step = guarded(provider, "plan", lambda: provider.plan(node.desired, observed))
    if step is None:
        return None
    _verify(provider, step, observed)
    if isinstance(observed, Present) and step.operation is Operation.UPDATE:
        changes = tuple(change for change in step.changes if not _is_unknown(observed, change.name))
        if not changes:
            return None
        step = evolve(step, changes=changes)
    if isinstance(observed, Present) and step.operation is Operation.REPLACE:
        step = evolve(step, needs=(*step.needs, *_in_the_way(observed)))
    return step


def predicted(node: Node, observed: Observation, provider: AnyProvider) -> Present | Absent | None:
    """Return what may be there once what this resource requires has changed; None: that makes no difference.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if node.resource.absent or not isinstance(provider, PredictingProvider):
        return None
    answer = guarded(provider, "predict", lambda: provider.predict(node.desired, observed))
    if not isinstance(answer, (Present, Absent, NoneType)):
        raise BreachError(provider, f"predict answered {answer!r}")
    return answer


def deletion(observed: Present) -> Step:
    """Return the step that removes what is there with what lies below it; its changes show what is known of it."""
    changes = tuple(
        Change(name, before, None)
        for name, before in sorted(observed.fields.items())
        if not isinstance(before, (Unobservable, NotApplicable))
    )
    return Step(Operation.DELETE, changes, _in_the_way(observed), observed.holds)


def sweep(observed: Absent) -> Step | None:
    """Return the step that clears a leftover beside a path where nothing shall be; None where there is none.

    It may be what stood there: a removal that was killed before it was judged goes on with it.
    """
    if observed.fields.get(RESIDUE) is not True:
        return None
    return Step(Operation.DELETE, (Change(RESIDUE, before=True, after=None),))


def _in_the_way(observed: Present) -> tuple[Need, ...]:
    mounted = (Need(Target(UNMOUNTED, path), f"Something is mounted on {path}.") for path in observed.mounts)
    return (*mounted, *(Need(Target(NOTHING, ""), obstacle) for obstacle in observed.obstacles))


def hazards_of(node: Node, step: Step, provider: AnyProvider) -> frozenset[Hazard]:
    """Return what the step may cost, allowed or not.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    found = guarded(provider, "hazards", lambda: frozenset(provider.hazards(node.desired, step)))
    all_are(provider, "hazards", found, Hazard)
    return found


def is_protected(node: Node, older: Iterable[Node]) -> bool:
    """Whether the target or a revision of the trail declares it with `protect: true`."""
    return node.resource.protect or any(old.resource.protect for old in older)


def unallowed(node: Node, hazards: frozenset[Hazard], older: Iterable[Node]) -> frozenset[Hazard]:
    """Return the hazards that hold an action: `allow` counts on the exact id, and not where it is protected (4.4)."""
    return hazards if is_protected(node, older) else hazards - node.resource.allow


def effects_of(node: Node, step: Step, provider: AnyProvider) -> tuple[Effect, ...]:
    """Return what the step brings into being; nothing for a deletion.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if step.operation is Operation.DELETE:
        return ()
    found = guarded(provider, "effects", lambda: tuple(provider.effects(node.desired, step)))
    all_are(provider, "effects", found, Effect)
    return found


def removal_of(node: Node, provider: AnyProvider) -> Removal:
    """Return what the type says of dropping this declaration.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    found = guarded(provider, "removal", lambda: provider.removal(node.desired))
    all_are(provider, "removal", (found,), Removal)
    return found


def transaction_of(node: Node, step: Step, provider: TransactionalProvider[Any]) -> str:
    """Return the transaction that the step joins, with its type; empty for none.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    key = guarded(provider, "transaction", lambda: provider.transaction(node.desired, step))
    all_are(provider, "transaction", (key,), str)
    return f"{provider.type_name}/{key}" if key else ""


def equals(node: Node, observation: Observation, provider: AnyProvider) -> bool:
    """Whether what is there equals a declaration in every enforced field, whatever a killed write left beside it.

    A field that cannot be observed makes it not equal: what cannot be compared is kept.
    """
    differences = _differences(node, observation, provider)
    return differences is not None and all(change.sweeps for change in differences)


def is_rest_of(node: Node, observation: Observation, provider: AnyProvider) -> bool:
    """Whether what is there equals a declaration but for parts that are missing, as a removal half done leaves it."""
    differences = _differences(node, observation, provider)
    return differences is not None and all(change.sweeps or _is_missing(change, provider) for change in differences)


def _differences(node: Node, observation: Observation, provider: AnyProvider) -> tuple[Change, ...] | None:
    """Return what differs from a declaration; None where nothing is there or it cannot be compared."""
    if not isinstance(observation, Present) or not is_comparable(observation) or node.resource.absent:
        return None
    step = decide(node, observation, provider)
    return step.changes if step is not None else ()


def _is_missing(change: Change, provider: AnyProvider) -> bool:
    if isinstance(provider, PartedProvider):
        return guarded(provider, "is_missing", lambda: provider.is_missing(change))
    return change.name.startswith("./") and change.before in (None, RESIDUE)


def is_comparable(observation: Observation) -> bool:
    """Whether nothing of what is there had to be left out of a comparison."""
    if not isinstance(observation, Present):
        return isinstance(observation, Absent)
    return not any(isinstance(value, Unobservable) for value in observation.fields.values())


def _is_unknown(observed: Present, name: str) -> bool:
    return isinstance(observed.fields.get(name), (Unobservable, NotApplicable))


def all_are(provider: AnyProvider, what: str, answers: Iterable[object], kind: type) -> None:
    """Check that all answers of a provider are of one class.

    Raises:
        BreachError: one is not.
    """
    for answer in answers:
        if not isinstance(answer, kind):
            raise BreachError(provider, f"{what} answered {answer!r}, no {kind.__name__}")


def _verify(provider: AnyProvider, step: Step, observed: Present | Absent) -> None:
    if not isinstance(step, Step):
        raise BreachError(provider, f"plan answered {type(step).__name__}")
    _verify_parts(provider, step)
    if (step.operation is Operation.CREATE) is not isinstance(observed, Absent):
        there = "nothing is there" if isinstance(observed, Absent) else "something is there"
        raise BreachError(provider, f"plan answered {step.operation} although {there}")
    if step.operation is Operation.DELETE:
        raise BreachError(provider, "plan answered delete, which only the engine plans")


def _verify_parts(provider: AnyProvider, step: Step) -> None:
    all_are(provider, "plan", (step.operation,), Operation)
    all_are(provider, "plan", step.changes, Change)
    all_are(provider, "plan", step.needs, Need)
    if all(change.before == change.after for change in step.changes):
        raise BreachError(provider, "plan answered a step that changes nothing")
    if len({change.name for change in step.changes}) < len(step.changes):
        raise BreachError(provider, "plan answered two changes of one field")
    all_are(provider, "plan", step.takes, str)
    if step.takes != tuple(sorted(set(step.takes))):
        raise BreachError(provider, "plan answered what it takes along unsorted, or twice")
    for change in step.changes:
        if not (is_json(change.before) and is_json(change.after)):
            raise BreachError(provider, f"plan answered a change of {change.name} that JSON cannot carry")
