"""From nodes to values."""

import math

import pytest

from datum.diagnostics import SourceLocation
from datum.fleet.evaluation import Evaluator
from datum.fleet.nodes import Scalar
from datum.model.json import JsonValue

_PLACE = SourceLocation("f", 1, 1)


@pytest.mark.parametrize("value", [math.inf, math.nan, "\ud800", {"a": math.inf}, {"\ud800": 1}, ("a", math.inf)])
def test_what_no_manifest_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch, value: JsonValue) -> None:
    monkeypatch.setattr("datum.fleet.evaluation.evaluate", lambda *_: value)
    evaluator = Evaluator({})
    assert evaluator.value(Scalar("${x}", "${x}", _PLACE)) is None
    assert [found.code for found in evaluator.problems] == ["bad-value"]


@pytest.mark.parametrize("value", [1.5, "ä", {"ä": ("b", None)}, True])
def test_everything_else_passes(monkeypatch: pytest.MonkeyPatch, value: JsonValue) -> None:
    monkeypatch.setattr("datum.fleet.evaluation.evaluate", lambda *_: value)
    evaluator = Evaluator({})
    assert evaluator.json(Scalar("${x}", "${x}", _PLACE)) == value
    assert not evaluator.problems


def test_text_without_an_expression_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datum.fleet.evaluation.evaluate", lambda *_: pytest.fail("evaluated"))
    assert Evaluator({}).value(Scalar("{{ x }} $x", "{{ x }} $x", _PLACE)) == "{{ x }} $x"


def test_escape_is_undone() -> None:
    assert Evaluator({}).value(Scalar("$${x}", "$${x}", _PLACE)) == "${x}"
