"""Runs whole processes and takes their time: CPU (user and system, children included) and wall."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from generate import make_root
from machine import machine as own_machine

HERE = Path(__file__).resolve().parent
DATUM = (sys.executable, "-m", "datum")
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "HOME": os.environ.get("HOME", "/"),
    **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
}


class Samples:
    """The times of one command line, run over and over."""

    def __init__(self, command: Sequence[str], place: Path) -> None:
        self.command = tuple(command)
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self._place = str(place)

    def run(self) -> None:
        """Run it once more."""
        before, begun = os.times(), time.monotonic()
        quiet(self.command)
        self.wall.append(time.monotonic() - begun)
        after = os.times()
        user, system = after.children_user - before.children_user, after.children_system - before.children_system
        self.cpu.append(user + system)

    def to_json(self) -> dict[str, object]:
        """Return the raw samples, with a command line without the places of this machine."""
        line = " ".join(self.command).replace(self._place, "PLACE").replace(sys.executable, "python")
        return {"command": line.replace(str(HERE), "bench"), "cpu": self.cpu, "wall": self.wall}


def middle(samples: Mapping[str, Mapping[str, object]], name: str, what: str) -> float:
    """Return the median of a contender's raw samples."""
    values = samples[name][what]
    assert isinstance(values, list)
    return float(median(values))


def quiet(command: Sequence[str]) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def enrol(place: Path, host: str, root: Path) -> list[str]:
    """Make a root with the directories in it, enrol it as a host, and return the command line of a pass there."""
    make_root(root, place)
    where = ["--root", str(root)]
    quiet([*DATUM, "init", "--repo", str(place / "fleet"), "--host", host, "--no-timer", *where])
    return [*DATUM, "apply", *where]


def check(place: Path, root: Path) -> None:
    """See that every file is below the root as it should be."""
    quiet([sys.executable, str(HERE / "floor.py"), str(place / "floor.json"), str(root)])


def machine() -> Mapping[str, str]:
    """Return what the figures depend on."""
    return {**own_machine(), "cfengine": _version(["cf-agent", "--version"])}


def file_system(place: Path) -> str:
    """Return the kind of file system on which the files were written."""
    found = subprocess.run(["stat", "-f", "-c", "%T", str(place)], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def _version(command: Sequence[str]) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()[0]
