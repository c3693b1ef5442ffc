"""`datum plan` and `datum orphans`."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datum.agent.commands import PlanMade
from datum.cli.views.changes import SHOWN, plural
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.problems import error_object, write_problems
from datum.cli.views.resources import count_operations, count_words, write_checks, write_orphans, write_resources
from datum.cli.views.stale import write_stale
from datum.diagnostics import Diagnostic
from datum.errors import UsageError
from datum.model.json import JsonObject, thaw
from datum.model.plan import Plan
from datum.model.revision import SourceStatus
from datum.report.as_json import diagnostic_to_json
from datum.report.plan_json import plan_to_json


def show(made: PlanMade, *, is_json: bool) -> None:
    """Show a plan, or why there is none."""
    if made.plan is None:
        _show_end(made, is_json=is_json)
        return
    _show_source(made)
    show_plan(made.plan, is_json=is_json)


def show_plan(plan: Plan, *, is_json: bool) -> None:
    """Show a plan alone."""
    value = plan_to_json(plan)
    if is_json:
        print_json(value)
        return
    paper = Paper()
    write_plan(paper, value)
    paper.print_to(sys.stdout)


def write_plan(paper: Paper, plan: Mapping[str, Any]) -> None:
    """Write a plan: header, resources, orphans, sums."""
    resources = plan["resources"]
    in_sync = plan["counts"].get("in_sync", 0)
    paper.line((plan["host"], "bold"), f" at {plan['revision']}")
    planned = [{**resource, "outcome": _planned(resource["outcome"])} for resource in resources]
    write_resources(paper, planned, plan["kept"])
    write_checks(paper, plan["checks"])
    write_stale(paper, plan["stale"])
    write_orphans(paper, plan["orphans"])
    _write_kept_in_sync(paper, plan)
    operations = count_operations(resources)
    counts = {name: plan["counts"].get(name, 0) for name in ("failed", "unobservable")}
    # What waits for a held action is an action of the plan all the same, and no verdict.
    counts["skipped"] = sum(resource["outcome"] == "skipped" for resource in resources)
    rest = {_planned(name): count for name, count in sorted(counts.items()) if count}
    if not operations and not rest:
        paper.line(("Nothing to do", "green"), f": {in_sync} in sync.")
        return
    sums = ", ".join(words for words in (operations, count_words(rest), f"{in_sync} in sync") if words)
    paper.line(("Plan", "bold"), f": {sums}.")
    paper.line(("plan id ", "dim"), (plan["plan_id"], "dim"))


def _write_kept_in_sync(paper: Paper, plan: Mapping[str, Any]) -> None:
    """Write in one line what is left alone by what needs nothing."""
    told = {resource["id"] for resource in plan["resources"] if resource["operation"]}
    rest = [entry for entry in plan["kept"] if entry["id"] not in told]
    if count := sum(len(entry["paths"]) + entry["more"] for entry in rest):
        words = f" {plural(count, 'path')} below {', '.join(entry['id'] for entry in rest[:SHOWN])}"
        more = f" and {len(rest) - SHOWN} more" if len(rest) > SHOWN else ""
        paper.line(("Left alone:", "bold"), f"{words}{more}; --json says why.")


def _planned(outcome: str | None) -> str | None:
    """Return the word for what a plan foresees: nothing was tried, so nothing failed."""
    return "impossible" if outcome == "failed" else outcome


def _show_source(made: PlanMade) -> None:
    """Say on stderr what is odd about the source: the plan itself is for what is enforced then."""
    source = made.report.source
    problems = [diagnostic_to_json(item) for item in (*source.diagnostics, *made.report.diagnostics)]
    paper = Paper()
    write_problems(paper, problems)
    if source.status not in {SourceStatus.OK, SourceStatus.NOT_ASKED} and made.report.target:
        paper.line(f"The source is {source.status}; this is the plan at the enforced revision.")
    paper.print_to(sys.stderr)


def _show_end(made: PlanMade, *, is_json: bool) -> None:
    report = made.report
    problems = tuple(dict.fromkeys((*report.source.diagnostics, *report.diagnostics)))
    if is_json:
        print_json(error_object(problems, report.exit_code))
        return
    paper = Paper()
    write_problems(paper, [diagnostic_to_json(item) for item in problems])
    paper.line((f"No plan: {report.outcome}", "bold red"), ".")
    paper.print_to(sys.stderr)


def show_orphans(made: PlanMade, *, is_json: bool) -> None:
    """Show what is no longer declared and still here."""
    if made.plan is None:
        _show_end(made, is_json=is_json)
        return
    value: Mapping[str, Any] = plan_to_json(made.plan)
    unknown = [item for item in made.report.diagnostics if item.code == "trail-unresolved"]
    if is_json:
        diagnostics = [diagnostic_to_json(item) for item in unknown]
        shown = {"schema_version": 1, "host": value["host"], "orphans": value["orphans"], "diagnostics": diagnostics}
        print_json(shown)
        return
    paper = Paper()
    going = [orphan for orphan in value["orphans"] if orphan["state"] == "remove"]
    write_orphans(paper, value["orphans"])
    for orphan in going:
        paper.line("  ", ("remove    ", "red"), f"{orphan['id']}  ", ("the next pass removes it", "dim"))
    for item in unknown:
        paper.line("  ", ("unknown   ", "magenta"), item.detail)
    if paper.is_blank:
        paper.line("Nothing is left of what is no longer declared.")
    paper.print_to(sys.stdout)


def write_record(path: Path, record: JsonObject) -> None:
    """Write `plan --record FILE`.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        # It holds texts of files that not everybody may read.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            os.fchmod(descriptor, 0o600)
            stream.write(json.dumps(thaw(record), sort_keys=True, indent=1) + "\n")
    except OSError as error:
        raise UsageError(
            Diagnostic(
                code="record-unwritable",
                summary="The record cannot be written.",
                detail=f"{path}: {error.strerror}.",
            )
        ) from error
