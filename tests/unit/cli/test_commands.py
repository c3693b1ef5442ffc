"""Every command once with its result for programs, and hints that lead somewhere."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

import datum
from datum.cli.app import app
from datum.cli.main import main
from tests.passes.scene import DROP_IN, HOST, Scene, run

SOURCES: Final = Path(datum.__file__).parent


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Give a host whose next pass creates, updates, and keeps an orphan."""
    made = Scene(tmp_path_factory.mktemp("commands"))
    made.enrolled({"file:/etc/kept": {"content": "old\n"}, f"file:{DROP_IN}/gone": {"content": "x\n"}})
    made.commit({"file:/etc/a": {"content": "a\n"}, "file:/etc/b": {"content": "b\n", "requires": ["file:/etc/a"]}})
    return made


ON_HOST: Final = (["plan"], ["status"], ["report"], ["orphans"], ["doctor"], ["plan", "--offline"])
IN_CLONE: Final = (
    ["validate"],
    ["render"],
    ["render", HOST],
    ["why", "file:/etc/a"],
    ["why", "file:/etc/a.content"],
    ["graph"],
    ["graph", "file:/etc/b"],
)


@pytest.mark.parametrize("words", ON_HOST, ids=" ".join)
def test_json_of_each_command_on_a_host(scene: Scene, words: list[str]) -> None:
    """Versioned, on stdout, alone."""
    ran = scene.run(*words, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["schema_version"] == (2 if words[0] in {"plan", "report"} else 1)
    assert scene.run(*words).code == 0


@pytest.mark.parametrize("words", IN_CLONE, ids=" ".join)
def test_json_of_each_command_in_a_clone(scene: Scene, words: list[str]) -> None:
    """Without root, host, or state; at a revision as well as at the working tree."""
    ran = run(*words, "--fleet", scene.url, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["schema_version"] == 1
    for more in ([], ["--rev", "main"]):
        ran = run(*words, "--fleet", scene.url, *more)
        assert (ran.code, ran.err) == (0, "")
        assert "\x1b" not in ran.out


def test_graph_for_graphviz(scene: Scene) -> None:
    """Its own format."""
    ran = run("graph", "--fleet", scene.url, "--format", "dot")
    assert ran.out.startswith("digraph datum {")


def test_json_of_init_and_apply(tmp_path: Path) -> None:
    """The two that change something."""
    made = Scene(tmp_path)
    made.commit({"file:/etc/a": {"content": "a\n"}})
    first = made.init("--json")
    assert (first.json["schema_version"], first.json["is_new"], first.json["resources"]) == (1, True, 1)
    again = made.init()
    assert "was enrolled already" in again.out
    applied = made.run("apply", "--json")
    assert (applied.json["schema_version"], applied.json["outcome"]) == (2, "converged")
    ran = made.run("apply")
    assert "nothing to do, 1 in sync" in ran.out
    assert "was enrolled already" not in ran.out


def test_validate_tells_everything_and_is_65(tmp_path: Path) -> None:
    """For people and programs; the sums at the end."""
    made = Scene(tmp_path)
    made.commit({"nothing:x": {}, "file:/etc/a": {"mode": 5}})
    ran = run("validate", "--fleet", made.url)
    assert ran.code == 65
    assert re.search(r"^\d findings?; 0 hosts are sound\.$", ran.out, re.MULTILINE)
    assert f"hosts/{HOST}.yaml:" in ran.out
    found = run("validate", "--fleet", made.url, "--json")
    assert (found.code, found.json["hosts"]) == (65, [])
    assert len(found.json["diagnostics"]) > 1


def test_detailed_exit_code(scene: Scene) -> None:
    """2 when there are changes, 0 without the option."""
    assert scene.run("plan", "--detailed-exitcode").code == 2


def test_record_and_replay(scene: Scene) -> None:
    """The options reach both."""
    file = scene.folder / "record.json"
    planned = scene.run("plan", "--record", str(file))
    assert planned.code == 0
    assert run("plan", "--observed", str(file), "--fleet", scene.url).out == planned.out


def test_untrusted_plan_is_one(scene: Scene) -> None:
    """The option reaches the pass."""
    assert scene.run("plan", "--untrusted").code == 0


def test_allowance_is_checked_before_anything_else(scene: Scene) -> None:
    """64, and nothing was begun."""
    before = scene.everything()
    assert scene.run("apply", "--allow", "removals=3").code == 64
    assert scene.run("apply", "--allow", "x", "--expect", "y").code == 64
    assert scene.everything() == before


def test_another_plan_than_the_expected_is_not_applied(scene: Scene) -> None:
    """1, held, host untouched; sums of what was not done are no sums."""
    before = scene.host()
    ran = scene.run("apply", "--expect", "sha256:0", "--json")
    assert (ran.code, ran.json["outcome"]) == (1, "held")
    assert set(ran.json["counts"]) <= {"in_sync", "orphan"}
    shown = scene.run("apply", "--expect", "sha256:0")
    assert "\nNothing was done: another plan; " in shown.out
    assert "Held" not in shown.out
    assert scene.host() == before


NAMES: Final = (
    *(
        "adopt",
        "apply",
        "completion",
        "doctor",
        "graph",
        "init",
        "leave",
        "orphans",
        "pause",
        "plan",
        "render",
        "report",
    ),
    *("resume", "status", "validate", "why"),
)


def test_commands_of_this_version() -> None:
    """Each is tried by a test of this file."""
    assert tuple(sorted(_commands())) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence and each option; what completion prints is for a shell alone."""
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"datum {name}" in out
    assert ("--json" in out) is (name != "completion")


def test_errors_as_json_are_versioned(tmp_path: Path) -> None:
    """What a program reads when there is no result."""
    ran = run("status", "--root", str(tmp_path), "--json")
    assert ran.code == 78
    value: Any = json.loads(ran.out)
    assert (value["schema_version"], value["error"]["exit_code"]) == (1, 78)


# Hints.

_MENTION: Final = re.compile(r"(?<![\w./-])datum ([a-z]+)((?: +(?:--?[a-z][a-z-]*|[A-Z][A-Z_=]*))*)")
# What follows the word in a sentence, where no command is meant.
_SENTENCES: Final = frozenset(["again", "as", "creates", "does", "has", "on", "or", "reads", "that", "then", "wrote"])


def _texts() -> Iterator[tuple[str, str]]:
    """Yield file and text of each string that people can be shown: no docstrings, no f-string holes."""
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | lone:
                yield str(path.relative_to(SOURCES)), node.value


def _commands() -> dict[str, set[str]]:
    """Return the options of each command."""
    group: Any = typer.main.get_command(app)
    return {name: {text for one in command.params for text in one.opts} for name, command in group.commands.items()}


def test_hints_name_commands_and_options_that_exist() -> None:
    """A way out that is none is worse than none."""
    known = _commands()
    wrong = []
    for file, text in _texts():
        for match in _MENTION.finditer(text):
            name, options = match[1], re.findall(r"--[a-z-]+", match[2])
            if name in _SENTENCES:
                continue
            if name not in known or set(options) - known[name]:
                wrong.append(f"{file}: {match[0]}")
    assert wrong == []


def test_hints_are_found() -> None:
    """The test above sees what it looks for."""
    found = {match[1] for _, text in _texts() for match in _MENTION.finditer(text)}
    assert {"plan", "apply", "init", "status"} <= found
