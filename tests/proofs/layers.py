"""Roots that are layers over the Debian image: made in milliseconds, known by what differs from the image.

Only a worker (`workers`) makes one: its mounts stand in a mount namespace of its own, and end with it. The programs of
such a root that change accounts and units can be struck in it, too (`points`).
"""

import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from tests.harness import image
from tests.harness.linux import CLONE_NEWNS, MS_PRIVATE, MS_REC, mount, unshare

# What is struck is said here, and traces lie here, while a pass runs; below a root.
STRIKES: Final = "usr/local/strikes"
_TOOLS: Final = (
    *("useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel", "gpasswd", "chage", "chpasswd"),
    *("systemctl", "dpkg-deb"),
)
# They are run by their paths: the wrapper takes their place.
_NAMED: Final = ("usr/bin/apt-get", "usr/bin/apt-mark", "usr/bin/dpkg")
_REAL: Final = "usr/local/real"
# Stands before the program on the way that datum looks for programs, or in its place. Counts the programs of the pass.
_WRAPPER: Final = f"""#!/bin/sh
real=/{_REAL}/${{0##*/}}
[ -x "$real" ] || real=/usr/sbin/${{0##*/}}
[ -x "$real" ] || real=/usr/bin/${{0##*/}}
[ -w /{STRIKES}/count ] || exec "$real" "$@"  # or it only asks, and sees everything read-only
read -r number < /{STRIKES}/count
number=$((number + 1))
echo $number > /{STRIKES}/count
read -r wanted options < /{STRIKES}/strike
traced='mount -n -t proc proc /proc && exec strace "$@"'  # which names what stands behind descriptors
case $wanted in
all | "$number")
    exec unshare --mount sh -c "$traced" sh -qq -o "/{STRIKES}/$number" $options -- "$real" "$@" ;;
esac
exec "$real" "$@"
"""
_LOWERS: Final = "lowers"


def workers(count: int = 1) -> ProcessPoolExecutor:
    """Return processes that may make such roots; what they are given and give back is pickled."""
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_be_alone)


def _be_alone() -> None:
    if os.geteuid() == 0:
        unshare(CLONE_NEWNS)
        mount("", "/", flags=MS_REC | MS_PRIVATE)


def lay(place: Path, below: Path | None = None) -> Path:
    """Make a root in a folder, and return it.

    Args:
        place: a folder that exists.
        below: the root that it is a copy of, which must not be written any more; None: the image.
    """
    if below is None:
        base = image.find_or_build()
        lowers = [_make_tools(place / "tools", base), str(base)]
    else:
        lowers = [str(below.parent / "upper"), *_lowers(below)]
    for name in ("root", "upper", "work"):
        (place / name).mkdir()
    # The root of a layer is that of the whole.
    (place / "upper").chmod(0o755)
    (place / _LOWERS).write_text("\n".join(lowers))
    where = f"lowerdir={':'.join(lowers)},upperdir={place}/upper,workdir={place}/work"
    mount("overlay", str(place / "root"), "overlay", data=f"{where},redirect_dir=off,metacopy=off")
    return place / "root"


def lift(root: Path) -> None:
    """Take the mount of a root away; what changed stays, to be laid below others."""
    # Lazily: who was started by a pass that was killed may stand in it for a moment.
    subprocess.run(["umount", "--lazy", str(root)], check=True)


def is_layered(root: Path) -> bool:
    """Whether a root is one of these."""
    return (root.parent / _LOWERS).exists()


def is_written(root: Path, path: str) -> bool:
    """Whether a pass, or what came before it, has written a file of the image, by its path relative to the root."""
    *uppers, _, _ = (root.parent / "upper", *map(Path, _lowers(root)))
    return any((upper / path).exists() for upper in uppers)


def differing(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield every path at which a root may differ from the image, relative to it, with the same path in the image."""
    *uppers, _, base = (root.parent / "upper", *map(Path, _lowers(root)))
    for path in sorted({str(path.relative_to(upper)) for upper in uppers for path in upper.rglob("*")}):
        yield path, base / path


def _lowers(root: Path) -> list[str]:
    return (root.parent / _LOWERS).read_text().splitlines()


def _make_tools(folder: Path, base: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    wrappers = [*(f"usr/local/sbin/{name}" for name in _TOOLS), *_NAMED]
    for path in (_REAL, *(str(Path(wrapper).parent) for wrapper in wrappers)):
        (folder / path).mkdir(parents=True, exist_ok=True)
    for above, _, _ in os.walk(folder):
        Path(above).chmod(0o755)
    for path in wrappers:
        (folder / path).write_text(_WRAPPER)
        (folder / path).chmod(0o755)
    for path in _NAMED:
        shutil.copy(base / path, folder / _REAL)
    return str(folder)
