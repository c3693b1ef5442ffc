"""By what the reconciler works: everything with an effect is handed to it. Protocols and values only."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from attrs import field, frozen

from datum.model.check import Check
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Observation
from datum.model.plan import Action, Replan
from datum.provider.contract import AnyProvider
from datum.provider.host import HostWriter


class Answer(Protocol):
    """The planner's word on one action and what is there now."""

    def __call__(
        self, action: Action, observation: Observation, staged: frozenset[ResourceId], *, is_done: bool = False
    ) -> Replan:
        """Plan it again.

        Args:
            action: as planned.
            observation: what is there now.
            staged: resources whose candidates are prepared and not yet in place.
            is_done: whether it was done: then what is left is told, whatever its rank and risk.
        """
        ...


class RecordingWriter(HostWriter, Protocol):
    """A writer for one action that keeps the remarks made through it; what `Means.writer` returns."""

    @property
    def remarks(self) -> Sequence[str]:
        """The remarks so far."""
        ...


class Staging(RecordingWriter, Protocol):
    """A writer that prepares candidates and changes nothing before `commit`; what `Means.staging` returns."""

    def judge(self, checks: Sequence[Check], *, writes: bool = True) -> None:
        """Show all candidates to every check, or the host as it is where there are none.

        Args:
            checks: the programs.
            writes: whether what cannot be shown may be written, judged then, and put back if it is refused.

        Raises:
            HostError: `check-failed` or `check-not-run`, with the resource of the check as `check`; the host
                is as before. `cannot-be-shown`: it would have to be written, and must not be.
        """
        ...

    def commit(self) -> None:
        """Put all candidates in place, back to back.

        Raises:
            HostError: not all of them are in place.
        """
        ...

    def discard(self) -> None:
        """Remove every candidate that is not in place."""
        ...


@frozen
class Means:
    """By what the reconciler works; everything with an effect is in here."""

    providers: Mapping[str, AnyProvider]
    # The declaration behind an action: of the target, or of an older revision for an orphan.
    node_of: Callable[[Action], Node]
    observe: Callable[[Action], Observation]
    replan: Answer
    writer: Callable[[], RecordingWriter]
    # One for each transaction that checks judge, for each action whose marks come after its judging, and for each look
    # of checks at the host as it is.
    staging: Callable[[], Staging]
    deadline: Callable[[float], AbstractContextManager[None, None]]
    # Seconds on a monotonic clock.
    monotonic: Callable[[], float]
    is_stopping: Callable[[], bool] = field(default=lambda: False)
    # The number of an action, counted from 1, and the action.
    progress: Callable[[int, Action], None] = field(default=lambda _number, _action: None)
    # The number of the first, and how many actions one commit does that begins with it: it may take long.
    together: Callable[[int, int, Action], None] = field(default=lambda _number, _count, _action: None)
