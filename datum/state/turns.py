"""The queue in front of the pass lock: one file per request, whose name says everything that is decided on.

Rules of design 1.6 kept here, so that SIGKILL of anybody at any instant leaves the others working:
- A request is a file that its owner holds under flock. The kernel drops the lock with its holder, so a file whose lock
  can be had is dead, and whoever looks removes it.
- A name is `<ticket>.<role>.<pid>.<digest of the key>.<partner's ticket>`; roles change by rename.
- What a file holds is for the report alone: who asked, and when. Nothing is decided on it.
- Names are read and changed only under the queue's own mutex, which is held for milliseconds and dies like the rest.
- Probes take the lock shared, owners hold it exclusively and take it before the file has its name: a probe never
  disturbs an owner, nor another probe.

Effects: files below `<state>/run/queue`. Nothing of it is state; all of it may be deleted between passes.
"""

import enum
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from attrs import evolve, frozen

_NAME: Final = re.compile(
    r"(?P<ticket>[0-9]{10})\.(?P<role>[wjr])\.(?P<pid>[0-9]+)\.(?P<digest>[0-9a-f]{16})\.(?P<partner>[0-9]{10})"
)
_RESULT: Final = re.compile(r"(?P<ticket>[0-9]{10})\.(?:result|part)")
# A request that is being made; only the holder of the mutex has one.
_NEW: Final = "new"
_MUTEX: Final = "mutex"
# Bytes of a note that are read.
_MOST_NOTED: Final = 4096


def is_of_queue(name: str) -> bool:
    """Whether a name in the folder of the queue is one that the queue gives."""
    return name in {_MUTEX, _NEW} or Turn.parse(name) is not None or _RESULT.fullmatch(name) is not None


class Role(enum.StrEnum):
    """What a request is doing."""

    WAITING = "w"
    # Waits for the outcome of the equal request `partner`.
    JOINED = "j"
    RUNNING = "r"


@frozen(order=True)
class Turn:
    """One request, as its file's name says it. Ordered by arrival."""

    ticket: int
    role: Role
    pid: int
    # Of the key: equal requests have equal digests.
    digest: str
    # Ticket of the request joined; 0 for none.
    partner: int = 0

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a file's name; None for one that is no request."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(int(match["ticket"]), Role(match["role"]), int(match["pid"]), match["digest"], int(match["partner"]))

    def __str__(self) -> str:
        return f"{self.ticket:010d}.{self.role}.{self.pid}.{self.digest}.{self.partner:010d}"


class HeldFile:
    """A file under this process's exclusive flock. The lock goes with `release`, or with the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Lock the file, made where it is missing; None while somebody else holds it.

        Raises:
            OSError: the file cannot be opened or made.
        """
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            if not _try_lock(descriptor, fcntl.LOCK_EX):
                os.close(descriptor)
                return None
            # Deleted between opening and locking: the lock of a file without a name keeps nobody out.
            if _is_at(descriptor, path):
                return cls(descriptor)
            os.close(descriptor)

    def keep_from_children(self) -> None:
        """Let forked children give the file up at once, without unlocking it.

        A child that hangs on a dead mount must not keep the lock of a pass that is gone.
        """
        os.register_at_fork(after_in_child=self._forget)

    def note(self, text: bytes) -> None:
        """Write what the file holds. A disk that cannot take it (full, read-only) keeps no request from its turn."""
        with suppress(OSError):
            os.pwrite(self._descriptor, text, 0)

    @property
    def is_mine(self) -> bool:
        """Whether this process still holds it."""
        return self._descriptor >= 0

    def is_at(self, path: Path) -> bool:
        """Whether the file is held and still has this name."""
        return self.is_mine and _is_at(self._descriptor, path)

    def release(self) -> None:
        """Give the lock up; more than once does nothing."""
        if self.is_mine:
            descriptor, self._descriptor = self._descriptor, -1
            # Explicitly: a child between fork and exec may still share the open file.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _forget(self) -> None:
        if self.is_mine:
            os.close(self._descriptor)
            self._descriptor = -1


class Queue:
    """The folder of the requests. Every method but `result` and `is_alive` wants the mutex to be held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def mutex(self) -> Iterator[bool]:
        """Hold the queue still; gives False, and holds nothing, while somebody else does."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = HeldFile.take(self.folder / _MUTEX)
        try:
            yield held is not None
        finally:
            if held is not None:
                held.release()

    def scan(self) -> tuple[Turn, ...]:
        """Return the live requests in the order of their arrival; remove the dead, and results nobody waits for."""
        names = os.listdir(self.folder)  # noqa: PTH208 - names are all there is
        turns = sorted(turn for turn in map(Turn.parse, names) if turn is not None)
        live = tuple(turn for turn in turns if self.is_alive(turn))
        for turn in set(turns) - set(live):
            self._path(turn).unlink(missing_ok=True)
        # A request that runs may have written its result and not yet removed itself.
        wanted = {turn.partner for turn in live} | {turn.ticket for turn in live}
        for match in filter(None, map(_RESULT.fullmatch, names)):
            if int(match["ticket"]) not in wanted:
                (self.folder / match.string).unlink(missing_ok=True)
        return live

    def enter(self, turn: Turn, note: bytes = b"") -> HeldFile:
        """Add a request of this process.

        Args:
            turn: its name.
            note: what its file holds.
        """
        new = self.folder / _NEW
        new.unlink(missing_ok=True)
        held = HeldFile.take(new)
        if held is None:  # pragma: no cover - the file is new, and nobody else makes one while the mutex is held
            raise BlockingIOError
        held.keep_from_children()
        held.note(note)
        # Left by an earlier request of the same number, all of whose partners are gone.
        self.result(turn.ticket).unlink(missing_ok=True)
        new.rename(self._path(turn))
        return held

    def change(self, turn: Turn, role: Role, *, partner: int = 0) -> Turn:
        """Give a request of this process another role."""
        changed = evolve(turn, role=role, partner=partner)
        self._path(turn).rename(self._path(changed))
        return changed

    def holds(self, turn: Turn, held: HeldFile) -> bool:
        """Whether the request is still there; someone may have emptied the folder."""
        return held.is_at(self._path(turn))

    def leave(self, turn: Turn, held: HeldFile) -> None:
        """Remove a request of this process; needs no mutex, since a missing file and a dead one are the same."""
        with suppress(OSError):
            if self.holds(turn, held):
                self._path(turn).unlink()
        held.release()

    def is_alive(self, turn: Turn) -> bool:
        """Whether the owner of the request still exists. Takes nothing from it."""
        return is_held(self._path(turn))

    def noted(self, turn: Turn) -> bytes | None:
        """Return what a request's file holds; None when it is gone."""
        try:
            with self._path(turn).open("rb") as stream:
                return stream.read(_MOST_NOTED)
        except FileNotFoundError:
            return None

    def result(self, ticket: int) -> Path:
        """Return where the result of a request stands once it ended."""
        return self.folder / f"{ticket:010d}.result"

    def _path(self, turn: Turn) -> Path:
        return self.folder / str(turn)


def is_held(path: Path) -> bool:
    """Whether some process holds the file under an exclusive lock. Takes nothing from it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def next_ticket(turns: tuple[Turn, ...]) -> int:
    """Return a ticket after every one that a live request has or waits for."""
    return 1 + max((max(turn.ticket, turn.partner) for turn in turns), default=0)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    return False
