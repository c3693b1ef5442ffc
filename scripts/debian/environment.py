"""The environment that the Debian package holds: a venv of the distribution's own Python, without pip, made by hand.

It is made of wheels alone, chosen for the Debian that it is for and not for the machine that builds, so any machine of
the same architecture can build it.
"""

import platform
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Final

from attrs import frozen

from scripts.debian.distributions import CONSTRAINTS, BuildError, pip

# What an installer notes for itself. Without RECORD pip leaves these alone: dpkg owns them.
_NOTES: Final = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
# What nothing imports on a host.
_NEEDLESS: Final = ("*.pyi", "*.pyx", "*.pxd", "*.c", "*.h")
# The oldest libc for which wheels are made.
_OLDEST: Final = 17
_TAG: Final = re.compile(r"manylinux_2_(\d+)_")
_OLD_TAGS: Final[Mapping[str, int]] = {"manylinux2014": 17, "manylinux2010": 12, "manylinux1": 5}


@frozen
class Suite:
    """A Debian that packages are built for."""

    release: int
    name: str
    # Of its own Python, which the environment is tied to.
    python: str
    # The minor version of its libc, 2.N: what wheels may ask for.
    libc: int


SUITES: Final = {each.name: each for each in (Suite(12, "bookworm", "3.11", 36), Suite(13, "trixie", "3.13", 41))}


@frozen
class Part:
    """A distribution in the environment, for the file of copyrights."""

    name: str
    version: str
    license: str


@frozen
class Environment:
    """What was put together."""

    parts: tuple[Part, ...]
    # The minor version of libc that its compiled parts need.
    libc: int


def make(wheel: Path, tree: Path, suite: Suite, folder: Path) -> Environment:
    """Put the wheel and all that it needs into `folder`, which becomes a venv of the suite's Python.

    Raises:
        BuildError: something cannot be had as a wheel for this suite.
    """
    packages = folder / f"lib/python{suite.python}/site-packages"
    _install(wheel, tree, suite, packages)
    found = sorted(packages.glob("*.dist-info"))
    environment = Environment(
        tuple(_part(each) for each in found), max((_libc(each) for each in found), default=_OLDEST)
    )
    _strip(packages, found)
    (folder / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {suite.python}\n"
    )
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(f"/usr/bin/python{suite.python}")
    return environment


def _install(wheel: Path, tree: Path, suite: Suite, target: Path) -> None:
    machine = platform.machine()
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in range(suite.libc, _OLDEST - 1, -1)]
    pip(
        "install", "-qq", "--no-compile", "--only-binary=:all:", "--implementation=cp",
        f"--python-version={suite.python}", *platforms, f"--platform=manylinux2014_{machine}",
        f"--target={target}", f"--constraint={tree / CONSTRAINTS}", str(wheel),
    )  # fmt: skip
    shutil.rmtree(target / "bin", ignore_errors=True)


def _strip(packages: Path, infos: list[Path]) -> None:
    """Take out what a host does not need: tests of the libraries, notes of pip, sources of what is compiled."""
    for info in infos:
        for name in _NOTES:
            (info / name).unlink(missing_ok=True)
    folders = [each for each in packages.rglob("*") if each.is_dir()]
    for folder in folders:
        if folder.name in {"tests", "__pycache__"} or folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
    for pattern in _NEEDLESS:
        for path in packages.rglob(pattern):
            path.unlink()
    for folder in sorted(folders, reverse=True):
        with suppress(OSError):  # one that is not empty
            folder.rmdir()


def _part(info: Path) -> Part:
    said = _headers(info / "METADATA")
    classified = [text.rpartition(" :: ")[2] for text in said.get_all("Classifier", []) if "License ::" in text]
    named = said["License-Expression"] or ", ".join(classified) or (said["License"] or "").split("\n")[0]
    if not named:
        raise BuildError(f"{info.name} does not say under which license it is")
    return Part(str(said["Name"]), str(said["Version"]), str(named))


def _libc(info: Path) -> int:
    """Return the oldest libc for which a wheel was made."""
    tags = [str(tag) for tag in _headers(info / "WHEEL").get_all("Tag", [])]
    minors = [int(match[1]) for tag in tags if (match := _TAG.search(tag))]
    minors += [minor for tag in tags for name, minor in _OLD_TAGS.items() if f"{name}_" in tag]
    return min(minors, default=_OLDEST)


def _headers(path: Path) -> Message:
    return Parser().parsestr(path.read_text(), headersonly=True)
