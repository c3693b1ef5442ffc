"""Every case of `fixtures/cases/unit`: what is seen, what is planned, what is done and loaded."""

from datum_providers.unit.provider import UnitProvider
from tests.providers.case_tests import CaseTests
from tests.providers.unit_cases import Checks


class TestCases(CaseTests):
    checks = Checks.of(UnitProvider())
