"""A booted host on which the units run passes, installed as a package installs them."""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from datum.agent.units import UNITS
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost, Resources, reports

SHIPPED: Final = Path(__file__).resolve().parents[2] / "datum" / "units"
PLACE: Final = "/usr/lib/systemd/system"
SERVICE: Final = "datum.service"
SECONDS: Final = 60.0


class TimerHost:
    """The host, its fleet, and what a test asks of both."""

    def __init__(self, machine: Booted, fleet: FleetOnHost) -> None:
        self.machine: Final = machine
        self.fleet: Final = fleet

    def install(self, agent: AgentBind) -> None:
        """Put the agent's command and its units where a package puts them."""
        env = " ".join(f"{name}={value}" for name, value in agent.env.items())
        command = f'#!/bin/sh\nexec env {env} {" ".join(agent.argv)} "$@"\n'
        self.machine.write("/usr/bin/datum", command, mode=0o755)
        for unit in UNITS:
            self.machine.write(f"{PLACE}/{unit}", (SHIPPED / unit).read_text())
        self.machine.run(["systemctl", "daemon-reload"])

    def drop_in(self, unit: str, *lines: str) -> None:
        """Change a unit as an administrator does."""
        self.machine.run(["mkdir", "-p", f"/etc/systemd/system/{unit}.d"])
        self.machine.write(f"/etc/systemd/system/{unit}.d/test.conf", "\n".join([*lines, ""]))
        self.machine.run(["systemctl", "daemon-reload"])

    def sh(self, script: str) -> str:
        """Run a script, however it ends, and return what it printed."""
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.sh(f"systemctl show --property={name} --value {unit}")

    def await_true(self, script: str) -> None:
        """Wait until a script succeeds."""
        end = time.monotonic() + SECONDS
        while self.machine.run(["sh", "-c", script], check=False).returncode:
            assert time.monotonic() < end, f"{script}\n{self.sh('systemctl status --no-pager datum.service')}"
            time.sleep(0.05)

    def await_end(self) -> None:
        """Wait until no pass runs in the service."""
        self.await_true(f"systemctl show --property=ActiveState --value {SERVICE} | grep -qE '^(inactive|failed)$'")

    def begin(self, resources: Resources, *, host: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Commit resources, and have the service begin a pass."""
        self.fleet.commit(resources, host=host)
        self.machine.run(["systemctl", "start", "--no-block", SERVICE])

    def tick(self, resources: Resources, *, host: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Commit resources, have the service run a pass, and return its report."""
        self.begin(resources, host=host)
        # Without a start job in between it may not have left `inactive` yet.
        self.machine.run(["systemctl", "start", SERVICE], check=False)
        return self.newest()

    def newest(self) -> dict[str, Any]:
        """Return the newest report."""
        return self.all_reports()[-1]

    def all_reports(self) -> list[dict[str, Any]]:
        """Return the reports, oldest first."""
        return reports(self.machine)


def make_host(machine: Booted, fleet: FleetOnHost, agent: AgentBind) -> TimerHost:
    """Enrol a host and install the units; no timer is enabled."""
    host = TimerHost(machine, fleet)
    fleet.enrol(machine)
    host.install(agent)
    return host
