"""Every case of `fixtures/cases/user`: what is seen, what is planned, what is done."""

from datum_providers.user.provider import UserProvider
from tests.providers.account_cases import AccountCase, Checks
from tests.providers.case_tests import DeletedCaseTests, every


class TestCases(DeletedCaseTests):
    checks = Checks.of(UserProvider())

    @every(lambda checks: [case for case in checks.cases if "busy" in case.data])
    def test_what_waits_until_nobody_uses_it(self, case: AccountCase) -> None:
        self.checks.check_busy(case)
