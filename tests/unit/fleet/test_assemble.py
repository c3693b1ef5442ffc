"""Schemas and references of whole resources."""

import pytest

from datum.model.identity import ResourceId
from datum.model.manifest import Late
from tests.unit.fleet.support import (
    diagnostics,
    errors,
    host_errors,
    layered,
    only,
    resolve,
    resolve_host,
    thing,
    thing_error,
)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("number: x", "wrong-type", "'number' is a string, and an integer is wanted."),
        ("number: 1.5", "wrong-type", "'number' is a number, and an integer is wanted."),
        ("flag: 1", "wrong-type", "'flag' is an integer, and true or false is wanted."),
        ("number: true", "wrong-type", "'number' is a truth value"),
        ("list: x", "wrong-type", "'list' is a string, and a list is wanted."),
        ("map: [x]", "wrong-type", "'map' is a list, and a map is wanted."),
        ("map: {k: [x]}", "wrong-type", "'map.k' is a list, and a string or an integer is wanted."),
        ("text: {k: v}", "wrong-type", "'text' is a map, and a string is wanted."),
        ("list: [[x]]", "wrong-type", "'list.0' is a list"),
        ("level: hihg", "bad-value", "'level' is one of high, low, not 'hihg'."),
        ("number: -1", "bad-value", "'number' is not allowed"),
        ("mode: '9'", "bad-value", "'mode' is not allowed"),
    ],
)
def test_what_does_not_fit_the_schema_is_said(text: str, code: str, words: str) -> None:
    found, detail, _ = thing_error(text)
    assert found == code
    assert words in detail


def test_schema_errors_have_a_hint() -> None:
    assert thing_error("level: hihg")[2] == "Did you mean 'high'?"
    assert thing_error("number: -1")[2] == "How many."


def test_schema_errors_stand_at_the_field_and_key() -> None:
    text = "resources:\n  thing:a:\n    map:\n      k: [x]\n    number: x\n    list: [[x]]\n"
    assert host_errors(text) == [("wrong-type", "4:10"), ("wrong-type", "5:13"), ("wrong-type", "6:11")]


def test_required_fields_are_asked_of_the_merged_resource() -> None:
    (first, second) = diagnostics({"hosts/web1.yaml": "resources:\n  strict:a: {}\n"})
    assert [first.detail, second.detail] == ["The resource needs exactly one of one, two.", "The resource needs text."]
    assert str(first.location) == "hosts/web1.yaml:2:3"
    files = layered("resources: {strict:a: {text: a}}", "", "resources: {strict:a: {one: 1}}")
    assert only(resolve(files)).attributes == {"text": "a", "one": 1}


def test_absent_resource_needs_no_fields() -> None:
    assert only(resolve_host("resources: {strict:a: {absent: true}}")).absent


def test_unresolved_reference_is_said_with_a_suggestion() -> None:
    text = "resources:\n  thing:nginx: {}\n  thing:a: {requires: [thing:ngnix], after: [thing:zzz]}\n"
    (first, second) = diagnostics({"hosts/web1.yaml": text})
    assert (first.code, str(first.location), first.hint, first.resource) == (
        "unknown-reference",
        "hosts/web1.yaml:3:24",
        "Did you mean 'thing:nginx'?",
        "thing:a",
    )
    assert (second.code, second.hint) == ("unknown-reference", "")


def test_requiring_what_when_switched_off_is_an_error() -> None:
    text = "resources:\n  thing:b: {when: false}\n  thing:a: {requires: [thing:b]}\n"
    (found,) = diagnostics({"hosts/web1.yaml": text})
    assert (found.code, str(found.location)) == ("reference-off", "hosts/web1.yaml:3:24")
    assert [str(place) for _, place in found.related] == ["hosts/web1.yaml:2:3"]


def test_other_references_to_what_is_off_drop() -> None:
    text = (
        "resources:\n  thing:b: {when: false}\n"
        "  thing:a: {after: [thing:b, thing:c], restart_on: [thing:b], guards: [thing:b, thing:c]}\n"
    )
    found = resolve_host(text + "  thing:c: {}\n").by_id[ResourceId("thing", "a")]
    assert [str(one) for one in found.after] == ["thing:c"]
    assert [str(one) for one in found.dropped] == ["thing:b"]
    assert found.attributes == {"restart_on": (), "guards": ("thing:c",)}


def test_reference_lists_of_a_type_are_attributes() -> None:
    text = "resources:\n  thing:b: {}\n  thing:a: {restart_on: [thing:c, thing:b]}\n  thing:c: {}\n"
    found = resolve_host(text).by_id[ResourceId("thing", "a")]
    assert found.attributes == {"restart_on": ("thing:b", "thing:c")}
    assert not found.references


def test_reference_field_that_a_type_has_not_is_unknown() -> None:
    assert host_errors("resources: {strict:a: {restart_on: []}}") == [("unknown-field", "1:24")]


def test_reference_to_a_resource_that_is_absent_holds() -> None:
    text = "resources:\n  thing:b: {absent: true}\n  thing:a: {requires: [thing:b]}\n"
    assert resolve_host(text).by_id[ResourceId("thing", "a")].requires == (ResourceId("thing", "b"),)


def test_former_name_must_not_be_declared() -> None:
    text = "resources:\n  thing:b: {}\n  thing:a: {moved: thing:b}\n"
    assert host_errors(text) == [("moved-still-declared", "3:20")]


def test_late_value_stays_as_it_is() -> None:
    found = thing('text: "${machine.arch}", number: "${machine.cpus}", any: "${machine.addresses.eth7}"').attributes
    assert all(isinstance(value, Late) for value in found.values())


def test_late_value_of_the_wrong_type_is_said() -> None:
    code, detail, hint = thing_error('text: "${machine.cpus}"')
    assert (code, detail) == ("wrong-type", "'text' gives an integer on any machine, and a string is wanted.")
    assert hint
    assert thing_error('number: "${machine.arch}"')[2] == ""
    assert thing_error('flag: "${machine.cpus}"')[0] == "wrong-type"
    assert isinstance(thing('flag: "${machine.cpus > 1}"').attributes["flag"], Late)


def test_late_value_that_no_machine_has_is_said() -> None:
    found = host_errors('resources: {thing:a: {number: "${machine.cpus + machine.arch}"}}')
    assert [place for _, place in found] == ["1:31"]


def test_other_fields_are_checked_beside_a_late_one() -> None:
    assert thing_error('level: "${machine.arch}", number: x')[0] == "wrong-type"
    assert thing('level: "${machine.arch}", number: 1').attributes["number"] == 1


def test_consequences_of_an_error_are_not_reported() -> None:
    text = "resources:\n  strict:a: {text: no-string, one: no}\n  thing:b: {requires: [strict:a]}\n"
    assert host_errors(text) == [("ambiguous-scalar", "2:36")]


def test_types_are_told_apart_across_layers() -> None:
    files = layered("resources: {thing:a: {number: 1}}", "", "resources: {thing:a: {number: x}}")
    assert errors(files) == [("wrong-type", "hosts/web1.yaml:1:31")]
