"""Diagnostics are data, ordered by place."""

import pytest
from attrs.exceptions import FrozenInstanceError

from datum.diagnostics import Diagnostic, Severity, SourceLocation, sorted_unique


def found(file: str = "", line: int = 0, column: int = 0, code: str = "bad-value") -> Diagnostic:
    place = SourceLocation(file, line, column) if file else None
    return Diagnostic(location=place, code=code, summary="Bad.")


def test_a_place_is_written_as_editors_read_it() -> None:
    assert str(SourceLocation("hosts/web1.yaml", 3, 5)) == "hosts/web1.yaml:3:5"
    assert str(SourceLocation("hosts/web1.yaml")) == "hosts/web1.yaml"


def test_diagnostics_are_sorted_by_place_and_without_repetitions() -> None:
    ordered = (
        found(code="a"),
        found("a.yaml"),
        found("a.yaml", 2, 9),
        found("a.yaml", 10, 1, code="a"),
        found("a.yaml", 10, 1, code="b"),
        found("b.yaml", 1, 1),
    )
    assert sorted_unique([*ordered[::-1], *ordered]) == ordered
    assert sorted_unique(()) == ()


@pytest.mark.parametrize("code", ["", "Bad", "bad_value", "bad-", "-bad", "bad--value", "bad value", "bad-value\n"])
def test_a_code_is_kebab_case(code: str) -> None:
    with pytest.raises(ValueError, match="code"):
        found(code=code)


def test_a_diagnostic_is_an_error_that_cannot_be_changed() -> None:
    one = found("a.yaml", 1, 1)
    assert one.severity is Severity.ERROR
    assert (one.detail, one.resource, one.hint, one.related) == ("", "", "", ())
    with pytest.raises(FrozenInstanceError):
        one.summary = "Good."  # type: ignore[misc]  # what the test is about


def test_diagnostics_that_differ_in_what_they_concern_are_kept_apart() -> None:
    places = (("first", SourceLocation("a.yaml", 1, 1)),)
    some = [
        Diagnostic(code="a", summary="s", resource=resource, related=related, severity=severity)
        for resource in ("", "fake:a")
        for related in ((), places)
        for severity in Severity
    ]
    assert len(sorted_unique(some)) == len(some)
