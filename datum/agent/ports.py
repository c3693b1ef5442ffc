"""Everything with an effect that a pass is given, made once by the command line and replaced by tests."""

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Self

from attrs import Factory, evolve, field, frozen

from datum.agent.resolver.interface import Manifests
from datum.agent.resolver.own import OwnManifests
from datum.diagnostics import Diagnostic
from datum.model.moment import parse_moment
from datum.model.plan import Action
from datum.model.trigger import Trigger
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
    # ISO 8601 in UTC, read once when the command began, and once more where it waited for its turn.
    started: str
    # Seconds on a monotonic clock.
    monotonic: Callable[[], float]
    pid: int
    agent: str = field(factory=agent_version)
    # Number of the signal that asks the pass to end, None while there is none.
    signal: Callable[[], int | None] = field(default=lambda: None)
    # Stage, number of the action, how many there are, and the action in hand.
    progress: Callable[[str, int, int, Action | None], None] = field(default=show_nothing)
    # Entered around the actions of a pass, where there are any: a shutdown waits for them.
    delaying: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)
    # Who asks.
    trigger: Trigger = field(factory=Trigger)
    # Reads the clock, in the form of `started`; None: time stands still.
    clock: Callable[[], str] | None = None
    # Reads revisions.
    manifests: Manifests = field(
        default=Factory(lambda self: OwnManifests(self.providers, self.agent), takes_self=True)
    )
    # What there is to say of how this command runs.
    notes: tuple[Diagnostic, ...] = ()

    @property
    def now(self) -> int:
        """The moment of the pass, in seconds since 1970."""
        return parse_moment(self.started)

    def begun(self) -> Self:
        """Return them for a pass that begins now."""
        return self if self.clock is None else evolve(self, started=self.clock())

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
