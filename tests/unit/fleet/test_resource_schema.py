"""What is known of resource types."""

import pytest

from datum.diagnostics import SourceLocation
from datum.errors import FleetError, ProviderContractError
from datum.fleet.resolve import resolve_manifest
from datum.fleet.resource_schema import ResourceTypes, expected
from datum.fleet.values import Placed
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue
from tests.unit.fleet.support import HOST, PROVIDERS, ThingProvider, memory_tree

_PLACE = SourceLocation("f", 1, 1)
_DEEPER = SourceLocation("f", 2, 2)


def _explain(schema: JsonObject, attributes: dict[str, JsonValue]) -> list[tuple[str, str, str]]:
    class Provider(ThingProvider):
        pass

    Provider.schema = schema
    found = ResourceTypes({"thing": Provider()}).get("thing")
    assert found is not None
    fields = {name: Placed(None, _DEEPER) for name in attributes}
    wrong = found.explain(ResourceId("thing", "a"), fields, attributes, _PLACE)
    return [(name, one.code, one.detail) for name, one in wrong]


def test_a_missing_field_is_described() -> None:
    """A `guards: []` is not said at all; what the field is for says what to write."""

    class Provider(ThingProvider):
        pass

    told: JsonObject = {"type": "string", "description": "What it is for."}
    Provider.schema = {"required": ["a", "b"], "properties": {"a": told, "b": {"type": "string"}}}
    found = ResourceTypes({"thing": Provider()}).get("thing")
    assert found is not None
    wrong = [one for _, one in found.explain(ResourceId("thing", "x"), {}, {}, _PLACE)]
    assert {one.hint for one in wrong if "a" in one.detail.partition("needs")[2]} == {"a: What it is for."}


def test_what_a_type_says_of_a_field_that_it_has_not_goes_before_a_guess() -> None:
    class Provider(ThingProvider):
        pass

    Provider.schema = {**ThingProvider.schema, "x-no-field": {"tekst": "A thing has no such text."}}
    tree = memory_tree({"hosts/web1.yaml": "resources: {'thing:a': {tekst: x}}"})
    with pytest.raises(FleetError) as caught:
        resolve_manifest(tree, HOST, {**PROVIDERS, "thing": Provider()}, agent_version="0.1.0")
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("unknown-field", "A thing has no such text.")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "The resource needs at least one of a, b."),
        ({"required": ["a", "b"]}, "The resource needs a, b."),
        ({"type": "array"}, "The resource is a map, and a list is wanted."),
        ({"minProperties": 3}, "The resource is not allowed: {'x': 1} does not have enough properties."),
        ({"properties": {"x": {"enum": ["a"]}}}, "'x' is one of a, not 1."),
        ({"properties": {"x": {"oneOf": [{"type": "null"}]}}}, "'x' is not allowed: 1 is not valid under any"),
    ],
)
def test_errors_of_schemas_are_worded(schema: JsonObject, words: str) -> None:
    (detail,) = {detail for _, _, detail in _explain(schema, {"x": 1})}
    assert detail.startswith(words)


def test_types_are_looked_at_once() -> None:
    types = ResourceTypes(PROVIDERS)
    assert types.get("thing") is types.get("thing")
    assert types.get("fish") is None


def test_unknown_type_has_a_suggestion_and_the_list() -> None:
    resource, wrong = ResourceTypes(PROVIDERS).identify("thin:a", _PLACE)
    assert resource is None
    assert wrong is not None
    assert (wrong.code, wrong.hint) == ("unknown-resource-type", "Did you mean 'thing'?")
    assert "strict, thing" in wrong.detail


@pytest.mark.parametrize(("known", "words"), [((), "there is none."), (("thing",), "there is only thing.")])
def test_unknown_type_where_few_are_known(known: tuple[str, ...], words: str) -> None:
    _, wrong = ResourceTypes({name: PROVIDERS[name] for name in known}).identify("fish:a", _PLACE)
    assert wrong is not None
    assert wrong.detail == f"'fish' is no resource type; {words}"


def test_another_spelling_gives_the_right_one() -> None:
    resource, wrong = ResourceTypes(PROVIDERS).identify("thing:A", _PLACE)
    assert resource == ResourceId("thing", "a")
    assert wrong is not None
    assert (wrong.code, wrong.hint, wrong.resource) == ("name-not-normal", "Write thing:a", "thing:A")


def test_name_that_is_none_has_the_providers_words() -> None:
    resource, wrong = ResourceTypes(PROVIDERS).identify("thing:a b", _PLACE)
    assert resource == ResourceId("thing", "a b")
    assert wrong is not None
    assert (wrong.code, wrong.hint) == ("bad-name", "Use -")
    assert "a name has no spaces" in wrong.detail


def test_provider_that_raises_is_named() -> None:
    class Broken(ThingProvider):
        def normal_name(self, name: str) -> str:
            raise RuntimeError("oops")

    with pytest.raises(ProviderContractError, match=r"RuntimeError: oops\. This is a bug in the provider of thing"):
        ResourceTypes({"thing": Broken()}).identify("thing:a", _PLACE)


def test_kinds_have_names() -> None:
    assert expected(("null", "integer", "other")) == "null or an integer or other"
