"""What changed after a start, as people read it: in a plan, a report, and the status of a host."""

from pathlib import Path
from typing import Any

import pytest

from datum.agent.settings import Settings
from datum.agent.status import Status
from datum.cli.views import passes, planning, standing
from datum.cli.views.paper import Paper
from datum.model.observation import StaleInput
from datum.model.plan import OWES, Change, Operation, Stale
from datum.model.result import PassOutcome
from datum.report.as_json import report_to_json
from datum.report.plan_json import plan_to_json
from tests.unit.cli.screen import plain
from tests.unit.fakes import HOST, rid
from tests.unit.report.samples import action, plan, report

HOUR = 3_600_000_000
INPUTS = tuple(StaleInput(rid(f"file:/etc/{name}"), f"/etc/{name}", 3 * HOUR, 2 * HOUR) for name in "abcde")
STALE = {rid("service:web"): Stale(INPUTS, "Nothing acts on that.")}
LINE = (
    "  ! stale   service:web  /etc/a changed at 1970-01-01T03:00:00.000Z, /etc/b changed at 1970-01-01T03:00:00.000Z, "
    "/etc/c changed at 1970-01-01T03:00:00.000Z and 2 more did, after it was started or reloaded at "
    "1970-01-01T02:00:00.000Z"
)
LINES = [LINE, "      Nothing acts on that."]


def plan_lines(**others: Any) -> list[str]:
    paper = Paper()
    planning.write_plan(paper, plan_to_json(plan(*others.pop("actions", ()), **others)))
    return plain(paper).splitlines()


def pass_lines(value: Any) -> list[str]:
    paper = Paper()
    passes.write_pass(paper, value)
    return plain(paper).splitlines()


def test_a_plan_shows_it_and_says_that_nothing_is_to_be_done() -> None:
    lines = plan_lines(stale=STALE)
    assert lines[1:3] == LINES
    assert lines[3].startswith("Nothing to do")


def test_a_restart_that_acts_on_it_tells_it_in_its_place() -> None:
    owes = Change(OWES, "restart", None)
    mark = action("service:web", Operation.MARK, Change(OWES, None, "restart"), stale=INPUTS[:1])
    restart = action("service:web", Operation.REFRESH_RESTART, owes, stale=INPUTS[:1])
    lines = plan_lines(actions=(mark, restart), stale={rid("service:web"): Stale(INPUTS[:1], "So.", is_acted_on=True)})
    assert not [line for line in lines if "! stale" in line or "So." in line]
    assert lines[1] == "  * mark    service:web  before its restart, which it owes from then on"
    assert lines[3].startswith("      /etc/a changed at 1970-01-01T03:00:00.000Z, after it was started or reloaded at")


def test_a_pass_with_nothing_to_do_shows_it_and_so_does_any_other() -> None:
    quiet = report_to_json(report(stale=STALE))
    assert pass_lines(quiet)[1:] == LINES
    assert pass_lines(report_to_json(report(outcome=PassOutcome.FAILED, stale=STALE)))[1:3] == LINES
    del quiet["stale"]  # type: ignore[attr-defined]
    assert len(pass_lines(quiet)) == 1, "reports of older versions have none"


@pytest.mark.parametrize(
    ("stale", "lines"),
    [
        (report_to_json(report(stale=STALE))["stale"], ["/etc/a, /etc/b, /etc/c and 2 more changed"]),
        (5, []),
        ([5, {"id": "service:x", "inputs": 5}], ["service:x was started before"]),
        ([{"inputs": [{"path": 5}, 6]}], ["? was started before 5 changed"]),
    ],
    ids=["whole", "damaged", "damaged-inputs", "damaged-paths"],
)
def test_status_names_it_in_one_line(
    stale: Any, lines: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = Settings("/srv/f.git", "main", HOST, "/", tmp_path / "agent.yaml", tmp_path, tmp_path)
    newest = {**report_to_json(report()), "stale": stale}
    standing.show(Status(settings, None, None, newest), is_json=False)
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("stale")]
    assert len(found) == len(lines)
    assert all(words in line for words, line in zip(lines, found, strict=True)), found
