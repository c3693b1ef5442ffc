"""The digest of a manifest: over everything but places and origins, in one plain form. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from datum.model.content import Content
from datum.model.json import JsonValue, digest, sorted_json, thaw
from datum.model.manifest import EffectiveManifest, Late, Resource

# What every resource has, left out where it says nothing.
_COMMON: Final = (
    "requires",
    "after",
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
                    "removals": limits.removals,
                    "allowed_removals": limits.allowed_removals,
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
        if isinstance(value, Content):
            plain.setdefault("contents", {})[name] = [value.blob, value.source]
        elif isinstance(value, Late):
            plain.setdefault("late", {})[name] = [value.text, thaw(value.scope), value.template]
        else:
            plain.setdefault("values", {})[name] = value
    for name in _COMMON:
        said = getattr(resource, name)
        if said:
            plain[name] = _plain(said)
    return plain


def _plain(said: object) -> JsonValue:
    """Return a common field as JSON; lists of ids and sets are sorted."""
    if isinstance(said, (str, bool)):
        return said
    return sorted(map(str, said)) if isinstance(said, (tuple, frozenset)) else str(said)
