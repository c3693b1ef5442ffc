"""Values of the model as JSON, for `decode`. Pure.

A resource is a row, without what it does not say: a host may have ten thousand. Where each field was said (`origins`)
is asked by itself, since a pass with nothing to do asks for none.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import define, field

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.content import Content, Folder
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue, compact_json
from datum.model.manifest import AttributeValue, EffectiveManifest, Late, Limits, Resource
from datum.model.provenance import FieldOrigin, Say

_LISTS: Final = ("requires", "after", "dropped", "while_stopped")
_FLAGS: Final = ("absent", "protect", "audit", "note")
_SETS: Final = ("allow", "unmanaged")
_PLACES: Final = ("references", "stopped_at")


def manifest_to_bytes(manifest: EffectiveManifest) -> bytes:
    """Return all of a manifest but the origins of its resources."""
    rows = _Rows()
    resources = [rows.resource(resource) for resource in manifest.resources]
    expect = manifest.expect
    return compact_json(
        {
            "revision": manifest.revision.key,
            "host": manifest.host.value,
            "fleet": manifest.fleet,
            "digest": manifest.digest,
            "layers": manifest.layers,
            "variables": manifest.variables,
            "expect": {
                "values": expect.values,
                "warn": sorted(expect.warn),
                "location": _maybe(expect.location),
            },
            "limits": _limits(manifest.limits),
            "enforcement": manifest.enforcement,
            "enforcement_at": _maybe(manifest.enforcement_at),
            "on_observation_failure": manifest.on_observation_failure,
            "files": list(rows.files),
            "resources": resources,
        }
    ).encode()


def concrete_to_bytes(
    before: EffectiveManifest, after: EffectiveManifest, problems: Mapping[ResourceId, Diagnostic]
) -> bytes:
    """Return the attributes of the resources that are not the same in both, and the problems."""
    changed = (
        resource for known, resource in zip(before.resources, after.resources, strict=True) if known is not resource
    )
    return compact_json(
        {
            "resources": [[str(one.id), *_attributes(one.attributes)] for one in changed],
            "problems": [[str(one), diagnostic_to_json(wrong)] for one, wrong in problems.items()],
        }
    ).encode()


def origins_to_bytes(origins: Mapping[str, FieldOrigin]) -> bytes:
    """Return where each field of one resource was said."""
    return compact_json(
        {name: [_say(origin.winner), [_say(other) for other in origin.others]] for name, origin in origins.items()}
    ).encode()


def diagnostics_to_json(diagnostics: Iterable[Diagnostic]) -> JsonValue:
    """Return diagnostics."""
    return [diagnostic_to_json(found) for found in diagnostics]


def diagnostic_to_json(found: Diagnostic) -> JsonValue:
    """Return one diagnostic."""
    return {
        "location": _maybe(found.location),
        "code": found.code,
        "summary": found.summary,
        "detail": found.detail,
        "resource": found.resource,
        "hint": found.hint,
        "severity": found.severity,
        "related": [[words, location_to_json(place)] for words, place in found.related],
    }


def location_to_json(place: SourceLocation) -> JsonValue:
    """Return one place."""
    return [place.file, place.line, place.column]


def _maybe(place: SourceLocation | None) -> JsonValue:
    return None if place is None else location_to_json(place)


def _say(say: Say) -> JsonValue:
    return [say.layer, location_to_json(say.location), say.value]


def _limits(limits: Limits) -> JsonObject:
    return {
        "removals": limits.removals,
        "replaces": limits.replaces,
        "changed": limits.changed,
        "restarts": limits.restarts,
        "package_removals": limits.package_removals,
        "allowed": {counted.value: most for counted, most in limits.allowed.items()},
        "allowed_from": None if limits.allowed_from is None else limits.allowed_from.key,
    }


@define
class _Rows:
    """Resources of one manifest; a file's name stands there once."""

    files: dict[str, int] = field(factory=dict)

    def resource(self, resource: Resource) -> list[Any]:
        """Return id, place, attributes, those that JSON has no form for, and what else it says."""
        row = [str(resource.id), self._place(resource.location), *_attributes(resource.attributes)]
        more = self._more(resource)
        return [*row, more] if more else row

    def _place(self, place: SourceLocation) -> list[int]:
        return [self.files.setdefault(place.file, len(self.files)), place.line, place.column]

    def _more(self, resource: Resource) -> dict[str, Any]:
        more: dict[str, Any] = {name: said for name in _FLAGS if (said := getattr(resource, name))}
        more |= {name: list(map(str, said)) for name in _LISTS if (said := getattr(resource, name))}
        more |= {name: sorted(said) for name in _SETS if (said := getattr(resource, name))}
        for name in _PLACES:
            if said := getattr(resource, name):
                more[name] = {str(one): self._place(place) for one, place in said.items()}
        if resource.on_removal is not None:
            more["on_removal"] = resource.on_removal
        if resource.moved is not None:
            more["moved"] = str(resource.moved)
        return more


def _attributes(attributes: Mapping[str, AttributeValue]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all names with plain values, and the values of those that have none there."""
    plain: dict[str, Any] = {}
    odd: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, (Content, Late, Folder)) or (
            isinstance(value, tuple) and any(isinstance(piece, (Content, Late)) for piece in value)
        ):
            plain[name], odd[name] = None, _odd(value)
        else:
            plain[name] = value
    return plain, odd


def _odd(value: AttributeValue) -> list[Any]:
    """Return a value that begins with what it is."""
    match value:
        case Content(blob=blob, inline=None, source=source):
            return ["blob", blob, source]
        case Content(inline=bytes() as inline, source=source, algorithm=algorithm):
            return ["bytes", inline.decode(errors="surrogateescape"), source, algorithm]
        case Late(text=text, scope=scope, template=template, is_content=is_content):
            return ["late", text, scope, template, is_content]
        case Folder(tree=tree, source=source, entries=entries):
            return ["folder", tree, source, [[one.path, one.kind, one.blob, one.link] for one in entries]]
        case tuple():
            return ["parts", *(_odd(piece) for piece in value)]
        case _:
            raise TypeError(f"{type(value).__name__} is no attribute of a resource")
