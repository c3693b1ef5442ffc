"""Typed reading of the fixed parts of documents."""

from datum.diagnostics import SourceLocation
from datum.fleet.findings import Findings
from datum.fleet.nodes import Node
from datum.fleet.schema import Checker
from datum.fleet.yaml_reader import read_yaml
from datum.model.manifest import Enforcement


def _read(text: str) -> tuple[Checker, Node]:
    node, diagnostics = read_yaml(text.encode(), "f")
    assert node is not None
    assert not diagnostics
    return Checker(Findings()), node


def _codes(checker: Checker) -> list[str]:
    return [found.code for found in checker.findings.items]


def test_keys_with_null_are_as_if_never_said() -> None:
    checker, node = _read("{a: 1, b: null, c: 3, d: 4}")
    table = checker.table(node, "it")
    assert table is not None
    assert list(checker.keys(table, ("a", "b"), "it", later={"c": "cakes"})) == ["a"]
    assert [(found.code, str(found.location)) for found in checker.findings.items] == [
        ("not-in-this-version", "f:1:17"),
        ("unknown-key", "f:1:23"),
    ]
    assert checker.findings.items[0].detail == "'c' belongs to cakes, which this version of datum does not have."


def test_null_is_an_empty_map() -> None:
    checker, node = _read("null")
    assert checker.table(node, "it") is not None
    assert not _codes(checker)


def test_texts_are_distinct_and_the_wrong_ones_left_out() -> None:
    checker, node = _read("[a, 1, no, a, [b]]")
    assert [text for text, _ in checker.texts(node, "it")] == ["a", "no"]
    assert _codes(checker) == ["unquoted-scalar", "bad-value", "wrong-type"]
    assert [place for _, place in checker.findings.items[1].related] == [SourceLocation("f", 1, 2)]


def test_numbers_have_a_least() -> None:
    checker, node = _read("3")
    assert checker.integer(node, "it", least=3) == 3
    assert checker.integer(node, "it", least=4) is None
    assert _codes(checker) == ["bad-value"]


def test_truth_and_text_are_no_integers() -> None:
    for text in ("true", "'3'", "3.0", "[3]", "0x3"):
        checker, node = _read(text)
        assert checker.integer(node, "it") is None
        assert len(_codes(checker)) == 1


def test_choice_is_a_member() -> None:
    checker, node = _read("hold")
    assert checker.choice(node, Enforcement, "it") is Enforcement.HOLD
    checker, node = _read("held")
    assert checker.choice(node, Enforcement, "it") is None
    assert checker.findings.items[0].hint == "Did you mean 'hold'?"


def test_null_is_no_text() -> None:
    checker, node = _read("null")
    assert checker.text(node, "it") is None
    assert checker.findings.items[0].detail == "it is a string, and null without quotes is null."


def test_expression_is_not_read() -> None:
    checker, node = _read("'${var.x}'")
    assert checker.text(node, "it") is None
    assert _codes(checker) == ["expression-not-here"]
