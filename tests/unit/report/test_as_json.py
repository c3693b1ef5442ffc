"""Reports and plans as JSON keep to their schemas, whatever is in them."""

import json

from hypothesis import given, settings

from datum.diagnostics import Diagnostic, SourceLocation
from datum.model.json import thaw
from datum.model.plan import Operation, Orphan, OrphanState, Plan
from datum.model.pointer import Pointer, TrailEntry
from datum.model.report import PassReport
from datum.report.as_json import diagnostic_to_json, location_to_json, pointer_to_json, report_to_json
from datum.report.plan_json import plan_to_json
from tests.unit.fakes import HOST, TARGET, revision, rid
from tests.unit.report import samples

REPORT_SCHEMA = samples.validator("schema.json")
PLAN_SCHEMA = samples.validator("plan.schema.json")


@settings(max_examples=30, deadline=None)
@given(samples.reports)
def test_every_report_keeps_to_the_schema(report: PassReport) -> None:
    """And comes through a file as it is."""
    value = thaw(report_to_json(report))
    REPORT_SCHEMA.validate(value)
    assert json.loads(json.dumps(value)) == value


@settings(max_examples=30, deadline=None)
@given(samples.plans)
def test_every_plan_keeps_to_the_schema(plan: Plan) -> None:
    """And comes through a file as it is."""
    value = thaw(plan_to_json(plan))
    PLAN_SCHEMA.validate(value)
    assert json.loads(json.dumps(value)) == value


def test_schemas_refuse_what_is_no_report_or_plan() -> None:
    """A key too much, one too little, a word that is not in a closed set."""
    for schema, value in (
        (REPORT_SCHEMA, thaw(report_to_json(samples.report()))),
        (PLAN_SCHEMA, thaw(plan_to_json(samples.plan()))),
    ):
        assert isinstance(value, dict)
        assert schema.is_valid(value)
        assert not schema.is_valid({**value, "extra": 1})
        assert not schema.is_valid({**value, "schema_version": 3})
        assert not schema.is_valid({**value, "counts": {"fine": 1}})
        for name in value:
            assert not schema.is_valid({key: item for key, item in value.items() if key != name}), name


def test_equal_plans_give_equal_bytes() -> None:
    """No clock and no order of a set is in it."""
    first, second = (
        samples.plan(samples.action("file:/a"), samples.action("file:/b", Operation.CREATE)) for _ in range(2)
    )
    assert json.dumps(thaw(plan_to_json(first))) == json.dumps(thaw(plan_to_json(second)))


def test_plan_counts_its_actions() -> None:
    """Held ones as well: they are planned."""
    value = plan_to_json(samples.plan(samples.action("file:/a"), samples.action("file:/b")))
    assert value["actions"] == 2
    assert value["revision"] == str(TARGET)


def test_pointer_names_revisions_by_their_keys() -> None:
    """No ref in it, and null where there is none."""
    assert pointer_to_json(None) is None
    whole = Pointer(
        "f", HOST, accepted=TARGET, trail=(TrailEntry(revision(1), HOST), TrailEntry(TARGET, HOST)),
        previous=revision(1), converged=revision(2), quarantined=(revision(3),),
    )  # fmt: skip
    assert pointer_to_json(whole) == {
        "accepted": TARGET.key,
        "enforced": TARGET.key,
        "trail": [revision(1).key, TARGET.key],
        "previous": revision(1).key,
        "converged": revision(2).key,
        "quarantined": [revision(3).key],
    }
    assert pointer_to_json(Pointer("f", HOST)) == {
        "accepted": None, "enforced": None, "trail": [], "previous": None, "converged": None, "quarantined": [],
    }  # fmt: skip


def test_diagnostic_keeps_all_its_parts() -> None:
    """Place, related places, hint."""
    place = SourceLocation("a.yaml", 2, 3)
    found = Diagnostic(
        location=place, code="some-code", summary="S.", detail="D.", hint="H", related=(("first", place),)
    )
    value = diagnostic_to_json(found)
    assert value["location"] == {"file": "a.yaml", "line": 2, "column": 3}
    assert value["related"] == [{"what": "first", "location": value["location"]}]
    assert (value["severity"], value["hint"]) == ("error", "H")
    assert location_to_json(None) is None


def test_orphan_without_a_revision_says_null() -> None:
    """The schema knows that."""
    orphans = (Orphan(rid("file:/a"), OrphanState.KEPT, "modified", "It was changed."),)
    value = thaw(plan_to_json(samples.plan(orphans=orphans)))
    PLAN_SCHEMA.validate(value)
    assert isinstance(value, dict)
    assert value["orphans"][0]["declared_by"] is None
    assert value["counts"] == {"orphan": 1}
