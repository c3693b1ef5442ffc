"""Properties of resolution that hold for every fleet."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from datum.diagnostics import Diagnostic
from datum.errors import FleetError
from datum.fleet.resolve import check_fleet, resolve_manifest
from datum.model.content import Content
from datum.model.manifest import EffectiveManifest
from datum.testing.trees import MemoryTree, TreeFile
from tests.unit.fleet.support import HEADER, HOST, PROVIDERS

_FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "text": st.sampled_from(["p", "q", None]),
    "number": st.integers(0, 2),
    "list": st.lists(st.sampled_from(["p", "q"]), max_size=2),
    "map": st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["p", "q", None]), max_size=2),
    "requires": st.lists(st.sampled_from(["thing:a", "thing:b"]), max_size=2),
    "note": st.sampled_from(["p", "q"]),
}
_BODIES = st.fixed_dictionaries({}, optional=_FIELDS)
_RESOURCES = st.dictionaries(st.sampled_from(["thing:a", "thing:b", "thing:c"]), _BODIES, max_size=3)
# What a file says, as JSON, which is YAML.
_DOCUMENTS = st.fixed_dictionaries({"resources": _RESOURCES})
_STACK = st.lists(_DOCUMENTS, min_size=3, max_size=3)

_ANY_WORD = st.sampled_from(
    [
        *("resources", "variables", "layers", "expect", "limits", "observe", "enforcement", "modules"),
        *("thing:a", "strict:b", "thing:${each.key}", "file:/x", "thing", "role", "base", "web", "default"),
        *("when", "for_each", "requires", "after", "absent", "override", "without", "text", "map", "mode", "source"),
        *("contribute", "parts", "content", "folder", "assemble", "guards", "files", "changed", "replaces", "50%"),
        *("template", "on_removal", "allow", "unmanaged", "moved", "note", "restart_on", "warn", "removals", "from"),
        *("${var.a}", "${var.b", "${machine.cpus}", "${host.name}", "${each.value}", "$${x}", "a", "0644", "no", "~"),
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _ANY_WORD | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY_WORD | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def _tree(*documents: Mapping[str, Any]) -> dict[str, TreeFile]:
    paths = ("layers/base/default.yaml", "layers/role/default.yaml", "hosts/web1.yaml")
    return {"fleet.yaml": HEADER, **{path: json.dumps(one) for path, one in zip(paths, documents, strict=True)}}


def _resolve(files: Mapping[str, TreeFile]) -> EffectiveManifest | None:
    """Return the manifest, or None when the fleet is wrong; then something is said, sorted and once."""
    found: tuple[Diagnostic, ...] | None = None
    try:
        return resolve_manifest(MemoryTree(files), HOST, PROVIDERS, agent_version="1")
    except FleetError as error:
        found = error.diagnostics
    assert found
    assert list(found) == sorted(set(found))
    return None


@given(_STACK, st.randoms(use_true_random=False))
def test_file_order_does_not_matter(stack: list[dict[str, Any]], random: Any) -> None:
    files = list(_tree(*stack).items())
    first = _resolve(dict(files))
    random.shuffle(files)
    assert _resolve(dict(files)) == first


@given(_STACK)
def test_a_layer_that_says_nothing_changes_nothing(stack: list[dict[str, Any]]) -> None:
    base, _, host = stack
    empty = _resolve(_tree(base, {"resources": {}}, host))
    missing = {path: text for path, text in _tree(base, {}, host).items() if "role" not in path}
    without = _resolve(missing)
    assert (empty is None) == (without is None)
    assert empty is None or without is None or empty.resources == without.resources


@given(_STACK)
def test_strongest_scalar_wins_and_every_field_has_an_origin(stack: list[dict[str, Any]]) -> None:
    manifest = _resolve(_tree(*stack))
    for resource in manifest.resources if manifest is not None else ():
        said = [one["resources"].get(str(resource.id), {}) for one in reversed(stack)]
        for field in ("text", "number", "list"):
            strongest = next((body[field] for body in said if field in body), None)
            found = resource.attributes.get(field)
            assert (list(found) if isinstance(found, tuple) else found) == strongest
        assert set(resource.attributes) <= set(resource.origins)
        for name, origin in resource.origins.items():
            layers = [say.layer for say in (origin.winner, *origin.others)]
            assert layers == [layer for layer in ("host/web1", "role", "base") if layer in layers]
            assert len(layers) == sum(name in body for body in said)


@given(_STACK)
def test_reference_lists_unite(stack: list[dict[str, Any]]) -> None:
    manifest = _resolve(_tree(*stack))
    for resource in manifest.resources if manifest is not None else ():
        said = [one["resources"].get(str(resource.id), {}).get("requires", []) for one in stack]
        assert [str(one) for one in resource.requires] == sorted({reference for part in said for reference in part})
        assert set(resource.references) == set(resource.requires)


@given(_DOCUMENTS, _DOCUMENTS, _DOCUMENTS)
def test_members_of_one_layer_merge_in_any_order(
    left: dict[str, Any], right: dict[str, Any], host: dict[str, Any]
) -> None:
    digests = set()
    for members in (["m", "n"], ["n", "m"]):
        files: dict[str, TreeFile] = {
            "fleet.yaml": HEADER,
            "layers/role/m.yaml": json.dumps(left),
            "layers/role/n.yaml": json.dumps(right),
            "hosts/web1.yaml": json.dumps({"layers": {"role": members}, **host}),
        }
        manifest = _resolve(files)
        digests.add(manifest.digest if manifest is not None else "")
    assert len(digests) == 1


_CONTRIBUTED = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y\n", "", "$${z}", "${host.name}", None]), max_size=3
)


@given(st.lists(_CONTRIBUTED, min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_slots_are_sorted_by_key_and_say_what_the_strongest_says(
    stack: list[dict[str, str | None]], random: Any
) -> None:
    holder = {"resources": {"thing:a": {"assemble": "s"}}}
    documents: list[dict[str, Any]] = [
        {"contribute": {"s": dict(random.sample(list(one.items()), len(one)))}} for one in stack
    ]
    files = list(_tree({**holder, **documents[0]}, documents[1], documents[2]).items())
    random.shuffle(files)
    manifest = _resolve(dict(files))
    assert manifest is not None
    strongest = {key: text for one in stack for key, text in one.items()}
    values = {"$${z}": "${z}", "${host.name}": "web1"}
    lines = [values.get(text, text).rstrip("\n") + "\n" for _, text in sorted(strongest.items()) if text is not None]
    assert manifest.resources[0].attributes["assemble"] == Content.from_bytes("".join(lines).encode())


@given(_CONTRIBUTED, _CONTRIBUTED)
def test_members_of_one_layer_contribute_in_any_order(left: dict[str, Any], right: dict[str, Any]) -> None:
    digests = []
    for first, second in ((left, right), (right, left)):
        files: dict[str, TreeFile] = {
            "fleet.yaml": HEADER,
            "layers/role/m.yaml": json.dumps({"contribute": {"s": first}}),
            "layers/role/n.yaml": json.dumps({"contribute": {"s": second}}),
            "hosts/web1.yaml": json.dumps(
                {"layers": {"role": ["m", "n"]}, "resources": {"thing:a": {"assemble": "s"}}}
            ),
        }
        manifest = _resolve(files)
        digests.append(manifest.digest if manifest is not None else "")
    assert digests[0] == digests[1]
    disagree = any(left[key] != right[key] for key in left.keys() & right.keys())
    assert (digests[0] == "") == disagree


@given(_ANY, _ANY, _ANY)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_nothing_but_fleet_errors_whatever_is_said(fleet: Any, base: Any, host: Any) -> None:
    header = json.loads(json.dumps({"datum": 1, "fleet": "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", "layers": ["base"]}))
    more = fleet if isinstance(fleet, dict) else {"patterns": fleet, "limits": fleet}
    for text in (HEADER, json.dumps(header | more), json.dumps(fleet)):
        files: dict[str, TreeFile] = {
            "fleet.yaml": text,
            "layers/base/default.yaml": json.dumps({"resources": base, "variables": base}),
            "hosts/web1.yaml": json.dumps({"resources": host, "variables": base, "layers": fleet}),
            "hosts/web2.yaml": json.dumps(
                {"contribute": host, "resources": {"thing:a": {"parts": host, "folder": base}}}
            ),
            "hosts/web3.yaml": json.dumps(host),
        }
        _resolve(files)
        check_fleet(MemoryTree(files), PROVIDERS, agent_version="1")


@given(st.text(max_size=60) | st.binary(max_size=60))
@example("resources: {thing:a: {text: '${'}}")
@example("resources: {'thing:a': &a [*a]}")
@example("\ufeff---\n...")
def test_nothing_but_fleet_errors_on_any_text(text: str | bytes) -> None:
    _resolve({"fleet.yaml": HEADER, "hosts/web1.yaml": text})
    _resolve({"fleet.yaml": text, "hosts/web1.yaml": ""})


@given(st.dictionaries(st.sampled_from(list(_FIELDS)), _ANY, max_size=4))
def test_nothing_but_fleet_errors_in_any_field(fields: dict[str, Any]) -> None:
    manifest = _resolve(_tree({"resources": {"thing:a": fields}}, {}, {"variables": {"a": [1]}}))
    for resource in manifest.resources if manifest is not None else ():
        assert set(resource.attributes) <= set(resource.origins)
