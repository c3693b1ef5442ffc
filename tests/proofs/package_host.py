"""A Debian with an archive of its own, and the fleet that says which packages it shall have."""

import json
from collections.abc import Callable
from typing import Any

from attrs import frozen

from tests.harness.oneshot import Oneshot
from tests.proofs.archive import Archive
from tests.proofs.on_host import FleetOnHost, Resources, reports


@frozen
class Host:
    """A Debian, its archive, and the fleet that declares what it shall have."""

    machine: Oneshot
    fleet: FleetOnHost
    archive: Archive

    def apply(self, resources: Resources, *words: str, code: int = 0) -> str:
        """Declare and apply."""
        self.fleet.commit(resources)
        return self.fleet.datum(self.machine, "apply", *words, code=code)

    def settles(self, resources: Resources) -> str:
        """Declare and apply; a second pass has nothing to do."""
        said = self.apply(resources)
        assert "nothing to do" in self.fleet.datum(self.machine, "apply"), said
        return said

    def plan(self, resources: Resources) -> dict[str, Any]:
        """Declare and plan; return the entries by id."""
        self.fleet.commit(resources)
        said = json.loads(self.fleet.datum(self.machine, "plan", "--json"))
        return {entry["id"]: entry for entry in said["resources"]}

    def entries(self) -> dict[str, Any]:
        """Return the entries of the newest report."""
        return {entry["id"]: entry for entry in reports(self.machine)[-1]["resources"]}

    def sh(self, script: str) -> str:
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def age(self) -> None:
        """Let the lists be older than a minute, and no source newer than they are."""
        self.sh("touch -d '1 hour ago' /etc/apt/sources.list*; touch -d '2 minutes ago' /var/lib/apt/lists/partial")

    def state(self, name: str) -> str:
        return self.sh(f"dpkg-query -W -f '${{db:Status-Abbrev}}${{Version}}' {name} 2>/dev/null").removeprefix("un")


def enrolled(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Host:
    """Return a fresh one that is enrolled."""
    fleet.commit({"directory:/srv": {}})
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.enrol(machine)
    return Host(machine, fleet, Archive(machine))
