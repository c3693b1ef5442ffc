"""`datum apply`: what a pass did, and nothing where there was nothing to do."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from datum.agent.commands import Applied
from datum.cli.views.asking import write_enforcement
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.problems import write_problems
from datum.cli.views.resources import count_words, write_checks, write_orphans, write_resources
from datum.cli.views.stale import write_stale
from datum.report.as_json import report_to_json

_GOOD: Final = {"converged", "planned"}


def show(applied: Applied, *, is_json: bool) -> None:
    """Show one pass."""
    if applied.report is None:
        _show_joined(applied, is_json=is_json)
        return
    value: Mapping[str, Any] = report_to_json(applied.report)
    if is_json:
        print_json(value)
        return
    paper = Paper()
    write_pass(paper, value)
    if applied.path and (value["resources"] or value["outcome"] not in _GOOD):
        paper.line(("report ", "dim"), (applied.path, "dim"))
    paper.print_to(sys.stdout)
    problems = Paper()
    write_problems(problems, unique([*value["source"]["diagnostics"], *value["diagnostics"]]))
    problems.print_to(sys.stderr)


def unique(problems: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return each diagnostic once."""
    return [item for index, item in enumerate(problems) if item not in problems[:index]]


def write_pass(paper: Paper, report: Mapping[str, Any]) -> None:
    """Write a pass report: header, resources, what is left, sums."""
    outcome = report["outcome"]
    in_sync = report["counts"].get("in_sync", 0)
    target = report["target"] or "no revision"
    if outcome == "converged" and not report["resources"] and report["source"]["status"] in {"ok", "not_asked"}:
        paper.line((report["host"], "bold"), f" at {target}: nothing to do, {in_sync} in sync.")
        write_stale(paper, report.get("stale", ()))
        return
    paper.line((report["host"], "bold"), f" at {target}")
    # Reports of older versions have none.
    checks = report.get("checks", ())
    judges = {check["id"] for check in checks}
    # What a check said stands with what it judges, and in its own line below.
    shown = [one for one in report["resources"] if one["id"] not in judges or not _only_refused(one)]
    write_resources(paper, shown, report.get("kept", ()), gathers=True)
    write_checks(paper, checks)
    write_stale(paper, report.get("stale", ()))
    write_orphans(paper, report["orphans"])
    write_enforcement(paper, report)
    for item in report["left_over"]:
        fields = ", ".join(item["fields"]) or "it cannot be looked at, or waits for what cannot"
        paper.line("  ", ("left over ", "bold red"), f"{item['id']}: {fields}")
        if item["suspects"]:
            paper.line("      changed after its own action, perhaps by ", ", ".join(item["suspects"]))
    style = "green" if outcome in _GOOD else "bold red"
    sums = count_words(report["counts"])
    if any(item["code"] == "another-plan" for item in report["diagnostics"]):
        paper.line(("Nothing was done: another plan", style), f"; {sums}." if sums else ".")
        return
    paper.line((outcome.replace("_", " ").capitalize(), style), f": {sums}." if sums else ".")
    if report["is_trail_cut"]:
        paper.line(("The trail of revisions grew too long; its oldest entry was dropped.", "yellow"))


def _only_refused(resource: Mapping[str, Any]) -> bool:
    """Whether a resource stands there for nothing but what its check refused."""
    return resource["outcome"] == "failed" and not resource["operation"]


def _show_joined(applied: Applied, *, is_json: bool) -> None:
    joined = applied.joined
    if joined is None:
        return
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "joined": {
                    "pid": joined.pid,
                    "outcome": str(joined.outcome.outcome),
                    "exit_code": joined.outcome.exit_code,
                    "report": joined.outcome.report,
                },
            }
        )
        return
    paper = Paper()
    paper.line(f"An equal request (process {joined.pid}) was waiting; its pass answers this one too.")
    paper.line(f"{joined.outcome.outcome.replace('_', ' ').capitalize()}.")
    if joined.outcome.report:
        paper.line(("report ", "dim"), (joined.outcome.report, "dim"))
    paper.print_to(sys.stdout)
