"""Whole resolutions: determinism, digests, and the check of everything."""

import pytest

from datum.errors import FleetError
from datum.fleet.resolve import FleetCheck, check_fleet, list_hosts, resolve_manifest
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.testing.trees import MemoryTree, TreeFile
from tests.unit.fleet.support import FLEET_ID, HEADER, HOST, PROVIDERS, memory_tree, resolve

_FILES: dict[str, TreeFile] = {
    "fleet.yaml": HEADER,
    "layers/base/default.yaml": "variables: {a: 1, m: {k: [1]}}\nresources: {thing:a: {text: a, note: n, any: {k: 1}}}",
    "hosts/web1.yaml": "resources: {thing:b: {requires: [thing:a]}, thing:a: {number: 1}}",
}


def _check(files: dict[str, TreeFile]) -> FleetCheck:
    return check_fleet(MemoryTree(files), PROVIDERS, agent_version="1")


def _codes(check: FleetCheck) -> list[tuple[str, str]]:
    return [(found.code, str(found.location)) for found in check.diagnostics]


def test_manifest_names_revision_host_and_fleet() -> None:
    found = resolve(_FILES)
    assert (found.revision, found.host, found.fleet) == (Revision("0" * 40), HOST, FLEET_ID)
    assert [str(one.id) for one in found.resources] == ["thing:a", "thing:b"]
    assert found.digest.startswith("sha256:")


def test_resolving_twice_and_from_another_file_order_gives_the_same() -> None:
    first = resolve(_FILES)
    assert resolve(dict(reversed(_FILES.items()))) == first
    assert resolve(_FILES).digest == first.digest


def test_errors_are_sorted_by_place_and_not_repeated() -> None:
    files = {**_FILES, "hosts/web1.yaml": "zzz: 1\naaa: 1\n", "layers/base/default.yaml": "nope: 1"}
    with pytest.raises(FleetError) as caught:
        resolve(files)
    assert [str(found.location) for found in caught.value.diagnostics] == [
        "hosts/web1.yaml:1:1",
        "hosts/web1.yaml:2:1",
        "layers/base/default.yaml:1:1",
    ]


def test_hosts_are_listed_from_their_files() -> None:
    tree = MemoryTree({"hosts/b.yaml": "", "hosts/a.yaml": "a: [", "hosts/README.md": "", "hosts/C_.yaml": ""})
    assert list_hosts(tree) == (HostName("a"), HostName("b"))
    assert list_hosts(MemoryTree({})) == ()


def test_check_resolves_every_host_and_a_sample_of_every_pattern() -> None:
    files = {
        **_FILES,
        "fleet.yaml": HEADER + "patterns:\n- {match: 'db-*', layers: {}}\n- {match: web1, layers: {}}\n",
        "hosts/web2.yaml": "",
    }
    found = _check(files)
    assert found.diagnostics == ()
    assert sorted(map(str, found.manifests)) == ["db-1", "web1", "web2"]


def test_check_reads_everything_and_reports_everything_once() -> None:
    files = {
        **_FILES,
        "layers/base/default.yaml": "resources: {thing:a: {nope: 1}}",
        "layers/role/unused.yaml": "resources: {thing:a: {mode: 1}, fish:a: {}}\nx: 1",
        "layers/lost/default.yaml": "",
        "hosts/web1.yaml": "resources: {thing:a: {text: 1}}",
        "hosts/web2.yaml": "",
        "hosts/Bad.yaml": "y_: 1",
    }
    found = _check(files)
    assert not found.manifests
    assert _codes(found) == [
        ("bad-host-name", "hosts/Bad.yaml"),
        ("unknown-key", "hosts/Bad.yaml:1:1"),
        ("unquoted-scalar", "hosts/web1.yaml:1:29"),
        ("unknown-field", "layers/base/default.yaml:1:23"),
        ("unknown-layer", "layers/lost/default.yaml"),
        ("unknown-resource-type", "layers/role/unused.yaml:1:33"),
        ("unknown-key", "layers/role/unused.yaml:2:1"),
    ]


def test_check_goes_on_behind_a_wrong_header() -> None:
    found = _check({**_FILES, "fleet.yaml": "datum: 1", "hosts/web1.yaml": "nope: 1"})
    assert [code for code, _ in _codes(found)] == ["missing-field", "unknown-key"]


def test_check_reports_other_errors_of_fleet_yaml_and_of_sound_hosts() -> None:
    found = _check({**_FILES, "fleet.yaml": HEADER + "nope: 1\n"})
    assert _codes(found) == [("unknown-key", "fleet.yaml:4:1")]


def test_one_hosts_error_leaves_the_other_hosts() -> None:
    found = _check({**_FILES, "hosts/web2.yaml": "nope: 1"})
    assert list(map(str, found.manifests)) == ["web1"]


def test_what_nothing_is_wrong_with_is_given_of_a_host_with_errors() -> None:
    """Unless a declaration could not be read: then a field may be missing that somebody said."""
    for text, wanted in (
        ("resources: {thing:a: {number: x}, thing:b: {}}", ["thing:b"]),
        ("resources: {thing:a: {number: x}, thing:b: {}}\nnope: 1", None),
    ):
        found = _check({**_FILES, "hosts/web1.yaml": text})
        assert (list(found.manifests), found.diagnostics != ()) == ([], True)
        unsound = found.unsound.get(HOST)
        assert (unsound and [str(one.id) for one in unsound.resources]) == wanted


def test_check_compares_two_resolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(99))
    monkeypatch.setattr("datum.fleet.resolve.manifest_digest", lambda _manifest: f"sha256:{next(count)}")
    assert _codes(_check(dict(_FILES))) == [("not-deterministic", "hosts/web1.yaml")]


def test_tree_of_a_fleet_has_defaults() -> None:
    assert resolve_manifest(memory_tree({}), HOST, PROVIDERS, agent_version="1").resources == ()


@pytest.mark.parametrize("folder", ["hosts", "layers"])
def test_a_file_where_a_folder_belongs_is_told(folder: str) -> None:
    """`validate` called a fleet without readable hosts sound."""
    tree = MemoryTree(
        {"fleet.yaml": "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n", folder: "nothing\n"}
    )
    found = check_fleet(tree, {}, agent_version="1").diagnostics
    assert [(item.code, str(item.location)) for item in found] == [("not-a-folder", folder)]
