"""A deadline on the real-time timer of this process."""

import signal
import time

import pytest

from datum.host.deadline import Deadline
from datum.model.observation import Cause, Scope
from datum.model.result import FailureCause
from datum.provider.host import HostError


def test_body_in_time_is_left_alone() -> None:
    """Nothing is raised, and the timer is as before."""
    with Deadline(60):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_body_that_takes_too_long_is_interrupted() -> None:
    """What it waits for ends with a `HostError` that says how long it had."""
    begun = time.monotonic()
    with pytest.raises(HostError) as caught, Deadline(0.05):
        time.sleep(30)
    assert time.monotonic() - begun < 10
    assert caught.value.detail == "It took longer than 0.05 s."
    assert (caught.value.cause, caught.value.failure) == (Cause.DEADLINE, FailureCause.DEADLINE)
    assert caught.value.unobservable().scope is Scope.RESOURCE
    assert caught.value.diagnostics[0].code == "deadline-passed"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_busy_body_is_interrupted() -> None:
    """Not only what waits: a loop ends too."""
    with pytest.raises(HostError), Deadline(0.05):
        while True:
            pass


def test_body_that_goes_on_is_interrupted_again() -> None:
    """Taking the error for that of one path does not switch the deadline off for the next."""
    interrupted = 0
    with Deadline(0.05):
        for _ in range(3):
            try:
                time.sleep(30)
            except HostError:
                interrupted += 1
    assert interrupted == 3


def test_error_of_the_body_comes_through() -> None:
    """Another error than the deadline's is not touched, and the timer is off."""
    with pytest.raises(ValueError, match="own"), Deadline(60):
        raise ValueError("own")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_signal_between_two_deadlines_does_nothing() -> None:
    """The handler stays; nobody else in this process has the signal."""
    with Deadline(60):
        pass
    signal.raise_signal(signal.SIGALRM)


def test_a_handler_of_another_gives_way() -> None:
    """A deadline holds whoever had the signal meanwhile."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with pytest.raises(HostError), Deadline(0.05):
            time.sleep(30)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("method", [Deadline.__enter__, Deadline.__exit__])
def test_ring_while_entering_or_leaving_raises_nothing(method: object) -> None:
    """An error raised there would leave the timer running, or reach code that has no deadline."""

    class Frame:
        f_code = getattr(method, "__code__", None)

    with Deadline(60):
        Deadline.ring(Frame())  # type: ignore[arg-type]  # a frame as far as it is looked at


def test_ring_without_a_frame_raises() -> None:
    """Nothing is known then, so the deadline holds."""
    with pytest.raises(HostError), Deadline(60):
        Deadline.ring(None)
