"""Every case of `fixtures/cases/cron`: what is seen, what is planned, what is done and removed."""

from datum_providers.cron.provider import CronProvider
from tests.providers.case_tests import DeletedCaseTests
from tests.providers.whole_cases import Checks


class TestCases(DeletedCaseTests):
    checks = Checks.of(CronProvider())
