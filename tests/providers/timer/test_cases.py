"""Every case of `fixtures/cases/timer`: what is seen, what is planned, what is done and removed."""

from datum_providers.timer.provider import TimerProvider
from tests.providers.case_tests import DeletedCaseTests
from tests.providers.whole_cases import Checks


class TestCases(DeletedCaseTests):
    checks = Checks.of(TimerProvider())
