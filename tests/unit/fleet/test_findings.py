"""Collecting what is wrong."""

import re
from pathlib import Path

import pytest

from datum.diagnostics import SourceLocation
from datum.errors import FleetError
from datum.fleet import findings as module
from datum.fleet.findings import SUMMARIES, Findings, listing, problem, suggestion
from datum.model.identity import ResourceId

_A = ResourceId("thing", "a")
_WRONG = problem("conflict", SourceLocation("f", 2, 1), "one")


def test_nothing_found_ends_nothing() -> None:
    Findings().stop()


def test_everything_found_is_raised_sorted_and_once() -> None:
    found = Findings()
    first = problem("conflict", SourceLocation("f", 1, 1), "two")
    for one in (_WRONG, first, _WRONG):
        found.add(one)
    with pytest.raises(FleetError) as caught:
        found.stop()
    assert caught.value.diagnostics == (first, _WRONG)


def test_resource_is_named_and_tainted() -> None:
    found = Findings()
    found.add(_WRONG, _A)
    assert (found.items[0].resource, found.tainted) == ("thing:a", {_A})
    found.add(problem("conflict", None, "x", resource="thing:b"), _A)
    assert found.items[1].resource == "thing:b"


def test_what_was_noted_before_is_not_repeated_for_a_resource() -> None:
    found = Findings()
    found.add(_WRONG)
    found.add(_WRONG, _A)
    found.extend((_WRONG,), text="thing:x")
    assert found.items == [_WRONG]
    assert found.tainted == {_A}
    assert found.is_incomplete


def test_text_of_an_id_is_named() -> None:
    found = Findings()
    found.extend((_WRONG,), text="thing:${x}")
    found.extend((_WRONG,))
    assert [one.resource for one in found.items] == ["thing:${x}", ""]


def test_suggestions() -> None:
    assert suggestion("conten", ["content", "source"]) == "Did you mean 'content'?"
    assert suggestion("xyz", ["content"]) == ""
    assert (listing(["b", "a"]), listing([])) == ("a, b", "none")


def test_every_code_of_this_room_has_a_summary() -> None:
    folder = Path(module.__file__).parent
    used = {
        code
        for text in (path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
        if "from datum.fleet.findings import" in text
        for code in re.findall(r'problem\(\s*"([a-z-]+)"', text)
    }
    assert "conflict" in used
    assert used - set(SUMMARIES) == set()
