"""A large file that comes slowly: all waits for it together have an end."""

import os
import select
import time
from pathlib import Path

import pytest

from datum.agent.resolver.asking import Poured


class Moments:
    """A clock of waits: each takes as long as is said, and there is always a byte."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each: float) -> None:
        self.now = 0.0
        self.each = each
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(select, "poll", lambda: self)

    def register(self, *_: object) -> None:
        """Take a descriptor, as `select.poll`."""

    def poll(self, milliseconds: float) -> bool:
        """Wait."""
        self.now += min(self.each, milliseconds / 1000)
        return milliseconds / 1000 >= self.each


def test_a_drip_of_a_large_file_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and all of them would take for ever, however large it says that the file is."""
    clock = Moments(monkeypatch, 7.0)
    with Path("/dev/zero").open("rb") as zeros, Poured(os.dup(zeros.fileno()), 120.0, 1 << 20) as stream:
        with pytest.raises(TimeoutError, match="only 17 bytes of it came within 120 s"):
            while True:
                stream.read(1)
        assert clock.now == pytest.approx(120.0, abs=0.001)


def test_a_large_file_that_comes_at_a_fair_pace_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Moments(monkeypatch, 1.0)
    with Path("/dev/zero").open("rb") as zeros, Poured(os.dup(zeros.fileno()), 120.0, 1 << 20) as stream:
        for _ in range(500):
            assert len(stream.read(1 << 20) or b"") == 1 << 20
    assert clock.now == 500.0


def test_what_the_reader_does_between_two_reads_is_not_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may wait for a slow disk."""
    clock = Moments(monkeypatch, 0.0)
    with Path("/dev/zero").open("rb") as zeros, Poured(os.dup(zeros.fileno()), 120.0, 1 << 20) as stream:
        for _ in range(5):
            clock.now += 1000
            assert stream.read(1) == b"\0"
