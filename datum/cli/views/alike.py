"""Resources that failed alike as people read them: once what is said of all, a count, and the first few by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper
from datum.cli.views.problems import write_problems
from datum.report.alike import Reason

_SHOWN: Final = 3
"""Ids that a line names."""


def write_alike(paper: Paper, group: Sequence[Mapping[str, Any]], reason: Reason, *, style: str) -> None:
    """Write what several resources failed by; in the texts a mark stands for the name of each."""
    ids = list(dict.fromkeys(resource["id"] for resource in group))
    more = f" and {len(ids) - _SHOWN} more; --json has all of them" if len(ids) > _SHOWN else ""
    paper.line(
        "  ", ("! alike   ", style), f"{len(ids)} ", (f"{reason.outcome}: ", style), f"{', '.join(ids[:_SHOWN])}{more}"
    )
    if reason.detail:
        paper.line("      ", reason.detail)
    elif reason.blocked_by:
        paper.line("      each requires ", (reason.blocked_by, "bold"))
    shown = Paper()
    write_problems(shown, [_problem(reason, number) for number in range(len(reason.sayings))])
    paper.indent(shown, "      ")


def _problem(reason: Reason, number: int) -> Mapping[str, Any]:
    one = reason.sayings[number]
    return {
        "location": None,
        "severity": one.severity,
        "code": one.code,
        "summary": one.summary,
        "detail": one.detail,
        "related": (),
        "hint": one.hint,
    }
