"""What runs although something that it lists has changed since: one line for each service, and what settles it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper

_SHOWN: Final = 3
"""Paths that a line names."""


def write_stale(paper: Paper, stale: Iterable[Mapping[str, Any]]) -> None:
    """Write what is stale; where a restart acts on it, that tells why."""
    for entry in stale:
        if not entry["is_acted_on"]:
            paper.line("  ", ("! stale   ", "yellow"), f"{entry['id']}  ", (stale_words(entry["inputs"]), "dim"))
            paper.line("      ", entry["detail"])


def stale_words(inputs: Sequence[Mapping[str, Any]]) -> str:
    """Return what changed, when, and since when what runs has what it read."""
    words = [f"{one['path']} changed at {one['changed']}" for one in inputs[:_SHOWN]]
    more = f" and {len(inputs) - _SHOWN} more did" if len(inputs) > _SHOWN else ""
    return f"{', '.join(words)}{more}, after it was started or reloaded at {max(one['since'] for one in inputs)}"
