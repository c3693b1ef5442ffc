"""`source` and `template` name files of the repository."""

import pytest

from datum.fleet.resolve import resolve_manifest
from datum.model.content import Content, blob_id
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.testing.trees import Executable, Gitlink, MemoryTree, Symlink, TreeFile
from tests.unit.fleet.support import HEADER, PROVIDERS, diagnostics, layered, only, resolve


def _files(field: str, path: str, **files: TreeFile) -> dict[str, TreeFile]:
    return {"hosts/web1.yaml": f"resources:\n  thing:a:\n    {field}: {path}\n", **files}


def test_source_is_named_by_its_object_and_not_read() -> None:
    found = only(resolve(_files("source", "files/a", **{"files/a": Executable(b"data")}))).attributes["source"]
    assert found == Content(blob_id(b"data"), source="files/a")
    assert isinstance(found, Content)
    assert found.inline is None


def test_source_is_never_interpolated() -> None:
    found = only(resolve(_files("source", "files/a", **{"files/a": "${nothing}"}))).attributes["source"]
    assert found == Content(blob_id(b"${nothing}"), source="files/a")


def test_template_is_rendered() -> None:
    files = _files("template", "templates/a", **{"templates/a": "{{ host.name }}\n"})
    found = only(resolve(files)).attributes["template"]
    assert found == Content.from_bytes(b"web1\n", source="templates/a")


def test_template_sees_the_scope_of_the_declaration_that_won() -> None:
    files = layered("", host="resources:\n  'thing:${each.key}': {for_each: {a: 5}, template: t}\n")
    files = {**files, "t": "{{ each.value }}", "layers/role/default.yaml": "resources: {thing:a: {text: x}}"}
    found = only(resolve(files)).attributes["template"]
    assert isinstance(found, Content)
    assert found.inline == b"5"


def test_template_has_the_algorithm_of_the_revision() -> None:
    files = {"fleet.yaml": HEADER, **_files("template", "t", t="x")}
    tree = MemoryTree(files, Revision("0" * 64, algorithm="sha256"))
    found = resolve_manifest(tree, HostName("web1"), PROVIDERS, agent_version="1")
    content = only(found).attributes["template"]
    assert isinstance(content, Content)
    assert content.algorithm == "sha256"


@pytest.mark.parametrize("field", ["source", "template"])
@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/etc/motd", "bad-path", "absolute"),
        ("../motd", "bad-path", "'..'"),
        ("files/../../motd", "bad-path", "'..'"),
        ("./files/a", "bad-path", "shortest"),
        ("files//a", "bad-path", "shortest"),
        ("''", "bad-path", "shortest"),
        ('"a\\0b"', "bad-path", "NUL"),
        ("files", "not-a-file", "a folder"),
        ("link", "not-a-file", "symbolic link"),
        ("module", "not-a-file", "submodule"),
        ("nothing", "source-missing", "nothing"),
    ],
)
def test_what_is_no_file_of_the_repository_is_said(field: str, path: str, code: str, words: str) -> None:
    others: dict[str, TreeFile] = {"files/a": "", "link": Symlink("files/a"), "module": Gitlink()}
    files = _files(field, path, **others)
    (found,) = diagnostics(files)
    assert (found.code, str(found.location), found.resource) == (
        code,
        f"hosts/web1.yaml:3:{13 if field == 'source' else 15}",
        "thing:a",
    )
    assert words in found.detail


def test_missing_file_has_a_suggestion() -> None:
    assert diagnostics(_files("source", "files/mtd", **{"files/motd": ""}))[0].hint == "Did you mean 'files/motd'?"
    assert diagnostics(_files("source", "motd", **{"files/motd": ""}))[0].hint == "Did you mean 'files/motd'?"
    assert diagnostics(_files("source", "mtd", motd=""))[0].hint == "Did you mean 'motd'?"
    assert diagnostics(_files("source", "xyz/abc"))[0].hint.startswith("add xyz/abc to the repository")


def test_template_that_cannot_be_rendered_is_said() -> None:
    found = diagnostics(_files("template", "t", t="{{ nothing }}"))
    assert [one.resource for one in found] == ["thing:a"]


def test_late_template_that_no_machine_can_render_is_said() -> None:
    found = diagnostics(_files("template", "t", t="{{ machine.cpus + 'x' }}"))
    assert [one.resource for one in found] == ["thing:a"]


def test_template_that_is_an_lfs_pointer_is_said() -> None:
    found = diagnostics(_files("template", "t", t="version https://git-lfs.github.com/spec/v1\n"))
    assert [(one.code, one.resource) for one in found] == [("not-a-file", "thing:a")]
