"""What a schema says of reading scalars."""

import pytest

from datum.fleet.shape import ANY, TEXT, shape_of, shapes_of
from datum.model.json import JsonValue


@pytest.mark.parametrize(
    ("schema", "takes_text", "only_text"),
    [
        ({"type": "string"}, True, True),
        ({"type": ["string", "integer"]}, True, False),
        ({"type": "integer"}, False, False),
        ({"type": 3}, False, False),
        ({"enum": ["a", "b"]}, True, True),
        ({"enum": ["a", 1]}, False, False),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, True, False),
        ({"oneOf": [{"type": "string"}, {"enum": ["x"]}]}, True, True),
        ({"anyOf": 3}, False, False),
        ({}, False, False),
        (True, False, False),
    ],
)
def test_strings(schema: JsonValue, takes_text: object, only_text: object) -> None:
    found = shape_of(schema)
    assert (found.takes_text, found.only_text) == (takes_text, only_text)


def test_lists_and_maps() -> None:
    text: JsonValue = {"type": "string"}
    assert shape_of({"items": text}).item() == TEXT
    assert shape_of({}).item() == ANY
    found = shape_of({"properties": {"a": text}, "additionalProperties": {"type": "string"}})
    assert (found.entry("a"), found.entry("b")) == (TEXT, TEXT)
    assert shape_of({"additionalProperties": False}).entry("b") == ANY
    assert shape_of({"anyOf": [text, {"items": text}]}).item() == TEXT


def test_annotations() -> None:
    assert shape_of({"x-datum": "quoted"}).is_quoted
    assert shape_of({"x-datum": "removes"}).removes
    for name in ("source", "template", "folder", "parts", "slot"):
        assert shape_of({"x-datum": name}).content == name
    assert shape_of({"x-datum": "instruction"}).content == ""


def test_schema_that_nests_without_end_is_cut() -> None:
    schema: JsonValue = {"type": "string"}
    for _ in range(99):
        schema = {"items": schema}
    assert shape_of(schema) != ANY


def test_properties() -> None:
    assert shapes_of({"properties": {"a": {}}}) == {"a": ANY}
    assert shapes_of({"properties": 3}) == {}
    assert shapes_of({}) == {}
