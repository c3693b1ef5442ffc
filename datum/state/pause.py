"""The file of a pause, `<state>/pause.yaml`: its bytes, written whole or not at all. What they say is not read here.

Who writes it takes no pass lock: a pause must not wait for a pass. Two that write at once follow each other by a lock
on the folder, which dies with its holder. Effects: this one file and its temporary one.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import StateError
from datum.state.folders import replacing, sync_folder

MOST_BYTES: Final = 1 << 20
"""Bytes; a larger file is none of datum's."""


class UnusablePauseError(Exception):
    """The file is there and cannot be used; the text says why, as the end of a sentence."""


def read_pause_bytes(path: Path) -> bytes | None:
    """Return what the file holds; None when there is none.

    Raises:
        UnusablePauseError: somebody else could have written it, or it cannot be read.
    """
    try:
        # O_NONBLOCK: a FIFO in its place must not hang the pass.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else f"reading it failed ({error.strerror})"
        raise UnusablePauseError(why) from error
    try:
        _check_safe(os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnusablePauseError(f"reading it failed ({error.strerror})") from error
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise UnusablePauseError(f"it is larger than {MOST_BYTES} bytes")
    return data


def _check_safe(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnusablePauseError("it is not a regular file")
    if status.st_uid not in {0, os.geteuid()}:
        raise UnusablePauseError(f"it belongs to user {status.st_uid}, neither to root nor to the user who runs datum")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnusablePauseError(f"others can write it (mode {stat.S_IMODE(status.st_mode):04o})")


def write_pause_bytes(path: Path, data: bytes) -> None:
    """Make the file hold these bytes, durably, mode 0644, or leave it as it was.

    Raises:
        StateError: it cannot be written.
    """
    # Who may look into the folder may read why nothing changes.
    with _alone(path, "written"), replacing(path, mode=0o644) as stream:
        stream.write(data)
        stream.flush()
        with suppress(FileNotFoundError):
            if _is_folder(path):
                os.fsync(stream.fileno())
                path.rmdir()


def remove_pause(path: Path) -> bool:
    """Remove the file, whatever is in it, or an empty folder in its place, durably; return whether there was one.

    Raises:
        StateError: it cannot be removed.
    """
    with _alone(path, "removed"):
        _unlink(path.with_name(f".{path.name}.part"))
        if not _unlink(path):
            return False
        sync_folder(path.parent)
        return True


def _unlink(path: Path) -> bool:
    """Remove a file or an empty folder; return whether there was one.

    Looked for first: what is mounted read-only refuses to remove what is not there, too.
    """
    try:
        is_folder = _is_folder(path)
    except FileNotFoundError:
        return False
    if is_folder:
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    return True


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


@contextmanager
def _alone(path: Path, what: str) -> Iterator[None]:
    """Let nobody else of this module write meanwhile.

    Raises:
        StateError: whatever the system refuses.
    """
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StateError(
            Diagnostic(
                location=SourceLocation(str(path)),
                code="pause-unwritable",
                summary=f"The pause cannot be {what}.",
                detail=f"{path}: {error.strerror}. Nothing was changed.",
                hint="make room and rights for it, and move away what is no file there; 'systemctl stop datum.timer' "
                "keeps passes from beginning meanwhile",
            )
        ) from error
