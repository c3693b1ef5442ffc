"""Every case of `fixtures/cases/package_source`: what is seen, what is planned, what is done and removed."""

from datum_providers.package_source.provider import PackageSourceProvider
from tests.providers.case_tests import DeletedCaseTests
from tests.providers.whole_cases import Checks


class TestCases(DeletedCaseTests):
    checks = Checks.of(PackageSourceProvider())
