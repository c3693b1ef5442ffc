"""What authors do in any clone, without root and without the host (design 6)."""

from pathlib import Path

import pytest

from datum.agent.authoring import find_fleet, host_name, open_fleet, pick, render, sample_graph, validate, why
from datum.cli.effects import make_ports
from datum.cli.views import validation
from datum.errors import RepositoryError, UsageError
from datum.model.identity import HostName
from datum.testing.trees import MemoryTree
from tests.git_repository import GitRepository
from tests.unit.fakes import rid

HEAD = "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: [base]\n"
HOST_FILE = """resources:
  file:/etc/a.conf: {content: "a\\n", mode: "0600"}
  file:/etc/b: {content: "${machine.arch}\\n", requires: [file:/etc/a.conf]}
  file:/etc/c: {content: "c\\n", after: [file:/etc/b]}
  file:/etc/d: {content: "d\\n"}
"""
TREE = MemoryTree(
    {
        "fleet.yaml": HEAD,
        "hosts/web1.yaml": HOST_FILE,
        "layers/base/default.yaml": 'resources:\n  file:/etc/d: {mode: "0644"}\n',
    }
)
TWO = MemoryTree({**TREE.files, "hosts/db1.yaml": ""})
PORTS = make_ports()


def test_fleet_is_found_around_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As git finds its repository; with `--fleet DIR` there and nowhere else."""
    clone = GitRepository(tmp_path / "clone")
    clone.commit({"fleet.yaml": HEAD, "hosts/web1.yaml": ""})
    monkeypatch.chdir(clone.path / "hosts")
    assert find_fleet(None) == clone.path
    assert find_fleet(str(clone.path)) == clone.path
    with pytest.raises(UsageError) as caught:
        find_fleet(str(clone.path / "hosts"))
    assert caught.value.diagnostics[0].code == "no-fleet-here"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        find_fleet(None)


def test_tree_is_the_working_tree_or_a_revision(tmp_path: Path) -> None:
    """What is not committed is read; `--rev` reads what is."""
    clone = GitRepository(tmp_path / "clone")
    head = clone.commit({"fleet.yaml": HEAD, "hosts/web1.yaml": ""})
    (clone.path / "hosts/new.yaml").write_text("")
    assert "new.yaml" in open_fleet(str(clone.path), None).entries("hosts")
    tree = open_fleet(str(clone.path), "main")
    assert "new.yaml" not in tree.entries("hosts")
    assert tree.revision.commit == head
    with pytest.raises(RepositoryError):
        open_fleet(str(clone.path), "nowhere")


def test_sound_fleet() -> None:
    """Every host, and no finding."""
    found = validate(TREE, PORTS)
    assert (list(found.manifests), found.diagnostics) == ([HostName("web1")], ())


def test_graphs_are_validated_too() -> None:
    """A cycle is found though each resource is sound."""
    text = "resources:\n  file:/etc/a: {requires: [file:/etc/b]}\n  file:/etc/b: {requires: [file:/etc/a]}\n"
    found = validate(MemoryTree({"fleet.yaml": HEAD, "hosts/web1.yaml": text}), PORTS)
    assert "dependency-cycle" in {item.code for item in found.diagnostics}
    assert not found.manifests, "a host whose graph cannot be made is not sound"


def test_what_types_cannot_mean_is_told_beside_other_errors() -> None:
    """Of resources that have none of them; one with an error of its own is told for that alone."""
    text = """resources:
  file:/etc/a: {content: "a", source: files/a}
  file:/etc/b: {source: files/none}
  file:/etc/c: {content: "c", source: files/none}
  file:/etc/d: {content: "${machine.nothing}"}
  file:/etc/e: {content: "${machine.cpus}", source: files/a}
