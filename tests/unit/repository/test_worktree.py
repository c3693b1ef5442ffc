"""Trees for authors."""

import os
import socket
from pathlib import Path

import pytest

from datum.errors import FleetError, RepositoryError, RevisionNotFoundError
from datum.model.source import EntryKind, SourceTree, TreeEntry
from datum.repository.worktree import clone_tree, working_tree
from tests.git_repository import GitRepository


@pytest.fixture
def clone(tmp_path: Path) -> GitRepository:
    """A clone with a commit, and changes that are not committed."""
    made = GitRepository(tmp_path / "fleet")
    made.commit({"fleet.yaml": "datum: 1\n", "hosts/web1.yaml": "old\n", ".gitignore": "ignored\n"})
    (made.path / "hosts/web1.yaml").write_text("new\n")
    (made.path / "ignored").write_text("i")
    (made.path / "run").write_text("r")
    (made.path / "run").chmod(0o755)
    (made.path / "link").symlink_to("run")
    (made.path / "sub/.git").mkdir(parents=True)
    return made


def test_files_are_read_as_they_are_on_disk(clone: GitRepository) -> None:
    tree = working_tree(clone.path)
    assert str(tree.revision) == f"worktree@sha1:{clone.head}"
    assert {name: entry.kind for name, entry in tree.entries("").items()} == {
        ".gitignore": EntryKind.FILE,
        "fleet.yaml": EntryKind.FILE,
        "hosts": EntryKind.FOLDER,
        "ignored": EntryKind.FILE,
        "link": EntryKind.SYMLINK,
        "run": EntryKind.EXECUTABLE,
        "sub": EntryKind.GITLINK,
    }
    assert list(tree.entries("")) == sorted(tree.entries(""))
    assert tree.read("hosts/web1.yaml") == b"new\n"
    assert tree.read("run") == b"r"


def test_object_ids_are_those_that_git_would_give(clone: GitRepository) -> None:
    tree = working_tree(clone.path)
    for path in ("hosts/web1.yaml", "run"):
        entry = tree.entry(path)
        assert entry is not None
        assert entry.blob == clone.git("hash-object", "--no-filters", path)
        with tree.open_blob(entry.blob) as stream:
            assert stream.read() == (clone.path / path).read_bytes()
    link = tree.entry("link")
    assert link == TreeEntry(EntryKind.SYMLINK, clone.git("hash-object", "--stdin", stdin=b"run"))


def test_listing_names_reads_no_file(clone: GitRepository) -> None:
    names = working_tree(clone.path).entries("hosts")
    (clone.path / "hosts/web1.yaml").unlink()
    assert list(names) == ["web1.yaml"]
    assert len(names) == 1
    with pytest.raises(RepositoryError, match=r"web1\.yaml"):
        names["web1.yaml"]


def test_what_is_not_there_is_none_or_empty(clone: GitRepository) -> None:
    tree = working_tree(clone.path)
    assert tree.entry("") == TreeEntry(EntryKind.FOLDER, "")
    for path in (
        "nothing",
        "hosts/nothing",
        "fleet.yaml/x",
        "nothing/x/y",
        "../fleet",
        ".git",
        ".git/HEAD",
        "sub/.git",
    ):
        assert tree.entry(path) is None
    for folder in ("nothing", "fleet.yaml", "link", "sub", "..", ".git"):
        assert not tree.entries(folder)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("hosts", "path-is-folder"),
        ("link", "path-is-symlink"),
        ("sub", "path-is-submodule"),
        ("nothing", "path-missing"),
        ("big", "path-is-lfs-pointer"),
    ],
)
def test_what_is_no_file_is_refused_as_in_a_commit(clone: GitRepository, path: str, code: str) -> None:
    (clone.path / "big").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(FleetError, match="worktree@sha1") as caught:
        working_tree(clone.path).read(path)
    assert caught.value.diagnostics[0].code == code


def test_a_pointer_is_refused_as_a_stream_too(clone: GitRepository) -> None:
    (clone.path / "big").write_text("version https://git-lfs.github.com/spec/v1\n")
    tree = working_tree(clone.path)
    entry = tree.entry("big")
    assert entry is not None
    with pytest.raises(FleetError, match="'big'"):
        tree.open_blob(entry.blob)


def test_bytes_that_changed_since_are_not_passed_off(clone: GitRepository) -> None:
    tree = working_tree(clone.path)
    entry = tree.entry("run")
    assert entry is not None
    (clone.path / "run").write_text("other")
    for blob in (entry.blob, "f" * 40):
        with pytest.raises(RepositoryError) as caught:
            tree.open_blob(blob)
        assert caught.value.diagnostics[0].code == "worktree-changed"


def test_a_folder_without_git_has_a_revision_of_zeros(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("x")
    tree = working_tree(tmp_path)
    assert tree.revision.commit == "0" * 40
    assert tree.read("fleet.yaml") == b"x"


def test_a_clone_without_a_commit_has_a_revision_of_zeros(tmp_path: Path) -> None:
    assert working_tree(GitRepository(tmp_path / "fleet").path).revision.commit == "0" * 40


def test_sockets_are_nothing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(tmp_path)
        try:
            made.bind("s")
        finally:
            os.chdir(here)
    assert working_tree(tmp_path).entry("s") is None


def test_a_missing_or_vanished_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="nothing"):
        working_tree(tmp_path / "nothing")
    tree: SourceTree = working_tree(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(RepositoryError) as caught:
        tree.entries("")
    assert caught.value.diagnostics[0].code == "worktree-unreadable"


def test_a_revision_of_a_clone_is_read_without_its_files(clone: GitRepository) -> None:
    tree = clone_tree(clone.path, "main")
    assert str(tree.revision) == f"main@sha1:{clone.head}"
    assert tree.read("hosts/web1.yaml") == b"old\n"
    with pytest.raises(RevisionNotFoundError):
        clone_tree(clone.path, "nothing")
    with pytest.raises(RepositoryError):
        clone_tree(clone.path / "hosts", "main")


def test_a_path_of_many_folders_is_answered(clone: GitRepository) -> None:
    """A `source` of a thousand slashes was a RecursionError, a bug for those who read the message."""
    assert working_tree(clone.path).entry("/".join(["hosts"] * 5000)) is None
