"""The pass lock: one pass per host, equal requests share one (design 1.6).

Exclusion rests on one thing alone, flock on `<state>/lock`, which dies with its holder; the file is never deleted.
Passes that would change the same host for several state directories hold one more file, `HOST_LOCK`, in no order. The
queue (`turns`) only says who is next and who rides along:
- a request joins an equal one that is still waiting, never one that runs (that may have asked the source already);
- a pass that ends writes its outcome beside its request for those who joined, then removes its request;
- who joined a request that died without an outcome takes over: as an ordinary request, at its own place.

Waiting is polling, since a blocking flock knows neither order nor deadline. Effects: `<state>/lock`, `<state>/run`,
and that file.
"""

import hashlib
import json
import os
import shlex
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import asdict, evolve, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import PassInProgressError, StateError
from datum.model.result import PassOutcome
from datum.model.trigger import Asked, Trigger, TriggerKind
from datum.state.progress import QUEUE, RUN, Progress, ProgressFile, own_progress, read_progress
from datum.state.turns import HeldFile, Queue, Role, Turn, is_held, next_ticket

LOCK: Final = "lock"
"""File below the state directory that who runs a pass holds."""

HOST_LOCK: Final = Path("/run/datum.lock")
"""What a pass on the running system holds besides, whichever its state directory."""

_POLL: Final = 0.05
# How long a request tries to get at the queue itself, whatever its `--wait`.
_GRACE: Final = 10.0
_NOBODY: Final = Asked()


@frozen
class SharedOutcome:
    """What a pass tells those who joined it."""

    outcome: PassOutcome
    exit_code: int
    # Where its report is, as a person would ask for it; empty when there is none.
    report: str = ""


@frozen
class JoinedPass:
    """The answer for a request that an equal one has done already."""

    # Of the process whose pass it was.
    pid: int
    outcome: SharedOutcome


class PassLock:
    """The right to run a pass now. A context manager; ends with `release`, or with the process."""

    def __init__(
        self, state: Path, queue: Queue, turn: Turn, held: tuple[HeldFile, ...], companions: tuple[Asked, ...]
    ) -> None:
        # Requests that joined this pass: named in its report.
        self.companions = companions
        self._queue = queue
        self._turn = turn
        self._shown = ProgressFile(state)
        self._request, *self._locks = held
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def show(self, stage: str, action: str = "", *, started_at: str = "", asked_by: str = "") -> None:
        """Show `datum status` what the pass does now.

        Args:
            stage: Stage of design 1.
            action: Text of the action in hand, or empty.
            started_at: Wall clock at the start of the pass, for the first call; later calls keep it.
            asked_by: Who asked for it, in words, likewise.
        """
        now = time.monotonic()
        known = self._progress or own_progress(str(self._turn), started_at=started_at, started=now, asked_by=asked_by)
        self._progress = evolve(known, stage=stage, action=action, since=now)
        self._shown.write(self._progress)

    def finish(self, outcome: SharedOutcome) -> None:
        """Leave the outcome for those who joined. Without it, or when it cannot be written, they run a pass."""
        if not self.companions:
            return
        path = self._queue.result(self._turn.ticket)
        temporary = path.with_suffix(".part")
        with suppress(OSError):
            temporary.write_text(json.dumps({"pid": self._turn.pid, **asdict(outcome)}))
            temporary.replace(path)

    def release(self) -> None:
        """Let the next one run; does nothing the second time, and in a forked child."""
        if not self._request.is_mine:
            return
        self._shown.clear()
        self._queue.leave(self._turn, self._request)
        _release(self._locks)


def _never() -> bool:
    return False


