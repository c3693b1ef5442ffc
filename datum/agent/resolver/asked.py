"""Revisions as a process without powers reads them: objects, trees and manifests, each asked for by `asking`.

Bytes of a file are compared with the id that they were asked by, so that no other file can stand in for one.
"""

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from attrs import define, evolve, field, frozen

from datum.agent.resolver import decode, strict
from datum.agent.resolver.asking import Conversation, poured
from datum.agent.resolver.contents import OBJECT_ID
from datum.agent.resolver.descent import PROOF_LIMIT, require_descent
from datum.agent.resolver.nodes import node_from
from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError
from datum.fleet.nodes import SIZE_LIMIT, Node
from datum.model.content import blob_id
from datum.model.fleet import FleetHeader, agent_fits
from datum.model.identity import HostName, ResourceId
from datum.model.json import compact_json
from datum.model.manifest import EffectiveManifest
from datum.model.observation import Machine
from datum.model.provenance import FieldOrigin
from datum.model.revision import CommitInfo, Revision
from datum.model.source import EntryKind, SourceTree, TreeEntry
from datum.provider.contract import AnyProvider
from datum.repository.blob import blob_stream
from datum.repository.limits import OBJECT_LIMIT, WHOLE_LIMIT

_KINDS: Final = frozenset({"commit", "tree", "blob", "tag"})
# Bytes of what is decoded, which takes up to some thirty times as much memory. 10,000 files take 3 MB, and their
# origins 4 MB more, with 391 bytes at most for one; a folder of 100,000 names, which is the most, takes 8 MB.
_MANIFEST_LIMIT: Final = 32 << 20
# Twice what one YAML file may hold, which may be one text; and for all resources of a manifest together.
_ORIGINS_LIMIT: Final = 2 * SIZE_LIMIT
_ALL_ORIGINS_LIMIT: Final = 32 << 20
# Seconds of waiting for a large file, and bytes for which there is another one: git gives tens of MiB in a second.
_POUR_SECONDS: Final = 120.0
_POUR_RATE: Final = 1 << 20
_NOTHING: Final[Mapping[str, TreeEntry]] = MappingProxyType({})


def _none(value: Any, _body: bytes) -> None:
    if value is not None:
        raise strict.MalformedError("nothing was asked for")


def _truth(value: Any, _body: bytes) -> bool:
    if not isinstance(value, bool):
        raise strict.MalformedError("it is neither true nor false")
    return value


def _body(value: Any, body: bytes) -> bytes:
    _none(value, body)
    return body


