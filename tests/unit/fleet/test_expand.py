"""`when`, `for_each`, expressions in ids and values, and what one declaration may say."""

import pytest

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


def _ids(text: str) -> list[str]:
    return [str(one.id) for one in resolve_host(text).resources]


def test_for_each_over_a_list() -> None:
    text = 'resources:\n  thing:x-${each.key}:\n    for_each: [b, a]\n    text: "${each.value}"\n'
    assert {str(one.id): one.attributes["text"] for one in resolve_host(text).resources} == {
        "thing:x-a": "a",
        "thing:x-b": "b",
    }


def test_for_each_over_a_map() -> None:
    text = 'resources:\n  thing:${each.key}:\n    for_each: {a: 1, b: 2}\n    number: "${each.value}"\n'
    assert [one.attributes["number"] for one in resolve_host(text).resources] == [1, 2]


def test_for_each_over_a_variable() -> None:
    text = 'variables: {users: {a: {m: 1}}}\nresources:\n  thing:${each.key}:\n    for_each: "${var.users}"\n'
    assert _ids(text) == ["thing:a"]


def test_for_each_over_nothing_declares_nothing() -> None:
    assert _ids("resources: {'thing:${each.key}': {for_each: []}}") == []


def test_for_each_null_is_as_if_never_said() -> None:
    assert _ids("resources: {thing:a: {for_each: null}}") == ["thing:a"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("'thing:a': {for_each: [x]}", "each-key-missing"),
        ("'thing:each.key': {for_each: [a]}", "each-key-missing"),
        ("'thing:${each.key}': {for_each: 3}", "wrong-type"),
        ("'thing:${each.key}': {for_each: text}", "wrong-type"),
        ("'thing:${each.key}': {for_each: [1]}", "bad-value"),
        ("'thing:${each.key}': {for_each: [a, a]}", "bad-value"),
        ("'thing:${each.key}': {for_each: '${machine.cpus}'}", "late-not-here"),
        ("'thing:${machine.arch}': {}", "late-not-here"),
        ("'thing:${each.key} ${machine.arch}': {for_each: [a]}", "late-not-here"),
        ("'${var.type}:a': {}", "bad-resource-id"),
        ("'thing${var.x}': {}", "bad-resource-id"),
        ("'fish:${host.name}': {}", "unknown-resource-type"),
        ("'thing:${host.name} ': {}", "bad-name"),
        ("'thing': {}", "bad-resource-id"),
        ("'thing:': {}", "bad-resource-id"),
        ("'thing:A': {}", "name-not-normal"),
        ("'thing:a b': {}", "bad-name"),
        ("'fish:a': {}", "unknown-resource-type"),
        ("'thing:a': 3", "wrong-type"),
        ("'thing:a': {nothing: 1}", "unknown-field"),
        ("'thing:a': {windows: {}}", "not-in-this-version"),
        ("'thing:a': {while_stopped: {}}", "wrong-type"),
        ("'thing:a': {while_stopped: 'thing:b'}", "wrong-type"),
        ("'thing:a': {while_stopped: [fish:b]}", "unknown-resource-type"),
        ("'thing:a': {while_stopped: [thing:B]}", "name-not-normal"),
        ("'thing:a': {check: x}", "unknown-field"),
        ("'thing:a': {override: [text]}", "override-without-value"),
        ("'thing:a': {override: text}", "wrong-type"),
        ("'thing:a': {without: [a]}", "wrong-type"),
        ("'thing:a': {without: {text: [a]}}", "unknown-key"),
        ("'thing:a': {without: {requires: a}}", "wrong-type"),
        ("'thing:a': {without: {requires: [fish:a]}}", "unknown-resource-type"),
        ("'thing:a': {requires: [thing:a], without: {requires: [thing:a]}}", "bad-value"),
        ("'thing:a': {when: 3}", "wrong-type"),
        ("'thing:a': {when: '${machine.cpus}'}", "late-not-here"),
        ("'thing:a': {when: no}", "ambiguous-scalar"),
        ("'thing:a': {absent: true, text: a}", "absent-with-fields"),
        ("'thing:a': {absent: yes}", "ambiguous-scalar"),
        ("'thing:a': {absent: '${machine.cpus}'}", "late-not-here"),
        ("'thing:a': {protect: 1}", "wrong-type"),
        ("'thing:a': {audit: 'true'}", "wrong-type"),
        ("'thing:a': {note: 1}", "unquoted-scalar"),
        ("'thing:a': {note: [a]}", "wrong-type"),
        ("'thing:a': {on_removal: drop}", "bad-value"),
        ("'thing:a': {on_removal: [keep]}", "wrong-type"),
        ("'thing:a': {allow: data_loss}", "wrong-type"),
        ("'thing:a': {allow: [all]}", "bad-value"),
        ("'thing:a': {unmanaged: [nothing]}", "bad-value"),
        ("'thing:a': {list: [a], unmanaged: [list]}", "bad-value"),
        ("'thing:a': {moved: a}", "bad-resource-id"),
        ("'thing:a': {moved: thing:B}", "name-not-normal"),
        ("'thing:a': {requires: thing:a}", "wrong-type"),
        ("'thing:a': {requires: {thing:a: 1}}", "wrong-type"),
        ("'thing:a': {requires: [1]}", "unquoted-scalar"),
        ("'thing:a': {requires: [[thing:a]]}", "wrong-type"),
        ("'thing:a': {requires: [thing:A]}", "name-not-normal"),
        ("'thing:a': {requires: '${machine.cpus}'}", "late-not-here"),
        ("'thing:a': {source: '${machine.arch}'}", "late-not-here"),
        ("'thing:a': {clears: '${machine.cpus > 4}'}", "late-not-here"),
        ("'thing:a': {list: ['${machine.arch}']}", "late-not-here"),
        ("'thing:a': {map: {a: '${machine.arch}'}}", "late-not-here"),
    ],
)
def test_wrong_declaration_is_said_once(text: str, code: str) -> None:
    assert [found for found, _ in host_errors(f"resources: {{{text}}}")] == [code]


