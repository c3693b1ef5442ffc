"""Running a command as somebody else, who may not be able to reach the interpreter where it lies."""

import os
import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

_REPOSITORY: Final = Path(__file__).resolve().parents[2]


@frozen
class Caller:
    """Who runs a command in a process of its own."""

    uid: int

    @property
    def is_self(self) -> bool:
        """Whether it is who runs the tests."""
        return self.uid == os.geteuid()

    def command(self, argv: Sequence[str], folder: Path) -> list[str]:
        """Return the arguments that run a command as the caller; the process id stays the same down to the command.

        A home of root is closed to others, and the interpreter may lie in it: then the command runs in a mount
        namespace of its own where the closed folder is replaced by one that shows only what Python needs.

        Args:
            argv: the command.
            folder: one that the caller can reach.
        """
        if self.is_self:
            return list(argv)
        drop = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--", *argv]
        hidden = _hidden()
        if not hidden:
            return drop
        script = _opening(hidden, folder / "stage") + f"exec {shlex.join(drop)}\n"
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script]


def _hidden() -> dict[Path, Path]:
    """Return the folders that Python needs and others cannot reach, each with the closed folder above it."""
    found = {}
    for needed in (sys.base_prefix, sys.prefix, _REPOSITORY):
        path = Path(needed).resolve()
        closed = [above for above in reversed(path.parents) if not above.stat().st_mode & stat.S_IXOTH]
        if closed:
            found[path] = closed[0]
    return found


def _opening(hidden: dict[Path, Path], stage: Path) -> str:
    lines = [["mkdir", "-p", str(stage)], ["mount", "-t", "tmpfs", "none", str(stage)]]
    for number, path in enumerate(hidden):
        lines += [["mkdir", str(stage / str(number))], ["mount", "--bind", str(path), str(stage / str(number))]]
    lines += [
        ["mount", "-t", "tmpfs", "-o", "mode=755", "none", str(closed)] for closed in sorted(set(hidden.values()))
    ]
    for number, path in enumerate(hidden):
        lines += [["mkdir", "-p", str(path)], ["mount", "--bind", str(stage / str(number)), str(path)]]
    lines += [["umount", "-R", str(stage)], ["rmdir", str(stage)]]
    return "".join(f"{shlex.join(line)}\n" for line in lines)
