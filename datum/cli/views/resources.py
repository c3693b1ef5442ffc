"""Resources of plans and reports as people read them: one line each with reason and place, then what changes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from datum.cli.views.alike import write_alike
from datum.cli.views.changes import SHOWN, lost, write_changes, write_kept
from datum.cli.views.marks import folding, is_folded, write_marks
from datum.cli.views.paper import Paper
from datum.cli.views.problems import place_of, write_problems
from datum.report.alike import gather, reason_of

_SIGNS: Final = {
    "create": ("+", "green"),
    "update": ("~", "yellow"),
    "replace": ("±", "magenta"),
    "delete": ("-", "red"),
    "mark": ("*", "cyan"),
    "stop": ("■", "cyan"),
    "reload": ("↻", "cyan"),
    "restart": ("↻", "cyan"),
}
_OUTCOMES: Final = {
    "applied": "green",
    "already": "green",
    "failed": "bold red",
    "unverified": "bold red",
    "skipped": "yellow",
    "held": "yellow",
    "busy": "yellow",
    "unobservable": "magenta",
    "impossible": "bold red",
}


_CHECKS: Final = {
    None: ("checks", "cyan"),
    "passed": ("passed", "green"),
    "refused": ("refused", "bold red"),
    "not_run": ("not run", "yellow"),
}


_MAKERS: Final = 3
"""Ids that a line names after which something is known, or while which are stopped it is done."""


def write_resources(
    paper: Paper, resources: Iterable[Mapping[str, Any]], kept: Sequence[Mapping[str, Any]], *, gathers: bool = False
) -> None:
    """Write resources, and below each what it leaves alone; the marks of a service are one line.

    Args:
        paper: takes the lines.
        resources: of a plan or report.
        kept: what each leaves alone.
        gathers: those that failed alike are told once: of a pass, not of a plan, where each says what is to come.
    """
    by_id = {entry["id"]: entry for entry in kept}
    told = list(resources)
    folded = list(folding(told))
    groups = gather(resource for resource, marks in folded if not marks) if gathers else ()
    alike = {id(resource): group for group in groups for resource in group if len(group) > 1}
    for resource, marks in folded:
        if marks:
            write_marks(paper, resource["id"], marks, told)
            continue
        if group := alike.get(id(resource)):
            if resource is group[0]:
                _write_alike(paper, group)
            continue
        write_resource(paper, resource)
        if resource["operation"] and resource["id"] in by_id:
            write_kept(paper, by_id[resource["id"]])


def _write_alike(paper: Paper, group: Sequence[Mapping[str, Any]]) -> None:
    reason = reason_of(group[0])
    if reason is not None:
        write_alike(paper, group, reason, style=_OUTCOMES[reason.outcome])


def write_resource(paper: Paper, resource: Mapping[str, Any]) -> None:
    """Write one resource and what concerns it."""
    operation = resource["operation"]
    sign, style = _SIGNS.get(operation, ("?", "magenta"))
    outcome = resource["outcome"]
    pieces: list[str | tuple[str, str]] = ["  ", (f"{sign} {operation or 'none':<8}", style), f"{resource['id']}  "]
    if outcome:
        pieces.append((f"{outcome}  ", _OUTCOMES.get(outcome, "")))
    if resource["label"]:
        pieces.append((f"{resource['label']}  ", "cyan"))
    pieces.append((place_of(resource["location"]) or resource["detail"], "dim"))
    if outcome in {None, "held"}:
        # Once it was tried both are known; old reports have neither.
        pieces += [(words, "cyan") for words in (_known_after(resource), _while_stopped(resource)) if words]
    paper.line(*pieces)
    _write_reasons(paper, resource)
    write_changes(paper, resource)


def _known_after(resource: Mapping[str, Any]) -> str:
    makers = resource.get("known_after", ())
    return f"  (known after {_some(makers)})" if makers else ""


def _while_stopped(resource: Mapping[str, Any]) -> str:
    services = resource.get("while_stopped", ())
    are = "is" if len(services) == 1 else "are"
    return f"  (while {_some(services)} {are} stopped)" if services else ""


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAKERS} more" if len(ids) > _MAKERS else ""
    return f"{', '.join(ids[:_MAKERS])}{more}"


def _write_reasons(paper: Paper, resource: Mapping[str, Any]) -> None:
    if resource["location"] and resource["detail"]:
        paper.line("      ", resource["detail"])
    elif resource["blocked_by"]:
        paper.line("      it requires ", (resource["blocked_by"], "bold"))
    if hold := resource["hold"]:
        limit = f" of {hold['limit']}" if hold.get("limit") else ""
        paper.line("      ", (f"held ({hold['reason']}{limit}): ", "yellow"), hold["detail"])
        if "data_loss" in resource["hazards"] and (words := lost(resource)):
            paper.line("      ", ("would be lost: ", "yellow"), words)
        if hold["release"]:
            paper.line("      ", ("released by: ", "cyan"), hold["release"])
    elif resource["hazards"]:
        paper.line("      ", ("risks: ", "yellow"), ", ".join(resource["hazards"]))
    _write_findings(paper, resource)


def _write_findings(paper: Paper, resource: Mapping[str, Any]) -> None:
    # A hold that was planned is told by its own line.
    repeats = "held-" if resource["hold"] else None
    found = [item for item in resource["diagnostics"] if repeats is None or not item["code"].startswith(repeats)]
    if found:
        shown = Paper()
        write_problems(shown, found)
        paper.indent(shown, "      ")
    for remark in resource["remarks"]:
        paper.line("      note: ", remark)


def count_words(counts: Mapping[Any, int]) -> str:
    """Return `3 applied, 997 in sync`."""
    return ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.items() if count)


def count_operations(resources: Iterable[Mapping[str, Any]]) -> str:
    """Return `2 to create, 1 to delete (1 held)`."""
    words: dict[str, int] = {}
    held = 0
    for resource in resources:
        if resource["operation"] and resource["outcome"] in {None, "held"} and not is_folded(resource):
            words[resource["operation"]] = words.get(resource["operation"], 0) + 1
            held += resource["outcome"] == "held"
    text = ", ".join(f"{count} to {operation}" for operation, count in words.items())
    return f"{text} ({held} held)" if held else text


def write_checks(paper: Paper, checks: Sequence[Mapping[str, Any]]) -> None:
    """Write what judges candidates before the host gets them, and what it said."""
    for check in checks:
        word, style = _CHECKS[check["outcome"]]
        candidates = check["candidates"]
        more = f" and {len(candidates) - SHOWN} more" if len(candidates) > SHOWN else ""
        paper.line("  ", (f"? {word:<8}", style), f"{check['id']}  ", (f"{', '.join(candidates[:SHOWN])}{more}", "dim"))


def write_orphans(paper: Paper, orphans: Sequence[Mapping[str, Any]]) -> None:
    """Write what is no longer declared and stays, with why and the line that settles it."""
    left = [orphan for orphan in orphans if orphan["state"] in {"kept", "unsettled"}]
    if not left:
        return
    paper.line(("No longer declared, and still here:", "bold"))
    for orphan in left:
        paper.line("  ", (f"{orphan['state']:<10}", "yellow"), f"{orphan['id']}  ", (f"({orphan['rule']})", "dim"))
        paper.line("      ", orphan["detail"])
        if orphan["release"]:
            paper.line("      ", ("to settle: ", "cyan"), orphan["release"])
