"""What changes while a service is stopped (ADR 0043): stopped when a change is about to be made, and started again."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard
from datum.model.observation import Cause, Observation, Present, Unobservable
from datum.model.plan import OWES, Hold, HoldReason, Step
from datum.model.result import FailureCause, Outcome
from datum.provider.host import HostError, HostWriter
from datum.report.build import count_outcomes, left_over, report_resources
from datum.report.waiting import waits
from datum_providers.file.desired import DesiredFile
from datum_providers.file.doing import apply_file
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import AtOnce, Batch
from tests.unit.reconciler.manager import Manager, Scene, Unit, of, scene, told

WEB, A, B, C, CHECK = "daemon:web", "file:/etc/a", "file:/etc/b", "file:/etc/c", "check:pair"
SLOW, LATE = "scripted:/etc/a", "scripted:/etc/z"
REFUSED = HostError("The manager does not answer.", code="manager-silent", cause=Cause.DATABASE)
BROKEN = HostError("The disk is full.", code="no-space", failure=FailureCause.NO_SPACE)
NOT_SHOWN = HostError("There are no namespaces.", code="cannot-be-shown")
AROUND: dict[str, Any] = {"while_stopped": [WEB]}


def around(*texts: str, **others: Any) -> list[Any]:
    """Declare these, each to change while the service is stopped."""
    return [declare(text, **{"content": "new\n", **AROUND, **others}) for text in texts]


def ran(made: Scene) -> Callable[[HostWriter, DesiredFile, Step], None]:
    """Return what writes a file and notes whether the unit ran meanwhile."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        made.manager.calls.append(f"write while {'running' if made.unit().active else 'stopped'}")
        apply_file(writer, desired, step)

    return act


def acting(act: Callable[..., None], *others: Any, **about: Any) -> Scene:
    """Return a service, a file that is written by `act` while it is stopped, and others."""
    made = scene(
        declare(WEB, **about), *around(SLOW), *others, providers={"scripted": AtOnce(lambda *_: None), "batch": Batch()}
    )
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(act)}
    return made


def test_a_file_changes_between_a_stop_and_a_start() -> None:
    made = scene(declare(WEB), *around(A))
    assert told(made.run()) == [f"stop {WEB} applied", f"create {A} applied", f"update {WEB} applied"]
    assert made.work() == ["stop web", "commit", "write_file /etc/a", "start web"]
    assert made.is_converged()


def test_what_cannot_be_staged_is_written_while_it_is_stopped() -> None:
    made = scene(declare(WEB), *around(SLOW), providers={"scripted": AtOnce(lambda *_: None)})
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(ran(made))}
    made.run()
    assert made.manager.calls == ["stop web", "write while stopped", "start web"]


def test_many_changes_are_one_stop_and_one_start() -> None:
    made = scene(declare(WEB), *around(A, C), declare(B, content="new\n"))
    made.run()
    assert made.manager.calls == ["stop web", "start web"]
    assert [made.bench.text(f"/etc/{name}") for name in "abc"] == ["new\n"] * 3


def test_members_of_a_transaction_change_while_it_is_stopped() -> None:
    batch = Batch()
    made = scene(
        declare(WEB), *around("batch:/etc/a"), declare("batch:/etc/b", content="new\n"), providers={"batch": batch}
    )
    results = made.run()
    assert told(results)[0] == f"stop {WEB} applied"
    assert made.manager.calls == ["stop web", "start web"]
    assert batch.calls == ["stage /etc/a", "stage /etc/b", "commit 2"]


# --- the start stands, whatever became of the change ---


@pytest.mark.parametrize("kind", ["file", "scripted", "batch"])
def test_a_change_that_fails_leaves_it_running(kind: str) -> None:
    made = scene(
        declare(WEB, requires=[f"{kind}:/etc/a"]),
        *around(f"{kind}:/etc/a"),
        providers={"scripted": AtOnce(lambda *_: None), "batch": Batch(failing=BROKEN)},
    )
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_fails)}
    made.bench.host.fail(BROKEN, method="commit")
    results = made.run()
    assert told(results) == [f"stop {WEB} applied", f"create {kind}:/etc/a failed", f"update {WEB} applied"]
    assert made.manager.calls == ["stop web", "start web"]
    assert made.unit().active


def _fails(*_: object) -> None:
    raise BROKEN


