"""The `check` type keeps the contract of providers, as far as one can that never has a step."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.check.provider import CheckProvider


class TestCheck(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = CheckProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = (
        ConformanceCase("plain", "web", {"run": ["nginx", "-t"], "guards": ["file:/etc/a"]}, None, can_delete=False),
        ConformanceCase(
            "everything",
            "mail",
            {
                "run": ["/usr/sbin/postfix", "check"],
                "guards": ["file:/etc/a", "tree:/etc/b"],
                "timeout": 5,
                "environment": {"A": "1"},
                "network": True,
            },
            None,
            can_delete=False,
        ),
    )
