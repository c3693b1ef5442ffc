"""One action at its turn: looked at again, done by its provider, looked at once more (design 1.4).

A provider is untrusted code: whatever it raises stays its own, and its word counts for nothing. Effects: through the
writers and observers of `Means`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from attrs import evolve, frozen

from datum.diagnostics import Diagnostic, Severity
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.observation import Cause, Observation, Present, Unobservable
from datum.model.plan import Action, Change, Hold, Operation, Plan, Step, VerdictKind
from datum.model.result import ActionResult, FailureCause, Outcome, Verification
from datum.provider.host import HostError
from datum.reconciler.means import Means

NAMED: Final = 10
"""Names that one sentence holds."""

_VALUE: Final = 120
"""Characters of a value that one sentence holds."""

_BLOB: Final = re.compile(r"(blob:[0-9a-f]{12})[0-9a-f]+")


@frozen
class Failure:
    """What kept something from being done."""

    cause: FailureCause
    found: Diagnostic
    # The check that refused it.
    refused_by: ResourceId | None = None

    def of(self, action: Action) -> "Failure":
        """Return it as the failure of one action of several."""
        return evolve(self, found=evolve(self.found, resource=str(action.resource), location=action.location))


@frozen
class Ready:
    """An action whose turn has come and that is to be done."""

    action: Action
    step: Step
    node: Node
    begun: float
    differs: bool


class Work:
    """The results so far, and whom they keep from being done.

    Actions are named by their number: how many stand before them in the plan.
    """

    def __init__(self, plan: Plan, means: Means) -> None:
        """Begin; what the plan gives no action and is not in sync counts as broken already."""
        self.means = means
        self._results: dict[int, ActionResult] = {}
        # What was stopped for others and started again: its refresh is for the case that it still owes something.
        self._started: set[ResourceId] = set()
        # Resources that keep what requires them from being done, and which of them was the first to.
        self.broken: dict[ResourceId, ResourceId] = {
            origin: verdict.blocked_by or origin
            for origin, verdict in plan.verdicts.items()
            if verdict.kind is not VerdictKind.IN_SYNC
        }

    @property
    def results(self) -> tuple[ActionResult, ...]:
        """What became of the actions so far, in the order of the plan."""
        return tuple(self._results[number] for number in sorted(self._results))

    def result(self, number: int) -> ActionResult | None:
        """Return what became of one action; None where its turn has not come."""
        return self._results.get(number)

    def leave(self, action: Action) -> ActionResult:
        """Return the result of an action that a signal kept from being begun."""
        found = Diagnostic(
            code="interrupted",
            summary="A signal ended the pass before this action.",
            detail=f"{action.resource} was not touched.",
            hint="the next pass plans it anew",
            resource=str(action.resource),
            location=action.location,
        )
        return ActionResult(action, Outcome.SKIPPED, diagnostics=(found,))

    def prepare(self, action: Action, staged: frozenset[ResourceId] = frozenset()) -> Ready | ActionResult:
        """Look at one resource again and ask the planner; return what is to be done, or what became of it already.

        Args:
            action: whose turn has come.
            staged: resources whose candidates are prepared and not yet in place.
        """
        begun = self.means.monotonic()
        if action.hold is not None:
            return self.held(action, action.hold)
        blocker = min((self.broken[origin] for origin in action.requires if origin in self.broken), default=None)
        if blocker is not None and not (action.operation.refreshes and action.resource in self._started):
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocker)
        observation = self.means.observe(action)
        answer = self.means.replan(action, observation, staged)
        if blocker is not None and (answer.step is not None or answer.hold is not None):
            return ActionResult(action, Outcome.SKIPPED, blocked_by=blocker)
        if answer.hold is not None and answer.is_impossible:
            return self._impossible(action, answer.hold, self.means.monotonic() - begun)
        if answer.hold is not None:
            cause = FailureCause.BREACH if answer.is_breach else _cause_of(observation)
            held = self.held(action, answer.hold)
            return evolve(held, cause=cause, duration=self.means.monotonic() - begun)
        if answer.step is None:
            return ActionResult(
                action, Outcome.ALREADY, Verification(converged=True), duration=self.means.monotonic() - begun
            )
        return Ready(action, answer.step, self.means.node_of(action), begun, answer.differs)

    def _impossible(self, action: Action, hold: Hold, duration: float) -> ActionResult:
        found = Diagnostic(
            code="not-brought",
            summary="What an action needs was to be brought before it, and was not.",
            detail=hold.detail,
            hint=hold.release,
            resource=str(action.resource),
            location=action.location,
        )
        cause = FailureCause.IMPOSSIBLE
        return ActionResult(action, Outcome.FAILED, diagnostics=(found,), cause=cause, duration=duration)

    def held(self, action: Action, hold: Hold) -> ActionResult:
        """Return the result of an action that is planned and not done."""
        found = Diagnostic(
            code=f"held-{hold.reason.value.replace('_', '-')}",
            summary="An action is held.",
            detail=hold.detail,
            hint=hold.release,
            resource=str(action.resource),
            location=action.location,
        )
        return ActionResult(action, Outcome.HELD, hold=hold, diagnostics=(found,))

    def guard(self, action: Action, call: Callable[[], None], seconds: float) -> Failure | None:
        """Call into the provider of an action; return what went wrong."""
        try:
            return self.attempt(action, call, seconds)
        except Exception as error:  # noqa: BLE001  # a provider is untrusted code: whatever it raises stays its own
            found = Diagnostic(
                code="provider-breach",
                summary="A provider broke its contract.",
                detail=f"The provider '{action.resource.type}' raised {error!r} while applying. This is a bug in it.",
                resource=str(action.resource),
                location=action.location,
            )
            return Failure(FailureCause.BREACH, found)

    def attempt(self, action: Action, call: Callable[[], None], seconds: float) -> Failure | None:
        """Do something on the host for an action; return what the host refused."""
        try:
            with self.means.deadline(seconds):
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
            refused_by = getattr(error, "check", None)
            return Failure(error.failure, found, refused_by if isinstance(refused_by, ResourceId) else None)
        return None

    def verify(self, ready: Ready, failure: Failure | None, remarks: tuple[str, ...]) -> ActionResult:
        """Observe again; only an empty second plan makes an action `applied`."""
        observation = self.means.observe(ready.action)
        remaining, words = self._remaining(ready, observation)
        duration = self.means.monotonic() - ready.begun
        verification = Verification(converged=words is None, remaining=remaining)
        if failure is not None:
            outcome = Outcome.BUSY if failure.cause is FailureCause.BUSY else Outcome.FAILED
            return ActionResult(
                ready.action,
                outcome,
                verification,
                diagnostics=(failure.found,),
                cause=failure.cause,
                duration=duration,
                remarks=remarks,
                replanned=ready.differs,
                refused_by=failure.refused_by,
            )
        diagnostics: tuple[Diagnostic, ...] = ()
        if words is not None:
            diagnostics = (
                Diagnostic(
                    code="unverified",
                    summary="The action ended, and the host is not as it should be.",
                    detail=words,
                    hint="see what undoes it, or keeps it from being done; what hangs on times fails for as long as "
                    "one of them, as that of an input, lies in the future",
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

    def _remaining(self, ready: Ready, observation: Observation) -> tuple[tuple[Change, ...], str | None]:
        """Return what a second plan would change, and the words for it; None when nothing is left."""
        if isinstance(observation, Unobservable):
            return (), f"It cannot be looked at any more: {observation.detail}"
        if ready.action.orphan_of is not None and isinstance(observation, Present):
            return ready.step.changes, "It is still there."
        for question, is_done in _questions(ready.action):
            again = self.means.replan(question, observation, frozenset(), is_done=is_done)
            there = "present" if isinstance(observation, Present) else "absent"
            if again.step is not None:
                what = some(map(_words, again.step.changes))
                words = f"Observed again it is {there}, and a second plan would still change {what}."
                return again.step.changes, words
            if again.hold is not None:
                return (), f"Observed again it is {there}. {again.hold.detail}"
        return (), None

    def finish(self, number: int, result: ActionResult) -> None:
        """Take the result of one action.

        A mark or a stop keeps nothing from being done but the changes that it is for: what a service is, its other
        actions say.
        """
        self._results[number] = result
        if result.action.starts_again and result.outcome is Outcome.APPLIED:
            self._started.add(result.action.resource)
        if result.outcome.spreads and result.action.operation not in {Operation.MARK, Operation.STOP}:
            self.spread(result.action.resource, result.blocked_by)

    def spread(self, origin: ResourceId, blocked_by: ResourceId | None = None) -> None:
        """Keep what requires a resource from being done."""
        self.broken.setdefault(origin, blocked_by or origin)

    def note(self, number: int, remark: str) -> None:
        """Add a remark to a result."""
        result = self._results[number]
        self._results[number] = evolve(result, remarks=(*result.remarks, remark))


def some(names: Iterable[object]) -> str:
    """Return the first few of many names as one text, and how many more there are."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return f"{', '.join(texts[:NAMED])}{more}"


