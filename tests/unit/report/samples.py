"""Plans, results and reports of every shape that the types allow."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema
from hypothesis import strategies as st

import datum.report
from datum.model.check import Check
from datum.model.json import digest
from datum.model.manifest import Enforcement, LimitClass
from datum.model.plan import (
    Action,
    Change,
    Hold,
    HoldReason,
    Kept,
    Operation,
    Orphan,
    OrphanState,
    Plan,
    Stale,
    Verdict,
    VerdictKind,
)
from datum.model.report import (
    ChangeReport,
    CheckOutcome,
    CheckReport,
    EnforcementReport,
    LeftOver,
    PassReport,
    ResourceReport,
    SourceReport,
)
from datum.model.result import ActionResult, FailureCause, Outcome, PassOutcome
from datum.model.revision import SourceStatus
from datum.testing import asking
from datum.testing import strategies as some
from tests.unit.fakes import HOST, TARGET, at, rid

FOLDER: Final = Path(datum.report.__file__).parent
_TEXT: Final = st.text(max_size=12)
_DIGESTS: Final = st.just("") | st.binary(max_size=4).map(digest)


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a schema beside the report's code."""
    schema = json.loads((FOLDER / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


verdicts = st.builds(
    Verdict,
    st.sampled_from(VerdictKind),
    st.none() | some.resource_ids,
    _TEXT,
    st.none() | some.unobservables,
    st.none() | some.steps,
    st.none() | some.locations,
)

checks = st.builds(Check, some.resource_ids, st.just(("true",)), st.just(5.0))

orphans = st.builds(
    Orphan,
    some.resource_ids,
    st.sampled_from(OrphanState),
    st.sampled_from(["default_keep", "modified", "package_owned"]),
    _TEXT,
    _TEXT,
    st.none() | some.revisions,
)

_kept = st.dictionaries(
    some.resource_ids,
    st.builds(Kept, st.dictionaries(_TEXT.map(lambda name: f"./{name}"), _TEXT, max_size=3), st.integers(0, 9)),
    max_size=2,
)

_stale = st.dictionaries(
    some.resource_ids,
    st.builds(Stale, st.lists(some.stale_inputs, min_size=1, max_size=4).map(tuple), _TEXT, st.booleans()),
    max_size=2,
)

_actions = st.lists(some.actions, max_size=4).map(lambda found: tuple({one.resource: one for one in found}.values()))

plans = st.builds(
    Plan,
    some.revisions,
    some.host_names,
    _DIGESTS,
    _actions,
    st.dictionaries(some.resource_ids, verdicts, max_size=4),
    st.lists(orphans, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["", "check/check:a"]), st.lists(checks, min_size=1, max_size=2).map(tuple)),
    _DIGESTS,
    _kept,
    _stale,
)

changes = st.builds(
    ChangeReport, st.from_regex(r"[a-z]{1,8}", fullmatch=True), some.json_values, some.json_values, _TEXT, st.booleans()
)

resources = st.builds(
    ResourceReport,
    some.resource_ids,
    st.none() | st.sampled_from(Outcome),
    st.just("") | st.sampled_from(Operation).map(str),
    st.sampled_from(["", "adopt", "drift", "retry", "intent"]),
    st.none() | some.locations,
    st.lists(changes, max_size=2).map(tuple),
    st.lists(st.sampled_from(["data_loss", "access_loss", "outage"]), max_size=2).map(tuple),
    st.none() | some.resource_ids,
    st.none() | st.builds(Hold, st.sampled_from(HoldReason), _TEXT, _TEXT, st.none() | st.sampled_from(LimitClass)),
    _TEXT,
    st.lists(some.diagnostics, max_size=2).map(tuple),
    st.lists(_TEXT, max_size=2).map(tuple),
    st.floats(0, 1e6),
    st.lists(_TEXT, max_size=2).map(tuple),
    st.none() | some.resource_ids,
    st.lists(some.resource_ids, max_size=5).map(tuple),
    st.dictionaries(some.resource_ids, st.sampled_from(["reload", "restart"]), max_size=2),
)

check_reports = st.builds(
    CheckReport,
    some.resource_ids,
    st.none() | st.sampled_from(CheckOutcome),
    st.lists(some.resource_ids, max_size=2).map(tuple),
)

sources = st.builds(
    SourceReport,
    _TEXT,
    _TEXT,
    st.sampled_from(SourceStatus),
    st.none() | some.revisions,
    st.lists(some.diagnostics, max_size=2).map(tuple),
)

left_overs = st.builds(
    LeftOver,
    some.resource_ids,
    st.lists(_TEXT, max_size=2).map(tuple),
    st.lists(some.resource_ids, max_size=2).map(tuple),
)

reports = st.builds(
    PassReport,
    st.just("20261129T031500Z-4711"),
    some.host_names,
    st.just("2026-11-29T03:15:00Z"),
    st.floats(0, 1e6),
    sources,
    st.sampled_from(PassOutcome),
    st.integers(0, 255),
    st.none() | some.revisions,
    _DIGESTS,
    _DIGESTS,
    st.none() | some.pointers,
    st.none() | some.pointers,
    st.dictionaries(st.sampled_from(Outcome), st.integers(0, 9)),
    st.lists(resources, max_size=3).map(tuple),
    st.lists(orphans, max_size=2).map(tuple),
    st.lists(left_overs, max_size=2).map(tuple),
    st.lists(some.diagnostics, max_size=2).map(tuple),
    st.dictionaries(_TEXT, _TEXT, max_size=2),
    st.dictionaries(_TEXT, st.floats(0, 1e6), max_size=2),
    st.lists(asking.requests, max_size=3).map(tuple),
    st.booleans(),
    st.lists(check_reports, max_size=2).map(tuple),
    _kept,
    _stale,
    asking.triggers,
    st.builds(EnforcementReport, st.sampled_from(Enforcement), st.none() | some.locations),
    st.none() | asking.pauses,
)


def change(name: str = "content", before: Any = "old", after: Any = "new", **others: Any) -> Change:
    return Change(name, before, after, **others)


def action(text: str, operation: Operation = Operation.UPDATE, *changes: Change, **others: Any) -> Action:
    return Action(rid(text), "file 1", operation, changes or (change(),), location=at(1), **others)


def result(text: str, outcome: Outcome, cause: FailureCause | None = None, **others: Any) -> ActionResult:
    return ActionResult(action(text), outcome, cause=cause, **others)


def plan(*actions: Action, verdicts: Mapping[str, Verdict] | None = None, **others: Any) -> Plan:
    found = {rid(text): verdict for text, verdict in (verdicts or {}).items()}
    return Plan(TARGET, HOST, "", actions, found, **others)


def report(**others: Any) -> PassReport:
    """Return a report of a pass that converged; `others` overrule."""
    parts: dict[str, Any] = {
        "id": "20261129T031500Z-4711",
        "host": HOST,
        "started": "2026-11-29T03:15:00Z",
        "duration": 1.25,
        "source": SourceReport("/srv/fleet.git", "main", SourceStatus.OK, TARGET),
        "outcome": PassOutcome.CONVERGED,
        "exit_code": 0,
        "target": TARGET,
        "counts": {Outcome.IN_SYNC: 3},
    }
    return PassReport(**{**parts, **others})