def test_a_change_that_ends_unverified_leaves_it_running() -> None:
    made = acting(lambda *_: None)
    assert told(made.run()) == [f"stop {WEB} applied", f"create {SLOW} unverified", f"update {WEB} applied"]


def test_what_requires_the_service_is_done_although_the_change_failed() -> None:
    made = acting(_fails, declare(C, content="new\n", requires=[WEB]))
    assert of(made.run(), f"create {C}").outcome is Outcome.APPLIED


def test_the_closing_plan_does_not_blame_the_service() -> None:
    """What failed would be done while it is stopped: that is not left of the service."""
    made = acting(_fails)
    planned = made.bench.plan()
    results = made.run(planned=planned)
    closing = made.bench.plan().plan
    assert [str(action.operation) for action in closing.actions] == ["stop", "create", "update"]
    assert left_over(planned.plan, closing, results) == ()


# --- what is not made stops nothing ---


def test_what_is_already_so_stops_nothing() -> None:
    made = scene(declare(WEB), *around(A))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"new\n")
    results = made.run(planned=planned)
    assert told(results) == [f"stop {WEB} already", f"create {A} already", f"update {WEB} already"]
    assert made.manager.calls == []
    assert count_outcomes(planned.plan, results) == {Outcome.ALREADY: 2}


def test_what_is_held_at_its_turn_stops_nothing_but_the_next_change_does() -> None:
    made = scene(declare(WEB), *around(A, B))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"other\n")
    results = made.run(planned=planned)
    assert told(results) == [
        f"stop {WEB} applied",
        f"create {A} held",
        f"create {B} applied",
        f"update {WEB} applied",
    ]
    assert made.work() == ["stop web", "commit", "write_file /etc/b", "start web"]


def test_what_is_skipped_stops_nothing() -> None:
    made = scene(
        declare(WEB), declare(LATE, content="x"), *around(A, requires=[LATE]), providers={"scripted": AtOnce(_fails)}
    )
    results = made.run()
    assert of(results, f"stop {WEB}").outcome is Outcome.SKIPPED
    assert of(results, f"stop {WEB}").blocked_by == rid(LATE)
    assert made.manager.calls == []


def judged(complaint: str = "", **web: Any) -> Scene:
    made = scene(
        declare(WEB, **web),
        declare(CHECK, run=["/bin/check", "/etc/a", "/etc/b"], guards=[A, B]),
        *around(A),
        declare(B, content="new\n"),
    )
    made.bench.host.add_check("/bin/check", lambda _argv, _data: complaint)
    return made


def test_candidates_are_judged_before_anything_is_stopped() -> None:
    made = judged()
    made.run()
    assert made.work() == [
        *(f"judge {CHECK}", "stop web", "commit", "write_file /etc/a", "write_file /etc/b", "start web"),
    ]


def test_what_a_check_refuses_stops_nothing() -> None:
    made = judged("bad line 7")
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert told(results) == [
        f"stop {WEB} skipped",
        f"create {A} failed",
        f"create {B} failed",
        f"update {WEB} already",
    ]
    assert made.manager.calls == []
    assert report_resources(planned.plan, results)[0].detail == (
        f"What it would be stopped for is not done, because of {A}."
    )


def test_what_no_check_saw_is_not_put_in_place_although_the_service_stopped_in_between() -> None:
    """It ran when it had to be stopped so that the candidates could be judged: nothing judged them."""
    made = judged("bad line 7")
    made.unit().active = False
    planned = made.bench.plan()
    made.unit().active = True
    made.daemon.answers = _Once(made)
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    results = made.run(planned=planned)
    assert told(results)[:2] == [f"create {A} held", f"create {B} skipped"]
    assert made.bench.text("/etc/a") is made.bench.text("/etc/b") is None


class _Once(dict[str, Observation]):
    """No answers: the unit ends by itself once it was looked at."""

    def __init__(self, made: Scene) -> None:
        super().__init__()
        self._made = made

    def get(self, name: str, default: Any = None) -> Any:
        unit = self._made.unit(name)
        seen, unit.active = unit.active, False
        return Present({"running": seen, OWES: None})


def test_what_cannot_be_shown_is_written_and_judged_while_it_is_stopped() -> None:
    made = judged("bad line 7")
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    results = made.run()
    assert told(results)[-1] == f"update {WEB} applied"
    assert made.manager.calls == ["stop web", "start web"]
    assert made.bench.text("/etc/a") is None


