"""When an action that was done is verified: at once, or once whom it concerns was told of it (design 1.4).

Actions of a type that is settled stay open: nothing is known of them before `settle`, and one settling does for all.
Effects: through the writers and observers of `Means`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import evolve, frozen

from datum.model.identity import ResourceId
from datum.model.plan import Action
from datum.model.result import ActionResult
from datum.provider.contract import SettledProvider, StagedProvider
from datum.reconciler.marks import Marks
from datum.reconciler.stops import Stops
from datum.reconciler.work import Failure, Ready, Work, by_verification


@frozen
class Done:
    """An action that was done, or tried."""

    ready: Ready
    failure: Failure | None
    remarks: tuple[str, ...] = ()
    # The host may be another than before.
    is_made: bool = True
    # Done together with others: its own verification says what became of it, whatever became of the whole.
    is_shared: bool = False
    # The checks that it passed, in their order.
    passed: tuple[ResourceId, ...] = ()

    @property
    def action(self) -> Action:
        """What was planned."""
        return self.ready.action


@frozen
class _Open:
    """An action that waits for its type to be settled."""

    number: int
    done: Done


class Verifying:
    """Takes what became of actions, and verifies what was done."""

    def __init__(self, work: Work, marks: Marks, stops: Stops, actions: Iterable[Action]) -> None:
        """Begin with all actions of the plan."""
        self.work = work
        self.marks = marks
        self.stops = stops
        providers = work.means.providers
        # Asked once for each type: comparing an object with a protocol costs as much as planning a resource.
        kinds = {action.resource.type for action in actions}
        self._settled = frozenset(kind for kind in kinds if isinstance(providers[kind], SettledProvider))
        self._staged = frozenset(kind for kind in kinds if isinstance(providers[kind], StagedProvider))
        # By type, in the order in which they were done.
        self._open: dict[str, list[_Open]] = {}

    def take(self, number: int, became: ActionResult | Done) -> None:
        """Take what became of one action."""
        if isinstance(became, ActionResult):
            self.work.finish(number, became)
            return
        kind = became.action.resource.type
        fails = became.failure is not None and not became.is_shared
        if became.is_made and not fails and kind in self._settled:
            self.marks.note(became.action)
            self._open.setdefault(kind, []).append(_Open(number, became))
        else:
            self.work.finish(number, self._verified(became))

    def settle_before(self, group: Sequence[Action]) -> None:
        """Settle every type that these actions may need settled."""
        for kind in list(self._open):
            if any(self._needs(action, kind) for action in group if action.hold is None):
                self._settle(kind)

    def _needs(self, action: Action, kind: str) -> bool:
        """Whether an action may need what a type has to tell: it does more than change paths, or requires one."""
        if action.operation.refreshes:
            return True
        if action.resource.type == kind:
            return False
        return action.resource.type not in self._staged or any(
            one.done.action.resource in action.requires for one in self._open[kind]
        )

    def settle_all(self) -> None:
        """Settle whatever is open: nothing more will be done."""
        for kind in list(self._open):
            self._settle(kind)

    def _settle(self, kind: str) -> None:
        waiting = self._open.pop(kind)
        first = waiting[0]
        work, provider = self.work, self.work.means.providers[kind]
        writer = work.means.writer()
        work.means.progress(first.number + 1, first.done.action)
        whole = work.guard(first.done.action, _settling(provider, writer), provider.apply_deadline)
        for one in waiting:
            done = evolve(one.done, remarks=(*one.done.remarks, *writer.remarks))
            if whole is not None and done.failure is None:
                done = evolve(done, failure=whole.of(done.action), is_shared=True)
            work.finish(one.number, self._verified(done))

    def _verified(self, done: Done) -> ActionResult:
        result = self.work.verify(done.ready, done.failure, done.remarks)
        if done.is_shared:
            result = by_verification(result)
        if done.is_made and not self._left_alone(done, result):
            self.marks.note(done.action)
            result = self.marks.renew(result, self.stops.again(done.action))
        return evolve(result, passed=done.passed) if done.passed else result

    def _left_alone(self, done: Done, result: ActionResult) -> bool:
        """Whether a change that failed is one that was not made: of a path, which still is as it was."""
        verification, step = result.verification, done.ready.step
        if done.failure is None or verification is None or done.action.resource.type not in self._staged or step.takes:
            return False
        return bool(step.changes) and verification.remaining == step.changes


def _settling(provider: Any, writer: Any) -> Callable[[], None]:
    return lambda: provider.settle(writer)
