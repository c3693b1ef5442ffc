"""Every example of the documentation is what it says: fleets are checked as `datum validate` checks them.

In Markdown, `<!-- fleet: NAME -->` begins an example fleet: the fenced blocks after it, up to the next marker of that
kind or the end of the file, whose first line is a comment that names a path (`# hosts/web1.yaml`) are its files.
`<!-- file: PATH -->` adds a file whose bytes do not matter, `<!-- link: PATH TARGET -->` a link,
`<!-- expect: code code -->` says which findings the fleet must have, and `<!-- run: NAME -->` before a console block
says that its commands are run in a clone of that fleet.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from attrs import define, field

from datum.agent.authoring import validate
from datum.agent.ports import Ports
from datum.fleet.yaml_reader import read_yaml
from datum.provider.host import Command, CommandOutcome
from datum.registry.discover import find_providers
from datum.testing.trees import MemoryTree, Symlink

ROOT: Final = Path(__file__).resolve().parents[2]
DEFAULT_FLEET: Final = "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: [base, os, role, site]\n"

_MARKER: Final = re.compile(r"<!-- (fleet|file|link|expect|run): (.+?) -->")
_FENCE: Final = re.compile(r"(`{3,})(\w*)")
_PATH: Final = re.compile(r"# ((?:[\w.-]+/)+[\w.-]+|[\w.-]+\.\w+)$", re.MULTILINE)


@define
class Fleet:
    """One example fleet."""

    files: dict[str, str] = field(factory=dict)
    links: dict[str, str] = field(factory=dict)
    expected: set[str] = field(factory=set)


@define
class Document:
    """One Markdown file."""

    fleets: dict[str, Fleet] = field(factory=dict)
    # Every YAML block, with its line.
    blocks: list[tuple[int, str]] = field(factory=list)
    # The fleet and the text of each console block that is run, with its line.
    runs: list[tuple[int, str, str]] = field(factory=list)


def documents() -> tuple[Path, ...]:
    """Return the Markdown files for users."""
    pages = (ROOT / "providers").glob("datum_providers/*/README.md")
    return (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(pages))


def read_document(text: str) -> Document:
    """Read the markers and blocks of one file."""
    document = Document()
    current: Fleet | None = None
    running = ""
    for number, kind, content in _parts(text):
        if kind == "fleet":
            current = document.fleets.setdefault(content, Fleet())
        elif kind == "run":
            running = content
        elif kind == "file" and current is not None:
            current.files[content] = "example\n"
        elif kind == "link" and current is not None:
            path, _, current.links[path] = content.partition(" ")
        elif kind == "expect" and current is not None:
            current.expected |= set(content.split())
        elif kind == "console":
            if running:
                document.runs.append((number, running, content))
            running = ""
        else:
            if kind == "yaml":
                document.blocks.append((number, content))
            named = _PATH.match(content)
            if current is not None and named is not None:
                current.files[named[1]] = content
    return document


def _parts(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield markers and fenced blocks: line, kind or language, content."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if marker := _MARKER.fullmatch(line.strip()):
            yield number, marker[1], marker[2]
        elif fence := _FENCE.fullmatch(line.strip()):
            block = []
            for _, inner in lines:
                if inner.strip() == fence[1]:
                    break
                block.append(f"{inner}\n")
            yield number, fence[2], "".join(block)


def ports() -> Ports:
    """Return what `validate` is given; it runs no program."""

    def run(command: Command) -> CommandOutcome:
        raise AssertionError(f"validate ran {command.argv}")

    return Ports(providers=find_providers(), run=run, started="", monotonic=time.monotonic, pid=0, agent="1.0")


def _examples() -> Iterator[tuple[str, Fleet]]:
    for path in documents():
        for name, fleet in read_document(path.read_text()).fleets.items():
            yield f"{path.relative_to(ROOT)}:{name}", fleet


EXAMPLES: Final[Mapping[str, Fleet]] = dict(_examples())


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_fleet_has_the_findings_it_says_and_no_others(name: str) -> None:
    fleet = EXAMPLES[name]
    links = {path: Symlink(target) for path, target in fleet.links.items()}
    found = validate(MemoryTree({"fleet.yaml": DEFAULT_FLEET, **fleet.files, **links}), ports())
    shown = "\n".join(f"{item.code} {item.location} {item.detail}" for item in found.diagnostics)
    assert {item.code for item in found.diagnostics} == fleet.expected, shown
    assert found.manifests or fleet.expected, "the example declares no host"


def test_there_are_examples() -> None:
    assert sum(1 for fleet in EXAMPLES.values() if not fleet.expected) >= 10
    assert sum(1 for fleet in EXAMPLES.values() if fleet.expected) >= 5


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_yaml_block_is_yaml(path: Path) -> None:
    """A fragment is no whole file, and still what the reader of manifests reads."""
    document = read_document(path.read_text())
    wrong = {content for fleet in document.fleets.values() if fleet.expected for content in fleet.files.values()}
    for number, block in document.blocks:
        if block not in wrong:
            _, found = read_yaml(block.encode(), f"{path.name}:{number}")
            assert not found, f"{path.name}:{number}: {found[0].detail}"


def _runs() -> Iterator[tuple[str, Fleet, str]]:
    for path in documents():
        document = read_document(path.read_text())
        for number, name, text in document.runs:
            yield f"{path.relative_to(ROOT)}:{number}", document.fleets[name], text


RUNS: Final = {name: (fleet, text) for name, fleet, text in _runs()}


@pytest.mark.parametrize("name", RUNS)
def test_marked_commands_run_and_end_as_they_say(name: str, tmp_path: Path) -> None:
    """Each `$ ` line ends with exit code 0, or with N where a line `# exit N` follows."""
    fleet, text = RUNS[name]
    clone, root = tmp_path / "fleet", tmp_path / "root"
    root.mkdir()
    (root / "etc").mkdir()
    lay_out(fleet, clone)
    _commit(clone)
    for command, expected in commands_of(text):
        words = [word.replace("$FLEET", str(clone)).replace("$ROOT", str(root)) for word in shlex.split(command)]
        assert words[0] == "datum", "only datum is run from the documentation"
        ended = subprocess.run(
            [sys.executable, "-m", "datum", *words[1:]], cwd=clone, capture_output=True, text=True, check=False
        )
        assert ended.returncode == expected, f"{command}\n{ended.stdout}{ended.stderr}"


def lay_out(fleet: Fleet, clone: Path) -> None:
    """Write the files and links of an example fleet into a folder."""
    for path, content in {"fleet.yaml": DEFAULT_FLEET, **fleet.files}.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(content)
    for path, target in fleet.links.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).symlink_to(target)


def commands_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield each command of a console block, and the exit code it says."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            after = lines[number + 1] if number + 1 < len(lines) else ""
            said = re.fullmatch(r"# exit (\d+).*", after)
            yield line[2:], int(said[1]) if said else 0


def _commit(clone: Path) -> None:
    who = {f"GIT_{part}_{what}": "example" for part in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(clone), "GIT_CONFIG_NOSYSTEM": "1", **who}
    for argv in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "example")):
        subprocess.run(["git", *argv], cwd=clone, env=environment, check=True, capture_output=True)


def test_markers_and_blocks_are_read() -> None:
    document = read_document(
        "<!-- fleet: a -->\n<!-- file: files/x -->\n<!-- link: files/y x -->\n<!-- expect: conflict -->\n"
        "```text\n# files/z\nbytes\n```\n```text\n# no/path at all\n```\n"
        "```yaml\n# hosts/a.yaml\nlayers: {}\n```\n"
        "```yaml\nfragment: 1\n```\n<!-- run: a -->\n```console\n$ datum validate\n# exit 65\n```\n"
    )
    files = {"files/x": "example\n", "files/z": "# files/z\nbytes\n", "hosts/a.yaml": "# hosts/a.yaml\nlayers: {}\n"}
    assert document.fleets["a"].files == files
    assert document.fleets["a"].links == {"files/y": "x"}
    assert document.fleets["a"].expected == {"conflict"}
    assert [text for _, text in document.blocks] == ["# hosts/a.yaml\nlayers: {}\n", "fragment: 1\n"]
    assert list(commands_of(document.runs[0][2])) == [("datum validate", 65)]
