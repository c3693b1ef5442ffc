"""Does what a plan says, one action at a time, and verifies each by observing again (design 1.4).

Rules enforced here and in the modules beside it: nothing is decided (where the host moved on the planner is asked, for
that one resource); every action is conditional on its *before*; a provider's own word counts for nothing; a failure
reaches what requires it and nothing else; what a service will owe for a change is marked before it, and what must not
run meanwhile is stopped; a signal ends the work between two actions, once what was stopped is started. Effects: through
the writers and observers it is given.
"""

from attrs import evolve

from datum.model.batches import Batch, batches_of
from datum.model.plan import Action, Operation, Plan
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.provider.contract import StagedProvider
from datum.reconciler.candidates import CannotBeStagedError, put_in_place
from datum.reconciler.judging import judge_as_it_is
from datum.reconciler.marks import Marks, skipped_by
from datum.reconciler.means import Means
from datum.reconciler.stops import Stops
from datum.reconciler.together import commit
from datum.reconciler.verifying import Done, Verifying
from datum.reconciler.work import Ready, Work


def reconcile(plan: Plan, means: Means) -> tuple[ActionResult, ...]:
    """Do the plan; return one result for each of its actions, in their order."""
    work = Work(plan, means)
    batches = batches_of(plan.actions)
    marks = Marks(work, batches)
    stops = Stops(work, batches)
    verifying = Verifying(work, marks, stops, plan.actions)
    for batch in batches:
        if means.is_stopping() and not stops.must_start(batch):
            for number, action in enumerate(batch.actions, batch.first):
                work.finish(number, work.leave(action))
        elif not _waits(batch):
            verifying.settle_before(batch.group)
            _do(verifying, batch, plan)
        marks.close(batch)
        stops.close(batch)
    verifying.settle_all()
    return work.results


def _waits(batch: Batch) -> bool:
    """Whether it is a stop, whose turn comes with the first change that needs it."""
    return any(action.operation is Operation.STOP for action in batch.group)


def _do(verifying: Verifying, batch: Batch, plan: Plan) -> None:
    key = batch.group[0].transaction if batch.group else ""
    if not batch.group:
        verifying.marks.set(batch)
    elif key in plan.checks:
        put_in_place(verifying, batch, plan.checks[key])
    elif key:
        commit(verifying, batch)
    elif (batch.marks or batch.group[0].while_stopped) and _can_stage(verifying.work, batch.group[0]):
        try:
            put_in_place(verifying, batch, ())
        except CannotBeStagedError:
            _apply(verifying, batch)
    else:
        _apply(verifying, batch)


def _can_stage(work: Work, action: Action) -> bool:
    provider = work.means.providers[action.resource.type]
    if not isinstance(provider, StagedProvider):
        return False
    answers: list[bool] = []
    node = work.means.node_of(action)
    failure = work.guard(action, lambda: answers.append(provider.can_stage(node.desired)), provider.apply_deadline)
    return failure is None and answers == [True]


def _apply(verifying: Verifying, batch: Batch) -> None:
    """Do one action, its marks directly before it."""
    work, marks = verifying.work, verifying.marks
    (action,) = batch.group
    work.means.progress(batch.start + 1, action)
    ready = work.prepare(action)
    if isinstance(ready, ActionResult):
        marks.spare(batch, (ready.blocked_by or action.resource) if ready.outcome.spreads else None)
        work.finish(batch.start, ready)
        return
    judged = judge_as_it_is(work, ready)
    if judged.failure is not None:
        marks.spare(batch, action.resource)
        verifying.take(batch.start, Done(ready, judged.failure, judged.remarks, is_made=False, passed=judged.passed))
        return
    ready = verifying.stops.before_one(ready)
    if isinstance(ready, ActionResult):
        marks.spare(batch, ready.blocked_by or action.resource)
        work.finish(batch.start, ready)
        return
    blocker = skipped_by(marks.set(batch), action)
    # What this pass stopped is started, whatever cannot be marked for that: it is told when the start was verified.
    if blocker is not None and not action.starts_again:
        work.finish(batch.start, ActionResult(action, Outcome.SKIPPED, blocked_by=blocker))
        return
    done = _done(work, ready)
    if judged.remarks or judged.passed:
        done = evolve(done, remarks=(*judged.remarks, *done.remarks), passed=judged.passed)
    verifying.take(batch.start, done)


def _done(work: Work, ready: Ready) -> Done:
    action = ready.action
    provider = work.means.providers[action.resource.type]
    writer = work.means.writer()
    failure = work.guard(
        action, lambda: provider.apply(writer, ready.node.desired, ready.step), provider.apply_deadline
    )
    # What the program of a file refuses has not reached the host.
    is_made = failure is None or failure.cause is not FailureCause.CHECK
    return Done(ready, failure, tuple(writer.remarks), is_made=is_made)
