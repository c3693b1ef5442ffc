"""Every filter and test: what it gives, and what it refuses."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pytest

from datum.diagnostics import SourceLocation
from datum.fleet.expressions import ExpressionError, evaluate
from datum.fleet.expressions.functions import FILTERS
from datum.fleet.expressions.library import Builtin, apply
from datum.fleet.expressions.predicates import TESTS
from datum.fleet.expressions.problems import EvaluationError
from datum.model.json import JsonValue, freeze

VALUES: Final[JsonValue] = freeze(
    {"s": "b a", "n": 5, "f": 2.5, "l": ["b", "a", "b"], "m": {"z": 1, "a": [2]}, "e": [], "t": True, "none": None}
)
WORDS: Final = r'"a b" "$$x" "100%%" "c\\" "\"" ";" "" "5" "true"'


def of(source: str) -> object:
    assert isinstance(VALUES, Mapping)
    return evaluate(f"${{{source}}}", {"var": VALUES}, SourceLocation("f"))


def refused(source: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        of(source)
    return caught.value.diagnostic.code


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("'aÄ' | lower", "aä"),
        ("var.s | upper", "B A"),
        ("' x\n' | trim", "x"),
        ("var.s | replace(' ', '')", "ba"),
        ("var.l | join('-')", "b-a-b"),
        ("[1, true, 'x'] | join", "1truex"),
        ("var.s | split", ("b", "a")),
        ("'a,,b' | split(',')", ("a", "", "b")),
        ("var.nope | default(3)", 3),
        ("var.none | default(3)", None),
        ("var.nope.deeper | default('x')", "x"),
        ("var.s | length + var.l | length + var.m | length", 8),
        ("var.l | first", "b"),
        ("'xyz' | last", "z"),
        ("var.l | sort", ("a", "b", "b")),
        ("[2, 1.5, -1] | sort", (-1, 1.5, 2)),
        ("[] | sort", ()),
        ("[1, true, 1, 'a', 'a', 1.0] | unique", (1, True, "a", 1.0)),
        ("var.m | keys", ("a", "z")),
        ("var.m | values", ((2,), 1)),
        ("var.m | items", (("a", (2,)), ("z", 1))),
        ("' -12 ' | int", -12),
        ("'+7' | int", 7),
        ("-2.9 | int", -2),
        ("3 | int", 3),
        ("2.5 | string", "2.5"),
        ("true | string", "true"),
        ("var.m | to_json", '{"a": [2], "z": 1}'),
        ("var.m | to_json(indent=1)", '{\n "a": [\n  2\n ],\n "z": 1\n}'),
        ("'é' | to_json", '"é"'),
        ("null_is_a_name_only | default(none) | to_json", "null"),
        ('"it\'s" | quote', "'it'\"'\"'s'"),
        ("5 | quote", "5"),
        (r"['a b', '$x', '100%', 'c\\', '\"', ';', '', 5, true] | systemd_words", WORDS),
        ("['\x01', 'a\nb', '\x7f', 'ü'] | systemd_words", r'"\x01" "a\x0ab" "\x7f" "ü"'),
        ("[] | systemd_words", ""),
        ("'a\n\nb' | indent", "a\n\n    b"),
        ("'a\nb' | indent(1, true)", " a\n b"),
        ("'\nb' | indent(1, first=true)", "\n b"),
        ("1001 | percent(25)", 250),
        ("10 | percent(2.5)", 0),
        ("-5 | percent(50)", -3),
        ("5 | min(3, 4)", 3),
        ("[5, 2.5] | min", 2.5),
        ("5 | max(8)", 8),
        ("[1, 2] | max", 2),
        ("1000 | round_down(64)", 960),
        ("-1.5 | round_down", -2),
        ("-3 | abs", 3),
        ("'é' | base64", "w6k="),
        ("'a\"b' | json_string", '"a\\"b"'),
    ],
)
def test_filters_give(source: str, wanted: JsonValue) -> None:
    found = of(f"({source})")
    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize(
    "source",
    [
        *("1 | lower", "none | upper", "[] | trim", "1 | replace('a', 'b')", "'a' | replace('', 'b')", "'a' | join"),
        *("'a' | split('')", "'a' | split(1)", "1 | length", "[] | first", "'' | last", "{} | first"),
        *("[1, 'a'] | sort", "[true] | sort", "1 | unique", "[] | keys", "[] | values", "[] | items", "'x' | int"),
        *("'1.5' | int", "'²' | int", "'' | int", "true | int", "none | int", "'\\0' | quote", "'a' | indent(-1)"),
        *("'a' | indent(true)", "'a' | indent(65)", "'a' | percent(1)", "1 | percent('a')", "true | min", "[] | max"),
        *(
            "1 | round_down(0)",
            "1 | round_down(1.5)",
            "'a' | abs",
            "1 | base64",
            "1 | json_string",
            "'a' | replace('b')",
        ),
        *("'a b' | systemd_words", "['\\0'] | systemd_words"),
        *("1 | lower(2)", "1 | min(other=2)", "'9999999999999999999' | int", "'9' | string | int(3)"),
        *("9007199254740991 | percent(101)", "'a' is starts_with 1", "1 is ends_with 'a'", "1 in 5", "1 in 'a'"),
    ],
)
def test_filters_and_tests_refuse_what_they_do_not_take(source: str) -> None:
    assert refused(source) == "expression-value"


@pytest.mark.parametrize(
    "source", ["var.l | join(none)", "1 | default", "[[]] | join", "[1.5] | join", "none | string"]
)
def test_arguments_and_items_of_the_wrong_kind_are_errors(source: str) -> None:
    assert refused(source) in {"expression-value", "needs-filter"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("true is boolean", True),
        ("1 is boolean", False),
        ("var.s is defined", True),
        ("var.nope is defined", False),
        ("var.none is defined", True),
        ("var.nope is not defined", True),
        ("'ab' is ends_with 'b'", True),
        ("'ab' is starts_with 'b'", False),
        ("'b' is in var.l", True),
        ("'z' is in(var.m)", True),
        ("' ' is in var.s", True),
        ("1 is integer", True),
        ("true is integer", False),
        ("1.0 is integer", False),
        ("var.m is mapping", True),
        ("var.l is mapping", False),
        ("none is none", True),
        ("var.none is not none", False),
        ("2.5 is number", True),
        ("true is number", False),
        ("var.l is sequence", True),
        ("'a' is sequence", False),
        ("'a' is string", True),
        ("1 is string", False),
    ],
)
def test_tests_tell(source: str, *, wanted: bool) -> None:
    assert of(source) is wanted


def test_every_filter_and_test_documents_itself() -> None:
    for name, builtin in (*FILTERS.items(), *TESTS.items()):
        assert builtin.usage.split("(")[0] == name
        assert builtin.summary
        assert builtin.summary.endswith(".")


def test_a_function_without_a_docstring_has_no_summary() -> None:
    assert Builtin("x", lambda value: value).summary == ""


@pytest.mark.parametrize(
    ("name", "value", "arguments"),
    [
        ("replace", "a" * 3000, ("a", "b" * 3000)),
        ("join", ("a",) * 3000, ("b" * 3000,)),
        ("indent", "a\n" * 100_000, (64,)),
    ],
)
def test_results_are_bounded(name: str, value: JsonValue, arguments: tuple[JsonValue, ...]) -> None:
    with pytest.raises(EvaluationError, match="expression-budget"):
        apply(FILTERS[name], value, arguments, MappingProxyType({}))


def test_text_that_is_no_unicode_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="expression-value"):
        apply(FILTERS["base64"], "\ud800", (), {})
