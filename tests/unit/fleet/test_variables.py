"""Variables are merged first and evaluated late."""

import pytest

from datum.diagnostics import SourceLocation
from datum.errors import FleetError
from datum.fleet.findings import Findings
from datum.fleet.nodes import Scalar
from datum.fleet.resolve import resolve_manifest
from datum.fleet.values import Placed
from datum.fleet.variables import Variables
from datum.model.identity import HostName
from datum.testing.trees import MemoryTree
from tests.unit.fleet.support import diagnostics, errors, host_errors, layered, only, resolve, resolve_host


def test_strongest_wins_and_maps_merge() -> None:
    files = layered(
        "variables: {a: 1, m: {a: 1, b: 1}, l: [1]}",
        "variables: {a: 2, m: {b: 2}, l: [2]}",
        "variables: {m: {a: null, c: 3}}",
    )
    assert resolve(files).variables == {"a": 2, "l": (2,), "m": {"b": 2, "c": 3}}


def test_weaker_variable_sees_the_final_value_of_another() -> None:
    files = layered('variables: {port: 80, url: "http://x:${var.port}/"}', "", "variables: {port: 8080}")
    assert resolve(files).variables["url"] == "http://x:8080/"


def test_declarations_of_weak_layers_see_the_final_values() -> None:
    base = 'variables: {port: 80}\nresources: {thing:a: {number: "${var.port}"}}'
    files = layered(base, "", "variables: {port: 8080}")
    assert only(resolve(files)).attributes["number"] == 8080


def test_null_makes_a_variable_as_if_never_said() -> None:
    files = layered("variables: {a: 1, b: 2}", "", "variables: {a: null}")
    assert resolve(files).variables == {"b": 2}


def test_cycle_is_shown_once_with_its_chain() -> None:
    host = 'variables:\n  b: "${var.c}"\n  c: "${var.a}"\n  a: "${var.b}"\n  d: "${var.c}"\n'
    host += 'resources: {thing:a: {text: "${var.d}"}}\n'
    (found,) = diagnostics({"hosts/web1.yaml": host})
    assert (found.code, str(found.location)) == ("variable-cycle", "hosts/web1.yaml:4:6")
    assert "var.a -> var.b -> var.c -> var.a" in found.detail
    assert [text for text, _ in found.related] == ["var.b", "var.c"]


def test_variable_that_needs_itself_is_a_cycle() -> None:
    assert host_errors('variables: {a: "${var.a}"}') == [("variable-cycle", "1:16")]


def test_failure_of_a_variable_is_said_once_whoever_uses_it() -> None:
    host = 'variables: {a: "${var.nope}", b: "${var.a}"}\nresources: {thing:a: {text: "${var.a}"}}\n'
    assert [place for _, place in host_errors(host)] == ["1:16"]


def test_two_members_of_one_layer_must_agree() -> None:
    assert errors(layered("", x="variables: {a: 1}", y="variables: {a: 2}")) == [
        ("conflict", "layers/role/x.yaml:1:16")
    ]
    assert resolve(layered("", x="variables: {a: [1]}", y="variables: {a: [1]}")).variables == {"a": (1,)}


def test_name_that_no_expression_can_say_is_refused() -> None:
    (found,) = diagnostics({"hosts/web1.yaml": "variables: {http-port: 1}"})
    assert (found.code, found.hint) == ("bad-value", "Write http_port")


def test_ambiguous_scalar_is_refused() -> None:
    assert host_errors("variables: {a: no}") == [("ambiguous-scalar", "1:16")]


def test_variable_cannot_name_the_machine() -> None:
    assert host_errors('variables: {a: "${machine.cpus}"}') == [("late-not-here", "1:16")]
    assert host_errors('variables: {a: ["${machine.cpus}"]}') == [("late-not-here", "1:17")]


def test_variables_are_a_map() -> None:
    assert host_errors("variables: [a]") == [("wrong-type", "1:12")]


def test_variable_sees_one_that_comes_later() -> None:
    assert resolve_host('variables: {a: "${var.b}", b: 1}').variables == {"a": 1, "b": 1}


def test_unset_variables_are_none() -> None:
    assert resolve_host("variables:\n").variables == {}


def test_mapping_tells_what_it_knows() -> None:
    place = SourceLocation("f", 1, 1)
    one = Placed(Scalar(1, "1", place, is_plain=True), place)
    variables = Variables({"b": one, "a": one}, {})
    assert (list(variables), len(variables), "a" in variables, "c" in variables) == (["a", "b"], 2, True, False)
    assert variables.evaluate_all(Findings()) == {"a": 1, "b": 1}
    assert variables["a"] == 1


def test_a_chain_of_thousands_is_an_error_and_no_crash() -> None:
    """Each link costs stack; Python's own limit ended the pass as a bug of datum."""
    chain = "\n".join(f'  v{number}: "${{var.v{number + 1}}}"' for number in range(5000))
    tree = MemoryTree(
        {
            "fleet.yaml": "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n",
            "hosts/a.yaml": f"variables:\n{chain}\n  v5000: end\n",
        }
    )
    with pytest.raises(FleetError) as caught:
        resolve_manifest(tree, HostName("a"), {}, agent_version="1")
    assert {item.code for item in caught.value.diagnostics} == {"variable-chain"}
