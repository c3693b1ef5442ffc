"""Stops: what must not run while something changes is stopped when that is about to be done (ADR 0043).

A stop of the plan waits for the first change that is made and needs it, so that nothing is stopped for one that is not.
What somebody starts meanwhile is stopped again; what a pass stopped it also starts, a signal or not.
Effects: through the writers and observers of `Means`.
"""

from collections.abc import Iterable, Sequence

from attrs import evolve

from datum.model.batches import Batch
from datum.model.identity import ResourceId
from datum.model.plan import Action, Hold, HoldReason, Operation
from datum.model.result import ActionResult, Outcome, Verification
from datum.reconciler.work import Ready, Work


class Stops:
    """The stops of one pass."""

    def __init__(self, work: Work, batches: Sequence[Batch]) -> None:
        """Begin with the plan, in batches."""
        self._work = work
        self._planned = {
            action.resource: (number, action)
            for batch in batches
            for number, action in enumerate(batch.group, batch.start)
            if action.operation is Operation.STOP
        }
        self._started = frozenset(action.resource for batch in batches for action in batch.group if action.starts_again)
        # The numbers of the changes for which each is stopped.
        self._changes: dict[ResourceId, list[int]] = {}
        for batch in batches:
            for number, action in enumerate(batch.group, batch.start):
                for service in action.while_stopped:
                    self._changes.setdefault(service, []).append(number)
        # What this pass stopped, or tried to.
        self._tried: set[ResourceId] = set()
        # What this pass stopped and has not started, and what could not be stopped: it is not tried again.
        self._down: set[ResourceId] = set()
        self._running: set[ResourceId] = set()

    def must_start(self, batch: Batch) -> bool:
        """Whether a batch starts what this pass stopped, or what does not run since that went along with it."""
        if not self._tried:
            return False
        starts = [action.resource for action in batch.group if action.starts_again]
        return any(service in self._tried or self._is_off(service) for service in starts)

    def before(self, actions: Iterable[Action]) -> ActionResult | None:
        """Stop what must not run while some changes are made that are about to be.

        Returns:
            What becomes of the first that cannot be made, since something runs.
        """
        for action in actions:
            for service in self._in_order(action.while_stopped):
                if not self._is_down(service):
                    return self._kept(action, service)
        return None

    def _in_order(self, services: Iterable[ResourceId]) -> list[ResourceId]:
        """Return some as their stops stand in the plan, and before them what has none."""
        return sorted(services, key=lambda one: (self._planned[one][0] if one in self._planned else -1, one))

    def _is_down(self, service: ResourceId) -> bool:
        if service in self._running:
            return False
        if service in self._planned:
            return self._stop(service, *self._planned[service])
        # It did not run when this was planned.
        return self._is_off(service)

    def _is_off(self, service: ResourceId) -> bool:
        found = self._work.prepare(Action(service, "", Operation.STOP, ()))
        return isinstance(found, ActionResult) and found.outcome is Outcome.ALREADY

    def _stop(self, service: ResourceId, number: int, action: Action) -> bool:
        """Do a stop, or do it once more; return whether nothing runs."""
        work = self._work
        is_first = work.result(number) is None
        if is_first:
            work.means.progress(number + 1, action)
        ready = work.prepare(action)
        result = ready if isinstance(ready, ActionResult) else self._apply(service, ready)
        (self._running if result.outcome.spreads else self._down).add(service)
        if is_first:
            work.finish(number, result)
        elif isinstance(ready, Ready) or result.outcome.spreads:
            why = "".join(f" {found.detail}" for found in result.diagnostics)
            remark = f"could not be kept stopped.{why}" if result.outcome.spreads else "stopped again"
            work.note(number, f"{service} was started meanwhile, and {remark}")
        return not result.outcome.spreads

    def _apply(self, service: ResourceId, ready: Ready) -> ActionResult:
        work = self._work
        provider, writer = work.means.providers[service.type], work.means.writer()
        self._tried.add(service)
        failure = work.guard(
            ready.action, lambda: provider.apply(writer, ready.node.desired, ready.step), provider.apply_deadline
        )
        return work.verify(ready, failure, tuple(writer.remarks))

    def _kept(self, action: Action, service: ResourceId) -> ActionResult:
        if service in self._planned:
            return ActionResult(action, Outcome.SKIPPED, blocked_by=service)
        hold = Hold(
            HoldReason.CHANGED_UNDER_US,
            f"{action.resource} changes only while {service} is stopped. That runs, or cannot be looked at, and no "
            "stop of it is planned.",
            "the next pass plans it anew",
        )
        return self._work.held(action, hold)

    def before_one(self, ready: Ready) -> Ready | ActionResult:
        """Stop what must not run while one change is made; return what is to be done, or what becomes of it.

        What this pass stopped is started whatever else runs: then without what else changes of it.
        """
        action = ready.action
        if not action.starts_again:
            return self.before((action,)) or ready
        start = self._start_of(ready)
        if start.step == ready.step:
            return ready
        kept = self.before((action,))
        if kept is None:
            return ready
        return start if start.step.changes else kept

    def _start_of(self, ready: Ready) -> Ready:
        """Return what takes back the stop, and nothing else."""
        _, stop = self._planned[ready.action.resource]
        taken_back = {change.name for change in stop.changes}
        changes = tuple(change for change in ready.step.changes if change.name in taken_back)
        return evolve(ready, step=evolve(ready.step, changes=changes))

    def again(self, action: Action) -> Sequence[ResourceId]:
        """Stop again what somebody started while a change was made; return what runs all the same."""
        return [one for one in self._in_order(action.while_stopped) if one in self._down and not self._is_down(one)]

    def close(self, batch: Batch) -> None:
        """Settle the stops that were for the changes of a batch and had no turn; what a start was for is up from now.

        What shall not run is stopped then: nothing that becomes of a change keeps it running.
        """
        for number, action in enumerate(batch.group, batch.start):
            if action.starts_again:
                self._down.discard(action.resource)
            for service in self._in_order(action.while_stopped):
                if service in self._planned and self._changes[service][-1] == number:
                    self._settle(service)

    def _settle(self, service: ResourceId) -> None:
        work = self._work
        number, action = self._planned[service]
        if work.result(number) is not None:
            return
        if service in self._started or work.means.is_stopping():
            self._spare(number, action)
        else:
            self._stop(service, number, action)

    def _spare(self, number: int, action: Action) -> None:
        """Say of a stop that had no turn why: no change that needed it was made."""
        work = self._work
        if action.hold is not None:
            work.finish(number, work.held(action, action.hold))
            return
        found = (work.result(one) for one in self._changes[action.resource])
        undone = next((one for one in found if one is not None and one.outcome is not Outcome.ALREADY), None)
        if undone is None:
            work.finish(number, ActionResult(action, Outcome.ALREADY, Verification(converged=True)))
        else:
            blocked_by = undone.blocked_by or undone.action.resource
            work.finish(number, ActionResult(action, Outcome.SKIPPED, blocked_by=blocked_by))
