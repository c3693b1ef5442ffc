"""Cases as data: a fleet, and what it resolves to or what is wrong with it (fixtures/cases/fleet)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from datum.errors import FleetError
from datum.fleet.resolve import check_fleet, resolve_manifest
from datum.model.content import Content, Folder
from datum.model.identity import HostName
from datum.model.json import thaw
from datum.model.manifest import AttributeValue, EffectiveManifest, Resource
from datum.provider.contract import AnyProvider
from datum.testing.trees import Gitlink, MemoryTree, Symlink, TreeFile
from datum_providers.file.provider import FileProvider
from tests.unit.fleet.support import PROVIDERS

_CASES = Path(__file__).parents[3] / "fixtures" / "cases" / "fleet"
_PROVIDERS: Mapping[str, AnyProvider] = {"file": FileProvider(), "thing": PROVIDERS["thing"]}


def _case(name: str) -> tuple[MemoryTree, Mapping[str, Any]]:
    case = yaml.safe_load((_CASES / name / "case.yaml").read_text(encoding="utf-8"))
    folder = _CASES / name / "fleet"
    files: dict[str, TreeFile] = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    files |= {path: Symlink(target) for path, target in case.get("symlinks", {}).items()}
    files |= {path: Gitlink() for path in case.get("gitlinks", [])}
    return MemoryTree(files), case


def _shown(manifest: EffectiveManifest, expected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parts of a manifest that the case speaks of."""
    everything: dict[str, Any] = {
        "layers": {layer: list(members) for layer, members in manifest.layers.items()},
        "variables": thaw(manifest.variables),
        "resources": {str(one.id): _resource(one) for one in manifest.resources},
    }
    return {key: value for key, value in everything.items() if key in expected or key == "resources"}


def _attribute(value: AttributeValue) -> Any:
    """Return a content by its path or its text, a folder by what is in it."""
    match value:
        case Content(source=source, inline=inline):
            return source or (inline or b"").decode()
        case Folder(source=source, entries=entries):
            links = {entry.path: f" -> {entry.link}" for entry in entries if entry.link}
            return {"source": source, "entries": [entry.path + links.get(entry.path, "") for entry in entries]}
        case tuple():
            return [_attribute(piece) for piece in value]
        case _:
            return value


def _resource(resource: Resource) -> Mapping[str, Any]:
    shown = {
        "attributes": {name: _attribute(value) for name, value in resource.attributes.items()},
        "requires": list(map(str, resource.requires)),
        "after": list(map(str, resource.after)),
        "while_stopped": list(map(str, resource.while_stopped)),
        "absent": resource.absent,
    }
    return {name: value for name, value in shown.items() if value}


@pytest.mark.parametrize("name", sorted(path.name for path in _CASES.iterdir()))
def test_case(name: str) -> None:
    tree, case = _case(name)
    expected = case["expect"]
    try:
        manifest = resolve_manifest(tree, HostName(case["host"]), _PROVIDERS, agent_version="0.1.0")
    except FleetError as error:
        found: Mapping[str, Any] = {
            "errors": [{"code": one.code, "place": str(one.location)} for one in error.diagnostics]
        }
    else:
        found = _shown(manifest, expected)
    assert found == expected


@pytest.mark.parametrize("name", sorted(path.name for path in _CASES.iterdir()))
def test_every_diagnostic_says_what_and_where(name: str) -> None:
    tree, _ = _case(name)
    for found in check_fleet(tree, _PROVIDERS, agent_version="0.1.0").diagnostics:
        assert found.location is not None
        assert found.location.file
        assert found.detail.endswith((".", "?", ")")), found.detail
        assert found.detail[0] not in "0123456789 "
