"""Marks: what a service owes is noted before the change that it will owe it to, and taken back without one (4.1).

A unit that carries a mark owes a restart or a reload, whoever is killed in between; so a mark that cannot be had keeps
its changes from being done, and one that is taken back is one that this pass made, for changes that it did not make.
Effects: through the writers and observers of `Means`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic
from datum.model.batches import Batch
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.observation import Observation, Present
from datum.model.plan import OWES, Action, Change, Operation, Step
from datum.model.result import ActionResult, FailureCause, Outcome, Verification
from datum.reconciler.work import Failure, Work

_WEIGHT: Final = {None: 0, str(Operation.REFRESH_RELOAD): 1, str(Operation.REFRESH_RESTART): 2}


@frozen
class _Given:
    """What this pass made a service owe, so far."""

    before: str | None
    now: str | None
    # The numbers of the actions that did it.
    numbers: tuple[int, ...]


class Marks:
    """The marks of one pass."""

    def __init__(self, work: Work, batches: Sequence[Batch]) -> None:
        """Begin with the plan, in batches."""
        self._work = work
        # The number of the last change that each service is marked for: what comes after needs no mark of it.
        self._last = {
            service: batch.start + index
            for batch in batches
            for index, action in enumerate(batch.group)
            for service in action.marks
        }
        self._given: dict[ResourceId, _Given] = {}
        # What services owe for changes that were made, or may have been.
        self._needed: dict[ResourceId, str | None] = {}
        # The newest mark of each service, by what it makes it owe.
        self._asked: dict[ResourceId, dict[str | None, Action]] = {}

    def set(self, batch: Batch) -> frozenset[ResourceId]:
        """Do the marks of a batch; return the services that could not be marked."""
        failed: set[ResourceId] = set()
        for number, action in enumerate(batch.marks, batch.first):
            result = self._mark(number, action)
            self._work.finish(number, result)
            if result.outcome.spreads:
                failed.add(action.resource)
        return frozenset(failed)

    def _mark(self, number: int, action: Action) -> ActionResult:
        work = self._work
        work.means.progress(number + 1, action)
        self._asked.setdefault(action.resource, {})[_due(action.changes)] = action
        ready = work.prepare(action)
        if isinstance(ready, ActionResult):
            return ready
        failure, remarks = self._apply(ready.action, ready.step)
        result = work.verify(ready, failure, remarks)
        if result.outcome is Outcome.APPLIED:
            known = self._given.get(action.resource, _Given(_before(ready.step), None, ()))
            given = evolve(known, now=_due(ready.step.changes), numbers=(*known.numbers, number))
            self._given[action.resource] = given
        return result

    def spare(self, batch: Batch, blocked_by: ResourceId | None) -> None:
        """Leave the marks of a batch whose changes are not made.

        Args:
            batch: whose marks were not set.
            blocked_by: what keeps its changes from being made; None where the host is as they would leave it.
        """
        for number, action in enumerate(batch.marks, batch.first):
            if action.hold is not None:
                result = self._work.held(action, action.hold)
            elif blocked_by is not None:
                result = ActionResult(action, Outcome.SKIPPED, blocked_by=blocked_by)
            else:
                result = ActionResult(action, Outcome.ALREADY, Verification(converged=True))
            self._work.finish(number, result)

    def note(self, action: Action) -> None:
        """Take note that a change was made, or may have been: its marks stay."""
        for service, due in action.marks.items():
            self._needed[service] = _stronger(self._needed.get(service), str(due))

    def renew(self, result: ActionResult, up: Iterable[ResourceId] = ()) -> ActionResult:
        """Mark again what was started between its mark and the change, and does not owe what it should.

        Args:
            result: of a change that was made and verified.
            up: what was stopped for it, was started meanwhile, and could not be stopped again.

        Returns:
            The result, with a remark on each service that was marked again; unverified where that cannot be had, or
            where what runs does not list what was changed: nothing says then what it made of that.
        """
        for service, due in result.action.marks.items():
            asked = self._asked.get(service, {})
            mark = asked.get(str(due)) or next(iter(asked.values()), None)
            if mark is not None:
                result = self._renew(result, mark, "is marked again")
        for service in up:
            result = self._mark_up(result, service)
        return result

    def _mark_up(self, result: ActionResult, service: ResourceId) -> ActionResult:
        due = result.action.marks_if_up.get(service)
        if due is None:
            return _unverified(result, _changed_under(service, result.action), FailureCause.OTHER)
        step = Step(Operation.MARK, (Change(OWES, None, str(due)),))
        mark = Action(service, "", step.operation, step.changes, step=step)
        return self._renew(result, mark, "is marked, since it could not be stopped again")

    def _renew(self, result: ActionResult, mark: Action, what: str) -> ActionResult:
        work, service = self._work, mark.resource
        ready = work.prepare(mark)
        if isinstance(ready, ActionResult):
            return _unmarked(result, ready) if ready.outcome.spreads else result
        failure, _ = self._apply(mark, ready.step)
        again = work.verify(ready, failure, ())
        if again.outcome.spreads:
            return _unmarked(result, again)
        remark = f"{service} was started meanwhile, and {what}"
        return evolve(result, remarks=(*result.remarks, remark))

    def close(self, batch: Batch) -> None:
        """Take back what no change needs, where the last change that a service is marked for is in this batch."""
        for number, action in enumerate(batch.group, batch.start):
            for service in action.marks:
                if self._last[service] == number and service in self._given:
                    self._take_back(service, self._given[service])

    def _take_back(self, service: ResourceId, given: _Given) -> None:
        work = self._work
        wanted = _stronger(given.before, self._needed.get(service))
        if _WEIGHT[wanted] >= _WEIGHT[given.now]:
            return
        action = next(iter(self._asked[service].values()))
        if _owed(work.means.observe(action)) != given.now:
            # Restarted meanwhile, or marked by somebody else: what it owes now is not what this pass made of it.
            return
        step = Step(Operation.MARK, (Change(OWES, given.now, wanted),))
        failure, _ = self._apply(action, step)
        if failure is None and _owed(work.means.observe(action)) == wanted:
            remark = "taken back: nothing was changed that it was for"
        else:
            remark = "not taken back, although nothing was changed that it was for"
            remark += f": {failure.found.detail}" if failure else ""
        for number in given.numbers:
            work.note(number, remark)

    def _apply(self, action: Action, step: Step) -> tuple[Failure | None, tuple[str, ...]]:
        means = self._work.means
        provider, writer, node = means.providers[action.resource.type], means.writer(), means.node_of(action)
        failure = self._work.guard(action, lambda: provider.apply(writer, node.desired, step), provider.apply_deadline)
        return failure, tuple(writer.remarks)


def skipped_by(unmarked: frozenset[ResourceId], action: Action) -> ResourceId | None:
    """Return the service that could not be marked and keeps a change from being done."""
    return min(unmarked.intersection(action.marks), default=None)


def _unmarked(result: ActionResult, mark: ActionResult) -> ActionResult:
    """Return the result of a change whose service may not know what it owes."""
    why = " ".join(found.detail for found in mark.diagnostics)
    service = mark.action.resource
    found = Diagnostic(
        code="mark-lost",
        summary="A service may owe a restart that nothing remembers.",
        detail=f"{service} lists {result.action.resource}, which was changed, and carries no mark. {why}".strip(),
        hint=f"restart the unit of {service} by hand",
        resource=str(result.action.resource),
        location=result.action.location,
    )
    return _unverified(result, found, mark.cause or FailureCause.OTHER)


def _changed_under(service: ResourceId, action: Action) -> Diagnostic:
    return Diagnostic(
        code="changed-while-running",
        summary="A service was started while something changed that changes only while it is stopped.",
        detail=f"{service} was started while {action.resource} was changed, and could not be stopped again.",
        hint=f"see why {service} could not be stopped, and restart its unit by hand",
        resource=str(action.resource),
        location=action.location,
    )


def _unverified(result: ActionResult, found: Diagnostic, cause: FailureCause) -> ActionResult:
    is_settled = result.outcome.is_settled
    return evolve(
        result,
        outcome=Outcome.UNVERIFIED if is_settled else result.outcome,
        cause=cause if is_settled else result.cause,
        diagnostics=(*result.diagnostics, found),
    )


def _owed(observation: Observation) -> JsonValue:
    value = observation.fields.get(OWES) if isinstance(observation, Present) else None
    return value if isinstance(value, str) else None


def _due(changes: Iterable[Change]) -> str | None:
    return next((str(change.after) for change in changes if change.name == OWES and change.after), None)


def _before(step: Step) -> str | None:
    return next((str(change.before) for change in step.changes if change.name == OWES and change.before), None)


def _stronger(one: str | None, other: str | None) -> str | None:
    return max(one, other, key=lambda owed: _WEIGHT[owed])
