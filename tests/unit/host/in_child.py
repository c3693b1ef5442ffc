"""Run a piece of a test in a forked child: with other ids, in other namespaces, up to an exec that never comes.

What the child covered is added to what this process covered.
"""

import ctypes
import os
import pickle
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from coverage import Coverage

T = TypeVar("T")

NOBODY = 65534
_PR_SET_DUMPABLE = 4


def in_child(work: Callable[[], T], *, uid: int | None = None, timeout: float = 30) -> T:
    """Return what `work` returns in a child, or raise what it raises there."""
    answers, own = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(work, uid, own)
    os.close(own)
    data = b""
    try:
        while select.select([answers], [], [], timeout)[0]:
            chunk = os.read(answers, 1 << 20)
            if not chunk:
                break
            data += chunk
    finally:
        os.close(answers)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    kind, value, covered = pickle.loads(data)
    for name, found in covered.items():
        _covered().setdefault(name, set()).update(found)
    if kind == "error":
        raise value
    return value  # type: ignore[no-any-return] # as the child pickled it


def names(folder: str | Path) -> list[str]:
    """Return the names in a directory, sorted."""
    return sorted(os.listdir(folder))  # noqa: PTH208 - names are what the tests compare


def _be_child(work: Callable[[], Any], uid: int | None, answers: int) -> None:
    try:
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            # or the own files below /proc would belong to root
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        answer = ("value", work())
    except BaseException as error:
        answer = ("error", error)
    with os.fdopen(answers, "wb") as stream:
        pickle.dump((*answer, {name: set(found) for name, found in _covered().items()}), stream)
    os._exit(0)


def _covered() -> dict[str, set[Any]]:
    """What the running coverage measurement has collected, by file; coverage offers no public way across a fork."""
    collector = getattr(Coverage.current(), "_collector", None)
    return getattr(collector, "data", {})
