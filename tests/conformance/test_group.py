"""The `group` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.group.provider import GroupProvider
from tests.providers.account_cases import conformance_cases


class TestGroup(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = GroupProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = conformance_cases("group")
