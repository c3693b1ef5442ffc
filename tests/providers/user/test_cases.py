"""Every case of `fixtures/cases/user`: what is seen, what is planned, what is done."""

from collections.abc import Iterable

import pytest

from datum_providers.user.provider import UserProvider
from tests.providers.account_cases import AccountCase, Checks, read_cases

CASES = read_cases("user")
CHECKS = Checks(UserProvider())


def every(cases: Iterable[AccountCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: case.title)


@every(CASES)
def test_what_is_seen(case: AccountCase) -> None:
    CHECKS.check_seen(case)


@every(case for case in CASES if "unobservable" not in case.data["observed"])
def test_what_is_planned(case: AccountCase) -> None:
    CHECKS.check_planned(case)


@every(case for case in CASES if "runs" in case.data)
def test_what_is_done(case: AccountCase) -> None:
    CHECKS.check_done(case)


@every(case for case in CASES if "busy" in case.data)
def test_what_waits_until_nobody_uses_it(case: AccountCase) -> None:
    CHECKS.check_busy(case)


@every(case for case in CASES if "absent" in case.data)
def test_what_is_removed(case: AccountCase) -> None:
    CHECKS.check_deleted(case)
