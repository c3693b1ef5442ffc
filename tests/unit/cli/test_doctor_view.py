"""What `datum doctor` shows: groups, aligned, nothing longer than the terminal, and what only root can check."""

import io
import sys
from collections.abc import Callable

import pytest
from attrs import evolve

from datum.agent.doctor.finding import Diagnosis, Finding, State, fault, not_checked, ok, warning
from datum.agent.doctor.shelter import without_rights
from datum.cli.views.doctor import show

LONG = "Some words that are many " * 8
FINDINGS = (
    ok("configuration-file", "All is said."),
    ok("remote-ref", "main names abc.", of="https://a/x"),
    fault("remote-ref", LONG, "push it", of="https://b/x"),
    not_checked("remote-fetch", "It was not come to.", of="https://b/x"),
    not_checked("remote-revision", "It was not come to.", of="https://b/x"),
    without_rights("pointer"),
    warning("free-space", "Little.\x1b[2J", "make room", of="/"),
)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def show_at(*findings: Finding, columns: int = 80) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        show(Diagnosis(findings), is_json=False)
        return stream.getvalue().splitlines()

    return show_at


def test_groups_and_remotes_have_their_lines(shown: Callable[..., list[str]]) -> None:
    lines = shown(*FINDINGS)
    assert [line for line in lines if not line.startswith(" ")][:-2] == [
        "configuration",
        "source https://a/x",
        "source https://b/x",
        "state",
        "disk",
    ]
    assert lines[1] == "  ok      configuration-file    All is said."
    assert lines[-2] == "1 fault, 1 warning, 2 ok, 3 not checked."
    assert lines[-1] == "As root datum doctor also checks pointer."


@pytest.mark.parametrize("columns", [20, 80, 300])
def test_no_line_is_longer_than_the_terminal(shown: Callable[..., list[str]], columns: int) -> None:
    lines = shown(*FINDINGS, columns=columns)
    assert max(map(len, lines)) <= min(max(columns, 60), 110)


def test_what_is_wrong_has_its_why_and_its_cure_and_what_is_well_has_neither(shown: Callable[..., list[str]]) -> None:
    text = "\n".join(shown(*FINDINGS))
    assert (text.count("why: "), text.count("try: ")) == (2, 2)
    assert "try: push it" in text


def test_what_was_not_checked_for_one_reason_is_told_once(shown: Callable[..., list[str]]) -> None:
    text = "\n".join(shown(*FINDINGS))
    assert text.count("It was not come to.") == 1
    assert "likewise remote-revision" in text


def test_a_terminal_obeys_nothing_of_what_was_found(shown: Callable[..., list[str]]) -> None:
    assert "\x1b" not in "\n".join(shown(*FINDINGS))


def test_a_check_that_broke_is_told_at_the_end(shown: Callable[..., list[str]]) -> None:
    broken = evolve(not_checked("pass-lock", "It broke.", cure="report it"), is_bug=True)
    assert "1 check broke, which is a bug in datum; please report it." in shown(broken)
    assert State.NOT_CHECKED is broken.state
