"""What the agent imports, for the Python of a Debian that is not the one of the running environment.

pip fetches wheels of the versions that ``constraints.txt`` pins, once, into the cache beside the images. ``python -m
tests.harness.libraries`` does so and prints the folder.
"""

import fcntl
import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path
from typing import Final

from tests.harness import image

PYTHON: Final = "3.13"
"""That of trixie."""

CONSTRAINTS: Final = Path(__file__).parents[2] / "constraints.txt"
DISTRIBUTION: Final = "datum-agent"


def find_or_fetch() -> Path:
    """Return the folder of the libraries, fetching them first where they are missing.

    Any number of processes may call this at once: one fetches, the others wait for it.

    Raises:
        ImageError: they are missing and cannot be had here.
    """
    wanted = sorted(requires(DISTRIBUTION) or ())
    recipe = [PYTHON, platform.machine(), *wanted, CONSTRAINTS.read_text()]
    key = hashlib.sha256("\n".join(recipe).encode()).hexdigest()[:12]
    target = image.cache() / f"python{PYTHON}-{key}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "libraries.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch(target, wanted)
    return target


def compiled(sources: str) -> Path:
    """Return the folder, made where it is missing, in which hosts keep what they compiled of these sources.

    Nothing here is compiled for that Python, and without this each command in a host would do it again.
    """
    key = hashlib.sha256(sources.encode()).hexdigest()[:12]
    folder = image.cache() / f"compiled{PYTHON}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _fetch(target: Path, wanted: list[str]) -> None:
    """Fetch into a folder beside the target, then rename: a killed fetch leaves no half folder."""
    with tempfile.TemporaryDirectory(prefix="fetch.", dir=target.parent) as name:
        work = Path(name, "libraries")
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--no-input",
            "install",
            "--no-compile",
            "-qq",
        ]
        of_wheels = ["--only-binary=:all:", f"--python-version={PYTHON}", f"--target={work}"]
        done = subprocess.run(
            [*pip, *of_wheels, f"--constraint={CONSTRAINTS}", *wanted],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        if done.returncode:
            raise image.ImageError(f"the agent's libraries for Python {PYTHON} cannot be had; pip's words are above")
        shutil.rmtree(work / "bin", ignore_errors=True)  # which would start this machine's Python
        work.rename(target)


def main() -> int:
    """Print the folder; fetch first what is missing."""
    try:
        sys.stdout.write(f"{find_or_fetch()}\n")
    except image.ImageError as error:
        sys.stderr.write(f"tests.harness.libraries: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
