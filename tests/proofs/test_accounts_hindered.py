"""Accounts on a real Debian that cannot be made: locks of others, disks that take nothing, names of another source."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.accounts_on_host import line_of, outcomes, user
from tests.proofs.on_host import FleetOnHost


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Oneshot:
    return make_oneshot(binds=(fleet.bind,))


def test_a_read_only_etc_is_told_as_such_and_locks_of_others_are_waited_for_and_then_it_is_busy(
    machine: Oneshot, fleet: FleetOnHost
) -> None:
    fleet.commit(user())
    fleet.enrol(machine)
    machine.set_read_only("/etc")
    said = fleet.datum(machine, "apply", "--json", code=1)
    assert "accounts-unwritable" in said
    assert "/etc/.pwd.lock: Read-only file system" in said
    machine.set_writable("/etc")
    machine.run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $! > /etc/passwd.lock"])
    holder = machine.read("/etc/passwd.lock").decode().strip()
    said = fleet.datum(machine, "apply", code=1)
    assert f"/etc/passwd.lock is held by process {holder}" in said
    machine.run(["sh", "-c", f"kill {holder}; rm /etc/passwd.lock"])
    said = fleet.datum(machine, "apply", "--json")
    assert outcomes(said) == {"user:deploy": "applied"}


def test_a_full_disk_is_told_as_such_and_not_as_a_lock(machine: Oneshot, fleet: FleetOnHost) -> None:
    """The tools say that they cannot lock, and mean that they cannot write the lock."""
    machine.run(["mount", "-t", "tmpfs", "tmpfs", "/var/log/datum", "-o", "X-mount.mkdir,mode=0755"])
    machine.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib/datum", "-o", "X-mount.mkdir,mode=0755"])
    fleet.commit({**user(), "group:web": {}})
    fleet.enrol(machine)
    machine.fill()
    said = fleet.datum(machine, "apply", "--json", code=1)
    assert set(outcomes(said).values()) <= {"failed", "skipped"}
    assert "accounts-unwritable" in said
    assert "file write error: No space left on device" in said
    assert "accounts-locked" not in said
    machine.free()
    assert set(outcomes(fleet.datum(machine, "apply", "--json")).values()) == {"applied"}


def test_an_account_of_another_source_is_refused(machine: Oneshot, fleet: FleetOnHost) -> None:
    """It is known to NSS only: what the shadow tools would make would stand beside it under the same name."""
    record = {"userName": "ldap", "uid": 7000, "gid": 7000, "disposition": "regular"}
    machine.run(["mkdir", "-p", "/etc/userdb"])
    machine.write("/etc/userdb/ldap.user", json.dumps(record))
    machine.run(["ln", "-s", "ldap.user", "/etc/userdb/7000.user"])
    record = {"groupName": "staff-far", "gid": 7001, "disposition": "regular"}
    machine.write("/etc/userdb/staff-far.group", json.dumps(record))
    machine.run(["sh", "-c", "ln -s staff-far.group /etc/userdb/7001.group"])
    assert machine.run(["getent", "passwd", "ldap"]).stdout.startswith("ldap:")
    assert machine.run(["getent", "group", "staff-far"]).stdout.startswith("staff-far:")
    fleet.commit({"user:ldap": {"uid": 7000}, "group:staff-far": {"members": ["games"]}, "group:fine": {}})
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply", code=1)
    assert "ldap is no account of /etc/passwd: another source of nsswitch.conf has it." in said
    assert "staff-far is no group of /etc/group: another source of nsswitch.conf has it." in said
    assert not line_of(machine, "/etc/passwd", "ldap")
    assert not line_of(machine, "/etc/group", "staff-far")
    assert line_of(machine, "/etc/group", "fine")
