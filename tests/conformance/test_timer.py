"""The `timer` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.timer.provider import TimerProvider
from tests.providers.whole_cases import conformance_cases


class TestTimer(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = TimerProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = conformance_cases("timer")
