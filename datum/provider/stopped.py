"""The part of the contract for what is stopped while others change (`while_stopped`; ADR 0043). Protocols and values.

Beside `datum.provider.contract`, whose rules hold here: `stopping` and `stop` are pure.
"""

from typing import Final, Protocol, runtime_checkable

from attrs import frozen

from datum.model.observation import Absent, Present
from datum.model.plan import Step
from datum.provider.contract import DesiredT, Provider

RUNNING: Final = "running"
"""The field that says whether something runs. Where it cannot be looked at, it counts as running that nothing stops."""


@frozen
class Stopping:
    """What a declaration says of stopping it while others change."""

    # It shall run: it is started again.
    runs: bool
    # What runs may start others, so it is stopped before them: a socket.
    starts_others: bool = False


@runtime_checkable
class StoppedProvider(Provider[DesiredT], Protocol[DesiredT]):
    """A type whose running resources can be stopped while others change, and started again.

    The start is no step of its own: `plan` answers it for the state that the stop leaves.
    """

    def stopping(self, desired: DesiredT) -> Stopping | None:
        """Return whether it shall run; None for a declaration that does not say so: nothing would start it again."""
        ...

    def stop(self, desired: DesiredT, observed: Present | Absent) -> Step | None:
        """Return the step of the operation `stop` that leaves nothing of it running; None where nothing runs.

        Whatever has processes runs: also what is on its way down, which the step waits for, and what does a work that
        ends by itself.

        Its changes say what is otherwise then, as `plan` will see it. `apply` does it so that it can be started at
        once, and refuses it where something may start it at any time.
        """
        ...
