"""Streams over large files: of a commit by the git program, of a working tree from disk; whole or an error."""

import io
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from datum.diagnostics import Diagnostic
from datum.errors import FleetError, RepositoryError, RevisionNotFoundError
from datum.host.output import open_output
from datum.model.content import blob_id
from datum.model.source import SourceTree
from datum.provider.host import Command, HostError
from datum.repository import limits
from datum.repository.blob import blob_stream
from datum.repository.objects import ObjectReader
from datum.repository.worktree import clone_tree, working_tree
from tests.git_repository import GitRepository

LIMIT = 100_000
# Random digits: what is damaged in the middle is read up to there.
DATA = bytes(range(256)) * 20 + random.Random(7).randbytes(2 * LIMIT)
POINTER = b"version https://git-lfs.github.com/spec/v1\n"


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("objects", "worktree"):
        monkeypatch.setattr(f"datum.repository.{module}.WHOLE_LIMIT", LIMIT)


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "fleet")
    made.commit({"large": DATA, "edge": DATA[:LIMIT], "pointer": POINTER})
    return made


def started() -> tuple[list[Command], Callable[[Command], io.BufferedReader]]:
    """The door, and what goes through it."""
    commands: list[Command] = []

    def open_noted(command: Command) -> io.BufferedReader:
        commands.append(command)
        return open_output(command)

    return commands, open_noted


def blob_of(tree: SourceTree, path: str) -> str:
    entry = tree.entry(path)
    assert entry is not None
    return entry.blob


def loose(repository: GitRepository, blob: str) -> Path:
    file = repository.path / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    return file


@pytest.mark.parametrize("is_packed", [False, True])
def test_only_a_large_file_takes_a_child(repository: GitRepository, is_packed: bool) -> None:
    if is_packed:
        repository.git("repack", "-adq")
    commands, door = started()
    tree = clone_tree(repository.path, "main", open_output=door)
    with tree.open_blob(blob_of(tree, "edge")) as stream:
        assert stream.read() == DATA[:LIMIT]
    assert not commands
    with tree.open_blob(blob_of(tree, "large")) as stream:
        assert stream.read() == DATA
        assert stream.read() == b""
    (command,) = commands
    assert command.argv[-3:] == ("cat-file", "blob", blob_of(tree, "large"))
    assert command.environment["GIT_CONFIG_NOSYSTEM"] == "1"


def test_a_large_file_that_git_keeps_as_a_delta_is_streamed(repository: GitRepository) -> None:
    old = blob_of(clone_tree(repository.path, "main"), "large")
    repository.commit({"large": DATA + b"more"})
    repository.git("repack", "-adfq", "--depth=5")
    (index,) = (repository.path / ".git/objects/pack").glob("*.idx")
    lines = repository.git("verify-pack", "-v", str(index)).splitlines()
    # Id, type, size, size in the pack, offset, depth, base: of a delta only.
    assert [line.split()[5:] for line in lines if line.startswith(old)] == [
        ["1", repository.git("rev-parse", "HEAD:large")]
    ]
    tree = clone_tree(repository.path, "main", open_output=open_output)
    for blob, data in ((old, DATA), (blob_of(tree, "large"), DATA + b"more")):
        with tree.open_blob(blob) as stream:
            assert stream.read() == data


