"""Merging as design 2.2 says it."""

import pytest

from datum.model.identity import ResourceId
from tests.unit.fleet.support import diagnostics, errors, layered, only, resolve

_A = ResourceId("thing", "a")


def _thing(fields: str, name: str = "a") -> str:
    return f"resources:\n  thing:{name}: {{{fields}}}\n"


def _merged(base: str, role: str, host: str) -> object:
    return dict(only(resolve(layered(_thing(base), _thing(role), _thing(host)))).attributes)


def test_strongest_scalar_and_list_win() -> None:
    assert _merged("text: a, number: 1, list: [x]", "text: b, list: [y]", "number: 3") == {
        "text": "b",
        "number": 3,
        "list": ("y",),
    }


def test_maps_merge_by_key() -> None:
    assert _merged("map: {a: x, b: x}", "map: {b: y, c: y}", "map: {c: z}") == {"map": {"a": "x", "b": "y", "c": "z"}}


def test_null_makes_a_field_as_if_never_said() -> None:
    assert _merged("text: a, number: 1", "text: null", "number: 2") == {"number": 2}


def test_said_again_above_a_null_it_stands() -> None:
    assert _merged("map: {a: x}", "map: null", "map: {b: y}") == {"map": {"b": "y"}}


def test_null_makes_a_key_as_if_never_said() -> None:
    assert _merged("map: {a: x, b: x}", "map: {a: null}", "flag: true") == {"map": {"b": "x"}, "flag": True}


def test_null_in_a_single_declaration_says_nothing() -> None:
    found = only(resolve({"hosts/web1.yaml": _thing("text: null, any: {a: null, b: {c: null}}, requires: null")}))
    assert dict(found.attributes) == {"any": {"b": {}}}


def test_null_resource_removes_what_weaker_layers_declare() -> None:
    assert not resolve(layered(_thing("text: a"), "", "resources: {thing:a: null}")).resources


def test_resource_declared_above_a_null_starts_anew() -> None:
    files = layered(_thing("text: a"), "resources: {thing:a: null}", _thing("number: 1"))
    assert dict(only(resolve(files)).attributes) == {"number": 1}


def test_null_and_a_declaration_of_one_rank_conflict() -> None:
    files = layered("", x="resources: {thing:a: null}", y=_thing("text: a"))
    assert errors(files) == [("conflict", "layers/role/x.yaml:1:13")]


def test_two_nulls_of_one_rank_agree() -> None:
    files = layered(_thing("text: a"), x="resources: {thing:a: null}", y="resources: {thing:a: null}")
    assert not resolve(files).resources


def test_reference_lists_unite_and_keep_their_places() -> None:
    others = "  thing:b: {}\n  thing:c: {}\n"
    files = layered(_thing("requires: [thing:c]") + others, "", _thing("requires: [thing:b]"))
    found = resolve(files).by_id[_A]
    assert [str(one) for one in found.requires] == ["thing:b", "thing:c"]
    assert {str(one): str(place) for one, place in found.references.items()} == {
        "thing:b": "hosts/web1.yaml:2:24",
        "thing:c": "layers/base/default.yaml:2:24",
    }


def test_override_replaces_maps_and_reference_lists() -> None:
    others = "  thing:b: {}\n  thing:c: {}\n"
    files = layered(
        _thing("map: {a: x}, requires: [thing:c], text: a") + others,
        _thing("map: {b: x}, requires: [thing:b], override: [map, requires]"),
        _thing("map: {c: x}"),
    )
    found = resolve(files).by_id[_A]
    assert dict(found.attributes) == {"map": {"b": "x", "c": "x"}, "text": "a"}
    assert [str(one) for one in found.requires] == ["thing:b"]


def test_without_takes_items_of_weaker_layers_out() -> None:
    others = "  thing:b: {}\n  thing:c: {}\n"
    files = layered(_thing("requires: [thing:b, thing:c]") + others, _thing("without: {requires: [thing:c]}"))
    assert [str(one) for one in resolve(files).by_id[_A].requires] == ["thing:b"]


def test_stronger_layer_names_again_what_was_taken_out() -> None:
    others = "  thing:b: {}\n"
    files = layered(
        _thing("requires: [thing:b]") + others,
        _thing("without: {requires: [thing:b]}"),
        _thing("requires: [thing:b]"),
    )
    assert [str(one) for one in resolve(files).by_id[_A].requires] == ["thing:b"]


def test_one_rank_cannot_name_and_take_out_a_reference() -> None:
    files = layered(
        "resources: {thing:b: {}}",
        x=_thing("requires: [thing:b]"),
        y=_thing("without: {requires: [thing:b]}"),
    )
    assert errors(files) == [("conflict", "layers/role/x.yaml:2:24")]


def test_taking_out_what_nobody_names_changes_nothing() -> None:
    found = only(resolve(layered(_thing("without: {requires: [thing:b]}"), _thing("text: a"))))
    assert (found.requires, set(found.origins)) == ((), {"text"})


