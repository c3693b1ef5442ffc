"""Folders of the repository, however deep."""

from collections.abc import Mapping

import pytest

from datum.errors import FleetError
from datum.fleet import folders
from datum.fleet.folders import FolderRefusedError, read_folder
from datum.model.content import Folder, FolderEntry, blob_id
from datum.model.revision import Revision
from datum.model.source import EntryKind, TreeEntry
from datum.provider.paths import PATH_MAX
from datum.testing.trees import Executable, Gitlink, MemoryTree, Symlink, TreeFile
from tests.unit.fleet.support import diagnostics, only, resolve

_SITE: Mapping[str, TreeFile] = {
    "files/site/index.html": "hello\n",
    "files/site/run": Executable(b"#!/bin/sh\n"),
    "files/site/css/site.css": "body {}\n",
    "files/site/css.txt": "x\n",
    "files/site/latest": Symlink("css/site.css"),
    "files/other": "not of it\n",
}
# `git write-tree --prefix=files/site/` (2.39) of these files.
_TREE = "7a838fb01ebb1301f68a296a47c86e1d3d54f775"


def _host(path: str) -> dict[str, TreeFile]:
    return {"hosts/web1.yaml": f"resources:\n  thing:a:\n    folder: {path}\n"}


def test_folder_is_read_whole_sorted_and_has_the_id_that_git_gives() -> None:
    found = only(resolve({**_host("files/site"), **_SITE})).attributes["folder"]
    assert isinstance(found, Folder)
    assert (found.tree, found.source) == (_TREE, "files/site")
    assert found.entries == (
        FolderEntry("css.txt", EntryKind.FILE, blob_id(b"x\n")),
        FolderEntry("css/site.css", EntryKind.FILE, blob_id(b"body {}\n")),
        FolderEntry("index.html", EntryKind.FILE, blob_id(b"hello\n")),
        FolderEntry("latest", EntryKind.SYMLINK, blob_id(b"css/site.css"), "css/site.css"),
        FolderEntry("run", EntryKind.EXECUTABLE, blob_id(b"#!/bin/sh\n")),
    )


def test_id_has_the_algorithm_of_the_revision() -> None:
    tree = MemoryTree(_SITE, Revision("0" * 64, algorithm="sha256"))
    assert len(read_folder(tree, "files/site").tree) == 64


def test_names_that_are_no_utf_8_are_kept() -> None:
    name = b"caf\xe9".decode(errors="surrogateescape")
    found = read_folder(MemoryTree({f"d/{name}": "x", "d/link": Symlink(name)}), "d")
    assert [(entry.path, entry.link) for entry in found.entries] == [(name, ""), ("link", name)]


def test_folder_that_is_misspelt_has_a_suggestion() -> None:
    (found,) = diagnostics({**_host("files/sit"), **_SITE})
    assert (found.code, found.hint) == ("source-missing", "Did you mean 'files/site'?")
    assert diagnostics({**_host("site"), **_SITE})[0].hint == "Did you mean 'files/site'?"


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/srv", "bad-path", "absolute"),
        ("files/site/", "bad-path", "shortest"),
        ("files/other", "not-a-folder", "files/other is a file; a folder is wanted."),
        ("files/site/run", "not-a-folder", "a file"),
        ("files/site/latest", "not-a-folder", "links are not followed"),
        ("module", "not-a-folder", "submodules are not fetched"),
    ],
)
def test_what_is_no_folder_of_the_repository_is_said(path: str, code: str, words: str) -> None:
    (found,) = diagnostics({**_host(path), **_SITE, "module": Gitlink()})
    assert (found.code, str(found.location), found.resource) == (code, "hosts/web1.yaml:3:13", "thing:a")
    assert words in found.detail


@pytest.mark.parametrize(
    ("name", "file", "code", "words"),
    [
        ("deep/vendor", Gitlink(), "not-a-file", "files/site/deep/vendor is a submodule"),
        ("link", Symlink(""), "bad-link", "files/site/link"),
        ("link", Symlink("x" * (PATH_MAX + 1)), "bad-link", str(PATH_MAX)),
        ("link", Symlink("a\0b"), "bad-link", "NUL"),
        ("link", Symlink("version https://git-lfs.github.com/spec/v1"), "not-a-file", "files/site/link"),
        ("x/" * 2100 + "y", "", "folder-too-large", "longer than"),
    ],
)
def test_what_cannot_come_to_a_host_is_said(name: str, file: TreeFile, code: str, words: str) -> None:
    (found,) = diagnostics({**_host("files/site"), **_SITE, f"files/site/{name}": file})
    assert (found.code, found.resource) == (code, "thing:a")
    assert words in found.detail


def test_longest_link_is_taken() -> None:
    found = read_folder(MemoryTree({"d/link": Symlink("x" * PATH_MAX)}), "d")
    assert len(found.entries[0].link) == PATH_MAX


def test_folder_has_a_bounded_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "ENTRY_LIMIT", 6)
    assert len(read_folder(MemoryTree(_SITE), "files/site").entries) == 5
    monkeypatch.setattr(folders, "ENTRY_LIMIT", 5)
    with pytest.raises(FolderRefusedError, match="more than 5 names") as caught:
        read_folder(MemoryTree(_SITE), "files/site")
    assert caught.value.code == "folder-too-large"


class _Listed(MemoryTree):
    """A tree whose folders are written down, as only a working tree or a damaged one has them."""

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        folders: Mapping[str, Mapping[str, TreeEntry]] = {
            "d": {"empty": TreeEntry(EntryKind.FOLDER, ""), "f": TreeEntry(EntryKind.FILE, "ab" * 20)},
            "bad-folder": {"..": TreeEntry(EntryKind.FOLDER, "")},
            "bad-file": {"a/b": TreeEntry(EntryKind.FILE, "ab" * 20)},
        }
        return folders.get(folder, {})


def test_folders_without_files_are_as_in_git_nothing() -> None:
    tree = _Listed({})
    assert read_folder(tree, "d").tree == _tree_of_one("f")
    with pytest.raises(FolderRefusedError, match="no file") as caught:
        read_folder(tree, "d/empty")
    assert caught.value.code == "source-missing"


def _tree_of_one(name: str) -> str:
    import hashlib

    line = b"100644 %s\0%s" % (name.encode(), bytes.fromhex("ab" * 20))
    return hashlib.sha1(b"tree %d\0%s" % (len(line), line), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("path", ["bad-folder", "bad-file"])
def test_names_that_no_file_can_have_are_refused(path: str) -> None:
    with pytest.raises(FolderRefusedError) as caught:
        read_folder(_Listed({}), path)
    assert caught.value.code == "bad-path"


def test_lfs_pointer_in_a_folder_is_not_read() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\n"
    tree = MemoryTree({"d/big": pointer})
    assert read_folder(tree, "d").entries[0].blob == blob_id(pointer.encode())
    with pytest.raises(FleetError):
        tree.open_blob(blob_id(pointer.encode()))
