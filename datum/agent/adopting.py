"""`datum adopt`: what is on a host as the declarations that would leave it as it is.

Nothing is written, neither on the host nor in a repository. Effects: reads the host.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from datum.agent.places import absolute
from datum.agent.ports import Ports
from datum.diagnostics import Diagnostic
from datum.errors import UsageError
from datum.host.deadline import Deadline
from datum.host.local import LocalHost
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.observation import Absent, Present, Unobservable
from datum.provider.contract import AnyProvider, DesiredError
from datum.provider.host import HostError, HostReader

Adopted = Mapping[ResourceId, Mapping[str, JsonValue]]


def adopt(names: Sequence[str], root: str | None, ports: Ports) -> Adopted:
    """Return the fields that declare each of these resources as it stands on the host, sorted by id.

    Args:
        names: resource ids, in any spelling of their names.
        root: another root than that of the running system.
        ports: the types.

    Raises:
        UsageError: with what is wrong with each name that cannot be adopted.
    """
    found: dict[ResourceId, Mapping[str, JsonValue]] = {}
    problems: list[Diagnostic] = []
    try:
        with LocalHost(str(absolute(root)) if root is not None else "/") as host:
            reader = host.reader()
            for name in names:
                try:
                    origin, provider = _identify(name, ports.providers)
                    found[origin] = _look(origin, provider, reader)
                except UsageError as error:
                    problems.extend(error.diagnostics)
    except HostError as error:
        raise UsageError(*error.diagnostics) from error
    if problems:
        raise UsageError(*problems)
    return dict(sorted(found.items()))


def _identify(text: str, providers: Mapping[str, AnyProvider]) -> tuple[ResourceId, AnyProvider]:
    try:
        asked = ResourceId.parse(text)
    except ValueError as error:
        raise _refusal("bad-resource-id", "A resource is not written type:name.", f"{error}.") from error
    if asked.type not in providers:
        from difflib import get_close_matches

        near = get_close_matches(asked.type, list(providers), 1)
        raise _refusal(
            "unknown-resource-type",
            "There is no such resource type.",
            f"'{asked.type}' is no resource type; there are {', '.join(providers)}.",
            hint=f"did you mean {near[0]}:{asked.name}?" if near else "",
        )
    provider = providers[asked.type]
    try:
        return ResourceId(asked.type, provider.normal_name(asked.name)), provider
    except DesiredError as error:
        raise _refusal(
            error.code, "A name cannot be used.", f"{text}: {error.detail}", hint=error.hint, resource=text
        ) from error


def _look(origin: ResourceId, provider: AnyProvider, reader: HostReader) -> Mapping[str, JsonValue]:
    try:
        desired = _undeclared(origin, provider)
        with Deadline(provider.observe_deadline):
            seen = provider.observe(reader, {origin.name: desired})[origin.name]
        match seen:
            case Present():
                return provider.adopt(origin.name, seen)
            case Absent():
                raise _nothing_there(origin, provider)
            case Unobservable():
                raise _cannot(origin, f"it cannot be looked at: {seen.detail}")
    except DesiredError as error:
        raise _cannot(origin, error.detail, error.hint) from error
    except HostError as error:
        raise _cannot(origin, f"it cannot be looked at: {error.detail}") from error


def _undeclared(origin: ResourceId, provider: AnyProvider) -> Any:
    """Return the resource as one that declares nothing, which is looked at whole.

    Raises:
        DesiredError: the type cannot say what is there without being told what is wanted.
    """
    if provider.schema.get("required"):
        # The type's own words say why, before it is asked for what nobody declared.
        provider.adopt(origin.name, Present({}))
    return provider.parse(origin.name, {})


def _nothing_there(origin: ResourceId, provider: AnyProvider) -> UsageError:
    """Return that there is nothing; where something may be that does not count, the type says what to do."""
    hint = str(provider.schema.get("x-nothing-there", "")).replace("{name}", origin.name)
    detail = "nothing of that name counts as there." if hint else "there is nothing of that name on this host."
    return _cannot(origin, detail, hint)


def _cannot(origin: ResourceId, detail: str, hint: str = "") -> UsageError:
    return _refusal(
        "cannot-be-adopted",
        "This cannot be adopted.",
        f"{origin}: {detail}",
        hint=hint,
        resource=str(origin),
    )


def _refusal(code: str, summary: str, detail: str, *, hint: str = "", resource: str = "") -> UsageError:
    return UsageError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint, resource=resource))
