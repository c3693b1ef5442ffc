"""Hypothesis strategies for the values of the model; those for attributes that fit a schema are in `schemas`.

These two modules and `asking` alone import hypothesis, which only tests need. A new field of the model is added here
in the same change.
"""

from collections.abc import Mapping
from typing import Final, Literal

from attrs import evolve
from hypothesis import strategies as st

from datum.diagnostics import Diagnostic, Severity, SourceLocation
from datum.model.check import Check
from datum.model.content import Content, Folder, FolderEntry
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
    LimitClass,
    Limits,
    OnObservationFailure,
    OnRemoval,
    Resource,
)
from datum.model.observation import (
    Absent,
    Cause,
    Machine,
    NotApplicable,
    Present,
    Scope,
    StaleInput,
    Unobservable,
    UnsafeFolder,
)
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
from datum.model.source import EntryKind

# The greatest integer that canonical JSON carries exactly (RFC 8785).
_SAFE = 2**53 - 1
_SURROGATES: Final[tuple[Literal["Cs"]]] = ("Cs",)
_LABEL = r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?"
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

_PLAIN_PATHS = st.from_regex(r"[a-z]{1,4}(/[a-z]{1,4}){0,2}", fullmatch=True)
_HEX = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)

folder_entries = st.builds(
    FolderEntry, _PLAIN_PATHS, st.sampled_from([EntryKind.FILE, EntryKind.EXECUTABLE]), _HEX
) | st.builds(FolderEntry, _PLAIN_PATHS, st.just(EntryKind.SYMLINK), _HEX, st.just("../x") | st.just("/etc/x"))
"""Names of a folder of the repository."""


def _whole(found: list[FolderEntry]) -> tuple[FolderEntry, ...]:
    """Return the entries sorted, without those below another that is no folder."""
    paths = {one.path: one for one in found}
    return tuple(paths[path] for path in sorted(paths) if not any(path.startswith(f"{other}/") for other in paths))


folders = st.builds(Folder, _HEX, st.just("files/app"), st.lists(folder_entries, max_size=5).map(_whole))
"""Folders of the repository: sorted, nothing below a file."""

late_values = st.builds(Late, _WORDS, json_objects, st.just("") | st.just("templates/a.j2"), st.booleans())
"""Values that wait for the machine."""

parts: st.SearchStrategy[tuple[Content | Late, ...]] = st.lists(contents | late_values, max_size=3).map(tuple)
"""Pieces of one file."""

attribute_maps: st.SearchStrategy[Mapping[str, AttributeValue]] = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
    json_values | contents | folders | late_values | parts,
    max_size=4,
)
"""Attributes of a resource of an unknown type."""

targets = st.builds(
    Target,
    st.sampled_from(["path", "user", "unit", "port"]),
    _WORDS,
    shared=st.booleans(),
    leaf=st.booleans(),
    exclusive=st.booleans(),
    shared_with=st.just("") | st.just("staff") | st.just("50"),
)
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
    references=st.dictionaries(resource_ids, locations, max_size=2),
    dropped=st.lists(resource_ids, max_size=2).map(tuple),
    while_stopped=st.lists(resource_ids, max_size=2).map(tuple),
    stopped_at=st.dictionaries(resource_ids, locations, max_size=2),
)
"""Resources as declared."""

limits = st.builds(
    Limits,
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 100),
    st.dictionaries(st.sampled_from(LimitClass), st.integers(0, 99), max_size=3),
    st.none() | revisions,
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
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
    enforcement_at=st.none() | locations,
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

sorted_paths: st.SearchStrategy[tuple[str, ...]] = st.sets(paths, max_size=3).map(lambda found: tuple(sorted(found)))
"""Paths, each once."""

unsafe_folders = st.lists(st.builds(UnsafeFolder, paths, _WORDS), max_size=2).map(tuple)
"""What keeps something from being written."""

_MOMENTS: Final = st.integers(0, 2**52)

stale_inputs = st.builds(StaleInput, resource_ids, paths, _MOMENTS, _MOMENTS, st.booleans())
"""What changed after something was started."""

presents = st.builds(
    Present,
    field_maps,
    json_objects,
    st.just("") | st.just("1:2"),
    sorted_paths,
    sorted_paths,
    st.lists(_WORDS, max_size=2).map(tuple),
    unsafe_folders,
    st.lists(stale_inputs, max_size=2).map(tuple),
)
"""What is there."""

absents = st.builds(Absent, field_maps, unsafe_folders)
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
    after_blob=st.just("") | _HEX,
    is_private=st.booleans(),
)
"""Fields before and after."""

needs = st.builds(Need, targets, _WORDS)
"""What must be there first."""

effects = st.builds(Effect, targets, st.booleans())
"""What comes into being."""

_TAKING: Final = frozenset({Operation.UPDATE, Operation.REPLACE, Operation.DELETE})


def _step(operation: Operation, changed: tuple[Change, ...], needed: tuple[Need, ...], takes: tuple[str, ...]) -> Step:
    return Step(operation, changed, needed, takes if operation in _TAKING else ())


steps = st.builds(
    _step,
    st.sampled_from(Operation),
    st.lists(changes, min_size=1, max_size=3).map(tuple),
    st.lists(needs, max_size=2).map(tuple),
    sorted_paths,
)
"""Steps of any operation; those that remove something may take paths along."""

checks = st.builds(
    Check,
    resource_ids,
    st.lists(_WORDS, min_size=1, max_size=3).map(tuple),
    st.floats(0.1, 600),
    st.dictionaries(st.from_regex(r"[A-Z]{1,6}", fullmatch=True), _WORDS, max_size=2),
    st.booleans(),
    st.none() | locations,
)
"""Programs that judge candidates."""

holds = st.builds(Hold, st.sampled_from(HoldReason), _WORDS, _WORDS) | st.builds(
    Hold, st.just(HoldReason.LIMIT), _WORDS, _WORDS, st.sampled_from(LimitClass)
)
"""What keeps an action from being done."""


def _action(origin: ResourceId, step: Step, hold: Hold | None, label: Label, hazards: frozenset[Hazard]) -> Action:
    return Action(origin, "file 1", step.operation, step.changes, hazards, label, hold, step=step)


actions = st.builds(
    evolve,
    st.builds(
        _action,
        resource_ids,
        steps,
        st.none() | holds,
        st.sampled_from(Label),
        st.frozensets(st.sampled_from(Hazard)),
    ),
    marks=st.dictionaries(resource_ids, st.sampled_from((Operation.REFRESH_RELOAD, Operation.REFRESH_RESTART))),
    while_stopped=st.frozensets(resource_ids, max_size=2),
    guards=st.lists(checks, max_size=2).map(tuple),
    stale=st.lists(stale_inputs, max_size=2).map(tuple),
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
