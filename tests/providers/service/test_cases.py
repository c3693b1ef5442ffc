"""Every case of `fixtures/cases/service`: what is seen, what is planned, what is owed, what is done."""

from collections.abc import Iterable

import pytest

from datum.model.observation import Absent, Present
from datum_providers.service.provider import ServiceProvider
from tests.providers.unit_cases import Checks, UnitCase

PROVIDER = ServiceProvider()
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
    CHECKS.check_done(case)


@every(CHECKS.cases)
def test_what_is_owed_is_refreshed_and_nothing_else(case: UnitCase) -> None:
    host = case.make_host()
    seen = CHECKS.see(case, host)
    if not isinstance(seen, (Present, Absent)):
        return
    step = PROVIDER.refresh(CHECKS.desired_of(case), seen)
    assert (None if step is None else step.operation) == case.data.get("refresh")
    if step is None:
        return
    PROVIDER.apply(host.writer(), CHECKS.desired_of(case), step)
    again = CHECKS.see(case, host)
    assert isinstance(again, Present)
    assert again.fields["owes"] is None
    assert PROVIDER.refresh(CHECKS.desired_of(case), again) is None
