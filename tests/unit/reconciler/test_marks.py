"""A restart is owed, not sent: marked before the change, kept until it was sent, taken back without one (4.1)."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from datum.model.content import Content
from datum.model.observation import Cause, Present, Unobservable
from datum.model.plan import OWES, Hold, HoldReason, Step
from datum.model.result import Outcome
from datum.provider.host import FileWrite, HostError, HostWriter
from datum.report.build import count_outcomes, report_resources
from datum_providers.file.desired import DesiredFile
from datum_providers.file.doing import apply_file
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import AtOnce, Batch, Scripted
from tests.unit.reconciler.manager import Scene, Unit, of, scene, told

WEB, A, B, C, SLOW = "daemon:web", "file:/etc/a", "file:/etc/b", "file:/etc/c", "scripted:/etc/a"
REFUSED = HostError("The manager does not answer.", code="manager-silent", cause=Cause.DATABASE)


def web(*listed: str, **others: Any) -> Any:
    return declare(WEB, restart_on=list(listed), **others)


def files(*texts: str, content: str = "new\n") -> list[Any]:
    return [declare(text, content=content) for text in texts]


def test_a_service_is_marked_before_the_change_and_restarted_after_it() -> None:
    """Once, and the closing plan is empty."""
    made = scene(web(A), *files(A))
    assert told(made.run()) == [f"mark {WEB} applied", f"create {A} applied", f"restart {WEB} applied"]
    assert made.work() == ["mark web", "commit", "write_file /etc/a", "restart web"]
    assert made.unit() == Unit(active=True, owes=None, read={"/etc/a": b"new\n"})
    assert made.is_converged()


def test_two_triggers_are_one_restart() -> None:
    made = scene(web(A, B), *files(A, B))
    assert told(made.run()) == [
        f"mark {WEB} applied",
        f"create {A} applied",
        f"mark {WEB} already",
        f"create {B} applied",
        f"restart {WEB} applied",
    ]
    assert made.manager.calls == ["mark web restart", "restart web"]


def test_a_reload_alone_is_a_reload_and_a_restart_settles_both() -> None:
    only = scene(declare(WEB, reload_on=[A]), *files(A))
    only.run()
    assert only.manager.calls == ["mark web reload", "reload web"]
    both = scene(declare(WEB, reload_on=[A], restart_on=[B]), *files(A, B))
    both.run()
    assert both.manager.calls == ["mark web reload", "mark web restart", "restart web"]
    assert both.is_converged()


def test_what_does_not_run_owes_nothing() -> None:
    """It is started once everything it lists is there."""
    made = scene(web(A), *files(A))
    made.unit().active = False
    results = made.run()
    assert told(results) == [f"mark {WEB} already", f"create {A} applied", f"update {WEB} applied"]
    assert made.manager.calls == ["start web"]
    assert made.unit().read == {"/etc/a": b"new\n"}


def test_what_stops_between_plan_and_mark_owes_nothing_and_is_not_restarted() -> None:
    """Its refresh finds nothing owed; that it does not run any more is seen by the closing plan."""
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    made.unit().active = False
    results = made.run(planned=planned)
    assert told(results) == [f"mark {WEB} already", f"create {A} applied", f"restart {WEB} already"]
    assert made.manager.calls == []
    assert [str(action.operation) for action in made.bench.plan().plan.actions] == ["update"]


def test_a_mark_that_fails_keeps_the_change_from_being_done() -> None:
    """And nothing else: what the service does not list goes on."""
    made = scene(web(A), *files(A, B))
    made.bench.host.fail(REFUSED, method="mark")
    results = made.run()
    assert told(results) == [
        f"mark {WEB} failed",
        f"create {A} skipped",
        f"restart {WEB} skipped",
        f"create {B} applied",
    ]
    skipped = of(results, f"create {A}")
    assert skipped.blocked_by == rid(WEB)
    assert of(results, f"restart {WEB}").blocked_by in {rid(A), rid(WEB)}
    assert made.bench.text("/etc/a") is None
    made.bench.host.heal()
    made.run()
    assert made.unit().read == {"/etc/a": b"new\n"}


@pytest.mark.parametrize("kind", ["scripted", "batch"])
def test_a_mark_that_fails_keeps_what_cannot_be_staged_from_being_done(kind: str) -> None:
    """Nothing of it is handed to its provider, and what requires it in one transaction is skipped with it."""
    batch = Batch()
    made = scene(
        web(f"{kind}:/etc/a"),
        declare(f"{kind}:/etc/a", content="n"),
        declare(f"{kind}:/etc/b", content="n", requires=[f"{kind}:/etc/a"]),
        declare(f"{kind}:/etc/c", content="n"),
        providers={"scripted": AtOnce(apply_file), "batch": batch},
    )
    made.bench.host.fail(REFUSED, method="mark")
    results = made.run()
    outcomes = {one.action.resource.name: one.outcome for one in results if one.action.resource.type == kind}
    assert outcomes == {"/etc/a": Outcome.SKIPPED, "/etc/b": Outcome.SKIPPED, "/etc/c": Outcome.APPLIED}
    assert of(results, f"create {kind}:/etc/b").blocked_by == rid(WEB)
    assert made.bench.text("/etc/a") is None
    assert "stage /etc/a" not in batch.calls


def test_marks_that_stand_before_nothing_are_set() -> None:
    """Whoever planned them."""
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    alone = evolve(planned.plan, actions=planned.plan.actions[:1])
    assert told(made.run(planned=evolve(planned, plan=alone))) == [f"mark {WEB} applied"]


def test_a_mark_that_does_not_hold_keeps_the_change_from_being_done() -> None:
    """The manager says yes, and looked at again there is none."""
    made = scene(web(A), *files(A))
    made.daemon.answers["web"] = Present({"running": True, OWES: None})
    results = made.run()
    assert told(results)[:2] == [f"mark {WEB} unverified", f"create {A} skipped"]
    assert made.bench.text("/etc/a") is None


def test_a_service_that_cannot_be_looked_at_any_more_keeps_the_change_from_being_done() -> None:
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    made.daemon.answers["web"] = Unobservable(Cause.DATABASE, "The manager does not answer.")
    results = made.run(planned=planned)
    assert told(results) == [f"mark {WEB} held", f"create {A} skipped", f"restart {WEB} skipped"]
    assert made.manager.calls == []


def test_a_mark_of_one_service_does_not_keep_the_change_of_another() -> None:
    made = scene(web(A), declare("daemon:db", restart_on=[B]), *files(A, B), units=("web", "db"))
    made.bench.host.fail(REFUSED, method="mark", subject="web")
    results = made.run()
    assert of(results, f"create {B}").outcome is Outcome.APPLIED
    assert made.manager.calls == ["mark db restart", "restart db"]


# Started in between.


def _starting(made: Scene, *, owes: str | None = None) -> Any:
    """Return what writes a file, once somebody started the unit that had read the old one."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        made.unit().active, made.unit().owes = True, owes
        made.unit().read = {desired.path: made.manager.bytes_at(desired.path)}
        apply_file(writer, desired, step)

    return act


