"""Who asked, how far a pass went, and what took its time, as people read it; a report may be damaged."""

from typing import Any

import pytest

from datum.cli.views.asking import enforcement_words, pause_line, took, who_asked, write_asked, write_times
from datum.cli.views.paper import Paper


def lines(paper: Paper) -> list[str]:
    return ["".join(text for text, _ in line) for line in paper.lines]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.00 s"), (0.125, "0.12 s"), (9.994, "9.99 s"), (10, "10 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s")],
)
def test_times_are_read_by_people(seconds: float, text: str) -> None:
    assert took(seconds) == text


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"kind": "timer", "who": ""}, "timer"),
        ({"kind": "operator", "who": "alice"}, "operator alice"),
        ({"who": "alice"}, ""),
        (None, ""),
        (3, ""),
    ],
)
def test_who_asked_is_one_or_two_words(asked: object, text: str) -> None:
    assert who_asked(asked) == text


def test_each_request_that_joined_is_a_line() -> None:
    paper = Paper()
    joined = [
        {"kind": "operator", "who": "bob", "asked_at": "2026-11-29T03:15:00Z", "pid": 7},
        {"kind": "timer", "who": "", "asked_at": "", "pid": 0},
        {},
        "damaged",
    ]
    write_asked(paper, {"trigger": {"kind": "boot", "who": ""}, "joined": joined})
    assert lines(paper) == [
        "asked by boot",
        "also requested by operator bob at 2026-11-29T03:15:00Z (process 7)",
        "also requested by timer",
        "also requested by somebody",
    ]


@pytest.mark.parametrize("report", [{}, {"joined": 3}, {"trigger": 1, "joined": None}])
def test_a_report_of_an_older_version_says_nothing_of_it(report: dict[str, Any]) -> None:
    paper = Paper()
    write_asked(paper, report)
    assert paper.is_blank


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (None, ""),
        ({"mode": "enforce", "location": None}, ""),
        ({"mode": "hold", "location": None}, "hold"),
        ({"mode": "observe", "location": {"file": "hosts/a.yaml", "line": 3, "column": 9}},
         "observe, says hosts/a.yaml:3:9"),
    ],
)  # fmt: skip
def test_a_mode_is_named_with_its_place(said: object, text: str) -> None:
    assert enforcement_words(said) == text


def test_a_pause_is_one_line_whatever_is_missing() -> None:
    pause = {"who": "alice", "reason": "x", "until": "2026-11-29T03:15:00Z", "only": ["a:b", "c:*"]}
    assert pause_line(pause) == "until 2026-11-29T03:15:00Z by alice (a:b, c:*): x"
    assert pause_line({}) == "until ? by ?: ?"


def test_stages_and_the_slowest_actions_are_told() -> None:
    paper = Paper()
    resources = [{"operation": "update", "id": f"file:/{number}", "duration": float(number)} for number in range(6)]
    write_times(paper, {"stages": {"repository": 0.5, "fleet": 61}, "resources": resources})
    assert lines(paper) == [
        "stages repository 0.50 s, fleet 1 min 1 s",
        "slow   update file:/5 5.00 s",
        "slow   update file:/4 4.00 s",
        "slow   update file:/3 3.00 s",
    ]
    paper = Paper()
    write_times(paper, {"stages": None, "resources": []})
    assert paper.is_blank
