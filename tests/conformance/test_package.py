"""The package provider against the rules of the contract."""

from functools import partial
from typing import ClassVar

import pytest

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum.testing.host import FakeHost
from datum_providers.package import tools
from datum_providers.package.provider import PackageProvider
from tests.providers.package.cases import PackageCase, read_cases
from tests.providers.package.fake_apt import FakeApt


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PAUSE", 0.0)


def _arrange(case: PackageCase, host: FakeHost) -> None:
    case.arrange(host)


def _case(case: PackageCase) -> ConformanceCase:
    step, absent = case.data.get("step", {}), case.data.get("absent", {})
    return ConformanceCase(
        case.title,
        case.name,
        case.attributes,
        case.operation,
        partial(_arrange, case),
        converges="fails" not in case.data and not {"impossible", "needs"} & set(step),
        # What goes along is looked at only where the graph says that it goes.
        can_delete=not {"obstacles", "takes", "fails"} & set(absent),
    )


class TestPackage(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = PackageProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(map(_case, read_cases()))

    def make_host(self) -> FakeHost:
        host = FakeHost()
        FakeApt().install_in(host)
        return host
