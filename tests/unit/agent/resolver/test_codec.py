"""What is encoded comes out equal, all of it; what is not of that form is refused."""

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from datum.agent.resolver.decode import (
    concrete_from,
    diagnostic_from,
    late_resources,
    manifest_from,
    origins_from,
)
from datum.agent.resolver.encode import (
    concrete_to_bytes,
    diagnostic_to_json,
    manifest_to_bytes,
    origins_to_bytes,
)
from datum.agent.resolver.frames import FrameError, read_json
from datum.agent.resolver.nodes import node_from, node_to_json
from datum.agent.resolver.strict import MalformedError
from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.fleet.late import SAMPLE_MACHINE, substitute
from datum.fleet.resolve import list_hosts, resolve_manifest
from datum.fleet.yaml_reader import read_yaml
from datum.model.content import Content, Folder, FolderEntry
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import (
    EffectiveManifest,
    Enforcement,
    Expectation,
    Hazard,
    Late,
    LimitClass,
    Limits,
    OnObservationFailure,
    OnRemoval,
    Resource,
)
from datum.model.provenance import FieldOrigin, Say
from datum.model.revision import Revision
from datum.model.source import EntryKind
from datum.provider.contract import AnyProvider
from datum.registry.discover import find_providers
from datum.repository.worktree import working_tree
from datum.testing.trees import MemoryTree

PROVIDERS = find_providers()
FLEETS = Path(__file__).parents[4] / "fixtures/fleets"
WEB1 = HostName("web1")
REVISION = Revision("0" * 40, ref="main")
A = ResourceId("file", "/etc/a")
B = ResourceId("tree", "/etc/b")
PLACE = SourceLocation("hosts/web1.yaml", 3, 5)
ORIGINS: Mapping[str, FieldOrigin] = {
    "mode": FieldOrigin(Say("base", PLACE, "0644"), (Say("role/web", SourceLocation("x.yaml"), None),))
}
FULL = Resource(
    A,
    {
        "content": Content.from_bytes(b"\xff\0 bytes", source="templates/a"),
        "mode": "0644",
        "parts": (Content("1" * 40, source="files/a"), Late("${machine.cpus}", {"var.x": (1, 2.5)}, is_content=True)),
        "validate": {"command": ("sh", "\udcff", None, True, -7)},
    },
    PLACE,
    requires=(B,),
    after=(B,),
    absent=True,
    on_removal=OnRemoval.KEEP,
    protect=True,
    allow=frozenset({Hazard.OUTAGE}),
    unmanaged=frozenset({"mode"}),
    audit=True,
    moved=ResourceId("file", "/etc/old"),
    note="why",
    origins=ORIGINS,
    references={B: SourceLocation("layers/base.yaml", 1, 2)},
    dropped=(ResourceId("file", "/etc/c"),),
    while_stopped=(ResourceId("service", "x"),),
    stopped_at={ResourceId("service", "x"): PLACE},
)
ENTRIES = (
    FolderEntry("a/b", EntryKind.EXECUTABLE, "2" * 40),
    FolderEntry("link", EntryKind.SYMLINK, "3" * 40, "../up"),
)
TREE = Resource(B, {"source": Folder("4" * 40, "files/b", ENTRIES)}, PLACE)
MANIFEST = EffectiveManifest(
    REVISION,
    WEB1,
    "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11",
    (FULL, TREE),
    f"sha256:{'a' * 64}",
    {"role": ("web", "metrics")},
    {"port": 80, "names": ("a", "b"), "deep": {"x": None}},
    Expectation({"os": "debian-12"}, frozenset({"os"}), PLACE),
    Limits(1, None, 3, {LimitClass.REMOVALS: 40}, Revision("5" * 40), 6, 7),
    Enforcement.HOLD,
    OnObservationFailure.END,
    SourceLocation("fleet.yaml", 9, 1),
)


