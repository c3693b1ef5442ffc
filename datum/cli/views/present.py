"""Everything that a host declares, as it is now: one line each, and below it what a pass would change."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from datum.cli.views.changes import short, write_changes
from datum.cli.views.paper import Paper
from datum.model.plan import OWES

_FIRST: Final = ("running", "enabled", OWES)
"""Fields that people look for before all others."""

_SHOWN: Final = 8
"""Fields that a line names."""

_IDS: Final = 3
"""Ids that a line names."""

_WORDS: Final = {True: "in sync", False: "differs"}
_STYLES: Final = {True: "green", False: "yellow"}
# What a resource that gets no action is, where it is not in sync.
_VERDICTS: Final = {
    "skipped": ("skipped", "yellow"),
    "unobservable": ("unknown", "magenta"),
    "impossible": ("impossible", "bold red"),
}


def write_standing(paper: Paper, resources: Sequence[Mapping[str, Any]], *, would: str = "a pass would") -> None:
    """Write every resource, and how many are as declared; `would` begins what a pass makes of the others."""
    for resource in resources:
        _write_one(paper, resource, would)
    good = sum(resource["in_sync"] for resource in resources)
    style = "green" if good == len(resources) else "bold yellow"
    paper.line((f"{good} of {len(resources)} in sync", style), ".")


def _write_one(paper: Paper, resource: Mapping[str, Any], would: str) -> None:
    word, style = _VERDICTS.get(resource["verdict"] or "", (_WORDS[resource["in_sync"]], _STYLES[resource["in_sync"]]))
    state = "" if resource["state"] == "present" else f"{resource['state']}  "
    paper.line("  ", (f"{word:<11}", style), f"{resource['id']}  ", state, (_fields(resource["fields"]), "dim"))
    if resource["detail"]:
        paper.line("      ", resource["detail"])
    elif resource["blocked_by"]:
        paper.line("      it requires ", (resource["blocked_by"], "bold"))
    if resource["actions"]:
        paper.line("      ", (f"{would} ", "cyan"), ", then ".join(map(_action, resource["actions"])))
        for each in resource["actions"]:
            write_changes(paper, {"id": resource["id"], **each})


def _action(action: Mapping[str, Any]) -> str:
    return f"{action['operation']} it{' (held)' if action['held'] else ''}"


def _fields(fields: Mapping[str, Any]) -> str:
    first = [name for name in _FIRST if name in fields]
    words = [_field(name, fields[name]) for name in (*first, *(name for name in fields if name not in first))]
    more = f", and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return f"{', '.join(words[:_SHOWN])}{more}"


def _field(name: str, value: object) -> str:
    if isinstance(value, Mapping) and "not_applicable" in value:
        return f"{name} not applicable ({value['not_applicable']})"
    if isinstance(value, Mapping) and "unobservable" in value:
        return f"{name} unknown ({value['unobservable']})"
    if name == OWES:
        return f"owes a {value}" if value else "owes nothing"
    return f"{name} {short(value)}"


def write_repeats(paper: Paper, repeats: Iterable[Mapping[str, Any]]) -> None:
    """Write what failed the same way in pass after pass, each reason once."""
    for each in repeats:
        ids = each["resources"]
        more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
        least = "at least " if each["is_cut"] else ""
        paper.line(
            ("failing     ", "bold red"),
            f"{', '.join(ids[:_IDS])}{more}: {each['outcome']} the same way in {least}{each['passes']} passes",
            f" since {each['since']}",
        )
        paper.line("            ", each["reason"])
