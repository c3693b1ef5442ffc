"""Resources that only make sense together: all staged, shown to their checks, and put in place or not at all (4.2).

Nothing is on the host before every check passed, so whatever keeps one member from being staged, a signal included,
lets the others be discarded. Effects: through the staging writer and the observers of `Means`.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from attrs import evolve, frozen

from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.plan import Action
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.provider.host import HostError
from datum.reconciler.means import Staging
from datum.reconciler.work import Failure, Ready, Work, by_verification


@frozen
class _Candidate:
    """A member whose candidate is prepared, and what the writer remarked while it was."""

    ready: Ready
    remarks: tuple[str, ...]


def put_in_place(work: Work, group: Sequence[Action], checks: Sequence[Check]) -> None:
    """Do the actions of one transaction that checks judge; each gets its result from its own verification."""
    writer = work.means.staging()
    try:
        results = _Together(work, writer, checks).run(group)
    except BaseException:
        _discard(writer)
        raise
    for result in results:
        work.finish(result)


def _discard(writer: Staging) -> None:
    """Remove what was prepared; what cannot be removed is a leftover that the next pass sees."""
    with suppress(HostError):
        writer.discard()


def _nothing(_action: Action) -> None:
    """Say that nothing is known to have gone wrong."""


class _Together:
    def __init__(self, work: Work, writer: Staging, checks: Sequence[Check]) -> None:
        self._work = work
        self._writer = writer
        self._checks = checks
        # What became of members that take no part, and the candidates of the others, in the order of the plan.
        self._members: list[ActionResult | _Candidate] = []

    def run(self, group: Sequence[Action]) -> list[ActionResult]:
        """Return the results in the order of the group."""
        for action in group:
            if self._work.means.is_stopping():
                return self._interrupted(group)
            member = self._stage(action)
            if isinstance(member, ActionResult) and member.outcome.spreads:
                return self._blocked(group, member)
            self._members.append(member)
        candidates = [member for member in self._members if isinstance(member, _Candidate)]
        if candidates and self._work.means.is_stopping():
            return self._interrupted(group)
        return self._judged(candidates) if candidates else self._verified(_nothing, 0)

    def _stage(self, action: Action) -> ActionResult | _Candidate:
        work, writer = self._work, self._writer
        work.means.progress(len(work.results) + len(self._members) + 1, action)
        ready = work.prepare(action, self._staged)
        if isinstance(ready, ActionResult):
            return ready
        provider = work.means.providers[action.resource.type]
        before = len(writer.remarks)
        failure = work.guard(
            action, lambda: provider.apply(writer, ready.node.desired, ready.step), provider.apply_deadline
        )
        remarks = tuple(writer.remarks[before:])
        return _Candidate(ready, remarks) if failure is None else work.verify(ready, failure, remarks)

    @property
    def _staged(self) -> frozenset[ResourceId]:
        return frozenset(member.ready.action.resource for member in self._members if isinstance(member, _Candidate))

    def _interrupted(self, group: Sequence[Action]) -> list[ActionResult]:
        _discard(self._writer)
        return self._with_others(group, self._work.leave)

    def _blocked(self, group: Sequence[Action], blocker: ActionResult) -> list[ActionResult]:
        """All or nothing: one member cannot be had, so the host keeps the set that it has."""
        _discard(self._writer)

        def skip(action: Action) -> ActionResult:
            if action.resource == blocker.action.resource:
                return blocker
            if action.hold is not None:
                # Held for a reason of its own.
                return self._work.held(action, action.hold)
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocker.blocked_by or blocker.action.resource)

        return self._with_others(group, skip)

    def _with_others(self, group: Sequence[Action], result_of: Callable[[Action], ActionResult]) -> list[ActionResult]:
        """Return what is settled already, and for every other member of the group what `result_of` says."""
        settled = {member.action.resource: member for member in self._members if isinstance(member, ActionResult)}
        return [settled.get(action.resource) or result_of(action) for action in group]

    def _judged(self, candidates: Sequence[_Candidate]) -> list[ActionResult]:
        work, writer = self._work, self._writer
        providers = work.means.providers
        first = candidates[0].ready.action
        before = len(writer.remarks)
        seconds = sum(providers[one.ready.action.resource.type].apply_deadline for one in candidates)
        patience = seconds + sum(check.timeout for check in self._checks)
        refusal = work.attempt(first, lambda: writer.judge(self._checks), patience)
        if refusal is not None:
            _discard(writer)
            results = self._verified(lambda action: self._refused(refusal, first, action), before)
            return self._having_passed(results, self._before(refusal.refused_by))
        failure = work.attempt(first, writer.commit, seconds)
        if failure is not None:
            _discard(writer)
        results = self._verified(failure.of if failure else _nothing, before)
        passed = tuple(check.resource for check in self._checks)
        if failure is not None:
            results = [by_verification(one) if one.outcome is Outcome.FAILED else one for one in results]
        return self._having_passed(results, passed)

    def _before(self, refused_by: ResourceId | None) -> tuple[ResourceId, ...]:
        """Return the checks that had passed when one refused; they run in their order."""
        order = [check.resource for check in self._checks]
        return tuple(order[: order.index(refused_by)]) if refused_by in order else ()

    def _having_passed(self, results: Sequence[ActionResult], passed: tuple[ResourceId, ...]) -> list[ActionResult]:
        judged = self._staged
        return [evolve(result, passed=passed) if result.action.resource in judged else result for result in results]

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

    def _verified(self, failure_of: Callable[[Action], Failure | None], before: int) -> list[ActionResult]:
        """Return what became of each member, as observing again shows it.

        Args:
            failure_of: what is known to have gone wrong with an action.
            before: how many remarks the writer had before the set was judged; later ones concern all of it.
        """
        common = tuple(self._writer.remarks[before:])
        return [
            member
            if isinstance(member, ActionResult)
            else self._work.verify(member.ready, failure_of(member.ready.action), (*member.remarks, *common))
            for member in self._members
        ]
