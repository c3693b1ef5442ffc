"""`datum init`: configuration and pointer, and nothing else (design 3.5, 6)."""

import os
from pathlib import Path
from typing import Any

import pytest

from datum.agent.configuration import quoted
from datum.fleet.nodes import plain
from datum.fleet.yaml_reader import read_yaml
from tests.passes.scene import HOST, OTHER_FLEET_ID, Ran, Scene

A = {"file:/etc/a": {"content": "a\n"}}
CONFIG = "/etc/datum/agent.yaml"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a fleet with one revision, and a host that nobody enrolled."""
    made = Scene(tmp_path)
    made.commit(A)
    return made


def code_of(ran: Ran) -> str:
    """Return the first code on stderr."""
    return ran.err.partition("[")[2].partition("]")[0]


def test_init_writes_configuration_and_pointer_alone(scene: Scene) -> None:
    """The pointer names fleet and host, no revision; nothing that is declared is there."""
    ran = scene.init()
    assert ran.code == 0
    assert f"datum plan --root {scene.root}" in ran.out
    assert (scene.pointer["host"], scene.pointer["trail"], scene.pointer["accepted"]) == (HOST, [], None)
    text = scene.read(CONFIG)
    assert text is not None
    assert f"repo: '{scene.url}'" in text
    assert "policy: none" in text
    assert scene.at(CONFIG).stat().st_mode & 0o777 == 0o644
    assert [path.name for path in scene.at("/etc/datum").iterdir()] == ["agent.yaml"]
    assert scene.read("/etc/a") is None


def test_init_again_changes_nothing(scene: Scene) -> None:
    """What a person added to the configuration stays."""
    scene.init()
    scene.write(CONFIG, (scene.read(CONFIG) or "") + "# mine\n")
    pointer = scene.pointer
    ran = scene.init()
    assert "was enrolled already" in ran.out
    assert scene.pointer == pointer
    assert (scene.read(CONFIG) or "").endswith("# mine\n")


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["--host", HOST, "--no-timer"], "init-needs-repo-and-host", 64),
        (["--repo", "{url}", "--no-timer"], "init-needs-repo-and-host", 64),
        (["--repo", "{url}", "--host", "No_Host", "--no-timer"], "bad-host-name", 64),
        (["--repo", "ssh://h/relative", "--host", HOST, "--no-timer"], "init-needs-key", 64),
        (["--repo", "h:relative", "--host", HOST, "--no-timer"], "remote-malformed", 78),
        (["--repo", "{url}", "--host", "other1", "--no-timer"], "host-not-in-fleet", 68),
        (["--repo", "{url}", "--host", HOST, "--ref", "nowhere", "--no-timer"], "ref-gone", 66),
        (["--repo", "/nonexistent", "--host", HOST, "--no-timer"], "repository-missing", 69),
        (["--repo", "{url}", "--host", HOST, "--rename", "Old_1", "--no-timer"], "bad-host-name", 64),
    ],
)
def test_init_refuses_without_a_trace(scene: Scene, words: list[str], code: str, exit_code: int) -> None:
    """No configuration, no pointer, and the reason."""
    ran = scene.run("init", *(word.format(url=scene.url) for word in words))
    assert (ran.code, code_of(ran)) == (exit_code, code), ran
    assert scene.read(CONFIG) is None
    assert not scene.pointer_path.exists()


def test_init_of_an_invalid_fleet_enrols_nobody(scene: Scene) -> None:
    """65, with what is wrong."""
    scene.commit({"nothing:x": {}})
    assert scene.init().code == 65
    assert not scene.pointer_path.exists()


@pytest.mark.parametrize("words", [["--repo", "/srv/other.git", "--host", HOST], ["--repo", "{url}", "--host", "web2"]])
def test_another_configuration_is_not_overwritten(scene: Scene, words: list[str]) -> None:
    """It says otherwise: a person decides."""
    scene.init()
    before = scene.read(CONFIG)
    ran = scene.run("init", *(word.format(url=scene.url) for word in words), "--no-timer")
    assert (ran.code, code_of(ran)) == (78, "configured-otherwise")
    assert scene.read(CONFIG) == before
    ran = scene.init("--ref", "topic")
    assert (ran.code, code_of(ran)) == (78, "configured-otherwise")


def test_another_fleet_is_not_enrolled_over(scene: Scene) -> None:
    """What the first declared may still be here."""
    scene.init()
    scene.commit(A, fleet=OTHER_FLEET_ID)
    ran = scene.init()
    assert (ran.code, code_of(ran)) == (78, "pointer-of-another-fleet")


def test_another_name_is_not_enrolled_over(scene: Scene) -> None:
    """Without its old one being named; with a wrong one neither."""
    scene.init()
    scene.at(CONFIG).unlink()
    scene.commit_files({"hosts/web2.yaml": "{}"})
    init = ["init", "--repo", scene.url, "--host", "web2", "--no-timer"]
    assert code_of(scene.run(*init)) == "pointer-of-another-host"
    assert scene.run(*init, "--rename", "Bad_Name").code == 64
    assert scene.run(*init, "--rename", HOST).code == 0
    assert scene.pointer["host"] == "web2"
    assert "host: 'web2'" in (scene.read(CONFIG) or "")


def test_rename_leaves_a_configuration_without_a_host_alone(scene: Scene) -> None:
    """It is said on the command line there."""
    scene.init()
    text = "\n".join(line for line in (scene.read(CONFIG) or "").splitlines() if not line.startswith("host:"))
    scene.write(CONFIG, text + "\n")
    scene.commit_files({"hosts/web2.yaml": "{}"})
    assert scene.run("init", "--repo", scene.url, "--host", "web2", "--rename", HOST, "--no-timer").code == 0
    assert scene.read(CONFIG) == text + "\n"


def test_state_directory_is_remembered(scene: Scene) -> None:
    """So that `apply` needs no option."""
    assert scene.init("--state-dir", "/srv/state").code == 0
    assert (scene.root / "srv/state/pointer.json").exists()
    scene.apply()
    assert scene.read("/etc/a") == "a\n"


def test_configuration_that_cannot_be_written_is_74(scene: Scene) -> None:
    """A file stands where its folder would be."""
    scene.write("/etc/datum", "")
    ran = scene.init()
    assert (ran.code, code_of(ran)) in {(74, "config-unwritable"), (78, "config-unreadable")}


@pytest.mark.parametrize("text", ["plain", "it's", "'", "a: b # c", "", "\\n", "é", "*x", "!y"])
def test_quoted_text_reads_back(text: str) -> None:
    """As the very text, whatever YAML would make of it."""
    node, findings = read_yaml(f"key: {quoted(text)}\n".encode(), "f")
    assert findings == ()
    assert node is not None
    value: Any = plain(node)
    assert value == {"key": text}


def test_running_system_needs_root(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """77; a partial view is not a plan."""
    from datum.agent.settings import Options, Settings, read_settings
    from datum.agent.wiring import require_rights
    from datum.errors import PermissionRefusedError

    settings: Settings = read_settings(Options(repo=scene.url, host=HOST, root=str(scene.root)))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    require_rights(settings)
    from attrs import evolve

    with pytest.raises(PermissionRefusedError):
        require_rights(evolve(settings, root="/"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    require_rights(evolve(settings, root="/"))
