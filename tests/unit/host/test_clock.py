"""The kernel is asked about the clock, and nothing is set."""

import ctypes
from typing import Any

import pytest

from datum.host import clock
from datum.host.clock import KernelClock, read_kernel_clock


def test_the_kernel_answers() -> None:
    found = read_kernel_clock()
    assert isinstance(found.is_synchronized, bool)
    assert found.maximal_error >= 0


@pytest.mark.parametrize(
    ("state", "status", "is_synchronized"), [(0, 0, True), (0, 0x2001, True), (5, 0, False), (0, 0x40, False)]
)
def test_what_it_says_is_read(monkeypatch: pytest.MonkeyPatch, state: int, status: int, is_synchronized: bool) -> None:
    class Libc:
        def adjtimex(self, pointer: Any) -> int:
            asked = ctypes.cast(pointer, ctypes.POINTER(clock._Timex)).contents
            assert asked.modes == 0
            asked.status, asked.maxerror = status, 7
            return state

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Libc())
    assert read_kernel_clock() == KernelClock(is_synchronized, 7)


def test_a_refusal_is_one_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    class Libc:
        def adjtimex(self, _: Any) -> int:
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Libc())
    ctypes.set_errno(0)
    with pytest.raises(OSError, match="Success"):
        read_kernel_clock()
