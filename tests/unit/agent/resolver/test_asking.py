"""A process that dies, hangs, answers rubbish, too much or something else: each is told for what it is, and once."""

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datum.agent.resolver.asked import AskedManifests, AskedTree
from datum.agent.resolver.asking import Conversation
from datum.agent.resolver.encode import diagnostics_to_json
from datum.agent.resolver.frames import receive_question
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, ExitCode, FleetError, HostNotInFleetError, InternalError, RepositoryError
from datum.host.powerless import Powerless
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.registry.discover import find_providers
from tests.unit.agent.resolver.children import answering, child_of
from tests.unit.agent.resolver.test_codec import MANIFEST, changed, put

COMMIT = "0" * 40
WEB1 = HostName("web1")
PROVIDERS = find_providers()


@pytest.fixture
def talk() -> Iterator[Callable[[Powerless], Conversation]]:
    """Give conversations that end with the test."""
    opened: list[Conversation] = []

    def talking(child: Powerless) -> Conversation:
        opened.append(Conversation(child, seconds=20))
        return opened[-1]

    yield talking
    for each in opened:
        each.close()


Talk = Callable[[Powerless], Conversation]


def nothing(_head: Any, _body: bytes) -> None:
    return None


def after_a_question(then: Callable[[socket.socket], object]) -> Powerless:
    """Return a child that takes one question and then does something else than to answer."""

    def serve(end: socket.socket) -> None:
        receive_question(end)
        then(end)
        # Whoever asked is to end the conversation.
        end.recv(1)

    return child_of(serve)


def failure_of(conversation: Conversation) -> DatumError:
    with pytest.raises(DatumError) as caught:
        conversation.ask("kind", nothing, object=COMMIT)
    return caught.value


def _kill(number: int) -> Callable[[socket.socket], None]:
    return lambda _: os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("then", "code", "exit_code"),
    [
        (lambda _: os._exit(0), "resolver-ended", ExitCode.SOFTWARE),
        (lambda _: os._exit(3), "resolver-ended", ExitCode.SOFTWARE),
        (_kill(signal.SIGUSR1), "resolver-ended", ExitCode.SOFTWARE),
        (_kill(signal.SIGKILL), "resolver-killed", ExitCode.DATAERR),
        (lambda end: end.sendall(b"\0\0"), "resolver-silent", ExitCode.DATAERR),
        (lambda end: end.sendall(b"rubbish, and more of it"), "resolver-not-understood", ExitCode.SOFTWARE),
        (lambda end: end.sendall(struct.pack(">II", 2, 0) + b"[]"), "resolver-not-understood", ExitCode.SOFTWARE),
        (lambda end: end.sendall(struct.pack(">II", 2, 0) + b"{}"), "resolver-not-understood", ExitCode.SOFTWARE),
        (lambda end: end.sendall(struct.pack(">II", 2, 1) + b"{}x"), "resolver-not-understood", ExitCode.SOFTWARE),
        (lambda end: end.sendall(struct.pack(">II", 1 << 31, 0)), "resolver-not-understood", ExitCode.SOFTWARE),
    ],
    ids=["ends", "fails", "crashes", "is killed", "stops", "text", "list", "no number", "a body", "too long"],
)
def test_what_is_no_answer_is_told_for_what_it_is(
    talk: Talk, then: Callable[[socket.socket], object], code: str, exit_code: ExitCode
) -> None:
    conversation = talk(after_a_question(then))
    if code == "resolver-silent":
        conversation.seconds = 0.3
    error = failure_of(conversation)
    assert (error.diagnostics[0].code, error.exit_code) == (code, exit_code)


def test_every_later_question_fails_for_the_same_reason(talk: Talk) -> None:
    conversation = talk(after_a_question(lambda _: os._exit(3)))
    first = failure_of(conversation)
    assert failure_of(conversation) is first


