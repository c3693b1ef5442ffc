"""Slots: many contribute, one resource holds."""

import pytest

from datum.fleet.late import substitute
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.testing.trees import TreeFile
from tests.unit.fleet.support import (
    HEADER,
    diagnostics,
    errors,
    host_errors,
    layered,
    memory_tree,
    only,
    resolve,
    resolve_host,
)

_HOLDER = "resources: {thing:hosts: {assemble: entries}}\n"


def _slot(*texts: str) -> str:
    """Return what a slot joins to; texts are those of the layers base and role, and of the host."""
    found = resolve(layered(*texts)).by_id[ResourceId("thing", "hosts")].attributes["assemble"]
    assert isinstance(found, Content)
    assert found.inline is not None
    assert found == Content.from_bytes(found.inline)
    return found.inline.decode()


def test_texts_are_sorted_by_key_and_end_in_one_newline() -> None:
    host = 'contribute: {entries: {b: "two", a: "one\\n", d: "  four\\n\\n\\n", c: "", e: "x\\r\\n"}}\n'
    assert _slot(_HOLDER, "", host) == "one\ntwo\n\n  four\nx\r\n"


def test_layers_and_host_contribute_and_the_strongest_wins_per_key() -> None:
    base = _HOLDER + "contribute: {entries: {a: base, b: base, c: base}}"
    role = "contribute: {entries: {b: role, d: role}}"
    host = "contribute: {entries: {c: null, d: host, e: host}}"
    assert _slot(base, role, host) == "base\nrole\nhost\nhost\n"


def test_null_takes_back_a_whole_slot() -> None:
    assert _slot(_HOLDER + "contribute: {entries: {a: base}}", "contribute: {entries: null}") == ""
    assert (
        _slot(
            _HOLDER + "contribute: {entries: {a: base}}",
            "contribute: {entries: null}",
            "contribute: {entries: {b: host}}",
        )
        == "host\n"
    )


@pytest.mark.parametrize("text", ["", "contribute:", "contribute: {}", "contribute: {entries: {}}"])
def test_slot_without_contributions_is_empty(text: str) -> None:
    assert _slot(_HOLDER, "", text) == ""


def test_expressions_stand_in_keys_and_texts() -> None:
    host = "variables: {count: 1, text: t}\ncontribute: {entries: {'k${var.count}': '${var.text} $${x}', j: no}}"
    assert _slot(_HOLDER, "", host) == "no\nt ${x}\n"


def test_equal_texts_of_one_rank_agree_and_others_conflict_with_both_places() -> None:
    x, y = "contribute: {entries: {a: one}}", "contribute: {entries: {a: two}}"
    assert only(resolve(layered(_HOLDER, x=x, y=x))).attributes["assemble"] == Content.from_bytes(b"one\n")
    (found,) = diagnostics(layered(_HOLDER, x=x, y=y))
    assert (found.code, str(found.location)) == ("conflict", "layers/role/x.yaml:1:27")
    assert [str(place) for _, place in found.related] == ["layers/role/y.yaml:1:27"]
    assert "contribute.entries.a is 'one'" in found.detail
    settled = layered(_HOLDER, host="contribute: {entries: {a: three}}", x=x, y=y)
    assert only(resolve(settled)).attributes["assemble"] == Content.from_bytes(b"three\n")


def test_null_against_a_text_of_one_rank_conflicts() -> None:
    x, y = "contribute: {entries: {a: one}}", "contribute: {entries: {a: null}}"
    assert errors(layered(_HOLDER, x=x, y=y)) == [("conflict", "layers/role/x.yaml:1:27")]
    gone = "contribute: {entries: null}"
    assert [code for code, _ in errors(layered(_HOLDER, x=x, y=gone))] == ["conflict"]


def test_contribution_that_no_resource_holds_is_said_once_for_each_slot() -> None:
    text = _HOLDER + "contribute:\n  entrie:\n    b: two\n    a: one\n  other: {c: x}\n  empty: {d: null}\n"
    (first, second) = diagnostics({"hosts/web1.yaml": text})
    assert (first.code, str(first.location), first.hint) == (
        "contribution-unheld",
        "hosts/web1.yaml:5:8",
        "Did you mean 'entries'?",
    )
    assert first.detail == "The slot 'entrie' gets a, b, and no resource of this host holds it."
    assert [(what, str(place)) for what, place in first.related] == [("b", "hosts/web1.yaml:4:8")]
    assert (second.code, second.hint) == (
        "contribution-unheld",
        "Declare the holder, as file:/etc/…: {assemble: other}",
    )


@pytest.mark.parametrize("holder", ["{assemble: entries, when: false}", "{text: entries}"])
def test_what_does_not_hold_the_slot_is_no_holder(holder: str) -> None:
    text = f"contribute: {{entries: {{a: x}}}}\nresources: {{thing:hosts: {holder}}}"
    assert host_errors(text) == [("contribution-unheld", "1:27")]


def test_absent_holder_holds_nothing() -> None:
    base = _HOLDER + "contribute: {entries: {a: x}}"
    assert [code for code, _ in errors(layered(base, "", "resources: {thing:hosts: {absent: true}}"))] == [
        "contribution-unheld"
    ]