def test_the_program_of_a_file_judges_before_anything_is_stopped() -> None:
    made = scene(declare(WEB), *around(A, validate=["/bin/check", "{path}"]))
    made.bench.host.add_check("/bin/check", lambda _argv, _data: "bad")
    made.run()
    assert made.manager.calls == []


def test_a_check_that_refuses_the_host_as_it_is_then_keeps_it_down_and_says_so() -> None:
    """What it judges was no candidate of this pass."""
    made = scene(
        declare(WEB, restart_on=[B]),
        *around(A),
        declare(B, content="new\n", validate=["/bin/check", "{path}"], audit=True),
    )
    made.bench.host.add_file("/etc/b", b"old\n")
    made.bench.host.add_check("/bin/check", lambda _argv, _data: "bad")
    results = made.run()
    assert of(results, f"update {WEB}").outcome is Outcome.FAILED
    assert of(results, f"update {WEB}").cause is FailureCause.CHECK
    assert not made.unit().active


# --- what is stopped changes itself ---


def chained() -> Scene:
    """Return a service that is stopped for a file, and changes itself while another is stopped."""
    return scene(
        declare(WEB, setting="new", while_stopped=["daemon:db"]), declare("daemon:db"), *around(A), units=("web", "db")
    )


def test_what_is_stopped_changes_itself_only_while_what_it_names_is_stopped() -> None:
    made = chained()
    assert told(made.run()) == [
        *(f"stop {WEB} applied", f"create {A} applied", "stop daemon:db applied"),
        *(f"update {WEB} applied", "update daemon:db applied"),
    ]
    assert made.manager.calls == ["stop web", "stop db", "set web", "start web", "start db"]
    assert made.is_converged()


def test_what_cannot_be_stopped_for_the_rest_of_a_start_does_not_keep_that_from_being_made() -> None:
    made = chained()
    made.bench.host.fail(REFUSED, method="stop", subject="db")
    results = made.run()
    assert told(results) == [
        *(f"stop {WEB} applied", f"create {A} applied", "stop daemon:db failed"),
        *(f"update {WEB} unverified", "update daemon:db already"),
    ]
    assert made.unit() == Unit(active=True)
    assert "set web" not in made.manager.calls


def test_a_start_alone_stops_nothing_else() -> None:
    made = chained()
    planned = made.bench.plan()
    made.unit().value = "new"
    made.run(planned=planned)
    assert made.manager.calls == ["stop web", "start web"]


# --- a stop that fails ---


def test_what_cannot_be_stopped_keeps_the_change_from_being_made() -> None:
    made = scene(declare(WEB), *around(A, B), declare(C, content="new\n", requires=[WEB]))
    made.bench.host.fail(REFUSED, method="stop")
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert told(results) == [
        f"stop {WEB} failed",
        f"create {A} skipped",
        f"create {B} skipped",
        f"update {WEB} already",
        f"create {C} applied",
    ]
    assert of(results, f"create {A}").blocked_by == rid(WEB)
    assert made.manager.calls.count("stop web") <= 1, "it is tried once"
    assert made.bench.text("/etc/a") is None
    told_of = {str(one.id): one.detail for one in report_resources(planned.plan, results)}
    assert told_of[A] == f"It changes only while {WEB} is stopped, and that is not."


@pytest.mark.parametrize("kind", ["scripted", "batch"])
def test_what_cannot_be_stopped_keeps_what_is_not_staged_from_its_provider(kind: str) -> None:
    batch = Batch()
    made = scene(
        declare(WEB),
        *around(f"{kind}:/etc/a"),
        declare(f"{kind}:/etc/b", content="n"),
        providers={"scripted": AtOnce(apply_file), "batch": batch},
    )
    made.bench.host.fail(REFUSED, method="stop")
    results = made.run()
    assert of(results, f"create {kind}:/etc/a").outcome is Outcome.SKIPPED
    assert of(results, f"create {kind}:/etc/b").outcome is Outcome.APPLIED
    assert made.bench.text("/etc/a") is None
    assert "stage /etc/a" not in batch.calls