def test_errors_have_their_place_and_resource() -> None:
    (found,) = diagnostics({"hosts/web1.yaml": "resources:\n  thing:a:\n    text: a\n    tekst: b\n"})
    assert (str(found.location), found.resource, found.hint) == (
        "hosts/web1.yaml:4:5",
        "thing:a",
        "Did you mean 'text'?",
    )


def test_when_switches_one_declaration_off() -> None:
    files = layered(
        "resources: {thing:a: {text: a}}",
        "resources: {thing:a: {text: b, when: \"${host.name == 'db1'}\"}}",
    )
    found = only(resolve(files))
    assert found.attributes["text"] == "a"
    assert not found.origins["text"].others


def test_resource_with_every_declaration_off_is_not_declared() -> None:
    assert _ids("resources: {thing:a: {when: false}, thing:b: {when: true}}") == ["thing:b"]


def test_what_is_off_may_use_what_other_hosts_have() -> None:
    off = "when: \"${host.name == 'db1'}\""
    assert _ids(f"resources: {{'thing:${{each.key}}': {{for_each: '${{var.nope}}', {off}}}}}") == []
    assert _ids(f"resources: {{'thing:${{var.nope}}': {{{off}}}}}") == []
    assert _ids(f"resources: {{'thing:a': {{text: '${{var.nope}}', {off}}}}}") == []


def test_when_can_look_at_each_instance() -> None:
    text = "'thing:${each.key}': {for_each: {a: 1, b: 2}, when: '${each.value == 2}'}"
    assert _ids(f"resources: {{{text}}}") == ["thing:b"]


def test_failed_when_says_nothing_else() -> None:
    text = 'resources:\n  thing:a: {when: "${var.nope}", text: a}\n  thing:b: {requires: [thing:a]}\n'
    assert [place for _, place in host_errors(text)] == ["2:19"]


def test_two_entries_of_one_file_must_not_be_one_resource() -> None:
    text = "variables: {x: a}\nresources:\n  thing:a: {}\n  'thing:${var.x}': {}\n"
    (found,) = diagnostics({"hosts/web1.yaml": text})
    assert (found.code, str(found.location)) == ("duplicate-resource", "hosts/web1.yaml:4:3")
    assert [str(place) for _, place in found.related] == ["hosts/web1.yaml:3:3"]


def test_entry_that_is_off_is_no_duplicate() -> None:
    text = "variables: {x: a}\nresources:\n  thing:a: {when: false}\n  'thing:${var.x}': {}\n"
    assert _ids(text) == ["thing:a"]


def test_expression_has_the_type_of_its_value() -> None:
    text = 'variables: {num: 5, m: {k: {j: x}}}\nresources:\n  thing:a: {number: "${var.num}", any: "${var.m}"}\n'
    assert only(resolve_host(text)).attributes == {"number": 5, "any": {"k": {"j": "x"}}}


