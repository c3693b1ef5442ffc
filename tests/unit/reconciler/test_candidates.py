"""Resources that a check judges together: all of them are put in place, or none (design 4.2)."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from attrs import define, evolve, field

from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.observation import Cause
from datum.model.plan import Hold, HoldReason
from datum.model.report import CheckOutcome
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.provider.host import FileWrite, HostError
from datum.report.build import count_outcomes, report_resources
from datum.report.checks import report_checks
from datum.testing.host import FakeHost
from datum_providers.check.provider import CheckProvider
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import Bench, Scripted, no_deadline, result_of, story

A, B, C = "file:/etc/a", "file:/etc/b", "file:/etc/c"
CHECK, OTHER = "check:pair", "check:quiet"


class RefusalError(HostError):
    """What a staging writer raises when a check says no."""

    def __init__(self, check: str, **others: Any) -> None:
        super().__init__(
            "It ended with 1 and said: bad line 7.",
            **{"code": "check-failed", "failure": FailureCause.CHECK, **others},
        )
        self.check: ResourceId = rid(check)


@define(slots=False)
class Stage:
    """A staging writer over a fake host: files are written when they are committed."""

    host: FakeHost
    # What each stage of the work raises.
    judging: BaseException | None = None
    committing: BaseException | None = None
    # How many candidates are put in place before `committing` is raised.
    done_before: int = 0
    calls: list[str] = field(factory=list)
    remarks: list[str] = field(factory=list)
    _waiting: list[tuple[str, FileWrite]] = field(factory=list)

    def write_file(self, path: str, wanted: FileWrite) -> None:
        self.calls.append(f"stage {path}")
        self.remarks.append(f"staged {path}")
        self._waiting.append((path, wanted))

    def judge(self, checks: Sequence[Check], *, writes: bool = True) -> None:
        self.calls.append("judge " + " ".join(str(check.resource) for check in checks))
        self.remarks.append("judged")
        if self.judging is not None:
            raise self.judging

    def commit(self) -> None:
        self.calls.append("commit")
        for path, wanted in self._waiting[: self.done_before if self.committing else None]:
            self.host.writer().write_file(path, wanted)
        if self.committing is not None:
            raise self.committing

    def discard(self) -> None:
        self.calls.append("discard")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host.writer(), name)


@define(slots=False)
class Pair:
    """Two files that a check judges, what requires one of them, and one that nobody judges."""

    bench: Bench
    stage: Stage

    def run(self, **others: Any) -> tuple[ActionResult, ...]:
        return self.bench.run(staging=lambda: self.stage, **others)

    def text(self, path: str) -> str | None:
        return self.bench.text(path)


AFTER, ALONE = "file:/etc/y", "file:/etc/z"


def pair(
    *,
    first: Mapping[str, Any] | None = None,
    more: Sequence[Any] = (),
    providers: Mapping[str, Any] | None = None,
    **stage: Any,
) -> Pair:
    resources = (
        declare(CHECK, run=["/bin/check", "/etc/a"], guards=[A, B], timeout=7),
        declare(A, **{"content": "a\n", **(first or {})}),
        declare(B, content="b\n"),
        declare(AFTER, content="y\n", requires=[B]),
        declare(ALONE, content="z\n"),
        *more,
    )
    kinds = {"file": FileProvider(), "check": CheckProvider(), **(providers or {})}
    bench = Bench(resources, providers=kinds)
    return Pair(bench, Stage(bench.host, **stage))


def test_candidates_are_staged_judged_and_put_in_place() -> None:
    """In that order; what requires one of them comes after; the check itself has no action."""
    made = pair()
    results = made.run()
    assert made.stage.calls == ["stage /etc/a", "stage /etc/b", f"judge {CHECK}", "commit"]
    assert story(results) == {A: "applied", B: "applied", AFTER: "applied", ALONE: "applied"}
    assert made.text("/etc/a") == "a\n"
    assert result_of(results, A).passed == (rid(CHECK),)
    assert result_of(results, ALONE).passed == ()


def test_remarks_are_those_of_the_candidate_and_of_the_whole() -> None:
    results = pair().run()
    assert result_of(results, A).remarks == ("staged /etc/a", "judged")
    assert result_of(results, B).remarks == ("staged /etc/b", "judged")


def test_a_refusal_keeps_every_candidate_from_the_host() -> None:
    """What the check printed stands once; what requires a candidate is skipped, nothing else."""
    made = pair(judging=RefusalError(CHECK))
    results = made.run()
    assert story(results) == {A: "failed", B: "failed", AFTER: "skipped", ALONE: "applied"}
    assert (made.text("/etc/a"), made.text("/etc/b")) == (None, None)
    assert made.stage.calls[-2:] == [f"judge {CHECK}", "discard"]
    first, second = result_of(results, A), result_of(results, B)
    for one in (first, second):
        assert (one.cause, one.refused_by, one.passed) == (FailureCause.CHECK, rid(CHECK), ())
        assert one.verification is not None
        assert not one.verification.converged
        assert [found.code for found in one.diagnostics] == ["check-failed"]
        assert one.diagnostics[0].resource == CHECK
    assert "bad line 7" in first.diagnostics[0].detail
    assert second.diagnostics[0].detail == f"{CHECK} judges it together with {A}, where the reason stands."
    assert result_of(results, AFTER).blocked_by == rid(B)


def test_a_refusal_is_reported_with_the_check() -> None:
    """The check has no action; it is the one that failed."""
    made = pair(judging=RefusalError(CHECK))
    plan = made.bench.plan().plan
    results = made.run()
    shown = {str(one.id): one for one in report_resources(plan, results)}
    assert shown[CHECK].outcome is Outcome.FAILED
    assert shown[CHECK].detail == f"It kept {A}, {B} from the host."
    assert shown[A].refused_by == rid(CHECK)
    assert count_outcomes(plan, results) == {Outcome.APPLIED: 1, Outcome.FAILED: 3, Outcome.SKIPPED: 1}
    (check,) = report_checks(plan, results)
    assert (check.id, check.outcome, check.candidates) == (rid(CHECK), CheckOutcome.REFUSED, (rid(A), rid(B)))


def test_what_a_check_said_is_reported() -> None:
    made = pair()
    plan = made.bench.plan().plan
    assert [check.outcome for check in report_checks(plan, ())] == [None]
    assert [check.outcome for check in report_checks(plan, made.run())] == [CheckOutcome.PASSED]
    broken = pair(judging=RefusalError(CHECK, code="check-not-run"))
    assert [check.outcome for check in report_checks(plan, broken.run())] == [CheckOutcome.NOT_RUN]


def test_every_check_of_the_set_is_given() -> None:
    """In the order of their ids; only the one that refuses is to blame, those before it passed."""
    other = declare(OTHER, run=["/bin/quiet"], guards=[B, C], timeout=9)
    made = pair(more=[other, declare(C, content="c\n")], judging=RefusalError(OTHER))
    plan = made.bench.plan().plan
    results = made.run()
    assert f"judge {CHECK} {OTHER}" in made.stage.calls
    assert {str(result.refused_by) for result in results if result.cause is FailureCause.CHECK} == {OTHER}
    outcomes = {str(check.id): check.outcome for check in report_checks(plan, results)}
    assert outcomes == {CHECK: CheckOutcome.PASSED, OTHER: CheckOutcome.REFUSED}


def test_a_member_that_is_there_already_takes_no_part() -> None:
    """The others go on; where all are there nothing is judged."""
    made = pair()
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"a\n")
    results = made.run(planned=planned)
    assert story(results)[A] == "already"
    assert made.stage.calls == ["stage /etc/b", f"judge {CHECK}", "commit"]
    assert result_of(results, A).passed == ()
    made = pair()
    planned = made.bench.plan()
    for path in ("a", "b"):
        made.bench.host.add_file(f"/etc/{path}", f"{path}\n".encode())
    assert story(made.run(planned=planned)) == {A: "already", B: "already", AFTER: "applied", ALONE: "applied"}
    assert made.stage.calls == []


def test_a_member_that_is_already_there_keeps_its_result_when_others_are_blocked() -> None:
    def refuse(*_: object) -> None:
        raise HostError("It will not.")

    made = pair(
        more=[declare("scripted:/etc/c", content="c\n"), declare(OTHER, run=["x"], guards=[A, "scripted:/etc/c"])],
        providers={"scripted": Scripted(refuse)},
    )
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/a", b"a\n")
    results = made.run(planned=planned)
    assert story(results) == {
        A: "already", B: "skipped", "scripted:/etc/c": "failed", AFTER: "skipped", ALONE: "applied",
    }  # fmt: skip
    assert made.stage.calls == ["stage /etc/b", "discard"]
    assert result_of(results, B).blocked_by == rid("scripted:/etc/c")


def blocked_plan(made: Pair, text: str) -> Any:
    planned = made.bench.plan()
    hold = Hold(HoldReason.PAUSE, "Somebody said so.")
    actions = tuple(
        evolve(action, hold=hold) if str(action.resource) == text else action for action in planned.plan.actions
    )
    return evolve(planned, plan=evolve(planned.plan, actions=actions))


@pytest.mark.parametrize("text", [A, B])
def test_one_that_is_held_holds_up_the_others(text: str) -> None:
    """Before or after it in the order; nothing of the set is put in place."""
    made = pair()
    results = made.run(planned=blocked_plan(made, text))
    (other,) = {A, B} - {text}
    assert (story(results)[text], story(results)[other]) == ("held", "skipped")
    assert result_of(results, other).blocked_by == rid(text)
    assert made.stage.calls[-1] == "discard"
    assert not made.stage.calls[:-2]
    assert (made.text("/etc/a"), made.text("/etc/b")) == (None, None)


def test_each_that_is_held_says_so_itself() -> None:
    made = pair()
    planned = blocked_plan(made, A)
    hold = planned.plan.actions[0].hold
    actions = tuple(
        evolve(action, hold=hold) if str(action.resource) in {A, B} else action for action in planned.plan.actions
    )
    results = made.run(planned=evolve(planned, plan=evolve(planned.plan, actions=actions)))
    assert (story(results)[A], story(results)[B]) == ("held", "held")


def test_one_that_changed_under_us_holds_up_the_others() -> None:
    made = pair()
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/b", b"somebody else's\n")
    results = made.run(planned=planned)
    assert (story(results)[A], story(results)[B]) == ("skipped", "held")
    assert made.stage.calls == ["stage /etc/a", "discard"]


def test_one_that_cannot_be_looked_at_holds_up_the_others() -> None:
    made = pair()
    planned = made.bench.plan()
    made.bench.host.fail(HostError("Denied.", cause=Cause.DENIED), method="examine", subject="/etc/b")
    results = made.run(planned=planned)
    assert (story(results)[A], story(results)[B]) == ("skipped", "held")
    assert result_of(results, B).cause is FailureCause.UNOBSERVABLE


def test_a_bug_of_a_provider_while_staging_is_its_own() -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("a bug")

    made = pair(
        more=[declare("scripted:/etc/c", content="c\n"), declare(OTHER, run=["x"], guards=[A, "scripted:/etc/c"])],
        providers={"scripted": Scripted(bug)},
    )
    results = made.run()
    assert result_of(results, "scripted:/etc/c").cause is FailureCause.BREACH
    assert (story(results)[A], story(results)[B]) == ("skipped", "skipped")


def test_a_commit_that_fails_leaves_each_to_its_own_verification() -> None:
    """What is in place is applied, whatever the commit said."""
    made = pair(committing=HostError("No space left.", failure=FailureCause.NO_SPACE), done_before=1)
    results = made.run()
    assert (story(results)[A], story(results)[B]) == ("applied", "failed")
    assert result_of(results, B).cause is FailureCause.NO_SPACE
    assert made.stage.calls[-2:] == ["commit", "discard"]
    assert result_of(results, A).passed == result_of(results, B).passed == (rid(CHECK),)


def test_judging_that_takes_too_long_fails_all_and_refuses_none() -> None:
    made = pair(judging=HostError("Too long.", failure=FailureCause.DEADLINE, code="deadline-passed"))
    results = made.run()
    for text in (A, B):
        assert (result_of(results, text).cause, result_of(results, text).refused_by) == (FailureCause.DEADLINE, None)
        assert result_of(results, text).diagnostics[0].resource == text


def test_the_validation_of_one_file_refuses_all_of_the_set() -> None:
    """It is no check of the plan; what it said stands once."""
    error = HostError("visudo says no.", code="check-failed", failure=FailureCause.CHECK)
    results = pair(judging=error).run()
    first, second = result_of(results, A), result_of(results, B)
    assert (first.refused_by, first.cause, second.cause) == (None, FailureCause.CHECK, FailureCause.CHECK)
    assert (first.diagnostics[0].resource, second.diagnostics[0].resource) == (A, B)
    assert first.diagnostics[0].detail == "visudo says no."
    assert second.diagnostics[0].detail == f"A check judges it together with {A}, where the reason stands."


def test_deadlines_are_sums_of_what_takes_part() -> None:
    """Each is staged within its own; judged within all of them and those of the checks."""
    seen: list[float] = []

    def deadline(seconds: float) -> AbstractContextManager[None, None]:
        seen.append(seconds)
        return no_deadline(seconds)

    pair().run(deadline=deadline)
    own = FileProvider().apply_deadline
    assert seen[:4] == [own, own, 2 * own + 7, 2 * own]


@pytest.mark.parametrize("moment", [1, 2, 3], ids=["before", "between", "before-judging"])
def test_a_signal_discards_what_is_staged(moment: int) -> None:
    """Nothing of the set is in place, so nothing of it was begun."""
    made = pair()
    asked = iter(range(100))
    results = made.run(is_stopping=lambda: next(asked) >= moment)
    assert set(story(results).values()) == {"skipped"}
    assert {result.diagnostics[0].code for result in results} == {"interrupted"}
    assert made.stage.calls == [f"stage /etc/{name}" for name in "ab"[: moment - 1]] + ["discard"]
    assert (made.text("/etc/a"), made.text("/etc/b")) == (None, None)


def test_a_second_interrupt_still_discards() -> None:
    made = pair(judging=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert made.stage.calls[-1] == "discard"


def test_what_cannot_be_discarded_is_a_leftover_and_no_error() -> None:
    made = pair(judging=RefusalError(CHECK))

    def fail() -> None:
        raise HostError("It is gone.")

    made.stage.discard = fail  # type: ignore[method-assign]  # one call of a double
    assert story(made.run())[A] == "failed"


def test_progress_counts_within_the_set() -> None:
    seen: list[int] = []
    pair().run(progress=lambda number, _action: seen.append(number))
    assert seen == [1, 2, 3, 4]


def test_members_may_need_each_other() -> None:
    """A directory and what lies in it are staged together: the folder is not there before both are."""
    folder, inner = "directory:/etc/app.d", "file:/etc/app.d/x"
    bench = Bench(
        (
            declare(CHECK, run=["x"], guards=[folder, inner]),
            declare(folder),
            declare(inner, content="x\n"),
        ),
        providers={"file": FileProvider(), "check": CheckProvider(), "directory": DirectoryProvider()},
    )
    bench.host.world.checks["x"] = lambda _argv, _data: ""
    plan = bench.plan().plan
    assert [str(action.resource) for action in plan.actions] == [folder, inner]
    results = bench.run()
    assert story(results) == {folder: "applied", inner: "applied"}