def test_a_set_of_candidates_is_all_or_nothing_when_a_stop_fails() -> None:
    made = judged()
    made.bench.host.fail(REFUSED, method="stop")
    results = made.run()
    assert told(results)[1:3] == [f"create {A} skipped", f"create {B} skipped"]
    assert made.bench.text("/etc/a") is made.bench.text("/etc/b") is None


def test_what_still_runs_after_its_stop_is_unverified_and_keeps_the_change_away() -> None:
    made = scene(declare(WEB), *around(A))
    made.daemon.answers["web"] = Present({"running": True, OWES: None})
    results = made.run()
    assert told(results) == [f"stop {WEB} unverified", f"create {A} skipped", f"update {WEB} already"]


def test_a_stop_that_fails_halfway_is_taken_back() -> None:
    """It was stopped, whatever the manager says of it: the start has its turn all the same, after a signal too."""
    made = scene(declare(WEB), *around(A))
    made.bench.host.fail(REFUSED, method="stop", after=True)
    results = made.run(is_stopping=_after(made, "stop"))
    assert told(results) == [f"stop {WEB} failed", f"create {A} skipped", f"update {WEB} applied"]
    assert made.unit().active


def test_a_stop_that_a_limit_holds_keeps_the_change_away() -> None:
    made = scene(declare(WEB), *around(A))
    planned = made.bench.plan()
    hold = Hold(HoldReason.LIMIT, "This pass would restart 1 services; the limit is 0.")
    stop, *others = planned.plan.actions
    held = evolve(planned, plan=evolve(planned.plan, actions=(evolve(stop, hold=hold), *others)))
    told_before = {(one.operation, str(one.outcome)) for one in report_resources(held.plan, ())}
    assert told_before == {("stop", "held"), ("create", "skipped"), ("update", "None")}
    assert told(made.run(planned=held)) == [
        f"stop {WEB} held",
        f"create {A} skipped",
        f"update {WEB} already",
    ]


# --- what others do meanwhile ---


def test_what_somebody_stopped_before_is_started_all_the_same() -> None:
    made = scene(declare(WEB), *around(A))
    planned = made.bench.plan()
    made.unit().active = False
    assert told(made.run(planned=planned)) == [
        f"stop {WEB} already",
        f"create {A} applied",
        f"update {WEB} applied",
    ]


def test_what_somebody_started_before_the_next_change_is_stopped_again() -> None:
    made = acting(lambda *_: None, *around(B))
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_starting(made))}
    results = made.run()
    assert made.manager.calls == ["stop web", "stop web", "start web"]
    assert of(results, f"stop {WEB}").remarks == (f"{WEB} was started meanwhile, and stopped again",)
    assert made.is_converged()


def _starting(made: Scene) -> Callable[[HostWriter, DesiredFile, Step], None]:
    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        made.unit().active = True
        apply_file(writer, desired, step)

    return act


def test_what_somebody_started_during_the_last_change_is_stopped_again_so_that_its_start_reads_it() -> None:
    made = acting(lambda *_: None)
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_starting(made))}
    results = made.run()
    assert told(results)[-1] == f"update {WEB} applied"
    assert made.manager.calls == ["stop web", "stop web", "start web"]


def test_what_cannot_be_stopped_again_keeps_further_changes_away_and_is_told() -> None:
    made = acting(lambda *_: None, *around(LATE))

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        made.bench.host.fail(REFUSED, method="stop")
        _starting(made)(writer, desired, step)

    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(act)}
    results = made.run()
    assert told(results) == [
        f"stop {WEB} applied",
        f"create {SLOW} unverified",
        f"create {LATE} skipped",
        f"update {WEB} already",
    ]
    assert of(results, f"stop {WEB}").remarks == (
        f"{WEB} was started meanwhile, and could not be kept stopped. The manager does not answer.",
    )
    (found,) = of(results, f"create {SLOW}").diagnostics
    assert (found.code, found.resource) == ("changed-while-running", SLOW)
    assert made.bench.text("/etc/z") is None


