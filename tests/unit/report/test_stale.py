"""The words on what changed after something was started."""

import pytest

from datum.model.observation import StaleInput
from datum.model.plan import OWES, Change, Operation, Stale
from datum.model.result import Outcome
from datum.report.as_json import report_to_json
from datum.report.build import report_resources
from datum.report.plan_json import plan_to_json
from datum.report.stale import moment, reason_of
from tests.unit.fakes import rid
from tests.unit.report.samples import action, plan, report, result, validator

WEB = rid("service:web")
NINE = 1_764_493_200_250_999


def changed(name: str, *, since: int = NINE - 3_600_000_000, is_ahead: bool = False) -> StaleInput:
    return StaleInput(rid(f"file:/etc/{name}"), f"/etc/{name}", NINE, since, is_ahead)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NINE, "2025-11-30T09:00:00.250Z"),
        (2**63, "9999-12-31T23:59:59.999Z"),
        (10**30, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_utc_with_milliseconds_and_every_one_can_be_said(microseconds: int, text: str) -> None:
    assert moment(microseconds) == text


def test_a_restart_for_evidence_says_what_changed_and_since_when_it_ran() -> None:
    assert reason_of(()) == ""
    assert reason_of((changed("a"),)) == (
        "/etc/a changed at 2025-11-30T09:00:00.250Z, after it was started or reloaded at 2025-11-30T08:00:00.250Z: "
        "'when_stale' restarts it for that."
    )
    many = reason_of(tuple(map(changed, "abcde")))
    assert "/etc/c changed" in many
    assert "/etc/d" not in many
    assert "and 2 more did, after it was started" in many


def test_the_restart_tells_it_and_its_mark_does_not() -> None:
    owes = Change(OWES, "restart", None)
    made = plan(
        action("service:web", Operation.MARK, Change(OWES, None, "restart"), stale=(changed("a"),)),
        action("service:web", Operation.REFRESH_RESTART, owes, stale=(changed("a"),)),
    )
    mark, restart = report_resources(made, ())
    assert mark.detail == ""
    assert restart.detail == reason_of((changed("a"),))
    skipped = result("service:web", Outcome.SKIPPED, blocked_by=rid("file:/etc/a"))
    assert report_resources(plan(made.actions[1]), (skipped,))[0].detail == ""


def test_plans_and_reports_say_what_is_stale_by_their_schemas() -> None:
    stale = {WEB: Stale((changed("a"), changed("b", is_ahead=True)), "Nothing acts on that.")}
    expected = {
        "id": "service:web",
        "is_acted_on": False,
        "detail": "Nothing acts on that.",
        "inputs": [
            {
                "id": f"file:/etc/{name}",
                "path": f"/etc/{name}",
                "changed": "2025-11-30T09:00:00.250Z",
                "since": "2025-11-30T08:00:00.250Z",
                "is_ahead": is_ahead,
            }
            for name, is_ahead in (("a", False), ("b", True))
        ],
    }
    for value, schema in (
        (plan_to_json(plan(stale=stale)), "plan.schema.json"),
        (report_to_json(report(stale=stale)), "schema.json"),
    ):
        assert value["stale"] == [expected]
        validator(schema).validate(value)
