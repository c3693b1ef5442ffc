"""The strategies make values that the model takes, and attributes that schemas take."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from datum.model.content import Content
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonObject, JsonValue, freeze, sorted_json, thaw
from datum.model.manifest import EffectiveManifest
from datum.model.plan import Action
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.provider.paths import normal_path
from datum.testing import strategies

SLOW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

ODD_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["kind", "level"],
    "additionalProperties": False,
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "level": {"const": 3},
        "text": {"type": "string", "minLength": 2},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        "is_on": {"type": "boolean"},
        "names": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[a-z]+$"}},
        "anything": {"description": "Any JSON value."},
        "many": {"type": "array"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "loose": {"type": "object"},
        "closed": {"type": "object", "properties": {"x": {"type": "boolean"}}, "additionalProperties": False},
        "nested": {
            "type": "object",
            "properties": {"x": {"type": "boolean"}, "y": True},
            "additionalProperties": {"type": "boolean"},
        },
    },
}


@given(strategies.resource_ids, strategies.host_names, strategies.revisions)
def test_texts_of_names_are_read_back(origin: ResourceId, host: HostName, revision: Revision) -> None:
    assert ResourceId.parse(str(origin)) == origin
    assert HostName(str(host)) == host
    assert Revision.parse(str(revision)) == revision


@given(strategies.paths)
def test_paths_are_normal(path: str) -> None:
    assert normal_path(path) == path


@given(strategies.json_values)
def test_json_values_are_what_json_carries(value: JsonValue) -> None:
    assert thaw(json.loads(sorted_json(value))) == thaw(value)
    assert freeze(thaw(value)) == freeze(value)


@SLOW
@given(strategies.manifests, strategies.actions, strategies.pointers)
def test_larger_values_are_well_formed(manifest: EffectiveManifest, action: Action, pointer: Pointer) -> None:
    assert list(manifest.by_id) == sorted(manifest.by_id)
    assert action.changes == action.step.changes
    assert pointer.enforced == (pointer.trail[-1] if pointer.trail else None)


@SLOW
@given(st.data())
@pytest.mark.parametrize(
    "name", [name for name, value in vars(strategies).items() if isinstance(value, st.SearchStrategy)]
)
def test_every_strategy_makes_values(name: str, data: st.DataObject) -> None:
    value = data.draw(getattr(strategies, name))
    assert value == value  # noqa: PLR0124  # equality is defined and does not raise


@SLOW
@given(strategies.attributes_for(ODD_SCHEMA))
def test_attributes_fit_their_schema(attributes: JsonObject) -> None:
    Draft202012Validator(thaw(ODD_SCHEMA)).validate(thaw(attributes))  # type: ignore[arg-type]  # it is a dict


@given(strategies.attributes_for({"properties": {"source": {"type": "string", "x-datum": "source"}}}))
def test_files_of_the_repository_arrive_as_content(attributes: JsonObject) -> None:
    assert all(isinstance(value, Content) for value in attributes.values())


def test_a_schema_without_fields_has_no_attributes() -> None:
    seen: list[object] = []
    strategies.check_all(strategies.attributes_for({}), seen.append)
    assert seen == [{}]


def test_a_check_that_fails_is_told() -> None:
    def refuse(value: int) -> None:
        if value > 10:
            raise ValueError(str(value))

    with pytest.raises(ValueError, match="11"):
        strategies.check_all(st.integers(0, 1000), refuse)
