"""A resolver that lies about descent: a yes is believed only with the commits between, each hashed and looked at."""

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datum.agent.resolver import descent
from datum.agent.resolver.asked import AskedManifests
from datum.agent.resolver.asking import Conversation
from datum.agent.resolver.descent import parents, prove_descent, require_descent
from datum.agent.resolver.strict import MalformedError
from datum.errors import InternalError, RepositoryError, RevisionRefusedError
from datum.registry.discover import find_providers
from datum.repository.objects import ObjectReader
from tests.git_repository import GitRepository
from tests.unit.agent.resolver.children import answering

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
FLOOR = "f" * 40


def whole(*parent: str, message: str = "m", algorithm: str = "sha1") -> tuple[str, bytes]:
    """Return the id of a commit, and what git hashes of it."""
    lines = [f"tree {TREE}", *(f"parent {one}" for one in parent), "author a <a> 0 +0000", "", message]
    data = "\n".join(lines).encode()
    made = b"commit %d\0" % len(data) + data
    return hashlib.new(algorithm, made).hexdigest(), made


FIRST, FIRST_BYTES = whole(FLOOR)
MERGE, MERGE_BYTES = whole("e" * 40, FIRST)
HEAD, HEAD_BYTES = whole(MERGE)
GOOD = HEAD_BYTES + MERGE_BYTES + FIRST_BYTES
# The parent stands in the message, and behind another header.
SAID, SAID_BYTES = whole(message=f"m\nparent {FLOOR}\n")
BEHIND_DATA = f"tree {TREE}\nauthor a <a> 0 +0000\nparent {FLOOR}\n\nm".encode()
BEHIND_BYTES = b"commit %d\0" % len(BEHIND_DATA) + BEHIND_DATA
BEHIND = hashlib.sha1(BEHIND_BYTES).hexdigest()
# What hashes to the wanted id, as another kind of object.
BLOB_BYTES = b"blob" + FIRST_BYTES.removeprefix(b"commit")


def test_every_commit_between_proves_it_whatever_the_format_of_objects() -> None:
    require_descent(HEAD, FLOOR, GOOD)
    require_descent(FIRST, FLOOR, FIRST_BYTES)
    require_descent(HEAD, HEAD, b"")
    with pytest.raises(MalformedError):
        require_descent(HEAD, HEAD, GOOD)
    floor = "f" * 64
    head, data = whole(floor, algorithm="sha256")
    require_descent(head, floor, data)
    with pytest.raises(MalformedError):
        require_descent(head[:40], floor, data)


LIES = {
    "nothing": (HEAD, b""),
    "one left out": (HEAD, HEAD_BYTES + FIRST_BYTES),
    "the end left out": (HEAD, HEAD_BYTES + MERGE_BYTES),
    "another beginning": (HEAD, MERGE_BYTES + FIRST_BYTES),
    "another history": (HEAD, FIRST_BYTES),
    "another order": (HEAD, FIRST_BYTES + MERGE_BYTES + HEAD_BYTES),
    "one goes on": (FIRST, FIRST_BYTES + whole()[1]),
    "a byte was changed": (FIRST, FIRST_BYTES.replace(b"\nm", b"\nn")),
    "the parent was changed": (SAID, whole(FLOOR, message="m")[1]),
    "the parent is in the message": (SAID, SAID_BYTES),
    "the parent is no parent": (BEHIND, BEHIND_BYTES),
    "it is a file": (hashlib.sha1(BLOB_BYTES).hexdigest(), BLOB_BYTES),
    "it is cut": (FIRST, FIRST_BYTES[:-1]),
    "it has more": (FIRST, FIRST_BYTES + b"x"),
    "a size with a nought": (
        hashlib.sha1(FIRST_BYTES.replace(b"commit ", b"commit 0")).hexdigest(),
        FIRST_BYTES.replace(b"commit ", b"commit 0"),
    ),
    "no size": (FIRST, b"commit \0"),
    "a size with a sign": (FIRST, FIRST_BYTES.replace(b"commit ", b"commit +")),
    "a size below zero": (FIRST, b"commit -9\0" + FIRST_BYTES),
    "a size that is huge": (FIRST, b"commit 99999999999999999999\0"),
    "no end of the head": (FIRST, b"commit " + b"1" * 100),
}


@pytest.mark.parametrize(("commit", "proof"), LIES.values(), ids=LIES)
def test_a_lie_proves_nothing(commit: str, proof: bytes) -> None:
    with pytest.raises(MalformedError):
        require_descent(commit, FLOOR, proof)


def answer(said: object, proof: bytes, ask: Callable[[Any], object]) -> object:
    """Return what the agent makes of an answer."""
    child = answering(
        lambda question: ({"is": said}, proof) if question["ask"] == "is_descendant" else ({"is": None}, b"")
    )
    conversation = Conversation(child, seconds=20)
    try:
        return ask(AskedManifests(find_providers(), conversation, lambda _: None).objects(Path("/nowhere")))
    finally:
        conversation.close()


