"""Every case of `fixtures/cases/cron`: what is seen, what is planned, what is done and removed."""

from collections.abc import Iterable

import pytest

from datum_providers.cron.provider import CronProvider
from tests.providers.whole_cases import Checks, WholeCase

CHECKS = Checks.of(CronProvider())


def every(cases: Iterable[WholeCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.title)


@every(CHECKS.cases)
def test_cases_say_only_what_is_checked(case: WholeCase) -> None:
    CHECKS.check_keys(case)


@every(CHECKS.cases)
def test_what_is_seen(case: WholeCase) -> None:
    CHECKS.check_seen(case)


@every(CHECKS.cases)
def test_what_is_planned(case: WholeCase) -> None:
    CHECKS.check_planned(case)


@every(CHECKS.with_a_step())
def test_what_is_done(case: WholeCase) -> None:
    CHECKS.check_done(case)


@every(CHECKS.with_something())
def test_what_is_deleted(case: WholeCase) -> None:
    CHECKS.check_deleted(case)
