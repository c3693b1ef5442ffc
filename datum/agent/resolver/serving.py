"""The process that reads revisions: answers the questions of `asking`, one after the other. Runs in a powerless child.

Effects: reads repositories; starts git for what is too large to be held, in a child of its own that nobody waits for.
Nothing it answers is believed on the other side.
"""

import os
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from attrs import define, field

from datum.agent.resolver.descent import prove_descent
from datum.agent.resolver.encode import (
    concrete_to_bytes,
    diagnostics_to_json,
    manifest_to_bytes,
    origins_to_bytes,
)
from datum.agent.resolver.frames import EndedError, read_json, receive_question, send
from datum.agent.resolver.interface import Manifests
from datum.agent.resolver.nodes import node_to_json
from datum.errors import DatumError
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonValue, freeze
from datum.model.manifest import EffectiveManifest, Resource
from datum.model.observation import Machine
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.provider.contract import AnyProvider
from datum.repository.limits import WHOLE_LIMIT
from datum.repository.reading import Objects

_CHUNK: Final = 1 << 18
Answer: TypeAlias = "tuple[JsonValue, bytes]"


class SizedObjects(Objects, Protocol):
    """Objects whose size can be asked before they are read, and whose bytes can be had."""

    def size(self, object_id: str) -> int:
        """Return how many bytes an object has."""
        ...

    def read(self, object_id: str) -> bytes:
        """Return the bytes of an object."""
        ...


class Resolving(Manifests, Protocol):
    """What the server asks in turn."""

    @property
    def providers(self) -> Mapping[str, AnyProvider]:
        """Every type."""
        ...

    def objects(self, path: Path) -> SizedObjects:
        """Return what reads the objects of a repository."""
        ...


def serve(manifests: Resolving, end: socket.socket) -> None:
    """Answer until the other side closes its end."""
    server = Server(manifests)
    while True:
        try:
            question, body, descriptor = receive_question(end)
        except EndedError:
            return
        head, answer = server.answer(question, body, descriptor)
        send(end, {"number": question["number"], **head}, answer)


@define
class Server:
    """What the process holds between two questions."""

    manifests: Resolving
    reader: SizedObjects | None = None
    trees: dict[str, SourceTree] = field(factory=dict)
    resolved: dict[tuple[str, str], EffectiveManifest] = field(factory=dict)
    by_id: dict[tuple[str, str], Mapping[ResourceId, Resource]] = field(factory=dict)

    def answer(
        self, question: Mapping[str, Any], body: bytes, descriptor: int | None
    ) -> tuple[dict[str, JsonValue], bytes]:
        """Return the head and body of an answer; what goes wrong is one, too."""
        try:
            found, data = _QUESTIONS[question["ask"]](self, question, body, descriptor)
        except DatumError as error:
            return {"failed": type(error).__name__, "diagnostics": diagnostics_to_json(error.diagnostics)}, b""
        except MemoryError:
            return {"failed": "memory"}, b""
        except Exception as error:  # noqa: BLE001 - told to the agent, which ends with it
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.name} at {Path(frame.filename).name}:{frame.lineno}"
            return {"failed": "bug", "words": f"{type(error).__name__}: {error} ({place})"}, b""
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return {"is": found}, data

    def objects(self) -> SizedObjects:
        """Return the objects of the repository in use."""
        assert self.reader is not None  # noqa: S101  # the first question says which it is
        return self.reader

    def tree(self, question: Mapping[str, Any]) -> SourceTree:
        """Return the tree of the revision that a question names, once for all of them."""
        name = question["revision"]
        if name not in self.trees:
            self.trees[name] = self.objects().tree(Revision.parse(name))
        return self.trees[name]

    def manifest(self, question: Mapping[str, Any]) -> EffectiveManifest:
        """Return the manifest of the revision and host that a question names, once for all of them."""
        key = (question["revision"], question["host"])
        if key not in self.resolved:
            self.resolved[key] = self.manifests.manifest(self.tree(question), HostName(question["host"]))
        return self.resolved[key]


