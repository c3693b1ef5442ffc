"""Checks see candidates before services are marked for them; then marks, then renames (design 4.1, 4.2)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from datum.model.plan import Operation, Step
from datum.model.report import CheckOutcome
from datum.model.result import FailureCause, Outcome
from datum.provider.host import HostError, HostWriter
from datum.report.build import count_outcomes, report_resources
from datum.report.checks import report_checks
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import Scripted
from tests.unit.reconciler.manager import Scene, of, scene, told

WEB, A, B, CHECK = "daemon:web", "file:/etc/a", "file:/etc/b", "check:pair"
NOT_SHOWN = HostError("There are no namespaces.", code="cannot-be-shown")


def saying(complaint: str) -> Callable[[tuple[str, ...], bytes], str]:
    return lambda _argv, _data: complaint


def judged(*, complaint: str = "", more: Sequence[Any] = (), **web: Any) -> Scene:
    """Return two files that a check judges, and a service that lists both."""
    made = scene(
        declare(WEB, **{"restart_on": [A, B], **web}),
        declare(CHECK, run=["/bin/check", "/etc/a", "/etc/b"], guards=[A, B]),
        declare(A, content="new\n"),
        declare(B, content="new\n"),
        *more,
    )
    made.bench.host.add_check("/bin/check", saying(complaint))
    return made


def test_candidates_are_judged_then_marked_then_put_in_place() -> None:
    """And judged once more as they stand there, before the restart."""
    made = judged()
    results = made.run()
    assert told(results) == [
        f"mark {WEB} applied",
        f"create {A} applied",
        f"create {B} applied",
        f"restart {WEB} applied",
    ]
    assert made.work() == [
        f"judge {CHECK}",
        "mark web",
        "commit",
        "write_file /etc/a",
        "write_file /etc/b",
        f"judge {CHECK}",
        "restart web",
    ]
    assert of(results, f"create {A}").passed == of(results, f"restart {WEB}").passed == (rid(CHECK),)
    assert made.is_converged()


def test_what_a_check_refuses_marks_and_restarts_nothing() -> None:
    made = judged(complaint="bad line 7")
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert told(results) == [
        f"mark {WEB} skipped",
        f"create {A} failed",
        f"create {B} failed",
        f"restart {WEB} skipped",
    ]
    assert of(results, f"mark {WEB}").blocked_by == rid(A)
    assert made.manager.calls == []
    assert made.bench.text("/etc/a") is None
    assert count_outcomes(planned.plan, results) == {Outcome.FAILED: 3, Outcome.SKIPPED: 1}
    (check,) = report_checks(planned.plan, results)
    assert (check.outcome, check.candidates) == (CheckOutcome.REFUSED, (rid(A), rid(B), rid(WEB)))
    mark = report_resources(planned.plan, results)[0]
    assert mark.detail == f"What it stands before is not done, because of {A}: nothing is owed for it."


def test_a_service_that_cannot_be_marked_keeps_the_whole_set_from_the_host() -> None:
    made = judged()
    made.bench.host.fail(HostError("No."), method="mark")
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert told(results) == [
        f"mark {WEB} failed",
        f"create {A} skipped",
        f"create {B} skipped",
        f"restart {WEB} skipped",
    ]
    assert {one.blocked_by for one in results[1:3]} == {rid(WEB)}
    assert made.bench.text("/etc/a") is None
    told_of = {str(one.id): one.detail for one in report_resources(planned.plan, results)}
    assert told_of[A] == f"{WEB} would owe a restart for it, and could not be marked."


def test_a_mark_that_only_one_of_them_needs_keeps_all_of_them() -> None:
    """They make sense together only."""
    made = judged(restart_on=[A])
    made.bench.host.fail(HostError("No."), method="mark")
    results = made.run()
    assert {str(one.action.resource): one.outcome for one in results[1:3]} == {A: Outcome.SKIPPED, B: Outcome.SKIPPED}


def test_a_set_that_is_there_already_needs_no_mark() -> None:
    made = judged()
    planned = made.bench.plan()
    for path in ("/etc/a", "/etc/b"):
        made.bench.host.add_file(path, b"new\n")
    results = made.run(planned=planned)
    assert {one.outcome for one in results} == {Outcome.ALREADY}
    assert made.manager.calls == []


def test_a_set_of_which_one_is_blocked_needs_no_mark() -> None:
    made = judged()
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/b", b"somebody else's\n")
    results = made.run(planned=planned)
    assert told(results) == [
        f"mark {WEB} skipped",
        f"create {A} skipped",
        f"create {B} held",
        f"restart {WEB} skipped",
    ]
    assert made.manager.calls == []


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_signal_before_it_is_judged_leaves_the_marks(moment: int) -> None:
    made = judged()
    asked = iter(range(100))
    results = made.run(is_stopping=lambda: next(asked) >= moment)
    assert {one.outcome for one in results} == {Outcome.SKIPPED}
    assert {one.diagnostics[0].code for one in results[:3]} == {"interrupted"}
    assert made.manager.calls == []


def test_what_cannot_be_shown_is_marked_before_it_is_written_to_be_judged() -> None:
    """Killed while it is judged there, the unit still owes its restart."""
    made = judged()
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    results = made.run()
    assert told(results)[0] == f"mark {WEB} applied"
    assert made.work()[:4] == [f"judge {CHECK}", "mark web", f"judge {CHECK}", "commit"]
    assert made.is_converged()


def test_what_is_refused_after_it_was_written_has_its_marks_taken_back() -> None:
    made = judged(complaint="bad line 7")
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    results = made.run()
    assert told(results)[:2] == [f"mark {WEB} applied", f"create {A} failed"]
    assert made.manager.calls == ["mark web restart", "mark web None"]


def test_what_is_as_it_was_owes_nothing_whatever_is_said_of_putting_back() -> None:
    """It is looked at."""
    made = judged(complaint="bad line 7")
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    made.bench.host.fail(HostError("It could not be put back.", code="not-restored"), method="discard")
    made.run()
    assert made.unit().owes is None


def test_what_cannot_be_shown_and_not_be_marked_is_not_written() -> None:
    made = judged()
    made.bench.host.fail(NOT_SHOWN, method="judge", times=1)
    made.bench.host.fail(HostError("No."), method="mark")
    made.run()
    assert made.work() == [f"judge {CHECK}", "mark web"]


# One file whose own program judges it.


def alone(**file: Any) -> Scene:
    made = scene(
        declare(WEB, restart_on=[A]), declare(A, **{"content": "new\n", "validate": ["/bin/judge", "{path}"], **file})
    )
    made.bench.host.add_check("/bin/judge", lambda _argv, data: "bad" if b"bad" in data else "")
    return made


def test_one_file_is_judged_then_marked_then_put_in_place() -> None:
    made = alone()
    assert told(made.run()) == [f"mark {WEB} applied", f"create {A} applied", f"restart {WEB} applied"]
    assert made.work() == [
        "judge /etc/a",
        "mark web",
        "commit",
        "write_file /etc/a",
        f"judge {A}",
        "restart web",
    ]


def test_one_file_that_is_refused_marks_nothing() -> None:
    made = alone(content="bad\n")
    results = made.run()
    assert told(results) == [f"mark {WEB} skipped", f"create {A} failed", f"restart {WEB} skipped"]
    assert of(results, f"create {A}").cause is FailureCause.CHECK
    assert made.manager.calls == []
    assert made.bench.text("/etc/a") is None


def test_one_file_that_cannot_be_staged_is_marked_and_written() -> None:
    """Its program judges it all the same, and a refusal takes the mark back."""
    for content, outcome in (("new\n", "applied"), ("bad\n", "failed")):
        made = alone(content=content)
        made.bench.host.fail(HostError("Not this one.", code="cannot-be-staged"), method="stage_write_file")
        results = made.run()
        assert told(results)[:2] == [f"mark {WEB} applied", f"create {A} {outcome}"]
        assert made.unit().owes is None


def test_a_file_that_cannot_be_written_at_all_marks_nothing() -> None:
    """That is found before, where it is staged."""
    made = alone()
    made.bench.host.fail(HostError("No space left.", failure=FailureCause.NO_SPACE), method="stage_write_file")
    results = made.run()
    assert told(results)[:2] == [f"mark {WEB} skipped", f"create {A} failed"]
    assert made.manager.calls == []


def test_a_type_whose_answer_on_staging_is_wrong_is_done_directly() -> None:
    """Whatever it raises: the mark stands before its work."""

    class Wrong(Scripted):
        def can_stage(self, desired: DesiredFile) -> bool:
            raise RuntimeError("a bug")

    def write(writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        FileProvider().apply(writer, desired, step)

    made = scene(
        declare(WEB, restart_on=["scripted:/etc/a"]), declare("scripted:/etc/a", content="new\n"),
        providers={"scripted": Wrong(write)},
    )  # fmt: skip
    assert told(made.run())[:2] == [f"mark {WEB} applied", "create scripted:/etc/a applied"]
    assert made.work()[:2] == ["mark web", "write_file /etc/a"]


# The host as it is, before a unit is started or refreshed.


def owing(*, complaint: str = "", active: bool = True) -> Scene:
    """Return a set that is in place, and a service that owes a restart for it, or does not run."""
    made = judged(complaint=complaint)
    for path in ("/etc/a", "/etc/b"):
        made.bench.host.add_file(path, b"new\n")
    made.start()
    made.unit().active = active
    made.unit().owes = "restart" if active else None
    return made


@pytest.mark.parametrize("active", [True, False])
def test_a_unit_is_started_and_refreshed_only_when_the_checks_of_what_it_lists_pass(active: bool) -> None:
    """Whether or not this pass wrote any of it; nothing is staged for that."""
    made = owing(active=active)
    results = made.run()
    assert [one.outcome for one in results] == [Outcome.APPLIED]
    assert made.work() == [f"judge {CHECK}", "restart web" if active else "start web"]
    assert results[0].passed == (rid(CHECK),)


@pytest.mark.parametrize("active", [True, False])
def test_what_the_checks_refuse_is_neither_started_nor_refreshed(active: bool) -> None:
    made = owing(complaint="bad line 7", active=active)
    planned = made.bench.plan()
    results = made.run(planned=planned)
    (result,) = results
    assert (result.outcome, result.cause, result.refused_by) == (Outcome.FAILED, FailureCause.CHECK, rid(CHECK))
    assert (result.diagnostics[0].code, result.diagnostics[0].resource) == ("check-failed", CHECK)
    assert made.manager.calls == []
    assert made.unit().owes == ("restart" if active else None)
    (check,) = report_checks(planned.plan, results)
    assert (check.outcome, check.candidates) == (CheckOutcome.REFUSED, (rid(WEB),))
    shown = {str(one.id): one for one in report_resources(planned.plan, results)}
    assert shown[CHECK].detail == f"It kept {WEB} from being started or refreshed."
    assert count_outcomes(planned.plan, results) == {Outcome.FAILED: 2, Outcome.IN_SYNC: 2}


def test_a_check_that_cannot_be_run_keeps_the_unit_as_it_is() -> None:
    made = owing()
    made.bench.host.world.checks.clear()
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert results[0].outcome is Outcome.FAILED
    assert made.manager.calls == []
    assert [check.outcome for check in report_checks(planned.plan, results)] == [CheckOutcome.NOT_RUN]


def test_judging_that_takes_too_long_refuses_nothing_and_keeps_the_unit_as_it_is() -> None:
    made = owing()
    made.bench.host.fail(HostError("Too long.", failure=FailureCause.DEADLINE, code="deadline-passed"), method="judge")
    (result,) = made.run()
    assert (result.outcome, result.cause, result.refused_by) == (Outcome.FAILED, FailureCause.DEADLINE, None)
    assert result.diagnostics[0].resource == WEB
    assert made.manager.calls == []


def test_of_several_checks_those_before_the_one_that_refuses_passed() -> None:
    made = owing()
    other = "check:quiet"
    made.bench.resources = (*made.bench.resources, declare(other, run=["/bin/quiet"], guards=[A]))
    made.bench.host.add_check("/bin/quiet", saying("no"))
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert (results[0].passed, results[0].refused_by) == ((rid(CHECK),), rid(other))
    outcomes = {str(check.id): check.outcome for check in report_checks(planned.plan, results)}
    assert outcomes == {CHECK: CheckOutcome.PASSED, other: CheckOutcome.REFUSED}


def test_a_planned_guard_is_shown() -> None:
    (check,) = report_checks(owing().bench.plan().plan, ())
    assert (check.id, check.outcome, check.candidates) == (rid(CHECK), None, (rid(WEB),))


def test_the_program_of_a_listed_file_judges_it_where_it_stands() -> None:
    made = scene(
        declare(WEB, restart_on=[A, B]),
        declare(A, content="bad\n", validate=["/bin/judge", "{path}"]),
        declare(B, content="b\n"),
    )
    made.bench.host.add_check("/bin/judge", lambda _argv, data: "bad" if b"bad" in data else "")
    for path, data in (("/etc/a", b"bad\n"), ("/etc/b", b"b\n")):
        made.bench.host.add_file(path, data)
    made.start()
    made.unit().owes = "restart"
    planned = made.bench.plan()
    results = made.run(planned=planned)
    assert told(results) == [f"restart {WEB} failed"]
    assert results[0].refused_by == rid(A)
    assert {one.operation: one.outcome for one in report_resources(planned.plan, results)} == {
        str(Operation.REFRESH_RESTART): Outcome.FAILED,
        "": Outcome.FAILED,
    }


def test_a_refresh_that_is_not_due_any_more_is_not_judged() -> None:
    made = owing(complaint="bad line 7")
    planned = made.bench.plan()
    made.unit().owes = None
    assert told(made.run(planned=planned)) == [f"restart {WEB} already"]


def test_what_was_staged_to_be_judged_is_let_go_whatever_happens() -> None:
    made = owing()
    made.bench.host.fail(KeyboardInterrupt(), method="judge")
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert ("discard", "") in made.bench.host.calls


def test_a_service_that_lists_a_service_is_marked_before_the_restart_of_that() -> None:
    """A check that refuses the one restart spares the mark of the other."""
    for complaint, calls in (("", ["mark app restart", "restart web", "restart app"]), ("bad", [])):
        made = scene(
            declare(WEB, restart_on=[A]),
            declare("daemon:app", restart_on=[WEB]),
            declare(CHECK, run=["/bin/check", "/etc/a"], guards=[A]),
            declare(A, content="new\n"),
            units=("web", "app"),
        )
        made.bench.host.add_check("/bin/check", saying(complaint))
        made.bench.host.add_file("/etc/a", b"new\n")
        made.start()
        made.unit().owes = "restart"
        made.run()
        assert made.manager.calls == calls
