"""Every promise has a test that notices when it is broken.

Each `*.patch` here breaks one promise of the documentation. Its first lines say which (`Promise:`) and which test must
then fail (`Test:`). The patch is applied to a copy of the tree, and that test is run there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

ROOT: Final = Path(__file__).resolve().parents[2]
PATCHES: Final = sorted(Path(__file__).parent.glob("*.patch"))
FEWEST: Final = 20
COPIED: Final = ("datum", "providers", "tests", "fixtures", "docs", "README.md", "pyproject.toml")
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", "*.pyc", ".hypothesis", ".pytest_cache")
_SUMMARY: Final = re.compile(r"^(\d+) failed(?:, \d+ passed)?(?:, \d+ deselected)? in ", re.MULTILINE)


@frozen
class Sabotage:
    """One broken promise."""

    promise: str
    test: str
    patch: str

    @classmethod
    def read(cls, path: Path) -> "Sabotage":
        """Read a patch file."""
        text = path.read_text()
        head, _, patch = text.partition("\n---")
        words = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
        return cls(words["Promise"], words["Test"], f"---{patch}")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the tree; each test mends what it broke."""
    folder = tmp_path_factory.mktemp("sabotage")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, folder / name)
    return folder


@pytest.fixture
def broken(copy: Path, request: pytest.FixtureRequest) -> Iterator[Sabotage]:
    """Give a sabotage that is in force in the copy until the test ends."""
    sabotage = Sabotage.read(request.param)
    apply(copy, sabotage.patch)
    yield sabotage
    apply(copy, sabotage.patch, "--reverse")


def apply(folder: Path, patch: str, *options: str) -> None:
    # Without a repository of its own git would look for one above, and then apply nothing.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "-C1", *options, "-"]
    done = subprocess.run(
        command, cwd=folder, input=patch, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, f"the code has changed; renew the patch\n{done.stderr}"


def run(folder: Path, test: str) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=line",
        test,
    ]
    places = [folder, folder / "providers"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, places)), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=120
    )


def test_there_are_enough() -> None:
    assert len(PATCHES) >= FEWEST
    assert len({Sabotage.read(path).promise for path in PATCHES}) == len(PATCHES)


@pytest.mark.parametrize("broken", PATCHES, ids=lambda path: path.stem, indirect=True)
def test_a_broken_promise_is_noticed(copy: Path, broken: Sabotage) -> None:
    done = run(copy, broken.test)
    if os.geteuid() and done.returncode == 0 and " skipped" in done.stdout.splitlines()[-1]:
        pytest.skip("the test that notices it needs root")
    assert done.returncode == 1, f"{broken.test} does not notice: {done.stdout}{done.stderr}"
    assert _SUMMARY.search(done.stdout), f"{broken.test} did not run as a test: {done.stdout}"
    assert " error" not in done.stdout.splitlines()[-1]
