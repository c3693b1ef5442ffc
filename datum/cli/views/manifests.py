"""`datum render` and `datum why`."""

import sys
from collections.abc import Mapping
from typing import Any

from datum.agent.authoring import Edges, Why
from datum.cli.views.graphs import edge_to_json, write_dropped, write_edges
from datum.cli.views.paper import Paper, print_json
from datum.model.attributes import plain_attribute
from datum.model.json import JsonValue, thaw
from datum.model.manifest import EffectiveManifest, Resource
from datum.model.provenance import FieldOrigin, Say
from datum.report.as_json import location_to_json


def show(manifest: EffectiveManifest, *, is_json: bool) -> None:
    """Show a manifest."""
    if is_json:
        print_json(manifest_to_json(manifest))
        return
    paper = Paper()
    paper.line((str(manifest.host), "bold"), f" at {manifest.revision}")
    for layer, members in manifest.layers.items():
        paper.line((f"layer {layer}: ", "dim"), ", ".join(members) or "-")
    for resource in manifest.resources:
        paper.line((str(resource.id), "bold"), "  ", (str(resource.location), "dim"))
        for name, value in resource_fields(resource).items():
            origin = resource.origins.get(name)
            place = str(origin.winner.location) if origin else ""
            paper.line(f"  {name}: {_text(value)}  ", (place, "dim"))
    paper.line(("digest ", "dim"), (manifest.digest, "dim"))
    paper.print_to(sys.stdout)


def manifest_to_json(manifest: EffectiveManifest) -> Mapping[str, Any]:
    """Return a manifest: late values unevaluated, contents by object id."""
    return {
        "schema_version": 1,
        "host": str(manifest.host),
        "fleet": manifest.fleet,
        "revision": str(manifest.revision),
        "digest": manifest.digest,
        "layers": {layer: list(members) for layer, members in manifest.layers.items()},
        "resources": {
            str(resource.id): {
                "fields": resource_fields(resource),
                "location": location_to_json(resource.location),
                "origins": {name: str(origin.winner.location) for name, origin in sorted(resource.origins.items())},
            }
            for resource in manifest.resources
        },
    }


def resource_fields(resource: Resource) -> dict[str, Any]:
    """Return everything that is declared, in its plain form."""
    fields = {name: plain_attribute(value) for name, value in sorted(resource.attributes.items())}
    common = {
        "requires": [str(target) for target in resource.requires],
        "after": [str(target) for target in resource.after],
        "while_stopped": [str(target) for target in resource.while_stopped],
        "absent": resource.absent,
        "on_removal": str(resource.on_removal) if resource.on_removal else None,
        "protect": resource.protect,
        "allow": sorted(str(hazard) for hazard in resource.allow),
        "unmanaged": sorted(resource.unmanaged),
        "audit": resource.audit,
        "moved": str(resource.moved) if resource.moved else None,
        "note": resource.note,
    }
    return fields | {name: value for name, value in common.items() if value}


def _text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def show_why(answer: Why, *, is_json: bool) -> None:
    """Show every layer's say, winner first."""
    if is_json:
        print_json(
            {
                "schema_version": 1,
                "resource": str(answer.resource.id),
                "fields": {name: _origin(origin) for name, origin in answer.origins.items()},
                **_edges(answer.edges),
            }
        )
        return
    paper = Paper()
    paper.line((str(answer.resource.id), "bold"), "  ", (str(answer.resource.location), "dim"))
    for name, origin in answer.origins.items():
        paper.line((name, "bold"))
        _write_say(paper, origin.winner, "wins")
        for say in origin.others:
            _write_say(paper, say, "")
    if answer.edges is not None and (answer.edges.dependencies or answer.edges.dropped):
        paper.line(("comes after", "bold"))
        write_edges(paper, answer.edges.dependencies)
        write_dropped(paper, answer.edges.dropped)
    paper.print_to(sys.stdout)


def _edges(edges: Edges | None) -> dict[str, JsonValue]:
    if edges is None:
        return {}
    return {
        "dependencies": [edge_to_json(edge) for edge in edges.dependencies],
        "dropped": [edge_to_json(edge) for edge in edges.dropped],
    }


def _write_say(paper: Paper, say: Say, word: str) -> None:
    paper.line(f"  {word:<5}", (f"{say.layer:<16} ", "cyan"), _text(thaw(say.value)), "  ", (str(say.location), "dim"))


def _origin(origin: FieldOrigin) -> list[Any]:
    return [
        {"layer": say.layer, "value": say.value, "location": location_to_json(say.location)}
        for say in (origin.winner, *origin.others)
    ]
