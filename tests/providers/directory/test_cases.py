"""Every case of `fixtures/cases/directory`: what is seen, what is planned, what is done."""

from datum_providers.directory.provider import DirectoryProvider
from tests.providers.case_checks import Checks
from tests.providers.case_tests import DeletedCaseTests


class TestCases(DeletedCaseTests):
    checks = Checks.of(DirectoryProvider())
