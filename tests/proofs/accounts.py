"""The files of accounts below a root, without what is different from run to run, and whether they agree.

What the shadow tools leave behind when they are killed, and nobody minds, is told apart here, each with its reason.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAMES: Final = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")
FILES: Final = frozenset(f"etc/{name}" for name in _NAMES)
_ANY: Final = f"etc/({'|'.join(_NAMES)})"
# As it was before the last change, however many there were; the next change of the file that the tool was writing,
# which nobody reads; the number of a process on its way to a lock, and the copy that vipw makes, which nobody reads
# either.
_UNREAD: Final = re.compile(rf"{_ANY}(-|\+|\.\d+)|etc/passwd\.edit|run/mount")
# Of a process that is gone: the tools take it for none.
_LOCK: Final = re.compile(rf"{_ANY}\.lock")
# The day of a change, and the first number that was free.
_CHOSEN: Final = {
    "etc/shadow": (rb"^([^:]*:[^:]*:)\d+", rb"\1*"),
    "etc/gshadow": (rb"^([^:]*:)[x!]:", rb"\1!:"),
    **dict.fromkeys(("etc/subuid", "etc/subgid"), (rb"^([^:]*:)\d+", rb"\1*")),
}
_UNCHANGED: Final = re.compile(r"(pwck|grpck): no changes\n?")


def is_of_no_account(root: Path, path: str) -> bool:
    """Whether a path, relative to the root, is what the shadow tools leave behind and nobody minds."""
    if _UNREAD.fullmatch(path):
        return True
    if not _LOCK.fullmatch(path) or not (root / path).exists():
        return False
    holder = (root / path).read_bytes().strip(b"\0\n ")
    return not holder.isdigit() or not Path(f"/proc/{int(holder)}").exists()


def plain(root: Path, path: str) -> bytes:
    """Return the content of one of the files, in an order of its own."""
    lines = _lines(root, path)
    if path in _CHOSEN:
        lines = [re.sub(*_CHOSEN[path], line) for line in lines]
    if path in {"etc/group", "etc/gshadow"}:
        lines = [b":".join((*line.split(b":")[:-1], _sorted(line.split(b":")[-1]))) for line in lines]
    return b"\n".join(sorted(lines))


def complaints(root: Path) -> Iterator[str]:
    """Yield what pwck(8) and grpck(8) find wrong."""
    for tool in ("pwck", "grpck"):
        argv = ["chroot", str(root), tool, "-r", "-q"]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        said = _UNCHANGED.sub("", done.stdout + done.stderr).strip()
        if done.returncode and said:
            yield f"{tool} -r -q says {said}"


def _lines(root: Path, path: str) -> list[bytes]:
    return (root / path).read_bytes().splitlines() if (root / path).exists() else []


def _sorted(members: bytes) -> bytes:
    return b",".join(sorted(members.split(b",")))
