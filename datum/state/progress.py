"""What the running pass is doing, for `datum status` (design 1.6). Not state: nothing is decided on it.

Effects: the file `<state>/run/progress.json`. Reading it takes no lock and disturbs no pass.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import asdict, fields_dict, frozen

from datum.state.turns import Turn, is_held

RUN: Final = "run"
"""Folder below the state directory whose content may be deleted between passes."""
QUEUE: Final = "queue"
_FILE: Final = "progress.json"


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


def write_progress(state: Path, progress: Progress) -> None:
    """Show where the pass is. A disk that cannot take it (full, read-only) does not end a pass."""
    path = state / RUN / _FILE
    temporary = path.with_name(f"{_FILE}.new")
    with suppress(OSError):
        temporary.write_text(json.dumps(asdict(progress)))
        temporary.replace(path)


def clear_progress(state: Path) -> None:
    """Show nothing any more."""
    with suppress(OSError):
        (state / RUN / _FILE).unlink()


def read_progress(state: Path) -> Progress | None:
    """Return where the running pass is; None when none runs, or it has shown nothing yet.

    Raises:
        OSError: the caller may not look into the state directory.
    """
    try:
        progress = _decode((state / RUN / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    # Left by a pass that was killed, or by another boot.
    if progress is None or Turn.parse(progress.request) is None:
        return None
    return progress if is_held(state / RUN / QUEUE / progress.request) else None


def _decode(data: bytes) -> Progress | None:
    """Return what was written; None for anything else."""
    try:
        document = json.loads(data)
    except ValueError:
        return None
    if not isinstance(document, dict) or set(document) != set(fields_dict(Progress)):
        return None
    progress = Progress(**document)
    texts = (progress.request, progress.stage, progress.action, progress.started_at)
    numbers = (progress.pid, progress.started, progress.since)
    is_sound = all(isinstance(text, str) for text in texts) and all(isinstance(n, (int, float)) for n in numbers)
    return progress if is_sound else None


def own_progress(request: str, *, started_at: str, started: float) -> Progress:
    """Return the progress of a pass of this process that begins now."""
    return Progress(request, os.getpid(), "start", "", started_at, started, started)
