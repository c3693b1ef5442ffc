"""Words of the command line that Typer cannot read by itself. Effects: reads the working directory."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from datum.agent.places import absolute
from datum.agent.settings import Options
from datum.diagnostics import Diagnostic
from datum.errors import UsageError
from datum.model.manifest import LimitClass

_PERCENT: Final = {LimitClass.CHANGED}
_WHOLE: Final = 100


def read_allowances(texts: Sequence[str], *, has_plan: bool) -> Mapping[LimitClass, int]:
    """Read each `CLASS=N` of `--allow`; `changed=N%` is a percentage.

    Returns:
        By class, in the order of the classes, so that equal requests have equal words.

    Raises:
        UsageError: another form, a class twice, or no `--expect` beside it: a limit is raised for a plan that somebody
            saw.
    """
    found: dict[LimitClass, int] = {}
    for text in texts:
        kind, value = _allowance(text)
        if kind in found:
            raise _bad_allowance(text, f"'{kind}' is there twice")
        found[kind] = value
    if found and not has_plan:
        raise UsageError(
            Diagnostic(
                code="allowance-without-plan",
                summary="A limit is raised for one plan only.",
                detail="--allow needs --expect with the id of the plan that was looked at.",
                hint=f"datum plan, then datum apply --allow {' --allow '.join(texts)} --expect ID",
            )
        )
    return {kind: found[kind] for kind in LimitClass if kind in found}


def _allowance(text: str) -> tuple[LimitClass, int]:
    name, equals, value = text.partition("=")
    if not equals:
        raise _bad_allowance(text, f"one of {_forms()} is expected")
    try:
        kind = LimitClass(name)
    except ValueError as error:
        from difflib import get_close_matches

        near = get_close_matches(name, list(LimitClass), 1)
        hint = f"did you mean {_form(LimitClass(near[0]))}?" if near else ""
        raise _bad_allowance(text, f"'{name}' is no class of limit; there are {_forms()}", hint) from error
    match = re.fullmatch(r"(\d{1,9})(%?)", value, re.ASCII)
    if match is None or bool(match[2]) is not (kind in _PERCENT):
        raise _bad_allowance(text, f"{_form(kind)} is expected")
    if kind in _PERCENT and int(match[1]) > _WHOLE:
        raise _bad_allowance(text, "there are no more than 100%")
    return kind, int(match[1])


def _form(kind: LimitClass) -> str:
    return f"'{kind}=N%'" if kind in _PERCENT else f"'{kind}=N'"


def _forms() -> str:
    return ", ".join(_form(kind) for kind in LimitClass)


def _bad_allowance(text: str, what: str, hint: str = "") -> UsageError:
    return UsageError(
        Diagnostic(
            code="bad-allowance",
            summary="This limit cannot be raised.",
            detail=f"--allow {text}: {what}.",
            hint=hint or "datum plan shows what is held, and by which limit",
        )
    )


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


def refuse_empty(said: Mapping[str, str | None], repos: Sequence[str]) -> None:
    """Refuse an option without a value: a script's unset variable is not "not said".

    Raises:
        UsageError: an option is empty.
    """
    names = [f"--{name.replace('_', '-')}" for name, value in said.items() if value == ""]
    names += ["--repo"] if "" in repos else []
    if names:
        raise UsageError(
            Diagnostic(
                code="empty-option",
                summary="An option has no value.",
                detail=f"{names[0]} is empty.",
                hint="leave the option out, or look for a variable that is not set in the script that runs datum",
            )
        )


def access_paths(access: Mapping[str, str], options: Options) -> Mapping[str, str]:
    """Return the access with absolute paths: seen from the working directory, or as the root has them."""
    if options.root is not None:
        return access
    return {key: str(absolute(value)) if key.endswith("_file") else value for key, value in access.items()}
