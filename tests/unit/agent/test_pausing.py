"""What can be asked of `datum pause`, and what a pass says of a pause."""

import pytest
from attrs import evolve

from datum.agent.desired import Wanted
from datum.agent.pauses import TOLD_FOR, in_words, pause_words
from datum.agent.pausing import read_duration, read_only
from datum.agent.settings import Options, read_settings
from datum.diagnostics import Severity
from datum.errors import UsageError
from datum.model.moment import parse_moment
from datum.model.observation import Machine
from datum.model.pause import LEEWAY, Pause
from datum.testing.trees import MemoryTree
from tests.unit.fakes import declare, declared_by, graph_of, manifest, rid

NOON = parse_moment("2026-11-29T12:00:00Z")
HOUR = 3600
WHOLE = Pause("alice", "disk swap.", NOON, NOON + HOUR)
SOME = Pause("alice", "disk swap", NOON, NOON + HOUR, (rid("fake:a"), rid("fake:typo")))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m", 60), ("30m", 1800), ("90m", 5400), ("2h", 7200), ("1d", 86400), ("1d12h", 129600), ("1h30m", 5400),
     ("30d", 2592000), ("0d1h", 3600), ("720h", 2592000)],
)  # fmt: skip
def test_a_time_is_days_hours_and_minutes(text: str, seconds: int) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "are expected"),
        ("2", "are expected"),
        ("2 h", "are expected"),
        ("2H", "are expected"),
        ("-2h", "are expected"),
        ("30s", "are expected"),
        ("1.5h", "are expected"),
        ("30m2h", "are expected"),
        ("forever", "are expected"),
        ("٢h", "are expected"),
        ("0m", "no time at all"),
        ("31d", "30 days at most"),
        ("30d1m", "30 days at most"),
        ("999999999d", "30 days at most"),
    ],
)
def test_anything_else_is_no_time_for_a_pause(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_duration(text)
    (found,) = caught.value.diagnostics
    assert found.code == "bad-duration"
    assert what in found.detail
    assert ("enforcement: observe" in found.hint) is (what == "30 days at most")
    assert ("--for 2h" in found.hint) is (what != "30 days at most")
    assert text or "--for '':" in found.detail


def test_resources_are_named_by_id_or_by_type() -> None:
    assert read_only(["file:/etc/b", "service:*", "file:/etc/a", "file:/etc/b"], {"file", "service"}) == (
        rid("file:/etc/a"), rid("file:/etc/b"), rid("service:*"),
    )  # fmt: skip
    assert read_only([], {"file"}) == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("file:/a\udcff", "not UTF-8"),
        ("nginx", "has no type"),
        ("", "has no type"),
        ("file:", "has no name"),
        ("fil:/etc/a", "no resource type 'fil'"),
        ("", "--only '':"),
        ("file:/etc/mo*", "there is file:* for all of the type"),
        ("file:**", "there is file:* for all of the type"),
    ],
)
def test_what_is_no_resource_is_refused(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_only([text], {"file"})
    (found,) = caught.value.diagnostics
    assert found.code == "bad-resource"
    assert what in found.detail


def words(pause: Pause | None, now: int) -> list[tuple[str, str, str, str]]:
    wanted = Wanted(manifest(), graph_of(declare("fake:b")), MemoryTree({}), Machine())
    trail = (declared_by(1, declare("fake:a")),)
    # Below that root nobody can put a configuration.
    settings = evolve(read_settings(Options(repo="/r", host="web1", root="/proc")), where=" --root /r")
    found = pause_words(pause, now, wanted, trail, settings, {"fake"})
    return [(item.code, str(item.severity), item.detail, item.hint) for item in found]


def test_a_pause_in_force_is_told_with_who_why_and_until_when() -> None:
    (found,) = words(WHOLE, NOON + 1)
    assert found[:2] == ("paused", "note")
    who = "alice paused the whole host at 2026-11-29T12:00:00Z until 2026-11-29T13:00:00Z: disk swap."
    assert found[2:] == (f"{who} Nothing is changed meanwhile.", "datum resume --root /r ends it")


def test_what_it_names_and_nothing_declares_is_a_warning() -> None:
    paused, unknown = words(SOME, NOON)
    assert paused[0] == "paused"
    assert "The rest is kept as declared." in paused[2]
    assert (unknown[0], unknown[1]) == ("pause-names-nothing", str(Severity.WARNING))
    assert "declares fake:typo." in unknown[2]


def test_a_type_that_there_is_none_of_is_a_warning_of_its_own() -> None:
    """It is not told twice, and says what there is."""
    _, unknown = words(evolve(SOME, only=(rid("bogus:*"), rid("fake:a"))), NOON)
    assert unknown[:2] == ("pause-names-no-type", str(Severity.WARNING))
    assert unknown[2] == "bogus:*: nothing is paused by that. The types are fake."
    assert "correct 'only' in /proc/var/lib/datum/pause.yaml" in unknown[3]


@pytest.mark.parametrize(("now", "codes"), [(0, ["pause-over"]), (TOLD_FOR - 1, ["pause-over"]), (TOLD_FOR, [])])
def test_one_that_has_ended_is_told_for_a_day(now: int, codes: list[str]) -> None:
    assert [found[0] for found in words(WHOLE, WHOLE.until + now)] == codes


def test_a_clock_that_was_set_back_ends_it_and_that_is_a_warning() -> None:
    (found,) = words(WHOLE, NOON - LEEWAY - 1)
    assert found[:2] == ("pause-clock", str(Severity.WARNING))
    assert "It is 2026-11-29T11:49:59Z now" in found[2]


def test_no_pause_is_not_told() -> None:
    assert words(None, NOON) == []


def test_of_many_resources_some_are_named() -> None:
    many = Pause("a", "b", NOON, NOON + 1, tuple(rid(f"fake:{number}") for number in range(7)))
    assert "fake:0, fake:1, fake:2, fake:3, fake:4 and 2 more" in in_words(many)
