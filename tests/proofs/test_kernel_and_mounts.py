"""Kernel keys, names, the time zone and mounts in whole passes on a booted Debian."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.fields import text_at
from tests.proofs.kernel_fields import KERNEL_FIELDS
from tests.proofs.on_host import LOOPS, PLACE
from tests.proofs.stage import HOST, UNLIMITED
from tests.proofs.test_fields import expected, fields

KINDS: Final = ("hostname", "mount", "sysctl", "timezone")
DATA: Final = "mount:/srv/data"
LINK_KEY: Final = "net/ipv4/conf/app0/rp_filter"
IMAGE: Final[dict[str, Any]] = {"source": "/srv/data.img", "fstype": "ext4", "options": ["loop", "nofail"]}


@frozen
class Host(Enrolled[Booted]):
    """It, and what the scripts of the proofs say of it."""

    def shown(self) -> dict[str, str]:
        """Return what the scripts of the proofs print, in one line each."""
        return {field: " ".join(self.sh(text_at(proof.show, field)).split()) for field, proof in KERNEL_FIELDS.items()}


@pytest.fixture
def host(make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path) -> Host:
    return Host(*fleet_and_machine(make_booted, agent_bind, tmp_path))


def test_what_the_schemas_claim_is_proven_and_what_is_proven_is_claimed() -> None:
    own = {field: places for field, places in fields().items() if field.startswith(tuple(f"{kind}." for kind in KINDS))}
    assert {field for field, places in own.items() if "booted-bookworm" in places} == set(KERNEL_FIELDS)


@pytest.mark.parametrize("field", KERNEL_FIELDS)
def test_a_proof_declares_the_field_that_it_is_for(field: str) -> None:
    kind, _, name = field.partition(".")
    resources = KERNEL_FIELDS[field].resources
    assert any(name in about for origin, about in resources.items() if origin.startswith(f"{kind}:"))


def test_every_field_is_made_and_repaired_on_a_booted_debian(host: Host) -> None:
    resources: dict[str, Mapping[str, object]] = {}
    for field, proof in KERNEL_FIELDS.items():
        resources.update(proof.at(field))
    host.become(resources)
    assert host.shown() == expected(KERNEL_FIELDS)
    host.again()
    for field, proof in KERNEL_FIELDS.items():
        host.sh(text_at(proof.spoil, field))
    spoilt = host.shown()
    assert not [field for field, text in expected(KERNEL_FIELDS).items() if spoilt[field] == text]
    host.fleet.datum(host.machine, "apply")
    assert host.shown() == expected(KERNEL_FIELDS)
    host.again()


def test_a_disk_what_lies_on_it_and_what_shows_it_again_are_one_pass(host: Host) -> None:
    """A file below a mount is on the mount; options that change are changed in what is mounted.

    Mode and owner of the mount point's own directory are those of what is mounted: it is there by then.
    """
    host.sh(LOOPS)
    host.sh("truncate -s 16M /srv/data.img && mkfs.ext4 -q /srv/data.img")
    resources: dict[str, dict[str, Any]] = {
        DATA: IMAGE,
        "directory:/srv/data": {"mode": "0750"},
        "file:/srv/data/own": {"content": "on the disk\n"},
        "directory:/srv/data/sub": {},
        "mount:/srv/again": {"source": "/srv/data/sub", "options": ["bind", "ro"]},
        "file:/srv/data/sub/seen": {"content": "seen\n"},
    }
    found = host.become(resources)["directory:/srv/data"]
    assert (found["outcome"], found["known_after"]) == ("applied", [DATA])
    host.again()
    assert host.sh("cat /srv/again/seen; findmnt -n -o FSTYPE /srv/data; stat -c %a /srv/data") == "seen\next4\n750"
    assert host.sh("touch /srv/again/x 2>&1").endswith("Read-only file system")
    host.again()
    resources[DATA] = {**IMAGE, "options": ["loop", "nofail", "noexec", "nosuid"]}
    assert host.become(resources)[DATA]["outcome"] == "applied"
    assert {"noexec", "nosuid"} <= set(host.sh("findmnt -n -o OPTIONS /srv/data").split(","))
    resources[DATA] = {**IMAGE, "options": ["loop", "nofail", "nosuid"]}
    host.become(resources)
    live = set(host.sh("findmnt -n -o OPTIONS /srv/data").split(","))
    assert "nosuid" in live
    assert "noexec" not in live
    host.again()
    assert host.sh("systemctl show -p NeedDaemonReload --value srv-data.mount") == "no"
    absent = {"absent": True, "allow": ["outage"]}
    host.become({DATA: absent, "mount:/srv/again": absent})
    assert host.sh("findmnt /srv/data; findmnt /srv/again; grep /srv/ /etc/fstab; ls /srv/data /srv/data.img") == (
        "/srv/data.img\n\n/srv/data:"
    )


def test_a_busy_mount_is_named_held_and_at_last_gone(host: Host) -> None:
    host.become({DATA: {"source": "tmpfs", "fstype": "tmpfs"}})
    absent = {"absent": True, "allow": ["outage", "data_loss"]}
    held = host.become({DATA: {"absent": True}}, code=1)
    assert held[DATA]["outcome"] == "held"
    host.sh("cd /srv/data && setsid sleep 1000 < /dev/null > /dev/null 2>&1 &")
    failed = host.become({DATA: absent}, code=1)
    assert failed[DATA]["outcome"] in {"failed", "busy"}
    assert "sleep (" in json.dumps(failed[DATA])
    assert host.sh("grep -c /srv/data /etc/fstab") == "1"
    host.sh("kill $(pidof sleep)")
    assert host.become({DATA: absent})[DATA]["outcome"] == "applied"
    assert host.sh("findmnt /srv/data; grep /srv/data /etc/fstab; ls -d /srv/data") == "/srv/data"
    host.again()


def test_a_dropped_mount_stays(host: Host) -> None:
    host.become({DATA: {"source": "tmpfs", "fstype": "tmpfs"}})
    host.become({"file:/etc/nothing": {"content": ""}})
    assert host.sh("findmnt -n -o FSTYPE /srv/data; grep -c /srv/data /etc/fstab") == "tmpfs\n1"


# A root with a mount(8) of its own.
OTHER_ROOT: Final = """
mkdir -p /mnt/root/etc /mnt/root/proc /mnt/root/srv/data /mnt/root/usr/bin; cd /mnt/root
ln -s usr/bin bin; cp /usr/bin/mount usr/bin
for file in $(ldd /usr/bin/mount | grep -o '/lib[^ ]*'); do mkdir -p ".${file%/*}"; cp "$file" ".$file"; done
mount -t proc proc proc; mount -t tmpfs -o noexec tmpfs srv/data
"""


def test_below_another_root_nothing_of_what_is_mounted_there_is_touched(host: Host) -> None:
    """It may be the disk of an image, and its mounts are the running system's."""
    host.sh(OTHER_ROOT)
    host.fleet.datum(host.machine, "init", "--repo", PLACE, "--host", HOST, "--no-timer", "--root", "/mnt/root")
    before = host.sh("cat /proc/self/mountinfo /etc/fstab")
    for options in (["noexec"], ["nosuid"], []):
        host.fleet.commit({DATA: {"source": "tmpfs", "fstype": "tmpfs", "options": options}}, fleet=UNLIMITED)
        host.fleet.datum(host.machine, "apply", "--root", "/mnt/root")
        assert host.sh("cut -d ' ' -f 4 /mnt/root/etc/fstab") == ",".join(options or ["defaults"])
        assert "nothing to do" in host.fleet.datum(host.machine, "apply", "--root", "/mnt/root")
    host.fleet.commit({DATA: {"absent": True}}, fleet=UNLIMITED)
    host.fleet.datum(host.machine, "apply", "--root", "/mnt/root")
    assert host.sh("cat /mnt/root/etc/fstab") == ""
    assert host.sh("cat /proc/self/mountinfo /etc/fstab") == before


