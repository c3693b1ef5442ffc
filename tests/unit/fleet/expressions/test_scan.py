"""Expressions are found in strings whatever stands inside of them."""

import pytest

from datum.fleet.expressions.problems import EvaluationError
from datum.fleet.expressions.scan import Part, has_expression, scan


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ()),
        ("plain $x {y} $", (Part("plain $x {y} $"),)),
        ("$${x}", (Part("${x}"),)),
        ("$$${x}", (Part("$${x}"),)),
        ("a$${b}${var.c}", (Part("a${b}"), Part("var.c", is_expression=True, chain=("var", "c")))),
        ("${ var.a.b }", (Part(" var.a.b ", is_expression=True, chain=("var", "a", "b")),)),
        ("${true}", (Part("true", is_expression=True),)),
        ("${'}'}", (Part("'}'", is_expression=True),)),
        ('${"\\"}"}', (Part('"\\"}"', is_expression=True),)),
        ("${ {'a': {}} }", (Part(" {'a': {}} ", is_expression=True),)),
        ("${var.a}}", (Part("var.a", is_expression=True, chain=("var", "a")), Part("}"))),
        ("${var.a | join('${')}", (Part("var.a | join('${')", is_expression=True),)),
    ],
)
def test_a_string_falls_into_text_and_expressions(text: str, wanted: tuple[Part, ...]) -> None:
    assert scan(text) == wanted


@pytest.mark.parametrize("text", ["${", "a ${var.x", "${'}", '${"a}', "${ {'a': 1 }", "ok ${var.a} ${var.b"])
def test_an_expression_that_is_not_closed_says_where_yaml_ended_it(text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        scan(text)
    assert caught.value.code == "expression-unterminated"
    assert "` #`" in caught.value.detail
    assert "quote" in caught.value.hint


@pytest.mark.parametrize("text", ["${}", "${ }", "a${\n}"])
def test_an_empty_expression_is_an_error(text: str) -> None:
    with pytest.raises(EvaluationError, match="expression-syntax"):
        scan(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("", False), ("$", False), ("$${x}", False), ("$x{", False), ("${x}", True), ("$${x} ${", True), ("$$${", False)],
)
def test_an_unescaped_opening_is_an_expression(text: str, *, wanted: bool) -> None:
    assert has_expression(text) is wanted
