"""The files of apt and dpkg below a root, without what says nothing of its packages, and whether they agree."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.proofs import layers

STATUS: Final = "var/lib/dpkg/status"
MARKS: Final = "var/lib/apt/extended_states"
FILES: Final = frozenset({MARKS})
# What is told of the past, what is fetched or computed anew, locks that nobody holds, what dpkg was writing when it
# was struck, which it writes anew, and the temporary files of an apt that was killed, which are cleared at boot.
_UNREAD: Final = re.compile(
    r"var/log/(apt(/.*)?|dpkg\.log|alternatives\.log)"
    r"|var/cache/(apt|debconf|ldconfig)(/.*)?"
    r"|var/lib/apt/((lists|periodic)(/.*)?|extended_states\.\w+)"
    r"|var/lib/dpkg/(available|status-new|[a-z]+-old|lock(-frontend)?|triggers/Lock|updates/tmp\.i|tmp\.ci(/.*)?)"
    r"|tmp/apt(-dpkg-install-|\.)\w+(/.*)?"
)


def is_of_no_package(path: str) -> bool:
    """Whether a path, relative to the root, says nothing of which packages are there."""
    return _UNREAD.fullmatch(path) is not None


def plain(root: Path, path: str) -> bytes:
    """Return the content of one of the files, in an order of its own."""
    return b"\n\n".join(sorted((root / path).read_bytes().strip().split(b"\n\n")))


def complaints(root: Path) -> Iterator[str]:
    """Yield what dpkg(1) finds wrong, and what it has begun and not finished; nothing where it never wrote."""
    if not layers.is_written(root, STATUS):
        return
    argv = ["chroot", str(root), "/usr/bin/dpkg", "--audit"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout or done.stderr:
        yield f"dpkg --audit says {done.stdout}{done.stderr}"
    folder = root / "var/lib/dpkg"
    begun = [*folder.glob("updates/[0-9]*")]
    if begun:
        yield f"dpkg has begun {', '.join(str(path.relative_to(root)) for path in begun)}"
