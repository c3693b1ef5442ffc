"""GitTree over real objects."""

import os
from pathlib import Path

import pytest

from datum.errors import DatumError, FleetError, RepositoryError
from datum.model.revision import Revision
from datum.model.source import EntryKind, TreeEntry
from datum.repository.objects import ObjectReader
from datum.repository.tree import GitTree
from datum.repository.worktree import clone_tree
from tests.git_repository import GitRepository

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n"


def tree_of(repository: GitRepository, commit: str) -> GitTree:
    objects = ObjectReader(repository.path, advice="Clone it anew.")
    return GitTree(Revision(commit, ref="main"), objects.root_tree(commit), objects)


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository with every kind of entry."""
    made = GitRepository(tmp_path / "fleet")
    (made.path / "files").mkdir()
    (made.path / "files/run").write_text("#!/bin/sh\n")
    (made.path / "files/run").chmod(0o755)
    (made.path / "files/link").symlink_to("run")
    made.commit({"fleet.yaml": "datum: 1\n", "files/README": "A", "files/readme": "a", "files/big.iso": POINTER})
    made.git("update-index", "--add", "--cacheinfo", f"160000,{'c' * 40},files/sub")
    made.git("commit", "--quiet", "-m", "submodule")
    return made


def test_every_kind_is_told_apart(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    kinds = {name: entry.kind for name, entry in tree.entries("files").items()}
    assert kinds == {
        "README": EntryKind.FILE,
        "readme": EntryKind.FILE,
        "big.iso": EntryKind.FILE,
        "run": EntryKind.EXECUTABLE,
        "link": EntryKind.SYMLINK,
        "sub": EntryKind.GITLINK,
    }
    assert tree.entries("")["files"].kind is EntryKind.FOLDER
    assert str(tree.revision) == f"main@sha1:{repository.head}"


def test_entries_carry_the_object_ids_of_git(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    blob = repository.git("rev-parse", "HEAD:files/README")
    assert tree.entry("files/README") == TreeEntry(EntryKind.FILE, blob)
    assert tree.entry("") == TreeEntry(EntryKind.FOLDER, repository.git("rev-parse", "HEAD^{tree}"))


def test_what_is_not_there_is_none_or_empty(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    for path in (
        "nothing",
        "files/nothing",
        "fleet.yaml/x",
        "files/link/x",
        "../fleet.yaml",
        "./fleet.yaml",
        "files//run",
    ):
        assert tree.entry(path) is None
    for folder in ("nothing", "fleet.yaml", "files/link", "files/sub"):
        assert not tree.entries(folder)


def test_bytes_are_those_of_the_commit_and_not_of_the_disk(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    (repository.path / "fleet.yaml").write_text("changed")
    assert tree.read("fleet.yaml") == b"datum: 1\n"
    assert tree.read("files/run") == b"#!/bin/sh\n"
    entry = tree.entry("files/readme")
    assert entry is not None
    with tree.open_blob(entry.blob) as stream:
        assert stream.read() == b"a"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nothing", "path-missing"),
        ("files", "path-is-folder"),
        ("files/link", "path-is-symlink"),
        ("files/sub", "path-is-submodule"),
        ("files/big.iso", "path-is-lfs-pointer"),
    ],
)
def test_what_is_no_file_is_refused_with_path_and_revision(repository: GitRepository, path: str, code: str) -> None:
    with pytest.raises(FleetError) as caught:
        tree_of(repository, repository.head).read(path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert str(diagnostic.location) == path
    assert f"main@sha1:{repository.head}" in diagnostic.detail
    assert diagnostic.hint


def test_an_lfs_pointer_is_refused_as_a_stream_too(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    blob = repository.git("rev-parse", "HEAD:files/big.iso")
    with pytest.raises(FleetError, match=blob):
        tree.open_blob(blob)
    tree.entries("files")
    with pytest.raises(FleetError, match=r"files/big\.iso"):
        tree.open_blob(blob)


def test_a_name_that_is_not_utf8_comes_as_surrogates(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "fleet")
    Path(os.fsdecode(os.fsencode(made.path) + b"/caf\xe9")).write_text("x")
    tree = tree_of(made, made.commit({}))
    assert list(tree.entries("")) == ["caf\udce9"]
    assert tree.read("caf\udce9") == b"x"


def test_a_missing_object_names_itself_and_what_to_do(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    with pytest.raises(RepositoryError, match="b" * 40) as caught:
        tree.open_blob("b" * 40)
    assert caught.value.diagnostics[0].code == "object-missing"
    assert caught.value.diagnostics[0].hint == "Clone it anew."


def test_a_damaged_object_is_found_by_its_hash(repository: GitRepository) -> None:
    blob = repository.git("rev-parse", "HEAD:files/README")
    other = repository.git("rev-parse", "HEAD:files/readme")
    objects = repository.path / ".git/objects"
    damaged = objects / blob[:2] / blob[2:]
    damaged.chmod(0o644)
    damaged.write_bytes((objects / other[:2] / other[2:]).read_bytes())
    with pytest.raises(RepositoryError) as caught:
        tree_of(repository, repository.head).read("files/README")
    assert caught.value.diagnostics[0].code == "object-damaged"


class OneTree:
    """Gives the same bytes for every object."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, object_id: str) -> bytes:
        return self.data

    content = read


