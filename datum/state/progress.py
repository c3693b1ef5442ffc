"""What the running pass is doing, for `datum status` (design 1.6). Not state: nothing is decided on it.

Effects: the file `<state>/run/progress.json`. Reading it takes no lock and disturbs no pass.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import fields_dict, frozen

from datum.state.turns import Turn, is_held

RUN: Final = "run"
"""Folder below the state directory whose content may be deleted between passes."""
QUEUE: Final = "queue"
_FILE: Final = "progress.json"
# How often a record is read again that was written meanwhile.
_READINGS: Final = 10


@frozen
class Progress:
    """Where the running pass is."""

    # Name of the pass's file in the queue: while that is held, the pass lives.
    request: str
    pid: int
    # Stage of design 1, as people read it.
    stage: str
    # Text of the action in hand, or empty.
    action: str
    # Wall clock at the start of the pass, ISO 8601, as the pass was told it.
    started_at: str
    # Seconds on the monotonic clock of this boot: start of the pass, and of the stage or action.
    started: float
    since: float
    # Who asked for it, in words.
    asked_by: str = ""


def is_of_run(name: str) -> bool:
    """Whether a file in the folder `run` is one that a pass shows itself by."""
    return name in {_FILE, f"{_FILE}.new"}


_FIELDS: Final = tuple(fields_dict(Progress))


class ProgressFile:
    """Where one pass shows what it does: written at every action, so in place and without a new name for each.

    A reader may come across a record that is half written; see `read_progress`.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / RUN / _FILE
        self._descriptor = -1
        # Bytes of the longest record so far: a shorter one is filled up to it.
        self._length = 0

    def write(self, progress: Progress) -> None:
        """Show where the pass is. A disk that cannot take it (full, read-only) does not end a pass."""
        data = json.dumps({name: getattr(progress, name) for name in _FIELDS}).encode().ljust(self._length)
        self._length = len(data)
        with suppress(OSError):
            if self._descriptor < 0:
                self._begin(data)
            else:
                os.pwrite(self._descriptor, data, 0)

    def clear(self) -> None:
        """Show nothing any more."""
        with suppress(OSError):
            self._path.unlink()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self, data: bytes) -> None:
        temporary = self._path.with_name(f"{_FILE}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(descriptor, data, 0)
            temporary.replace(self._path)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor


def read_progress(state: Path) -> Progress | None:
    """Return where the running pass is; None when none runs, or it has shown nothing yet.

    Raises:
        OSError: the caller may not look into the state directory.
    """
    try:
        progress = _decode(_steady(state / RUN / _FILE))
    except FileNotFoundError:
        return None
    # Left by a pass that was killed, or by another boot.
    if progress is None or Turn.parse(progress.request) is None:
        return None
    return progress if is_held(state / RUN / QUEUE / progress.request) else None


def _steady(path: Path) -> bytes:
    """Return what a file holds that is written in place meanwhile: what two readings agree on.

    Raises:
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    for _ in range(_READINGS):
        again = path.read_bytes()
        if again == data:
            break
        data = again
    return data


def _decode(data: bytes) -> Progress | None:
    """Return what was written; None for anything else."""
    try:
        document = json.loads(data)
    except ValueError:
        return None
    if not isinstance(document, dict) or set(document) != set(_FIELDS):
        return None
    progress = Progress(**document)
    texts = (progress.request, progress.stage, progress.action, progress.started_at, progress.asked_by)
    numbers = (progress.pid, progress.started, progress.since)
    is_sound = all(isinstance(text, str) for text in texts) and all(isinstance(n, (int, float)) for n in numbers)
    return progress if is_sound else None


def own_progress(request: str, *, started_at: str, started: float, asked_by: str = "") -> Progress:
    """Return the progress of a pass of this process that begins now."""
    return Progress(request, os.getpid(), "start", "", started_at, started, started, asked_by)