@define
class AskedObjects:
    """`Objects`, read by the process."""

    conversation: Conversation
    path: Path
    # Makes a repository readable for the process.
    share: Callable[[Path], None]
    # The group that it shows it to.
    readers: int | None = None
    _is_open: bool = False

    def use(self, path: Path) -> None:
        """Read from another repository from now on, or from this one as it is now; trees stay readable."""
        self.path = path
        self._is_open = False

    def close(self) -> None:
        """Give up open files; the next read opens them again."""
        if self._is_open:
            self._is_open = False
            self.conversation.ask("close", _none)

    def kind(self, object_id: str) -> str | None:
        """Return what an object is; None if there is no such object."""

        def read(value: Any, _body: bytes) -> str | None:
            found = strict.maybe(value, strict.text)
            if found is not None and found not in _KINDS:
                raise strict.MalformedError("there is no such kind of object")
            return found

        return self._open().ask("kind", read, object=object_id)

    def require_commit(self, commit: str) -> None:
        """Make sure that a commit is there, and that it is one."""
        self._open().ask("require_commit", _none, commit=commit)

    def is_complete(self, commit: str) -> bool:
        """Whether every folder and file of a commit is there. The bytes of files are not read."""
        return self._open().ask("is_complete", _truth, commit=commit)

    def is_descendant(self, commit: str, ancestor: str) -> bool:
        """Whether a commit is another one, or has it in its history; a yes is proved, a no only refuses."""

        def read(value: Any, body: bytes) -> bool:
            if _truth(value, b""):
                require_descent(commit, ancestor, body)
            elif body:
                raise strict.MalformedError("what is not so has a proof")
            return value is True

        return self._open().ask("is_descendant", read, most=PROOF_LIMIT, commit=commit, ancestor=ancestor)

    def lineage(self, commit: str, oldest: str, limit: int) -> tuple[str, ...]:
        """Return a commit and its first parents down to `oldest`, newest first; at most `limit`."""

        def read(value: Any, _body: bytes) -> tuple[str, ...]:
            found = tuple(strict.matching(one, OBJECT_ID) for one in strict.row_of(value, 1, limit))
            if found[0] != commit:
                raise strict.MalformedError("a history begins elsewhere")
            return found

        return self._open().ask("lineage", read, commit=commit, oldest=oldest, limit=limit)

    def describe(self, commit: str) -> CommitInfo:
        """Return what a commit says of itself."""

        def read(value: Any, _body: bytes) -> CommitInfo:
            return CommitInfo(*map(strict.text, strict.row_of(value, 4)))

        return self._open().ask("describe", read, commit=commit)

    def resolve(self, text: str) -> Revision:
        """Return the commit that a person means."""

        def read(value: Any, _body: bytes) -> Revision:
            key, ref = strict.row_of(value, 2)
            try:
                return evolve(Revision.parse(strict.text(key)), ref=strict.maybe(ref, strict.text))
            except ValueError as error:
                raise strict.MalformedError("it is no revision") from error

        return self._open().ask("resolve", read, text=text)

    def tree(self, revision: Revision) -> "AskedTree":
        """Return the files of a revision; a missing or damaged object may also show later, when it is read."""
        self._open().ask("tree", _none, revision=str(revision))
        return AskedTree(revision, self._open)

    def _open(self) -> Conversation:
        """Let the process read the repository as it is now, if it does not yet."""
        if not self._is_open:
            self.share(self.path)
            self.conversation.ask("use", _none, path=os.fsdecode(self.path))
            self._is_open = True
        return self.conversation


