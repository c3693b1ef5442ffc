"""`validate` opens what a resolution only names."""

from datum.fleet.resolve import FleetCheck, check_fleet
from datum.testing.trees import MemoryTree, Symlink, TreeFile
from tests.unit.fleet.support import HEADER, PROVIDERS, resolve

_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


def _check(fields: str, **files: TreeFile) -> FleetCheck:
    said: dict[str, TreeFile] = {
        "fleet.yaml": HEADER,
        "hosts/web1.yaml": f"resources: {{thing:a: {{{fields}}}}}",
        "hosts/web2.yaml": "resources: {thing:a: {text: x}}",
    }
    return check_fleet(MemoryTree({**said, **files}), PROVIDERS, agent_version="1")


def test_stand_ins_of_git_lfs_are_said_once_at_their_own_place() -> None:
    files: dict[str, TreeFile] = {"d/a": _POINTER, "d/b": _POINTER, "d/c": "sound", "d/link": Symlink("c")}
    found = _check("source: d/a, folder: d", **files)
    assert [(one.code, str(one.location)) for one in found.diagnostics] == [("not-a-file", "d/a")]
    assert len(found.manifests) == 2


def test_files_that_can_be_read_are_sound() -> None:
    files: dict[str, TreeFile] = {"d/c": "sound", "d/link": Symlink("c")}
    found = _check("source: d/c, folder: d, text: x, parts: [{content: x}]", **files)
    assert found.diagnostics == ()


def test_resolving_opens_none() -> None:
    assert resolve({"hosts/web1.yaml": "resources: {thing:a: {source: a}}", "a": _POINTER}).resources