def _words(change: Change) -> str:
    """Return a change in a few words: what is there and what is wanted, where something is there and may be shown."""
    if change.before is None or change.sensitive:
        return change.name
    return f"{change.name} ({_short(change.before)} → {_short(change.after)})"


def _short(value: JsonValue) -> str:
    text = "nothing" if value is None else _BLOB.sub(r"\1", str(value))
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


def _cause_of(observation: Observation) -> FailureCause | None:
    """Return why an action came to nothing, where that is because its resource could not be looked at."""
    if not isinstance(observation, Unobservable):
        return None
    return FailureCause.BREACH if observation.cause is Cause.BREACH else FailureCause.UNOBSERVABLE


def _questions(action: Action) -> tuple[tuple[Action, bool], ...]:
    """Return what the planner is asked when an action was done, as actions, and whether each may become any step.

    What is left is to be told, not held. What was restarted owes nothing, and runs as well.
    """
    if action.operation in {Operation.DELETE, Operation.MARK, Operation.STOP}:
        return ((action, False),)
    if not action.operation.refreshes:
        return ((action, True),)
    return (action, False), (evolve(action, step=Step(Operation.REPLACE, ())), True)


def by_verification(result: ActionResult) -> ActionResult:
    """Return the result that an action's own verification gives, whatever became of the commit (design 1.7)."""
    if result.verification is None or not result.verification.converged:
        return result
    noted = tuple(evolve(found, severity=Severity.WARNING) for found in result.diagnostics)
    return evolve(result, outcome=Outcome.APPLIED, diagnostics=noted)
