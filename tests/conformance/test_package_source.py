"""The `package_source` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.package_source.provider import PackageSourceProvider
from tests.providers.whole_cases import conformance_cases


class TestPackageSource(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = PackageSourceProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = conformance_cases("package_source")
