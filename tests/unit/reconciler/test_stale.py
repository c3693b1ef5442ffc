"""A restart for evidence (design 4.1, rule 7; ADR 0044): marked by itself, then restarted, and safe from kills."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from attrs import evolve

from datum.model.observation import Observation, Present, StaleInput
from datum.model.plan import OWES, Step, Verdict, VerdictKind
from datum.model.result import Outcome
from datum.planner.inputs import Declaration
from datum.provider.host import HostError, HostWriter
from datum.report.build import left_over, report_resources
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, revision, rid
from tests.unit.reconciler.manager import Daemon, Scene, Wish, of, scene, told

WEB, A, B = "daemon:web", "file:/etc/a", "file:/etc/b"
RESTARTED = [f"mark {WEB} applied", f"restart {WEB} applied"]


class Telling(Daemon):
    """Knows what the unit has not read as it is, and has that acted on."""

    def _observe(self, name: str) -> Observation:
        found = super()._observe(name)
        unit = self._manager.units[name]
        assert isinstance(found, Present)
        if found.fields[OWES] == "restart" or not unit.active:
            return found
        differing = [path for path, data in unit.read.items() if self._manager.bytes_at(path) != data]
        return evolve(found, stale=tuple(StaleInput(rid(f"file:{path}"), path, 2, 1) for path in sorted(differing)))

    def acts_on_stale(self, desired: Wish) -> bool:
        return True


def known(*listed: str, content: str = "new\n", **others: Any) -> Scene:
    """Return a host that a pass has seen before, on which `/etc/a` is as declared and was read otherwise."""
    wanted = [declare(text, content=content) for text in (A, *listed)]
    made = scene(declare(WEB, restart_on=[A, *listed], **others), *wanted)
    made.daemon = Telling(made.manager)
    made.bench.providers = {**made.bench.providers, "daemon": made.daemon}
    made.bench.host.add_file("/etc/a", b"new\n")
    for text in listed:
        made.bench.host.add_file(rid(text).name, content.encode())
    made.start()
    made.unit().read["/etc/a"] = b"old\n"
    graph = made.bench.plan().given.graph
    made.bench.trail = (Declaration(revision(1), graph.nodes, graph.order),)
    made.bench.converged = graph.nodes
    return made


def test_what_was_not_read_is_restarted_once_and_then_nothing_is_left() -> None:
    made = known()
    assert told(made.run()) == RESTARTED
    assert made.manager.calls == ["mark web restart", "restart web"]
    assert made.unit().read == {"/etc/a": b"new\n"}
    assert made.is_converged()


def test_it_is_told_what_it_is_restarted_for() -> None:
    made = known()
    planned = made.bench.plan()
    results = made.run(planned=planned)
    mark, restart = report_resources(planned.plan, results)
    assert (mark.detail, mark.operation) == ("", "mark")
    assert restart.detail.startswith("/etc/a changed at 1970-01-01T00:00:00.000Z, after it was started")
    assert left_over(planned.plan, made.bench.plan().plan, results) == ()


def test_what_was_restarted_between_plan_and_turn_is_left_alone() -> None:
    made = known()
    planned = made.bench.plan()
    made.unit().read["/etc/a"] = b"new\n"
    assert told(made.run(planned=planned)) == [f"mark {WEB} already", f"restart {WEB} already"]
    assert made.manager.calls == []


def test_what_stopped_meanwhile_is_neither_marked_nor_restarted() -> None:
    made = known()
    planned = made.bench.plan()
    made.unit().active = False
    assert told(made.run(planned=planned)) == [f"mark {WEB} already", f"restart {WEB} already"]


def test_where_the_mark_fails_nothing_is_restarted_and_the_service_has_failed() -> None:
    made = known()
    made.bench.host.fail(HostError("The manager does not answer."), method="mark")
    results = made.run()
    assert [one.outcome for one in results] == [Outcome.FAILED, Outcome.ALREADY]
    assert made.manager.calls == []
    made.bench.host.heal()
    assert told(made.run()) == RESTARTED


def test_a_restart_that_fails_stays_owed() -> None:
    made = known()
    made.bench.host.fail(HostError("The job failed."), method="restart", times=1)
    assert of(made.run(), f"restart {WEB}").outcome is Outcome.FAILED
    assert made.unit().owes == "restart"
    assert told(made.run()) == [f"restart {WEB} applied"]
    assert made.is_converged()


def test_where_what_it_lists_is_stuck_at_its_turn_nothing_is_marked() -> None:
    """The restart would wait, and so does its mark."""
    made = known(B)
    planned = made.bench.plan()
    verdicts = {**planned.plan.verdicts, rid(B): Verdict(VerdictKind.IMPOSSIBLE)}
    results = made.run(planned=evolve(planned, plan=evolve(planned.plan, verdicts=verdicts)))
    assert told(results) == [f"mark {WEB} skipped", f"restart {WEB} skipped"]
    assert made.unit().owes is None


class KilledError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_any_call_loses_nothing(after: bool) -> None:
    def killed_at(number: int) -> Callable[[], Scene] | None:
        made = known()
        planned = made.bench.plan()
        made.bench.host.fail(KilledError(), skip=number, times=1, after=after)
        try:
            made.run(planned=planned)
        except KilledError:
            made.bench.host.heal()
            return lambda: made
        return None

    number = 0
    while found := killed_at(number):
        made = found()
        made.run()
        assert made.unit().read == {"/etc/a": b"new\n"}
        assert made.manager.calls.count("restart web") <= 2
        assert made.is_converged()
        number += 1
    assert number > 1


# The gap that rule 1 names.


class LastWrite(FileProvider):
    """Somebody starts the unit before its write, and the process ends after it."""

    meanwhile: ClassVar[list[Callable[[], None]]] = []

    def can_stage(self, desired: DesiredFile) -> bool:
        return False

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        self.meanwhile[-1]()
        super().apply(writer, desired, step)
        raise KilledError


def test_a_kill_between_a_write_and_the_mark_of_what_was_started_in_between_is_evidence() -> None:
    """It did not run when it was to be marked, was started before the write, and nobody lived to mark it again."""
    made = known()
    made.bench.host.add_file("/etc/a", b"old\n")
    made.unit().active = False

    def start() -> None:
        made.unit().active = True
        made.unit().read = {"/etc/a": b"old\n"}

    LastWrite.meanwhile.append(start)
    usual = made.bench.providers
    made.bench.providers = {**usual, "file": LastWrite()}
    with pytest.raises(KilledError):
        made.run()
    made.bench.providers = usual
    assert (made.bench.text("/etc/a"), made.unit().owes) == ("new\n", None)
    assert [one.path for one in made.bench.plan().plan.stale[rid(WEB)].inputs] == ["/etc/a"]
    assert told(made.run()) == RESTARTED
    assert made.unit().read == {"/etc/a": b"new\n"}
