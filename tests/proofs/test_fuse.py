"""File systems for which programs answer (FUSE), mounted by the programs of a Debian 13, also by one that hangs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.on_host import reports

# Stands for ssh: what it talks to is a server of files on this side.
NEAR: Final = "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n"
DEVICES: Final = "mknod -m 666 /dev/fuse c 10 229"
BOUND: Final = "mount:/srv/bound"
BINDFS: Final[dict[str, Any]] = {"source": "/srv/data", "fstype": "fuse.bindfs", "options": ["nofail"]}
ABSENT: Final = {"absent": True, "allow": ["outage"]}

Host = Enrolled[Booted]


@pytest.fixture
def host(make_trixie_booted: Callable[..., Booted], trixie_agent: AgentBind, tmp_path: Path) -> Host:
    found = Host(*fleet_and_machine(make_trixie_booted, trixie_agent, tmp_path))
    found.sh(f"{DEVICES}; mkdir -p /srv/data; echo seen > /srv/data/seen")
    return found


def kinds(host: Host) -> dict[str, str]:
    """Return type and source, as the kernel shows them, of what is mounted below /srv by programs."""
    lines = host.sh("findmnt -rn -o TARGET,FSTYPE,SOURCE | grep '^/srv/[a-z]* fuse'").splitlines()
    return {line.split()[0]: line.partition(" ")[2] for line in lines}


def test_programs_name_types_and_sources_as_they_like_and_nothing_flaps(host: Host) -> None:
    host.sh("truncate -s 16M /srv/disk.img && mkfs.ext4 -q /srv/disk.img")
    host.machine.write("/usr/local/bin/near", NEAR, mode=0o755)
    near = ["ssh_command=/usr/local/bin/near", "nofail"]
    resources: dict[str, Any] = {
        BOUND: {**BINDFS, "options": ["ro", "noexec", "nofail"]},
        "mount:/srv/old": {"source": "bindfs#/srv/data", "fstype": "fuse", "options": ["nofail"]},
        "mount:/srv/disk": {"source": "/srv/disk.img", "fstype": "fuse.fuse2fs", "options": ["ro", "nofail"]},
        "mount:/srv/far": {"source": "root@localhost:/srv/data", "fstype": "fuse.sshfs", "options": near},
        "mount:/srv/too": {"source": "root@localhost:/srv/data", "fstype": "sshfs", "options": [*near, "ro"]},
        "file:/srv/old/written": {"content": "through a program\n"},
    }
    host.become(resources)
    print(kinds(host))
    assert sorted(kinds(host)) == ["/srv/bound", "/srv/disk", "/srv/far", "/srv/old", "/srv/too"]
    assert host.sh("cat /srv/bound/seen /srv/far/seen /srv/too/seen /srv/data/written; ls /srv/disk") == (
        "seen\nseen\nseen\nthrough a program\nlost+found"
    )
    host.again()
    resources[BOUND] = {**BINDFS, "options": ["ro", "nosuid", "nofail"]}
    assert host.become(resources, code=1)[BOUND]["outcome"] == "held", "it is unmounted for that"
    host.become({**resources, BOUND: {**resources[BOUND], "allow": ["outage"]}})
    assert {"ro", "nosuid"} <= set(host.sh("findmnt -n -o OPTIONS /srv/bound").split(","))
    host.again()
    host.become({name: ABSENT for name in resources if name.startswith("mount:")})
    assert kinds(host) == {}
    assert host.sh("grep -c /srv /etc/fstab") == "0"
    host.again()


def test_a_program_that_answers_no_more_hangs_no_pass(host: Host) -> None:
    """What lies on its file system is not known; the mount is seen in the kernel's own table, and the rest goes on."""
    inside = "mount:/srv/bound/inside"
    resources: dict[str, Any] = {
        BOUND: BINDFS,
        "file:/srv/bound/here": {"content": "one\n"},
        inside: {"source": "tmpfs", "fstype": "tmpfs", "persistent": False},
        "file:/etc/elsewhere": {"content": "one\n"},
    }
    host.become(resources)
    host.again()
    host.sh("umount /srv/bound/inside; kill -STOP $(pidof bindfs)")
    for name in ("file:/srv/bound/here", "file:/etc/elsewhere"):
        resources[name] = {"content": "two\n"}
    found = host.become(resources, code=1)
    outcomes = {name: entry["outcome"] for name, entry in found.items()}
    print(json.dumps(found[inside]), json.dumps(found["file:/srv/bound/here"]))
    assert outcomes.get(BOUND, "in_sync") == "in_sync"
    assert outcomes["file:/srv/bound/here"] == outcomes[inside] == "unobservable"
    assert "/srv/bound does not answer" in json.dumps(found["file:/srv/bound/here"])
    assert host.sh("cat /etc/elsewhere") == "two"
    assert reports(host.machine)[-1]["outcome"] == "incomplete"
    host.sh("kill -CONT $(pidof bindfs)")
    host.become(resources)
    assert host.sh("cat /srv/data/here; findmnt -n -o FSTYPE /srv/bound/inside") == "two\ntmpfs"
    host.again()


def test_a_mount_whose_program_is_dead_or_hangs_can_be_taken_away(host: Host) -> None:
    host.become({BOUND: BINDFS})
    host.sh("kill -KILL $(pidof bindfs)")
    assert host.sh("ls /srv/bound 2>&1").endswith("Transport endpoint is not connected")
    host.again()
    host.become({BOUND: ABSENT})
    assert kinds(host) == {}
    host.become({BOUND: BINDFS})
    host.sh("kill -STOP $(pidof bindfs)")
    host.become({BOUND: ABSENT})
    assert kinds(host) == {}
    host.sh("kill -KILL $(pidof bindfs)")
    host.become({BOUND: BINDFS})
    assert host.sh("cat /srv/bound/seen") == "seen"
