"""Values with places."""

import pytest

from datum.diagnostics import SourceLocation
from datum.fleet.nodes import ListNode, Scalar
from datum.fleet.values import Placed, Table, kind_of, plain_value, same_value
from datum.model.json import JsonValue
from datum.model.manifest import Late

_PLACE = SourceLocation("f", 1, 1)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("a", "a", True),
        ((1, True), [1, True], True),
        ((1, True), (1, 1), False),
        ((1,), (1, 2), False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, (1,), False),
        ((1,), "1", False),
        (None, None, True),
    ],
)
def test_json_equality(left: JsonValue, right: JsonValue, same: object) -> None:
    assert same_value(left, right) is same


def test_plain_values() -> None:
    scalar = Scalar(1, "1", _PLACE)
    table = Table({"a": Placed(Table({"b": Placed(1, _PLACE), "c": Placed(None, _PLACE)}), _PLACE)})
    assert plain_value(table) == {"a": {"b": 1}}
    assert plain_value(Late("${machine.cpus}")) == "${machine.cpus}"
    assert plain_value(scalar) == 1
    assert plain_value(ListNode((scalar,), _PLACE)) == (1,)
    assert plain_value({"a": 1}) == {"a": 1}
    assert plain_value(None) is None


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "a truth value"),
        (1, "an integer"),
        (1.5, "a number"),
        ("", "a string"),
        ((), "a list"),
        ({}, "a map"),
    ],
)
def test_kinds_have_names(value: JsonValue, kind: str) -> None:
    assert kind_of(value) == kind