def test_without_a_door_a_large_file_is_read_whole_up_to_the_limit(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = clone_tree(repository.path, "main")
    with tree.open_blob(blob_of(tree, "large")) as stream:
        assert stream.read() == DATA
    monkeypatch.setattr("datum.repository.objects.OBJECT_LIMIT", len(DATA) - 1)
    with pytest.raises(FleetError) as caught:
        tree.open_blob(blob_of(tree, "large"))
    assert caught.value.diagnostics[0].code == "object-too-large"


def test_what_is_read_whole_has_a_limit_and_what_is_streamed_has_none(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datum.repository.objects.OBJECT_LIMIT", LIMIT)
    monkeypatch.setattr("datum.repository.worktree.OBJECT_LIMIT", LIMIT)
    for tree in (clone_tree(repository.path, "main", open_output=open_output), working_tree(repository.path)):
        with tree.open_blob(blob_of(tree, "large")) as stream:
            assert stream.read() == DATA
        with pytest.raises(FleetError) as caught:
            tree.read("large")
        assert caught.value.diagnostics[0].code == "object-too-large"


@pytest.mark.parametrize("at", [0.0, 0.5, 0.9999])
def test_damage_anywhere_is_an_error_before_the_end(repository: GitRepository, at: float) -> None:
    tree = clone_tree(repository.path, "main", open_output=open_output)
    blob = blob_of(tree, "large")
    file = loose(repository, blob)
    data = bytearray(file.read_bytes())
    position = min(int(len(data) * at) + 40, len(data) - 1)
    data[position] ^= 0x55
    file.write_bytes(data)
    with pytest.raises(RepositoryError, match=blob) as caught, tree.open_blob(blob) as stream:
        while stream.read(1000):
            pass
    assert caught.value.diagnostics[0].code == "object-damaged"
    assert caught.value.diagnostics[0].hint


@pytest.mark.parametrize("kept", [0.3, 0.9999])
def test_a_truncated_object_is_never_short_content(repository: GitRepository, kept: float) -> None:
    tree = clone_tree(repository.path, "main", open_output=open_output)
    blob = blob_of(tree, "large")
    file = loose(repository, blob)
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * kept)])
    with tree.open_blob(blob) as stream, pytest.raises(RepositoryError):
        stream.read()


def test_another_object_of_that_size_under_the_name_is_found_by_its_hash(repository: GitRepository) -> None:
    """`git cat-file` does not hash what it streams."""
    other = repository.git("hash-object", "-w", "--stdin", stdin=bytes(reversed(DATA)))
    tree = clone_tree(repository.path, "main", open_output=open_output)
    blob = blob_of(tree, "large")
    shutil.copy(loose(repository, other), loose(repository, blob))
    repository.git("config", "core.bigFileThreshold", "1k")
    with tree.open_blob(blob) as stream, pytest.raises(RepositoryError, match=f"{blob}|hash mismatch"):
        stream.read()


def test_a_missing_object_is_said_before_a_child_is_made(repository: GitRepository) -> None:
    commands, door = started()
    tree = clone_tree(repository.path, "main", open_output=door)
    with pytest.raises(RepositoryError) as caught:
        tree.open_blob("b" * 40)
    assert caught.value.diagnostics[0].code == "object-missing"
    assert not commands


def test_a_git_that_cannot_be_run_is_an_error(repository: GitRepository) -> None:
    def closed(command: Command) -> io.BufferedReader:
        raise HostError("'git' cannot be run.", code="program-missing")

    tree = clone_tree(repository.path, "main", open_output=closed)
    with pytest.raises(RepositoryError, match="cannot be run"):
        tree.open_blob(blob_of(tree, "large"))


