"""The `command` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.command.provider import CommandProvider
from tests.providers.command.cases import read_cases


class TestCommand(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = CommandProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(
        # Nothing of a command is on the host that could be deleted.
        ConformanceCase(case.title, case.title, case.attributes, case.operation, case.arrange, can_delete=False)
        for case in read_cases()
        if case.data.get("conformance", True) and "unobservable" not in case.data["observed"]
    )