@pytest.mark.parametrize("was_active", [True, False])
def test_what_was_started_in_between_is_marked_again(was_active: bool) -> None:
    """Between its mark and the write it read what stood there before: it owes a restart all the same."""
    made = scene(web(SLOW), declare(SLOW, content="new\n"), providers={"scripted": AtOnce(_fail)})
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_starting(made))}
    planned = made.bench.plan()
    made.unit().active = was_active
    results = made.run(planned=planned)
    change = of(results, f"create {SLOW}")
    assert change.outcome is Outcome.APPLIED
    assert change.remarks == (f"{WEB} was started meanwhile, and is marked again",)
    assert made.manager.calls[-2:] == ["mark web restart", "restart web"]
    assert made.unit().read == {"/etc/a": b"new\n"}


def test_what_owes_less_than_is_due_is_marked_again() -> None:
    made = scene(web(SLOW), declare(SLOW, content="new\n"), providers={"scripted": AtOnce(_fail)})
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_starting(made, owes="reload"))}
    made.run()
    assert made.manager.calls == ["mark web restart", "mark web restart", "restart web"]


def test_a_mark_that_is_lost_is_told() -> None:
    """The change is made, and nothing remembers that the unit owes a restart: not verified."""
    made = scene(web(SLOW), declare(SLOW, content="new\n"), providers={"scripted": AtOnce(_fail)})
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_starting(made))}
    made.bench.host.fail(REFUSED, method="mark", skip=1)
    results = made.run()
    change = of(results, f"create {SLOW}")
    assert change.outcome is Outcome.UNVERIFIED
    (found,) = change.diagnostics
    assert (found.code, WEB in found.detail, "does not answer" in found.detail) == ("mark-lost", True, True)
    assert of(results, f"restart {WEB}").outcome is Outcome.SKIPPED