def test_what_may_have_read_a_revision_reads_no_file_of_this_host(talk: Talk) -> None:
    """A revision that took it over could choose what agent.yaml says; the conversation goes on."""
    conversation = talk(answering(lambda _: ({"is": None}, b"")))
    conversation.ask("yaml", nothing)
    conversation.ask("use", nothing)
    with pytest.raises(InternalError) as caught:
        conversation.ask("yaml", nothing)
    assert "has read a revision" in caught.value.diagnostics[0].detail
    assert conversation.failure is None


def test_who_does_not_answer_is_killed(talk: Talk) -> None:
    """Also one that is stopped, or holds off every other signal."""
    child = after_a_question(_kill(signal.SIGSTOP))
    conversation = talk(child)
    conversation.seconds = 0.3
    failure_of(conversation)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ({"number": 7, "is": None}, "resolver-not-understood"),
        ({"number": True, "is": None}, "resolver-not-understood"),
        ({"failed": "SystemExit", "diagnostics": []}, "resolver-not-understood"),
        ({"failed": "FleetError", "diagnostics": []}, "resolver-not-understood"),
        ({"failed": "FleetError", "diagnostics": [{"code": "x"}]}, "resolver-not-understood"),
        ({"failed": ["FleetError"]}, "resolver-not-understood"),
        ({"failed": "bug", "words": "KeyError: 'x'"}, "resolver-bug"),
        ({"failed": "memory"}, "resolver-out-of-memory"),
        ({}, "resolver-not-understood"),
    ],
    ids=["number", "true", "error", "no words", "no diagnostic", "list", "bug", "memory", "nothing"],
)
def test_an_answer_that_cannot_be_ends_the_conversation(talk: Talk, head: dict[str, Any], code: str) -> None:
    conversation = talk(answering(lambda _: (head, b"")))
    assert failure_of(conversation).diagnostics[0].code == code
    assert conversation.failure is not None


@pytest.mark.parametrize("kind", [FleetError, HostNotInFleetError, RepositoryError])
def test_what_is_wrong_with_the_revision_is_raised_as_it_was(talk: Talk, kind: type[DatumError]) -> None:
    """And the conversation goes on."""
    found = Diagnostic(code="bad-value", summary="s", detail="d")
    said = {"failed": kind.__name__, "diagnostics": diagnostics_to_json([found])}
    conversation = talk(answering(lambda question: (said if question["number"] == 1 else {"is": "blob"}, b"")))
    error = failure_of(conversation)
    assert (type(error), error.diagnostics) == (kind, (found,))
    assert conversation.ask("kind", lambda head, _: head, object=COMMIT) == "blob"


def manifests(conversation: Conversation) -> tuple[AskedManifests, AskedTree]:
    asked = AskedManifests(PROVIDERS, conversation, lambda _: None)
    return asked, asked.objects(Path("/nowhere")).tree(Revision(COMMIT, ref="main"))


def with_manifest(body: bytes) -> Powerless:
    return answering(lambda question: ({"is": None}, body if question["ask"] == "manifest" else b""))


def test_a_manifest_of_another_revision_is_refused(talk: Talk) -> None:
    asked, tree = manifests(talk(with_manifest(changed(put("revision", to=f"sha1:{'1' * 40}")))))
    with pytest.raises(InternalError) as caught:
        asked.manifest(tree, WEB1)
    assert caught.value.diagnostics[0].code == "resolver-not-understood"
    assert "another revision" in caught.value.diagnostics[0].detail


def test_a_manifest_that_is_right_is_taken(talk: Talk) -> None:
    asked, tree = manifests(talk(with_manifest(changed(lambda _: None))))
    assert asked.manifest(tree, WEB1) == MANIFEST


def test_bytes_of_another_file_are_refused(talk: Talk) -> None:
    """So what a manifest names by its id is what is written."""
    _, tree = manifests(talk(answering(lambda question: ({"is": 5 if question["ask"] == "blob" else None}, b""))))
    with pytest.raises(InternalError) as caught:
        tree.open_blob("1" * 40)
    assert "other bytes" in caught.value.diagnostics[0].detail


