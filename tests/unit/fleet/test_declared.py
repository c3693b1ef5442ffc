"""Resources as one file writes them."""

from datum.fleet.declared import Declared, read_declarations
from datum.fleet.findings import Findings
from datum.fleet.resource_schema import ResourceTypes
from datum.fleet.yaml_reader import read_yaml
from datum.model.identity import ResourceId
from tests.unit.fleet.support import PROVIDERS


def _read(text: str) -> tuple[tuple[Declared, ...], Findings]:
    node, _ = read_yaml(text.encode(), "f")
    assert node is not None
    findings = Findings()
    return read_declarations(node, ResourceTypes(PROVIDERS), findings), findings


def test_id_is_known_unless_it_holds_an_expression() -> None:
    (first, second), findings = _read("{'thing:a': {}, 'thing:${var.x}': {}}")
    assert (first.id, second.id) == (ResourceId("thing", "a"), None)
    assert not findings.items


def test_control_fields_stand_apart() -> None:
    text = "thing:a: {text: t, when: true, for_each: [x], override: [text], without: {requires: [thing:b]}}"
    (found,), findings = _read(text)
    assert not findings.items
    assert list(found.fields) == ["text"]
    assert found.when is not None
    assert found.for_each is not None
    assert found.override == {"text"}
    assert list(found.without) == ["requires"]


def test_null_is_told_from_nothing() -> None:
    (first, second), findings = _read("{thing:a: null, thing:b: {}}")
    assert (first.is_null, second.is_null) == (True, False)
    assert not findings.items


def test_what_is_wrong_is_kept_by_its_id() -> None:
    (first, second, third), findings = _read("{thing:A: null, thing:b: 3, thing:c: {nope: 1}}")
    assert (first.id, first.is_wrong, second.is_wrong, third.is_wrong) == (ResourceId("thing", "a"), True, True, True)
    assert not findings.is_incomplete


def test_what_has_no_id_leaves_it_open_which_resources_there_are() -> None:
    for text in ("{fish:a: {}}", "{nothing: {}}", "{'${var.x}:a': {}}", "[a]"):
        found, findings = _read(text)
        assert not found
        assert findings.is_incomplete
        assert len(findings.items) == 1