def test_map_that_an_expression_gives_merges_by_key() -> None:
    files = layered(
        "resources: {thing:a: {map: {a: p, b: p}}}",
        "",
        'variables: {m: {b: q}}\nresources: {thing:a: {map: "${var.m}"}}',
    )
    assert only(resolve(files)).attributes["map"] == {"a": "p", "b": "q"}


def test_list_inside_of_values_is_evaluated() -> None:
    text = 'variables: {v: b}\nresources:\n  thing:a: {list: [a, "${var.v}"], any: [{k: "${var.v}"}, [1]]}\n'
    assert only(resolve_host(text)).attributes == {"list": ("a", "b"), "any": ({"k": "b"}, (1,))}


def test_references_can_be_computed() -> None:
    text = 'variables: {l: ["thing:b"]}\nresources:\n  thing:a: {requires: "${var.l}"}\n  thing:b: {}\n'
    assert [str(one) for one in resolve_host(text).resources[0].requires] == ["thing:b"]


def test_mode_without_quotes_says_how_to_write_it() -> None:
    assert thing_error("mode: 0644")[2] == 'Quote it: mode: "0644"'
    assert thing_error("mode: 644")[2] == 'Quote it: mode: "0644"'
    assert thing_error("mode: 0o755")[2] == 'Quote it: mode: "0755"'
    assert thing_error("mode: 999")[2] == 'Quote it: mode: "999"'
    assert thing_error("mode: true")[0] == "unquoted-scalar"
    assert thing('mode: "0644"').attributes["mode"] == "0644"


def test_ambiguous_scalar_is_its_text_where_a_string_is_wanted() -> None:
    assert thing("text: no").attributes["text"] == "no"
    assert thing("list: [no, 0644]").attributes["list"] == ("no", "0644")
    assert thing("map: {a: no}").attributes["map"] == {"a": "no"}
    assert thing("level: low, note: no").note == "no"


def test_ambiguous_scalar_elsewhere_says_to_quote_it() -> None:
    code, _, hint = thing_error("any: no")
    assert (code, hint) == (
        "ambiguous-scalar",
        'Quote it if a string is meant: any: "no"; else write a plain number, true or false.',
    )


def test_number_where_a_string_is_wanted_says_to_quote_it() -> None:
    assert thing_error("text: 1.10")[2] == 'Quote it: text: "1.10"'
    assert thing_error("text: true")[2] == 'Quote it: text: "true"'
    assert thing_error("list: [80]")[2] == 'Quote it: "80"'


def test_what_says_how_to_act_cannot_be_left_unmanaged_and_what_can_is_listed() -> None:
    """Its default would hold, which nobody asked for."""
    code, detail, hint = thing_error("list: [a], unmanaged: [text, list]")
    assert (code, detail) == ("bad-value", "Every item of 'unmanaged' is one of map, text, not 'list'.")
    assert "compared with the host" in hint


def test_common_fields_fill_the_resource() -> None:
    found = thing(
        "on_removal: delete, protect: true, allow: [data_loss, outage], unmanaged: [text], audit: true, "
        "moved: thing:old, note: because"
    )
    assert (found.on_removal, found.protect, found.audit, found.note) == ("delete", True, True, "because")
    assert found.allow == {"data_loss", "outage"}
    assert found.unmanaged == {"text"}
    assert str(found.moved) == "thing:old"
    assert dict(found.attributes) == {}
    assert set(found.origins) == {"on_removal", "protect", "allow", "unmanaged", "audit", "moved", "note"}


def test_null_common_field_is_as_if_never_said() -> None:
    found = thing("note: null, protect: null, override: null, without: null, when: null, absent: false")
    assert (found.note, found.protect, found.absent) == ("", False, False)


def test_errors_of_several_fields_are_all_said() -> None:
    assert host_errors("resources:\n  thing:a: {text: 1, any: no, nope: 1}\n") == [
        ("unquoted-scalar", "2:19"),
        ("ambiguous-scalar", "2:27"),
        ("unknown-field", "2:31"),
    ]


def test_error_of_one_layer_hides_no_conflict_of_other_fields() -> None:
    files = layered("", x="resources: {thing:a: {text: a, any: no}}", y="resources: {thing:a: {text: b, any: 1}}")
    assert [code for code, _ in errors(files)] == ["conflict", "ambiguous-scalar"]


def test_number_that_is_none_is_refused() -> None:
    text = 'resources: {thing:a: {any: "${1e308 * 10}"}}'
    assert len(host_errors(text)) == 1