def _use(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    path = Path(os.fsdecode(question["path"]))
    if server.reader is None:
        server.reader = server.manifests.objects(path)
    else:
        server.reader.use(path)
    return None, b""


def _close(server: Server, *_: object) -> Answer:
    server.objects().close()
    return None, b""


def _kind(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    return server.objects().kind(question["object"]), b""


def _require_commit(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    server.objects().require_commit(question["commit"])
    return None, b""


def _is_complete(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    return server.objects().is_complete(question["commit"]), b""


def _is_descendant(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    """Answer with the proof behind it where it is so."""
    objects, commit, ancestor = server.objects(), question["commit"], question["ancestor"]
    if not objects.is_descendant(commit, ancestor):
        return False, b""
    return True, prove_descent(commit, ancestor, objects.read)


def _lineage(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    return list(server.objects().lineage(question["commit"], question["oldest"], question["limit"])), b""


def _describe(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    found = server.objects().describe(question["commit"])
    return [found.author, found.committer, found.committed_at, found.subject], b""


def _resolve(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    found = server.objects().resolve(question["text"])
    return [found.key, found.ref], b""


def _tree(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    server.tree(question)
    return None, b""


def _entries(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    found = server.tree(question).entries(question["folder"])
    return {name: [entry.kind, entry.blob] for name, entry in found.items()}, b""


def _read(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    return None, server.tree(question).read(question["path"])


def _blob(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    """Answer with the bytes of a file, or with how many there are, where they are many."""
    size = server.objects().size(question["blob"])
    if size > WHOLE_LIMIT:
        return size, b""
    with server.tree(question).open_blob(question["blob"]) as stream:
        return size, stream.read()


def _pour(server: Server, question: Mapping[str, Any], _body: bytes, descriptor: int | None) -> Answer:
    """Have a child write the bytes of a file to the descriptor, so that other questions are answered meanwhile."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    assert descriptor is not None  # noqa: S101  # it comes with the question
    if not os.fork():
        code = 1
        try:
            # What is cut short is seen by the reader, who knows the hash.
            with server.tree(question).open_blob(question["blob"]) as stream, os.fdopen(descriptor, "wb") as target:
                while data := stream.read(_CHUNK):
                    target.write(data)
            code = 0
        finally:
            os._exit(code)
    return None, b""


def _yaml(server: Server, question: Mapping[str, Any], body: bytes, *_: object) -> Answer:
    node, findings = server.manifests.yaml(body, question["path"])
    return [None if node is None else node_to_json(node), diagnostics_to_json(findings)], b""


def _load(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    known = server.manifests.providers
    server.manifests.load([known[name] for name in question["types"] if name in known])
    return None, b""


def _header(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    found = server.manifests.header(server.tree(question))
    return [found.format, found.fleet, found.agent], b""


def _manifest(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    return None, manifest_to_bytes(server.manifest(question))


def _concrete(server: Server, question: Mapping[str, Any], body: bytes, *_: object) -> Answer:
    manifest = server.manifest(question)
    values = freeze(read_json(body))
    assert isinstance(values, Mapping)  # noqa: S101  # of the agent's making
    return None, concrete_to_bytes(
        manifest, *server.manifests.concrete(manifest, server.tree(question), Machine(values))
    )


def _origins(server: Server, question: Mapping[str, Any], *_: object) -> Answer:
    key = (question["revision"], question["host"])
    if key not in server.by_id:
        server.by_id[key] = server.manifest(question).by_id
    return None, origins_to_bytes(server.by_id[key][ResourceId.parse(question["resource"])].origins)


_QUESTIONS: Final[Mapping[str, Callable[..., Answer]]] = {
    "use": _use,
    "close": _close,
    "kind": _kind,
    "require_commit": _require_commit,
    "is_complete": _is_complete,
    "is_descendant": _is_descendant,
    "lineage": _lineage,
    "describe": _describe,
    "resolve": _resolve,
    "tree": _tree,
    "entries": _entries,
    "read": _read,
    "blob": _blob,
    "pour": _pour,
    "yaml": _yaml,
    "load": _load,
    "header": _header,
    "manifest": _manifest,
    "concrete": _concrete,
    "origins": _origins,
}
