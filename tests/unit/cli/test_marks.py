"""Marks as people read them: one line for each service."""

from collections.abc import Sequence
from typing import Any

import pytest

from datum.cli.views import passes, planning
from datum.cli.views.paper import Paper
from datum.cli.views.resources import count_operations, write_resources
from datum.diagnostics import Diagnostic
from datum.model.check import Check
from datum.model.plan import OWES, Action, Change, Operation, Plan, Verdict, VerdictKind
from datum.model.result import ActionResult, Outcome, PassOutcome
from datum.report.as_json import report_to_json, resource_to_json
from datum.report.build import report_resources
from datum.report.checks import report_checks
from datum.report.plan_json import plan_to_json
from tests.unit.cli.screen import plain
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan, report

WEB = rid("service:web")


def mark(*, owes: Operation = Operation.REFRESH_RESTART) -> Action:
    return action("service:web", Operation.MARK, Change(OWES, None, str(owes)))


def marked(name: str, *, owes: Operation = Operation.REFRESH_RESTART) -> Action:
    return action(f"file:/etc/{name}", Operation.CREATE, marks={WEB: owes})


def lines(made: Plan, results: Sequence[ActionResult] = ()) -> list[str]:
    paper = Paper()
    write_resources(paper, [resource_to_json(one) for one in report_resources(made, results)], ())
    return plain(paper).splitlines()


def many(count: int, **owes: Any) -> Plan:
    return plan(*(one for number in range(count) for one in (mark(**owes), marked(f"{number}", **owes))))


def test_all_marks_of_a_service_are_one_line() -> None:
    """Where the first of them stands."""
    found = lines(many(3))
    assert found[0] == (
        "  * mark    service:web  before file:/etc/0, file:/etc/1, file:/etc/2, for which it owes a restart"
    )
    assert len([line for line in found if "mark" in line]) == 1


def test_of_many_changes_the_first_are_named() -> None:
    assert "file:/etc/2 and 9 more, for which" in lines(many(12))[0]


def test_a_reload_is_said_where_that_is_all() -> None:
    owes = Operation.REFRESH_RELOAD
    assert lines(many(2, owes=owes))[0].endswith("for which it owes a reload")
    both = plan(mark(owes=owes), marked("a", owes=owes), mark(), marked("b"))
    assert lines(both)[0].endswith("for which it owes a restart")


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        ((Outcome.APPLIED, Outcome.ALREADY), "applied"),
        ((Outcome.ALREADY, Outcome.SKIPPED), "already"),
        ((Outcome.SKIPPED, Outcome.SKIPPED), "skipped"),
    ],
)
def test_marks_that_went_well_are_told_together(outcomes: tuple[Outcome, ...], word: str) -> None:
    made = many(2)
    words = iter(outcomes)
    results = [
        ActionResult(one, next(words) if one.operation is Operation.MARK else Outcome.APPLIED) for one in made.actions
    ]
    first = lines(made, results)[0]
    assert first.startswith(f"  * mark    service:web  {word}  before ")


def test_a_mark_that_went_wrong_is_told_by_itself() -> None:
    """With what is known of it; the others stay together."""
    made = many(2)
    found = Diagnostic(code="manager-silent", summary="The manager does not answer.", detail="It timed out.")
    results = [
        ActionResult(made.actions[0], Outcome.FAILED, diagnostics=(found,)),
        ActionResult(made.actions[1], Outcome.SKIPPED, blocked_by=WEB),
        ActionResult(made.actions[2], Outcome.APPLIED),
        ActionResult(made.actions[3], Outcome.APPLIED),
    ]
    told = lines(made, results)
    assert told[0].startswith("  * mark    service:web  failed  ")
    assert [line for line in told if line.startswith("  * mark")][1].startswith("  * mark    service:web  applied")
    assert "could not be marked" in "\n".join(told)


def test_what_was_taken_back_is_said_once() -> None:
    made = many(2)
    results = [
        ActionResult(one, Outcome.APPLIED, remarks=("taken back",) if one.operation is Operation.MARK else ())
        for one in made.actions
    ]
    assert [line for line in lines(made, results) if "taken back" in line] == ["      note: taken back"]


def test_marks_of_an_old_report_name_no_changes() -> None:
    """It says nothing of them."""
    paper = Paper()
    old = [
        {key: value for key, value in resource_to_json(one).items() if key != "marks"}
        for one in report_resources(many(1), ())
    ]
    write_resources(paper, old, ())
    assert plain(paper).splitlines()[0] == "  * mark    service:web"


def test_marks_are_no_operations_that_people_count() -> None:
    shown = [resource_to_json(one) for one in report_resources(many(2), ())]
    assert count_operations(shown) == "2 to create"


def test_plan_and_report_as_json_have_every_mark(capsys: pytest.CaptureFixture[str]) -> None:
    """People get one line, programs get all."""
    made = many(2)
    found = plan_to_json(made)["resources"]
    assert isinstance(found, list)
    assert [one["operation"] for one in found] == ["mark", "create", "mark", "create"]
    assert found[1]["marks"] == [{"id": "service:web", "owes": "restart"}]
    planning.show_plan(made, is_json=False)
    assert capsys.readouterr().out.count("* mark") == 1
    paper = Paper()
    told = report(resources=report_resources(made, [ActionResult(one, Outcome.APPLIED) for one in made.actions]))
    passes.write_pass(paper, report_to_json(told))
    assert plain(paper).count("* mark") == 1


def test_a_file_that_judges_a_restart_and_cannot_be_looked_at_is_told() -> None:
    """What a check refused is told in the line of the check, and nothing else is left out for that."""
    judge = Check(rid("file:/etc/a"), ("judge",), 1.0)
    refresh = action("service:web", Operation.REFRESH_RESTART, Change(OWES, "restart", None), guards=(judge,))
    for verdict, count in ((Verdict(VerdictKind.UNOBSERVABLE, detail="Denied."), 2), (Verdict(VerdictKind.IN_SYNC), 1)):
        made = plan(refresh, verdicts={"file:/etc/a": verdict})
        results = [ActionResult(refresh, Outcome.FAILED, refused_by=rid("file:/etc/a"))]
        if count == 2:
            results = [ActionResult(refresh, Outcome.SKIPPED, blocked_by=rid("file:/etc/a"))]
        told = report(
            outcome=PassOutcome.FAILED,
            resources=report_resources(made, results),
            checks=report_checks(made, results),
        )
        paper = Paper()
        passes.write_pass(paper, report_to_json(told))
        assert plain(paper).count("file:/etc/a  ") == count
