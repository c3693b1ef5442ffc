"""Everything with an effect that a pass is given, made once by the command line and replaced by tests."""

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from attrs import field, frozen

from datum.model.plan import Action
from datum.provider.contract import AnyProvider
from datum.provider.host import ProgramRunner

COMMITTING: Final = "committing"
"""First word of the stage while many actions are done at once: that may take long, so it is shown from its start."""


def agent_version() -> str:
    """Return the version of the installed distribution, the one source of version."""
    try:
        return version("datum-agent")
    except PackageNotFoundError:
        return "0+unknown"


def show_nothing(_stage: str, _number: int, _total: int, _action: Action | None) -> None:
    """Take progress that nobody wants to see."""


@frozen
class Ports:
    """The clock, the types and the program door of one command."""

    providers: Mapping[str, AnyProvider]
    run: ProgramRunner
    # ISO 8601 in UTC, read once when the command began.
    started: str
    # Seconds on a monotonic clock.
    monotonic: Callable[[], float]
    pid: int
    agent: str = field(factory=agent_version)
    # Number of the signal that asks the pass to end, None while there is none.
    signal: Callable[[], int | None] = field(default=lambda: None)
    # Stage, number of the action, how many there are, and the action in hand.
    progress: Callable[[str, int, int, Action | None], None] = field(default=show_nothing)

    def versions(self, types: Iterable[str]) -> Mapping[str, str]:
        """Return the versions that a manifest and a plan are a function of, and Python's.

        Args:
            types: those that take part; names of no type are left out.
        """
        return {
            "datum": self.agent,
            "python": platform.python_version() if sys.implementation.name == "cpython" else sys.version,
            **{name: self.providers[name].version for name in sorted(types) if name in self.providers},
        }

    def report_id(self) -> str:
        """Return the id of this pass's report: when it began, and its process."""
        return self.started.replace("-", "").replace(":", "") + f"-{self.pid}"
