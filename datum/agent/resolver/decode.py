"""Values of the model from what `encode` made, or from what somebody put in its place. Pure.

The process that answers reads bytes of others, and may be theirs by then. So every part is looked at: its kind, its
bounds, what it names. What a manifest may say is not judged here: whoever writes the repository decides that.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve, field, frozen

from datum.agent.resolver.contents import content_from
from datum.agent.resolver.frames import read_json
from datum.agent.resolver.strict import (
    SAFE,
    MalformedError,
    fields_of,
    listed,
    mapping,
    matching,
    maybe,
    number,
    one_of,
    plain,
    resource_id,
    row_of,
    text,
    texts,
)
from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import (
    AttributeValue,
    EffectiveManifest,
    Enforcement,
    Expectation,
    Hazard,
    Late,
    LimitClass,
    Limits,
    OnObservationFailure,
    OnRemoval,
    Resource,
)
from datum.model.provenance import FieldOrigin, Say
from datum.model.revision import Revision
from datum.provider.contract import AnyProvider

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROW: Final = 4

Origins = Callable[[ResourceId], Mapping[str, FieldOrigin]]


def manifest_from(
    data: bytes, revision: Revision, host: HostName, providers: Mapping[str, AnyProvider], origins: Origins
) -> EffectiveManifest:
    """Return a manifest.

    Args:
        data: what was answered.
        revision: of which it was asked.
        host: for which it was asked.
        providers: every type.
        origins: asks where the fields of a resource were said.

    Raises:
        MalformedError: it is no manifest, or not the one that was asked for.
        FrameError: it is no JSON.
    """
    said = fields_of(read_json(data), _MANIFEST)
    if (said["revision"], said["host"]) != (revision.key, host.value):
        raise MalformedError("it is of another revision or host")
    rows = _Rows(texts(said["files"]), providers, origins)
    resources = tuple(map(rows.resource, listed(said["resources"])))
    ids = [(one.id.type, one.id.name) for one in resources]
    if any(one >= other for one, other in itertools.pairwise(ids)):
        raise MalformedError("its resources are in no order")
    return EffectiveManifest(
        revision,
        host,
        matching(said["fleet"], UUID),
        resources,
        matching(said["digest"], _DIGEST),
        mapping(said["layers"], texts),
        mapping(said["variables"], plain),
        _expectation(said["expect"]),
        _limits(said["limits"]),
        one_of(said["enforcement"], Enforcement),
        one_of(said["on_observation_failure"], OnObservationFailure),
        maybe(said["enforcement_at"], location_from),
    )


_MANIFEST: Final = frozenset(
    {
        *("revision", "host", "fleet", "digest", "layers", "variables", "expect", "limits", "enforcement"),
        *("enforcement_at", "on_observation_failure", "files", "resources"),
    }
)


def concrete_from(
    data: bytes, manifest: EffectiveManifest, providers: Mapping[str, AnyProvider], late: frozenset[ResourceId]
) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
    """Return a manifest with other attributes where it had late ones, and where they could not be had.

    Args:
        data: what was answered.
        manifest: about which it was asked.
        providers: every type.
        late: the resources that have late values.

    Raises:
        MalformedError: it says something else, or of others.
        FrameError: it is no JSON.
    """
    said = fields_of(read_json(data), {"resources", "problems"})
    rows = _Rows((), providers, _no_origins)
    changed: dict[ResourceId, Mapping[str, AttributeValue]] = {}
    for row in listed(said["resources"]):
        origin, values, odd = row_of(row, 3)
        one = resource_id(origin)
        changed[one] = rows.attributes(one.type, values, odd)
        if any(_is_late(value) for value in changed[one].values()):
            raise MalformedError("a value is late still")
    problems = {
        resource_id(one): diagnostic_from(wrong) for one, wrong in (row_of(row, 2) for row in listed(said["problems"]))
    }
    if changed.keys() != late or not problems.keys() <= late:
        raise MalformedError("it is of other resources than have late values")
    resources = tuple(
        evolve(one, attributes=changed[one.id]) if one.id in changed else one for one in manifest.resources
    )
    return evolve(manifest, resources=resources), MappingProxyType(problems)


def late_resources(manifest: EffectiveManifest) -> frozenset[ResourceId]:
    """Return the resources with a field, or a part of one, that waits for the machine."""
    return frozenset(one.id for one in manifest.resources if any(map(_is_late, one.attributes.values())))


def _no_origins(_resource: ResourceId) -> Mapping[str, FieldOrigin]:
    return {}


def _is_late(value: AttributeValue) -> bool:
    return isinstance(value, Late) or (isinstance(value, tuple) and any(isinstance(one, Late) for one in value))


def origins_from(data: bytes) -> Mapping[str, FieldOrigin]:
    """Return where each field of a resource was said.

    Raises:
        MalformedError: it says something else.
        FrameError: it is no JSON.
    """

    def origin(value: Any) -> FieldOrigin:
        winner, others = row_of(value, 2)
        return FieldOrigin(_say(winner), tuple(map(_say, listed(others))))

    return mapping(read_json(data), origin)


def _say(value: Any) -> Say:
    layer, place, said = row_of(value, 3)
    return Say(text(layer), location_from(place), plain(said))


def diagnostics_from(value: Any) -> tuple[Diagnostic, ...]:
    """Return diagnostics.

    Raises:
        MalformedError: they are none.
    """
    return tuple(map(diagnostic_from, listed(value)))


def diagnostic_from(value: Any) -> Diagnostic:
    """Return one diagnostic.

    Raises:
        MalformedError: it is none.
    """
    said = fields_of(value, {"location", "code", "summary", "detail", "resource", "hint", "severity", "related"})
    words = {name: text(said[name]) for name in ("code", "summary", "detail", "resource", "hint")}
    related = [row_of(one, 2) for one in listed(said["related"])]
    try:
        return Diagnostic(
            location=maybe(said["location"], location_from),
            severity=one_of(said["severity"], Severity),
            related=tuple((text(what), location_from(place)) for what, place in related),
            **words,
        )
    except ValueError as error:
        raise MalformedError(f"a diagnostic has the code {words['code']!r}") from error


def location_from(value: Any) -> SourceLocation:
    """Return one place.

    Raises:
        MalformedError: it is none.
    """
    file, line, column = row_of(value, 3)
    return SourceLocation(text(file), number(line), number(column))


@frozen
class _Rows:
    """Resources of one manifest."""

    files: tuple[str, ...]
    # Each is loaded when it is first looked for.
    providers: Mapping[str, AnyProvider]
    origins: Origins
    # By their texts.
    ids: dict[str, ResourceId] = field(factory=dict)
    # By type.
    fields: dict[str, frozenset[str]] = field(factory=dict)

    def id(self, value: Any) -> ResourceId:
        """Return an id; equal ones are one value, since most are named again and again."""
        found = self.ids.get(value) if isinstance(value, str) else None
        if found is None:
            found = self.ids[value] = resource_id(value)
        return found

    def resource(self, row: Any) -> Resource:
        """Return one resource."""
        origin, place, values, odd, *rest = row_of(row, _ROW, _ROW + 1)
        origin = self.id(origin)
        more = self._more(rest[0]) if rest else {}
        return Resource(
            origin,
            self.attributes(origin.type, values, odd),
            self._place(place),
            origins=AskedOrigins(origin, self.origins),
            **more,
        )

    def attributes(self, kind: str, values: Any, odd: Any) -> Mapping[str, AttributeValue]:
        """Return the attributes of a resource of a type."""
        known = self.fields.get(kind)
        if known is None:
            if kind not in self.providers:
                raise MalformedError(f"there is no type {kind!r}")
            known = self.fields[kind] = frozenset(self.providers[kind].fields)
        if not isinstance(values, dict) or not isinstance(odd, dict):
            raise MalformedError("attributes are no map")
        if not known.issuperset(values) or not values.keys() >= odd.keys():
            raise MalformedError(f"a {kind} has other fields than its type")
        found: dict[str, AttributeValue] = {
            name: value if type(value) is str else plain(value) for name, value in values.items()
        }
        for name, value in odd.items():
            found[name] = content_from(value)
        return MappingProxyType(found)

    def _place(self, value: Any) -> SourceLocation:
        file, line, column = row_of(value, 3)
        if not type(file) is type(line) is type(column) is int or not 0 <= file < len(self.files):
            raise MalformedError("a place names no file")
        if not (0 <= line <= SAFE and 0 <= column <= SAFE):
            raise MalformedError("a place is none")
        return SourceLocation(self.files[file], line, column)

    def _more(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not _MORE.keys() >= value.keys():
            raise MalformedError("a resource says something that none has")
        return {name: _MORE[name](self, said) for name, said in value.items()}

    def _places(self, value: Any) -> Mapping[ResourceId, SourceLocation]:
        if not isinstance(value, dict):
            raise MalformedError("places are no map")
        return {self.id(one): self._place(place) for one, place in value.items()}


def _flag(_rows: _Rows, value: Any) -> bool:
    if not isinstance(value, bool):
        raise MalformedError("it is neither true nor false")
    return value


def _ids(rows: _Rows, value: Any) -> tuple[ResourceId, ...]:
    return tuple(map(rows.id, listed(value)))


# What a resource may say beside its attributes, and who reads it.
_MORE: Final[Mapping[str, Callable[[_Rows, Any], Any]]] = MappingProxyType(
    {
        "requires": _ids,
        "after": _ids,
        "dropped": _ids,
        "while_stopped": _ids,
        "absent": _flag,
        "protect": _flag,
        "audit": _flag,
        "note": lambda _rows, value: text(value),
        "on_removal": lambda _rows, value: one_of(value, OnRemoval),
        "moved": lambda _rows, value: resource_id(value),
        "allow": lambda _rows, value: frozenset(one_of(one, Hazard) for one in listed(value)),
        "unmanaged": lambda _rows, value: frozenset(texts(value)),
        "references": _Rows._places,  # noqa: SLF001 - of this module
        "stopped_at": _Rows._places,  # noqa: SLF001 - of this module
    }
)


class AskedOrigins(Mapping[str, FieldOrigin]):
    """Where the fields of one resource were said, asked for when somebody looks."""

    def __init__(self, resource: ResourceId, ask: Origins) -> None:
        self._resource = resource
        self._ask = ask
        self._found: Mapping[str, FieldOrigin] | None = None

    def _known(self) -> Mapping[str, FieldOrigin]:
        if self._found is None:
            self._found = self._ask(self._resource)
        return self._found

    def __getitem__(self, key: str) -> FieldOrigin:
        return self._known()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())


def _expectation(value: Any) -> Expectation:
    said = fields_of(value, {"values", "warn", "location"})
    warn = frozenset(texts(said["warn"]))
    return Expectation(mapping(said["values"], text), warn, maybe(said["location"], location_from))


def _limits(value: Any) -> Limits:
    counts = ("removals", "replaces", "changed", "restarts", "package_removals")
    said = fields_of(value, {*counts, "allowed", "allowed_from"})
    allowed = mapping(said["allowed"], number)
    try:
        since = maybe(said["allowed_from"], lambda key: Revision.parse(text(key)))
    except ValueError as error:
        raise MalformedError("it names no revision") from error
    return Limits(
        allowed={one_of(name, LimitClass): most for name, most in allowed.items()},
        allowed_from=since,
        **{name: maybe(said[name], number) for name in counts},
    )
