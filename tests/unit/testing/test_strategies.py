"""The strategies make values that the model takes, and attributes that schemas take."""

import json
from collections.abc import Mapping

import pytest
from attrs import NOTHING, Factory, fields
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from datum.model.check import Check
from datum.model.content import Content, Folder, FolderEntry
from datum.model.graph import Dependency, Target
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonObject, JsonValue, freeze, sorted_json, thaw
from datum.model.manifest import EffectiveManifest, Expectation, Late, Limits, Resource
from datum.model.observation import Absent, Machine, Present, Unobservable
from datum.model.pause import Pause
from datum.model.plan import Action, Change, Effect, Hold, Operation, Step
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.model.trigger import Asked, Trigger
from datum.provider.paths import normal_path
from datum.testing import asking, schemas, strategies

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

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


MODEL = {
    Absent: strategies.absents,
    Action: strategies.actions,
    Change: strategies.changes,
    Check: strategies.checks,
    Content: strategies.contents,
    Dependency: strategies.dependencies,
    EffectiveManifest: strategies.manifests,
    Effect: strategies.effects,
    Expectation: strategies.expectations,
    Folder: strategies.folders,
    FolderEntry: strategies.folder_entries,
    Hold: strategies.holds,
    Late: strategies.late_values,
    Limits: strategies.limits,
    Machine: strategies.machines,
    Asked: asking.requests,
    Pause: asking.pauses,
    Pointer: strategies.pointers,
    Present: strategies.presents,
    Resource: strategies.resources,
    Step: strategies.steps,
    Target: strategies.targets,
    Trigger: asking.triggers,
    Unobservable: strategies.unobservables,
}
# Set by the engine alone, from what the others are.
_BY_ENGINE = (
    "known_after",
    "requires",
    "location",
    "orphan_of",
    "transaction",
    "unmarked",
    "marks_if_up",
    "unstopped",
    "hoped",
    "along",
    "starts_again",
)
DERIVED = {(Action, name) for name in _BY_ENGINE}


@pytest.mark.parametrize("made", MODEL, ids=lambda made: made.__name__)
def test_every_field_with_a_default_takes_other_values_too(made: type) -> None:
    defaults = {}
    for one in fields(made):
        if one.default is not NOTHING and (made, one.name) not in DERIVED:
            usual = one.default
            defaults[one.name] = usual.factory() if isinstance(usual, Factory) else usual  # type: ignore[arg-type]  # a class to attrs
    left = set(defaults)

    @SLOW
    @given(MODEL[made])
    def look(value: object) -> None:
        left.difference_update([name for name in left if getattr(value, name) != defaults[name]])

    look()
    assert not left


@given(strategies.folders, strategies.sorted_paths)
def test_folders_and_paths_are_sorted_and_nothing_lies_below_a_file(folder: Folder, paths: tuple[str, ...]) -> None:
    assert list(paths) == sorted(set(paths))
    names = [entry.path for entry in folder.entries]
    assert names == sorted(set(names))
    assert not any(name.startswith(f"{other}/") for name in names for other in names)


@given(strategies.steps)
def test_only_steps_that_remove_take_paths_along(step: Step) -> None:
    assert not step.takes or step.operation in {Operation.UPDATE, Operation.REPLACE, Operation.DELETE}


@SLOW
@given(schemas.attributes_for(ODD_SCHEMA))
def test_attributes_fit_their_schema(attributes: JsonObject) -> None:
    Draft202012Validator(thaw(ODD_SCHEMA)).validate(thaw(attributes))  # type: ignore[arg-type]  # it is a dict


@given(schemas.attributes_for({"properties": {"source": {"type": "string", "x-datum": "source"}}}))
def test_files_of_the_repository_arrive_as_content(attributes: JsonObject) -> None:
    assert all(isinstance(value, Content) for value in attributes.values())


@given(
    schemas.attributes_for(
        {
            "required": ["slot", "folder", "parts"],
            "properties": {
                "slot": {"type": "string", "x-datum": "slot"},
                "folder": {"type": "string", "x-datum": "folder"},
                "parts": {"type": "array", "minItems": 1, "x-datum": "parts"},
                "mode": {"type": "string", "x-datum": "quoted"},
            },
        }
    )
)
def test_folders_slots_and_parts_arrive_as_parse_gets_them(attributes: Mapping[str, object]) -> None:
    assert isinstance(attributes["slot"], Content)
    assert isinstance(attributes["folder"], Folder)
    parts = attributes["parts"]
    assert isinstance(parts, tuple)
    assert parts
    assert all(isinstance(part, Content) for part in parts)
    assert isinstance(attributes.get("mode", ""), str)


def test_a_schema_without_fields_has_no_attributes() -> None:
    seen: list[object] = []
    schemas.check_all(schemas.attributes_for({}), seen.append)
    assert seen == [{}]


def test_a_check_that_fails_is_told() -> None:
    def refuse(value: int) -> None:
        if value > 10:
            raise ValueError(str(value))

    with pytest.raises(ValueError, match="11"):
        schemas.check_all(st.integers(0, 1000), refuse)