"""
    files = {"fleet.yaml": HEAD, "hosts/web1.yaml": text, "files/a": "a"}
    found = [(item.code, item.resource) for item in validate(MemoryTree(files), PORTS).diagnostics]
    assert ("two-contents", "file:/etc/a") in found
    assert {code for code, name in found if name in {"file:/etc/b", "file:/etc/c"}} == {"source-missing"}


def test_the_only_host_needs_no_name() -> None:
    """Where there are two, both are named."""
    assert host_name("", TREE) == HostName("web1")
    assert host_name("web9", TWO) == HostName("web9")
    with pytest.raises(UsageError) as caught:
        host_name("Web 1", TWO)
    assert caught.value.diagnostics[0].code == "bad-host-name"
    assert "This fleet has db1, web1." in caught.value.diagnostics[0].detail


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ((), "This fleet has no host."),
        (("db1", "web1"), "This fleet has db1, web1."),
        (
            tuple(f"h{number:02}" for number in range(12)),
            "This fleet has h00, h01, h02, h03, h04, h05, h06, h07, h08, h09 and 2 more.",
        ),
    ],
)
def test_one_of_several_hosts_is_asked_for(hosts: tuple[str, ...], words: str) -> None:
    """With those that there are."""
    with pytest.raises(UsageError) as caught:
        host_name("", MemoryTree({"fleet.yaml": HEAD, **{f"hosts/{name}.yaml": "" for name in hosts}}))
    (found,) = caught.value.diagnostics
    assert (found.code, found.summary, found.detail) == ("which-host", "Which host?", words)


def test_graph_is_that_of_the_sample_machine() -> None:
    """Late values need no host."""
    graph = sample_graph(render(TREE, "", PORTS), TREE, PORTS)
    assert [str(origin) for origin in graph.order][:2] == ["file:/etc/a.conf", "file:/etc/b"]


def test_part_of_a_graph_around_one_resource() -> None:
    """What it depends on and what depends on it, through others; nothing else."""
    graph = sample_graph(render(TREE, "", PORTS), TREE, PORTS)
    part = pick(graph, "file:/etc//b", PORTS.providers)
    assert [str(origin) for origin in part.order] == ["file:/etc/a.conf", "file:/etc/b", "file:/etc/c"]
    assert set(part.nodes) == set(part.order)
    assert len(part.dependencies) == 2
    assert [str(origin) for origin in pick(graph, "file:/etc/d", PORTS.providers).order] == ["file:/etc/d"]


@pytest.mark.parametrize(("wanted", "near"), [("file:/etc/bb", "did you mean file:/etc/b"), ("user:x", "datum render")])
def test_resource_that_is_not_declared(wanted: str, near: str) -> None:
    """With what is near, in `graph` as in `why`."""
    manifest = render(TREE, "", PORTS)
    graph, providers = sample_graph(manifest, TREE, PORTS), PORTS.providers
    for ask in (lambda: pick(graph, wanted, providers), lambda: why(manifest, wanted, TREE, PORTS)):
        with pytest.raises(UsageError) as caught:
            ask()
        (found,) = caught.value.diagnostics
        assert found.code == "no-such-resource"
        assert near in found.hint


def test_why_of_a_resource_and_of_a_field() -> None:
    """A name may hold dots: the longest that is declared wins."""
    manifest = render(TREE, "web1", PORTS)
    assert list(why(manifest, "file:/etc/a.conf", TREE, PORTS).origins) == ["content", "mode"]
    assert list(why(manifest, "file:/etc/a.conf.mode", TREE, PORTS).origins) == ["mode"]
    answer = why(manifest, "file:/etc/d", TREE, PORTS)
    assert answer.resource.id == rid("file:/etc/d")
    assert answer.origins["mode"].winner.layer.startswith("base")


def test_why_of_a_field_that_nobody_said() -> None:
    """With those that somebody did."""
    with pytest.raises(UsageError) as caught:
        why(render(TREE, "web1", PORTS), "file:/etc/a.conf.owner", TREE, PORTS)
    (found,) = caught.value.diagnostics
    assert (found.code, found.resource) == ("no-such-field", "file:/etc/a.conf")
    assert "content, mode" in found.detail


@pytest.mark.parametrize("spelling", ["file:/etc//a.conf", "file:/etc/./a.conf", "file:/etc//a.conf.mode"])
def test_why_understands_other_spellings(spelling: str) -> None:
    """The type says which name is meant."""
    answer = why(render(TREE, "web1", PORTS), spelling, TREE, PORTS)
    assert answer.resource.id == rid("file:/etc/a.conf")


def test_why_of_a_name_that_is_none() -> None:
    """With the right spelling."""
    with pytest.raises(UsageError) as caught:
        why(render(TREE, "web1", PORTS), "file:etc/a.conf", TREE, PORTS)
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("bad-host-path", "Write file:/etc/a.conf")


def test_a_restart_with_another_service_is_noted_and_the_fleet_is_sound() -> None:
    listed = "resources:\n  service:db: {running: true}\n  service:app: {running: true, restart_on: [service:db]}\n"
    found = validate(MemoryTree({"fleet.yaml": HEAD, "hosts/web1.yaml": listed}), PORTS)
    assert [(item.code, str(item.location)) for item in found.diagnostics] == [
        ("restart-with-another", "hosts/web1.yaml:3:44")
    ]
    assert list(found.manifests) == [HostName("web1")]
    assert not validation.is_bad(found)
