"""What is said of commits."""

from pathlib import Path

import pytest

from datum.errors import RepositoryError, RevisionNotFoundError
from datum.model.revision import CommitInfo, Revision
from datum.repository.objects import ObjectReader
from tests.git_repository import GitRepository


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """Two commits on main, a fork of the first, tags."""
    made = GitRepository(tmp_path / "fleet")
    made.commit({"a": "1"}, "first\n\nbody")
    made.git("tag", "v1")
    made.git("checkout", "--quiet", "-b", "fork")
    made.commit({"b": "1"}, "fork")
    made.git("checkout", "--quiet", "main")
    made.commit({"a": "2"}, "second")
    made.git("tag", "-a", "-m", "tag", "v2")
    made.git("tag", "blob", made.git("rev-parse", "HEAD:a"))
    return made


def reader(repository: GitRepository) -> ObjectReader:
    return ObjectReader(repository.path, advice="Clone it anew.")


def test_history_is_judged(repository: GitRepository) -> None:
    first, second, fork = (repository.git("rev-parse", name) for name in ("v1^{commit}", "main", "fork"))
    objects = reader(repository)
    assert objects.is_descendant(second, first)
    assert not objects.is_descendant(first, second)
    assert not objects.is_descendant(fork, second)
    assert objects.is_descendant(second, second)
    assert not objects.is_descendant(second, "f" * 40)
    with pytest.raises(RepositoryError, match="f" * 40):
        objects.is_descendant("f" * 40, second)


def test_history_with_a_hole_is_an_error(repository: GitRepository) -> None:
    first, second = (repository.git("rev-parse", name) for name in ("v1^{commit}", "main"))
    third = repository.commit({"a": "3"})
    (repository.path / ".git/objects" / second[:2] / second[2:]).unlink()
    with pytest.raises(RepositoryError):
        reader(repository).is_descendant(third, first)


def test_a_commit_is_described(repository: GitRepository) -> None:
    assert reader(repository).describe(repository.git("rev-parse", "v1")) == CommitInfo(
        author="Ann Author <ann@example.org>",
        committer="Carl Committer <carl@example.org>",
        committed_at="2023-11-14T22:15:00Z",
        subject="first",
    )


def test_odd_commits_are_described(repository: GitRepository) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nauthor J\xf6rg <j@x> 1 +0000\ncommitter J <j@x> 999999999999999 +0000\n\n"
    odd = repository.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text.encode("latin-1"))
    found = reader(repository).describe(odd)
    assert found.author == "J\ufffdrg <j@x>"
    assert found.committed_at == "@999999999999999"
    assert found.subject == ""


@pytest.mark.parametrize("text", ["main", "v2", "HEAD", "refs/heads/main"])
def test_names_are_resolved_to_commits(repository: GitRepository, text: str) -> None:
    assert reader(repository).resolve(text).commit == repository.head


def test_ids_and_text_forms_are_resolved(repository: GitRepository) -> None:
    head = repository.head
    objects = reader(repository)
    assert str(objects.resolve(head)) == f"sha1:{head}"
    assert str(objects.resolve(head[:10])) == f"sha1:{head}"
    assert str(objects.resolve("main")) == f"main@sha1:{head}"
    assert str(objects.resolve(f"old@sha1:{head}")) == f"old@sha1:{head}"


@pytest.mark.parametrize(
    "text", ["nothing", "", "a b", "~", "f" * 40, f"sha1:{'f' * 40}", "HEAD:a", "blob", "HEAD^{tree}", "\0"]
)
def test_what_names_no_commit_is_not_found(repository: GitRepository, text: str) -> None:
    with pytest.raises(RevisionNotFoundError) as caught:
        reader(repository).resolve(text)
    assert caught.value.diagnostics[0].code == "revision-missing"


def test_a_tree_is_no_revision(repository: GitRepository) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}")
    objects = reader(repository)
    with pytest.raises(RevisionNotFoundError):
        objects.resolve(f"sha1:{tree}")
    with pytest.raises(RevisionNotFoundError, match="is a tree"):
        objects.root_tree(tree)
    assert objects.kind(tree) == "tree"
    assert objects.kind("f" * 40) is None


def test_a_branch_and_a_tag_of_one_name_are_ambiguous(repository: GitRepository) -> None:
    repository.git("tag", "main", "v1")
    with pytest.raises(RevisionNotFoundError, match=r"refs/heads/main and refs/tags/main"):
        reader(repository).resolve("main")


def test_digits_that_several_objects_begin_with_are_ambiguous(repository: GitRepository) -> None:
    seen: dict[str, str] = {}
    number = 0
    while True:
        blob = repository.git("hash-object", "-w", "--stdin", stdin=str(number).encode())
        if blob[:2] in seen and blob[:2].isalnum() and seen[blob[:2]] != blob:
            break
        seen[blob[:2]] = blob
        number += 1
    other, folder = seen[blob[:2]], repository.path / ".git/objects" / blob[:2]
    # A pair with four equal digits takes hundreds of objects; a name is enough for the search.
    (folder / (blob[2:4] + other[4:])).write_bytes(b"")
    with pytest.raises(RevisionNotFoundError, match="give more digits"):
        reader(repository).resolve(blob[:4])


def test_a_folder_without_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=str(tmp_path)) as caught:
        ObjectReader(tmp_path, advice="").kind("f" * 40)
    assert caught.value.diagnostics[0].code == "repository-invalid"


def test_a_sha256_repository_is_not_in_this_version(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "fleet", "--object-format=sha256")
    with pytest.raises(RepositoryError) as caught:
        ObjectReader(made.path, advice="").resolve("HEAD")
    assert caught.value.diagnostics[0].code == "not-in-this-version"


def test_a_damaged_object_is_not_taken_for_a_missing_one(repository: GitRepository) -> None:
    blob = repository.git("rev-parse", "HEAD:a")
    file = repository.path / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"junk")
    objects = reader(repository)
    assert objects.lacks([blob, "f" * 40]) == ("f" * 40,)
    with pytest.raises(RepositoryError) as caught:
        objects.kind(blob)
    assert caught.value.diagnostics[0].code == "object-damaged"


def test_the_revision_is_equal_whatever_it_was_found_by(repository: GitRepository) -> None:
    assert reader(repository).resolve("v2") == Revision(repository.head)


def test_head_before_and_after_the_first_commit(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "fleet")
    assert reader(made).head() is None
    commit = made.commit({"a": "1"})
    assert reader(made).head() == commit
    made.git("checkout", "--quiet", "--detach")
    assert reader(made).head() == commit


@pytest.mark.parametrize("text", ["\udcff", "a" * 70_000, ":/second", ":a", "HEAD^{/second}", "", "-x"])
def test_what_names_no_commit_is_no_revision(repository: GitRepository, text: str) -> None:
    """libgit2 had errors of its own for the first two, and took the commit that says the words for others."""
    with pytest.raises(RevisionNotFoundError) as caught:
        reader(repository).resolve(text)
    assert len(str(caught.value)) < 600
