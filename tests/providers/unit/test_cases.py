"""Every case of `fixtures/cases/unit`: what is seen, what is planned, what is done and loaded."""

from collections.abc import Iterable

import pytest

from datum_providers.unit.provider import UnitProvider
from tests.providers.unit_cases import Checks, UnitCase

PROVIDER = UnitProvider()
CHECKS = Checks.of(PROVIDER)


def every(cases: Iterable[UnitCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.title)


@every(CHECKS.cases)
def test_cases_say_only_what_is_checked(case: UnitCase) -> None:
    CHECKS.check_keys(case)


@every(CHECKS.cases)
def test_what_is_seen(case: UnitCase) -> None:
    CHECKS.check_seen(case)


@every(CHECKS.cases)
def test_what_is_planned(case: UnitCase) -> None:
    CHECKS.check_planned(case)


@every(CHECKS.with_a_step())
def test_what_is_done(case: UnitCase) -> None:
    CHECKS.check_done(case, PROVIDER.settle)
