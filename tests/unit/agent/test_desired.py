"""From a revision's tree to what is wanted on this host."""

import pytest

from datum.agent.desired import Resolver, Wanted, has_late
from datum.agent.ports import agent_version
from datum.diagnostics import Diagnostic
from datum.errors import FleetError, RepositoryError
from datum.model.content import Content
from datum.model.identity import HostName
from datum.model.manifest import Late
from datum.model.observation import Cause, Machine
from datum.model.pointer import TrailEntry
from datum.planner.inputs import Declaration, Unresolved
from datum.testing.trees import MemoryTree
from datum_providers.file.provider import FileProvider
from tests.unit.fakes import declare, manifest, rid

HEAD = "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n"
WEB1 = HostName("web1")


def tree_of(text: str) -> MemoryTree:
    return MemoryTree({"fleet.yaml": HEAD, "hosts/web1.yaml": text})


def resolve(text: str, machine: Machine | None = None) -> tuple[Wanted, int]:
    """Return what is wanted, and how often the machine was read."""
    read: list[Machine] = []

    def look() -> Machine:
        read.append(machine or Machine())
        return read[-1]

    resolver = Resolver({"file": FileProvider()}, agent_version(), look)
    return resolver.resolve(tree_of(text), WEB1), len(read)


def test_machine_is_read_only_where_it_is_asked_for() -> None:
    """By a late value or by `expect`."""
    wanted, read = resolve('resources: {"file:/etc/a": {content: "a"}}\n')
    assert (read, wanted.machine, has_late(wanted.manifest)) == (0, Machine(), False)
    wanted, read = resolve("expect: {os: debian-12}\n", Machine({"os": "debian-12"}))
    assert (read, wanted.machine.values["os"]) == (1, "debian-12")


def test_late_values_are_computed_for_the_graph_alone() -> None:
    """The manifest keeps them as they are written."""
    wanted, read = resolve(
        'resources: {"file:/etc/a": {content: "${machine.arch}"}}\n', Machine({"arch": "amd64", "os": "debian-12"})
    )
    assert (read, has_late(wanted.manifest), wanted.known) == (1, True, {})
    node = wanted.graph.nodes[rid("file:/etc/a")]
    content = node.resource.attributes["content"]
    assert content in {"amd64", Content.from_bytes(b"amd64")}


def test_a_late_part_makes_the_machine_be_read() -> None:
    made = manifest(declare("file:/etc/a", parts=(Content.from_bytes(b"a"), Late("${machine.arch}"))))
    assert has_late(made)
    assert not has_late(manifest(declare("file:/etc/a", parts=(Content.from_bytes(b"a"), "x"))))


def test_late_value_that_this_machine_cannot_give_is_known() -> None:
    """The resource is unobservable; the others are not."""
    text = 'resources: {"file:/etc/a": {content: "${machine.addresses.eth9}"}, "file:/etc/b": {content: "b"}}\n'
    wanted, _ = resolve(text, Machine({"addresses": {}}))
    assert list(wanted.known) == [rid("file:/etc/a")]
    found = wanted.known[rid("file:/etc/a")]
    assert found.cause is Cause.LATE_VALUE
    assert found.detail


def test_what_is_wrong_with_the_target_ends_the_pass() -> None:
    """With every diagnostic."""
    with pytest.raises(FleetError):
        resolve("resources: {nothing:x: {}}\n")


def test_older_revision_is_resolved_under_the_name_the_host_had() -> None:
    """Nodes and their order."""
    resolver = Resolver({"file": FileProvider()}, agent_version(), Machine)
    tree = MemoryTree({"fleet.yaml": HEAD, "hosts/old1.yaml": 'resources: {"file:/etc/a": {content: "a"}}\n'})
    entry = TrailEntry(tree.revision, HostName("old1"))
    found = resolver.resolve_older(lambda: tree, entry)
    assert isinstance(found, Declaration)
    assert (found.revision, found.order) == (tree.revision, (rid("file:/etc/a"),))


def test_older_revision_that_cannot_be_resolved_is_said() -> None:
    """Whether its content or its object is at fault: the pass goes on, and removes nothing on its account."""
    resolver = Resolver({"file": FileProvider()}, agent_version(), Machine)
    tree = tree_of("resources: {nothing:x: {}}\n")
    entry = TrailEntry(tree.revision, WEB1)
    found = resolver.resolve_older(lambda: tree, entry)
    assert isinstance(found, Unresolved)
    assert found.detail.startswith("'nothing' is no resource type;")

    several = tree_of("resources: {nothing:x: {}, other:x: {}, other:y: {}}\n")
    lost = resolver.resolve_older(lambda: several, entry)
    assert isinstance(lost, Unresolved)
    assert lost.detail.endswith(" (1 more)")

    def missing() -> MemoryTree:
        raise RepositoryError(Diagnostic(code="object-missing", summary="An object is missing."))

    assert resolver.resolve_older(missing, entry) == Unresolved(tree.revision, "An object is missing.")
