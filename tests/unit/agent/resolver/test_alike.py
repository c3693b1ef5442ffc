"""Whoever reads a revision, the answers are the same: one suite for this process and for a child that is asked."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from datum.agent.resolver.asked import AskedManifests
from datum.agent.resolver.asking import Conversation
from datum.agent.resolver.interface import Manifests
from datum.agent.resolver.own import OwnManifests
from datum.agent.resolver.serving import serve
from datum.errors import DatumError, FleetError, HostNotInFleetError, RepositoryError, RevisionNotFoundError
from datum.fleet.yaml_reader import read_yaml
from datum.host.powerless import Powerless
from datum.model.content import blob_id
from datum.model.fleet import FleetHeader
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.model.revision import Revision
from datum.model.source import EntryKind, SourceTree
from datum.registry.discover import find_providers
from tests.git_repository import GitRepository
from tests.unit.agent.resolver.children import child_of

FLEET_ID = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
HEAD = f"datum: 1\nagent: '>=0.1'\nfleet: {FLEET_ID}\nlayers: []\n"
WEB1 = HostName("web1")
PROVIDERS = find_providers()
LARGE = b"0123456789abcdef" * (1 << 20)
FILES: dict[str, str | bytes] = {
    "fleet.yaml": HEAD,
    "hosts/web1.yaml": """\
resources:
  "file:/etc/a": {source: files/a}
  "file:/etc/b": {content: "${machine.arch}"}
