"""The `directory` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.model.observation import Unobservable
from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.directory.provider import DirectoryProvider
from tests.providers.cases import PathCase, read_cases


def _conformance(case: PathCase) -> ConformanceCase:
    return ConformanceCase(
        case.title,
        case.name,
        case.attributes,
        case.operation,
        case.arrange,
        converges="fails" not in case.data,
        can_delete=case.is_deletable,
    )


class TestDirectory(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = DirectoryProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(
        _conformance(case)
        for case in read_cases("directory")
        # Faults are injected by the suite itself, and it declares one resource at a time.
        if not isinstance(case.observation, Unobservable)
        and "faults" not in case.data.get("host", {})
        and "declared" not in case.data
    )