def acquire(
    state: Path,
    key: str,
    *,
    wait: float | None,
    stopped: Callable[[], bool] = _never,
    asked: Asked = _NOBODY,
    host_lock: Path | None = None,
) -> PassLock | JoinedPass:
    """Wait for this request's turn, or for the pass of an equal request.

    Args:
        state: The state directory; made where it is missing.
        key: Equal for requests that ask for the same pass: target, flags.
        wait: Seconds until the pass must have begun, this request's or the one it joined; None waits for ever.
        stopped: Asked while waiting; True ends the wait (a signal came).
        asked: Who asks, and when: told by the pass that this request joins.
        host_lock: A file that passes of all state directories hold; None: there are no others.

    Raises:
        PassInProgressError: the turn did not come in time, or the wait was stopped.
        StateError: the state directory cannot be used.
    """
    request = _Request(state, key, asked, host_lock)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _wait(request, wait, stopped)
    except OSError as error:
        request.withdraw()
        raise _unusable(state, host_lock, error) from error
    except BaseException:
        request.withdraw()
        raise


def _wait(request: "_Request", wait: float | None, stopped: Callable[[], bool]) -> PassLock | JoinedPass:
    began = time.monotonic()
    has_asked = False
    while True:
        with request.queue.mutex() as is_still:
            answer = request.step() if is_still else None
        if answer is not None:
            return answer
        has_asked = has_asked or is_still
        limit = None if wait is None else wait + (0.0 if has_asked else _GRACE)
        is_late = limit is not None and not request.is_riding and time.monotonic() - began >= limit
        if is_late or stopped():
            raise _in_progress(request, wait)
        time.sleep(_POLL)


class _Request:
    """This process's place in the queue."""

    def __init__(self, state: Path, key: str, asked: Asked = _NOBODY, host_lock: Path | None = None) -> None:
        self.state = state
        self.host_lock = host_lock
        self._note = _noted(asked)
        self.queue = Queue(state / RUN / QUEUE)
        # Whether the pass that this request joined has begun: from then on it is waited for to its end.
        self.is_riding = False
        self._digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._mine: tuple[Turn, HeldFile] | None = None

    def step(self) -> PassLock | JoinedPass | None:
        """Look once whether something can begin or has ended. The mutex is held."""
        live = self.queue.scan()
        if self._mine is None or not self.queue.holds(*self._mine):
            self.withdraw()
            turn, held = self._mine = self._enter(live)
        else:
            turn, held = self._mine
        if turn.role is Role.JOINED:
            partner = next((other for other in live if other.ticket == turn.partner), None)
            outcome = self._read_result(turn.partner)
            if outcome is not None:
                self.withdraw()
                return outcome
            self.is_riding = partner is not None and partner.role is Role.RUNNING
            if partner is not None:
                return None
            turn = self._take_over(turn, held, live)
        return self._start(turn, held, live) if turn.role is Role.WAITING else None

    def withdraw(self) -> None:
        """Leave the queue; the others see a request that is gone."""
        if self._mine is not None:
            mine, self._mine = self._mine, None
            self.queue.leave(*mine)

    def _enter(self, live: tuple[Turn, ...]) -> tuple[Turn, HeldFile]:
        partner = self._waiting_equal(live)
        role = Role.WAITING if partner == 0 else Role.JOINED
        turn = Turn(next_ticket(live), role, os.getpid(), self._digest, partner)
        return turn, self.queue.enter(turn, self._note)

    def _take_over(self, turn: Turn, held: HeldFile, live: tuple[Turn, ...]) -> Turn:
        """The request that was joined died without an outcome: join another one, or be one."""
        partner = self._waiting_equal(live)
        turn = self.queue.change(turn, Role.WAITING if partner == 0 else Role.JOINED, partner=partner)
        self._mine = (turn, held)
        return turn

    def _waiting_equal(self, live: tuple[Turn, ...]) -> int:
        """Return the ticket of an equal request that waits; 0 for none."""
        return next((turn.ticket for turn in live if turn.role is Role.WAITING and turn.digest == self._digest), 0)

    def _start(self, turn: Turn, held: HeldFile, live: tuple[Turn, ...]) -> PassLock | None:
        """Take the lock when nobody is ahead and it is free."""
        if any(other.role is Role.WAITING and other < turn for other in live):
            return None
        locks = self._take_locks()
        if not locks:
            return None
        try:
            running = self.queue.change(turn, Role.RUNNING)
            self._mine = (running, held)
            companions = self._companions(turn)
        except BaseException:
            _release(locks)
            raise
        self._mine = None
        return PassLock(self.state, self.queue, running, (held, *locks), companions)

    def _take_locks(self) -> list[HeldFile]:
        """Take all that a pass holds; nothing, where somebody else holds one of it.

        That of the host first: who waits for another state directory does not seem to run a pass for its own.
        """
        taken: list[HeldFile] = []
        try:
            for path in filter(None, (self.host_lock, self.state / LOCK)):
                lock = HeldFile.take(path)
                if lock is None:
                    _release(taken)
                    return []
                taken.append(lock)
        except OSError:
            _release(taken)
            raise
        # Only now: it lasts as long as the process, and a wait asks again and again.
        for lock in taken:
            lock.keep_from_children()
        if self.host_lock is not None:
            taken[0].note(f"{self.state}\n".encode(errors="surrogateescape"))
        return taken

    def _companions(self, turn: Turn) -> tuple[Asked, ...]:
        """Return who joined and still lives, now that the lock is had and nobody can join any more."""
        riders = [other for other in self.queue.scan() if other.role is Role.JOINED and other.partner == turn.ticket]
        notes = [(rider.pid, self.queue.noted(rider)) for rider in riders]
        return tuple(_read_note(note, pid) for pid, note in notes if note is not None)

    def _read_result(self, ticket: int) -> JoinedPass | None:
        """Return what the request that was joined left; None while there is nothing, or nothing that can be read."""
        try:
            document = json.loads(self.queue.result(ticket).read_bytes())
            pid = int(document.pop("pid"))
            return JoinedPass(pid, SharedOutcome(PassOutcome(document.pop("outcome")), **document))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _noted(asked: Asked) -> bytes:
    return json.dumps({"kind": asked.trigger.kind, "who": asked.trigger.who, "at": asked.at}).encode()