def test_a_large_object_is_a_blob_or_no_commit_without_being_read(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ref or an id may name a gigabyte of zeros."""
    monkeypatch.setattr("datum.repository.objects.OBJECT_LIMIT", 10)
    reader = ObjectReader(repository.path, advice="")
    blob = repository.git("rev-parse", "HEAD:large")
    assert reader.kind(blob) == "blob"
    monkeypatch.setattr("pygit2.Repository.__getitem__", pytest.fail)
    with pytest.raises(RevisionNotFoundError, match="is a blob"):
        reader.root_tree(blob)
    with pytest.raises(FleetError) as caught:
        reader.kind(repository.head)
    assert caught.value.diagnostics[0].code == "object-too-large"


# What streams promise, whatever gives the bytes


def stream_of(data: bytes, wanted: bytes, size: int) -> BinaryIO:
    def broken(words: str) -> RepositoryError:
        return RepositoryError(Diagnostic(code="object-damaged", summary="A git object cannot be read.", detail=words))

    return blob_stream(io.BufferedReader(io.BytesIO(data)), blob_id(wanted), size, broken)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"abc", "ends 1 bytes before"),
        (b"abcde", "more bytes"),
        (b"abcx", "not those of its id"),
        (b"", "4 bytes before"),
    ],
)
def test_other_bytes_than_promised_raise(data: bytes, words: str) -> None:
    with stream_of(data, b"abcd", 4) as stream, pytest.raises(RepositoryError, match=words):
        stream.read()


def test_bytes_as_promised_end_quietly() -> None:
    with stream_of(b"abcd", b"abcd", 4) as stream:
        assert stream.readable()
        assert (stream.read(2), stream.read(), stream.read()) == (b"ab", b"cd", b"")


# The working tree


def test_a_large_file_of_a_working_tree_is_streamed_and_identified(repository: GitRepository) -> None:
    tree = working_tree(repository.path)
    blob = blob_of(tree, "large")
    assert blob == blob_id(DATA)
    with tree.open_blob(blob) as stream:
        assert isinstance(stream, io.BufferedReader)
        assert stream.read() == DATA


def test_a_large_file_that_changed_since_is_not_passed_off(repository: GitRepository) -> None:
    tree = working_tree(repository.path)
    blob = blob_of(tree, "large")
    for data in (DATA[:-1], DATA + b"x", bytes(reversed(DATA))):
        (repository.path / "large").write_bytes(data)
        with tree.open_blob(blob) as stream, pytest.raises(RepositoryError) as caught:
            stream.read()
        assert caught.value.diagnostics[0].code == "worktree-changed"


def test_a_file_that_grows_while_it_is_identified_is_an_error(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat

    class Smaller:
        def __init__(self, descriptor: int) -> None:
            self.st_size = real(descriptor).st_size - 1
            self.st_blksize = 4096
            self.st_mode = real(descriptor).st_mode

    monkeypatch.setattr("datum.repository.worktree.os.fstat", Smaller)
    with pytest.raises(RepositoryError) as caught:
        working_tree(repository.path).entry("large")
    assert caught.value.diagnostics[0].code == "worktree-changed"


def test_git_streams_from_the_same_size_on() -> None:
    config = Path(limits.__file__).with_name("gitconfig")
    argv = ["git", "config", "--file", str(config), "--type=int", "core.bigFileThreshold"]
    assert int(subprocess.check_output(argv)) == limits.WHOLE_LIMIT


def test_a_clone_in_linked_worktrees_is_streamed(repository: GitRepository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    tree = clone_tree(tmp_path / "linked", "main", open_output=open_output)
    with tree.open_blob(blob_of(tree, "large")) as stream:
        assert stream.read() == DATA


def test_nothing_of_a_stream_stays_open(repository: GitRepository) -> None:
    script = (
        "import os, sys; from pathlib import Path; from datum.repository import objects;"
        "from datum.repository.worktree import clone_tree; from datum.host.output import open_output;"
        "objects.WHOLE_LIMIT = 1000; tree = clone_tree(Path(sys.argv[1]), 'main', open_output=open_output);"
        "blob = tree.entry('large').blob; count = lambda: len(os.listdir('/proc/self/fd'));"
        "tree.open_blob(blob).close(); before = count()\n"
        "for number in range(20):\n"
        "    with tree.open_blob(blob) as stream:\n"
        "        stream.read() if number % 2 else stream.read(10)\n"
        "tree.open_blob(blob)\n"
        "assert count() == before, (count(), before)\n"
        "try:\n"
        "    os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError:\n"
        "    print('no child is left')\n"
    )
    argv = [sys.executable, "-W", "error", "-c", script, str(repository.path)]
    done = subprocess.run(argv, capture_output=True, check=False, text=True, cwd=Path(__file__).parents[3])
    assert done.stdout == "no child is left\n", done.stderr
