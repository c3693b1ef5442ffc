"""Which files make up a host."""

import pytest

from datum.diagnostics import SourceLocation
from datum.errors import HostNotInFleetError
from datum.fleet.layers import Pattern
from datum.model.identity import HostName
from datum.testing.trees import TreeFile
from tests.unit.fleet.support import HEADER, HOST, diagnostics, errors, host_errors, layered, only, resolve

_PLACE = SourceLocation("fleet.yaml", 1, 1)


def _text(value: str) -> str:
    return f"resources: {{thing:a: {{text: {value}}}}}"


def _patterns(text: str, **files: str) -> dict[str, TreeFile]:
    return {
        "fleet.yaml": HEADER + text,
        "layers/role/web.yaml": _text("web"),
        "layers/role/db.yaml": _text("db"),
        "layers/site/ams.yaml": "variables: {site: ams}",
        **files,
    }


def test_host_is_stronger_than_the_last_layer_and_that_than_the_first() -> None:
    assert only(resolve(layered(_text("a"), _text("b"), _text("c")))).attributes["text"] == "c"
    assert only(resolve(layered(_text("a"), _text("b")))).attributes["text"] == "b"


def test_default_member_is_for_hosts_that_name_none() -> None:
    files = {
        "layers/role/default.yaml": _text("default"),
        "layers/role/web.yaml": _text("web"),
        "hosts/web1.yaml": "layers: {role: web}",
    }
    assert only(resolve(files)).attributes["text"] == "web"
    files["hosts/web1.yaml"] = "layers: {role: []}"
    assert not resolve(files).resources
    files["hosts/web1.yaml"] = "layers: {role: null}"
    assert only(resolve(files)).attributes["text"] == "default"
    assert only(resolve(files)).origins["text"].winner.layer == "role"
    files["hosts/web1.yaml"] = "layers: {role: [default, web]}"
    assert [code for code, _ in errors(files)] == ["conflict"]


def test_members_of_a_host_are_in_the_manifest() -> None:
    files = layered("", x="", y="")
    assert resolve(files).layers == {"base": ("default",), "role": ("x", "y")}


def test_expressions_see_name_and_layers_of_the_host() -> None:
    host = 'resources: {thing:a: {text: "${host.name}", any: "${host.layers}"}}'
    found = only(resolve(layered("", host=host, x=""))).attributes
    assert found == {"text": "web1", "any": {"base": ("default",), "role": ("x",)}}


def test_unknown_layer_and_member_are_said_with_a_suggestion() -> None:
    (found,) = diagnostics({"hosts/web1.yaml": "layers: {rolle: web}"})
    assert (found.code, str(found.location), found.hint) == (
        "unknown-layer",
        "hosts/web1.yaml:1:10",
        "Did you mean 'role'?",
    )
    (found,) = diagnostics({"hosts/web1.yaml": "layers: {role: wep}", "layers/role/web.yaml": ""})
    assert (found.code, found.hint) == ("unknown-layer-member", "Did you mean 'web'?")
    assert errors({"fleet.yaml": HEADER.replace("[base, role, site]", "[]"), "hosts/web1.yaml": "layers: {a: b}"}) == [
        ("unknown-layer", "hosts/web1.yaml:1:10")
    ]


def test_reference_is_not_missed_where_a_member_is_missing() -> None:
    host = "layers: {role: nope}\nresources: {thing:a: {requires: [thing:b]}}"
    assert [code for code, _ in host_errors(host)] == ["unknown-layer-member"]


@pytest.mark.parametrize(
    ("layers", "code"),
    [
        ("[role]", "wrong-type"),
        ("{role: ../x}", "bad-value"),
        ("{role: [web, web]}", "bad-value"),
        ("{role: 1}", "unquoted-scalar"),
        ("{role: {a: b}}", "wrong-type"),
        ("{role: '${var.x}'}", "expression-not-here"),
    ],
)
def test_wrong_membership_is_said(layers: str, code: str) -> None:
    files = {"hosts/web1.yaml": f"layers: {layers}", "layers/role/web.yaml": ""}
    assert [found for found, _ in errors(files)] == [code]


