"""A plan as JSON, by the schema beside this module: equal plans give equal bytes. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.model.json import JsonValue
from datum.model.plan import Plan
from datum.report.as_json import check_to_json, kept_to_json, orphan_to_json, resource_to_json, stale_to_json
from datum.report.build import count_outcomes, report_resources
from datum.report.checks import report_checks

SCHEMA_VERSION: Final = 2


def plan_to_json(plan: Plan) -> Mapping[str, JsonValue]:
    """Return the plan: actions in their order, then what gets none and is not in sync, then orphans."""
    return {
        "schema_version": SCHEMA_VERSION,
        "plan_id": plan.plan_id,
        "revision": str(plan.revision),
        "host": str(plan.host),
        "manifest_digest": plan.manifest_digest,
        "actions": len(plan.actions),
        "counts": {str(outcome): count for outcome, count in count_outcomes(plan, ()).items()},
        "resources": [
            {key: value for key, value in resource_to_json(resource).items() if key != "duration"}
            for resource in report_resources(plan, ())
        ],
        "checks": [check_to_json(check) for check in report_checks(plan, ())],
        "kept": kept_to_json(plan.kept),
        "stale": stale_to_json(plan.stale),
        "orphans": [orphan_to_json(orphan) for orphan in plan.orphans],
    }
