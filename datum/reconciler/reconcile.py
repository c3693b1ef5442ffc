"""Does what a plan says, one action at a time, and verifies each by observing again (design 1.4).

Rules enforced here: nothing is decided (where the host moved on the planner is asked, for that one resource); every
action is conditional on its *before*; a provider's own word counts for nothing; a failure reaches what requires it and
nothing else; a signal ends the work between two actions. Effects: through the writers and observers it is given.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from attrs import field, frozen

from datum.diagnostics import Diagnostic
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Action, Change, Hold, Plan, Replan, Step, VerdictKind
from datum.model.result import ActionResult, FailureCause, Outcome, Verification
from datum.provider.contract import AnyProvider, TransactionalProvider
from datum.provider.host import HostError, HostWriter


class RecordingWriter(HostWriter, Protocol):
    """A writer for one action that keeps the remarks made through it; what `Means.writer` returns."""

    @property
    def remarks(self) -> Sequence[str]:
        """The remarks so far."""
        ...


@frozen
class Means:
    """By what the reconciler works; everything with an effect is in here."""

    providers: Mapping[str, AnyProvider]
    # The declaration behind an action: of the target, or of an older revision for an orphan.
    node_of: Callable[[Action], Node]
    observe: Callable[[Action], Observation]
    # The planner's word on one action and what is there now.
    replan: Callable[[Action, Observation], Replan]
    writer: Callable[[], RecordingWriter]
    deadline: Callable[[float], AbstractContextManager[None, None]]
    # Seconds on a monotonic clock.
    monotonic: Callable[[], float]
    is_stopping: Callable[[], bool] = field(default=lambda: False)
    progress: Callable[[int, Action], None] = field(default=lambda _number, _action: None)


def reconcile(plan: Plan, means: Means) -> tuple[ActionResult, ...]:
    """Do the plan; return one result for each of its actions, in their order."""
    work = _Work(plan, means)
    for group in _transactions(plan.actions):
        if means.is_stopping():
            work.leave(group)
        else:
            work.do(group)
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


@frozen
class _Ready:
    """An action whose turn has come and that is to be done."""

    action: Action
    step: Step
    node: Node
    begun: float
    differs: bool


class _Work:
    def __init__(self, plan: Plan, means: Means) -> None:
        self._means = means
        self.results: list[ActionResult] = []
        # Resources that keep what requires them from being done.
        self._broken: set[ResourceId] = {
            origin for origin, verdict in plan.verdicts.items() if verdict.kind is not VerdictKind.IN_SYNC
        }

    def do(self, group: Sequence[Action]) -> None:
        """Do one action, or the actions of one transaction."""
        ready: list[_Ready] = []
        for action in group:
            self._means.progress(len(self.results) + len(ready) + 1, action)
            prepared = self._prepare(action)
            if isinstance(prepared, ActionResult):
                self._finish(prepared)
            else:
                ready.append(prepared)
        if ready and ready[0].action.transaction:
            self._commit(ready)
        for one in ready if not (ready and ready[0].action.transaction) else ():
            self._apply(one)

    def leave(self, group: Sequence[Action]) -> None:
        """Note that a signal kept these from being begun."""
        for action in group:
            found = Diagnostic(
                code="interrupted",
                summary="A signal ended the pass before this action.",
                detail=f"{action.resource} was not touched.",
                hint="the next pass plans it anew",
                resource=str(action.resource),
                location=action.location,
            )
            self._finish(ActionResult(action, Outcome.SKIPPED, diagnostics=(found,)))

    def _prepare(self, action: Action) -> "_Ready | ActionResult":
        begun = self._means.monotonic()
        if action.hold is not None:
            return self._held(action, action.hold, begun)
        blocker = min((origin for origin in action.requires if origin in self._broken), default=None)
        if blocker is not None:
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocker)
        answer = self._means.replan(action, self._means.observe(action))
        if answer.hold is not None:
            return self._held(action, answer.hold, begun)
        if answer.step is None:
            return ActionResult(
                action, Outcome.ALREADY, Verification(converged=True), duration=self._means.monotonic() - begun
            )
        return _Ready(action, answer.step, self._means.node_of(action), begun, answer.differs)

    def _held(self, action: Action, hold: Hold, begun: float) -> ActionResult:
        found = Diagnostic(
            code=f"held-{hold.reason.value.replace('_', '-')}",
            summary="An action is held.",
            detail=hold.detail,
            hint=hold.release,
            resource=str(action.resource),
            location=action.location,
        )
        return ActionResult(action, Outcome.HELD, diagnostics=(found,), duration=self._means.monotonic() - begun)

    def _apply(self, ready: _Ready) -> None:
        provider = self._means.providers[ready.action.resource.type]
        writer = self._means.writer()
        failure = self._guard(
            ready.action,
            provider,
            lambda: provider.apply(writer, ready.node.desired, ready.step),
            provider.apply_deadline,
        )
        self._finish(self._verify(ready, failure, tuple(writer.remarks)))

    def _commit(self, group: Sequence[_Ready]) -> None:
        """Stage each action, commit once, and let each be verified for itself."""
        provider = self._means.providers[group[0].action.resource.type]
        assert isinstance(provider, TransactionalProvider)  # noqa: S101  # the planner set `transaction`
        writer = self._means.writer()
        staged: list[object] = []
        failures: list[tuple[FailureCause, Diagnostic] | None] = []
        for ready in group:
            step = ready.step
            desired = ready.node.desired
            failures.append(
                self._guard(
                    ready.action,
                    provider,
                    lambda step=step, desired=desired: staged.append(provider.stage(writer, desired, step)),  # type: ignore[misc]  # mypy cannot type defaults of lambdas
                    provider.apply_deadline,
                )
            )
        if staged:
            whole = self._guard(
                group[0].action,
                provider,
                lambda: provider.commit(writer, staged),
                provider.apply_deadline * len(staged),
            )
            failures = [failure or whole for failure in failures]
        for ready, failure in zip(group, failures, strict=True):
            self._finish(self._verify(ready, failure, tuple(writer.remarks)))

    def _guard(
        self, action: Action, provider: AnyProvider, call: Callable[[], None], seconds: float
    ) -> tuple[FailureCause, Diagnostic] | None:
        """Call into a provider; return what went wrong."""
        try:
            with self._means.deadline(seconds):
                call()
        except HostError as error:
            found = Diagnostic(
                code=error.diagnostics[0].code,
                summary="The host refused.",
                detail=error.detail,
                hint=error.diagnostics[0].hint,
                resource=str(action.resource),
                location=action.location,
            )
            return error.failure, found
        except Exception as error:  # noqa: BLE001  # a provider is untrusted code: whatever it raises stays its own
            found = Diagnostic(
                code="provider-breach",
                summary="A provider broke its contract.",
                detail=f"The provider '{provider.type_name}' raised {error!r} while applying. This is a bug in it.",
                resource=str(action.resource),
                location=action.location,
            )
            return FailureCause.BREACH, found
        return None

    def _verify(
        self, ready: _Ready, failure: tuple[FailureCause, Diagnostic] | None, remarks: tuple[str, ...]
    ) -> ActionResult:
        """Observe again; only an empty second plan makes an action `applied`."""
        observation = self._means.observe(ready.action)
        remaining, words = self._remaining(ready, observation)
        duration = self._means.monotonic() - ready.begun
        verification = Verification(converged=words is None, remaining=remaining)
        if failure is not None:
            cause, found = failure
            outcome = Outcome.BUSY if cause is FailureCause.BUSY else Outcome.FAILED
            return ActionResult(
                ready.action,
                outcome,
                verification,
                diagnostics=(found,),
                cause=cause,
                duration=duration,
                remarks=remarks,
                replanned=ready.differs,
            )
        diagnostics: tuple[Diagnostic, ...] = ()
        if words is not None:
            diagnostics = (
                Diagnostic(
                    code="unverified",
                    summary="The action ended, and the host is not as it should be.",
                    detail=words,
                    resource=str(ready.action.resource),
                    location=ready.action.location,
                ),
            )
        return ActionResult(
            ready.action,
            Outcome.APPLIED if words is None else Outcome.UNVERIFIED,
            verification,
            diagnostics=diagnostics,
            cause=FailureCause.UNOBSERVABLE if isinstance(observation, Unobservable) else None,
            duration=duration,
            remarks=remarks,
            replanned=ready.differs,
        )

    def _remaining(self, ready: _Ready, observation: Observation) -> tuple[tuple[Change, ...], str | None]:
        """Return what a second plan would change, and the words for it; None when nothing is left."""
        if isinstance(observation, Unobservable):
            return (), f"It cannot be looked at any more: {observation.detail}"
        if ready.action.orphan_of is not None:
            if isinstance(observation, Absent):
                return (), None
            return ready.step.changes, "It is still there."
        again = self._means.replan(ready.action, observation)
        if again.step is None and again.hold is None:
            return (), None
        changes = again.step.changes if again.step is not None else ()
        what = ", ".join(change.name for change in changes) or (again.hold.detail if again.hold else "")
        there = "present" if isinstance(observation, Present) else "absent"
        return changes, f"Observed again it is {there}, and a second plan would still change {what}."

    def _finish(self, result: ActionResult) -> None:
        self.results.append(result)
        if result.outcome.spreads:
            self._broken.add(result.action.resource)
