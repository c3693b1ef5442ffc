"""Evidence that what runs has not read what it lists: when it is acted on, and what becomes of it (ADR 0044). Pure.

Rules enforced here: nothing is done without a declaration that says so; neither for a service nor for an input that is
adopted; nor for a time to come, which no restart would settle.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Present, StaleInput
from datum.model.plan import Action, Operation, Stale
from datum.planner.decide import BreachError, all_are, guarded
from datum.planner.inputs import PlanInput
from datum.planner.stopped import stopping_of
from datum.provider.contract import StaleProvider
from datum.provider.stopped import RUNNING

# Behind a stop of something stale stands its start.
_ENDS: Final = frozenset({Operation.REFRESH_RESTART, Operation.STOP})


def beyond(
    owed: str | None, inputs: Iterable[StaleInput], listed: Mapping[ResourceId, Operation]
) -> tuple[StaleInput, ...]:
    """Return the evidence that is not settled with what is owed: a reload settles what asks for one.

    Args:
        owed: what is done, or will be owed, anyway.
        inputs: the evidence.
        listed: what each input asks for.
    """
    if owed in _ENDS:
        return ()
    return tuple(one for one in inputs if owed is None or listed.get(one.resource) != owed)


def hangs_on_converged(given: PlanInput) -> bool:
    """Whether what is planned hangs on what converged last: whether something is adopted that evidence may restart."""
    return any(_may_act(origin, given) for origin, _ in _stale(given))


def acted_on(origin: ResourceId, given: PlanInput) -> tuple[StaleInput, ...]:
    """Return the evidence for which a service is to be restarted; nothing where nobody said so, or it is adopted.

    Adopted is whatever no pass converged with: adopting a host, which may take several revisions, restarts nothing.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    node, observed = given.graph.nodes[origin], given.observed.observations[origin]
    if not isinstance(observed, Present) or not observed.stale or not _acts(node, given):
        return ()
    if not _has_converged(origin, given):
        return ()
    return tuple(one for one in observed.stale if not one.is_ahead and _has_converged(one.resource, given))


def stale_in(given: PlanInput, actions: Iterable[Action]) -> Mapping[ResourceId, Stale]:
    """Return everything that runs and is stale, and what becomes of it.

    Args:
        given: what the plan was made from.
        actions: of the plan.
    """
    ends: dict[ResourceId, Action] = {}
    down: dict[ResourceId, Action] = {}
    for action in actions:
        if action.operation in _ENDS or (action.operation.refreshes and action.resource not in ends):
            ends[action.resource] = action
        if _brings_down(action):
            down[action.resource] = action
    found = {}
    for origin, observed in _stale(given):
        if _shall_not_run(given.graph.nodes[origin], given):
            # What this pass stops has nothing to read any more.
            stop = down.get(origin)
            if stop is None or stop.hold is not None:
                found[origin] = Stale(observed.stale, _kept_up(origin, is_held=stop is not None))
            continue
        restart = ends.get(origin)
        if restart is not None and beyond(restart.operation, observed.stale, given.graph.triggers.get(origin, {})):
            restart = None
        detail = _detail(origin, observed, restart, given)
        found[origin] = Stale(observed.stale, detail, is_acted_on=restart is not None)
    return dict(sorted(found.items()))


def _stale(given: PlanInput) -> Iterator[tuple[ResourceId, Present]]:
    for origin, observed in given.observed.observations.items():
        if isinstance(observed, Present) and observed.stale and origin in given.graph.nodes:
            yield origin, observed


def _shall_not_run(node: Node, given: PlanInput) -> bool:
    """Whether it is declared absent, or as what shall not run; what a provider did wrong is told elsewhere."""
    try:
        says = stopping_of(node, given.providers[node.resource.id.type])
    except BreachError:
        says = None
    return node.resource.absent or (says is not None and not says.runs)


def _brings_down(action: Action) -> bool:
    """Whether an action of what shall not run stops it."""
    if action.operation in {Operation.STOP, Operation.DELETE}:
        return True
    return any(change.name == RUNNING for change in action.changes)


def _kept_up(origin: ResourceId, *, is_held: bool) -> str:
    if is_held:
        return "It shall not run: its stop, which is held, settles that."
    return (
        f"It shall not run, and nothing in this plan stops it: 'systemctl stop {shlex.quote(origin.name)}' settles it."
    )


def _acts(node: Node, given: PlanInput) -> bool:
    """Whether a declaration says that evidence is acted on.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    provider = given.providers[node.resource.id.type]
    if node.resource.absent or not isinstance(provider, StaleProvider):
        return False
    answer = guarded(provider, "acts_on_stale", lambda: provider.acts_on_stale(node.desired))
    all_are(provider, "acts_on_stale", (answer,), bool)
    return answer


def _may_act(origin: ResourceId, given: PlanInput) -> bool:
    """Whether evidence may be acted on; what a provider did wrong is told where it is planned."""
    try:
        return _acts(given.graph.nodes[origin], given)
    except BreachError:
        return False


def _has_converged(origin: ResourceId, given: PlanInput) -> bool:
    """Whether a pass converged with it: what only passes declared that did not is still being adopted."""
    node = (given.converged or {}).get(origin)
    return node is not None and not node.resource.absent


def _detail(origin: ResourceId, observed: Present, restart: Action | None, given: PlanInput) -> str:
    if restart is not None:
        word = "reload" if restart.operation is Operation.REFRESH_RELOAD else "restart"
        return f"Its {word} is held." if restart.hold else f"Its {word} settles that."
    if not _may_act(origin, given):
        by_hand = f"systemctl restart {shlex.quote(origin.name)}"
        return f"Nothing acts on that: '{by_hand}' settles it, and 'when_stale: restart' would do so."
    if acted_on(origin, given):
        return "'when_stale' acts on that once what it lists can be had."
    if all(one.is_ahead for one in observed.stale):
        return "No restart settles a time that is still to come, so 'when_stale' waits for it."
    return (
        "Until a pass converges with it, it counts as adopted, which restarts nothing: 'when_stale' acts on that from "
        "the pass after."
    )
