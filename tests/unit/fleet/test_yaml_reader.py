"""YAML texts become nodes with places, or diagnostics with places."""

import sys
from collections.abc import Mapping

import pytest
from yaml.error import YAMLError

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet import yaml_reader
from datum.fleet.nodes import SIZE_LIMIT, ListNode, MapNode, Node, Scalar, plain
from datum.fleet.yaml_reader import DEPTH_LIMIT, explain, read_yaml
from datum.model.json import JsonValue, thaw


def read(text: str | bytes) -> Node | None:
    data = text.encode() if isinstance(text, str) else text
    node, diagnostics = read_yaml(data, "f.yaml")
    assert diagnostics == ()
    return node


def value(text: str) -> JsonValue:
    node = read(text)
    assert node is not None
    return thaw(plain(node))


def problems(text: str | bytes) -> tuple[Diagnostic, ...]:
    return read_yaml(text.encode() if isinstance(text, str) else text, "f.yaml")[1]


def only(text: str | bytes) -> Diagnostic:
    (diagnostic,) = problems(text)
    return diagnostic


def at(line: int, column: int) -> SourceLocation:
    return SourceLocation("f.yaml", line, column)


def test_every_value_and_key_has_its_place() -> None:
    node = read("a: 1\nb:\n  - x\n  - {c: 'y'}\n")
    assert isinstance(node, MapNode)
    assert node.location == at(1, 1)
    assert node.key_locations == {"a": at(1, 1), "b": at(2, 1)}
    inner = node.items["b"]
    assert isinstance(inner, ListNode)
    assert [item.location for item in inner.items] == [at(3, 5), at(4, 5)]
    assert inner.items[0] == Scalar("x", "x", at(3, 5), is_plain=True)
    last = inner.items[1]
    assert isinstance(last, MapNode)
    assert last.items["c"] == Scalar("y", "y", at(4, 9))


def test_columns_count_characters() -> None:
    node = read("'é': [ü, b]\n")
    assert isinstance(node, MapNode)
    items = node.items["é"]
    assert isinstance(items, ListNode)
    assert items.items[1].location == at(1, 10)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: [directory:/etc/app, file:/etc/x]", {"a": ["directory:/etc/app", "file:/etc/x"]}),
        ("a: {b: c:d, e: 'f'}", {"a": {"b": "c:d", "e": "f"}}),
        ("a: |\n  x\n  \ty\n\n", {"a": "x\n\ty\n"}),
        ("a: |-\n  x\n", {"a": "x"}),
        ("a: |+\n  x\n\n", {"a": "x\n\n"}),
        ("a: >\n  x\n  y\n", {"a": "x y\n"}),
        ('a: "x\\ty\\u00e9"', {"a": "x\tyé"}),
        ("a: 'x\ty' # c\td\nb: |\n  p\tq", {"a": "x\ty", "b": "p\tq"}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("a: &x 1\nb: *x\n", {"a": 1, "b": 1}),
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("\ufeffa: 1", {"a": 1}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
        ("a: 1\r\nb: |\r\n  x\r\n", {"a": 1, "b": "x\n"}),
        ('"<<": 1', {"<<": 1}),
        ('"yes": no-thing', {"yes": "no-thing"}),
        ("- ''\n-\n- ~\n", ["", None, None]),
    ],
)
def test_texts_are_read_as_yaml_means_them(text: str, wanted: JsonValue) -> None:
    assert value(text) == wanted


@pytest.mark.parametrize("text", ["", "# nothing\n", "\ufeff"])
def test_an_empty_file_holds_no_document(text: str) -> None:
    assert read(text) is None