def decoded(manifest: EffectiveManifest, data: bytes | None = None) -> EffectiveManifest:
    """Return what comes out; the origins are those of the manifest, through their own form."""
    by_id = manifest.by_id
    return manifest_from(
        manifest_to_bytes(manifest) if data is None else data,
        manifest.revision,
        manifest.host,
        PROVIDERS,
        lambda one: origins_from(origins_to_bytes(by_id[one].origins)),
    )


def all_of(value: Any) -> Any:
    """Return a value with everything that takes no part in comparing, in an order that is compared, too."""
    if isinstance(value, Mapping):
        return [[all_of(key), all_of(item)] for key, item in value.items()]
    if attrs.has(type(value)):
        return [type(value), *(all_of(getattr(value, each.name)) for each in attrs.fields(type(value)))]
    if isinstance(value, tuple):
        return tuple(map(all_of, value))
    return value


@pytest.mark.parametrize("kind", [Resource, EffectiveManifest, Limits, Expectation])
def test_the_sample_says_something_in_every_field(kind: type[Any]) -> None:
    """So that a field that is added and not carried is seen by the next test."""
    sample = {Resource: FULL, EffectiveManifest: MANIFEST, Limits: MANIFEST.limits, Expectation: MANIFEST.expect}[kind]
    for each in attrs.fields(kind):
        default = each.default.factory() if isinstance(each.default, attrs.Factory) else each.default  # type: ignore[arg-type]  # attrs' own type
        if not (kind is Limits and each.name == "replaces"):
            assert getattr(sample, each.name) != default, each.name


def test_everything_comes_out_as_it_was() -> None:
    assert all_of(decoded(MANIFEST)) == all_of(MANIFEST)


def test_what_comes_out_cannot_be_changed() -> None:
    resource = decoded(MANIFEST).resources[0]
    assert isinstance(resource.attributes, MappingProxyType)
    assert isinstance(resource.attributes["validate"], MappingProxyType)


@pytest.mark.parametrize("fleet", sorted(each.name for each in FLEETS.iterdir()))
def test_the_example_fleets_come_out_as_they_were(fleet: str) -> None:
    tree = working_tree(FLEETS / fleet)
    for host in list_hosts(tree):
        manifest = resolve_manifest(tree, host, PROVIDERS, agent_version="1.0")
        assert all_of(decoded(manifest)) == all_of(manifest)
        concrete, problems = substitute(manifest, tree, SAMPLE_MACHINE)
        late = late_resources(manifest)
        found = concrete_from(concrete_to_bytes(manifest, concrete, problems), manifest, PROVIDERS, late)
        assert (all_of(found[0]), found[1]) == (all_of(concrete), problems)


def test_a_diagnostic_comes_out_as_it_was() -> None:
    found = Diagnostic(
        location=PLACE,
        code="a-code",
        summary="s",
        detail="d \udcff",
        resource="file:/a",
        hint="h",
        severity=Severity.NOTE,
        related=(("first", PLACE),),
    )
    assert diagnostic_from(json.loads(json.dumps(diagnostic_to_json(found)))) == found


