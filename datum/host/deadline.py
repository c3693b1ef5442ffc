"""A deadline for what runs inside this process. Effects: the interval timer of the process.

SIGALRM interrupts what the main thread waits for (signal(7): `read`, `flock`, `waitpid` end with EINTR, and the
handler's exception leaves the wait). What cannot be interrupted, a thread in uninterruptible sleep, is why paths below
network and FUSE mounts are read in a child.
"""

import importlib
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import ClassVar, Final

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError

# `signal.getsignal` of Python 3.11 looks for an enum of what it finds, by way of an exception: for a function that is
# longer than the rest of a deadline, of which there are several for each resource.
_handler_of: Final[Callable[[int], object]] = importlib.import_module("_signal").getsignal


class Deadline:
    """`with Deadline(seconds):` raises `HostError` (cause and failure `deadline`) in the body when the time is over.

    A body that takes the error for that of one path and goes on is interrupted again after as many seconds. Only for
    the main thread; deadlines do not nest. The handler stays, since there is a deadline for every look at the host;
    between two of them it does nothing.
    """

    _running: "ClassVar[Deadline | None]" = None

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if _handler_of(signal.SIGALRM) is not _ring:
            signal.signal(signal.SIGALRM, _ring)
        Deadline._running = self
        signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        Deadline._running = None

    @classmethod
    def ring(cls, frame: FrameType | None) -> None:
        """Interrupt the body of the deadline that runs; one that begins or ends is left alone.

        Raises:
            HostError: a deadline runs.
        """
        # Raised there it would leave the timer running, or never reach the body.
        is_at_the_edge = frame is not None and frame.f_code in {cls.__enter__.__code__, cls.__exit__.__code__}
        if cls._running is None or is_at_the_edge:
            return
        raise cls._running._passed()  # noqa: SLF001 - its own

    def _passed(self) -> HostError:
        return HostError(
            f"It took longer than {self._seconds:g} s.",
            code="deadline-passed",
            cause=Cause.DEADLINE,
            failure=FailureCause.DEADLINE,
        )


@contextmanager
def no_deadline() -> Iterator[None]:
    """Do what no deadline may interrupt; the time that is left of one is left after it, too."""
    left, again = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, again)


def _ring(_number: int, frame: FrameType | None) -> None:
    Deadline.ring(frame)