def test_a_resolver_that_says_yes_without_a_proof_is_ended() -> None:
    for said, proof in ((True, b""), (True, HEAD_BYTES), (False, GOOD), (1, GOOD)):
        with pytest.raises(InternalError) as caught:
            answer(said, proof, lambda objects: objects.is_descendant(HEAD, FLOOR))
        assert caught.value.diagnostics[0].code == "resolver-not-understood"
    assert answer(True, GOOD, lambda objects: objects.is_descendant(HEAD, FLOOR)) is True
    assert answer(False, b"", lambda objects: objects.is_descendant(HEAD, FLOOR)) is False


def test_a_proof_has_bounds_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {HEAD: HEAD_BYTES, MERGE: MERGE_BYTES, FIRST: FIRST_BYTES, "e" * 40: whole()[1]}

    def prove() -> bytes:
        return prove_descent(HEAD, FLOOR, lambda one: data[one].partition(b"\0")[2])

    assert prove() == GOOD
    monkeypatch.setattr(descent, "PROOF_LIMIT", len(GOOD) - 1)
    with pytest.raises(RevisionRefusedError, match="too long"):
        prove()
    monkeypatch.setattr(descent, "PROOF_LIMIT", len(GOOD))
    monkeypatch.setattr(descent, "COMMIT_LIMIT", 2)
    with pytest.raises(RevisionRefusedError) as caught:
        prove()
    assert caught.value.diagnostics[0].code == "descent-too-long"
    with pytest.raises(MalformedError):
        require_descent(HEAD, FLOOR, GOOD)


@pytest.mark.parametrize("bound", ["COMMIT_LIMIT", "PROOF_LIMIT"])
def test_looking_for_the_way_has_an_end(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """The whole history was read first; and where git's answer and the commits differ it was a bug of datum."""
    monkeypatch.setattr(descent, bound, 2 if bound == "COMMIT_LIMIT" else 1000)
    read = 0
    times: list[int] = []
    time_of = descent._time

    def timed(data: bytes) -> int:
        """For each parent of a commit of many MiB, with hundreds of thousands of them, it would take hours."""
        times.append(time_of(data))
        return times[-1]

    monkeypatch.setattr(descent, "_time", timed)

    def endless(one: str) -> bytes:
        nonlocal read
        read += 1
        several = [hashlib.sha1(f"{one}{number}".encode()).hexdigest() for number in range(3)]
        return whole(*several)[1].partition(b"\0")[2]

    with pytest.raises(RevisionRefusedError) as caught:
        prove_descent(HEAD, FLOOR, endless)
    assert (caught.value.diagnostics[0].code, read < 20) == ("descent-too-long", True)
    assert times == [0] * read
    with pytest.raises(RepositoryError) as damaged:
        prove_descent(HEAD, FLOOR, lambda _: whole()[1].partition(b"\0")[2])
    assert damaged.value.diagnostics[0].code == "object-damaged"


@pytest.mark.parametrize("line", ["x\n", f"parent {'0' * 40}\n", "parent"], ids=["message", "parents", "no line"])
def test_a_large_commit_takes_no_memory_of_the_agent(line: str) -> None:
    """Whoever can push chooses how large it is and what it holds, before anybody has judged it."""
    many = line * (3_000_000 // len(line))
    text = many if line.startswith("parent ") else f"parent {FLOOR}\nauthor a <a> 0 +0000\n\n{many}"
    data = f"tree {TREE}\n{text}parent {FLOOR}\n\nm".encode()
    made = b"commit %d\0" % len(data) + data
    commit = hashlib.sha1(made).hexdigest()
    tracemalloc.start()
    try:
        require_descent(commit, FLOOR, made)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_commits_of_git_prove_it_across_merges(tmp_path: Path) -> None:
    """The way is found where the accepted commit came in by the second parent of a merge."""
    repository = GitRepository(tmp_path)
    root = repository.commit({"a": "1"})
    git = repository.git
    git("checkout", "-q", "-b", "side")
    side = repository.commit({"b": "1"})
    git("checkout", "-q", "main")
    main = repository.commit({"c": "1"})
    git("merge", "-q", "--no-ff", "-m", "merge\n\nparent " + "0" * 40, "side")
    repository.commit({"d": "1"})
    head = repository.head
    reader = ObjectReader(tmp_path, advice="")
    for ancestor, commits in ((side, 2), (main, 2), (root, 3), (head, 0)):
        proof = prove_descent(head, ancestor, reader.read)
        require_descent(head, ancestor, proof)
        assert proof.count(b"\0tree ") == commits
    with pytest.raises(MalformedError):
        require_descent(head, "1" * 40, prove_descent(head, root, reader.read))
    assert list(parents(b"commit 0\0")) == []
