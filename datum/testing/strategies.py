"""Hypothesis strategies for the values of the model, and for attributes that fit a schema.

The only module of the package that imports hypothesis, which only tests need. A new field of the model is added here
in the same change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.model.content import Content
from datum.model.graph import Dependency, DependencyKind, Target
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonObject, JsonValue, digest
from datum.model.manifest import (
    AttributeValue,
    EffectiveManifest,
    Enforcement,
    Expectation,
    Hazard,
    Late,
    Limits,
    OnObservationFailure,
    OnRemoval,
    Resource,
)
from datum.model.observation import Absent, Cause, Machine, NotApplicable, Present, Scope, Unobservable
from datum.model.plan import (
    Action,
    Change,
    Effect,
    Hold,
    HoldReason,
    Label,
    Need,
    Operation,
    Step,
)
from datum.model.pointer import Pointer, TrailEntry
from datum.model.provenance import FieldOrigin, Say
from datum.model.revision import Revision

_Value = TypeVar("_Value")

# The greatest integer that canonical JSON carries exactly (RFC 8785).
_SAFE = 2**53 - 1
_SURROGATES: Final[tuple[Literal["Cs"]]] = ("Cs",)
_LABEL = r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?"
# No field of a schema has such a name.
_OTHER_NAMES = st.from_regex(r"other-[a-z]{1,6}", fullmatch=True)
_WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)

resource_types = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
"""Names of resource types."""

paths = st.lists(
    st.text(st.characters(exclude_characters="/", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
        lambda name: name not in {".", ".."}
    ),
    min_size=1,
    max_size=5,
).map(lambda names: "/" + "/".join(names))
"""Absolute paths in normal form."""

resource_ids = st.builds(
    ResourceId,
    resource_types,
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20) | paths,
)
"""Ids of resources, of any type."""

host_names = st.from_regex(rf"{_LABEL}(\.{_LABEL}){{0,3}}", fullmatch=True).map(HostName)
"""Names of hosts."""

refs = st.from_regex(r"[a-z][a-z0-9/_-]{0,12}", fullmatch=True)
"""Branches and tags."""


def _revision(commit: str, ref: str | None) -> Revision:
    return Revision(commit, ref=ref, algorithm="sha1" if len(commit) == 40 else "sha256")  # noqa: PLR2004


revisions = st.builds(
    _revision,
    st.from_regex(r"[0-9a-f]{40}", fullmatch=True) | st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    st.none() | refs,
)
"""Revisions of both algorithms, with and without a ref."""

locations = st.builds(SourceLocation, st.just("hosts/web1.yaml") | _WORDS, st.integers(0, 999), st.integers(0, 200))
"""Places in files."""

diagnostics = st.builds(
    Diagnostic,
    location=st.none() | locations,
    code=st.from_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,2}", fullmatch=True),
    summary=_WORDS,
    detail=_WORDS,
    resource=st.just("") | resource_ids.map(str),
    hint=_WORDS,
    severity=st.sampled_from(Severity),
    related=st.lists(st.tuples(_WORDS, locations), max_size=2).map(tuple),
)
"""Findings."""

json_scalars: st.SearchStrategy[JsonValue] = (
    st.none()
    | st.booleans()
    | st.integers(-_SAFE, _SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=_SURROGATES), max_size=20)
)
"""JSON values without parts."""

json_values: st.SearchStrategy[JsonValue] = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=8,
)
"""JSON values that every encoder of the agent can carry."""

json_objects: st.SearchStrategy[JsonObject] = st.dictionaries(_WORDS, json_values, max_size=4)
"""JSON objects."""

contents = st.builds(Content.from_bytes, st.binary(max_size=80), source=_WORDS) | st.builds(
    Content, st.from_regex(r"[0-9a-f]{40}", fullmatch=True), source=_WORDS
)
"""Bytes at hand, and bytes named by a blob."""

late_values = st.builds(Late, _WORDS, json_objects, st.just("") | st.just("templates/a.j2"))
"""Values that wait for the machine."""

attribute_maps: st.SearchStrategy[Mapping[str, AttributeValue]] = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), json_values | contents | late_values, max_size=4
)
"""Attributes of a resource of an unknown type."""

targets = st.builds(Target, st.sampled_from(["path", "user", "unit", "port"]), _WORDS, st.booleans())
"""What resources hold."""

dependencies = st.builds(
    Dependency,
    resource_ids,
    resource_ids,
    st.sampled_from(DependencyKind),
    _WORDS,
    st.none() | locations,
    st.booleans(),
)
"""Edges."""

says = st.builds(Say, st.sampled_from(["base", "role/web", "host/web1"]), locations, json_values)
"""What one layer said."""

origins = st.builds(FieldOrigin, says, st.lists(says, max_size=2).map(tuple))
"""Who decided a field."""

resources = st.builds(
    Resource,
    resource_ids,
    attribute_maps,
    locations,
    requires=st.lists(resource_ids, max_size=3).map(tuple),
    after=st.lists(resource_ids, max_size=3).map(tuple),
    absent=st.booleans(),
    on_removal=st.none() | st.sampled_from(OnRemoval),
    protect=st.booleans(),
    allow=st.frozensets(st.sampled_from(Hazard)),
    unmanaged=st.frozensets(st.sampled_from(["mode", "owner"])),
    audit=st.booleans(),
    moved=st.none() | resource_ids,
    note=_WORDS,
    origins=st.dictionaries(st.sampled_from(["mode", "owner"]), origins, max_size=2),
)
"""Resources as declared."""

limits = st.builds(
    Limits,
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.none() | revisions,
)
"""Brakes."""

expectations = st.builds(
    Expectation,
    st.dictionaries(st.sampled_from(["os", "arch", "machine_id"]), _WORDS, max_size=3),
    st.frozensets(st.sampled_from(["os", "arch", "machine_id"])),
    st.none() | locations,
)
"""What the machine must be."""


def _manifest_resources(found: list[Resource]) -> tuple[Resource, ...]:
    return tuple(sorted({one.id: one for one in found}.values(), key=lambda one: one.id))


manifests = st.builds(
    EffectiveManifest,
    revisions,
    host_names,
    st.uuids().map(str),
    st.lists(resources, max_size=4).map(_manifest_resources),
    st.binary(max_size=8).map(digest),
    layers=st.dictionaries(st.sampled_from(["base", "role"]), st.lists(_WORDS, max_size=2).map(tuple), max_size=2),
    variables=json_objects,
    expect=expectations,
    limits=limits,
    enforcement=st.sampled_from(Enforcement),
    on_observation_failure=st.sampled_from(OnObservationFailure),
)
"""Effective manifests: sorted, each id once."""

unobservables = st.builds(Unobservable, st.sampled_from(Cause), _WORDS, st.sampled_from(Scope), st.booleans())
"""What could not be looked at."""

field_maps = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
    json_values | unobservables | st.builds(NotApplicable, st.from_regex(r"no-[a-z]{1,8}", fullmatch=True)),
    max_size=4,
)
"""Observed fields."""

presents = st.builds(Present, field_maps, json_objects, st.just("") | st.just("1:2"))
"""What is there."""

absents = st.builds(Absent, field_maps)
"""What is not there."""

observations: st.SearchStrategy[Present | Absent | Unobservable] = presents | absents | unobservables
"""Answers of a look."""

machines = st.builds(Machine, json_objects)
"""Machines."""

changes = st.builds(
    Change,
    st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
    json_values,
    json_values,
    sensitive=st.booleans(),
    before_text=st.none() | _WORDS,
    after_text=st.none() | _WORDS,
)
"""Fields before and after."""

needs = st.builds(Need, targets, _WORDS)
"""What must be there first."""

effects = st.builds(Effect, targets, st.booleans())
"""What comes into being."""

steps = st.builds(
    Step,
    st.sampled_from(Operation),
    st.lists(changes, min_size=1, max_size=3).map(tuple),
    st.lists(needs, max_size=2).map(tuple),
)
"""Steps of any operation."""

holds = st.builds(Hold, st.sampled_from(HoldReason), _WORDS, _WORDS)
"""What keeps an action from being done."""


def _action(origin: ResourceId, step: Step, hold: Hold | None, label: Label, hazards: frozenset[Hazard]) -> Action:
    return Action(origin, "file 1", step.operation, step.changes, hazards, label, hold, step=step)


actions = st.builds(
    _action,
    resource_ids,
    steps,
    st.none() | holds,
    st.sampled_from(Label),
    st.frozensets(st.sampled_from(Hazard)),
)
"""Actions whose step is their own."""

trail_entries = st.builds(TrailEntry, revisions, host_names)
"""Entries of the trail."""

pointers = st.builds(
    Pointer,
    st.uuids().map(str),
    host_names,
    enrolled=st.none() | revisions,
    accepted=st.none() | revisions,
    trail=st.lists(trail_entries, max_size=3).map(tuple),
    previous=st.none() | revisions,
    converged=st.none() | revisions,
    quarantined=st.lists(revisions, max_size=2).map(tuple),
    trial=st.none() | revisions,
    sealed=st.booleans(),
)
"""Pointers of any shape that the type allows."""


def attributes_for(schema: JsonObject) -> st.SearchStrategy[Mapping[str, AttributeValue]]:
    """Return a strategy for attributes that a schema of a resource type lets through.

    Understands `type`, `enum`, `const`, `pattern`, `minLength`, `minimum`, `maximum`, `items`, `minItems`,
    `properties`, `required`, `additionalProperties` and `x-datum`; other keywords are not looked at.
    """
    properties = schema.get("properties")
    fields = {
        name: _value_for(about)
        for name, about in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(about, Mapping)
    }
    named = schema.get("required")
    required = {name for name in named if isinstance(name, str)} if isinstance(named, (list, tuple)) else set()
    return st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in required},
        optional={name: fields[name] for name in fields if name not in required},
    )


def check_all(strategy: st.SearchStrategy[_Value], check: Callable[[_Value], None]) -> None:
    """Let a check see many values; raise what it raises for the simplest one it does not like."""

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def run(value: _Value) -> None:
        check(value)

    run()


def _value_for(about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    if about.get("x-datum") in {"source", "template"}:
        return contents
    if "const" in about:
        return st.just(about["const"])
    choices = about.get("enum")
    if isinstance(choices, (list, tuple)):
        return st.sampled_from(choices)
    kinds = about.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, (list, tuple)) else []
    return st.one_of([_value_of(str(name), about) for name in names]) if names else json_values


def _value_of(kind: str, about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    match kind:
        case "string":
            return _text_for(about)
        case "integer":
            return st.integers(_number(about, "minimum"), _number(about, "maximum"))
        case "number":
            return st.integers(_number(about, "minimum"), _number(about, "maximum")) | st.floats(
                _number(about, "minimum"), _number(about, "maximum"), allow_nan=False, allow_infinity=False
            )
        case "boolean":
            return st.booleans()
        case "array":
            items = about.get("items")
            inner = _value_for(items) if isinstance(items, Mapping) else json_values
            return _as_value(st.lists(inner, min_size=_number(about, "minItems") or 0, max_size=5))
        case "object":
            return _as_value(_object_for(about))
        case _:
            return st.none()


def _object_for(about: JsonObject) -> st.SearchStrategy[Mapping[str, AttributeValue]]:
    named = attributes_for(about)
    others = about.get("additionalProperties")
    if others is False:
        return named
    inner = _value_for(others) if isinstance(others, Mapping) else json_values
    # What is named keeps to its own schema.
    return st.builds(lambda loose, fixed: {**loose, **fixed}, st.dictionaries(_OTHER_NAMES, inner, max_size=4), named)


def _text_for(about: JsonObject) -> st.SearchStrategy[AttributeValue]:
    pattern = about.get("pattern")
    if isinstance(pattern, str):
        return st.from_regex(pattern)
    smallest = _number(about, "minLength") or 0
    # Lone surrogates are what JSON's escapes can carry and UTF-8 cannot.
    odd = st.sampled_from(["0", "007", "4294967295", "root", "{path}", "/etc/x", "-x", "a:b", "\ud800", "é", "no"])
    return st.text(min_size=smallest, max_size=20) | odd.filter(lambda text: len(text) >= smallest)


def _number(about: JsonObject, key: str) -> int | None:
    value = about.get(key)
    return value if isinstance(value, int) else None


def _as_value(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[AttributeValue]:
    """Say that a strategy makes attributes: it is built of such, which the type of a nested list cannot tell."""
    return strategy
