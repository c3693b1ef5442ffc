"""Every case of `fixtures/cases/service`: what is seen, what is planned, what is owed, what is done."""

from datum.model.observation import Absent, Present
from datum_providers.service.provider import ServiceProvider
from tests.providers.case_tests import CaseTests, every
from tests.providers.unit_cases import Checks, UnitCase

PROVIDER = ServiceProvider()


class TestCases(CaseTests):
    checks = Checks.of(PROVIDER)

    @every(lambda checks: checks.cases)
    def test_what_is_owed_is_refreshed_and_nothing_else(self, case: UnitCase) -> None:
        host = case.make_host()
        seen = self.checks.see(case, host)
        if not isinstance(seen, (Present, Absent)):
            return
        step = PROVIDER.refresh(self.checks.desired_of(case), seen)
        assert (None if step is None else step.operation) == case.data.get("refresh")
        if step is None:
            return
        PROVIDER.apply(host.writer(), self.checks.desired_of(case), step)
        again = self.checks.see(case, host)
        assert isinstance(again, Present)
        assert again.fields["owes"] is None
        assert PROVIDER.refresh(self.checks.desired_of(case), again) is None
