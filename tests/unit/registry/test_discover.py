"""Finding and verifying resource types: what is refused, and that the text names who offers it."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path
from typing import Any

import pytest

from datum.errors import ExitCode, ProviderContractError, ProviderError
from datum.provider.contract import FieldClass, Provider
from datum.registry.discover import GROUP, find_providers, verify_provider
from tests.unit.fakes import PROVIDERS, Fake, Leaf, Package, raising

MODULE = "tests.unit.fakes"


@pytest.fixture
def offer(tmp_path: Path) -> Callable[..., EntryPoint]:
    """Return a maker of entry points of a distribution with a name."""

    def make(name: str, value: str, distribution: str = "") -> EntryPoint:
        point = EntryPoint(name, value, GROUP)
        if not distribution:
            return point
        folder = tmp_path / f"{distribution}.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
        return point._for(PathDistribution(folder))  # type: ignore[attr-defined,no-any-return]  # as importlib does

    return make


def refusal(caught: pytest.ExceptionInfo[ProviderError], code: str) -> str:
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert caught.value.exit_code is ExitCode.SOFTWARE
    return found.detail


# --- finding ---


def test_every_type_is_found_by_its_name(offer: Callable[..., EntryPoint]) -> None:
    found = find_providers([offer("user", f"{MODULE}:User"), offer("leaf", f"{MODULE}:Leaf", "some-dist")])
    assert list(found) == ["leaf", "user"]
    assert len(found) == 2
    assert isinstance(found["leaf"], Leaf)


def test_a_type_is_loaded_once_and_only_when_it_is_asked_for(offer: Callable[..., EntryPoint]) -> None:
    found = find_providers([offer("leaf", f"{MODULE}:Leaf"), offer("odd", "tests.unit.nowhere:Odd")])
    assert found["leaf"] is found["leaf"]
    assert found.get("leaf") is found["leaf"]


def test_a_broken_type_that_nobody_asks_for_is_known_by_its_name(offer: Callable[..., EntryPoint]) -> None:
    found = find_providers([offer("leaf", f"{MODULE}:Leaf"), offer("broken", "tests.unit.nowhere:Odd")])
    assert list(found) == ["broken", "leaf"]
    assert "broken" in found
    assert "nothing" not in found
    assert found.get("nothing") is None
    with pytest.raises(KeyError):
        found["nothing"]


def test_a_broken_type_is_refused_each_time_it_is_asked_for(offer: Callable[..., EntryPoint]) -> None:
    found = find_providers([offer("broken", "tests.unit.nowhere:Odd")])
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            found["broken"]
        refusal(caught, "provider-not-loadable")


def test_the_types_of_the_installed_distributions_are_found() -> None:
    found = find_providers()
    assert found["file"].type_name == "file"


def test_no_type_is_no_error() -> None:
    assert find_providers([]) == {}


def test_a_type_that_two_distributions_offer_is_refused_naming_both(offer: Callable[..., EntryPoint]) -> None:
    points = [offer("leaf", f"{MODULE}:Leaf", "one-dist"), offer("leaf", f"{MODULE}:Leaf", "other-dist")]
    for both in (points, points[::-1]):
        with pytest.raises(ProviderError) as caught:
            find_providers(both)
        detail = refusal(caught, "duplicate-provider")
        assert "'leaf'" in detail
        assert "one-dist" in detail
        assert "other-dist" in detail


def test_a_type_that_one_distribution_offers_twice_is_refused(offer: Callable[..., EntryPoint]) -> None:
    with pytest.raises(ProviderError) as caught:
        find_providers([offer("leaf", f"{MODULE}:Leaf", "one"), offer("leaf", f"{MODULE}:Folder", "one")])
    detail = refusal(caught, "duplicate-provider")
    assert f"{MODULE}:Leaf" in detail
    assert f"{MODULE}:Folder" in detail


def test_one_entry_point_that_is_found_twice_is_one(offer: Callable[..., EntryPoint]) -> None:
    point = offer("leaf", f"{MODULE}:Leaf", "one")
    assert list(find_providers([point, offer("leaf", f"{MODULE}:Leaf", "one"), point])) == ["leaf"]


@pytest.mark.parametrize(
    "value",
    ["tests.unit.nowhere:Leaf", f"{MODULE}:Nothing", f"{MODULE}:raising", f"{MODULE}:HOST"],
    ids=["no-module", "no-attribute", "raises", "not-callable"],
)
@pytest.mark.parametrize("distribution", ["some-dist", ""])
def test_what_cannot_be_loaded_is_refused_naming_it(
    offer: Callable[..., EntryPoint], value: str, distribution: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        find_providers([offer("leaf", value, distribution)])["leaf"]
    detail = refusal(caught, "provider-not-loadable")
    assert "'leaf'" in detail
    assert value in detail
    assert (distribution or "unnamed distribution") in detail


def test_what_breaks_the_contract_is_refused_while_loading(offer: Callable[..., EntryPoint]) -> None:
    with pytest.raises(ProviderContractError) as caught:
        find_providers([offer("other", f"{MODULE}:Leaf", "some-dist")])["other"]
    assert "some-dist" in refusal(caught, "provider-breach")


# --- verifying ---


def breach(name: str, provider: object) -> str:
    with pytest.raises(ProviderContractError) as caught:
        verify_provider(name, provider, "some-dist")
    detail = refusal(caught, "provider-breach")
    assert "some-dist" in detail
    assert "bug in that provider" in detail
    return detail


def fake(**members: Any) -> object:
    """Return a provider with other members."""
    return type("Other", (Fake,), members)()


def test_every_fake_keeps_the_contract() -> None:
    for name, provider in PROVIDERS.items():
        assert verify_provider(name, provider, "some-dist") is provider


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_contract_version_is_refused_with_both(version: object) -> None:
    detail = breach("fake", fake(contract_version=version))
    assert f"contract version {version}" in detail
    assert "has 1" in detail


def test_another_contract_version_is_told_before_what_it_lacks() -> None:
    assert "contract version 0" in breach("fake", type("Old", (), {"contract_version": 0})())


DATA = ("type_name", "contract_version", "version", "schema", "fields", "apply_deadline", "observe_deadline")
METHODS = (
    *("normal_name", "parse", "targets", "edges", "observe", "plan", "effects", "hazards"),
    *("apply", "removal", "adopt"),
)
MEMBERS = (*DATA, *METHODS)


@pytest.mark.parametrize("member", MEMBERS)
def test_every_missing_member_is_named(member: str) -> None:
    members = {name: getattr(Fake, name) for name in MEMBERS if name != member}
    assert f"it lacks {member}:" not in breach("fake", type("Torn", (), members)())
    assert f"it lacks {member}." in breach("fake", type("Torn", (), members)())


def test_all_missing_members_are_named_at_once() -> None:
    assert "it lacks adopt, apply, apply_deadline, contract_version, edges" in breach("fake", object())


@pytest.mark.parametrize("member", METHODS)
def test_a_method_that_cannot_be_called_is_named(member: str) -> None:
    assert member in breach("fake", fake(**{member: None}))
    assert member in breach("fake", fake(**{member: "text"}))


def test_a_type_that_calls_itself_otherwise_is_refused() -> None:
    assert "it calls itself 'fake'" in breach("other", Fake())


@pytest.mark.parametrize("name", ["Fake", "my-fake", "1fake", "", "fake ", "fäke"])
def test_a_name_that_is_no_resource_type_is_refused(name: str) -> None:
    assert "lower-case" in breach(name, fake(type_name=name))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"properties": []},
        {"properties": {"value": {"minimum": "1"}}},
        {"properties": object()},
        7,
        "text",
        None,
        [1],
        True,
    ],
    ids=["type", "list", "keyword", "object", "number", "text", "none", "array", "boolean"],
)
def test_a_schema_that_is_no_json_schema_is_refused(schema: object) -> None:
    assert "its schema is no JSON Schema" in breach("fake", fake(schema=schema))


@pytest.mark.parametrize(
    ("properties", "fields", "odd"),
    [
        ({"value": {}, "mode": {}}, {"value": FieldClass.ENFORCED}, "mode"),
        ({"value": {}}, {"value": FieldClass.ENFORCED, "owner": FieldClass.ENFORCED}, "owner"),
        ({}, {"value": FieldClass.ENFORCED}, "value"),
        (None, {"value": FieldClass.ENFORCED}, "value"),
        ({"a": {}, "b": {}}, {"b": FieldClass.ENFORCED, "c": FieldClass.ENFORCED}, "a, c"),
    ],
    ids=["schema-only", "fields-only", "empty", "no-properties", "both"],
)
def test_schema_and_fields_must_agree(properties: object, fields: Mapping[str, FieldClass], odd: str) -> None:
    schema = {"type": "object"} | ({} if properties is None else {"properties": properties})
    assert f"schema and fields disagree on {odd}." in breach("fake", fake(schema=schema, fields=fields))


def test_a_schema_may_have_no_fields() -> None:
    provider = fake(schema={}, fields={})
    assert verify_provider("fake", provider, "some-dist") is provider


def test_every_field_has_a_class() -> None:
    assert "the field value has no class" in breach("fake", fake(fields={"value": "enforced!"}))
    assert "no mapping" in breach("fake", fake(fields=["value"]))


@pytest.mark.parametrize("missing", ["stage", "commit", "transaction"])
def test_a_type_that_offers_half_of_a_transaction_is_refused(missing: str) -> None:
    members = {name: getattr(Package, name) for name in ("stage", "commit", "transaction") if name != missing}
    assert missing in breach("fake", fake(**members))


@pytest.mark.parametrize("only", ["guards", "check"])
def test_a_type_that_offers_half_of_a_check_is_refused(only: str) -> None:
    detail = breach("fake", fake(**{only: Fake.parse}))
    assert "it offers checks and lacks " in detail
    assert ({"guards", "check"} - {only}).pop() in detail


def test_the_fakes_are_providers() -> None:
    assert all(isinstance(provider, Provider) for provider in PROVIDERS.values())
    with pytest.raises(RuntimeError):
        raising()
