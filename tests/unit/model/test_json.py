"""JSON values: frozen, canonical, digested."""

import hashlib
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from datum.model.json import EMPTY, JsonValue, canonical_json, compact_json, digest, freeze, is_json, sorted_json, thaw

NESTED: JsonValue = {"b": [1, {"c": None}], "a": "text", "d": [True, 1.5, []]}


def test_freezing_leaves_nothing_that_can_be_changed() -> None:
    frozen = freeze(NESTED)
    assert isinstance(frozen, MappingProxyType)
    assert frozen["b"] == (1, MappingProxyType({"c": None}))
    with pytest.raises(TypeError):
        frozen["a"] = 1  # type: ignore[index]  # what the test is about
    assert thaw(frozen) == NESTED
    assert isinstance(thaw(frozen), dict)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "text", ""])
def test_scalars_are_frozen_already(value: JsonValue) -> None:
    assert freeze(value) is value
    assert thaw(value) is value


def test_the_empty_object_cannot_be_changed() -> None:
    assert dict(EMPTY) == {}
    with pytest.raises(TypeError):
        EMPTY["a"] = 1  # type: ignore[index]  # what the test is about


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"é": 1, "z": 2, "\U0001f600": 3, "\ufb33": 4}, '{"z":2,"é":1,"\U0001f600":3,"\ufb33":4}'),
        ([1.0, 1e21, 1e-7, -0.0, 0.1], "[1,1e+21,1e-7,0,0.1]"),
        ('"\\/\b\n\x1f', '"\\"\\\\/\\b\\n\\u001f"'),
        ((1, (True, False)), "[1,[true,false]]"),
        (MappingProxyType({"a": ()}), '{"a":[]}'),
        (2**53 - 1, "9007199254740991"),
    ],
    ids=["null", "sorted", "utf16-order", "numbers", "escapes", "tuples", "frozen", "greatest"],
)
def test_the_canonical_form_is_that_of_rfc_8785(value: JsonValue, text: str) -> None:
    assert canonical_json(value) == text.encode()


ODD: tuple[Any, ...] = (math.nan, math.inf, -math.inf, 2**53, -(2**53))


@pytest.mark.parametrize("value", [*ODD, "\udcff", [math.nan]], ids=repr)
def test_what_json_cannot_carry_has_no_canonical_form(value: JsonValue) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical_json(value)


@pytest.mark.parametrize(
    "value", [NESTED, freeze(NESTED), None, 0, -(2**53) + 1, 1.5, "", [], {}, True, "\udcff"], ids=repr
)
def test_what_is_of_json(value: object) -> None:
    assert is_json(value)


def test_what_is_not_of_json() -> None:
    odd = [*ODD, b"bytes", bytearray(b"b"), {1: 2}, {"a": object()}, [{"a": math.nan}], {1, 2}, object()]
    assert [value for value in odd if is_json(value)] == []


def test_the_sorted_form_is_equal_for_equal_values() -> None:
    assert sorted_json(NESTED) == b'{"a":"text","b":[1,{"c":null}],"d":[true,1.5,[]]}'
    assert sorted_json(freeze(NESTED)) == sorted_json(NESTED)
    assert sorted_json("ü") == '"ü"'.encode()


def test_the_sorted_form_carries_every_text() -> None:
    texts = ("\ud800", "\udcff", "\udcfe", "?")
    assert len({sorted_json(text) for text in texts}) == len(texts)


def test_the_sorted_form_takes_any_mapping_and_sequence() -> None:
    class Odd(Mapping[str, JsonValue]):
        def __getitem__(self, key: str) -> JsonValue:
            return range(2)

        def __iter__(self) -> Any:
            return iter("a")

        def __len__(self) -> int:
            return 1

    assert sorted_json(Odd()) == b'{"a":[0,1]}'


def test_compact_json_is_one_line_of_ascii_that_reads_the_same() -> None:
    text = compact_json(freeze({"z": ["\n\udcff", "ü"], "a": range(2)}))
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == {"z": ["\n\udcff", "ü"], "a": [0, 1]}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_sorted_form_has_no_word_for_odd_numbers(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        sorted_json(value)


def test_the_sorted_form_refuses_what_is_no_json() -> None:
    with pytest.raises(TypeError, match="object is no JSON value"):
        sorted_json(object())  # type: ignore[arg-type]  # what the test is about


def test_a_digest_names_its_algorithm() -> None:
    assert digest(b"x") == "sha256:" + hashlib.sha256(b"x").hexdigest()