def test_systemd_learns_of_an_fstab_that_somebody_changed(host: Host) -> None:
    """Else it may mount the old device over the new one (systemd 3568)."""
    host.become({DATA: {"source": "tmpfs", "fstype": "tmpfs"}})
    host.sh("sleep 1; echo '# more' >> /etc/fstab; touch /etc/fstab")
    assert host.sh("systemctl show -p NeedDaemonReload --value srv-data.mount") == "yes"
    host.fleet.datum(host.machine, "apply")
    assert host.sh("systemctl show -p NeedDaemonReload --value srv-data.mount") == "no"
    host.again()


def test_keys_that_are_shadowed_missing_or_not_to_be_set(host: Host) -> None:
    key = "net/ipv4/ip_forward"
    host.machine.write("/etc/sysctl.d/99-other.conf", "# theirs\nnet.ipv4.ip_forward = 0\n")
    resources: dict[str, dict[str, Any]] = {
        f"sysctl:{key}": {"value": 1},
        "sysctl:net/no/such_key": {"value": 1},
        "sysctl:vm/swappiness": {"value": 11},
        # A key that something else in the same plan brings.
        "command:link": {
            "run": ["ip", "link", "add", "app0", "type", "veth", "peer", "name", "app1"],
            "creates": "/sys/class/net/app0",
            "provides": [f"kernel_key:{LINK_KEY}"],
        },
        f"sysctl:{LINK_KEY}": {"value": 2, "requires": ["command:link"]},
    }
    found = host.become(resources, code=1)
    assert host.sh(f"cat /proc/sys/{key} /proc/sys/{LINK_KEY}") == "1\n2"
    assert found[f"sysctl:{LINK_KEY}"]["outcome"] == "applied"
    assert found[f"sysctl:{key}"]["outcome"] == "unverified"
    assert found["sysctl:net/no/such_key"]["outcome"] == "failed"
    # /proc/sys is read-only in this container: what is kept is the file.
    assert found["sysctl:vm/swappiness"]["outcome"] == "applied"
    found = host.become(resources, code=1)
    assert "/etc/sysctl.d/99-other.conf:2" in json.dumps(found[f"sysctl:{key}"])
    del resources["sysctl:net/no/such_key"]
    resources["file:/etc/sysctl.d/99-other.conf"] = {"absent": True}
    host.become(resources)
    host.again()
    assert host.sh("/lib/systemd/systemd-sysctl --cat-config | grep ^vm.swappiness") == "vm/swappiness = 11"
    host.sh(f"echo 0 > /proc/sys/{key}; /lib/systemd/systemd-sysctl")
    assert host.sh(f"cat /proc/sys/{key}") == "1"
    dropped = host.become({"file:/etc/nothing": {"content": ""}})
    assert "stays until the next boot" in json.dumps(dropped[f"sysctl:{key}"])
    assert host.sh(f"cat /proc/sys/{key}; ls /etc/sysctl.d | grep datum") == "1"


def test_what_shows_the_time_is_restarted_with_the_zone(host: Host) -> None:
    resources: dict[str, dict[str, Any]] = {
        "timezone:host": {"zone": "Etc/UTC"},
        "service:cron": {"running": True, "settle": 0.1, "restart_on": ["timezone:host"]},
    }
    host.become(resources)
    before = host.sh("systemctl show -p InvocationID --value cron")
    resources["timezone:host"] = {"zone": "UTC"}
    host.become(resources)
    assert host.sh("systemctl show -p InvocationID --value cron") == before
    resources["timezone:host"] = {"zone": "America/New_York"}
    host.become(resources)
    assert host.sh("systemctl show -p InvocationID --value cron") != before
    found = host.become({"timezone:host": {"zone": "America/New_Yrk"}}, code=1)
    assert "America/New_York" in json.dumps(found["timezone:host"])
