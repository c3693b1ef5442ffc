"""What a schema says was proven in a one-shot root (`x-proven: overlay`) is declared, made and repaired in one."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

import datum_providers
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs import fields as of_types
from tests.proofs.fields import CONTRIBUTE, FAILING_FIELDS, FILES, LINKS, PROGRAMS, Proof, text_at
from tests.proofs.on_host import FleetOnHost
from tests.proofs.source_fields import SOURCE_FIELDS
from tests.proofs.stage import UNLIMITED

PROVEN_FIELDS: Final = {**of_types.PROVEN_FIELDS, **SOURCE_FIELDS}
PLACES: Final = {"overlay", "booted-bookworm", "booted-trixie", "recorded"}


def fields() -> dict[str, list[str]]:
    """Return every field of every type, with the places in which its schema says that it was proven."""
    schemas = Path(datum_providers.__file__).parent.glob("*/schema.json")
    return {
        f"{path.parent.name}.{field}": about.get("x-proven", [])
        for path in schemas
        for field, about in json.loads(path.read_text(encoding="utf-8"))["properties"].items()
    }


def test_every_field_says_where_it_was_proven() -> None:
    silent = sorted(field for field, places in fields().items() if not places or not set(places) <= PLACES)
    assert len(fields()) >= 48
    assert not silent


@pytest.mark.parametrize("kind", sorted({field.partition(".")[0] for field in fields()}))
def test_the_page_of_a_type_says_where_it_was_proven(kind: str) -> None:
    """It speaks of all fields at once, so all of them must have been proven in the same places."""
    page = (Path(datum_providers.__file__).parent / kind / "README.md").read_text(encoding="utf-8")
    told = page.partition("\n## Where it was proven\n")[2].partition("\n## ")[0]
    claimed = [places for field, places in fields().items() if field.startswith(f"{kind}.")]
    assert set(re.findall(r"`([^`]+)`", told)) & PLACES == set().union(*claimed)
    assert all(places == claimed[0] for places in claimed)


def test_what_a_schema_claims_is_proven_and_what_is_proven_is_claimed() -> None:
    claimed = {field for field, places in fields().items() if "overlay" in places}
    assert claimed == set(PROVEN_FIELDS)
    assert set(FAILING_FIELDS) <= claimed


@pytest.mark.parametrize("field", PROVEN_FIELDS)
def test_a_proof_declares_the_field_that_it_is_for(field: str) -> None:
    kind, _, name = field.partition(".")
    for proof in (PROVEN_FIELDS[field], FAILING_FIELDS.get(field, PROVEN_FIELDS[field])):
        assert any(name in about for origin, about in proof.resources.items() if origin.startswith(f"{kind}:"))


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


def enrolled(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost, proofs: Mapping[str, Proof]) -> Oneshot:
    """Return a Debian whose fleet declares all that the proofs do, each at a place of its own."""
    slots = {"contribute": CONTRIBUTE} if any("assemble" in field for field in proofs) else {}
    resources = {name: about for field, proof in proofs.items() for name, about in proof.at(field).items()}
    fleet.shape(links=LINKS, programs=PROGRAMS)
    fleet.commit(resources, files=FILES, host=slots, fleet=UNLIMITED)
    machine = make_oneshot(binds=(fleet.bind,))
    for field, proof in proofs.items():
        sh(machine, proof.before, field)
    fleet.enrol(machine)
    return machine


def sh(machine: Oneshot, text: str, field: str) -> str:
    """Run a script of a proof; return what it printed, in one line."""
    return " ".join(machine.run(["sh", "-c", text_at(text, field)], check=False).stdout.split())


def shown(machine: Oneshot, proofs: Mapping[str, Proof]) -> dict[str, str]:
    return {field: sh(machine, proof.show, field) for field, proof in proofs.items()}


def expected(proofs: Mapping[str, Proof]) -> dict[str, str]:
    return {field: text_at(proof.shown, field) for field, proof in proofs.items()}


def test_every_field_is_made_and_repaired_in_a_root_of_debian(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    machine = enrolled(make_oneshot, fleet, PROVEN_FIELDS)
    fleet.datum(machine, "apply")
    assert shown(machine, PROVEN_FIELDS) == expected(PROVEN_FIELDS)
    assert "nothing to do" in fleet.datum(machine, "apply")
    for field, proof in PROVEN_FIELDS.items():
        sh(machine, proof.spoil, field)
    spoilt = shown(machine, PROVEN_FIELDS)
    assert not [field for field, text in expected(PROVEN_FIELDS).items() if spoilt[field] == text]
    fleet.datum(machine, "apply")
    assert shown(machine, PROVEN_FIELDS) == expected(PROVEN_FIELDS)
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_what_a_field_refuses_is_refused_in_a_root_of_debian(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    machine = enrolled(make_oneshot, fleet, FAILING_FIELDS)
    said = fleet.datum(machine, "apply", "--json", code=1)
    outcomes = {entry["id"]: entry["outcome"] for entry in json.loads(said)["resources"]}
    for field, proof in FAILING_FIELDS.items():
        assert {outcomes[name] for name in proof.at(field)} <= {"failed"}, field
    assert shown(machine, FAILING_FIELDS) == expected(FAILING_FIELDS)