# Taken back.


def batched(
    *, unstaged: dict[str, Exception] | None = None, failing: Exception | None = None, listed: str = "batch:/etc/a"
) -> Scene:
    resources = [declare(text, content="new\n") for text in ("batch:/etc/a", "batch:/etc/b")]
    batch = Batch(unstaged=unstaged, failing=failing)
    return scene(web(listed), *resources, providers={"batch": batch})


def test_a_mark_without_a_change_is_taken_back() -> None:
    """The package could not be had; what runs owes nothing for it."""
    made = batched(unstaged={"/etc/a": HostError("It cannot be had.")})
    results = made.run()
    assert told(results) == [
        f"mark {WEB} applied",
        "create batch:/etc/a failed",
        "create batch:/etc/b applied",
        f"restart {WEB} skipped",
    ]
    assert of(results, f"mark {WEB}").remarks == ("taken back: nothing was changed that it was for",)
    assert made.manager.calls == ["mark web restart", "mark web None"]
    assert made.unit().owes is None


class Torn(Batch):
    """A type whose commit leaves other bytes than anybody wants, and fails."""

    def commit(self, writer: HostWriter, staged: Sequence[object]) -> None:
        writer.write_file("/etc/b", FileWrite(Content.from_bytes(b"ne")))
        raise HostError("No space left.")


@pytest.mark.parametrize(("kind", "owes"), [(Torn, "restart"), (Batch, None)])
def test_a_mark_stays_for_a_failed_change_that_left_something(kind: type[Batch], owes: str | None) -> None:
    """A commit that failed may have come as far as this; where the path is as it was, nothing is owed."""
    resources = [declare(text, content="new\n") for text in ("batch:/etc/a", "batch:/etc/b")]
    batch = kind(failing=HostError("No space left."))
    made = scene(web("batch:/etc/b"), *resources, providers={"batch": batch})
    made.bench.host.add_content(Content.from_bytes(b"ne"), b"ne")
    results = made.run()
    assert of(results, "create batch:/etc/b").outcome is Outcome.FAILED
    assert made.unit().owes == owes


