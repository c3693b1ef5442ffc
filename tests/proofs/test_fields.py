"""What a schema says was proven in a one-shot root (`x-proven: overlay`) is declared, made and repaired in one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

import datum_providers
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

FILES: Final = {"files/bytes": b"\x00\xff\r\n$ ${host.name}", "templates/motd": b"{{ host.name | upper }}\n"}


@frozen
class Proof:
    """What is declared of one file, what then stands there, and a command that spoils just that."""

    attributes: Mapping[str, Any]
    # By `stat --format`: user, group, mode.
    status: str
    content: bytes
    spoil: str

    def path_of(self, field: str) -> str:
        """Return where the file of this proof lies."""
        return f"/etc/proof-{field}"


def _text(**attributes: Any) -> dict[str, Any]:
    return {"content": "text\n", **attributes}


_CHECK: Final = ["/bin/grep", "-q", "^text", "{path}"]
_PLAIN: Final = "root root 644"
_OVERWRITE: Final = "echo spoilt > {path}"

# By type and field. The test below runs each of them; nothing else may be claimed by a schema.
PROVEN_FIELDS: Final[Mapping[str, Proof]] = {
    "file.content": Proof(_text(), _PLAIN, b"text\n", _OVERWRITE),
    "file.source": Proof({"source": "files/bytes"}, _PLAIN, FILES["files/bytes"], _OVERWRITE),
    "file.template": Proof({"template": "templates/motd"}, _PLAIN, b"WEB1\n", _OVERWRITE),
    "file.mode": Proof(_text(mode="4750"), "root root 4750", b"text\n", "chmod 0600 {path}"),
    "file.owner": Proof(_text(owner="games"), "games root 644", b"text\n", "chown root {path}"),
    "file.group": Proof(_text(group=8), "root mail 644", b"text\n", "chgrp root {path}"),
    "file.validate": Proof(_text(validate=_CHECK), _PLAIN, b"text\n", _OVERWRITE),
}


def claimed() -> set[str]:
    """Return the fields of which a schema of any type says that a one-shot root proved them."""
    schemas = Path(datum_providers.__file__).parent.glob("*/schema.json")
    return {
        f"{path.parent.name}.{field}"
        for path in schemas
        for field, about in json.loads(path.read_text(encoding="utf-8"))["properties"].items()
        if "overlay" in about.get("x-proven", ())
    }


def test_what_a_schema_claims_is_proven_and_what_is_proven_is_claimed() -> None:
    assert claimed() == set(PROVEN_FIELDS)


@pytest.mark.parametrize("field", PROVEN_FIELDS)
def test_a_proof_declares_the_field_that_it_is_for(field: str) -> None:
    assert field.partition(".")[2] in PROVEN_FIELDS[field].attributes


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


def test_every_field_is_made_and_repaired_in_a_root_of_debian(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    resources = {f"file:{proof.path_of(field)}": proof.attributes for field, proof in PROVEN_FIELDS.items()}
    fleet.commit(resources, files=FILES)
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert_all_stand(machine)
    for field, proof in PROVEN_FIELDS.items():
        machine.run(["sh", "-c", proof.spoil.format(path=proof.path_of(field))])
        assert seen(machine, proof.path_of(field)) != (proof.status, proof.content), field
    said = fleet.datum(machine, "apply")
    assert all(name in said for name in resources)
    assert_all_stand(machine)
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_what_a_check_refuses_never_stands_in_a_root_of_debian(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    path = PROVEN_FIELDS["file.validate"].path_of("file.validate")
    fleet.commit({f"file:{path}": _text(validate=_CHECK)})
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit({f"file:{path}": {"content": "refused\n", "validate": _CHECK}})
    fleet.datum(machine, "apply", code=1)
    assert machine.read(path) == b"text\n"


def seen(machine: Oneshot, path: str) -> tuple[str, bytes]:
    """Return user, group and mode, and the bytes."""
    return machine.run(["stat", "--format=%U %G %a", path]).stdout.strip(), machine.read(path)


def assert_all_stand(machine: Oneshot) -> None:
    """Expect every proof's file as it is declared."""
    found = {field: seen(machine, proof.path_of(field)) for field, proof in PROVEN_FIELDS.items()}
    assert found == {field: (proof.status, proof.content) for field, proof in PROVEN_FIELDS.items()}
