"""Actions that one commit does: staged one by one, committed once, each verified for itself (design 1.7).

Effects: through the writers and observers of `Means`.
"""

from typing import Any

from attrs import frozen

from datum.model.batches import Batch
from datum.model.plan import Action
from datum.model.result import ActionResult, Outcome
from datum.provider.contract import TransactionalProvider
from datum.reconciler.marks import skipped_by
from datum.reconciler.means import RecordingWriter
from datum.reconciler.verifying import Done, Verifying
from datum.reconciler.work import Failure, Ready


@frozen
class _Staged:
    """An action of a transaction that was handed to the provider."""

    ready: Ready
    failure: Failure | None


def commit(verifying: Verifying, batch: Batch) -> None:
    """Mark, stage each action, commit once, and let each be verified for itself."""
    work, group = verifying.work, batch.group
    provider = work.means.providers[group[0].resource.type]
    assert isinstance(provider, TransactionalProvider)  # noqa: S101  # the planner set `transaction`
    unmarked = verifying.marks.set(batch)
    writer = work.means.writer()
    staged: list[object] = []
    members: list[_Staged | ActionResult] = []
    for number, action in enumerate(group, batch.start):
        work.means.progress(number + 1, action)
        blocker = skipped_by(unmarked, action)
        if blocker is not None:
            work.spread(action.resource, blocker)
            members.append(ActionResult(action, Outcome.SKIPPED, blocked_by=blocker))
        else:
            members.append(_stage(verifying, action, provider, writer, staged))
    whole: Failure | None = None
    if staged:
        work.means.together(batch.start + 1, len(staged), group[0])
        whole = work.guard(group[0], lambda: provider.commit(writer, staged), provider.apply_deadline * len(staged))
    for number, member in enumerate(members, batch.start):
        verifying.take(number, _became(member, whole, tuple(writer.remarks)))


def _became(member: _Staged | ActionResult, whole: Failure | None, remarks: tuple[str, ...]) -> Done | ActionResult:
    if isinstance(member, ActionResult):
        return member
    if member.failure is not None:
        return Done(member.ready, member.failure, remarks, is_made=False)
    failure = whole.of(member.ready.action) if whole else None
    return Done(member.ready, failure, remarks, is_shared=True)


def _stage(
    verifying: Verifying,
    action: Action,
    provider: TransactionalProvider[Any],
    writer: RecordingWriter,
    staged: list[object],
) -> _Staged | ActionResult:
    """Stage one action; what cannot be keeps those of the transaction that require it from being staged."""
    work = verifying.work
    ready: Ready | ActionResult = work.prepare(action)
    if isinstance(ready, Ready):
        ready = verifying.stops.before((action,)) or ready
    if isinstance(ready, ActionResult):
        if ready.outcome.spreads:
            work.spread(action.resource, ready.blocked_by)
        return ready
    failure = work.guard(
        action,
        lambda: staged.append(provider.stage(writer, ready.node.desired, ready.step)),
        provider.apply_deadline,
    )
    if failure is not None:
        work.spread(action.resource)
    return _Staged(ready, failure)
