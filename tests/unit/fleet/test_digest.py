"""The digest covers everything but places and origins."""

import pytest

from datum.fleet.resolve import resolve_manifest
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.testing.trees import MemoryTree, TreeFile
from tests.unit.fleet.support import FLEET_ID, HEADER, HOST, PROVIDERS, resolve

_FILES: dict[str, TreeFile] = {
    "fleet.yaml": HEADER,
    "layers/base/default.yaml": "variables: {a: 1, m: {k: [1]}}\nresources: {thing:a: {text: a, note: n, any: {k: 1}}}",
    "hosts/web1.yaml": "resources: {thing:b: {requires: [thing:a]}, thing:a: {number: 1}}",
}


def test_places_are_not_in_the_digest() -> None:
    moved = {**_FILES, "hosts/web1.yaml": "# a comment\n" + str(_FILES["hosts/web1.yaml"])}
    assert resolve(moved).digest == resolve(_FILES).digest


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("hosts/web1.yaml", "number: 1", "number: 2"),
        ("hosts/web1.yaml", "requires", "after"),
        ("hosts/web1.yaml", "requires: [thing:a]", "absent: true"),
        ("hosts/web1.yaml", "number: 1", "number: 1, protect: true"),
        ("hosts/web1.yaml", "number: 1", "number: 1, audit: true"),
        ("hosts/web1.yaml", "number: 1", "number: 1, on_removal: keep"),
        ("hosts/web1.yaml", "number: 1", "number: 1, allow: [outage]"),
        ("hosts/web1.yaml", "number: 1", "number: 1, unmanaged: [text]"),
        ("hosts/web1.yaml", "number: 1", "number: 1, moved: thing:old"),
        ("hosts/web1.yaml", "number: 1", 'number: "${machine.cpus}"'),
        ("hosts/web1.yaml", "number: 1", "number: 1, source: fleet.yaml"),
        ("layers/base/default.yaml", "note: n", "note: o"),
        ("layers/base/default.yaml", "text: a", "text: b"),
        ("layers/base/default.yaml", "[1]", "[2]"),
        ("fleet.yaml", "layers", "limits: {removals: 1}\nlayers"),
        ("fleet.yaml", "layers", f"limits: {{allow: {{removals: 1, from: {'a' * 40}}}}}\nlayers"),
        ("fleet.yaml", "layers", "expect: {os: x}\nlayers"),
        ("fleet.yaml", "layers", "expect: {warn: [os]}\nlayers"),
        ("fleet.yaml", "layers", "enforcement: hold\nlayers"),
        ("fleet.yaml", "layers", "observe: {on_failure: end}\nlayers"),
        ("fleet.yaml", FLEET_ID, FLEET_ID.replace("0", "1")),
    ],
)
def test_everything_else_is_in_the_digest(path: str, old: str, new: str) -> None:
    text = str(_FILES[path])
    assert old in text
    assert resolve({**_FILES, path: text.replace(old, new)}).digest != resolve(_FILES).digest


def test_revision_and_host_are_in_the_digest() -> None:
    files = {**_FILES, "hosts/web2.yaml": _FILES["hosts/web1.yaml"]}
    other = resolve_manifest(MemoryTree(files, Revision("1" * 40)), HOST, PROVIDERS, agent_version="1")
    digests = {resolve(files).digest, resolve(files, HostName("web2")).digest, other.digest}
    assert len(digests) == 3
