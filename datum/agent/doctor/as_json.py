"""A diagnosis as JSON: the document of `schema.json` beside this module. Pure."""

from collections.abc import Mapping
from typing import Final

from datum.agent.doctor.catalogue import CHECKS
from datum.agent.doctor.finding import Diagnosis, Finding, State
from datum.model.json import JsonValue

SCHEMA_VERSION: Final = 1


def diagnosis_to_json(diagnosis: Diagnosis) -> Mapping[str, JsonValue]:
    """Return the document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exit_code": int(diagnosis.exit_code),
        "counts": {str(state): diagnosis.count(state) for state in State},
        "checks": tuple(_finding(finding) for finding in diagnosis.findings),
    }


def _finding(finding: Finding) -> JsonValue:
    check = CHECKS[finding.check]
    return {
        "check": finding.check,
        "group": check.group,
        "of": finding.of,
        "state": str(finding.state),
        "found": finding.found,
        "facts": dict(finding.facts),
        "why": check.why,
        "cure": finding.cure,
        "codes": finding.codes,
        "needs_root": finding.needs_root,
    }