def test_a_mode_that_git_does_not_have_is_damage() -> None:
    tree = GitTree(Revision("a" * 40), "b" * 40, OneTree(b"10 name\0" + b"x" * 20))
    with pytest.raises(DatumError, match="unknown mode") as caught:
        tree.entries("")
    assert caught.value.diagnostics[0].code == "object-damaged"


def test_a_path_of_the_root_is_named_for_a_pointer() -> None:
    line = b"100644 name\0" + bytes.fromhex("c" * 40)
    objects = OneTree(line)
    tree = GitTree(Revision("a" * 40), "b" * 40, objects)
    tree.entries("")
    objects.data = POINTER.encode()
    with pytest.raises(FleetError, match="'name'"):
        tree.open_blob("c" * 40)


def test_ten_thousand_ids_take_one_read_a_folder(tmp_path: Path) -> None:
    """No object for each entry, and no bytes of a file: that is what makes it milliseconds."""
    made = GitRepository(tmp_path / "fleet")
    lines = "".join(f"M 644 inline d{n // 100}/f{n}\ndata {len(str(n))}\n{n}\n" for n in range(10_000))
    made.git(
        "fast-import",
        "--quiet",
        stdin=f"commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{lines}".encode(),
    )
    reader = ObjectReader(made.path, advice="")
    reads: list[str] = []

    class Counting:
        def read(self, object_id: str) -> bytes:
            reads.append(object_id)
            return reader.read(object_id)

        content = read

    tree = GitTree(Revision(made.head), reader.root_tree(made.head), Counting())
    ids = {entry.blob for folder in tree.entries("") for entry in tree.entries(folder).values()}
    assert len(ids) == 10_000
    assert len(reads) == 1 + 100


def test_trees_within_trees_are_read_once(repository: GitRepository) -> None:
    """Ten equal folders in each of ten equal folders and so on: 10^30 paths, and a pass that took all memory."""
    blob = repository.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = repository.git("mktree", stdin=f"100644 blob {blob}\tfile\n".encode())
    for _ in range(30):
        entries = "".join(f"040000 tree {tree}\t{name}\n" for name in range(10))
        tree = repository.git("mktree", stdin=entries.encode())
    found = GitTree(Revision("a" * 40), tree, ObjectReader(repository.path, advice=""))
    assert list(found.files()) == [blob]


def test_files_are_those_of_every_folder_without_submodules(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.head)
    listing = repository.git("ls-tree", "-r", repository.head).splitlines()
    assert sorted(tree.files()) == sorted(line.split()[2] for line in listing if " commit " not in line)


def test_a_path_of_many_folders_that_is_not_there(repository: GitRepository) -> None:
    """A `source` of a thousand slashes was a RecursionError, a bug for those who read the message."""
    path = "/".join(["files"] * 5000)
    assert tree_of(repository, repository.head).entry(path) is None


def test_a_path_of_many_folders_that_is_there(repository: GitRepository) -> None:
    blob = repository.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = repository.git("mktree", stdin=f"100644 blob {blob}\td\n".encode())
    objects = ObjectReader(repository.path, advice="")
    ids = [tree]
    for _ in range(3):
        ids.append(repository.git("mktree", stdin=f"040000 tree {ids[-1]}\td\n".encode()))
    found = GitTree(Revision("a" * 40), ids[-1], objects)
    assert found.entry("d/d/d/d") == TreeEntry(EntryKind.FILE, blob)
    assert found.entry("d/d") == TreeEntry(EntryKind.FOLDER, ids[1])
    assert found.entry("d/d/d/d/d") is None


def test_an_object_of_gigabytes_is_refused_unread(repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack of a few kilobytes can say gigabytes of zeros: a plan took minutes and all memory."""
    for limit in ("OBJECT_LIMIT", "WHOLE_LIMIT"):
        monkeypatch.setattr(f"datum.repository.objects.{limit}", 1000)
    commit = repository.commit({"small": b"0" * 1000, "large": b"0" * 1001})
    tree = clone_tree(repository.path, commit)
    assert tree.read("small") == b"0" * 1000
    entry = tree.entry("large")
    assert entry is not None
    for read in (lambda: tree.read("large"), lambda: tree.open_blob(entry.blob)):
        with pytest.raises(FleetError) as caught:
            read()
        assert caught.value.diagnostics[0].code == "object-too-large"
