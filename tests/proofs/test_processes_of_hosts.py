"""No process for each package, service or account: counted on a running Debian by strace, at few and at many."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.harness.strace import Strace
from tests.proofs.on_host import FleetOnHost
from tests.proofs.test_processes import programs

STATUS: Final = "/var/lib/dpkg/status"


@frozen
class Size:
    """How much of each there is."""

    packages: int
    services: int
    accounts: int

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return what declares all of it."""
        found: dict[str, dict[str, Any]] = {
            f"package:p{number}": {"version": "1.0-1"} for number in range(self.packages)
        }
        found |= {f"service:s{number}": {"running": True, "enabled": True} for number in range(self.services)}
        found |= {f"user:u{number}": {"shell": "/bin/sh", "groups": ["games"]} for number in range(self.accounts)}
        found |= {f"group:u{number}": {"gid": 3000 + number} for number in range(self.accounts)}
        return found

    def make(self) -> str:
        """Return a script that makes a host have all of it."""
        return f"""
        for one in $(seq 0 {self.packages - 1}); do
            printf 'Package: p%s\\nStatus: install ok installed\\nMaintainer: x\\nArchitecture: all\\n' $one
            printf 'Version: 1.0-1\\nDescription: x\\n\\n'
            : > /var/lib/dpkg/info/p$one.list
        done >> {STATUS}
        cd /etc/systemd/system
        names=
        for one in $(seq 0 {self.services - 1}); do
            printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > s$one.service
            printf '[Install]\\nWantedBy=multi-user.target\\n' >> s$one.service
            names="$names s$one.service"
        done
        systemctl daemon-reload; systemctl --quiet enable --now $names
        members=
        for one in $(seq 0 {self.accounts - 1}); do
            id=$((3000 + one))
            echo "u$one:x:$id:$id::/home/u$one:/bin/sh" >> /etc/passwd
            echo "u$one:*:19000:0:99999:7:::" >> /etc/shadow
            echo "u$one:x:$id:" >> /etc/group
            echo "u$one:!::" >> /etc/gshadow
            members="$members${{members:+,}}u$one"
        done
        sed -i "s/^\\(games:.*:\\)$/\\1$members/" /etc/group /etc/gshadow
        """


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
    machine.run(["sh", "-c", "systemctl stop s0; usermod --shell /bin/false u1"])
    assert "2 to" in fleet.datum(machine, "plan"), "it looked at them"
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