def _read_note(data: bytes, pid: int) -> Asked:
    """Return who asked, as far as the note of a request tells: another version may have written it."""
    try:
        document = json.loads(data)
        trigger = Trigger(TriggerKind(document["kind"]), str(document["who"]))
        return Asked(trigger, str(document["at"]), pid)
    except (ValueError, TypeError, KeyError):
        return Asked(pid=pid)


def _release(locks: Iterable[HeldFile]) -> None:
    for lock in locks:
        lock.release()


def _unusable(state: Path, host_lock: Path | None, error: OSError) -> StateError:
    place, hint = state, f"make {state} a folder of the user who runs datum, writable and with free space"
    if host_lock is not None and error.filename is not None and os.fspath(error.filename) == str(host_lock):
        place = host_lock
        hint = f"remove {host_lock} unless it is a plain file, and make room in {host_lock.parent}: a pass makes it"
    return StateError(
        Diagnostic(
            code="lock-unusable",
            summary="The pass lock cannot be used",
            detail=f"Taking a turn for {state} failed: {error}.",
            hint=hint,
            location=SourceLocation(str(place)),
        )
    )


def _in_progress(request: _Request, wait: float | None) -> PassInProgressError:
    progress, where = read_progress(request.state), ""
    who = "another pass" if progress is None else f"the pass of process {progress.pid} ({progress.stage})"
    if progress is None and request.host_lock is not None and (other := _holder(request.host_lock)):
        who, where = f"a pass with the state directory {other}", f" --state-dir {shlex.quote(other)}"
    waited = "" if wait is None else f" after {wait:g} s"
    return PassInProgressError(
        Diagnostic(
            code="pass-in-progress",
            summary="Another pass is running or waits before this one",
            detail=f"This request's turn has not come{waited}: {who} comes first. Nothing was done.",
            hint=f"see `datum status{where}`, or wait longer with `--wait SECONDS`",
        )
    )


def _holder(host_lock: Path) -> str:
    """Return the state directory of the pass that holds the lock of the host; empty where none does."""
    with suppress(OSError):
        if is_held(host_lock):
            return host_lock.read_text(errors="replace").partition("\n")[0]
    return ""
