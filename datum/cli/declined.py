"""Why `datum init` ends without a question, or after one: what a person has to say first. Pure."""

from datum.agent.enrol import Intent
from datum.agent.wiring import enrol_line
from datum.diagnostics import Diagnostic
from datum.errors import UsageError


def declined(detail: str, option: str) -> UsageError:
    """Return the error of what a person did not confirm; `option` says it without a question."""
    return UsageError(
        Diagnostic(
            code="not-confirmed",
            summary="What was shown was not confirmed; nothing was enrolled.",
            detail=detail,
            hint=f"find out what is right, and say it: {option}",
        )
    )


def no_use_of_key() -> UsageError:
    """Return the error of `--make-key` where no remote is of ssh."""
    return UsageError(
        Diagnostic(
            code="access-unused",
            summary="An option of access has no remote.",
            detail="--make-key is for ssh, and no remote is reached so.",
            hint="correct --repo, or leave the option out",
        )
    )


def no_anchor(intent: Intent) -> UsageError:
    """Return the error of a script that leaves it to the source what this host trusts."""
    line = enrol_line(intent.settings, anchor="COMMIT").replace("COMMIT", f"$(git rev-parse {intent.settings.ref})")
    return UsageError(
        Diagnostic(
            code="init-needs-anchor",
            summary="Nothing says which revision this host may trust.",
            detail=f"{intent.settings.repo} is reached over the network, and whoever answers there would decide what "
            "is enforced here. On a terminal what it names is shown and asked about.",
            hint=f"in a clone that you trust: {line}",
        )
    )
