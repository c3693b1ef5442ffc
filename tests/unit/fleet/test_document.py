"""fleet.yaml, host files and layer files as wholes."""

import pytest

from datum.errors import FleetError
from datum.fleet.resolve import resolve_manifest
from datum.model.identity import HostName
from datum.testing.trees import Executable, Gitlink, Symlink, TreeFile
from tests.unit.fleet.support import HEADER, HOST, PROVIDERS, diagnostics, errors, host_errors, memory_tree, resolve


@pytest.mark.parametrize(
    "key", ["modules", "windows", "checks", "trust", "machine", "on_failure", "secrets", "approvals"]
)
def test_later_features_are_refused(key: str) -> None:
    assert host_errors(f"{key}: {{}}") == [("not-in-this-version", "1:1")]
    assert errors({"fleet.yaml": f"{HEADER}{key}: {{}}"}) == [("not-in-this-version", "fleet.yaml:4:1")]


def test_unknown_key_has_a_suggestion() -> None:
    (found,) = diagnostics({"hosts/web1.yaml": "resource: {}"})
    assert (found.code, str(found.location), found.hint) == (
        "unknown-key",
        "hosts/web1.yaml:1:1",
        "Did you mean 'resources'?",
    )
    assert errors({"fleet.yaml": f"{HEADER}layer: []"}) == [("unknown-key", "fleet.yaml:4:1")]


def test_layers_stand_in_host_files_only() -> None:
    assert errors({"layers/base/default.yaml": "layers: {role: web}"}) == [
        ("unknown-key", "layers/base/default.yaml:1:1")
    ]


def test_null_sections_are_as_if_never_said() -> None:
    assert not resolve({"hosts/web1.yaml": "resources:\nlayers:\nvariables:\nexpect:\n"}).resources


def test_null_file_is_an_empty_one() -> None:
    assert not resolve({"hosts/web1.yaml": "null"}).resources


def test_reference_below_a_misspelt_section_is_no_second_error() -> None:
    text = "resourcs: {thing:b: {}}\nresources: {thing:a: {requires: [thing:b]}}"
    assert [code for code, _ in host_errors(text)] == ["unknown-key"]


def test_sections_of_the_wrong_kind_are_said() -> None:
    assert [code for code, _ in host_errors("resources: []\nvariables: 1\nlayers: x\n")] == ["wrong-type"] * 3


@pytest.mark.parametrize("file", [Symlink("other.yaml"), Gitlink()])
def test_only_files_are_read(file: TreeFile) -> None:
    assert errors({"hosts/web1.yaml": file}) == [("not-a-file", "hosts/web1.yaml")]
    assert errors({"layers/base/default.yaml": file}) == [("not-a-file", "layers/base/default.yaml")]


def test_folder_in_place_of_a_host_file_is_said() -> None:
    tree = memory_tree({"hosts/web2.yaml/x": ""})
    with pytest.raises(FleetError) as caught:
        resolve_manifest(tree, HostName("web2"), PROVIDERS, agent_version="1")
    assert [found.code for found in caught.value.diagnostics] == ["not-a-file"]


def test_executable_files_are_files() -> None:
    assert not resolve({"hosts/web1.yaml": Executable(b"")}).resources


def test_lfs_pointer_is_what_the_tree_says() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\n"
    assert errors({"hosts/web1.yaml": pointer}) == [("not-a-file", "hosts/web1.yaml")]


def test_broken_yaml_says_nothing_else() -> None:
    files: dict[str, TreeFile] = {
        "layers/base/default.yaml": "resources: {thing:b: {}\n",
        "hosts/web1.yaml": "resources: {thing:a: {requires: [thing:b]}}",
    }
    assert {place.partition(":")[0] for _, place in errors(files)} == {"layers/base/default.yaml"}


def test_duplicate_keys_are_said() -> None:
    assert [place for _, place in host_errors("resources:\n  thing:a: {}\n  thing:a: {}\n")] == ["3:3"]


def test_another_format_or_agent_ends_it() -> None:
    assert errors({"fleet.yaml": HEADER.replace("datum: 1", "datum: 2")}) == [
        ("format-not-supported", "fleet.yaml:1:8")
    ]
    assert errors({"fleet.yaml": HEADER + "agent: '>=9'"}) == [("agent-out-of-range", "fleet.yaml:4:8")]


def test_errors_of_fleet_yaml_and_host_are_said_together() -> None:
    files: dict[str, TreeFile] = {"fleet.yaml": HEADER + "limits: 1\n", "hosts/web1.yaml": "nothing: 1"}
    assert errors(files) == [("wrong-type", "fleet.yaml:4:9"), ("unknown-key", "hosts/web1.yaml:1:1")]


def test_header_errors_end_it() -> None:
    with pytest.raises(FleetError):
        resolve_manifest(memory_tree({"fleet.yaml": ""}), HOST, PROVIDERS, agent_version="1")
