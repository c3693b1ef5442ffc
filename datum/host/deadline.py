"""A deadline for what runs inside this process. Effects: the interval timer of the process.

SIGALRM interrupts what the main thread waits for (signal(7): `read`, `flock`, `waitpid` end with EINTR, and the
handler's exception leaves the wait). What cannot be interrupted, a thread in uninterruptible sleep, is why paths below
network and FUSE mounts are read in a child.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `HostError` (cause and failure `deadline`) in the body when the time is over.

    Only for the main thread; deadlines do not nest.
    """

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise HostError(
            f"It took longer than {seconds:g} s.",
            code="deadline-passed",
            cause=Cause.DEADLINE,
            failure=FailureCause.DEADLINE,
        )

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
