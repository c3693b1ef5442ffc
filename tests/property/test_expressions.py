"""Expressions: dotted names need no parser, evaluation is total and deterministic."""

from typing import Final, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from datum.diagnostics import SourceLocation
from datum.fleet.expressions import ExpressionError, Scope, evaluate, has_expression
from datum.fleet.expressions.evaluator import compile_expression, run
from datum.fleet.expressions.names import dotted, resolve
from datum.fleet.expressions.problems import EvaluationError, Missing
from datum.fleet.expressions.scan import scan
from datum.model.json import JsonValue, freeze

HERE: Final = SourceLocation("f", 1, 1)

_NAMES: Final = st.sampled_from(
    ["a", "b", "items", "keys", "if", "not", "in", "none", "true", "class", "__class__", "_x"]
)
_VALUES: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-100, 100)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=15,
)
_ROOTS: Final = st.dictionaries(st.sampled_from(["var", "host", "each"]), st.dictionaries(_NAMES, _VALUES), max_size=3)
_SCOPES: Final = _ROOTS.map(lambda roots: cast("Scope", freeze(cast("JsonValue", roots))))
_CHAINS: Final = st.builds(
    lambda root, keys: (root, *keys),
    st.sampled_from(["var", "host", "each", "other", "param"]),
    st.lists(_NAMES, max_size=4),
)
_PIECES: Final = st.lists(
    st.sampled_from(
        [
            *("var", ".a", ".b", "[0]", "['a']", "1", "2.5", "'x'", " + ", " - ", " * ", " / ", " ** ", " ~ ", " and "),
            *(" or ", "not ", " in ", " if ", " else ", " | sort", " | to_json", " | length", " | join(',')", " | int"),
            *(
                " is defined",
                " is string",
                " == ",
                " < ",
                "(",
                ")",
                "[",
                "]",
                ",",
                ":",
                "{",
                "}",
                "true",
                "none",
                "-",
                "$",
            ),
        ]
    ),
    max_size=10,
)


def fate(text: str, scope: Scope) -> object:
    try:
        return evaluate(text, scope, HERE)
    except ExpressionError as error:
        return error.diagnostic


@settings(deadline=None)
@given(_SCOPES, _CHAINS)
def test_dotted_names_have_the_value_that_the_parser_gives_them(scope: Scope, chain: tuple[str, ...]) -> None:
    source = ".".join(chain)
    (part,) = scan(f"${{{source}}}")
    assert part.chain == chain

    def outcome(get: object) -> object:
        try:
            value = get() if callable(get) else get
        except EvaluationError as error:
            return (error.code, error.detail, error.hint)
        return ("missing", value.problem().args) if isinstance(value, Missing) else ("value", value, type(value))

    def parsed() -> object:
        return run(compile_expression(source), lambda names: resolve(scope, names))

    plain, full = outcome(lambda: resolve(scope, chain)), outcome(parsed)
    assert isinstance(plain, tuple)
    assert full == (plain[1] if plain[0] == "missing" else plain)


@settings(deadline=None)
@given(_SCOPES, _PIECES, st.text("ab $", max_size=3))
def test_evaluation_gives_a_value_or_one_error_and_the_same_twice(scope: Scope, pieces: list[str], around: str) -> None:
    text = f"{around}${{{''.join(pieces)}}}{around}"
    assert fate(text, scope) == fate(text, scope)


@settings(deadline=None)
@given(_SCOPES, st.text(st.sampled_from("ab ${}'\"|.$"), max_size=12))
def test_any_text_is_read(scope: Scope, text: str) -> None:
    fate(text, scope)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab ${}"), max_size=12))
def test_escaped_text_stands_for_itself(text: str) -> None:
    """Where nothing before an opening could be taken for its escape."""
    literal = text.replace("$${", "").replace("${", "x")
    escaped = literal.replace("x", "$${")
    if not has_expression(escaped):
        assert evaluate(escaped, {}, HERE) == literal.replace("x", "${")


@settings(deadline=None)
@given(st.lists(_CHAINS, min_size=2, max_size=2, unique=True))
def test_different_names_have_different_texts(chains: list[tuple[str, ...]]) -> None:
    first, second = chains
    assert dotted(first) != dotted(second)
