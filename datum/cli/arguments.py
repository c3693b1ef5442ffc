"""Words of the command line that Typer cannot read by itself. Pure."""

import re

from datum.diagnostics import Diagnostic
from datum.errors import UsageError


def read_allowance(text: str, *, has_plan: bool) -> int | None:
    """Read `removals=N` of `--allow`; None for an empty text.

    Raises:
        UsageError: another form, or no `--expect` beside it: a limit is raised for a plan that somebody saw.
    """
    if not text:
        return None
    match = re.fullmatch(r"removals=(\d{1,9})", text)
    if match is None:
        raise UsageError(
            Diagnostic(
                code="bad-allowance",
                summary="This limit cannot be raised.",
                detail=f"--allow {text}: 'removals=N' is expected.",
                hint="datum plan shows what is held, and by which limit",
            )
        )
    if not has_plan:
        raise UsageError(
            Diagnostic(
                code="allowance-without-plan",
                summary="A limit is raised for one plan only.",
                detail="--allow needs --expect with the id of the plan that was looked at.",
                hint="datum plan, then datum apply --allow removals=N --expect ID",
            )
        )
    return int(match[1])


def refuse_both(option: str, is_given: bool, other: str) -> None:  # noqa: FBT001  # whether the option was given
    """Refuse an option beside another one that leaves it nothing to do.

    Raises:
        UsageError: it was given.
    """
    if is_given:
        raise UsageError(
            Diagnostic(
                code="options-exclude",
                summary="Two options exclude each other.",
                detail=f"{option} has nothing to do beside {other}.",
                hint=f"leave one of {option} and {other} out",
            )
        )