@pytest.mark.parametrize("text", ["a: [1, '2', null, {b: true}]\nc: 1.5\n", "x: 0777\n", "[]\n", "just text\n"])
def test_a_yaml_node_comes_out_as_it_was(text: str) -> None:
    node, _ = read_yaml(text.encode(), "f.yaml")
    assert node is not None
    assert node_from(json.loads(json.dumps(node_to_json(node)))) == node


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a manifest in which a test has changed something."""
    said = json.loads(manifest_to_bytes(MANIFEST))
    change(said)
    return json.dumps(said).encode()


def put(*way: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(said: Any) -> None:
        for step in way[:-1]:
            said = said[step]
        said[way[-1]] = to

    return change


FIRST = ("resources", 0)
SECOND = ("resources", 1)


CHANGES: tuple[Callable[[dict[str, Any]], object], ...] = (
    put("revision", to=f"sha1:{'1' * 40}"),
    put("host", to="web2"),
    put("fleet", to="x"),
    put("digest", to="sha256:x"),
    put("enforcement", to="never"),
    put("enforcement_at", to=["f", -1, 0]),
    put("layers", to=[]),
    put("layers", to={"role": "web"}),
    put("variables", to={"x": 2**53}),
    put("variables", to={"x": 1e999}),
    put("limits", "removals", to=-1),
    put("limits", "removals", to=True),
    put("limits", "allowed", to={"no-class": 1}),
    put("limits", "allowed_from", to="main"),
    put("expect", "location", to=["f", 1]),
    put("more", to=1),
    lambda said: said.pop("digest"),
    lambda said: said["resources"].reverse(),
    lambda said: said["resources"].append(said["resources"][1]),
    put("files", to=[]),
    put("files", to=[1, 2]),
    put(*FIRST, to={}),
    put(*FIRST, 0, to="nothing"),
    put(*FIRST, 0, to="nothing:x"),
    put(*FIRST, 0, to=["file", "x"]),
    put(*FIRST, 0, to="file:"),
    put(*FIRST, 0, to="file:\n"),
    put(*FIRST, 1, to=[99, 1, 1]),
    put(*FIRST, 1, to=[-1, 1, 1]),
    put(*FIRST, 1, to=[True, 1, 1]),
    put(*FIRST, 1, to=[0, 1.0, 1]),
    put(*FIRST, 1, to=[0, 1, -1]),
    put(*FIRST, 2, to=[]),
    put(*FIRST, 2, "no_field", to="x"),
    put(*FIRST, 3, "owner", to=["blob", "1" * 40, "x"]),
    put(*FIRST, 3, "content", to=["blob", "../../x", "x"]),
    put(*FIRST, 3, "content", to=["bytes", "\ud800", "x", "sha1"]),
    put(*FIRST, 2, "owner", to="\ud800"),
    put(*FIRST, 2, "owner", to="\udd00"),
    put(*FIRST, 2, "owner", to=["\udfff"]),
    put(*FIRST, 4, "note", to="a\udbffb"),
    put("layers", to={"\ud800": []}),
    put("variables", to={"a": {"b": ["\ud8ff"]}}),
    put(*FIRST, 3, "content", to=["bytes", "x", "x", "md5"]),
    put(*FIRST, 3, "content", to=[]),
    put(*FIRST, 3, "content", to="blob"),
    put(*FIRST, 3, "parts", to=["parts", ["folder", "4" * 40, "x", []]]),
    put(*FIRST, 4, "absent", to=1),
    put(*FIRST, 4, "requires", to="file:/etc/a"),
    put(*FIRST, 4, "requires", to=["no id"]),
    put(*FIRST, 4, "on_removal", to="maybe"),
    put(*FIRST, 4, "allow", to=["everything"]),
    put(*FIRST, 4, "origins", to={}),
    put(*FIRST, 4, "references", to={"tree:/etc/b": [0, 0]}),
    put(*SECOND, 3, "source", 3, 0, 0, to="../up"),
    put(*SECOND, 3, "source", 3, 0, 0, to="/abs"),
    put(*SECOND, 3, "source", 3, 0, 0, to="z"),
    put(*SECOND, 3, "source", 3, 0, 1, to="folder"),
    put(*SECOND, 3, "source", 3, 0, 3, to="link of a file"),
    put(*SECOND, 3, "source", 3, 1, 3, to=""),
    put(*SECOND, 3, "source", 3, 1, 3, to="a\0b"),
)


@pytest.mark.parametrize("change", CHANGES, ids=map(str, range(len(CHANGES))))
def test_what_is_not_of_the_form_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises((MalformedError, FrameError)):
        decoded(MANIFEST, changed(change))


def test_a_manifest_without_a_change_is_taken() -> None:
    assert decoded(MANIFEST, changed(lambda _: None)) == MANIFEST


@pytest.mark.parametrize("text", ["\U0001f600", "\udc80\udcff", "\\ud800", "caf\xe9"], ids=ascii)
def test_texts_that_can_be_written_are_taken(text: str) -> None:
    """Whole pairs, bytes of names that are no UTF-8, and what only looks like half of a pair."""
    assert read_json(json.dumps({"a": [text]}).encode()) == {"a": [text]}


@pytest.mark.parametrize(
    "data", [b'"\xed\xa0\x80"', '"a"'.encode("utf-16"), '"a"'.encode("utf-32")], ids=["half", "utf-16", "utf-32"]
)
def test_json_is_of_utf_8(data: bytes) -> None:
    with pytest.raises(FrameError):
        read_json(data)


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 200_000, b'{"x": NaN}', b"\xff", b"1" * 5000])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises((FrameError, MalformedError)):
        decoded(MANIFEST, data)


LATE = evolve(MANIFEST, resources=(evolve(FULL, attributes={"content": Late("${machine.arch}")}), TREE))


@pytest.mark.parametrize(
    "said",
    [
        {"resources": [], "problems": []},
        {"resources": [["file:/etc/a", {"content": "x"}, {}], ["tree:/etc/b", {}, {}]], "problems": []},
        {"resources": [["file:/etc/a", {"content": None}, {"content": ["late", "x", {}, "", False]}]], "problems": []},
        {"resources": [["file:/etc/a", {"content": "x"}, {}]], "problems": [["tree:/etc/b", {}]]},
        {"resources": [["file:/etc/a", {"content": "x"}]], "problems": []},
        {"resources": [["file:/etc/a", {"content": "x"}, {}]]},
    ],
    ids=["none", "another", "still late", "problem of another", "cut", "no problems"],
)
def test_values_of_another_resource_or_late_ones_are_refused(said: object) -> None:
    with pytest.raises(MalformedError):
        concrete_from(json.dumps(said).encode(), LATE, PROVIDERS, late_resources(LATE))


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2**60, 1.5, "", "x", "\n", "file:/x", "a" * 40, [], {}, [1], {"a": 1}, [[]]]
)


@given(st.data())
def test_no_change_of_a_part_raises_anything_else(data: st.DataObject) -> None:
    """Whatever stands at whatever place: it is taken, or refused with the two errors that are meant for it."""
    said = json.loads(manifest_to_bytes(MANIFEST))
    way: Any = said
    while isinstance(way, (list, dict)) and way:
        key = data.draw(st.sampled_from(sorted(way) if isinstance(way, dict) else range(len(way))))
        if data.draw(st.booleans()) or not isinstance(way[key], (list, dict)):
            way[key] = data.draw(ODD)
            break
        way = way[key]
    with contextlib.suppress(MalformedError, FrameError):
        decoded(MANIFEST, json.dumps(said).encode())


def test_the_digest_is_of_what_comes_out() -> None:
    """What the agent acts on is what was digested where it was resolved."""
    from datum.fleet.digest import manifest_digest

    tree = MemoryTree(
        {
            "fleet.yaml": "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n",
            "hosts/web1.yaml": 'resources: {"file:/etc/a": {content: "${machine.arch}", mode: "0644"}}\n',
        }
    )
    manifest = resolve_manifest(tree, WEB1, PROVIDERS, agent_version="1")
    assert manifest_digest(decoded(manifest)) == manifest.digest


def test_only_the_types_of_a_manifest_are_loaded() -> None:
    """Loading one costs as much as decoding hundreds of resources."""
    asked: list[str] = []

    class Watched(dict[str, AnyProvider]):
        def __getitem__(self, name: str) -> AnyProvider:
            asked.append(name)
            return super().__getitem__(name)

    manifest_from(manifest_to_bytes(MANIFEST), REVISION, WEB1, Watched(PROVIDERS), lambda _: {})
    assert asked == ["file", "tree"]
