"""What a check found: its state, in one sentence and as facts, and the cure. Pure."""

import enum
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field, frozen

from datum.agent.doctor.catalogue import CHECKS
from datum.diagnostics import Diagnostic
from datum.errors import ExitCode

Facts = Mapping[str, "str | int | float | bool | tuple[str, ...] | None"]
_NO_FACTS: Final[Facts] = {}


class State(enum.StrEnum):
    """What a check came to."""

    OK = "ok"
    # Passes go on; it deserves a look before it becomes a fault.
    WARNING = "warning"
    # Passes do not do what they are for, or soon will not.
    FAULT = "fault"
    # It could not be looked at, and nothing is concluded; what was found says why.
    NOT_CHECKED = "not_checked"


@frozen
class Finding:
    """The answer of one check, of one thing where there are several (a remote, a folder, a program)."""

    # A key of `catalogue.CHECKS`.
    check: str
    state: State
    # What was found, as sentences.
    found: str
    # Which remote, folder or program; empty where there is only one.
    of: str = ""
    facts: Facts = field(factory=dict)
    # The command or edit that settles it; empty where nothing is to be settled.
    cure: str = ""
    # Codes of the diagnostics with which a pass would say the same.
    codes: tuple[str, ...] = ()
    # Not checked for want of rights.
    needs_root: bool = False
    # Not checked because datum has a bug.
    is_bug: bool = False


@frozen
class Diagnosis:
    """Everything that was found, in the order of the groups."""

    findings: tuple[Finding, ...]

    def count(self, state: State) -> int:
        """Return how many findings have a state."""
        return sum(finding.state is state for finding in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        """70 for a check that broke, 1 for a fault, else 0."""
        if any(finding.is_bug for finding in self.findings):
            return ExitCode.SOFTWARE
        return ExitCode.LEFT if self.count(State.FAULT) else ExitCode.OK


def counted(count: int, thing: str) -> str:
    """Return how many there are of a thing whose plural has an s."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def ok(check: str, found: str, facts: Facts = _NO_FACTS, *, of: str = "") -> Finding:
    """Return that all is well."""
    return Finding(check, State.OK, found, of, facts)


def warning(check: str, found: str, cure: str, facts: Facts = _NO_FACTS, *, of: str = "") -> Finding:
    """Return what deserves a look."""
    return Finding(check, State.WARNING, found, of, facts, cure)


def fault(check: str, found: str, cure: str, facts: Facts = _NO_FACTS, *, of: str = "") -> Finding:
    """Return what keeps passes from doing what they are for."""
    return Finding(check, State.FAULT, found, of, facts, cure)


def not_checked(check: str, why: str, *, of: str = "", cure: str = "") -> Finding:
    """Return that nothing is known, and why."""
    return Finding(check, State.NOT_CHECKED, why, of, cure=cure)


def from_diagnostics(
    check: str, state: State, diagnostics: Sequence[Diagnostic], facts: Facts = _NO_FACTS, *, of: str = ""
) -> Finding:
    """Return what a pass would say, in its own words.

    Args:
        check: the name.
        state: what it comes to.
        diagnostics: at least one; several are told one after the other.
        facts: beside them.
        of: see `Finding.of`.
    """
    cures = dict.fromkeys(item.hint for item in diagnostics if item.hint)
    return Finding(
        check,
        state,
        " ".join(_sentence(item) for item in diagnostics),
        of,
        facts,
        "; ".join(cures) or CHECKS[check].cure,
        tuple(dict.fromkeys(item.code for item in diagnostics)),
    )


def _sentence(item: Diagnostic) -> str:
    place = f"{item.location}: " if item.location is not None and str(item.location) not in item.detail else ""
    summary = item.summary.rstrip(".")
    return f"{place}{summary}: {item.detail}" if item.detail else f"{place}{summary}."
