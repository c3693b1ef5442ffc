"""What a schema says was proven on a Debian 13 (`booted-trixie`) is declared, made and repaired on one, in one pass."""

from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any, Final

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs import fields as of_types
from tests.proofs.fields import CONTRIBUTE, FILES, LINKS, PROGRAMS, Proof, text_at
from tests.proofs.kernel_fields import KERNEL_FIELDS
from tests.proofs.on_host import FleetOnHost
from tests.proofs.running_fields import REPAIRED, RUNNING_FIELDS, UNIT_FILES
from tests.proofs.source_fields import SOURCE_FIELDS
from tests.proofs.stage import UNLIMITED
from tests.proofs.test_fields import expected, fields

TRIXIE_FIELDS: Final[Mapping[str, Proof]] = {
    **of_types.PROVEN_FIELDS,
    **SOURCE_FIELDS,
    **RUNNING_FIELDS,
    **KERNEL_FIELDS,
}
# The archive of the mirror, which no host can reach.
_ARCHIVE: Final = "rm -f /etc/apt/sources.list.d/*"


def test_what_a_schema_claims_is_proven_and_what_is_proven_is_claimed() -> None:
    assert {field for field, places in fields().items() if "booted-trixie" in places} == set(TRIXIE_FIELDS)


def test_every_field_is_made_and_repaired_on_a_booted_trixie(
    make_trixie_booted: Callable[..., Booted], trixie_agent: AgentBind, tmp_path: Path
) -> None:
    fleet = FleetOnHost(tmp_path, trixie_agent)
    resources: dict[str, Mapping[str, Any]] = {}
    for field, proof in TRIXIE_FIELDS.items():
        resources.update(proof.at(field))
    fleet.shape(links=LINKS, programs=PROGRAMS)
    fleet.commit(resources, files={**FILES, **UNIT_FILES}, host={"contribute": CONTRIBUTE}, fleet=UNLIMITED)
    machine = make_trixie_booted(binds=(fleet.bind,))
    machine.run(["sh", "-c", _ARCHIVE])
    _run(machine, {field: proof.before for field, proof in TRIXIE_FIELDS.items()})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert _shown(machine) == expected(TRIXIE_FIELDS)
    assert "nothing to do" in fleet.datum(machine, "apply")
    _run(machine, {field: proof.spoil for field, proof in TRIXIE_FIELDS.items()})
    spoilt = _shown(machine)
    assert not [field for field, text in expected(TRIXIE_FIELDS).items() if spoilt[field] == text]
    fleet.datum(machine, "apply")
    assert _shown(machine) == expected(TRIXIE_FIELDS)
    done = _run(machine, {field: script for field, (script, _) in REPAIRED.items()})
    assert done == {field: text for field, (_, text) in REPAIRED.items()}
    assert "nothing to do" in fleet.datum(machine, "apply")


def _run(machine: Booted, scripts: Mapping[str, str]) -> dict[str, str]:
    """Run the scripts of fields, each in a shell of its own; return what each printed, in one line."""
    each = (f'printf "%s\\036" "$(sh -c {quote(text_at(script, field))})"' for field, script in scripts.items())
    said = machine.run(["sh"], input="\n".join(each)).stdout.split("\036")
    return {field: " ".join(text.split()) for field, text in zip(scripts, said, strict=False)}


def _shown(machine: Booted) -> dict[str, str]:
    return _run(machine, {field: proof.show for field, proof in TRIXIE_FIELDS.items()})
