"""What a command does not need is not imported: a pass that finds nothing to do is mostly its imports."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.passes.scene import FLEET_ID, HOST, Scene

FLEET: Final = {
    "fleet.yaml": f'{{"datum": 1, "fleet": "{FLEET_ID}", "layers": []}}\n',
    f"hosts/{HOST}.yaml": (
        "variables: {contact: ops}\n"
        "resources:\n"
        '  file:/etc/motd: {content: "${host.name}: ${var.contact}", mode: "0644"}\n'
        "  file:/etc/app.d/a: {source: files/a, after: [file:/etc/motd]}\n"
    ),
    "files/a": "a\n",
}
# Only jsonschema_rs checks attributes; jsonschema words what is wrong with them. networkx orders what is to be done.
ONLY_WHERE_NEEDED: Final = frozenset({"networkx", "jsonschema", "ruamel", "rich", "jinja2"})
# Not difflib of the commands that Typer parses: Typer itself has it.
NOT_IMPORTED: Final = {
    "apply": ONLY_WHERE_NEEDED | {"difflib", "typer"},
    "plan": ONLY_WHERE_NEEDED,
    "status": ONLY_WHERE_NEEDED | {"pygit2", "jsonschema_rs"},
    "validate": ONLY_WHERE_NEEDED,
}
_IMPORTED: Final = re.compile(r"^import time: +\d+ \| +\d+ \| +(\w+)", re.MULTILINE)

Imports = Callable[[str], set[str]]


def imports_of(scene: Scene, command: str) -> set[str]:
    """Run a command in a process of its own; return the top-level names of all that it imported."""
    place = ["--fleet", scene.url] if command == "validate" else ["--root", str(scene.root)]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "datum", command, *place],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=60,
    )
    assert done.returncode == 0, done
    return set(_IMPORTED.findall(done.stderr))


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Imports:
    """Give what a command imports on a host where all is as declared, by dotted names only."""
    scene = Scene(tmp_path_factory.mktemp("imports"))
    scene.commit_files(FLEET)
    assert scene.init().code == 0
    scene.apply()
    assert "nothing to do" in scene.apply().out
    return lambda command: imports_of(scene, command)


@pytest.mark.parametrize("command", NOT_IMPORTED)
def test_what_a_command_does_not_need_is_not_imported(imports: Imports, command: str) -> None:
    found = imports(command)
    assert "datum" in found
    unneeded = sorted(found & NOT_IMPORTED[command])
    assert not unneeded


def test_what_is_needed_would_be_seen(tmp_path: Path) -> None:
    """A template and a plan with actions: the same look finds what the commands above do without."""
    scene = Scene(tmp_path)
    template = "resources: {file:/etc/motd: {template: templates/motd}}\n"
    scene.commit_files({**FLEET, f"hosts/{HOST}.yaml": template, "templates/motd": "{{ host.name }}\n"})
    assert scene.init().code == 0
    assert {"jinja2", "pygit2", "typer"} <= imports_of(scene, "plan")
    assert "typer" in imports_of(scene, "status")
