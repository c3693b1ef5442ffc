"""Strings of a manifest become values, errors, or wait for the machine."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import pytest

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.expressions import ExpressionError, Scope, evaluate, evaluate_late
from datum.fleet.expressions.problems import EvaluationError, Missing, MissingName
from datum.model.json import JsonValue, freeze, thaw
from datum.model.manifest import Late
from datum.model.observation import Machine

HERE: Final = SourceLocation("hosts/web1.yaml", 4, 9)


def scope_of(**roots: JsonValue) -> Scope:
    return cast("Scope", freeze(roots))


SCOPE: Final = scope_of(
    var={
        "a": {"b": 5, "items": [1, 2], "x y": "q"},
        "s": "x",
        "http_port": 80,
        "l": ["b", "a"],
        "f": 1.5,
        "n": None,
        "t": True,
    },
    host={"name": "web1"},
)


def of(text: str, scope: Scope = SCOPE) -> object:
    return thaw(cast("JsonValue", evaluate(text, scope, HERE)))


def refused(text: str, scope: Scope = SCOPE) -> Diagnostic:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, scope, HERE)
    assert caught.value.diagnostic.location == HERE
    return caught.value.diagnostic


def late(text: str) -> Late:
    found = evaluate(text, SCOPE, HERE)
    assert isinstance(found, Late)
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("", ""),
        ("$${x}", "${x}"),
        ("${var.a.b}", 5),
        ("${var.a}", {"b": 5, "items": [1, 2], "x y": "q"}),
        ("${var.n}", None),
        ("${var.a.items}", [1, 2]),
        ("p=${var.a.b} h=${host.name} t=${var.t}", "p=5 h=web1 t=true"),
        ("${var.a['x y']}", "q"),
        ("${var['a'].b}", 5),
        ("${var.l[0]}${var.l[-1]}", "ba"),
        ("${var.l[0:1]}", ["b"]),
        ("${'abc'[::-1]}", "cba"),
        ("${'abc'[1]}", "b"),
        ("${var.l[var.l | length - 1]}", "a"),
        ("${var.a[var.l[0]]}", 5),
        ("${1 + 2 * 3 - 4}", 3),
        ("${7 // 2}${7 % 2}${2 ** 3}${-var.a.b}${+1}", "318-51"),
        ("${7 / 2}", 3.5),
        ("${'a' + 'b'}", "ab"),
        ("${var.l + [1]}", ["b", "a", 1]),
        ("${'a' ~ 1 ~ true}", "a1true"),
        ("${1 < 2 <= 2 and 3 > 2 >= 2 and 'a' < 'b'}", True),
        ("${1 < 2 > 3}", False),
        ("${1 == 1.0 and 'a' != 'b'}", True),
        ("${'b' in var.l and 'c' not in var.l and 'b' in var.a}", True),
        ("${0 or 'x'}${1 and 'y'}", "xy"),
        ("${not var.t}", False),
        ("${'y' if var.t else 'n'}${'y' if not var.t else 'n'}", "yn"),
        ("${var.nope if false else 1}", 1),
        ("${(1, 2)}", [1, 2]),
        ("${ {'a': {'b': '}'}} }", {"a": {"b": "}"}}),
        ("${none}", None),
        ("${(var.nope if true else 1) | default(2)}", 2),
        ("${(1 if false) | default(3)}", 3),
        ("${'x'.y | default(4)}${[1][0]}", "41"),
    ],
)
def test_expressions_have_values(text: str, wanted: object) -> None:
    found = of(text)
    assert (found, type(found)) == (wanted, type(wanted))


def test_values_are_frozen() -> None:
    assert evaluate("${var.l}", {"var": {"l": ["b"]}}, HERE) == ("b",)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${var.http_prot}", "undefined-name"),
        ("${vra.x}", "undefined-name"),
        ("${each.key}", "undefined-name"),
        ("${var.l[5]}", "undefined-name"),
        ("${var.l.x}", "undefined-name"),
        ("${var.a[1]}", "undefined-name"),
        ("${var.s.x}", "undefined-name"),
        ("${var.l[true]}", "undefined-name"),
        ("${1 if false}", "undefined-name"),
        ("${var.nope + 1}", "undefined-name"),
        ("${1 | max(var.nope)}", "undefined-name"),
        ("${'a' | indent(width=var.nope)}", "undefined-name"),
        ("${[var.nope]}", "undefined-name"),
        ("${''.__class__}", "undefined-name"),
        ("${var.a.__class__.__mro__}", "undefined-name"),
        ("${param.x}", "not-in-this-version"),
        ("${secret.x}", "not-in-this-version"),
        ("${hosts['db1'].x}", "not-in-this-version"),
        ("${export.a.b | upper}", "not-in-this-version"),
        ("${var.a.items()}", "expression-syntax"),
        ("${range(3)}", "expression-syntax"),
        ("${var.l | join(*var.l)}", "expression-syntax"),
        ("${x for}", "expression-syntax"),
        ("${1 +}", "expression-syntax"),
        ("${%}", "expression-syntax"),
        ("${'\\ud800'}", "expression-syntax"),
        ("${" + "9" * 5000 + "}", "expression-syntax"),
        ("${", "expression-unterminated"),
        ("${var.a | nope}", "unknown-filter"),
        ("${var.a is nope}", "unknown-filter"),
        ("${1 / 0}", "expression-value"),
        ("${1 % 0}", "expression-value"),
        ("${1e200 ** 2}", "expression-value"),
        ("${(-1) ** 0.5}", "expression-value"),
        ("${1e999}", "expression-value"),
        ("${9007199254740992}", "expression-value"),
        ("${2 ** 64}", "expression-value"),
        ("${2 ** 65}", "expression-budget"),
        ("${'a' * 9}", "expression-value"),
        ("${true + 1}", "expression-value"),
        ("${-'a'}", "expression-value"),
        ("${1 < 'a'}", "expression-value"),
        ("${[1] < [2]}", "expression-value"),
        ("${var.a[0:1]}", "expression-value"),
        ("${var.l['a':]}", "expression-value"),
        ("${var.l[::0]}", "expression-value"),
        ("${ {1: 2} }", "expression-value"),
        ("${'a' ~ 1.5}", "needs-filter"),
        ("x${var.f}", "needs-filter"),
        ("x${var.l}", "needs-filter"),
        ("x${var.a}", "needs-filter"),
        ("x${var.n}", "needs-filter"),
        ("${" + "(" * 21 + "1" + ")" * 21 + "}", "expression-budget"),
        ("${" + "1+" * 70 + "1}", "expression-budget"),
        ("${'" + "a" * 10_000 + "'}", "expression-budget"),
        ("${" + "not " * 2_000 + "1}", "expression-syntax"),
    ],
)
def test_what_has_no_value_is_an_error_with_a_code(text: str, code: str) -> None:
    assert refused(text).code == code


def test_an_undefined_name_says_what_is_known_and_may_be_meant() -> None:
    found = refused("${var.http_prot}")
    assert "var has no 'http_prot'" in found.detail
    assert "http_port" in found.detail
    assert found.hint == "Did you mean 'http_port'?"


def test_a_long_list_of_known_names_is_cut() -> None:
    many = scope_of(var={f"name{number:02}": 1 for number in range(30)})
    detail = refused("${var.x}", many).detail
    assert "name19, …" in detail
    assert "name20" not in detail


def test_a_long_text_is_cut_in_the_error() -> None:
    assert "…'" in refused(f"{'a' * 100}${{var.x}}").detail


def test_a_value_that_doubles_is_bounded() -> None:
    scope = scope_of(var={"s": "a" * 3_000_000})
    assert refused("${var.s + var.s}", scope).code == "expression-budget"
    assert refused("${var.s ~ var.s}", scope).code == "expression-budget"
    assert refused("${[var.s, var.s]}", scope).code == "expression-budget"
    assert refused("${ {'a': var.s, 'b': var.s} }", scope).code == "expression-budget"
    assert refused("${[var.s] + [var.s]}", scope).code == "expression-budget"
    assert refused("${(var.s ~ 'x') | base64 | base64 | base64}", scope).code == "expression-budget"


def test_steps_are_bounded() -> None:
    scope = scope_of(var={"s": "a" * 3_000_000})
    lengths = ["var.s | upper | length", "var.s | lower | length", "var.s | trim | length"]
    assert of(f"${{{lengths[0]}}}", scope) == 3_000_000
    assert refused(f"${{{' + '.join(f'({item})' for item in lengths)}}}", scope).code == "expression-budget"


class Lazy(Mapping[str, JsonValue]):
    """Evaluates when asked, and fails for `bad`."""

    def __getitem__(self, key: str) -> JsonValue:
        if key == "bad":
            raise ExpressionError(Diagnostic(code="variable-cycle", summary="A circle."))
        return {"good": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("good", "bad"))

    def __len__(self) -> int:
        return 2


def test_a_lazy_scope_is_asked_for_what_is_used_only() -> None:
    assert of("${var.good}", {"var": Lazy()}) == 1
    with pytest.raises(ExpressionError) as caught:
        evaluate("${var.bad}", {"var": Lazy()}, HERE)
    assert caught.value.diagnostic.code == "variable-cycle"
    assert refused("${var.nope}", {"var": Lazy()}).code == "undefined-name"


def test_a_late_value_in_a_variable_is_refused() -> None:
    scope = cast("Scope", {"var": {"m": Late("${machine.cpus}")}})
    assert refused("${var.m}", scope).code == "late-not-here"


def test_what_names_the_machine_is_late_and_carries_the_rest() -> None:
    found = late("${machine.cpus * var.a.b}-${host.name}-${var.a['x y']}")
    assert found.scope == {"host.name": "web1", "var.a.b": 5, "var.a['x y']": "q"}
    assert evaluate_late(found, Machine({"cpus": 4})) == "20-web1-q"


def test_a_late_expression_alone_has_its_type() -> None:
    assert (
        evaluate_late(late("${machine.memory_mib | percent(25) | round_down(64)}"), Machine({"memory_mib": 1000}))
        == 192
    )
    assert evaluate_late(late("${machine.cpus}"), Machine({"cpus": 4})) == 4


def test_late_keys_may_depend_on_other_values() -> None:
    found = late("${machine.addresses[var.s] | default('none')}")
    assert evaluate_late(found, Machine(cast("Any", {"addresses": {"x": "10.0.0.1"}}))) == "10.0.0.1"
    assert evaluate_late(found, Machine()) == "none"


def test_names_that_may_be_missing_are_no_error_in_a_late_value() -> None:
    found = late("${var.nope | default(machine.cpus)} ${var.gone is defined}")
    assert found.scope == {}
    assert evaluate_late(found, Machine({"cpus": 2})) == "2 false"


@pytest.mark.parametrize(
    "text", ["${machine.cpsu}", "${machine}", "${machine | to_json}", "${machine.cpus + var.nope}"]
)
def test_a_late_value_is_checked_as_far_as_it_is_known(text: str) -> None:
    assert refused(text).code == "undefined-name"


def test_a_value_of_the_machine_that_could_not_be_read_is_named() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_late(late("${machine.cpus}"), Machine({"arch": "amd64"}))
    found = caught.value.diagnostic
    assert (found.code, found.location) == ("machine-value-missing", None)
    assert "machine.cpus" in found.detail
    assert "arch" in found.detail


def test_the_machine_may_be_in_the_scope() -> None:
    assert of("${machine.cpus + 1}", scope_of(machine={"cpus": 3})) == 4


def test_the_base_of_missing_names_says_nothing_itself() -> None:
    with pytest.raises(NotImplementedError):
        Missing().problem()
    assert isinstance(MissingName("x", "No x.").problem(), EvaluationError)


def test_dotted_names_do_not_import_jinja2() -> None:
    """Importing it costs a pass with nothing to do 100 ms."""
    program = (
        "import sys; from datum.fleet.expressions import evaluate; from datum.diagnostics import SourceLocation;"
        "import datum.fleet.templates;"
        "evaluate('a ${var.b} ${machine.cpus}', {'var': {'b': 1}}, SourceLocation('f'));"
        "sys.exit('jinja2' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
