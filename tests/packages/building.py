"""Packages of this tree for the tests.

Built from a copy of it, so that nobody edits what is being built, and kept beside the images of the test hosts, by what
they are made from.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.architecture.tracked import ROOT, tracked_files
from tests.harness import image

EPOCH: Final = 1_700_000_000
# Of the tree: what ends up in the package, or makes it.
PARTS: Final = (  # noqa: SIM905 - one name a line is hard to read
    "datum providers docs scripts pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md"
).split()
SITE: Final = "usr/lib/datum/dist/lib/python3.11/site-packages"
# Of the packages that are made from another one, for speed.
_UNCOMPRESSED: Final = ("-Znone",)


@frozen
class Built:
    """What was built of a tree."""

    sdist: Path
    wheel: Path
    deb: Path

    @classmethod
    def of(cls, folder: Path) -> "Built":
        """Find the three in a folder."""
        (sdist,), (wheel,), (deb,) = (sorted(folder.glob(pattern)) for pattern in ("*.tar.gz", "*.whl", "*.deb"))
        return cls(sdist, wheel, deb)


def copy_tree(target: Path, *parts: str) -> Path:
    """Copy what is tracked of this tree, or of these parts of it."""
    for path in tracked_files():
        place = path.relative_to(ROOT)
        if not parts or place.parts[0] in parts:
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / place)
    return target


def build(
    tree: Path, out: Path, *, env: Mapping[str, str], suite: str = image.SUITE, through: tuple[str, ...] = ()
) -> Built:
    """Build a tree as `scripts/build-deb` does once its environment is there."""
    argv = [*through, sys.executable, "-m", "scripts.debian.build", "--out", str(out), "--suite", suite]
    paths = f"{tree}:{tree / 'providers'}"
    done = subprocess.run(
        argv,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Built.of(out)


def find_or_build(suite: str = image.SUITE) -> Built:
    """Return the packages of this tree, building them where they are missing; others wait meanwhile."""
    digest = hashlib.sha256(suite.encode())
    for path in tracked_files():
        if path.relative_to(ROOT).parts[0] in PARTS:
            digest.update(f"{path.relative_to(ROOT)}\0{path.stat().st_mode}\0".encode() + path.read_bytes())
    folder = image.cache() / f"packages-{digest.hexdigest()[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "packages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="build.", dir=folder.parent) as work:
                tree = copy_tree(Path(work, "tree"), *PARTS)
                build(tree, Path(work, "out"), env={"SOURCE_DATE_EPOCH": str(EPOCH)}, suite=suite)
                Path(work, "out").rename(folder)
    return Built.of(folder)


def unpack(deb: Path, folder: Path) -> Path:
    """Unpack a package, with its control files in DEBIAN."""
    subprocess.run(["dpkg-deb", "-R", str(deb), str(folder)], check=True)
    return folder


def repacked(deb: Path, out: Path, version: str, change: Callable[[Path], None] = lambda _: None) -> Path:
    """Make a package of another version from one that was built, as if the tree had said so, with a change."""
    with tempfile.TemporaryDirectory(dir=out) as work:
        root = unpack(deb, Path(work, "root"))
        old = _field(deb, "Version")
        for name in ("control", "postinst"):
            path = root / "DEBIAN" / name
            path.write_text(path.read_text().replace(old, f"{version}+deb12"))
        (about,) = (root / SITE).glob("datum_agent-*.dist-info/METADATA")
        about.write_text(about.read_text().replace(f"\nVersion: {old.partition('+')[0]}\n", f"\nVersion: {version}\n"))
        change(root)
        target = out / f"datum-agent_{version}+deb12_all.deb"
        argv = ["dpkg-deb", "--root-owner-group", *_UNCOMPRESSED, "--build", str(root), str(target)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return target


def index_of(deb: Path, place: str) -> str:
    """Return the entry of a package in an archive's list, where it lies at `place`."""
    fields = subprocess.run(["dpkg-deb", "-f", str(deb)], check=True, capture_output=True, text=True).stdout
    data = deb.read_bytes()
    return f"{fields}Filename: {place}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"


def _field(deb: Path, name: str) -> str:
    asked = subprocess.run(["dpkg-deb", "-f", str(deb), name], check=True, capture_output=True, text=True)
    return asked.stdout.strip()
