"""The part of fleet.yaml that decides whom a revision concerns."""

import pytest

from datum.errors import FleetError
from datum.fleet.header import read_header
from datum.model.fleet import FleetHeader, agent_fits
from datum.testing.trees import Executable, Gitlink, MemoryTree, Symlink
from tests.unit.fleet.support import FLEET_ID, HEADER


def _errors(text: object) -> list[tuple[str, str]]:
    files = {} if text is None else {"fleet.yaml": text}
    with pytest.raises(FleetError) as caught:
        read_header(MemoryTree(files))  # type: ignore[arg-type]  # what a tree holds is what is tried
    return [(found.code, str(found.location)) for found in caught.value.diagnostics]


def test_header_is_read_whatever_else_is_wrong() -> None:
    text = f"datum: 2\nfleet: {FLEET_ID.upper()}\nagent: '>=1.0, <2'\nlayers: 3\nnew_key: {{}}\n"
    assert read_header(MemoryTree({"fleet.yaml": text})) == FleetHeader(2, FLEET_ID, ">=1.0, <2")


def test_executable_fleet_file_is_a_file() -> None:
    assert read_header(MemoryTree({"fleet.yaml": Executable(HEADER.encode())})) == FleetHeader(1, FLEET_ID, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ("fleet-file-missing", "fleet.yaml")),
        (Symlink("other"), ("not-a-file", "fleet.yaml")),
        (Gitlink(), ("not-a-file", "fleet.yaml")),
        (f"fleet: {FLEET_ID}\n", ("missing-field", "fleet.yaml:1:1")),
        ("datum: 1\n", ("missing-field", "fleet.yaml:1:1")),
        (f"datum: one\nfleet: {FLEET_ID}\n", ("wrong-type", "fleet.yaml:1:8")),
        (f"datum: true\nfleet: {FLEET_ID}\n", ("wrong-type", "fleet.yaml:1:8")),
        (f"datum: 0\nfleet: {FLEET_ID}\n", ("bad-value", "fleet.yaml:1:8")),
        (f"datum: 01\nfleet: {FLEET_ID}\n", ("ambiguous-scalar", "fleet.yaml:1:8")),
        ("datum: 1\nfleet: mine\n", ("bad-value", "fleet.yaml:2:8")),
        ("datum: 1\nfleet: [a]\n", ("wrong-type", "fleet.yaml:2:8")),
        ("datum: 1\nfleet: 12\n", ("unquoted-scalar", "fleet.yaml:2:8")),
        (HEADER + "agent: new\n", ("bad-value", "fleet.yaml:4:8")),
        (HEADER + "agent: 1\n", ("unquoted-scalar", "fleet.yaml:4:8")),
        ("- a\n", ("wrong-type", "fleet.yaml:1:1")),
    ],
)
def test_what_is_wrong_is_said(text: object, expected: tuple[str, str]) -> None:
    assert _errors(text) == [expected]


def test_empty_file_lacks_both_keys() -> None:
    assert [code for code, _ in _errors("")] == ["missing-field", "missing-field"]


def test_broken_yaml_is_said_by_the_reader() -> None:
    assert len(_errors("a: [\n")) >= 1


def test_all_wrong_keys_are_said_at_once() -> None:
    assert [code for code, _ in _errors("datum: x\nfleet: x\nagent: x\n")] == ["wrong-type", "bad-value", "bad-value"]


@pytest.mark.parametrize(
    ("spec", "version", "fits"),
    [
        ("", "0.1", True),
        (" ", "0.1", True),
        (">=1.0, <2", "1.0", True),
        (">=1.0,<2", "1.9.9", True),
        (">=1.0, <2", "2.0", False),
        (">=1.0, <2", "0.9", False),
        ("==1.0", "1", True),
        ("= 1.0", "1.0.0", True),
        ("<=1.10", "1.9", True),
        (">1.9", "1.10", True),
        (">=1.0", "1.0rc1", False),
        (">=1.0", "1.0.dev3", False),
        (">=1.0", "1.0.post1", True),
        (">=1.0", "1.0+local", True),
        ("<1", "0", True),
    ],
)
def test_versions_compare_as_versions(spec: str, version: str, fits: object) -> None:
    assert agent_fits(spec, version) is fits


@pytest.mark.parametrize(("spec", "version"), [("1.0", "1"), (">=1,", "1"), ("~=1", "1"), (">=1", "new")])
def test_what_is_no_range_or_version_is_refused(spec: str, version: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        agent_fits(spec, version)
