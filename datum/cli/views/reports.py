"""`datum report`: a report read again."""

import sys
from collections.abc import Mapping
from typing import Any

from datum.agent.reports import damaged_report
from datum.cli.views.asking import write_asked, write_times
from datum.cli.views.paper import Paper, print_json
from datum.cli.views.passes import unique, write_pass
from datum.cli.views.problems import write_problems


def show(report: Mapping[str, Any], *, is_json: bool) -> None:
    """Show one report.

    Raises:
        StateError: the file is no report of this version.
    """
    if is_json:
        print_json(report)
        return
    paper = Paper()
    try:
        paper.line(("pass ", "dim"), f"{report['id']}, {report['duration']} s, exit {report['exit_code']}")
        source = report["source"]
        paper.line(("source ", "dim"), f"{source['remote']} {source['ref']}: {source['status'].replace('_', ' ')}")
        write_asked(paper, report)
        write_times(paper, report)
        write_pass(paper, report)
        write_problems(paper, unique([*source["diagnostics"], *report["diagnostics"]]))
    except (LookupError, TypeError, AttributeError) as error:
        raise damaged_report(f"A part of it is missing or of the wrong kind ({error})") from error
    paper.print_to(sys.stdout)
