"""Every case of `fixtures/cases/file`: what is seen, what is planned, what is done."""

from collections.abc import Iterable

import pytest

from datum_providers.file.provider import FileProvider
from tests.providers.case_checks import Checks
from tests.providers.cases import PathCase

CHECKS = Checks.of(FileProvider())


def every(cases: Iterable[PathCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.title)


@every(CHECKS.cases)
def test_cases_say_only_what_is_checked(case: PathCase) -> None:
    CHECKS.check_keys(case)


@every(CHECKS.cases)
def test_what_is_seen(case: PathCase) -> None:
    CHECKS.check_seen(case)


@every(CHECKS.with_a_plan())
def test_what_is_planned(case: PathCase) -> None:
    CHECKS.check_planned(case)


@every(CHECKS.with_a_step())
def test_what_is_done(case: PathCase) -> None:
    CHECKS.check_done(case)


@every(CHECKS.with_a_deletion())
def test_what_is_deleted(case: PathCase) -> None:
    CHECKS.check_deleted(case)
