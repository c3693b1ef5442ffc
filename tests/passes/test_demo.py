"""What a newcomer runs: the demo does what it says, as root and as an ordinary user, and the README names no more."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import jsonschema
import pytest

import datum.report
from tests.passes.caller import Caller
from tests.passes.scene import Scene

REPOSITORY: Final = Path(__file__).resolve().parents[2]
SCHEMA: Final = Path(datum.report.__file__).with_name("schema.json")
_NAMED_REPORT: Final = re.compile(r"The report of the last pass: (\S+)$", re.MULTILINE)
_NAMED_PLACE: Final = re.compile(r"Everything of this demo lies in ([^;\s]+);")
_SCRIPT: Final = re.compile(r"(?<![\w/.-])scripts/[\w.-]*\w")


def assert_shows_a_fleet_being_kept(caller: Caller, folder: Path) -> None:
    """Run the demo with its temporary folders below one that ends with the test."""
    script = [sys.executable, str(REPOSITORY / "scripts" / "demo.py")]
    done = subprocess.run(
        caller.command(script, folder),
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd="/",
        timeout=120,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done
    assert "nothing to do" in done.stdout
    assert "drift" in done.stdout
    assert "(exit code 76)" in done.stdout
    place, named = _NAMED_PLACE.search(done.stdout), _NAMED_REPORT.search(done.stdout)
    assert place, done.stdout
    assert named, done.stdout
    assert [str(made) for made in folder.iterdir()] == [place[1]], "all of it lies in the one folder that it names"
    assert Path(place[1]).stat().st_uid == caller.uid
    report = Path(named[1])
    assert report.is_relative_to(place[1])
    value = json.loads(report.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(value)
    assert value["exit_code"] == 76


def test_the_demo_as_the_caller(tmp_path: Path) -> None:
    assert_shows_a_fleet_being_kept(Caller(os.geteuid()), tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="the caller is an ordinary user already")
def test_the_demo_as_an_ordinary_user(user_scene: Scene) -> None:
    folder = user_scene.folder / "demo"
    folder.mkdir()
    user_scene.give()
    assert_shows_a_fleet_being_kept(user_scene.caller, folder)


def test_what_gates_a_change_is_the_one_command_that_the_readme_names() -> None:
    lines = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    assert len(commands) == 1, commands
    assert re.fullmatch(r'exec "[^;&|]*/\.\./scripts/test"', commands[0]), "without arguments it runs everything"
    assert os.access(REPOSITORY / ".ci" / "run", os.X_OK)


def test_the_readme_names_the_demo_the_tests_and_what_builds_the_package() -> None:
    named = set(_SCRIPT.findall((REPOSITORY / "README.md").read_text(encoding="utf-8")))
    assert named == {"scripts/build-deb", "scripts/demo", "scripts/test"}
    assert all(os.access(REPOSITORY / name, os.X_OK) for name in named)
