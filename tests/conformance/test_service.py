"""The `service` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.service.provider import ServiceProvider
from tests.providers.unit_cases import conformance_cases


class TestService(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = ServiceProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = conformance_cases("service")
