"""What one running unit owes: asked of its provider, marked, and refreshed (design 4.1). Pure."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.observation import Absent, FieldValue, NotApplicable, Present, Unobservable
from datum.model.plan import OWES, Change, Operation, Step
from datum.planner.decide import BreachError, all_are, guarded
from datum.provider.contract import RefreshedProvider

AnyRefreshed: TypeAlias = RefreshedProvider[Any]

_STRENGTH: Final[Mapping[JsonValue, int]] = {None: 0, Operation.REFRESH_RELOAD: 1, Operation.REFRESH_RESTART: 2}


def owed_in(observed: Present | Absent, provider: AnyRefreshed) -> str | NotApplicable | Unobservable | None:
    """Return what is owed as things are: None, `reload`, `restart`; or why nothing can be, or is known of it.

    Raises:
        BreachError: the field holds anything else.
    """
    value = observed.fields.get(OWES)
    if isinstance(value, (NotApplicable, Unobservable)):
        return value
    if value is not None and (not isinstance(value, str) or value not in _STRENGTH):
        raise BreachError(provider, f"it observed {value!r} as what is owed")
    return value


def strongest(*owed: str | None) -> str | None:
    """Return the one that settles all: a restart is a reload too."""
    return max(owed, key=lambda one: _STRENGTH[one], default=None)


def triggers_of(node: Node, provider: AnyRefreshed) -> Mapping[ResourceId, Operation]:
    """Return what an older declaration lists.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    found = guarded(provider, "triggers", lambda: dict(provider.triggers(node.desired)))
    all_are(provider, "triggers", found, ResourceId)
    all_are(provider, "triggers", found.values(), Operation)
    for operation in found.values():
        if not operation.refreshes:
            raise BreachError(provider, f"triggers answered {operation}, which is neither a restart nor a reload")
    return found


def refresh_step(node: Node, observed: Present | Absent, provider: AnyRefreshed) -> Step | None:
    """Return the reload or restart that settles what is owed; None where nothing is owed, or nothing runs.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    step = guarded(provider, "refresh", lambda: provider.refresh(node.desired, observed))
    if step is None:
        return None
    all_are(provider, "refresh", (step,), Step)
    all_are(provider, "refresh", (step.operation,), Operation)
    all_are(provider, "refresh", step.changes, Change)
    if not step.operation.refreshes:
        raise BreachError(provider, f"refresh answered {step.operation}, which is neither a restart nor a reload")
    if [change.name for change in step.changes] != [OWES] or step.needs or step.takes:
        raise BreachError(provider, "refresh answered a step that changes more than what is owed")
    return step


def runs(node: Node, fields: Mapping[str, FieldValue], provider: AnyRefreshed) -> bool:
    """Whether it would run in such a state, and is meant to: it could owe a restart then.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    owing = Present({**fields, OWES: str(Operation.REFRESH_RESTART)})
    return refresh_step(node, owing, provider) is not None


def starts(node: Node, step: Step, observed: Present | Absent, provider: AnyRefreshed) -> bool:
    """Whether a step starts what does not run.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if isinstance(observed, Present) and runs(node, observed.fields, provider):
        return False
    return runs(node, fields_after(observed, step), provider)


def fields_after(observed: Present | Absent, step: Step | None) -> Mapping[str, FieldValue]:
    """Return the fields of a resource once a step was done; what is known of an absent one holds on."""
    changes = step.changes if step is not None else ()
    return {**observed.fields, **{change.name: change.after for change in changes}}


def mark_step(before: str | None, owed: str | None) -> Step:
    """Return the step that marks: what is owed afterwards is the stronger of both."""
    return Step(Operation.MARK, (Change(OWES, before, strongest(before, owed)),))


def restart_step(owed: str) -> Step:
    """Return the refresh of something that may run or not once its turn comes: it may become a reload then."""
    return Step(Operation.REFRESH_RESTART, (Change(OWES, owed, None),))


def marked_by(step: Step) -> str | None:
    """Return what is owed once a mark is set."""
    return cast("str | None", step.changes[0].after)