def test_a_large_file_that_is_cut_short_or_another_is_damaged(talk: Talk) -> None:
    """What is poured is compared with its id, too."""

    def serve(end: socket.socket) -> None:
        while True:
            question, _, descriptor = receive_question(end)
            if descriptor is not None:
                os.write(descriptor, b"short")
                os.close(descriptor)
            size = (9 << 20) if question["ask"] == "blob" else "null"
            head = b'{"number": %d, "is": %s}' % (question["number"], str(size).encode())
            end.sendall(struct.pack(">II", len(head), 0) + head)

    _, tree = manifests(talk(child_of(serve)))
    with tree.open_blob("1" * 40) as stream, pytest.raises(RepositoryError):
        stream.read()


@pytest.mark.parametrize("said", [-1, 1.5, None, "9", True])
def test_a_size_that_is_none_is_refused(talk: Talk, said: object) -> None:
    _, tree = manifests(talk(answering(lambda question: ({"is": said if question["ask"] == "blob" else None}, b""))))
    with pytest.raises(InternalError):
        tree.open_blob("1" * 40)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda objects: objects.kind(COMMIT), "stash"),
        (lambda objects: objects.kind(COMMIT), {}),
        (lambda objects: objects.is_descendant(COMMIT, COMMIT), 1),
        (lambda objects: objects.is_complete(COMMIT), "yes"),
        (lambda objects: objects.lineage(COMMIT, COMMIT, 3), []),
        (lambda objects: objects.lineage(COMMIT, COMMIT, 3), ["1" * 40]),
        (lambda objects: objects.lineage(COMMIT, COMMIT, 1), [COMMIT, COMMIT]),
        (lambda objects: objects.lineage(COMMIT, COMMIT, 3), [COMMIT, "--upload-pack"]),
        (lambda objects: objects.describe(COMMIT), ["a", "b", "c"]),
        (lambda objects: objects.resolve("main"), ["sha1:zz", None]),
        (lambda objects: objects.resolve("main"), [f"sha1:{COMMIT}", 1]),
        (lambda objects: objects.require_commit(COMMIT), "no"),
        (lambda objects: objects.tree(Revision(COMMIT)).entries(""), {"a": ["door", COMMIT]}),
        (lambda objects: objects.tree(Revision(COMMIT)).entries(""), {"a": ["file", "x"]}),
    ],
    ids=[
        *("kind", "kind is a map", "descendant", "complete", "no history", "another history", "too long a history"),
        *("no commit", "short commit", "revision", "ref", "commit", "entry", "entry's id"),
    ],
)
def test_answers_about_objects_are_looked_at(talk: Talk, ask: Callable[[Any], object], said: object) -> None:
    silent = {"use", "tree"}
    child = answering(lambda question: ({"is": None if question["ask"] in silent else said}, b""))
    asked = AskedManifests(PROVIDERS, talk(child), lambda _: None)
    with pytest.raises(InternalError) as caught:
        ask(asked.objects(Path("/nowhere")))
    assert caught.value.diagnostics[0].code == "resolver-not-understood"


@pytest.mark.parametrize("said", [None, [1, "not a uuid", ""], [1, "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", "newest"]])
def test_a_header_that_is_none_is_refused(talk: Talk, said: object) -> None:
    child = answering(lambda question: ({"is": said if question["ask"] == "header" else None}, b""))
    asked, tree = manifests(talk(child))
    with pytest.raises(InternalError):
        asked.header(tree)


def test_a_fork_of_the_agent_does_not_ask(talk: Talk) -> None:
    """It would read what was answered to the agent."""
    child = answering(lambda _: ({"is": None}, b""))
    child.owner = child.owner + 1
    assert failure_of(talk(child)).diagnostics[0].code == "internal-error"


