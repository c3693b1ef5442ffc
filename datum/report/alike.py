"""Which resources of a report failed alike: what was said of each, but for its own name. Pure.

Works on reports as JSON, those that lie on a disk included: what is missing or of the wrong kind says nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

ITSELF: Final = "…"
"""What stands for the name of the resource itself."""

FAILURES: Final = frozenset({"failed", "unverified", "busy", "unobservable"})
"""Outcomes that are a failure of the resource's own."""

_TOLD: Final = FAILURES | {"skipped"}
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)?")


@frozen
class Saying:
    """One diagnostic without its places."""

    severity: str
    code: str
    summary: str
    detail: str
    hint: str


@frozen
class Reason:
    """Why a resource is not as declared; equal for resources that failed alike."""

    outcome: str
    sayings: tuple[Saying, ...] = ()
    detail: str = ""
    # Id of the resource that keeps it from being done, or empty.
    blocked_by: str = ""

    @property
    def in_short(self) -> str:
        """One sentence."""
        return next((f"{one.summary} {_first_line(one.detail)}".strip() for one in self.sayings), self.detail)

    @property
    def roughly(self) -> "Reason":
        """The same but for numbers and further lines: what differs each time although nothing else does."""
        sayings = tuple(evolve(one, detail=_rough(one.detail), hint="") for one in self.sayings)
        return evolve(self, sayings=sayings, detail=_rough(self.detail))


def reason_of(resource: Mapping[str, Any]) -> Reason | None:
    """Return why a resource of a report is not as declared; None where it is, is held, or nothing is said."""
    outcome, name = resource.get("outcome"), str(resource.get("id", ""))
    if outcome not in _TOLD:
        return None
    found = Reason(
        outcome,
        tuple(_saying(item, name) for item in _maps(resource.get("diagnostics"))),
        _without(name, _text(resource.get("detail"))),
        _text(resource.get("blocked_by")),
    )
    return found if found.sayings or found.detail or found.blocked_by else None


def gather(resources: Iterable[Mapping[str, Any]]) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Return the resources in their order, those that failed alike as one group where the first of them stands."""
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for number, resource in enumerate(resources):
        groups.setdefault(reason_of(resource) or number, []).append(resource)
    return tuple(groups.values())


def _saying(item: Mapping[str, Any], name: str) -> Saying:
    texts = (_without(name, _text(item.get(part))) for part in ("summary", "detail", "hint"))
    return Saying(_text(item.get("severity")), _text(item.get("code")), *texts)


def _without(resource: str, text: str) -> str:
    """Take a resource's own id and name out of a text; a longer name that begins with it is another one."""
    kind, _, name = resource.partition(":")
    # Programs call a unit by its full name.
    full = f"{name}.service" if kind == "service" and name else ""
    for own in (resource, full, name):
        if own:
            text = re.sub(rf"(?<![\w/.:@-]){re.escape(own)}(?![\w/@-]|\.\w)", ITSELF, text)
    return text


def _rough(text: str) -> str:
    return _NUMBERS.sub("#", _first_line(text))


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _maps(value: object) -> Iterable[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, (list, tuple)) else ()