def started_for_good(made: Scene) -> Callable[[HostWriter, DesiredFile, Step], None]:
    """Return what somebody starts the unit for, who keeps it from being stopped again, before it writes."""

    def act(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        made.bench.host.fail(REFUSED, method="stop")
        made.manager.run("start", "web", (desired.path,))
        apply_file(writer, desired, step)

    return act


def test_what_lists_the_change_and_cannot_be_stopped_again_is_marked() -> None:
    """It runs on what it read before the change: that it owes a restart is not lost."""
    made = acting(lambda *_: None, restart_on=[SLOW])
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(started_for_good(made))}
    results = made.run()
    assert told(results) == [f"stop {WEB} applied", f"create {SLOW} applied", f"update {WEB} already"]
    assert of(results, f"create {SLOW}").remarks[-1] == (
        f"{WEB} was started meanwhile, and is marked, since it could not be stopped again"
    )
    assert made.unit() == Unit(active=True, owes="restart", read={"/etc/a": None})
    made.bench.host.heal()
    assert told(made.run()) == [f"restart {WEB} applied"]
    assert made.unit().read == {"/etc/a": b"new\n"}
    assert made.is_converged()


def test_what_can_neither_be_stopped_again_nor_marked_is_told() -> None:
    made = acting(lambda *_: None, restart_on=[SLOW])
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(started_for_good(made))}
    made.bench.host.fail(REFUSED, method="mark")
    change = of(made.run(), f"create {SLOW}")
    assert (change.outcome, change.diagnostics[0].code) == (Outcome.UNVERIFIED, "mark-lost")


def test_what_was_to_be_swept_and_is_to_be_written_by_then_is_held() -> None:
    """Nothing is stopped for a leftover; the write is one that nobody stopped anything for."""
    made = acting(lambda *_: None)
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(ran(made))}
    made.bench.host.add_file("/etc/a", b"new\n")
    made.bench.host.world.residues.add("/etc/a")
    planned = made.bench.plan()
    (sweep,) = planned.plan.actions
    assert not sweep.while_stopped
    assert sweep.unstopped == {rid(WEB)}
    made.bench.host.add_file("/etc/a", b"edited\n")
    results = made.run(planned=planned)
    assert told(results) == [f"update {SLOW} held"]
    assert results[0].diagnostics[0].detail == (
        f"{SLOW} changed after it was planned: it changes only while {WEB} is stopped, and no stop of that is planned."
    )
    assert made.bench.text("/etc/a") == "edited\n"
    assert made.manager.calls == []
    assert told(made.run()) == [f"stop {WEB} applied", f"update {SLOW} applied", f"update {WEB} applied"]


# --- what shall not run ---


def test_what_shall_not_run_is_stopped_although_the_change_is_refused() -> None:
    made = scene(declare(WEB, running=False), *around(A, validate=["/bin/check", "{path}"]), declare(C, content="n"))
    made.bench.host.add_check("/bin/check", lambda _argv, _data: "bad")
    results = made.run()
    assert told(results)[:2] == [f"stop {WEB} applied", f"create {A} failed"]
    assert not made.unit().active
    assert told(made.run()) == [f"create {A} failed"]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_declared_absent_is_stopped_whether_its_change_is_made_or_not(is_there: bool) -> None:
    made = scene(declare(WEB, absent=True, allow=[Hazard.OUTAGE]), *around(A, validate=["/bin/check", "{path}"]))
    made.bench.host.add_check("/bin/check", lambda _argv, _data: "bad")
    planned = made.bench.plan()
    if is_there:
        made.bench.host.add_file("/etc/a", b"new\n")
    results = made.run(planned=planned)
    assert of(results, f"stop {WEB}").outcome is Outcome.APPLIED
    assert of(results, f"delete {WEB}").outcome is not Outcome.HELD
    assert not made.unit().active


@pytest.mark.parametrize("before", [[], [False]], ids=["at the stop", "at the change"])
def test_what_shall_not_run_is_left_where_a_signal_came_before_its_change(before: list[bool]) -> None:
    made = scene(declare(WEB, running=False), *around(A))
    looks = iter(before)
    results = made.run(is_stopping=lambda: next(looks, True))
    assert {one.outcome for one in results} == {Outcome.SKIPPED}
    assert made.manager.calls == []


def test_what_shall_not_run_is_not_said_to_wait_for_a_change_that_is_held() -> None:
    """As what shall run again is: that is not stopped then."""
    for runs in (True, False):
        planned = scene(declare(WEB, running=runs), *around(A)).bench.plan().plan
        held = Hold(HoldReason.LIMIT, "This pass would change 1 resources; the limit is 0.")
        actions = tuple(evolve(one, hold=held) if one.resource == rid(A) else one for one in planned.actions)
        assert (0 in waits(evolve(planned, actions=actions))) is runs


