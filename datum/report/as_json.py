"""A report as JSON, by the schema beside this module. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.identity import ResourceId
from datum.model.json import JsonValue
from datum.model.moment import format_moment
from datum.model.pause import Pause
from datum.model.plan import Hold, Kept, Orphan, Stale
from datum.model.pointer import Pointer
from datum.model.report import CheckReport, EnforcementReport, LeftOver, PassReport, ResourceReport, SourceReport
from datum.model.trigger import Asked, Trigger
from datum.report.stale import moment

SCHEMA_VERSION: Final = 2


def report_to_json(report: PassReport) -> Mapping[str, JsonValue]:
    """Return the report; equal reports give equal objects."""
    return {
        "schema_version": SCHEMA_VERSION,
        "id": report.id,
        "host": str(report.host),
        "started": report.started,
        "duration": round(report.duration, 3),
        "trigger": _trigger(report.trigger),
        "enforcement": _enforcement(report.enforcement),
        "pause": pause_to_json(report.pause),
        "outcome": str(report.outcome),
        "exit_code": report.exit_code,
        "source": _source(report.source),
        "target": str(report.target) if report.target else None,
        "manifest_digest": report.manifest_digest,
        "plan_id": report.plan_id,
        "pointer": {"before": pointer_to_json(report.pointer_before), "after": pointer_to_json(report.pointer_after)},
        "counts": {str(outcome): count for outcome, count in report.counts.items()},
        "resources": [resource_to_json(resource) for resource in report.resources],
        "checks": [check_to_json(check) for check in report.checks],
        "kept": kept_to_json(report.kept),
        "stale": stale_to_json(report.stale),
        "orphans": [orphan_to_json(orphan) for orphan in report.orphans],
        "left_over": [_left_over(item) for item in report.left_over],
        "diagnostics": [diagnostic_to_json(item) for item in report.diagnostics],
        "versions": dict(report.versions),
        "stages": {name: round(seconds, 4) for name, seconds in report.stages.items()},
        "joined": [_asked(one) for one in report.joined],
        "is_trail_cut": report.is_trail_cut,
    }


def pause_to_json(pause: Pause | None) -> JsonValue:
    """Return who keeps what from being changed, why and until when; null for no pause. `only` is empty for the host."""
    if pause is None:
        return None
    return {
        "who": pause.who,
        "reason": pause.reason,
        "since": format_moment(pause.since),
        "until": format_moment(pause.until),
        "only": [str(one) for one in pause.only],
    }


def _trigger(trigger: Trigger) -> Mapping[str, JsonValue]:
    return {"kind": str(trigger.kind), "who": trigger.who}


def _asked(asked: Asked) -> Mapping[str, JsonValue]:
    return {**_trigger(asked.trigger), "asked_at": asked.at, "pid": asked.pid}


def _enforcement(said: EnforcementReport) -> Mapping[str, JsonValue]:
    return {"mode": str(said.mode), "location": location_to_json(said.location)}


def diagnostic_to_json(item: Diagnostic) -> Mapping[str, JsonValue]:
    """Return one diagnostic."""
    return {
        "code": item.code,
        "severity": str(item.severity),
        "summary": item.summary,
        "detail": item.detail,
        "resource": item.resource,
        "hint": item.hint,
        "location": location_to_json(item.location),
        "related": [{"what": what, "location": location_to_json(place)} for what, place in item.related],
    }


def location_to_json(place: SourceLocation | None) -> JsonValue:
    """Return file, line and column; null where there is no place."""
    return {"file": place.file, "line": place.line, "column": place.column} if place else None


def resource_to_json(resource: ResourceReport) -> Mapping[str, JsonValue]:
    """Return one resource."""
    return {
        "id": str(resource.id),
        "outcome": str(resource.outcome) if resource.outcome else None,
        "operation": resource.operation,
        "label": resource.label,
        "location": location_to_json(resource.location),
        "changes": [
            {"field": change.field, "before": change.before, "after": change.after, "diff": change.diff}
            for change in resource.changes
        ],
        "takes": list(resource.takes),
        "hazards": list(resource.hazards),
        "known_after": [str(origin) for origin in resource.known_after],
        "marks": [{"id": str(origin), "owes": owes} for origin, owes in resource.marks.items()],
        "while_stopped": [str(origin) for origin in resource.while_stopped],
        "blocked_by": str(resource.blocked_by) if resource.blocked_by else None,
        "refused_by": str(resource.refused_by) if resource.refused_by else None,
        "hold": _hold(resource.hold),
        "detail": resource.detail,
        "diagnostics": [diagnostic_to_json(item) for item in resource.diagnostics],
        "remarks": list(resource.remarks),
        "duration": round(resource.duration, 4),
    }


def check_to_json(check: CheckReport) -> Mapping[str, JsonValue]:
    """Return one check."""
    return {
        "id": str(check.id),
        "outcome": str(check.outcome) if check.outcome else None,
        "candidates": [str(origin) for origin in check.candidates],
    }


def kept_to_json(kept: Mapping[ResourceId, Kept]) -> JsonValue:
    """Return what resources leave alone."""
    return [
        {
            "id": str(origin),
            "paths": [{"path": path, "why": why} for path, why in found.paths.items()],
            "more": found.more,
        }
        for origin, found in kept.items()
    ]


def stale_to_json(stale: Mapping[ResourceId, Stale]) -> JsonValue:
    """Return what runs and has not read what it lists as that is now."""
    return [
        {
            "id": str(origin),
            "inputs": [
                {
                    "id": str(one.resource),
                    "path": one.path,
                    "changed": moment(one.changed),
                    "since": moment(one.since),
                    "is_ahead": one.is_ahead,
                }
                for one in found.inputs
            ],
            "is_acted_on": found.is_acted_on,
            "detail": found.detail,
        }
        for origin, found in stale.items()
    ]


def orphan_to_json(orphan: Orphan) -> Mapping[str, JsonValue]:
    """Return one orphan."""
    return {
        "id": str(orphan.resource),
        "state": str(orphan.state),
        "rule": orphan.rule,
        "detail": orphan.detail,
        "release": orphan.release,
        "declared_by": orphan.declared_by.key if orphan.declared_by else None,
    }


def _hold(hold: Hold | None) -> JsonValue:
    if hold is None:
        return None
    return {
        "reason": str(hold.reason),
        "limit": str(hold.limit) if hold.limit else None,
        "detail": hold.detail,
        "release": hold.release,
    }


def _left_over(item: LeftOver) -> Mapping[str, JsonValue]:
    return {
        "id": str(item.resource),
        "fields": list(item.fields),
        "suspects": [str(suspect) for suspect in item.suspects],
    }


def _source(source: SourceReport) -> Mapping[str, JsonValue]:
    return {
        "remote": source.remote,
        "ref": source.ref,
        "status": str(source.status),
        "revision": str(source.revision) if source.revision else None,
        "diagnostics": [diagnostic_to_json(item) for item in source.diagnostics],
    }


def pointer_to_json(pointer: Pointer | None) -> JsonValue:
    """Return the revisions of a pointer; null where there is none."""
    if pointer is None:
        return None
    return {
        "accepted": pointer.accepted.key if pointer.accepted else None,
        "enforced": pointer.enforced.revision.key if pointer.enforced else None,
        "trail": [entry.revision.key for entry in pointer.trail],
        "previous": pointer.previous.key if pointer.previous else None,
        "converged": pointer.converged.key if pointer.converged else None,
        "quarantined": [revision.key for revision in pointer.quarantined],
    }