@pytest.mark.parametrize("wrong", ["resources: {thing:h: {assemble: [x]}}", "resources: {fish:h: {assemble: entries}}"])
def test_unheld_contribution_is_no_consequence_of_another_error(wrong: str) -> None:
    assert len(host_errors(f"contribute: {{entries: {{a: x}}}}\n{wrong}")) == 1


def test_error_of_a_type_without_slots_hides_no_unheld_contribution() -> None:
    text = "contribute: {entries: {a: x}}\nresources: {strict:h: {text: [x]}}"
    assert "contribution-unheld" in [code for code, _ in host_errors(text)]


def test_slot_that_two_resources_hold_is_said_with_both_places() -> None:
    text = "resources:\n  thing:b: {assemble: s}\n  thing:a: {assemble: s}\n"
    (found,) = diagnostics({"hosts/web1.yaml": text})
    assert (found.code, found.resource, str(found.location)) == ("slot-held-twice", "thing:b", "hosts/web1.yaml:2:23")
    assert [(who, str(place)) for who, place in found.related] == [("thing:a", "hosts/web1.yaml:3:23")]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("x", "wrong-type", "1:13"),
        ("{'a b': {}}", "bad-value", "1:14"),
        ("{'${var.x}': {}}", "bad-value", "1:14"),
        ("{s: x}", "wrong-type", "1:17"),
        ("{s: [x]}", "wrong-type", "1:17"),
        ("{s: {a: 1}}", "unquoted-scalar", "1:21"),
        ("{s: {a: [x]}}", "wrong-type", "1:21"),
        ("{s: {a: {b: x}}}", "wrong-type", "1:21"),
        ("{s: {a: '${1 + 1}'}}", "wrong-type", "1:21"),
        ("{s: {a: '${none}'}}", "wrong-type", "1:21"),
        ("{s: {a: '${var.x}'}}", "undefined-name", "1:21"),
        ("{s: {a: '${machine.cpus}'}}", "wrong-type", "1:21"),
        ("{s: {a: '${machine.cpus + machine.arch}'}}", "expression-value", "1:21"),
        ("{s: {'${var.x}': a}}", "undefined-name", "1:18"),
        ("{s: {'${1 + 1}': a}}", "wrong-type", "1:18"),
        ("{s: {'${machine.arch}': a}}", "late-not-here", "1:18"),
        ("{s: {a: x, '${\"a\"}': y}}", "duplicate-contribution", "1:24"),
    ],
)
def test_wrong_contribution_is_said_once(text: str, code: str, place: str) -> None:
    found = host_errors(f"contribute: {text}\nresources: {{thing:a: {{assemble: s}}}}")
    assert found == [(code, place)]


def test_contribute_as_a_field_is_told_where_it_belongs() -> None:
    (found,) = diagnostics({"hosts/web1.yaml": "resources: {thing:a: {contribute: {}}}"})
    assert found.code == "unknown-field"
    assert "beside resources" in found.hint
    assert "check:NAME" in diagnostics({"hosts/web1.yaml": "resources: {thing:a: {check: [x]}}"})[0].hint


def test_fleet_yaml_contributes_nothing() -> None:
    assert errors({"fleet.yaml": HEADER + "contribute: {}\n"}) == [("unknown-key", "fleet.yaml:4:1")]


def test_late_contribution_makes_the_whole_slot_late() -> None:
    files: dict[str, TreeFile] = layered(  # type: ignore[assignment]  # a plain dict
        _HOLDER + 'contribute: {entries: {b: "on ${machine.arch}${var.x}\\n\\n", a: "$${x} $$$${y}"}}',
        "contribute: {entries: {c: '${machine.arch}'}}",
        "variables: {x: '!'}",
    )
    manifest = resolve(files)
    late = only(manifest).attributes["assemble"]
    assert isinstance(late, Late)
    assert late.is_content
    found, failed = substitute(manifest, memory_tree(files), Machine({"arch": "arm64"}))
    assert only(found).attributes["assemble"] == Content.from_bytes(b"${x} $$${y}\non arm64!\narm64\n")
    assert not failed


def test_slot_that_this_machine_does_not_give_has_the_sample() -> None:
    manifest = resolve_host("contribute: {entries: {a: 'x${machine.addresses.eth9}'}}\n" + _HOLDER)
    found, failed = substitute(manifest, memory_tree({}), Machine({"addresses": {}}))
    assert only(found).attributes["assemble"] == Content.from_bytes(b"x192.0.2.1\n")
    assert [wrong.code for wrong in failed.values()] == ["machine-value-missing"]


def test_who_contributed_is_an_origin_of_the_holder() -> None:
    base = _HOLDER + "contribute: {entries: {a: base, b: base}}"
    found = only(resolve(layered(base, "", "contribute: {entries: {a: host, b: null}}"))).origins
    assert sorted(found) == ["assemble", "assemble.a"]
    assert (found["assemble.a"].winner.layer, found["assemble.a"].winner.value) == ("host/web1", "host")
    assert [(say.layer, say.value) for say in found["assemble.a"].others] == [("base", "base")]
