"""Which checks judged candidates, and what they said."""

from typing import Any

import pytest

from datum.diagnostics import Diagnostic
from datum.model.check import Check
from datum.model.plan import Plan, Verdict, VerdictKind
from datum.model.report import CheckOutcome
from datum.model.result import ActionResult, FailureCause, Outcome
from datum.report.build import NAMED, count_outcomes, report_resources
from datum.report.checks import refusing, report_checks
from tests.unit.fakes import at, rid
from tests.unit.report.samples import action, plan

KEY = "check/check:a"


def check(text: str) -> Check:
    return Check(rid(text), ("/bin/true",), 5.0)


def made(*names: str) -> Plan:
    actions = [action(f"file:/{name}", transaction=KEY) for name in names]
    verdicts = {text: Verdict(VerdictKind.IN_SYNC, location=at(4)) for text in ("check:a", "check:b")}
    return plan(*actions, action("file:/z"), verdicts=verdicts, checks={KEY: (check("check:a"), check("check:b"))})


def results(one: Plan, outcome: Outcome, **others: Any) -> list[ActionResult]:
    return [
        ActionResult(item, outcome, **others) if item.transaction else ActionResult(item, Outcome.APPLIED)
        for item in one.actions
    ]


def said(one: Plan, found: list[ActionResult]) -> list[CheckOutcome | None]:
    return [report.outcome for report in report_checks(one, found)]


def test_planned_checks_say_nothing_yet() -> None:
    """And name what they will judge."""
    one = made("x", "y")
    assert said(one, []) == [None, None]
    assert {report.candidates for report in report_checks(one, [])} == {(rid("file:/x"), rid("file:/y"))}


def test_a_plan_without_checks_has_none() -> None:
    assert report_checks(plan(action("file:/x")), []) == ()


def test_passed_refused_and_not_run() -> None:
    one = made("x")
    passed = (rid("check:a"), rid("check:b"))
    assert said(one, results(one, Outcome.APPLIED, passed=passed)) == [CheckOutcome.PASSED] * 2
    refused = results(one, Outcome.FAILED, refused_by=rid("check:b"), cause=FailureCause.CHECK)
    assert said(one, refused) == [CheckOutcome.NOT_RUN, CheckOutcome.REFUSED]
    assert said(one, results(one, Outcome.HELD)) == [CheckOutcome.NOT_RUN] * 2
    code = (Diagnostic(code="check-not-run", summary="It could not be run."),)
    broken = results(one, Outcome.FAILED, refused_by=rid("check:a"), diagnostics=code)
    assert said(one, broken) == [CheckOutcome.NOT_RUN] * 2


def test_a_check_that_refused_is_what_failed() -> None:
    """Its own line names what it kept; the sums count it."""
    one = made("x")
    found = results(one, Outcome.FAILED, refused_by=rid("check:a"))
    assert refusing(one, found) == {rid("check:a"): [one.actions[0]]}
    (report,) = [item for item in report_resources(one, found) if item.id == rid("check:a")]
    assert (report.outcome, report.detail) == (Outcome.FAILED, "It kept file:/x from the host.")
    assert report.location == at(4)
    assert count_outcomes(one, found) == {Outcome.APPLIED: 1, Outcome.FAILED: 2, Outcome.IN_SYNC: 1}


def test_a_file_whose_own_validation_refused_is_no_check() -> None:
    one = plan(action("file:/x"))
    assert refusing(one, [ActionResult(one.actions[0], Outcome.FAILED, refused_by=rid("file:/x"))]) == {}


@pytest.mark.parametrize(("count", "end"), [(NAMED, f"file:/{NAMED - 1:02}"), (NAMED + 2, "and 2 more")])
def test_of_many_candidates_the_first_are_named(count: int, end: str) -> None:
    one = made(*(f"{index:02}" for index in range(count)))
    found = results(one, Outcome.FAILED, refused_by=rid("check:a"))
    (report,) = [item for item in report_resources(one, found) if item.id == rid("check:a")]
    assert report.detail.endswith(f"{end} from the host.")