@pytest.mark.parametrize(
    ("layers", "code"),
    [("role", "wrong-type"), ("[host]", "bad-value"), ("[A]", "bad-value"), ("[a, a]", "bad-value")],
)
def test_wrong_list_of_layers_is_said(layers: str, code: str) -> None:
    files = {"fleet.yaml": HEADER.replace("[base, role, site]", layers)}
    assert [found for found, _ in errors(files)] == [code]


def test_only_what_the_host_needs_is_read() -> None:
    files: dict[str, TreeFile] = {
        "hosts/web1.yaml": _text("a"),
        "hosts/web2.yaml": "a: [",
        "layers/role/web.yaml": "\t",
        "layers/other/default.yaml": "a: b: c",
    }
    assert len(resolve(files).resources) == 1


def test_pattern_gives_members_to_names_without_a_file() -> None:
    files = _patterns("patterns:\n- {match: 'web-*', layers: {role: web}}\n- {match: '*-?', layers: {site: ams}}\n")
    found = resolve(files, HostName("web-1"))
    assert only(found).attributes["text"] == "web"
    assert found.layers == {"role": ("web",), "site": ("ams",)}


def test_host_file_wins_over_patterns() -> None:
    files = _patterns("patterns:\n- {match: 'web*', layers: {role: web}}\n", **{"hosts/web1.yaml": ""})
    assert not resolve(files).resources


def test_patterns_that_differ_conflict() -> None:
    files = _patterns("patterns:\n- {match: 'w*', layers: {role: web}}\n- {match: '*1', layers: {role: db}}\n")
    (found,) = diagnostics(files, HostName("w1"))
    assert (found.code, str(found.location)) == ("conflict", "fleet.yaml:5:26")
    assert [str(place) for _, place in found.related] == ["fleet.yaml:6:26"]


def test_patterns_that_agree_do_not_conflict() -> None:
    files = _patterns("patterns:\n- {match: 'w*', layers: {role: web}}\n- {match: '*1', layers: {role: [web]}}\n")
    assert len(resolve(files, HostName("w1")).resources) == 1


def test_pattern_without_layers_declares_a_host_with_defaults() -> None:
    files = _patterns("patterns:\n- {match: 'w*'}\n", **{"layers/base/default.yaml": _text("a")})
    assert len(resolve(files, HostName("w1")).resources) == 1


def test_host_that_nothing_declares_is_an_error_of_its_own() -> None:
    with pytest.raises(HostNotInFleetError) as caught:
        resolve({}, HostName("web2"))
    assert caught.value.diagnostics[0].hint == "Did you mean 'web1'?"
    with pytest.raises(HostNotInFleetError) as caught:
        resolve({}, HostName("other"))
    assert caught.value.diagnostics[0].hint == "Add hosts/other.yaml"


@pytest.mark.parametrize(
    ("patterns", "code"),
    [
        ("web", "wrong-type"),
        ("[web]", "wrong-type"),
        ("[{layers: {role: web}}]", "missing-field"),
        ("[{match: 1}]", "unquoted-scalar"),
        ("[{match: 'web_*'}]", "bad-pattern"),
        ("[{match: '[ab]'}]", "bad-pattern"),
        ("[{match: '-*'}]", "bad-pattern"),
        ("[{match: 'a*', layer: {}}]", "unknown-key"),
        ("[{match: 'a*', layers: web}]", "wrong-type"),
    ],
)
def test_wrong_pattern_is_said(patterns: str, code: str) -> None:
    found = errors(_patterns(f"patterns: {patterns}\n"))
    assert [one for one, _ in found] == [code]


@pytest.mark.parametrize(
    ("match", "name", "fits"),
    [
        ("web-*", "web-", True),
        ("web-*", "web-1.example.org", True),
        ("web-?", "web-12", False),
        ("w.b", "wab", False),
        ("*", "x", True),
    ],
)
def test_pattern_matches(match: str, name: str, fits: object) -> None:
    assert Pattern(match, {}, _PLACE).fits(name) is fits


def test_sample_name_is_not_taken() -> None:
    assert Pattern("web*", {}, _PLACE).sample([HOST]) == HostName("web2")
    assert Pattern("w?", {}, _PLACE).sample([]) == HostName("w1")
    assert Pattern("web1", {}, _PLACE).sample([HOST]) is None


def test_sample_of_a_full_pattern_is_none() -> None:
    taken = [HostName(f"a{number}") for number in range(10)]
    assert Pattern("a?", {}, _PLACE).sample(taken) is None
