"""What can be wrong with an expression, and names that have no value. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from attrs import frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.json import JsonValue

SUMMARIES: Final = MappingProxyType(
    {
        "expression-budget": "An expression takes too much.",
        "expression-syntax": "An expression cannot be read.",
        "expression-unterminated": "An expression is not closed.",
        "expression-value": "An expression cannot be computed.",
        "late-not-here": "A value of the machine stands where it cannot be known.",
        "machine-value-missing": "A value of the machine could not be read.",
        "needs-filter": "A value stands in text and does not say how.",
        "not-in-this-version": "This version of datum does not have that yet.",
        "template-include": "A template includes what it cannot reach.",
        "template-not-found": "There is no such template.",
        "template-not-text": "A template is no text.",
        "template-syntax": "A template cannot be read.",
        "undefined-name": "A name has no value.",
        "unknown-filter": "There is no such filter or test.",
    }
)

_LISTED: Final = 20

# The first that fits.
_KINDS: Final = (
    (bool, "true or false"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (Mapping, "a map"),
    (Sequence, "a list"),
)


class ExpressionError(Exception):
    """An expression or template cannot be evaluated; the diagnostic says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


class EvaluationError(Exception):
    """What is wrong, before it is known where: stays inside of the evaluating modules."""

    def __init__(self, code: str, detail: str, hint: str = "") -> None:
        super().__init__(code, detail, hint)
        self.code = code
        self.detail = detail
        self.hint = hint
        # Line of the template that it was found in; 0 where that is not known.
        self.line = 0

    def at(
        self, location: SourceLocation | None, related: tuple[tuple[str, SourceLocation], ...] = ()
    ) -> ExpressionError:
        """Return the error with its place."""
        return ExpressionError(
            Diagnostic(
                code=self.code,
                location=location,
                summary=SUMMARIES[self.code],
                detail=self.detail,
                hint=self.hint,
                related=related,
            )
        )


class Missing:
    """Stands for a name without a value: every use of it but `default` and `is defined` is an error."""

    __slots__ = ()

    def problem(self) -> EvaluationError:
        """Return the error that using it is."""
        raise NotImplementedError


# What looking a name up gives.
Found: TypeAlias = "JsonValue | Missing"


@frozen
class MissingName(Missing):
    """A name that its map does not have."""

    # As written, with the map: `var.http_prot`.
    name: str
    # Why it has no value, a whole sentence.
    detail: str
    # What stands there instead.
    known: tuple[str, ...] = ()
    code: str = "undefined-name"

    def problem(self) -> EvaluationError:
        """Return the error, with what is known and what may have been meant."""
        detail = self.detail
        if self.known:
            more = ", …" if len(self.known) > _LISTED else ""
            detail += f" Known: {', '.join(sorted(self.known)[:_LISTED])}{more}."
        return EvaluationError(self.code, detail, suggestion(self.name.rpartition(".")[2], self.known))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `Did you mean '…'?`, or empty when nothing known looks like the word."""
    import difflib

    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"Did you mean '{close[0]}'?" if close else ""


def kind_of(value: object) -> str:
    """Return what a person calls the kind of a value."""
    if value is None:
        return "null"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "no value of a manifest")


def text_of(value: JsonValue) -> str:
    """Return the text of a value that may stand bare in text: a string, an integer, true or false.

    Raises:
        EvaluationError: it is of another kind (`needs-filter`).
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise EvaluationError(
        "needs-filter",
        f"{kind_of(value).capitalize()} stands inside of text, and there are several ways to write it.",
        "Say which with a filter: `| to_json`, for a list `| join(', ')`, for a number `| string`.",
    )