@frozen
class AskedTree:
    """The tree of one revision, read by the process."""

    revision: Revision
    _conversation: Callable[[], Conversation] = field(repr=False)

    def ask(
        self, what: str, read: Callable[[Any, bytes], Any], *, most: int = 0, body: bytes = b"", **about: Any
    ) -> Any:
        """Ask about this revision."""
        return self._conversation().ask(what, read, most=most, body=body, revision=str(self.revision), **about)

    def entry(self, path: str) -> TreeEntry | None:
        """Return what stands at the path, None if nothing does; the root is asked for by nobody."""
        folder, _, name = path.rpartition("/")
        return self.entries(folder).get(name)

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Return the names of a folder; empty if there is no such folder."""

        def read(value: Any, _body: bytes) -> Mapping[str, TreeEntry]:
            return strict.mapping(value, _entry) if value else _NOTHING

        found: Mapping[str, TreeEntry] = self.ask("entries", read, folder=folder)
        return found

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        found: bytes = self.ask("read", _body, most=OBJECT_LIMIT, path=path)
        return found

    def open_blob(self, blob: str) -> BinaryIO:
        """Return a stream over the bytes of an object that this tree names. A large one is not held in memory.

        The end of the stream is reached only where the bytes are those of the object: else reading it raises.
        """

        def read(value: Any, body: bytes) -> tuple[int, bytes]:
            size = strict.number(value)
            if size <= WHOLE_LIMIT and blob_id(body, "sha1" if len(blob) == 40 else "sha256") != blob:  # noqa: PLR2004
                raise strict.MalformedError("a file has other bytes than its id says")
            return size, body

        size, body = self.ask("blob", read, most=WHOLE_LIMIT, blob=blob)
        if size <= WHOLE_LIMIT:
            return io.BytesIO(body)
        stream = poured(self._conversation(), _POUR_SECONDS, _POUR_RATE, revision=str(self.revision), blob=blob)
        return blob_stream(stream, blob, size, lambda words: _damaged(blob, words))


def _entry(value: Any) -> TreeEntry:
    kind, blob = strict.row_of(value, 2)
    return TreeEntry(strict.one_of(kind, EntryKind), strict.matching(blob, OBJECT_ID))


def _damaged(blob: str, words: str) -> RepositoryError:
    return RepositoryError(
        Diagnostic(
            code="object-damaged",
            summary="A git object cannot be read.",
            detail=f"Object {blob}: {words}.",
            hint="The next pass that reaches the remote fetches the revision anew.",
        )
    )


@frozen
class AskedManifests:
    """`Manifests`, read by the process."""

    providers: Mapping[str, AnyProvider]
    conversation: Conversation
    share: Callable[[Path], None]
    # The group that `share` shows a repository to.
    readers: int | None = None

    def objects(self, path: Path) -> AskedObjects:
        """Return what reads the objects of a repository, or of one that is made later."""
        return AskedObjects(self.conversation, path, self.share, self.readers)

    def yaml(self, data: bytes, path: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
        """Return what a YAML file of this host says, and what is wrong with it."""

        def read(value: Any, _body: bytes) -> tuple[Node | None, tuple[Diagnostic, ...]]:
            node, findings = strict.row_of(value, 2)
            return strict.maybe(node, node_from), decode.diagnostics_from(findings)

        return self.conversation.ask("yaml", read, body=data, path=path)

    def load(self, providers: Sequence[AnyProvider]) -> None:
        """Load what later answers may need, here and in the process."""
        from datum.agent.preload import load_rest

        self.conversation.ask("load", _none, types=[one.type_name for one in providers])
        load_rest(providers, reads_revisions=False)

    def header(self, tree: SourceTree) -> FleetHeader:
        """Return which fleet a revision is of, and who may read it.

        Raises:
            FleetError: that part of fleet.yaml is wrong.
        """

        def read(value: Any, _body: bytes) -> FleetHeader:
            number, fleet, agent = strict.row_of(value, 3)
            found = FleetHeader(strict.number(number), strict.matching(fleet, decode.UUID), strict.text(agent))
            try:
                agent_fits(found.agent, "0")
            except ValueError as error:
                raise strict.MalformedError("it is no range of versions") from error
            return found

        header: FleetHeader = self._own(tree).ask("header", read)
        return header

    def manifest(self, tree: SourceTree, host: HostName) -> EffectiveManifest:
        """Return what a revision declares for a host.

        Raises:
            HostNotInFleetError: nothing.
            FleetError: with everything that is wrong for this host.
        """
        asked = self._own(tree)
        left = _ALL_ORIGINS_LIMIT

        def origins_in(_head: Any, body: bytes) -> Mapping[str, FieldOrigin]:
            nonlocal left
            left -= len(body)
            return decode.origins_from(body)

        def origins(resource: ResourceId) -> Mapping[str, FieldOrigin]:
            most = max(1, min(_ORIGINS_LIMIT, left))
            found: Mapping[str, FieldOrigin] = asked.ask(
                "origins", origins_in, most=most, host=host.value, resource=str(resource)
            )
            return found

        def read(_head: Any, body: bytes) -> EffectiveManifest:
            return decode.manifest_from(body, tree.revision, host, self.providers, origins)

        manifest: EffectiveManifest = asked.ask("manifest", read, most=_MANIFEST_LIMIT, host=host.value)
        return manifest

    def concrete(
        self, manifest: EffectiveManifest, tree: SourceTree, machine: Machine
    ) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
        """Return a manifest with its late values replaced, and where that was not possible."""
        late = decode.late_resources(manifest)

        def read(_head: Any, body: bytes) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
            return decode.concrete_from(body, manifest, self.providers, late)

        values = compact_json(machine.values).encode()
        found: tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]] = self._own(tree).ask(
            "concrete", read, most=_MANIFEST_LIMIT, body=values, host=manifest.host.value
        )
        return found

    def _own(self, tree: SourceTree) -> AskedTree:
        assert isinstance(tree, AskedTree)  # noqa: S101  # it came from `objects`
        return tree