def test_what_could_not_be_verified_skips_the_refresh() -> None:
    """A type says that it is done, and it is not: the mark stays for the pass that mends it."""

    def lie(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        writer.write_file(desired.path, FileWrite(Content.from_bytes(b"ne")))

    made = scene(web(SLOW), declare(SLOW, content="new\n"), providers={"scripted": AtOnce(lie)})
    made.bench.host.add_file("/etc/a", b"old\n")
    made.bench.host.add_content(Content.from_bytes(b"ne"), b"ne")
    results = made.run()
    assert told(results) == [f"mark {WEB} applied", f"update {SLOW} unverified", f"restart {WEB} skipped"]
    assert of(results, f"restart {WEB}").blocked_by == rid(SLOW)
    assert made.manager.calls == ["mark web restart"]
    assert made.unit().owes == "restart"


def test_a_mark_stays_when_one_of_its_changes_was_made() -> None:
    made = scene(
        web("batch:/etc/a", B), declare("batch:/etc/a", content="n"), *files(B),
        providers={"batch": Batch(unstaged={"/etc/a": HostError("No.")})},
    )  # fmt: skip
    made.run()
    assert made.unit().owes == "restart"


def test_what_was_owed_before_is_owed_again() -> None:
    """A reload was due before this pass; the restart that it added is taken back, the reload is not."""
    made = batched(unstaged={"/etc/a": HostError("It cannot be had.")})
    made.unit().owes = "reload"
    results = made.run()
    assert made.manager.calls[:2] == ["mark web restart", "mark web reload"]
    assert of(results, f"restart {WEB}").outcome is Outcome.SKIPPED
    assert made.unit().owes == "reload"


def test_a_restart_that_is_not_due_becomes_the_reload_that_is() -> None:
    """One change was made and asks for a reload; the one that asks for a restart was not."""
    made = scene(
        declare(WEB, reload_on=[A], restart_on=["batch:/etc/z"]), *files(A), declare("batch:/etc/z", content="n"),
        providers={"batch": Batch(unstaged={"/etc/z": HostError("No.")})},
    )  # fmt: skip
    made.run()
    assert made.unit().owes == "reload"


def test_what_was_restarted_meanwhile_is_left_alone() -> None:
    """Its marks are gone, or are not those of this pass."""
    made = batched()
    stage = Batch.stage

    def restarted(self: Batch, writer: HostWriter, desired: DesiredFile, step: Step) -> object:
        made.unit().owes = None
        if desired.path == "/etc/a":
            raise HostError("It cannot be had.")
        return stage(self, writer, desired, step)

    batch = made.bench.providers["batch"]
    batch.stage = restarted.__get__(batch)  # type: ignore[attr-defined]  # one method of a double
    results = made.run()
    assert made.manager.calls == ["mark web restart"]
    assert of(results, f"mark {WEB}").remarks == ()


def test_a_mark_that_cannot_be_taken_back_is_told() -> None:
    """It costs one restart that nobody needed."""
    made = batched(unstaged={"/etc/a": HostError("It cannot be had.")})
    made.bench.host.fail(REFUSED, method="mark", skip=1)
    results = made.run()
    (remark,) = of(results, f"mark {WEB}").remarks
    assert remark.startswith("not taken back")
    assert "does not answer" in remark
    assert made.unit().owes == "restart"


def test_a_mark_that_is_taken_back_in_words_only_is_told() -> None:
    made = batched(unstaged={"/etc/a": HostError("It cannot be had.")})
    mark = made.manager.mark
    made.daemon._manager = _Stubborn(made, mark)  # type: ignore[assignment]  # a double of a double
    results = made.run()
    assert of(results, f"mark {WEB}").remarks == ("not taken back, although nothing was changed that it was for",)


class _Stubborn:
    """A manager that never forgets a mark."""

    def __init__(self, made: Scene, mark: Any) -> None:
        self._made, self._mark = made, mark

    def mark(self, name: str, owes: str | None) -> None:
        if owes is not None:
            self._mark(name, owes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made.manager, name)


def test_a_change_that_is_there_already_needs_no_mark() -> None:
    """It is looked at before the mark is set."""
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"new\n")
    results = made.run(planned=planned)
    assert told(results) == [f"mark {WEB} already", f"create {A} already", f"restart {WEB} already"]
    assert made.manager.calls == []


def test_a_change_that_is_held_when_its_turn_comes_needs_no_mark() -> None:
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"somebody else's\n")
    results = made.run(planned=planned)
    assert told(results) == [f"mark {WEB} skipped", f"create {A} held", f"restart {WEB} skipped"]
    assert made.manager.calls == []
    counts = count_outcomes(planned.plan, results)
    assert counts == {Outcome.HELD: 1, Outcome.SKIPPED: 1}


# Refreshes.


def test_a_failed_restart_stays_owed() -> None:
    """The next pass sends it again."""
    made = scene(web(A), *files(A))
    made.bench.host.fail(HostError("The job failed.", code="job-failed"), method="restart")
    results = made.run()
    assert told(results)[-1] == f"restart {WEB} failed"
    assert made.unit().owes == "restart"
    made.bench.host.heal()
    assert told(made.run()) == [f"restart {WEB} applied"]
    assert made.is_converged()


def test_a_refresh_of_what_failed_waits_and_stays_owed() -> None:
    failing = declare("scripted:/etc/b", content="b")
    made = scene(web(A, "scripted:/etc/b"), *files(A), failing, providers={"scripted": Scripted(_fail)})
    results = made.run()
    refresh = of(results, f"restart {WEB}")
    assert (refresh.outcome, refresh.blocked_by) == (Outcome.SKIPPED, rid("scripted:/etc/b"))
    assert made.unit().owes == "restart"


def _fail(*_: object) -> None:
    raise HostError("It will not.")


def test_a_restart_after_which_it_does_not_run_is_unverified() -> None:
    """It owes nothing any more, and that is not enough."""
    made = scene(web(A), *files(A))
    made.daemon.crashing.add("web")
    results = made.run()
    refresh = of(results, f"restart {WEB}")
    assert refresh.outcome is Outcome.UNVERIFIED
    assert "running" in refresh.diagnostics[0].detail


