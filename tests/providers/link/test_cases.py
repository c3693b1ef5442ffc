"""Every case of `fixtures/cases/link`: what is seen, what is planned, what is done."""

from datum_providers.link.provider import LinkProvider
from tests.providers.case_checks import Checks
from tests.providers.case_tests import DeletedCaseTests


class TestCases(DeletedCaseTests):
    checks = Checks.of(LinkProvider())
