"""The `authorized_key` type keeps the contract of providers, on every case that its folder of cases arranges."""

from typing import ClassVar

from datum.provider.contract import AnyProvider
from datum.testing.conformance import ConformanceCase, ProviderConformance
from datum_providers.authorized_key.provider import AuthorizedKeyProvider
from tests.providers.authorized_key.cases import read_cases


class TestAuthorizedKey(ProviderConformance):
    provider_class: ClassVar[type[AnyProvider]] = AuthorizedKeyProvider
    cases: ClassVar[tuple[ConformanceCase, ...]] = tuple(
        ConformanceCase(
            case.title,
            case.name,
            case.attributes,
            case.operation,
            case.arrange,
            converges=not case.is_refused,
            # All keys of a user are never deleted: what is no longer declared of them leaves nothing over.
            can_delete="/" in case.name
            and "obstacle" not in case.data
            and "sshd_refuses" not in case.data["observed"].get("present", {}),
        )
        for case in read_cases()
        if "unobservable" not in case.data["observed"]
    )