def test_a_length_that_is_a_lie_holds_no_memory(talk: Talk) -> None:
    """What is held grows with what comes."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    conversation = talk(after_a_question(lambda end: end.sendall(struct.pack(">II", 2, 400 << 20) + b"{}")))
    conversation.seconds = 0.3
    with pytest.raises(FleetError):
        conversation.ask("manifest", nothing, most=512 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def announcing(head: int, body: int) -> Powerless:
    """Return a child that says how long its answer is, and is silent then."""
    return after_a_question(lambda end: end.sendall(struct.pack(">II", head, body)))


@pytest.mark.parametrize(
    ("head", "body", "code"),
    [
        ((16 << 20) + 1, 0, "resolver-not-understood"),
        (4097, 1, "resolver-not-understood"),
        (4096, (32 << 20) + 1, "resolver-answer-too-large"),
        (4096, 32 << 20, "resolver-silent"),
        (16 << 20, 0, "resolver-silent"),
    ],
)
def test_a_manifest_has_a_bound_that_is_told_as_such(talk: Talk, head: int, body: int, code: str) -> None:
    """Before anything of it is held; what is within the bounds is awaited."""
    conversation = talk(announcing(head, body))
    conversation.seconds = 0.3
    asked = AskedManifests(PROVIDERS, conversation, lambda _: None)
    tree = AskedTree(Revision(COMMIT, ref="main"), lambda: conversation)
    with pytest.raises(DatumError) as caught:
        asked.manifest(tree, WEB1)
    assert caught.value.diagnostics[0].code == code
    if code == "resolver-answer-too-large":
        assert caught.value.exit_code == ExitCode.DATAERR


def test_ten_thousand_resources_are_within_the_bound(talk: Talk) -> None:
    """Of a kilobyte each, three times what files with owner, group, mode and a requirement take."""
    row = changed(lambda said: said.update(resources=[]))
    resources = [[f"file:/{number:05}", [0, 1, 1], {"mode": "x" * 1000}, {}] for number in range(10_000)]
    body = changed(lambda said: said.update(resources=resources))
    assert len(body) - len(row) > 10_000_000
    asked, tree = manifests(talk(with_manifest(body)))
    assert len(asked.manifest(tree, WEB1).resources) == 10_000


def with_origins(size: int) -> Powerless:
    """Return a child whose resources were all said in so many bytes."""
    bodies = {"manifest": changed(lambda _: None), "origins": b"{}" + b" " * (size - 2)}
    return answering(lambda question: ({"is": None}, bodies.get(question["ask"], b"")))


def test_origins_have_a_bound_for_each_resource(talk: Talk) -> None:
    for size, is_taken in ((8 << 20, True), ((8 << 20) + 1, False)):
        asked, tree = manifests(talk(with_origins(size)))
        origins = asked.manifest(tree, WEB1).resources[0].origins
        if is_taken:
            assert dict(origins) == {}
            continue
        with pytest.raises(FleetError) as caught:
            dict(origins)
        assert caught.value.diagnostics[0].code == "resolver-answer-too-large"


def test_origins_have_a_bound_for_all_resources_together(talk: Talk) -> None:
    asked, tree = manifests(talk(with_origins(1 << 20)))
    manifest = asked.manifest(tree, WEB1)
    ask = manifest.resources[0].origins._ask  # type: ignore[attr-defined]  # a sample has few resources, and each asks once
    for _ in range(32):
        ask(manifest.resources[0].id)
    with pytest.raises(FleetError) as caught:
        ask(manifest.resources[0].id)
    assert caught.value.diagnostics[0].code == "resolver-answer-too-large"


def test_a_drip_does_not_outlast_the_deadline(talk: Talk) -> None:
    """Each byte comes in time, and the whole answer does not."""

    def drip(end: socket.socket) -> None:
        end.sendall(struct.pack(">II", 1000, 0))
        while True:
            end.sendall(b" ")
            threading.Event().wait(0.05)

    conversation = talk(after_a_question(drip))
    conversation.seconds = 0.4
    begun = time.monotonic()
    assert failure_of(conversation).diagnostics[0].code == "resolver-silent"
    assert time.monotonic() - begun < 20
