"""The `tree` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.tree.provider import TreeProvider
from tests.providers.tree.cases import read_cases


class TestTree(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = TreeProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(
        ConformanceCase(case.title, case.name, case.attributes, case.operation, case.arrange)
        for case in read_cases()
        # Faults are injected by the suite itself; neighbours are what the graph says.
        if case.data.get("conformance", True) and "faults" not in case.data.get("host", {})
    )