""",
    "hosts/bad.yaml": "resources: {nothing:x: {}, file:/etc/a: {mode: 99}}\n",
    "files/a": "hello\n",
    "files/large": LARGE,
    "files/lfs": "version https://git-lfs.github.com/spec/v1\noid sha256:x\nsize 1\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    made = GitRepository(tmp_path_factory.mktemp("fleet"))
    made.commit({"fleet.yaml": HEAD}, "first")
    made.commit(FILES, "second")
    return made


@pytest.fixture(params=["own", "asked"])
def manifests(request: pytest.FixtureRequest) -> Iterator[Manifests]:
    own = OwnManifests(PROVIDERS, "1.0")
    if request.param == "own":
        yield own
        return
    conversation = Conversation(child_of(partial(serve, own)), seconds=60)
    yield AskedManifests(PROVIDERS, conversation, lambda _: None)
    conversation.close()


@pytest.fixture
def tree(manifests: Manifests, repository: GitRepository) -> SourceTree:
    return manifests.objects(repository.path).tree(Revision(repository.head, ref="main"))


def refused(ask: Callable[[], object], kind: type[DatumError]) -> list[str]:
    with pytest.raises(kind) as caught:
        ask()
    assert type(caught.value) is kind
    return [found.code for found in caught.value.diagnostics]


def test_a_header_is_read(manifests: Manifests, tree: SourceTree) -> None:
    assert manifests.header(tree) == FleetHeader(1, FLEET_ID, ">=0.1")


def test_a_manifest_is_resolved(manifests: Manifests, tree: SourceTree) -> None:
    found = manifests.manifest(tree, WEB1)
    assert found == OwnManifests(PROVIDERS, "1.0").manifest(tree, WEB1) if isinstance(manifests, OwnManifests) else True
    assert [str(one.id) for one in found.resources] == ["file:/etc/a", "file:/etc/b"]
    assert (found.revision.ref, found.host, found.fleet) == ("main", WEB1, FLEET_ID)
    assert isinstance(found.resources[1].attributes["content"], Late)


def test_origins_are_there_when_somebody_looks(manifests: Manifests, tree: SourceTree) -> None:
    origins = manifests.manifest(tree, WEB1).resources[0].origins
    assert (list(origins), len(origins)) == (["source"], 1)
    winner = origins["source"].winner
    assert (winner.layer, str(winner.location), winner.value) == ("host/web1", "hosts/web1.yaml:2:27", "files/a")
    assert origins.get("mode") is None


def test_late_values_are_computed(manifests: Manifests, tree: SourceTree) -> None:
    manifest = manifests.manifest(tree, WEB1)
    concrete, problems = manifests.concrete(manifest, tree, Machine({"arch": "amd64"}))
    assert (concrete.resources[1].attributes["content"], problems) == ("amd64", {})
    assert concrete.resources[0] == manifest.resources[0]


def test_a_late_value_that_the_machine_has_not_is_told(manifests: Manifests, tree: SourceTree) -> None:
    _, problems = manifests.concrete(manifests.manifest(tree, WEB1), tree, Machine())
    assert list(problems) == [ResourceId("file", "/etc/b")]


def test_all_that_is_wrong_is_told_by_place(manifests: Manifests, tree: SourceTree) -> None:
    asked = refused(lambda: manifests.manifest(tree, HostName("bad")), FleetError)
    assert len(asked) > 1
    assert refused(lambda: manifests.manifest(tree, HostName("web2")), HostNotInFleetError) == ["host-not-in-fleet"]


def test_folders_files_and_what_is_none(manifests: Manifests, tree: SourceTree) -> None:
    assert tree.read("files/a") == b"hello\n"
    entry = tree.entry("files/a")
    assert entry is not None
    assert (entry.kind, entry.blob) == (EntryKind.FILE, blob_id(b"hello\n"))
    assert (tree.entry("files/b"), tree.entries("files/a"), tree.entries("nowhere")) == (None, {}, {})
    assert sorted(tree.entries("")) == ["files", "fleet.yaml", "hosts"]
    assert refused(lambda: tree.read("files/lfs"), FleetError) == ["path-is-lfs-pointer"]
    assert refused(lambda: tree.open_blob(blob_id(str(FILES["files/lfs"]).encode())), FleetError)
    assert refused(lambda: tree.open_blob("1" * 40), RepositoryError) == ["object-missing"]


def test_bytes_are_streamed(manifests: Manifests, tree: SourceTree) -> None:
    with tree.open_blob(blob_id(b"hello\n")) as stream:
        assert stream.read() == b"hello\n"


def test_a_large_file_is_streamed_while_other_questions_are_answered(manifests: Manifests, tree: SourceTree) -> None:
    with tree.open_blob(blob_id(LARGE)) as stream:
        assert not isinstance(stream, io.BytesIO)
        first = stream.read(1 << 20)
        assert tree.read("files/a") == b"hello\n"
        assert first + stream.read() == LARGE


def test_a_stream_that_nobody_reads_to_its_end_is_given_up(manifests: Manifests, tree: SourceTree) -> None:
    for _ in range(3):
        with tree.open_blob(blob_id(LARGE)) as stream:
            stream.read(10)
    assert tree.read("files/a") == b"hello\n"


def test_commits_and_their_history(manifests: Manifests, repository: GitRepository) -> None:
    objects = manifests.objects(repository.path)
    head, first = repository.head, repository.git("rev-parse", "HEAD~1")
    assert [objects.kind(each) for each in (head, blob_id(b"hello\n"), "1" * 40)] == ["commit", "blob", None]
    assert (objects.is_descendant(head, first), objects.is_descendant(first, head)) == (True, False)
    assert (objects.lineage(head, first, 10), objects.lineage(head, first, 1)) == ((head, first), (head,))
    assert objects.describe(head).subject == "second"
    assert (objects.resolve("main"), objects.resolve("main").ref) == (Revision(head), "main")
    assert objects.is_complete(head)
    objects.require_commit(head)
    assert refused(lambda: objects.resolve("nothing"), RevisionNotFoundError) == ["revision-missing"]
    assert refused(lambda: objects.require_commit("1" * 40), RepositoryError) == ["object-missing"]
    assert refused(lambda: objects.require_commit(blob_id(b"hello\n")), RevisionNotFoundError)


def test_another_repository_is_read_and_trees_stay_readable(
    manifests: Manifests, repository: GitRepository, tmp_path: Path
) -> None:
    objects = manifests.objects(repository.path)
    old = objects.tree(Revision(repository.head))
    other = GitRepository(tmp_path / "other")
    other.git("fetch", "--quiet", str(repository.path), "main")
    objects.close()
    objects.use(other.path)
    assert objects.kind(repository.head) == "commit"
    assert old.read("files/a") == b"hello\n"


def test_what_is_no_repository_is_told(manifests: Manifests, tmp_path: Path) -> None:
    assert refused(lambda: manifests.objects(tmp_path).kind("1" * 40), RepositoryError) == ["repository-invalid"]


@pytest.mark.parametrize("data", [b"a: [1, 'x']\n", b"a: 1\na: 2\n", b"", b"\xff", b"x: 010\n"])
def test_yaml_of_the_host_is_read(manifests: Manifests, data: bytes) -> None:
    assert manifests.yaml(data, "/etc/datum/agent.yaml") == read_yaml(data, "/etc/datum/agent.yaml")


def test_what_nobody_foresaw_is_a_bug(repository: GitRepository) -> None:
    """The child tells what it was, and the agent ends with exit code 70."""

    class Broken(OwnManifests):
        def header(self, tree: SourceTree) -> FleetHeader:
            raise ZeroDivisionError("by nought")

    conversation = Conversation(child_of(partial(serve, Broken(PROVIDERS, "1.0"))), seconds=60)
    try:
        asked = AskedManifests(PROVIDERS, conversation, lambda _: None)
        tree = asked.objects(repository.path).tree(Revision(repository.head))
        with pytest.raises(DatumError) as caught:
            asked.header(tree)
    finally:
        conversation.close()
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.exit_code) == ("resolver-bug", 70)
    assert "ZeroDivisionError: by nought" in found.detail


def test_the_process_ends_when_it_is_asked_nothing_more() -> None:
    child: Powerless = child_of(partial(serve, OwnManifests(PROVIDERS, "1.0")))
    child.socket.close()
    assert child.wait() == 0