def test_what_requires_a_service_waits_for_its_refresh() -> None:
    made = scene(web(A), *files(A), declare(C, content="c", requires=[WEB]))
    made.bench.host.fail(HostError("The job failed."), method="restart")
    results = made.run()
    assert told(results)[-1] == f"create {C} skipped"
    assert of(results, f"create {C}").blocked_by == rid(WEB)


def test_a_held_change_marks_nothing_and_its_refresh_waits() -> None:
    made = scene(web(A), declare(A, content="new\n", audit=True))
    planned = made.bench.plan()
    assert told(made.run(planned=planned)) == [f"create {A} held"]
    assert made.manager.calls == []
    made.unit().owes = "restart"
    results = made.run()
    assert of(results, f"restart {WEB}").outcome is Outcome.SKIPPED if len(results) > 1 else True
    assert made.unit().owes == "restart"


def test_a_mark_that_is_held_says_so() -> None:
    """Whoever holds it."""
    made = scene(web(A), *files(A))
    planned = made.bench.plan()
    hold = Hold(HoldReason.PAUSE, "Somebody said so.")
    actions = tuple(evolve(one, hold=hold) for one in planned.plan.actions)
    results = made.run(planned=evolve(planned, plan=evolve(planned.plan, actions=actions)))
    assert [one.outcome for one in results] == [Outcome.HELD] * 3


# Signals.


@pytest.mark.parametrize("moment", range(4))
def test_a_signal_loses_nothing(moment: int) -> None:
    """Whenever it comes, the next pass does the rest, and the unit has read what is there."""
    made = scene(web(A, B), *files(A, B))
    asked = iter(range(100))
    results = made.run(is_stopping=lambda: next(asked) >= moment)
    assert len(results) == 5
    left = [one for one in results if any(item.code == "interrupted" for item in one.diagnostics)]
    assert all(one.outcome is Outcome.SKIPPED for one in left)
    made.run()
    assert made.unit().read == {"/etc/a": b"new\n", "/etc/b": b"new\n"}
    assert made.unit().owes is None
    assert made.is_converged()


def test_a_mark_that_a_signal_left_without_its_change_is_taken_back() -> None:
    """The first change could not be had, and the second was not begun any more."""
    made = scene(
        web("batch:/etc/a", C), declare("batch:/etc/a", content="n"), *files(C),
        providers={"batch": Batch(unstaged={"/etc/a": HostError("No.")})},
    )  # fmt: skip
    asked = iter(range(100))
    results = made.run(is_stopping=lambda: next(asked) >= 1)
    assert told(results) == [
        f"mark {WEB} applied",
        "create batch:/etc/a failed",
        f"mark {WEB} skipped",
        f"create {C} skipped",
        f"restart {WEB} skipped",
    ]
    assert made.unit().owes is None


# Kills.


class KilledError(BaseException):
    """The process ends here."""


def test_a_kill_at_any_call_loses_nothing() -> None:
    """Before or after any call to the host or the manager: the next pass ends with every unit at what is there."""
    for is_after in (False, True):
        for number in range(10_000):
            made = scene(declare(WEB, restart_on=[A], reload_on=[B]), *files(A, B))
            made.bench.host.add_file("/etc/a", b"old\n")
            made.start()
            planned = made.bench.plan()
            made.bench.host.fail(KilledError(), skip=number, times=1, after=is_after)
            try:
                made.run(planned=planned)
            except KilledError:
                pass
            else:
                break
            made.bench.host.heal()
            made.run()
            assert made.unit().read == {"/etc/a": b"new\n", "/etc/b": b"new\n"}
            assert made.is_converged()
        assert number > 5


# Reports.


def test_a_resource_is_as_well_as_the_worst_of_its_actions() -> None:
    made = scene(web(A), *files(A))
    made.bench.host.fail(HostError("The job failed."), method="restart")
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert count_outcomes(planned.plan, results) == {Outcome.APPLIED: 1, Outcome.FAILED: 1}
    shown = [(one.operation, one.outcome) for one in report_resources(planned.plan, results)]
    assert shown == [("mark", Outcome.APPLIED), ("create", Outcome.APPLIED), ("restart", Outcome.FAILED)]


def test_a_change_names_the_services_it_is_marked_for() -> None:
    made = scene(web(A), *files(A))
    shown = {one.operation: one.marks for one in report_resources(made.bench.plan().plan, ())}
    assert shown == {"mark": {}, "create": {rid(WEB): "restart"}, "restart": {}}
