"""A look that breaks takes nothing along but the checks that it did not come to (row M14)."""

import errno
from collections.abc import Iterator

import pytest

from datum.agent.doctor.finding import Diagnosis, Finding, State, fault, from_diagnostics, ok, warning
from datum.agent.doctor.shelter import sheltered
from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import StateError

NAMES = ("free-space", "writable")
REFUSED = StateError(Diagnostic(code="lock-unusable", summary="Broken.", detail="It is broken.", hint="mend it"))


def breaking(error: Exception) -> Iterator[Finding]:
    yield ok("free-space", "Room.")
    raise error


def found(error: Exception, *, is_root: bool = True) -> tuple[Finding, Finding]:
    first, second = sheltered(NAMES, lambda: breaking(error), is_root=is_root)
    assert first == ok("free-space", "Room.")
    assert (second.check, second.state) == ("writable", State.NOT_CHECKED)
    return first, second


def test_what_came_before_counts() -> None:
    assert sheltered(NAMES, lambda: [ok("free-space", "x"), ok("writable", "y")], is_root=True)[1].found == "y"


def test_a_bug_is_said_to_be_one_with_its_place() -> None:
    second = found(ZeroDivisionError("by zero"))[1]
    assert second.is_bug
    assert "ZeroDivisionError: by zero" in second.found
    assert "test_shelter.py:" in second.found
    assert Diagnosis((second,)).exit_code == 70


def test_a_bug_without_words_is_named() -> None:
    assert "AssertionError" in found(AssertionError())[1].found


def test_the_words_of_the_system_are_the_reason() -> None:
    second = found(OSError(errno.EIO, "Input/output error", "/x"))[1]
    assert (second.found, second.is_bug) == ("It could not be looked at: /x: Input/output error.", False)
    assert Diagnosis((second,)).exit_code == 0


def test_a_diagnostic_is_the_reason_in_its_own_words() -> None:
    second = found(REFUSED)[1]
    assert (second.found, second.cure, second.codes) == ("Broken: It is broken.", "mend it", ("lock-unusable",))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_an_ordinary_user_lacks_rights_and_root_has_another_problem(number: int) -> None:
    """Also where the refusal of the system lies below another error."""
    direct = OSError(number, "denied", "/x")
    wrapped = StateError(*REFUSED.diagnostics)
    wrapped.__cause__ = direct
    for error in (direct, wrapped):
        assert found(error, is_root=False)[1].needs_root
        assert not found(error)[1].needs_root


def test_exit_codes() -> None:
    assert Diagnosis(()).exit_code == 0
    assert Diagnosis((warning("writable", "w", "c"),)).exit_code == 0
    assert Diagnosis((warning("writable", "w", "c"), fault("writable", "w", "c"))).exit_code == 1


def test_several_diagnostics_are_told_together() -> None:
    items = [
        Diagnostic(code="bad-config", summary="Wrong.", detail="One.", hint="a", location=SourceLocation("/f", 1, 2)),
        Diagnostic(code="bad-config", summary="Wrong.", detail="Two.", hint="a"),
        Diagnostic(code="other-code", summary="Wrong."),
    ]
    made = from_diagnostics("writable", State.FAULT, items)
    assert made.found == "/f:1:2: Wrong: One. Wrong: Two. Wrong."
    assert (made.cure, made.codes) == ("a", ("bad-config", "other-code"))
