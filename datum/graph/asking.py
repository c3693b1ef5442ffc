"""The guard through which every provider is called: what it raises or answers against its contract is its bug. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from datum.diagnostics import Diagnostic
from datum.errors import ProviderContractError
from datum.model.identity import ResourceId
from datum.model.manifest import Resource
from datum.provider.contract import AnyProvider

_Answer = TypeVar("_Answer")


def named(nodes: Iterable[ResourceId], providers: Mapping[str, AnyProvider]) -> Iterator[tuple[str, AnyProvider]]:
    """Yield the types that some resource is of, and no other: asking for a type loads it."""
    for kind in sorted({origin.type for origin in nodes}):
        yield kind, providers[kind]


def ask(resource: Resource, step: str, call: Callable[[], _Answer]) -> _Answer:
    """Call into a provider.

    Raises:
        ProviderContractError: whatever it raised.
    """
    try:
        return call()
    except Exception as error:
        raise breach(resource, step, f"raised {error!r}") from error


def check_answers(resource: Resource, step: str, answers: Iterable[object], kind: type) -> None:
    """Check that all answers are of one class.

    Raises:
        ProviderContractError: one is not.
    """
    for answer in answers:
        if not isinstance(answer, kind):
            raise breach(resource, step, f"answered {answer!r}")


def breach(resource: Resource, step: str, what: str) -> ProviderContractError:
    """Return the error that names the provider, the resource and the step."""
    return ProviderContractError(
        Diagnostic(
            location=resource.location,
            code="provider-breach",
            summary="A provider broke its contract.",
            detail=f"The provider '{resource.id.type}', asked for '{step}' of {resource.id}, {what}. "
            "This is a bug in it.",
            resource=str(resource.id),
        )
    )
