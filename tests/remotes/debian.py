"""Programs of Debian packages, unpacked beside the images and not installed: Debian starts a server that it installs.

apt says what is missing on this machine, and fetches it once. ``python -m tests.remotes.debian`` does so.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.harness import image

SERVER: Final = ("fcgiwrap", "nginx-light")
"""What serves git over TLS as most servers do."""

_NEW: Final = re.compile(r"^Inst (\S+) \((\S+) ", re.MULTILINE)


def find_or_unpack(packages: tuple[str, ...] = SERVER) -> Path:
    """Return a folder with all that these packages need and this machine lacks.

    Any number of processes may call this at once: one fetches, the others wait for it.

    Raises:
        ImageError: it is missing and cannot be had here.
    """
    os_release = Path("/etc/os-release")
    if not os_release.exists():
        raise image.ImageError("programs of Debian need a Debian machine")
    key = hashlib.sha256("\n".join((*packages, os_release.read_text())).encode()).hexdigest()[:12]
    target = image.cache() / f"unpacked-{key}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "unpacked.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _unpack(target, packages)
    return target


def program(name: str, folder: Path) -> str:
    """Return the path of a program that was unpacked, or else is installed."""
    places = [place / name for place in (folder / "usr/sbin", folder / "usr/bin", Path("/usr/sbin"), Path("/usr/bin"))]
    return str(next((place for place in places if place.exists()), places[0]))


def libraries(folder: Path) -> str:
    """Return the folders where the linker finds the libraries of unpacked programs, as `LD_LIBRARY_PATH` has them."""
    return ":".join(sorted({str(path.parent) for path in folder.glob("usr/lib/**/*.so*")}))


def _unpack(target: Path, packages: tuple[str, ...]) -> None:
    """Unpack into a folder beside the target, then rename: a killed one leaves no half folder."""
    wanted = _NEW.findall(_output("apt-get", "--simulate", "--no-install-recommends", "install", *packages))
    with tempfile.TemporaryDirectory(prefix="unpack.", dir=target.parent) as name:
        made = Path(name, "root")
        made.mkdir()
        Path(name).chmod(0o755)
        if wanted:
            _output("apt-get", "download", *(f"{package}={version}" for package, version in wanted), folder=name)
        for package in Path(name).glob("*.deb"):
            _output("dpkg-deb", "--extract", str(package), str(made))
        made.rename(target)


def _output(*argv: str, folder: str | None = None) -> str:
    try:
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(argv, check=True, capture_output=True, text=True, cwd=folder, env=environment).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        words = getattr(error, "stderr", "") or str(error)
        raise image.ImageError(f"{argv[0]} gives no packages: {words.strip()}") from error


def main() -> int:
    """Print the folder; fetch first what is missing."""
    try:
        sys.stdout.write(f"{find_or_unpack()}\n")
    except image.ImageError as error:
        sys.stderr.write(f"tests.remotes.debian: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
