"""Every case of `fixtures/cases/file`: what is seen, what is planned, what is done."""

from datum_providers.file.provider import FileProvider
from tests.providers.case_checks import Checks
from tests.providers.case_tests import DeletedCaseTests


class TestCases(DeletedCaseTests):
    checks = Checks.of(FileProvider())