def test_null_empties_a_reference_list() -> None:
    files = layered(_thing("requires: [thing:b]") + "  thing:b: {}\n", _thing("requires: null"))
    assert resolve(files).by_id[_A].requires == ()


def test_null_and_a_reference_list_of_one_rank_conflict() -> None:
    files = layered("resources: {thing:b: {}}", x=_thing("requires: null"), y=_thing("requires: [thing:b]"))
    assert errors(files) == [("conflict", "layers/role/x.yaml:2:23")]


def test_conflict_shows_both_places_and_the_ways_out() -> None:
    (found,) = diagnostics(layered("", x=_thing("text: a"), y=_thing("text: b")))
    assert (found.code, str(found.location), found.resource) == ("conflict", "layers/role/x.yaml:2:19", "thing:a")
    assert "role/x (layers/role/x.yaml:2:19)" in found.detail
    assert "role/y (layers/role/y.yaml:2:19)" in found.detail
    assert [(text, str(place)) for text, place in found.related] == [("role/y", "layers/role/y.yaml:2:19")]
    assert "stronger layer" in found.hint


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("any: 1", "any: true"),
        ("any: {a: 1}", "any: [1]"),
        ("any: {a: 1}", "any: {a: 2}"),
        ("any: [1]", "any: [1, 2]"),
        ("any: null", "any: 1"),
        ("any: '" + "x" * 99 + "'", "any: ''"),
        ("any: [{a: 1}]", "any: [{b: 1}]"),
    ],
)
def test_different_values_of_one_rank_conflict(left: str, right: str) -> None:
    assert [code for code, _ in errors(layered("", x=_thing(left), y=_thing(right)))] == ["conflict"]


@pytest.mark.parametrize("value", ["1", "[1, {a: b}]", "{a: 1}", "text", "null"])
def test_equal_values_of_one_rank_agree(value: str) -> None:
    files = layered("", x=_thing(f"any: {value}"), y=_thing(f"any: {value}"))
    assert only(resolve(files)).origins["any"].others[0].layer == "role/y"


def test_integers_and_numbers_of_one_value_agree() -> None:
    assert only(resolve(layered("", x=_thing("any: 1"), y=_thing("any: 1.0")))).attributes["any"] == 1


def test_what_a_stronger_layer_settles_is_no_conflict() -> None:
    files = layered("", host=_thing("text: c"), x=_thing("text: a"), y=_thing("text: b"))
    assert only(resolve(files)).attributes["text"] == "c"


def test_weaker_map_below_a_stronger_scalar_is_replaced() -> None:
    assert _merged("any: {a: 1}", "any: 2", "any: {b: 3}") == {"any": {"b": 3}}


def test_absent_against_declared_of_one_rank_conflicts() -> None:
    files = layered("", x=_thing("text: a"), y=_thing("absent: true"))
    assert errors(files) == [("conflict", "layers/role/y.yaml:2:3")]
    files = layered("", x=_thing("absent: true"), y=_thing("text: a"))
    assert errors(files) == [("conflict", "layers/role/x.yaml:2:3")]


def test_two_that_say_absent_agree() -> None:
    assert only(resolve(layered("", x=_thing("absent: true"), y=_thing("absent: true")))).absent


def test_stronger_absent_wins_and_takes_the_fields_along() -> None:
    found = only(resolve(layered(_thing("text: a, note: why"), _thing("absent: true"))))
    assert found.absent
    assert dict(found.attributes) == {}
    assert found.note == "why"
    assert found.origins["absent"].winner.layer == "role"


def test_conflict_below_a_stronger_absent_is_settled() -> None:
    files = layered("", host=_thing("absent: true"), x=_thing("text: a"), y=_thing("text: b"))
    assert only(resolve(files)).absent


def test_stronger_declaration_revives() -> None:
    found = only(resolve(layered(_thing("text: a"), _thing("absent: true"), _thing("number: 1"))))
    assert not found.absent
    assert dict(found.attributes) == {"text": "a", "number": 1}


def test_wrong_absent_conflicts_with_nothing() -> None:
    files = layered("", x=_thing("absent: 3"), y=_thing("absent: true"))
    assert [code for code, _ in errors(files)] == ["wrong-type"]


def test_every_field_knows_who_said_it_and_whom_it_overrode() -> None:
    found = only(resolve(layered(_thing("text: a"), _thing("text: b"), _thing("text: c"))))
    origin = found.origins["text"]
    assert (origin.winner.layer, origin.winner.value, str(origin.winner.location)) == (
        "host/web1",
        "c",
        "hosts/web1.yaml:2:19",
    )
    assert [(say.layer, say.value) for say in origin.others] == [("role", "b"), ("base", "a")]


def test_late_values_of_one_rank_agree_when_they_are_equal() -> None:
    late = 'any: "${machine.cpus}"'
    assert len(resolve(layered("", x=_thing(late), y=_thing(late))).resources) == 1
    other = 'any: "${machine.memory_mib}"'
    assert [code for code, _ in errors(layered("", x=_thing(late), y=_thing(other)))] == ["conflict"]
