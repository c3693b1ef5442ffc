"""The two distributions of Python: the sdist from the tree, and the wheel from the sdist alone.

hatchling is run directly, so that the one pinned version builds, and each build of one tree gives the same bytes.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

ROOT: Final = Path(__file__).resolve().parents[2]
CONSTRAINTS: Final = "constraints.txt"
# hatchling's own choice for trees without a date: 2020-02-02 (hatchling/builders/utils.py).
UNDATED: Final = 1580601600


class BuildError(Exception):
    """Something could not be built; the words of the program that failed are above."""


@frozen
class Distributions:
    """What was built."""

    sdist: Path
    wheel: Path


def version_of(tree: Path) -> str:
    """Return the version that the tree has."""
    return str(tomllib.loads((tree / "pyproject.toml").read_text())["project"]["version"])


def epoch_of(tree: Path) -> int:
    """Return the date of what is built, in seconds: SOURCE_DATE_EPOCH, or that of the last commit."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if said:
        return int(said)
    asked = subprocess.run(
        ["git", "-C", str(tree), "log", "-1", "--format=%ct"],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(asked.stdout) if asked.returncode == 0 and asked.stdout.strip() else UNDATED


def run(argv: list[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run a program whose words go to stderr.

    Raises:
        BuildError: it failed.
    """
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise BuildError(f"{' '.join(argv[:4])} … ended with {done.returncode}")


def pip(*words: str) -> None:
    """Run pip of the running environment; what this machine is told of packages elsewhere stays as it is.

    Raises:
        BuildError: it failed.
    """
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words])


def build(tree: Path, work: Path, *, epoch: int) -> Distributions:
    """Build both.

    Args:
        tree: what is built.
        work: an empty folder, for what is needed and for the result.
        epoch: the date of all files in them.

    Raises:
        BuildError: it failed.
    """
    backend = work / "backend"
    pip("install", "-qq", "--no-compile", f"--target={backend}", f"--constraint={tree / CONSTRAINTS}", "hatchling")
    out = work / "dist"
    sdist = _build("sdist", tree, out, backend, epoch)
    unpacked = work / "unpacked"
    unpacked.mkdir()
    run(["tar", "-xf", str(sdist), "--no-same-owner", "-C", str(unpacked)])
    (source,) = unpacked.iterdir()
    return Distributions(sdist, _build("wheel", source, out, backend, epoch))


def _build(kind: str, source: Path, out: Path, backend: Path, epoch: int) -> Path:
    env = {"PYTHONPATH": str(backend), "SOURCE_DATE_EPOCH": str(epoch)}
    run([sys.executable, "-P", "-m", "hatchling", "build", "-t", kind, "-d", str(out)], cwd=source, env=env)
    (built,) = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return built
