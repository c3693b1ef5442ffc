"""A fake host with declared files on it, planned and reconciled by the real planner and the real file type."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from attrs import define, evolve, field

from datum.agent.planning import Planned, Turn
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Resource
from datum.model.plan import Step
from datum.model.result import ActionResult
from datum.observer.observe import Look, observe_one, observe_state
from datum.planner.inputs import Declaration, OrphanSight, Sight
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass
from datum.provider.contract import AnyProvider
from datum.provider.host import HostWriter
from datum.reconciler.means import Means
from datum.reconciler.reconcile import reconcile
from datum.testing.host import FakeHost
from datum_providers.file.desired import DesiredFile
from datum_providers.file.doing import apply_file
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import given


def no_deadline(_seconds: float) -> AbstractContextManager[None, None]:
    return nullcontext()


class Scripted(FileProvider):
    """A file type that does something of a test before or instead of its work."""

    type_name: ClassVar[str] = "scripted"

    def __init__(self, act: Callable[[HostWriter, DesiredFile, Step], None]) -> None:
        self._act = act

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        self._act(writer, desired, step)


class AtOnce(Scripted):
    """A type that cannot be staged: its marks stand directly before its work."""

    def can_stage(self, desired: DesiredFile) -> bool:
        return False


class Batch(FileProvider):
    """A file type whose adjacent actions are committed together."""

    type_name: ClassVar[str] = "batch"

    def __init__(self, *, unstaged: Mapping[str, Exception] | None = None, failing: Exception | None = None) -> None:
        """Arrange it.

        Args:
            unstaged: paths that cannot be staged.
            failing: what the commit raises when half of its work is done, or all of it where `does_all_first`.
        """
        self.calls: list[str] = []
        self.does_all_first = False
        self._unstaged = unstaged or {}
        self._failing = failing

    def transaction(self, desired: DesiredFile, step: Step) -> str:
        return "" if desired.path.endswith("alone") else "all"

    def stage(self, writer: HostWriter, desired: DesiredFile, step: Step) -> object:
        self.calls.append(f"stage {desired.path}")
        if desired.path in self._unstaged:
            raise self._unstaged[desired.path]
        return desired, step

    def commit(self, writer: HostWriter, staged: Sequence[object]) -> None:
        self.calls.append(f"commit {len(staged)}")
        writer.remark("committed")
        done = len(staged) if self._failing is None or self.does_all_first else len(staged) // 2
        for one in staged[:done]:
            assert isinstance(one, tuple)
            apply_file(writer, *one)
        if self._failing is not None:
            raise self._failing


@define
class Bench:
    """A host, what is declared for it, and the plan."""

    resources: tuple[Resource, ...]
    host: FakeHost = field(factory=FakeHost)
    providers: Mapping[str, AnyProvider] = field(factory=lambda: {"file": FileProvider()})
    trail: tuple[Declaration, ...] = ()
    # What converged last.
    converged: Mapping[ResourceId, Node] | None = None

    def plan(self) -> Planned:
        """Observe and plan; what is observed later is observed anew."""
        start = given(*self.resources, providers=self.providers, trail=self.trail)
        look = self.look()
        sights = {
            origin: OrphanSight(
                tuple(Sight(revision, node, observe_one(origin, node, look)) for revision, node in sayings)
            )
            for origin, sayings in find_orphans(start.graph, self.trail).items()
        }
        made = evolve(start, observed=observe_state(start.graph.nodes, look), orphans=sights, converged=self.converged)
        return Planned(plan_pass(made), made)

    def look(self) -> Look:
        return Look(providers=self.providers, reader=self.host.reader(), deadline=no_deadline)

    def means(self, planned: Planned, **others: Any) -> Means:
        """Return what the agent hands the reconciler, with the fake host behind it."""
        turn = Turn(planned, self.look())
        parts: dict[str, Any] = {
            "providers": self.providers,
            "node_of": turn.node_of,
            "observe": turn.observe,
            "replan": turn.replan,
            "writer": self.host.writer,
            "staging": self.host.staging,
            "deadline": no_deadline,
            "monotonic": Ticks(),
        }
        return Means(**{**parts, **others})

    def run(self, planned: Planned | None = None, **others: Any) -> tuple[ActionResult, ...]:
        made = planned or self.plan()
        return reconcile(made.plan, self.means(made, **others))

    def text(self, path: str) -> str | None:
        found = self.host.files.get(path)
        return found.data.decode() if found else None


class Ticks:
    """A monotonic clock that is a second further at each look."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1.0
        return self._now


def story(results: Sequence[ActionResult]) -> dict[str, str]:
    """Return the outcome of each action, in order."""
    return {str(result.action.resource): str(result.outcome) for result in results}


def result_of(results: Sequence[ActionResult], text: str) -> ActionResult:
    (found,) = [result for result in results if str(result.action.resource) == text]
    return found
