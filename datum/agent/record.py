"""`plan --record` and `plan --observed`: everything a plan is a function of, in one file (design 1.3).

The file holds revisions and observations. Manifests are not in it: they are a pure function of a revision and come
from git again, so that the same file and the same clone give the same bytes anywhere. Pure but for the trees it is
given.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from datum.agent.desired import Resolver
from datum.agent.planning import Planned, plan_given
from datum.agent.ports import Ports
from datum.diagnostics import Diagnostic
from datum.errors import UsageError
from datum.model.graph import Node
from datum.model.identity import HostName, ResourceId
from datum.model.json import JsonObject, JsonValue, freeze
from datum.model.manifest import LimitClass
from datum.model.moment import format_moment, parse_moment
from datum.model.observation import (
    Absent,
    Cause,
    FieldValue,
    Machine,
    NotApplicable,
    Observation,
    ObservedState,
    Present,
    Scope,
    StaleInput,
    Unobservable,
    UnsafeFolder,
)
from datum.model.pause import Pause
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.report.as_json import pause_to_json
from datum.report.plan_json import plan_to_json

FORMAT: Final = "datum.record/5"

_SHAPE: Final[Mapping[str, tuple[type, ...]]] = {
    "versions": (Mapping,),
    "revision": (str,),
    "host": (str,),
    "trail": (list, tuple),
    "converged": (str, type(None)),
    "is_retry": (bool,),
    "allowed": (Mapping,),
    "now": (str,),
    "pause": (Mapping, type(None)),
    "machine": (Mapping,),
    "observations": (Mapping,),
    "orphans": (Mapping,),
    "plan": (Mapping,),
}

TreeOf = Callable[[Revision], SourceTree]


def record_plan(planned: Planned, pointer: Pointer, ports: Ports) -> JsonObject:
    """Return the record of a plan and all its inputs.

    It says what the host could not resolve, which a clone may: of the trail with the reason; what converged last stands
    in it only where the plan was made from it.
    """
    given = planned.given
    converged = pointer.converged if given.converged is not None else None
    unresolved = {entry.revision: entry.detail for entry in given.trail if isinstance(entry, Unresolved)}
    return {
        "format": FORMAT,
        "versions": dict(ports.versions(planned.types)),
        "revision": str(given.revision),
        "host": str(given.host),
        "trail": [
            {"revision": entry.revision.key, "host": str(entry.host), "unresolved": unresolved.get(entry.revision)}
            for entry in reversed(pointer.trail)
            if entry.revision != given.revision or entry.host != given.host
        ],
        "converged": converged.key if converged else None,
        "is_retry": given.is_retry,
        "allowed": {str(kind): count for kind, count in sorted(given.allowed.items())},
        "now": format_moment(given.now),
        "pause": pause_to_json(given.pause),
        "machine": given.observed.machine.values,
        "observations": {str(key): _observation(value) for key, value in given.observed.observations.items()},
        "orphans": {str(origin): _orphan(sight) for origin, sight in given.orphans.items()},
        "plan": plan_to_json(planned.plan),
    }


def damaged(what: str) -> UsageError:
    """Return the error on a file that is no record."""
    return UsageError(
        Diagnostic(
            code="bad-record",
            summary="This is no record of a plan.",
            detail=f"{what[0].upper()}{what[1:]}.",
            hint="datum plan --record FILE writes one",
        )
    )


def replay_plan(record: JsonValue, tree_of: TreeOf, ports: Ports) -> Planned:
    """Plan again from a record and the revisions it names.

    Raises:
        UsageError: it is no record, or was made by other versions.
        RepositoryError: a revision is not in this clone.
        FleetError: the target cannot be resolved.
    """
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        raise damaged(f"the format '{FORMAT}' is expected")
    # Past this point a wrong shape shows itself as one of the errors below, whatever part of the file it is in.
    parts: Mapping[str, Any] = record
    try:
        _check_shape(parts)
        versions: Mapping[str, Any] = parts["versions"]
        _check_versions(versions, ports.versions(versions))
        planned = _replay(parts, tree_of, ports)
        _check_versions(versions, ports.versions(planned.types))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise damaged(f"a part of it is missing or of the wrong kind ({error})") from error
    return planned


def _check_shape(parts: Mapping[str, Any]) -> None:
    for name, kinds in _SHAPE.items():
        if name not in parts:
            raise KeyError(name)
        if not isinstance(parts[name], kinds) or (isinstance(parts[name], bool) and bool not in kinds):
            raise TypeError(f"'{name}' is a {type(parts[name]).__name__}")


def _check_versions(recorded: Mapping[str, Any], versions: Mapping[str, str]) -> None:
    for name in sorted({*recorded, *versions} - {"python"}):
        if recorded.get(name) != versions.get(name):
            raise UsageError(
                Diagnostic(
                    code="other-versions",
                    summary="The record was made by other versions.",
                    detail=f"{name} is {versions.get(name, 'missing')} here and was {recorded.get(name, 'missing')}; "
                    "a plan is a function of them.",
                    hint="install the versions that the record names",
                )
            )


def _replay(parts: Mapping[str, Any], tree_of: TreeOf, ports: Ports) -> Planned:
    revision = Revision.parse(parts["revision"])
    host = HostName(parts["host"])
    machine = Machine(_frozen_map(parts["machine"]))
    resolver = Resolver(ports.providers, ports.agent, lambda: machine)
    wanted = resolver.resolve(tree_of(revision), host)
    trail = tuple(_read_entry(item, resolver, tree_of) for item in parts["trail"])
    observations = {ResourceId.parse(key): _read_observation(value) for key, value in parts["observations"].items()}
    given = PlanInput(
        revision=revision,
        host=host,
        manifest_digest=wanted.manifest.digest,
        graph=wanted.graph,
        providers=ports.providers,
        observed=ObservedState(observations, machine),
        trail=trail,
        is_retry=parts["is_retry"] is True,
        orphans=_read_orphans(parts["orphans"], trail),
        limits=wanted.manifest.limits,
        allowed={LimitClass(name): _count(value) for name, value in parts["allowed"].items()},
        pause=_read_pause(parts["pause"]),
        now=parse_moment(parts["now"]),
    )
    return plan_given(given, lambda: _converged(parts["converged"], given, resolver, tree_of))


def _same(tree: SourceTree) -> SourceTree:
    return tree


def _read_entry(item: Mapping[str, Any], resolver: Resolver, tree_of: TreeOf) -> Declaration | Unresolved:
    """Return an entry of the trail as the host had it: what it could not resolve is not resolved here either."""
    entry, why = TrailEntry(Revision.parse(item["revision"]), HostName(item["host"])), item["unresolved"]
    if isinstance(why, str):
        return Unresolved(entry.revision, why)
    if why is not None:
        raise TypeError("'unresolved' is no text")
    # A revision that is missing in this clone is an error here, and not a trail that cannot be resolved.
    return resolver.resolve_older(partial(_same, tree_of(entry.revision)), entry)


def _converged(
    text: JsonValue, given: PlanInput, resolver: Resolver, tree_of: TreeOf
) -> Mapping[ResourceId, Node] | None:
    if not isinstance(text, str):
        return None
    revision = Revision.parse(text)
    if revision == given.revision:
        return given.graph.nodes
    known = next((entry for entry in given.trail if entry.revision == revision), None)
    # The host resolved it: a clone that lacks it makes no plan instead of another one.
    older = known or resolver.resolve_older(partial(_same, tree_of(revision)), TrailEntry(revision, given.host))
    return older.nodes if isinstance(older, Declaration) else None


def _count(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("a count is expected")
    return value


def _read_pause(value: Mapping[str, Any] | None) -> Pause | None:
    """Return a pause as the host found it, in force or not."""
    if value is None:
        return None
    who, reason = _texts([value["who"], value["reason"]])
    only = tuple(map(ResourceId.parse, _texts(value["only"])))
    return Pause(who, reason, parse_moment(value["since"]), parse_moment(value["until"]), only)


def _frozen_map(value: Mapping[str, JsonValue]) -> JsonObject:
    frozen = freeze(value)
    if not isinstance(frozen, Mapping):
        raise TypeError("a map is expected")
    return frozen


def _orphan(sight: OrphanSight) -> JsonValue:
    return {
        "package": sight.package,
        "package_unknown": sight.package_unknown,
        "sights": [
            {"revision": seen.revision.key, "observation": _observation(seen.observation)} for seen in sight.sights
        ],
    }


def _read_orphans(
    recorded: Mapping[str, Any], trail: tuple[Declaration | Unresolved, ...]
) -> Mapping[ResourceId, OrphanSight]:
    nodes = {entry.revision: entry.nodes for entry in trail if isinstance(entry, Declaration)}
    found: dict[ResourceId, OrphanSight] = {}
    for key, value in recorded.items():
        origin = ResourceId.parse(key)
        sights = tuple(
            Sight(revision, nodes[revision][origin], _read_observation(seen["observation"]))
            for seen in value["sights"]
            for revision in [Revision.parse(seen["revision"])]
        )
        if not sights or not isinstance(value["package"], (str, type(None))):
            raise ValueError(f"orphan {key}")
        found[origin] = OrphanSight(sights, value["package"], str(value["package_unknown"]))
    return found


def _observation(value: Observation) -> JsonObject:
    match value:
        case Present():
            fields = {name: _field(item) for name, item in value.fields.items()}
            return {
                "present": fields,
                "detail": value.detail,
                "identity": value.identity,
                "holds": list(value.holds),
                "mounts": list(value.mounts),
                "obstacles": list(value.obstacles),
                **_unsafe(value.unsafe),
                **_stale(value.stale),
            }
        case Absent():
            fields = {name: _field(item) for name, item in value.fields.items()}
            return {"absent": fields, **_unsafe(value.unsafe)}
        case Unobservable():
            return {"unobservable": _unobservable(value)}


def _unsafe(folders: tuple[UnsafeFolder, ...]) -> JsonObject:
    """Return what stands for them in a record: nothing where there are none, as almost everywhere."""
    found: list[JsonValue] = [{"path": folder.path, "detail": folder.detail} for folder in folders]
    return {"unsafe": found} if found else {}


def _stale(inputs: tuple[StaleInput, ...]) -> JsonObject:
    """Return what stands for evidence in a record, likewise."""
    found: list[JsonValue] = [
        {
            "resource": str(one.resource),
            "path": one.path,
            "changed": one.changed,
            "since": one.since,
            "is_ahead": one.is_ahead,
        }
        for one in inputs
    ]
    return {"stale": found} if found else {}


def _read_stale(value: Iterable[Mapping[str, Any]]) -> tuple[StaleInput, ...]:
    return tuple(
        StaleInput(
            ResourceId.parse(item["resource"]),
            str(item["path"]),
            _count(item["changed"]),
            _count(item["since"]),
            item["is_ahead"] is True,
        )
        for item in value
    )


def _read_unsafe(value: Iterable[Mapping[str, Any]]) -> tuple[UnsafeFolder, ...]:
    return tuple(UnsafeFolder(str(item["path"]), str(item["detail"])) for item in value)


def _unobservable(value: Unobservable) -> JsonObject:
    return {
        "cause": str(value.cause),
        "detail": value.detail,
        "scope": str(value.scope),
        "discounted": value.discounted,
    }


def _field(value: FieldValue) -> JsonValue:
    match value:
        case Unobservable():
            return {"$unobservable": _unobservable(value)}
        case NotApplicable():
            return {"$not_applicable": value.cause}
        case _:
            return value


def _read_observation(value: Mapping[str, Any]) -> Observation:
    if "present" in value:
        return Present(
            _read_fields(value["present"]),
            _frozen_map(value["detail"]),
            str(value["identity"]),
            holds=_texts(value["holds"]),
            mounts=_texts(value["mounts"]),
            obstacles=_texts(value["obstacles"]),
            unsafe=_read_unsafe(value.get("unsafe", ())),
            stale=_read_stale(value.get("stale", ())),
        )
    if "absent" in value:
        return Absent(_read_fields(value["absent"]), _read_unsafe(value.get("unsafe", ())))
    return _read_unobservable(value["unobservable"])


def _texts(value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of texts is expected")
    return tuple(map(str, value))


def _read_fields(value: Mapping[str, Any]) -> dict[str, FieldValue]:
    return {name: _read_field(item) for name, item in value.items()}


def _read_field(value: JsonValue) -> FieldValue:
    if isinstance(value, Mapping) and "$unobservable" in value:
        unobservable: Any = value["$unobservable"]
        return _read_unobservable(unobservable)
    if isinstance(value, Mapping) and "$not_applicable" in value:
        return NotApplicable(str(value["$not_applicable"]))
    return freeze(value)


def _read_unobservable(value: Mapping[str, Any]) -> Unobservable:
    return Unobservable(
        Cause(value["cause"]),
        str(value["detail"]),
        scope=Scope(value["scope"]),
        discounted=value["discounted"] is True,
    )
