"""The tests that every case of a type has, whatever the type: each is made once for every case that it is about.

A folder of cases has a class of these with the checks of its type, as `ProviderConformance` has one for its provider.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

import pytest

_CASES = "cases_of"
TestT = TypeVar("TestT", bound=Callable[..., None])


def every(cases_of: Callable[[Any], Iterable[Any]]) -> Callable[[TestT], TestT]:
    """Say for which cases of its checks a test is made."""

    def mark(test: TestT) -> TestT:
        setattr(test, _CASES, cases_of)
        return test

    return mark


class CaseTests:
    """What every case says is so: what it may say at all, what is seen, planned and done."""

    checks: ClassVar[Any]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        cases_of = getattr(metafunc.function, _CASES)
        metafunc.parametrize("case", list(cases_of(self.checks)), ids=lambda case: case.title)

    @every(lambda checks: checks.cases)
    def test_cases_say_only_what_is_checked(self, case: Any) -> None:
        self.checks.check_keys(case)

    @every(lambda checks: checks.cases)
    def test_what_is_seen(self, case: Any) -> None:
        self.checks.check_seen(case)

    @every(lambda checks: checks.with_a_plan())
    def test_what_is_planned(self, case: Any) -> None:
        self.checks.check_planned(case)

    @every(lambda checks: checks.with_a_step())
    def test_what_is_done(self, case: Any) -> None:
        self.checks.check_done(case)


class DeletedCaseTests(CaseTests):
    """The same, and that what is seen can be removed."""

    @every(lambda checks: checks.with_a_deletion())
    def test_what_is_deleted(self, case: Any) -> None:
        self.checks.check_deleted(case)
