"""What is otherwise on a Debian 13 than on a Debian 12, in whole passes on a running one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.stage import UNLIMITED

TTL: Final = "net/ipv4/ip_default_ttl"
UNIT: Final = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


@frozen
class Host(Enrolled[Booted | Oneshot]):
    """A Debian 13 that is enrolled in a fleet."""

    def apply(self, resources: Mapping[str, Any], code: int = 0) -> str:
        self.fleet.commit(resources, fleet=UNLIMITED)
        return self.fleet.datum(self.machine, "apply", code=code)


def enrolled(make: Callable[..., Booted | Oneshot], agent: AgentBind, folder: Path) -> Host:
    return Host(*fleet_and_machine(make, agent, folder))


@pytest.fixture
def host(make_trixie_booted: Callable[..., Booted], trixie_agent: AgentBind, tmp_path: Path) -> Host:
    return enrolled(make_trixie_booted, trixie_agent, tmp_path)


@pytest.fixture
def root(make_trixie_oneshot: Callable[..., Oneshot], trixie_agent: AgentBind, tmp_path: Path) -> Host:
    return enrolled(make_trixie_oneshot, trixie_agent, tmp_path)


def test_it_is_the_debian_that_these_proofs_speak_of(host: Host) -> None:
    """Else they would prove what others prove already."""
    told = host.sh(
        ". /etc/os-release; echo $VERSION_CODENAME; systemctl --version | head -n 1; apt-get --version | head -n 1;"
        "dpkg --version | head -n 1; python3 --version; dpkg-query -W -f '${Version}\\n' passwd;"
        "findmnt -n -o FSTYPE /tmp; ls /etc/timezone /etc/sysctl.conf /etc/apt/sources.list 2>&1"
    ).splitlines()
    starts = ("trixie", "systemd 257", "apt 3.", "Debian 'dpkg' package management program version 1.22", "Python 3.13")
    assert all(line.startswith(start) for line, start in zip(told, starts, strict=False)), told
    assert told[5].startswith("1:4.17")
    assert told[6] == "tmpfs"
    assert [line.endswith("No such file or directory") for line in told[7:]] == [True] * 3
    assert host.sh("ls /etc/apt/sources.list.d").endswith(".sources")


def test_what_is_declared_is_there_after_a_reboot(host: Host) -> None:
    """But for what lies in /tmp, which this Debian keeps in memory: the next pass makes that again."""
    assert isinstance(host.machine, Booted)
    host.apply(
        {
            "file:/tmp/declared": {"content": "text\n"},
            f"sysctl:{TTL}": {"value": 70},
            "hostname:host": {"static": "web1.example.org"},
            "timezone:host": {"zone": "Asia/Kolkata"},
            "mount:/srv/cache": {"source": "tmpfs", "fstype": "tmpfs", "options": ["noexec", "size=1m"]},
            "unit:app.service": {"content": UNIT},
            "service:app": {"running": True, "enabled": True, "settle": 0.1},
            "timer:job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]},
            "user:deploy": {"uid": 4001, "create_home": True, "comment": "Ünd (more), even"},
        }
    )
    host.again()
    host.sh(f"echo 60 > /proc/sys/{TTL}")
    host.machine.reboot()
    assert host.sh(f"cat /proc/sys/{TTL}; uname -n; date +%Z; systemctl is-active app job.timer") == (
        "70\nweb1.example.org\nIST\nactive\nactive"
    )
    assert "noexec" in host.sh("findmnt -n -o OPTIONS /srv/cache")
    assert "1 to create" in host.fleet.datum(host.machine, "plan")
    host.fleet.datum(host.machine, "apply")
    assert host.sh("cat /tmp/declared; findmnt -n -o TARGET -T /tmp/declared") == "text\n/tmp"
    host.again()


def test_files_that_this_debian_has_no_more_are_not_made(root: Host) -> None:
    root.apply({f"sysctl:{TTL}": {"value": 70}, "timezone:host": {"zone": "Asia/Kolkata"}})
    root.again()
    assert root.sh("ls /etc/timezone /etc/sysctl.conf") == ""
    assert root.sh("/usr/lib/systemd/systemd-sysctl --cat-config | grep ip_default_ttl").endswith("= 70")


TAKEN: Final = ("carol", "Carol", "_x", "a.b", "a-b", "a_b", "0ad", "x9$", "n" * 32)
REFUSED: Final = ("a+b", "a@b")


def test_names_are_taken_or_the_tools_of_this_debian_say_why_not(root: Host) -> None:
    """Two letters in a name are what a Debian 12 takes and this one does not, for groups in no way."""
    users = {f"user:{name}": {"comment": "a name"} for name in TAKEN}
    root.apply({**users, **{f"group:g{name[1:]}": {} for name in TAKEN}})
    assert root.sh("grep -c ':a name:' /etc/passwd") == str(len(TAKEN))
    root.again()
    for name in REFUSED:
        assert f"invalid user name '{name}'" in root.apply({f"user:{name}": {}}, code=1)
        assert f"'{name}' is not a valid group name" in root.apply({f"group:{name}": {}}, code=1)
