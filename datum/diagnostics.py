"""Diagnostics are data: what is wrong, where, why, and what to do. Text is made only in views.

Pure. Imports nothing of datum.
"""

import enum
from typing import Final

from attrs import field, frozen
from attrs.validators import matches_re

_CODE: Final = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


@frozen(order=True)
class SourceLocation:
    """A place in a file of the fleet repository, or of this host's configuration."""

    # Path relative to the repository, or absolute for a file of the host.
    file: str
    # Both count from 1; 0 says that only the file is known.
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


class Severity(enum.StrEnum):
    """How much a diagnostic weighs; only `ERROR` ends what was asked for."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@frozen(order=True, kw_only=True)
class Diagnostic:
    """One finding. Ordered by place, so that a sorted list reads along the files."""

    # None sorts as "no place"; kept first in the class so that ordering is by place.
    location: SourceLocation | None = field(default=None, order=lambda place: place or SourceLocation(""))
    # Kebab-case, stable, documented in docs/diagnostics.md.
    code: str = field(validator=matches_re(_CODE))
    # Fixed text, no user data.
    summary: str
    # Full sentences: what is wrong, why, what to do.
    detail: str = ""
    # Text form of the resource id it concerns, or empty.
    resource: str = ""
    # The command or edit that settles it, or empty.
    hint: str = ""
    severity: Severity = Severity.ERROR
    # Other places that matter: the first declaration of a duplicate, each edge of a cycle.
    related: tuple[tuple[str, SourceLocation], ...] = ()


def sorted_unique(
    diagnostics: "list[Diagnostic] | tuple[Diagnostic, ...]",
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics sorted by place and without repetitions."""
    return tuple(sorted(set(diagnostics)))
