"""A deadline for what runs inside this process. Effects: the interval timer of the process.

SIGALRM interrupts what the main thread waits for (signal(7): `read`, `flock`, `waitpid` end with EINTR, and the
handler's exception leaves the wait). What cannot be interrupted, a thread in uninterruptible sleep, is why paths below
network and FUSE mounts are read in a child.
"""

import signal
from types import FrameType, TracebackType

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError


class Deadline:
    """`with Deadline(seconds):` raises `HostError` (cause and failure `deadline`) in the body when the time is over.

    A body that takes the error for that of one path and goes on is interrupted again after as many seconds. Only for
    the main thread; deadlines do not nest.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        # Raised there it would leave the timer running, or never reach the body.
        if frame is not None and frame.f_code in {Deadline.__enter__.__code__, Deadline.__exit__.__code__}:
            return
        raise HostError(
            f"It took longer than {self._seconds:g} s.",
            code="deadline-passed",
            cause=Cause.DEADLINE,
            failure=FailureCause.DEADLINE,
        )
