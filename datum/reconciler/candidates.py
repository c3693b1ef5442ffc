"""Resources that only make sense together: all staged, shown to their checks, and put in place or not at all (4.2).

Nothing is on the host before every check passed, so whatever keeps one member from being staged, a signal included,
lets the others be discarded. Effects: through the staging writer and the observers of `Means`.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from datum.model.batches import Batch
from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.plan import Action
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.reconciler.judging import discard
from datum.reconciler.marks import skipped_by
from datum.reconciler.means import Staging
from datum.reconciler.verifying import Done, Verifying
from datum.reconciler.work import Failure, Ready

_NOT_STAGED: Final = "cannot-be-staged"
_NOT_SHOWN: Final = "cannot-be-shown"

_Became: TypeAlias = "ActionResult | Done"


class CannotBeStagedError(Exception):
    """One action that no check asks for turns out to be one that cannot be staged; nothing was done."""


@frozen
class _Candidate:
    """A member whose candidate is prepared, and what the writer remarked while it was."""

    ready: Ready
    remarks: tuple[str, ...]


def put_in_place(verifying: Verifying, batch: Batch, checks: Sequence[Check]) -> None:
    """Do the actions of one transaction; each gets its result from its own verification.

    Args:
        verifying: takes what becomes of them.
        batch: the actions, and marks that are set once the checks passed and before anything is put in place.
        checks: what judges them; none for one action whose own program does.

    Raises:
        CannotBeStagedError: there are no checks, and it cannot be staged.
    """
    writer = verifying.work.means.staging()
    try:
        became = _Together(verifying, batch, writer, checks).run()
    except BaseException:
        discard(writer)
        raise
    for number, one in enumerate(became, batch.start):
        verifying.take(number, one)


def _nothing(_action: Action) -> None:
    """Say that nothing is known to have gone wrong."""


class _Together:
    def __init__(self, verifying: Verifying, batch: Batch, writer: Staging, checks: Sequence[Check]) -> None:
        self._work = verifying.work
        self._marks = verifying.marks
        self._stops = verifying.stops
        self._batch = batch
        self._writer = writer
        self._checks = checks
        # What became of members that take no part, and the candidates of the others, in the order of the plan.
        self._members: list[ActionResult | _Candidate] = []
        # The services that could not be marked, once that was tried.
        self._unmarked: frozenset[ResourceId] | None = None
        # What became of a member during which something would have to be stopped that runs.
        self._kept: ActionResult | None = None

    def run(self) -> Sequence[_Became]:
        """Return what became of each, in the order of the group; the marks have their results."""
        work = self._work
        for action in self._batch.group:
            if work.means.is_stopping():
                return self._interrupted()
            member = self._stage(action)
            if isinstance(member, ActionResult) and member.outcome.spreads:
                return self._blocked(member)
            self._members.append(member)
        candidates = [member for member in self._members if isinstance(member, _Candidate)]
        if candidates and work.means.is_stopping():
            return self._interrupted()
        if candidates:
            return self._judged(candidates)
        self._marks.spare(self._batch, None)
        return self._ended(_nothing, 0, is_made=False)

    def _stage(self, action: Action) -> ActionResult | _Candidate:
        work, writer = self._work, self._writer
        work.means.progress(self._batch.start + len(self._members) + 1, action)
        ready = work.prepare(action, self._staged)
        if isinstance(ready, ActionResult):
            return ready
        provider = work.means.providers[action.resource.type]
        before = len(writer.remarks)
        failure = work.guard(
            action, lambda: provider.apply(writer, ready.node.desired, ready.step), provider.apply_deadline
        )
        if failure is not None and failure.found.code == _NOT_STAGED and not self._checks:
            raise CannotBeStagedError
        remarks = tuple(writer.remarks[before:])
        return _Candidate(ready, remarks) if failure is None else work.verify(ready, failure, remarks)

    @property
    def _staged(self) -> frozenset[ResourceId]:
        return frozenset(member.ready.action.resource for member in self._members if isinstance(member, _Candidate))

    def _interrupted(self) -> Sequence[_Became]:
        discard(self._writer)
        for number, action in enumerate(self._batch.marks, self._batch.first):
            self._work.finish(number, self._work.leave(action))
        return self._with_others(self._work.leave)

    def _blocked(self, blocker: ActionResult) -> Sequence[_Became]:
        """All or nothing: one member cannot be had, so the host keeps the set that it has."""
        blocked_by = blocker.blocked_by or blocker.action.resource
        self._marks.spare(self._batch, blocked_by)
        return self._skipped(blocked_by, blocker)

    def _skipped(self, blocked_by: ResourceId, blocker: ActionResult | None = None) -> Sequence[_Became]:
        discard(self._writer)

        def skip(action: Action) -> ActionResult:
            if blocker is not None and action.resource == blocker.action.resource:
                return blocker
            if action.hold is not None:
                # Held for a reason of its own.
                return self._work.held(action, action.hold)
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocked_by)

        return self._with_others(skip)

    def _with_others(self, result_of: Callable[[Action], ActionResult]) -> Sequence[_Became]:
        """Return what is settled already, and for every other member of the group what `result_of` says."""
        settled = {member.action.resource: member for member in self._members if isinstance(member, ActionResult)}
        return [settled.get(action.resource) or result_of(action) for action in self._batch.group]

    def _judged(self, candidates: Sequence[_Candidate]) -> Sequence[_Became]:
        work, writer = self._work, self._writer
        providers = work.means.providers
        first = candidates[0].ready.action
        before = len(writer.remarks)
        seconds = sum(providers[one.ready.action.resource.type].apply_deadline for one in candidates)
        refusal = self._judge(candidates, seconds + sum(check.timeout for check in self._checks))
        if refusal is None and self._unmarked is None and self._kept is None:
            self._stop(candidates)
        if self._kept is not None:
            return self._blocked(self._kept)
        if refusal is not None:
            # Where it was written to be judged, it is on the host until it is put back.
            is_made = not discard(writer) and self._unmarked is not None
            if self._unmarked is None:
                self._marks.spare(self._batch, first.resource)
            became = self._ended(lambda action: self._refused(refusal, first, action), before, is_made=is_made)
            return self._having_passed(became, self._before(refusal.refused_by))
        stuck = self._mark(candidates)
        if stuck is not None:
            return self._skipped(stuck)
        failure = work.attempt(first, writer.commit, seconds)
        if failure is not None:
            discard(writer)
        became = self._ended(failure.of if failure else _nothing, before, is_made=True)
        return self._having_passed(became, tuple(check.resource for check in self._checks))

    def _judge(self, candidates: Sequence[_Candidate], patience: float) -> Failure | None:
        """Show the candidates to the checks; return what refuses them.

        What cannot be shown is written before it is judged, so stops and marks come before that.
        """
        work, writer, first = self._work, self._writer, candidates[0].ready.action
        if not self._batch.marks and not any(one.ready.action.while_stopped for one in candidates):
            return work.attempt(first, lambda: writer.judge(self._checks), patience)
        refusal = work.attempt(first, lambda: writer.judge(self._checks, writes=False), patience)
        if refusal is None or refusal.found.code != _NOT_SHOWN:
            return refusal
        self._stop(candidates)
        if self._kept is not None:
            return None
        self._unmarked = self._marks.set(self._batch)
        if self._unmarked:
            return None
        return work.attempt(first, lambda: writer.judge(self._checks), patience)

    def _stop(self, candidates: Sequence[_Candidate]) -> None:
        """Stop what must not run while the candidates are put in place."""
        self._kept = self._stops.before(candidate.ready.action for candidate in candidates)

    def _mark(self, candidates: Sequence[_Candidate]) -> ResourceId | None:
        """Set the marks, unless they are set; return a service that could not be marked and is of a candidate."""
        if self._unmarked is None:
            self._unmarked = self._marks.set(self._batch)
        stuck = [skipped_by(self._unmarked, candidate.ready.action) for candidate in candidates]
        return min((service for service in stuck if service is not None), default=None)

    def _before(self, refused_by: ResourceId | None) -> tuple[ResourceId, ...]:
        """Return the checks that had passed when one refused; they run in their order."""
        order = [check.resource for check in self._checks]
        return tuple(order[: order.index(refused_by)]) if refused_by in order else ()

    def _having_passed(self, became: Sequence[_Became], passed: tuple[ResourceId, ...]) -> Sequence[_Became]:
        return [evolve(one, passed=passed) if isinstance(one, Done) else one for one in became]

    def _refused(self, refusal: Failure, first: Action, action: Action) -> Failure:
        """Return the refusal as that of one candidate: what the check printed stands with the first one only."""
        check = next((one for one in self._checks if one.resource == refusal.refused_by), None)
        place = check.location if check else action.location
        found = evolve(refusal.found, resource=str(check.resource if check else action.resource), location=place)
        if action is not first and (check or refusal.cause is FailureCause.CHECK):
            whose = check.resource if check else "A check"
            detail = f"{whose} judges it together with {first.resource}, where the reason stands."
            found = evolve(found, detail=detail, hint="")
        return evolve(refusal, found=found)

    def _ended(
        self, failure_of: Callable[[Action], Failure | None], before: int, *, is_made: bool
    ) -> Sequence[_Became]:
        """Return what became of each member, to be verified.

        Args:
            failure_of: what is known to have gone wrong with an action.
            before: how many remarks the writer had before the set was judged; later ones concern all of it.
            is_made: whether anything of it may be on the host.
        """
        common = tuple(self._writer.remarks[before:])
        return [
            member
            if isinstance(member, ActionResult)
            else Done(
                member.ready,
                failure_of(member.ready.action),
                (*member.remarks, *common),
                is_made=is_made,
                is_shared=is_made,
            )
            for member in self._members
        ]