def test_what_is_started_again_is_not_said_to_wait_for_the_stop_of_another() -> None:
    planned = chained().bench.plan().plan
    held = Hold(HoldReason.LIMIT, "This pass would restart 1 services; the limit is 0.")
    actions = tuple(evolve(one, hold=held) if one.resource == rid("daemon:db") else one for one in planned.actions)
    assert waits(evolve(planned, actions=actions)) == {}


def test_what_shall_not_run_and_whose_stop_is_held_runs_on() -> None:
    made = scene(declare(WEB, running=False), *around(A))
    planned = made.bench.plan()
    stop, change = planned.plan.actions
    hold = Hold(HoldReason.LIMIT, "This pass would restart 1 services; the limit is 0.")
    held = evolve(planned, plan=evolve(planned.plan, actions=(evolve(stop, hold=hold), change)))
    assert told(made.run(planned=held)) == [f"stop {WEB} held", f"create {A} skipped"]


# --- what nobody can look at ---


def unseen(*, is_up: bool) -> Scene:
    """Return what lists the service, and cannot be looked at."""
    made = scene(declare(WEB), *around(A), declare("daemon:t", restart_on=[WEB]), units=("web", "t"))
    made.daemon.answers["t"] = Unobservable(Cause.DENIED, "It may not be looked at.")
    made.unit().active = is_up
    return made


def test_what_lists_a_service_and_cannot_be_looked_at_does_not_keep_that_down() -> None:
    made = unseen(is_up=True)
    assert told(made.run()) == [f"stop {WEB} applied", f"create {A} applied", f"update {WEB} applied"]
    assert made.unit().active


def test_what_a_killed_pass_left_down_is_started_although_who_lists_it_cannot_be_looked_at() -> None:
    made = unseen(is_up=False)
    assert told(made.run()) == [f"create {A} applied", f"update {WEB} applied"]
    assert made.unit().active


@pytest.mark.parametrize("answer", [None, Unobservable(Cause.DATABASE, "The manager does not answer.")])
def test_what_did_not_run_and_does_when_its_change_comes_holds_it(answer: Unobservable | None) -> None:
    made = scene(declare(WEB), *around(A))
    made.unit().active = False
    planned = made.bench.plan()
    assert [str(action.operation) for action in planned.plan.actions] == ["create", "update"]
    made.unit().active = True
    if answer is not None:
        made.daemon.answers["web"] = answer
    results = made.run(planned=planned)
    change = of(results, f"create {A}")
    assert (change.outcome, made.bench.text("/etc/a")) == (Outcome.HELD, None)
    assert change.hold is not None
    assert change.hold.reason is HoldReason.CHANGED_UNDER_US
    assert change.hold.detail.startswith(f"{A} changes only while {WEB} is stopped. ")


# --- signals and kills ---


@pytest.mark.parametrize("at", ["stop", "write_file"])
def test_a_signal_leaves_everything_but_the_start(at: str) -> None:
    made = scene(declare(WEB), *around(A, B), declare(C, content="new\n"))
    results = made.run(is_stopping=_after(made, at))
    assert made.unit().active
    assert of(results, f"update {WEB}").outcome is Outcome.APPLIED
    assert of(results, f"create {C}").outcome is Outcome.SKIPPED
    assert made.bench.text("/etc/c") is None
    assert len(results) == 5


class Linked(Manager):
    """A manager that stops `app` along with `db`."""

    def stop(self, name: str) -> None:
        super().stop(name)
        if name == "db":
            self.units["app"].active = False


@pytest.mark.parametrize("managed", [Linked, Manager])
def test_a_signal_does_not_leave_down_what_went_along_with_a_stop(managed: type[Manager]) -> None:
    made = scene(
        declare("daemon:db"),
        declare("daemon:app", after=["daemon:db"]),
        declare(A, content="new\n", while_stopped=["daemon:db"]),
        declare(B, content="new\n", while_stopped=["daemon:app"]),
        units=("db", "app"),
        managed=managed,
    )
    results = made.run(is_stopping=_after(made, "stop"))
    assert (made.unit("db").active, made.unit("app").active) == (True, True)
    assert of(results, f"create {B}").outcome is Outcome.SKIPPED
    app = of(results, "update daemon:app")
    assert app.outcome is (Outcome.APPLIED if managed is Linked else Outcome.SKIPPED)


