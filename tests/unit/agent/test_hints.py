"""Hints that name `datum init` lead to the same root, configuration and state: copied, they enrol what was meant."""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from datum.agent.hints import completed, init_line, whereabouts
from datum.diagnostics import Diagnostic
from datum.errors import StateError
from tests.passes.scene import HOST, Ran, Scene, run

RESOURCES = {"file:/etc/a": {"content": "a\n"}}
STATE = "/srv/state"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a host that is not enrolled, in a folder whose name needs quotes."""
    made = Scene(tmp_path / "a b")
    made.commit(RESOURCES)
    return made


def said(ran: Ran) -> str:
    assert ran.code in {74, 78}, ran
    (found,) = ran.json["error"]["diagnostics"]
    return str(found["hint"])


def test_where_nothing_was_said_nothing_is_added() -> None:
    assert whereabouts(root="/", config=None, state_dir=None) == ""
    assert init_line("/srv/f.git", "web1", "") == "datum init --repo /srv/f.git --host web1"


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("datum init", "datum init X"),
        ("datum init --rename web1", "datum init --rename web1 X"),
        ("if so, run `datum init --rename web1`; else not", "if so, run `datum init --rename web1 X`; else not"),
        ("again with `datum init`; then", "again with `datum init X`; then"),
        ("datum initially", "datum initially"),
        ("", ""),
    ],
)
def test_a_command_in_a_hint_is_completed(hint: str, expected: str) -> None:
    with pytest.raises(StateError) as caught, completed("datum init X"):
        raise StateError(Diagnostic(code="x", summary="X.", hint=hint))
    assert caught.value.diagnostics[0].hint == expected


def not_enrolled(scene: Scene, options: Sequence[str]) -> str:
    return said(scene.run("apply", "--repo", scene.url, "--host", HOST, *options, "--json"))


def not_configured(scene: Scene, options: Sequence[str]) -> str:
    return said(scene.run("status", *options, "--json"))


def renamed(scene: Scene, options: Sequence[str]) -> str:
    assert scene.run("init", "--repo", scene.url, "--host", HOST, "--no-timer", *options).code == 0
    return said(scene.run("apply", "--repo", scene.url, "--host", "web2", *options, "--json"))


def status_line(scene: Scene, options: Sequence[str]) -> str:
    ran = scene.run("status", "--repo", scene.url, "--host", HOST, *options)
    (line,) = (line for line in ran.out.splitlines() if line.startswith("not enrolled"))
    return line


@pytest.mark.parametrize("options", [(), ("--state-dir", STATE)], ids=["plain", "state"])
@pytest.mark.parametrize("ask", [not_enrolled, not_configured, renamed, status_line])
def test_every_hint_of_init_stays_below_the_root(
    scene: Scene, ask: Callable[[Scene, Sequence[str]], str], options: tuple[str, ...]
) -> None:
    """Whole, too: nothing asks for more options when it is copied."""
    hint = ask(scene, options)
    assert "datum init " in hint
    line = "datum init " + hint.split("datum init ", 1)[1].split("`")[0]
    words = shlex.split(line)
    assert words[words.index("--root") + 1] == str(scene.root)
    assert {"--repo", "--host"} <= set(words)
    if options:
        assert words[words.index("--state-dir") + 1] == STATE


def test_a_copied_hint_enrols_what_was_meant(scene: Scene) -> None:
    """Configuration and state where the command that was refused looks for them."""
    options = ("--config", "/srv/agent.yaml", "--state-dir", STATE)
    asked = ("apply", "--repo", scene.url, "--host", HOST, *options, "--json")
    missing = said(scene.run(*asked))
    assert missing.endswith(f"--config /srv/agent.yaml --state-dir {STATE} --root '{scene.root}'")
    line = missing.replace("URL", f"'{scene.url}'").replace("NAME", HOST)
    enrolled = run(*shlex.split(line)[1:])
    assert enrolled.code == 0, enrolled
    assert (scene.root / "srv/agent.yaml").exists()
    assert scene.run(*asked).code == 0
    assert "datum plan --config /srv/agent.yaml" in enrolled.out


def test_init_without_its_options_says_the_rest(scene: Scene) -> None:
    ran = scene.run("init", "--repo", scene.url, "--no-timer", "--json")
    hint = json.loads(ran.out)["error"]["diagnostics"][0]["hint"]
    assert shlex.split(hint)[2:] == ["--repo", scene.url, "--host", "NAME", "--root", str(scene.root)]


def test_status_before_the_first_pass_names_the_root(scene: Scene) -> None:
    assert scene.init().code == 0
    assert f"datum apply --root '{scene.root}' begins" in scene.run("status").out


@pytest.mark.parametrize("spelling", ["fleet", "./fleet", "../a b/fleet"])
def test_a_relative_repository_is_that_of_the_working_directory(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """And stored as its absolute path."""
    monkeypatch.chdir(scene.folder)
    ran = scene.run("init", "--repo", spelling, "--host", HOST, "--no-timer")
    assert ran.code == 0, ran
    text = scene.read("/etc/datum/agent.yaml") or ""
    assert str(scene.repository.path) in text
    monkeypatch.chdir("/")
    assert scene.run("apply").code == 0
