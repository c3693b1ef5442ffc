"""Finding resource types by entry point and verifying each (house rule: no provider has a private path).

An entry point is code that will run as root: two distributions that offer one type are refused by name. The module of
a type is imported when the type is first asked for, so that a type nobody names costs no time and breaks no pass.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from datum.diagnostics import Diagnostic
from datum.errors import ProviderContractError, ProviderError
from datum.model.json import thaw
from datum.provider.contract import (
    CONTRACT_VERSION,
    AnyProvider,
    CheckingProvider,
    FieldClass,
    Provider,
    TransactionalProvider,
)

GROUP: Final = "datum.providers"
_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*")

# What the protocol demands; typing gives no list of it.
_MEMBERS: Final = tuple(
    sorted({*Provider.__annotations__, *(one for one in vars(Provider) if not one.startswith("_"))})
)
_METHODS: Final = tuple(one for one in _MEMBERS if callable(vars(Provider).get(one)))
# What only makes sense together, and what a provider offers with it.
_TOGETHER: Final = tuple(
    (what, tuple(sorted(one for one in vars(protocol) if not one.startswith("_"))))
    for what, protocol in (("transactions", TransactionalProvider), ("checks", CheckingProvider))
)


class Providers(Mapping[str, AnyProvider]):
    """Every registered type by its name; names are known at once, a type is loaded and verified when it is asked for.

    Raises:
        ProviderError: on asking for a type that cannot be imported.
        ProviderContractError: on asking for a type that breaks the contract.
    """

    def __init__(self, points: Mapping[str, EntryPoint]) -> None:
        """Take the entry point of each type."""
        self._points = dict(points)
        self._loaded: dict[str, AnyProvider] = {}

    def __getitem__(self, name: str) -> AnyProvider:
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = _load(self._points[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)


def find_providers(points: Iterable[EntryPoint] | None = None) -> Providers:
    """Find every registered type, importing none.

    Args:
        points: the entry points; None for those of the installed distributions.

    Raises:
        ProviderError: two distributions offer one type.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(
        entry_points(group=GROUP) if points is None else points, key=lambda point: (point.name, point.value)
    ):
        other = found.setdefault(point.name, point)
        if other is not point and (other.value, _distribution(other)) != (point.value, _distribution(point)):
            raise ProviderError(
                _diagnostic(
                    "duplicate-provider",
                    f"The type '{point.name}' is offered by {_distribution(other)} ({other.value}) and by "
                    f"{_distribution(point)} ({point.value}). Uninstall one of them.",
                )
            )
    return Providers(found)


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unnamed distribution"


def _load(point: EntryPoint) -> AnyProvider:
    try:
        provider = point.load()()
    except Exception as error:
        raise ProviderError(
            _diagnostic(
                "provider-not-loadable",
                f"The type '{point.name}' of {_distribution(point)} cannot be loaded from {point.value}: {error!r}.",
            )
        ) from error
    return verify_provider(point.name, provider, _distribution(point))


def verify_provider(name: str, provider: object, distribution: str) -> AnyProvider:
    """Return the provider if it keeps the parts of the contract that can be seen without a resource.

    Raises:
        ProviderContractError: it does not; the text says which part.
    """
    version = getattr(provider, "contract_version", CONTRACT_VERSION)
    if version != CONTRACT_VERSION:
        what = f"it was written for contract version {version}, this datum has {CONTRACT_VERSION}"
        raise _breach(name, distribution, what)
    if missing := [member for member in _MEMBERS if not hasattr(provider, member)]:
        raise _breach(name, distribution, f"it lacks {', '.join(missing)}")
    if odd := [method for method in _METHODS if not callable(getattr(provider, method))]:
        raise _breach(name, distribution, f"its {', '.join(odd)} cannot be called")
    for what, methods in _TOGETHER:
        half = [method for method in methods if not hasattr(provider, method)]
        if half and len(half) < len(methods):
            raise _breach(name, distribution, f"it offers {what} and lacks {', '.join(half)}")
    assert isinstance(provider, Provider)  # noqa: S101  # every member was found
    if provider.type_name != name:
        raise _breach(name, distribution, f"it calls itself '{provider.type_name}'")
    if not _TYPE.fullmatch(name):
        raise _breach(name, distribution, "a type is written with lower-case letters, digits and _")
    _verify_schema(name, distribution, provider)
    return provider


def _verify_schema(name: str, distribution: str, provider: AnyProvider) -> None:
    import jsonschema_rs

    schema = provider.schema
    if not isinstance(schema, Mapping):
        raise _breach(name, distribution, f"its schema is no JSON Schema: an object is expected, not {schema!r}")
    try:
        jsonschema_rs.meta.validate({key: thaw(value) for key, value in schema.items()})
    except (jsonschema_rs.ValidationError, ValueError, TypeError) as error:
        raise _breach(name, distribution, f"its schema is no JSON Schema: {error}") from error
    if not isinstance(provider.fields, Mapping):
        raise _breach(name, distribution, "its fields are no mapping from names to classes")
    properties = schema.get("properties")
    declared = set(properties) if isinstance(properties, Mapping) else set()
    if declared != set(provider.fields):
        odd = ", ".join(sorted(map(str, declared ^ set(provider.fields))))
        raise _breach(name, distribution, f"schema and fields disagree on {odd}")
    for key, kind in provider.fields.items():
        if not isinstance(kind, FieldClass):
            raise _breach(name, distribution, f"the field {key} has no class")


def _breach(name: str, distribution: str, what: str) -> ProviderContractError:
    return ProviderContractError(
        _diagnostic(
            "provider-breach",
            f"The type '{name}' of {distribution} breaks the provider contract: {what}. "
            "This is a bug in that provider.",
        )
    )


def _diagnostic(code: str, detail: str) -> Diagnostic:
    return Diagnostic(code=code, summary="A resource type cannot be used.", detail=detail)
