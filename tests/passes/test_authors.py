"""What authors run in a clone, without root and without a host: validate, render, why, graph."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import FLEET_ID, NOBODY, Ran, Scene, run, snapshot

FILES = {
    "fleet.yaml": f'datum: 1\nagent: ">=0.1"\nfleet: {FLEET_ID}\nlayers: [base, role]\n',
    "layers/base/default.yaml": (
        "variables: {site: ams}\n"
        "resources:\n"
        "  file:/etc/motd:\n"
        "    content: base\n"
        '    mode: "0644"\n'
        "  file:/etc/app.d/base:\n"
        '    content: "${var.site}"\n'
    ),
    "layers/role/web.yaml": "resources:\n  file:/etc/motd:\n    content: role\n",
    "hosts/web1.yaml": (
        "layers: {role: web}\n"
        "resources:\n"
        "  file:/etc/motd:\n"
        '    content: "${host.name} of ${var.site}\\n"\n'
        "    requires: [file:/etc/app.d/base]\n"
        "  file:/etc/issue: {source: files/issue, after: [file:/etc/motd]}\n"
    ),
    "hosts/db1.yaml": "variables: {site: fra}\n",
    "files/issue": "issue\n",
}


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[GitRepository]:
    """Give a clone, and stand in it; nothing that authors run may change it."""
    repository = GitRepository(tmp_path / "fleet")
    repository.commit(FILES)
    with chdir(repository.path):
        yield repository


def unchanged(repository: GitRepository, *arguments: str) -> Ran:
    """Run a command that leaves the clone as it is."""
    before = snapshot(repository.path)
    ran = run(*arguments)
    assert snapshot(repository.path) == before
    return ran


COMMANDS = [
    ["validate"],
    ["render", "web1"],
    ["why", "file:/etc/motd.content", "--host", "web1"],
    ["graph", "--host", "web1"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_command_works_where_one_stands_below_it_and_from_afar(
    clone: GitRepository, arguments: list[str], tmp_path: Path
) -> None:
    here = unchanged(clone, *arguments)
    assert (here.code, here.err) == (0, ""), here
    with chdir(clone.path / "layers/role"):
        assert unchanged(clone, *arguments) == here
    with chdir(tmp_path):
        assert unchanged(clone, *arguments, "--fleet", str(clone.path)) == here
        lost = run(*arguments)
    assert lost.code in {64, 65, 66, 69, 78}, lost
    assert "--fleet" in lost.err


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_json_is_one_document_with_a_version(clone: GitRepository, arguments: list[str]) -> None:
    ran = unchanged(clone, *arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["schema_version"] >= 1


def test_the_working_tree_counts_unless_a_revision_is_named(clone: GitRepository) -> None:
    head = clone.head
    clone.commit({"hosts/web1.yaml": "resources:\n  file:/etc/motd: {content: committed}\n"})
    (clone.path / "hosts/web1.yaml").write_text("resources:\n  file:/etc/motd: {content: uncommitted}\n")
    assert "uncommitted" in unchanged(clone, "render", "web1").out
    assert ": committed" in unchanged(clone, "render", "web1", "--rev", "main").out.replace('"', "").replace("'", "")
    assert "${" not in unchanged(clone, "render", "web1", "--rev", head).out
    assert "web1 of ams" in unchanged(clone, "render", "web1", "--rev", head).out
    assert "uncommitted" in unchanged(clone, "why", "file:/etc/motd", "--host", "web1").out
    (clone.path / "hosts/new.yaml").write_text("resources:\n  file:/etc/new: {content: untracked}\n")
    assert "untracked" in unchanged(clone, "render", "new").out


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_revision_that_is_not_there_ends_with_66(clone: GitRepository, arguments: list[str]) -> None:
    ran = unchanged(clone, *arguments, "--rev", "no-such-branch")
    assert (ran.code, ran.out) == (66, "")
    assert "no-such-branch" in ran.err


@pytest.mark.parametrize("arguments", COMMANDS[1:], ids=lambda arguments: arguments[0])
def test_a_host_that_is_not_in_the_fleet_ends_with_68_and_a_suggestion(
    clone: GitRepository, arguments: list[str]
) -> None:
    ran = unchanged(clone, *["web2" if word == "web1" else word for word in arguments])
    assert (ran.code, ran.out) == (68, "")
    assert "web1" in ran.err


def test_one_host_needs_no_name_and_two_do(clone: GitRepository) -> None:
    ran = unchanged(clone, "render")
    assert ran.code == 64
    assert "web1" in ran.err
    assert "db1" in ran.err
    (clone.path / "hosts/db1.yaml").unlink()
    assert "web1 of ams" in run("render").out


def test_render_is_a_pure_function_of_revision_and_host(clone: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("render", "web1", "--json", "--rev", "main")
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("LANG", "tr_TR.UTF-8")
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    subprocess.run(["git", "clone", "--quiet", str(clone.path), "../elsewhere"], check=True, capture_output=True)
    with chdir(clone.path.parent / "elsewhere"):
        assert run("render", "web1", "--json", "--rev", "main") == first


def test_render_shows_each_field_with_its_origin(clone: GitRepository) -> None:
    document = run("render", "web1", "--json").json
    text = json.dumps(document)
    assert "layers/base/default.yaml" in text
    assert "hosts/web1.yaml" in text
    assert "sha256:" in text, "the digest"


def test_why_lists_every_say_winner_first_with_its_place(clone: GitRepository) -> None:
    out = unchanged(clone, "why", "file:/etc/motd.content", "--host", "web1").out
    places = ["hosts/web1.yaml:4:", "layers/role/web.yaml:3:", "layers/base/default.yaml:4:"]
    found = [out.find(place) for place in places]
    assert -1 not in found, out
    assert found == sorted(found)
    whole = unchanged(clone, "why", "file:/etc/motd", "--host", "web1").out
    assert "layers/base/default.yaml:5:" in whole, "mode"


@pytest.mark.parametrize("what", ["file:/etc/nope", "file:/etc/motd.colour", "motd"])
def test_why_of_what_is_not_declared_says_so(clone: GitRepository, what: str) -> None:
    ran = unchanged(clone, "why", what, "--host", "web1")
    assert ran.code in {64, 65, 66}, ran
    assert what.rpartition(".")[2] in ran.err or what in ran.err


def test_graph_shows_the_order_and_the_reason_of_each_edge(clone: GitRepository) -> None:
    text = unchanged(clone, "graph", "--host", "web1").out
    order = [text.find(name) for name in ("file:/etc/app.d/base", "file:/etc/motd", "file:/etc/issue")]
    assert -1 not in order
    assert "requires" in text
    assert "after" in text
    dot = unchanged(clone, "graph", "--host", "web1", "--format", "dot").out
    assert dot.startswith("digraph")
    assert dot.count("{") == dot.count("}")
    assert '"file:/etc/app.d/base"' in dot
    document = unchanged(clone, "graph", "--host", "web1", "--json").json
    assert "file:/etc/issue" in json.dumps(document)
    part = unchanged(clone, "graph", "file:/etc/app.d/base", "--host", "web1")
    assert part.code == 0
    assert "file:/etc/motd" in part.out


def test_validate_says_nothing_worth_reading_of_a_good_fleet(clone: GitRepository) -> None:
    ran = unchanged(clone, "validate")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 1
    assert "2" in ran.out, "hosts"


def test_validate_reports_everything_at_once_sorted_by_place(clone: GitRepository) -> None:
    clone.commit(
        {
            "hosts/web1.yaml": "resorces: {}\n",
            "hosts/db1.yaml": 'resources:\n  file:/etc/x:\n    contnet: x\n    mode: 0644\n    owner: "${var.nope}"\n',
            "hosts/zz.yaml": "resources:\n  file:/etc/x: {content: [}\n",
        }
    )
    ran = unchanged(clone, "validate")
    assert ran.code == 65
    text = ran.out + ran.err
    places = ["hosts/db1.yaml:3:5", "hosts/db1.yaml:4:", "hosts/db1.yaml:5:", "hosts/web1.yaml:1:1", "hosts/zz.yaml:2:"]
    found = [text.find(place) for place in places]
    assert -1 not in found, text
    assert found == sorted(found)
    assert all(code in text for code in ("unknown", "mode"))
    as_json = unchanged(clone, "validate", "--json")
    assert as_json.code == 65
    assert json.loads(as_json.out)["diagnostics"]


def test_one_hosts_typo_stops_no_other(clone: GitRepository) -> None:
    clone.commit({"hosts/db1.yaml": "resorces: {}\n"})
    assert run("validate").code == 65
    assert run("render", "db1").code == 65
    assert run("render", "web1").code == 0


def test_a_folder_without_git_is_a_clone_for_no_one_but_its_files_can_be_read(tmp_path: Path) -> None:
    for name, text in FILES.items():
        place = tmp_path / "plain" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    ran = run("validate", "--fleet", str(tmp_path / "plain"))
    assert ran.code in {0, 66, 69}, ran
    assert run("validate", "--fleet", str(tmp_path / "nothing")).code in {64, 66, 69}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_an_ordinary_user_reads_a_clone_of_somebody_else(user_scene: Scene) -> None:
    user_scene.commit({"file:/etc/motd": {"content": "x\n"}})
    for path in [user_scene.repository.path, *user_scene.repository.path.rglob("*")]:
        os.chown(path, 0, 0, follow_symlinks=False)
    assert user_scene.caller.uid == NOBODY
    done = subprocess.run(
        user_scene.command("render", "web1", "--fleet", user_scene.url),
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "file:/etc/motd" in done.stdout