def test_nodes_are_frozen_and_plain_values_too() -> None:
    node = read("a: [1]")
    assert node is not None
    frozen = plain(node)
    assert isinstance(frozen, Mapping)
    assert frozen["a"] == (1,)
    with pytest.raises(TypeError):
        frozen["b"] = 1  # type: ignore[index]  # that it fails is the fact


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (b"a: 1\nb: \xff", "yaml-not-utf8", at(2, 4)),
        ("a: 1\n".encode("utf-16"), "yaml-not-utf8", at(1, 1)),
        ("a: 1\n".encode("utf-16-le"), "yaml-control-character", at(1, 2)),
        ("a: x\x07", "yaml-control-character", at(1, 5)),
        ("a: 1\r\nb: x\u2028", "yaml-control-character", at(2, 5)),
        ("a: \ufeffx", "yaml-control-character", at(1, 4)),
        ("a:\n\tb: 1", "yaml-tab", at(2, 1)),
        ("a: |\n\tb\n", "yaml-tab", at(2, 1)),
        ("a:\t1", "yaml-tab", at(1, 3)),
        ("a: 'x\ty' # c\td\n\t\n", "yaml-tab", at(2, 1)),
        ("a: 'x\ty'\nb: 1\t# c", "yaml-tab", at(2, 5)),
        ("a: x\ty", "yaml-tab", at(1, 5)),
        ("a: 1\n---\nb: 1", "yaml-documents", at(2, 1)),
        ("%YAML 1.1\n---\na: 1", "yaml-directive", at(1, 1)),
        ("%TAG ! tag:x,2000:\n---\na: 1", "yaml-directive", at(1, 1)),
        ("a: !secret x", "yaml-tag", at(1, 4)),
        ("a: !!python/object:os.system x", "yaml-tag", at(1, 4)),
        ("a: ! x", "yaml-tag", at(1, 4)),
        ("a: !x [1]", "yaml-tag", at(1, 4)),
        ("<<: {a: 1}", "yaml-merge-key", at(1, 1)),
        ("[a]: 1", "yaml-key-not-string", at(1, 1)),
        ("{a: 1}: 1", "yaml-key-not-string", at(1, 1)),
        ("1: x", "yaml-key-not-string", at(1, 1)),
        ("on: x", "yaml-key-not-string", at(1, 1)),
        ("0644: x", "yaml-key-not-string", at(1, 1)),
        ("~: x", "yaml-key-not-string", at(1, 1)),
        ("a: &x b\n*x : 1", "yaml-key-not-string", at(2, 1)),
        ("a: *x", "yaml-alias", at(1, 4)),
        ("a: &x [*x]", "yaml-alias", at(1, 8)),
        ("a: &x 1\nb: &x 2", "yaml-alias", at(2, 4)),
        ("a: [1", "yaml-syntax", at(2, 1)),
        ("a: 'x", "yaml-syntax", at(1, 6)),
        ("a: b: c", "yaml-syntax", at(1, 5)),
        ('a: "\\ud800"', "yaml-syntax", at(1, 7)),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_place(text: str | bytes, code: str, place: SourceLocation) -> None:
    found = only(text)
    assert (found.code, found.location) == (code, place)
    assert found.detail


def test_a_duplicate_key_shows_both_places_and_the_first_is_kept() -> None:
    node, (found,) = read_yaml(b"a: 1\nb: 2\na: 3\n", "f.yaml")
    assert node is not None
    assert thaw(plain(node)) == {"a": 1, "b": 2}
    assert (found.code, found.location) == ("yaml-duplicate-key", at(3, 1))
    assert found.related == (("first", at(1, 1)),)


def test_quoted_and_plain_spellings_of_a_key_are_one_key() -> None:
    assert only("a: 1\n'a': 2\n").code == "yaml-duplicate-key"


def test_reading_goes_on_after_what_can_be_skipped() -> None:
    codes = [found.code for found in problems("1: x\na: !t y\na: z\nb: *q\n")]
    assert codes == ["yaml-key-not-string", "yaml-tag", "yaml-duplicate-key", "yaml-alias"]


def test_a_syntax_error_keeps_what_was_found_before_it() -> None:
    assert [found.code for found in problems("1: x\na: [\n")] == ["yaml-key-not-string", "yaml-syntax"]


@pytest.mark.parametrize("text", ["a: ${ x: y }", "a: {p: ${var.port}}"])
def test_a_syntax_error_beside_an_expression_says_to_quote_it(text: str) -> None:
    assert "quote" in only(text).hint


def test_a_syntax_error_says_where_the_broken_thing_began() -> None:
    assert only("a: {b: 1\nc: 2\n").related == (("begun here", at(1, 4)),)
    assert only("a: b: c").related == ()


def test_a_syntax_error_after_the_last_line_has_no_hint() -> None:
    assert only("a: [\n").hint == ""


def test_an_error_without_a_place_names_the_file() -> None:
    found = explain(YAMLError("broken"), "", "f.yaml")
    assert (found.code, found.location) == ("yaml-syntax", SourceLocation("f.yaml"))
    assert "broken" in found.detail


def test_depth_is_bounded() -> None:
    assert problems("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT) == ()
    assert only("[" * (DEPTH_LIMIT + 2)).code == "yaml-too-deep"
    assert only("- " * 1_000).code == "yaml-too-deep"
    assert only("[" * 100_000).code == "yaml-too-deep"


def test_depth_counts_what_aliases_stand_for() -> None:
    deep = "[" * 40 + "1" + "]" * 40
    assert problems(f"a: &x {deep}\nb: [*x]\n") == ()
    assert only(f"a: &x {deep}\nb: {'[' * 30}*x{']' * 30}\n").code == "yaml-too-deep"
    chain = f"a: &x {deep}\nb: &y {'[' * 20}*x{']' * 20}\nc: "
    assert problems(f"{chain}[*y]\n") == ()
    assert only(f"{chain}[[[[*y]]]]\n").code == "yaml-too-deep"


def test_an_alias_bomb_is_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 30):
        bomb += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    assert only(bomb).code == "yaml-alias-bomb"


def test_size_is_bounded() -> None:
    assert only(b"#" * (SIZE_LIMIT + 1)).code == "yaml-too-large"
    assert problems(b"#" * SIZE_LIMIT) == ()


def test_a_missing_c_parser_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml._yaml", None)
    found = only("a: 1")
    assert found.code == "yaml-no-parser"
    assert "libyaml" in found.detail


def test_every_code_has_its_summary() -> None:
    assert all(code.startswith("yaml-") and text.endswith(".") for code, text in yaml_reader.SUMMARIES.items())
