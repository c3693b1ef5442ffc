"""When a pause is in force, and what it names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.model.moment import format_moment, parse_moment
from datum.model.pause import LEEWAY, LONGEST, Pause, PauseState, in_force
from datum.testing import asking
from tests.unit.fakes import rid

HOUR = 3600
NOON = parse_moment("2026-11-29T12:00:00Z")
PAUSE = Pause("alice", "disk swap", NOON, NOON + HOUR)


def test_a_moment_is_read_back() -> None:
    assert NOON == 1795953600
    assert format_moment(NOON) == "2026-11-29T12:00:00Z"


@given(st.integers(-(2**35), 2**37))
def test_every_moment_of_four_digits_is_read_back(seconds: int) -> None:
    text = format_moment(seconds)
    assert parse_moment(text) == seconds
    assert (text < format_moment(seconds + 1)) is True


def test_a_moment_beyond_all_years_is_the_last_one() -> None:
    assert format_moment(2**60) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-29",
        "2026-11-29T12:00:00",
        "2026-11-29T12:00:00+00:00",
        "2026-11-29t12:00:00Z",
        "2026-13-29T12:00:00Z",
        "2026-11-29T24:00:00Z",
        "0000-11-29T12:00:00Z",
        "2026-11-29T12:00:00Z\n",
        "٢٠٢٦-11-29T12:00:00Z",
    ],
)
def test_another_form_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_moment(text)


@pytest.mark.parametrize(
    ("passed", "state"),
    [
        (0, PauseState.IN_FORCE),
        (HOUR - 1, PauseState.IN_FORCE),
        (HOUR, PauseState.OVER),
        (LONGEST * 99, PauseState.OVER),
        (-1, PauseState.IN_FORCE),
        (-LEEWAY, PauseState.IN_FORCE),
        (-LEEWAY - 1, PauseState.CLOCK_BEHIND),
        (-LONGEST * 99, PauseState.CLOCK_BEHIND),
    ],
)
def test_a_pause_is_in_force_from_its_begin_to_its_end_and_no_longer(passed: int, state: PauseState) -> None:
    """A clock that was set back by more than a correction ends it: else it would last for as long as that."""
    assert PAUSE.state(NOON + passed) is state
    assert in_force(PAUSE, NOON + passed) == (PAUSE if state is PauseState.IN_FORCE else None)


@given(asking.pauses, st.integers(0, 2**33))
def test_no_pause_is_in_force_for_longer_than_its_time_and_the_leeway(pause: Pause, now: int) -> None:
    if pause.state(now) is PauseState.IN_FORCE:
        assert pause.since - LEEWAY <= now < pause.until
    assert pause.state(pause.until) is PauseState.OVER


def test_no_pause_is_in_force_where_there_is_none() -> None:
    assert in_force(None, NOON) is None


def test_a_whole_pause_names_everything_and_one_of_some_these_alone() -> None:
    some = Pause("a", "b", 0, 1, (rid("file:/etc/a"), rid("service:*")))
    assert PAUSE.is_whole
    assert PAUSE.names(rid("file:/etc/b"))
    assert not some.is_whole
    assert [some.names(rid(text)) for text in ("file:/etc/a", "file:/etc/b", "service:x", "unit:x")] == [
        True, False, True, False,
    ]  # fmt: skip


def test_what_it_names_and_nothing_declares_is_known() -> None:
    some = Pause("a", "b", 0, 1, (rid("file:/etc/a"), rid("service:*"), rid("unit:*"), rid("unit:x")))
    assert some.unknown([rid("file:/etc/a"), rid("service:y")]) == (rid("unit:*"), rid("unit:x"))
    assert PAUSE.unknown([]) == ()
