"""What a schema says was proven on a booted Debian (`booted-bookworm`) is declared, made and repaired on one."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost
from tests.proofs.running_fields import REPAIRED, RUNNING_FIELDS, UNIT_FILES
from tests.proofs.stage import UNLIMITED
from tests.proofs.test_fields import expected, fields, sh


def test_what_a_schema_claims_is_proven_and_what_is_proven_is_claimed() -> None:
    kinds = {field.partition(".")[0] for field in RUNNING_FIELDS}
    claimed = {field for field, places in fields().items() if "booted-bookworm" in places}
    assert {field for field in claimed if field.partition(".")[0] in kinds} == set(RUNNING_FIELDS)


@pytest.mark.parametrize("field", RUNNING_FIELDS)
def test_a_proof_declares_the_field_that_it_is_for(field: str) -> None:
    kind, _, name = field.partition(".")
    resources = RUNNING_FIELDS[field].resources
    assert any(name in about for origin, about in resources.items() if origin.startswith(f"{kind}:"))


def test_every_field_is_made_and_repaired_on_a_booted_debian(
    make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path
) -> None:
    fleet = FleetOnHost(tmp_path, agent_bind)
    resources: dict[str, Mapping[str, object]] = {}
    for field, proof in RUNNING_FIELDS.items():
        resources.update(proof.at(field))
    fleet.commit(resources, files=UNIT_FILES, fleet=UNLIMITED)
    machine = make_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert _shown(machine) == expected(RUNNING_FIELDS)
    assert "nothing to do" in fleet.datum(machine, "apply")
    for field, proof in RUNNING_FIELDS.items():
        _sh(machine, proof.spoil, field)
    spoilt = _shown(machine)
    assert not [field for field, text in expected(RUNNING_FIELDS).items() if spoilt[field] == text]
    fleet.datum(machine, "apply")
    assert _shown(machine) == expected(RUNNING_FIELDS)
    assert {field: _sh(machine, script, field) for field, (script, _) in REPAIRED.items()} == {
        field: text for field, (_, text) in REPAIRED.items()
    }
    assert "nothing to do" in fleet.datum(machine, "apply")


def _sh(machine: Booted, script: str, field: str) -> str:
    return sh(machine, script, field)  # type: ignore[arg-type]  # any machine runs a script


def _shown(machine: Booted) -> dict[str, str]:
    return {field: _sh(machine, proof.show, field) for field, proof in RUNNING_FIELDS.items()}
