"""The tree in memory behaves as a tree of a revision."""

import pytest

from datum.errors import FleetError, RepositoryError
from datum.model.content import blob_id
from datum.model.revision import Revision
from datum.model.source import EntryKind, SourceTree, TreeEntry
from datum.testing.trees import Executable, Gitlink, MemoryTree, Symlink

_TREE = MemoryTree(
    {
        "a": b"bytes",
        "folder/b": "text",
        "folder/run": Executable(b"#!"),
        "folder/link": Symlink("b"),
        "module": Gitlink(),
        "large": "version https://git-lfs.github.com/spec/v1\n",
    }
)


def test_it_is_a_source_tree() -> None:
    tree: SourceTree = _TREE
    assert tree.revision == Revision("0" * 40)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", TreeEntry(EntryKind.FILE, blob_id(b"bytes"))),
        ("folder/b", TreeEntry(EntryKind.FILE, blob_id(b"text"))),
        ("folder/run", TreeEntry(EntryKind.EXECUTABLE, blob_id(b"#!"))),
        ("folder/link", TreeEntry(EntryKind.SYMLINK, blob_id(b"b"))),
        ("module", TreeEntry(EntryKind.GITLINK, "1" * 40)),
        ("nothing", None),
        ("fold", None),
    ],
)
def test_entries(path: str, expected: TreeEntry | None) -> None:
    assert _TREE.entry(path) == expected


def test_folders_follow_from_paths() -> None:
    folder = _TREE.entry("folder")
    assert folder is not None
    assert folder.kind is EntryKind.FOLDER
    assert list(_TREE.entries("folder")) == ["b", "link", "run"]
    assert list(_TREE.entries("")) == ["a", "folder", "large", "module"]
    assert not _TREE.entries("nothing")


def test_files_are_read() -> None:
    assert (_TREE.read("a"), _TREE.read("folder/b"), _TREE.read("folder/run")) == (b"bytes", b"text", b"#!")


@pytest.mark.parametrize("path", ["nothing", "folder", "folder/link", "module", "large"])
def test_what_is_no_file_is_not_read(path: str) -> None:
    with pytest.raises(FleetError):
        _TREE.read(path)


def test_blobs_are_opened_by_their_id() -> None:
    assert _TREE.open_blob(blob_id(b"text")).read() == b"text"
    with pytest.raises(RepositoryError):
        _TREE.open_blob("1" * 40)


def test_ids_follow_the_algorithm_of_the_revision() -> None:
    tree = MemoryTree({"a": b"x"}, Revision("0" * 64, algorithm="sha256"))
    assert tree.entry("a") == TreeEntry(EntryKind.FILE, blob_id(b"x", "sha256"))