def _after(made: Scene, method: str) -> Callable[[], bool]:
    return lambda: any(called == method for called, _ in made.bench.host.calls)


def test_a_signal_before_the_stop_leaves_all_of_it() -> None:
    made = scene(declare(WEB), *around(A))
    results = made.run(is_stopping=lambda: True)
    assert {one.outcome for one in results} == {Outcome.SKIPPED}
    assert len(results) == 3
    assert made.manager.calls == []


def test_after_a_kill_between_stop_and_start_the_next_pass_starts_it() -> None:
    made = scene(declare(WEB), *around(A))
    made.bench.host.fail(_Killed(), method="write_file", subject="/etc/a")
    with pytest.raises(_Killed):
        made.run()
    assert made.unit() == Unit(active=False, owes=None, read={})
    made.bench.host.heal()
    assert told(made.run()) == [f"create {A} applied", f"update {WEB} applied"]
    assert made.is_converged()


class _Killed(BaseException):
    """What ends a process that is not asked."""


# --- what a service owes ---


def test_a_change_before_the_stop_is_satisfied_by_the_start() -> None:
    made = scene(declare(WEB, restart_on=[A]), declare(A, content="new\n"), *around(B))
    made.start()
    results = made.run()
    assert told(results) == [
        f"mark {WEB} applied",
        f"create {A} applied",
        f"stop {WEB} applied",
        f"create {B} applied",
        f"update {WEB} applied",
        f"restart {WEB} already",
    ]
    assert made.manager.calls == ["mark web restart", "stop web", "start web"]
    assert made.unit().read == {"/etc/a": b"new\n"}


def test_where_nothing_was_stopped_in_the_end_what_is_owed_is_refreshed() -> None:
    made = scene(declare(WEB, restart_on=[A]), declare(A, content="new\n"), *around(B))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/b", b"new\n")
    made.run(planned=planned)
    assert made.manager.calls == ["mark web restart", "restart web"]


def test_what_lists_a_service_that_cannot_be_marked_does_not_keep_that_down() -> None:
    made = scene(declare(WEB), declare("daemon:db", restart_on=[WEB]), *around(A), units=("web", "db"))
    made.bench.host.fail(REFUSED, method="mark", subject="db")
    results = made.run()
    assert of(results, f"update {WEB}").diagnostics[0].code == "mark-lost"
    assert made.unit().active


# --- what the refresh behind a start is for ---


def test_where_nothing_is_owed_a_failed_change_skips_no_refresh_behind_a_start() -> None:
    """Else what requires the service would wait for it."""
    made = acting(
        _fails, declare(B, content="new\n"), declare(C, content="new\n", requires=[WEB]), restart_on=[B, SLOW]
    )
    results = made.run()
    assert of(results, f"create {SLOW}").outcome is Outcome.FAILED
    assert of(results, f"update {WEB}").outcome is Outcome.APPLIED
    assert of(results, f"restart {WEB}").outcome is Outcome.ALREADY
    assert of(results, f"create {C}").outcome is Outcome.APPLIED


def test_what_is_owed_behind_a_start_waits_for_what_failed() -> None:
    class Owing(Manager):
        def run(self, call: str, name: str, paths: tuple[str, ...] = ()) -> None:
            super().run(call, name, paths)
            self.units[name].owes = "restart"

    others = [declare(B, content="new\n"), declare(C, content="new\n", requires=[WEB])]
    made = scene(
        declare(WEB, restart_on=[B, SLOW]),
        *(*around(SLOW), *others),
        providers={"scripted": AtOnce(lambda *_: None)},
        managed=Owing,
    )
    made.bench.providers = {**made.bench.providers, "scripted": AtOnce(_fails)}
    results = made.run()
    assert of(results, f"restart {WEB}").outcome is Outcome.SKIPPED
    assert of(results, f"create {C}").outcome is Outcome.SKIPPED


def test_where_nobody_knows_whether_it_runs_nothing_changes() -> None:
    """No stop was planned, since it did not run then."""
    made = acting(lambda *_: None)
    made.unit().active = False
    planned = made.bench.plan()
    made.daemon.answers["web"] = Present({"running": Unobservable(Cause.DATABASE, "No answer."), OWES: None})
    results = made.run(planned=planned)
    assert of(results, f"create {SLOW}").outcome is Outcome.HELD
