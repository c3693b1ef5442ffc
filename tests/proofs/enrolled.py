"""A running Debian that is enrolled in a fleet: what the proofs of one do with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import frozen

from tests.harness.machine import Machine
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost, Resources, reports
from tests.proofs.stage import UNLIMITED

MachineT = TypeVar("MachineT", bound=Machine)


@frozen
class Enrolled(Generic[MachineT]):
    """The host, and its fleet."""

    machine: MachineT
    fleet: FleetOnHost

    def become(self, resources: Resources, code: int = 0) -> dict[str, Any]:
        """Declare, apply, and return what became of each resource."""
        self.fleet.commit(resources, fleet=UNLIMITED)
        self.fleet.datum(self.machine, "apply", code=code)
        return {entry["id"]: entry for entry in reports(self.machine)[-1]["resources"]}

    def again(self) -> None:
        """See that a second pass has nothing to do."""
        assert "nothing to do" in self.fleet.datum(self.machine, "apply")

    def sh(self, script: str) -> str:
        """Return what a script of the shell prints, however it ends."""
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()


def fleet_and_machine(make: Callable[..., MachineT], agent: AgentBind, folder: Path) -> tuple[MachineT, FleetOnHost]:
    """Make a host that is enrolled in a fleet which declares next to nothing."""
    fleet = FleetOnHost(folder, agent)
    fleet.commit({"file:/etc/nothing": {"content": ""}})
    machine = make(binds=(fleet.bind,))
    fleet.enrol(machine)
    return machine, fleet
