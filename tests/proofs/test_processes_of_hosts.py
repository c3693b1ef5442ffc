"""No process for each package, service or account: counted on a running Debian by strace, at few and at many."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.proofs.on_host import FleetOnHost
from tests.proofs.sizes import STATUS, Size
from tests.proofs.test_processes import programs

# A package of which an older version is there.
AGED: Final = f"sed -i '/^Package: p1$/,/^$/s/^Version: .*/Version: 0.9-1/' {STATUS}"


def execs(make_booted: Callable[..., Booted], agent: AgentBind, folder: Path, size: Size) -> list[str]:
    """Return the programs that a pass with nothing to do starts."""
    fleet = FleetOnHost(folder, agent)
    fleet.commit(size.resources(), fleet={"limits": {"changed": "none"}})
    machine = make_booted(binds=(fleet.bind,))
    machine.run(["sh", "-ec", size.make()])
    fleet.enrol(machine)
    assert "nothing to do" in fleet.datum(machine, "apply")
    assert "nothing to do" in fleet.datum(machine, "apply")
    calls = Strace(machine, fleet.env, timeout=180).trace([*fleet.argv, "apply"], ["execve", "execveat"])
    machine.run(["sh", "-c", f"{AGED}; systemctl stop s0; usermod --shell /bin/false u1"])
    plan = json.loads(fleet.datum(machine, "plan", "--json"))
    found = {entry["id"] for entry in plan["resources"] if entry["outcome"] != "in_sync"}
    assert found == {"package:p1", "service:s0", "user:u1"}, "it looked at them"
    return programs(calls)


def test_a_pass_with_nothing_to_do_spawns_no_process_for_packages_services_and_accounts(
    make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path
) -> None:
    few, many = Size(10, 10, 10), Size(200, 100, 50)
    found = [execs(make_booted, agent_bind, tmp_path / str(size.packages), size) for size in (few, many)]
    print(f"programs of a pass with nothing to do: {found[1]}")
    assert found[0] == found[1]
    assert 1 <= len(found[0]) <= 6
    assert not {"dpkg", "dpkg-query", "apt-get", "apt-cache", "systemctl", "getent", "id", "sh"} & set(found[0])
