"""Does what a plan says, one action at a time, and verifies each by observing again (design 1.4).

Rules enforced here: nothing is decided (where the host moved on the planner is asked, for that one resource); every
action is conditional on its *before*; a provider's own word counts for nothing; a failure reaches what requires it and
nothing else; a signal ends the work between two actions. Effects: through the writers and observers it is given.
"""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from datum.model.plan import Action, Plan
from datum.model.result import ActionResult
from datum.provider.contract import TransactionalProvider
from datum.reconciler.candidates import put_in_place
from datum.reconciler.means import Means, RecordingWriter
from datum.reconciler.work import Failure, Ready, Work, by_verification


def reconcile(plan: Plan, means: Means) -> tuple[ActionResult, ...]:
    """Do the plan; return one result for each of its actions, in their order."""
    work = Work(plan, means)
    for group in _transactions(plan.actions):
        if means.is_stopping():
            for action in group:
                work.finish(work.leave(action))
        elif group[0].transaction in plan.checks:
            put_in_place(work, group, plan.checks[group[0].transaction])
        elif group[0].transaction:
            _commit(work, group)
        else:
            _apply(work, group[0])
    return tuple(work.results)


def _transactions(actions: Sequence[Action]) -> list[list[Action]]:
    """Group adjacent actions of one transaction; every other action is a group of its own."""
    groups: list[list[Action]] = []
    for action in actions:
        if groups and action.transaction and groups[-1][0].transaction == action.transaction:
            groups[-1].append(action)
        else:
            groups.append([action])
    return groups


def _apply(work: Work, action: Action) -> None:
    """Do one action."""
    work.means.progress(len(work.results) + 1, action)
    ready = work.prepare(action)
    if isinstance(ready, ActionResult):
        work.finish(ready)
        return
    provider = work.means.providers[action.resource.type]
    writer = work.means.writer()
    failure = work.guard(
        action, lambda: provider.apply(writer, ready.node.desired, ready.step), provider.apply_deadline
    )
    work.finish(work.verify(ready, failure, tuple(writer.remarks)))


@frozen
class _Staged:
    """An action of a transaction that was handed to the provider."""

    ready: Ready
    failure: Failure | None


def _commit(work: Work, group: Sequence[Action]) -> None:
    """Stage each action, commit once, and let each be verified for itself."""
    provider = work.means.providers[group[0].resource.type]
    assert isinstance(provider, TransactionalProvider)  # noqa: S101  # the planner set `transaction`
    writer = work.means.writer()
    staged: list[object] = []
    members: list[_Staged | ActionResult] = []
    for action in group:
        work.means.progress(len(work.results) + len(members) + 1, action)
        members.append(_stage(work, action, provider, writer, staged))
    whole: Failure | None = None
    if staged:
        whole = work.guard(group[0], lambda: provider.commit(writer, staged), provider.apply_deadline * len(staged))
    for member in members:
        if isinstance(member, ActionResult):
            work.finish(member)
        elif member.failure is not None:
            work.finish(work.verify(member.ready, member.failure, tuple(writer.remarks)))
        else:
            failure = whole.of(member.ready.action) if whole else None
            work.finish(by_verification(work.verify(member.ready, failure, tuple(writer.remarks))))


def _stage(
    work: Work, action: Action, provider: TransactionalProvider[Any], writer: RecordingWriter, staged: list[object]
) -> _Staged | ActionResult:
    """Stage one action; what cannot be keeps those of the transaction that require it from being staged."""
    ready = work.prepare(action)
    if isinstance(ready, ActionResult):
        if ready.outcome.spreads:
            work.broken[action.resource] = ready.blocked_by or action.resource
        return ready
    failure = work.guard(
        action,
        lambda: staged.append(provider.stage(writer, ready.node.desired, ready.step)),
        provider.apply_deadline,
    )
    if failure is not None:
        work.broken[action.resource] = action.resource
    return _Staged(ready, failure)
