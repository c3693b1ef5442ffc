"""The digest covers everything but places and origins."""

import pytest

from datum.fleet.resolve import resolve_manifest
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.testing.trees import Executable, MemoryTree, TreeFile
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
        ("hosts/web1.yaml", "number: 1", "number: 1, folder: layers"),
        ("hosts/web1.yaml", "number: 1", "number: 1, parts: [{content: a}]"),
        ("hosts/web1.yaml", "number: 1", "number: 1, assemble: s"),
        ("layers/base/default.yaml", "note: n", "note: o"),
        ("layers/base/default.yaml", "text: a", "text: b"),
        ("layers/base/default.yaml", "[1]", "[2]"),
        ("fleet.yaml", "layers", "limits: {removals: 1}\nlayers"),
        ("fleet.yaml", "layers", f"limits: {{allow: {{removals: 1, from: {'a' * 40}}}}}\nlayers"),
        ("fleet.yaml", "layers", f"limits: {{allow: {{changed: 1%, from: {'a' * 40}}}}}\nlayers"),
        ("fleet.yaml", "layers", "limits: {replaces: 1}\nlayers"),
        ("fleet.yaml", "layers", "limits: {changed: none}\nlayers"),
        ("fleet.yaml", "layers", "limits: {restarts: 1}\nlayers"),
        ("fleet.yaml", "layers", "limits: {package_removals: 1}\nlayers"),
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


@pytest.mark.parametrize(
    ("field", "first", "second"),
    [
        ("folder: files", {"files/a": "x"}, {"files/a": "y"}),
        ("folder: files", {"files/a": "x"}, {"files/b": "x"}),
        ("folder: files", {"files/a": "x"}, {"files/a": Executable(b"x")}),
        ("parts: [{source: a}]", {"a": "x"}, {"a": "y"}),
        ("parts: [{template: a}]", {"a": "{{ machine.cpus }}"}, {"a": "{{ machine.arch }}"}),
    ],
)
def test_what_is_named_is_in_the_digest(field: str, first: dict[str, TreeFile], second: dict[str, TreeFile]) -> None:
    text = {"hosts/web1.yaml": f"resources: {{thing:a: {{{field}}}}}"}
    assert resolve({**text, **first}).digest == resolve({**text, **first}).digest
    assert resolve({**text, **first}).digest != resolve({**text, **second}).digest


def test_kinds_of_pieces_are_in_the_digest() -> None:
    texts = ("[{content: '${machine.arch}'}]", "[{content: '$${machine.arch}'}]", "[{content: a}, {content: ''}]")
    found = {resolve({"hosts/web1.yaml": f"resources: {{thing:a: {{parts: {text}}}}}"}).digest for text in texts}
    assert len(found) == len(texts)


def test_contributions_are_in_the_digest_by_what_they_join_to() -> None:
    def digest(contributed: str) -> str:
        text = f"contribute: {{s: {contributed}}}\nresources: {{thing:a: {{assemble: s}}}}"
        return resolve({"hosts/web1.yaml": text}).digest

    assert digest("{a: x, b: y}") == digest("{b: y, a: x}")
    assert len({digest(text) for text in ("{}", "{a: x}", "{a: y}", "{a: '${machine.arch}'}")}) == 4


def test_revision_and_host_are_in_the_digest() -> None:
    files = {**_FILES, "hosts/web2.yaml": _FILES["hosts/web1.yaml"]}
    other = resolve_manifest(MemoryTree(files, Revision("1" * 40)), HOST, PROVIDERS, agent_version="1")
    digests = {resolve(files).digest, resolve(files, HostName("web2")).digest, other.digest}
    assert len(digests) == 3
