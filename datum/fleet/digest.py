"""The digest of a manifest: over everything but places and origins, in one plain form. Pure."""

from collections.abc import Mapping
from typing import Any, Final, cast

from datum.model.content import Content, Folder
from datum.model.json import JsonValue, digest, sorted_json, thaw
from datum.model.manifest import AttributeValue, EffectiveManifest, Late, LimitClass, Resource

# What every resource has, left out where it says nothing.
_COMMON: Final = (
    "requires",
    "after",
    "while_stopped",
    "absent",
    "on_removal",
    "protect",
    "allow",
    "unmanaged",
    "audit",
    "moved",
    "note",
)


def manifest_digest(manifest: EffectiveManifest) -> str:
    """Return `sha256:<hex>`; whatever digest the manifest holds takes no part."""
    limits = manifest.limits
    return digest(
        sorted_json(
            {
                "revision": manifest.revision.key,
                "host": manifest.host.value,
                "fleet": manifest.fleet,
                "resources": [_resource(resource) for resource in manifest.resources],
                "layers": manifest.layers,
                "variables": manifest.variables,
                "expect": {"values": manifest.expect.values, "warn": sorted(manifest.expect.warn)},
                "limits": {
                    **{counted.value: getattr(limits, counted.value) for counted in LimitClass},
                    "allowed": {counted.value: most for counted, most in limits.allowed.items()},
                    "allowed_from": limits.allowed_from.key if limits.allowed_from is not None else None,
                },
                "enforcement": manifest.enforcement,
                "on_observation_failure": manifest.on_observation_failure,
            }
        )
    )


def _resource(resource: Resource) -> Mapping[str, Any]:
    """Return what differs from a resource that says nothing; attributes by what they are, so that none looks alike."""
    plain: dict[str, Any] = {"id": str(resource.id)}
    for name, value in resource.attributes.items():
        kind, said = _attribute(value)
        plain.setdefault(kind, {})[name] = said
    for name in _COMMON:
        said = getattr(resource, name)
        if said:
            plain[name] = _plain(said)
    return plain


def _attribute(value: AttributeValue) -> tuple[str, Any]:
    """Return what kind of thing an attribute is, and all that tells it from another of its kind."""
    match value:
        case Content(blob=blob, source=source):
            return "contents", [blob, source]
        case Folder(tree=tree, source=source):
            return "folders", [tree, source]
        case Late(text=text, scope=scope, template=template, is_content=is_content):
            return "late", [text, thaw(scope), template, *([True] if is_content else [])]
        case tuple() if any(isinstance(piece, (Content, Late)) for piece in value):
            return "parts", [_attribute(cast("Content | Late", piece)) for piece in value]
        case _:
            return "values", value


def _plain(said: object) -> JsonValue:
    """Return a common field as JSON; lists of ids and sets are sorted."""
    if isinstance(said, (str, bool)):
        return said
    return sorted(map(str, said)) if isinstance(said, (tuple, frozenset)) else str(said)
