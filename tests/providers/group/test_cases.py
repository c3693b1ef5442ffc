"""Every case of `fixtures/cases/group`: what is seen, what is planned, what is done."""

from datum_providers.group.provider import GroupProvider
from tests.providers.account_cases import Checks
from tests.providers.case_tests import DeletedCaseTests


class TestCases(DeletedCaseTests):
    checks = Checks.of(GroupProvider())
