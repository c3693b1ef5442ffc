"""Marks of services as people read them: one line for each service, whatever many changes it is marked before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper

_MARK: Final = "mark"
# What is told in one line; what went wrong is told by itself.
_WELL: Final = frozenset({None, "applied", "already", "skipped"})
_STYLES: Final = {"applied": "green", "already": "green", "skipped": "yellow"}
_SHOWN: Final = 3
"""Ids that a line names."""


def is_folded(resource: Mapping[str, Any]) -> bool:
    """Whether a mark is told together with the others of its service."""
    return resource["operation"] == _MARK and resource["outcome"] in _WELL and not resource["diagnostics"]


def folding(resources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]:
    """Yield each resource that is told, with all marks of its service where it is one that stands for them."""
    marks: dict[str, list[Mapping[str, Any]]] = {}
    for resource in resources:
        if is_folded(resource):
            marks.setdefault(resource["id"], []).append(resource)
    for resource in resources:
        if not is_folded(resource):
            yield resource, ()
        elif own := marks.pop(resource["id"], None):
            yield resource, own


def write_marks(
    paper: Paper, service: str, marks: Sequence[Mapping[str, Any]], resources: Iterable[Mapping[str, Any]]
) -> None:
    """Write the marks of one service: what it will owe, and before which changes that is noted."""
    # Old reports have none.
    owed = {
        resource["id"]: mark["owes"]
        for resource in resources
        for mark in resource.get("marks", ())
        if mark["id"] == service
    }
    outcomes = {mark["outcome"] for mark in marks}
    outcome = next((word for word in ("applied", "already", "skipped") if word in outcomes), None)
    pieces: list[str | tuple[str, str]] = ["  ", (f"* {_MARK:<8}", "cyan"), f"{service}  "]
    if outcome:
        pieces.append((f"{outcome}  ", _STYLES[outcome]))
    if owed:
        due = "restart" if "restart" in owed.values() else "reload"
        more = f" and {len(owed) - _SHOWN} more" if len(owed) > _SHOWN else ""
        pieces.append((f"before {', '.join(list(owed)[:_SHOWN])}{more}, for which it owes a {due}", "dim"))
    elif any(one["id"] == service and one["operation"] == "restart" for one in resources):
        pieces.append(("before its restart, which it owes from then on", "dim"))
    paper.line(*pieces)
    for remark in dict.fromkeys(remark for mark in marks for remark in mark["remarks"]):
        paper.line("      note: ", remark)
