"""Does what a plan says, one action at a time, and verifies each by observing again (design 1.4).

Rules enforced here: nothing is decided (where the host moved on the planner is asked, for that one resource); every
action is conditional on its *before*; a provider's own word counts for nothing; a failure reaches what requires it and
nothing else; a signal ends the work between two actions. Effects: through the writers and observers it is given.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from attrs import evolve, field, frozen

from datum.diagnostics import Diagnostic, Severity
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Cause, Observation, Present, Unobservable
from datum.model.plan import Action, Change, Hold, Operation, Plan, Replan, Step, VerdictKind
from datum.model.result import ActionResult, FailureCause, Outcome, Verification
from datum.provider.contract import AnyProvider, TransactionalProvider
from datum.provider.host import HostError, HostWriter

_Failure: TypeAlias = tuple[FailureCause, Diagnostic]


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


@frozen
class _Staged:
    """An action of a transaction that was handed to the provider."""

    ready: _Ready
    failure: _Failure | None


class _Work:
    def __init__(self, plan: Plan, means: Means) -> None:
        self._means = means
        self.results: list[ActionResult] = []
        # Resources that keep what requires them from being done, and which of them was the first to.
        self._broken: dict[ResourceId, ResourceId] = {
            origin: verdict.blocked_by or origin
            for origin, verdict in plan.verdicts.items()
            if verdict.kind is not VerdictKind.IN_SYNC
        }

    def do(self, group: Sequence[Action]) -> None:
        """Do one action, or the actions of one transaction."""
        if group[0].transaction:
            self._commit(group)
            return
        for action in group:
            self._means.progress(len(self.results) + 1, action)
            prepared = self._prepare(action)
            if isinstance(prepared, ActionResult):
                self._finish(prepared)
            else:
                self._apply(prepared)

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
        blocker = min((self._broken[origin] for origin in action.requires if origin in self._broken), default=None)
        if blocker is not None:
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocker)
        observation = self._means.observe(action)
        answer = self._means.replan(action, observation)
        if answer.hold is not None:
            return evolve(
                self._held(action, answer.hold, begun),
                cause=FailureCause.BREACH if answer.is_breach else _cause_of(observation),
            )
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

    def _commit(self, group: Sequence[Action]) -> None:
        """Stage each action, commit once, and let each be verified for itself."""
        provider = self._means.providers[group[0].resource.type]
        assert isinstance(provider, TransactionalProvider)  # noqa: S101  # the planner set `transaction`
        writer = self._means.writer()
        staged: list[object] = []
        members: list[_Staged | ActionResult] = []
        for action in group:
            self._means.progress(len(self.results) + len(members) + 1, action)
            members.append(self._stage(action, provider, writer, staged))
        whole: _Failure | None = None
        if staged:
            whole = self._guard(
                group[0],
                provider,
                lambda: provider.commit(writer, staged),
                provider.apply_deadline * len(staged),
            )
        for member in members:
            if isinstance(member, ActionResult):
                self._finish(member)
            elif member.failure is not None:
                self._finish(self._verify(member.ready, member.failure, tuple(writer.remarks)))
            else:
                result = self._verify(member.ready, _concerning(member.ready.action, whole), tuple(writer.remarks))
                self._finish(_by_verification(result))

    def _stage(
        self, action: Action, provider: TransactionalProvider[Any], writer: RecordingWriter, staged: list[object]
    ) -> "_Staged | ActionResult":
        """Stage one action; what cannot be keeps those of the transaction that require it from being staged."""
        prepared = self._prepare(action)
        if isinstance(prepared, ActionResult):
            if prepared.outcome.spreads:
                self._broken[action.resource] = prepared.blocked_by or action.resource
            return prepared
        failure = self._guard(
            action,
            provider,
            lambda: staged.append(provider.stage(writer, prepared.node.desired, prepared.step)),
            provider.apply_deadline,
        )
        if failure is not None:
            self._broken[action.resource] = action.resource
        return _Staged(prepared, failure)

    def _guard(
        self, action: Action, provider: AnyProvider, call: Callable[[], None], seconds: float
    ) -> _Failure | None:
        """Call into a provider; return what went wrong."""
        try:
            with self._means.deadline(seconds):
                call()
        except HostError as error:
            found = Diagnostic(
                code=error.diagnostics[0].code,
                summary=error.diagnostics[0].summary,
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

    def _verify(self, ready: _Ready, failure: _Failure | None, remarks: tuple[str, ...]) -> ActionResult:
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
            cause=_cause_of(observation),
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
        again = self._means.replan(_unbounded(ready.action), observation)
        if again.step is None and again.hold is None:
            return (), None
        there = "present" if isinstance(observation, Present) else "absent"
        if again.step is None:
            return (), f"Observed again it is {there}. {again.hold.detail if again.hold else ''}"
        what = ", ".join(change.name for change in again.step.changes)
        return again.step.changes, f"Observed again it is {there}, and a second plan would still change {what}."

    def _finish(self, result: ActionResult) -> None:
        self.results.append(result)
        if result.outcome.spreads:
            self._broken[result.action.resource] = result.blocked_by or result.action.resource


def _cause_of(observation: Observation) -> FailureCause | None:
    """Return why an action came to nothing, where that is because its resource could not be looked at."""
    if not isinstance(observation, Unobservable):
        return None
    return FailureCause.BREACH if observation.cause is Cause.BREACH else FailureCause.UNOBSERVABLE


def _unbounded(action: Action) -> Action:
    """Return the action as one that may become any step: what is left is to be told, not held."""
    if action.operation is Operation.DELETE:
        return action
    return evolve(action, operation=Operation.REPLACE, hazards=frozenset(Hazard))


def _concerning(action: Action, whole: _Failure | None) -> _Failure | None:
    """Return the failure of a commit as one of this action."""
    if whole is None:
        return None
    cause, found = whole
    return cause, evolve(found, resource=str(action.resource), location=action.location)


def _by_verification(result: ActionResult) -> ActionResult:
    """Return the result that an action's own verification gives, whatever became of the commit (design 1.7)."""
    if result.verification is None or not result.verification.converged:
        return result
    noted = tuple(evolve(found, severity=Severity.WARNING) for found in result.diagnostics)
    return evolve(result, outcome=Outcome.APPLIED, diagnostics=noted)
