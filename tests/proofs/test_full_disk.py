"""Whole passes of the real command on a real Debian: nothing else changes; full and read-only disks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from datum.state.lock import HOST_LOCK
from tests.harness.changes import Kind
from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import POINTER, REPORTS, FleetOnHost, Resources, disk, others_changed, read_own_paths

FIRST: Final[Resources] = {
    "file:/etc/motd": {"content": "first\n", "mode": "0644", "owner": "root", "group": "root"},
    "file:/etc/cron.d/nightly": {"content": "# first\n", "mode": "0644"},
    "file:/etc/sudoers.d/deploy": {
        "content": "%deploy ALL=(ALL) ALL\n",
        "mode": "0440",
        "validate": ["/usr/sbin/visudo", "-cf", "{path}"],
        "allow": ["access_loss"],
    },
}
SECOND: Final[Resources] = {
    "file:/etc/motd": {"content": "second\n", "mode": "0600", "owner": "root", "group": "adm"},
    "file:/etc/sudoers.d/deploy": {
        "content": "%deploy ALL=(ALL) NOPASSWD: ALL\n",
        "mode": "0440",
        "validate": ["/usr/sbin/visudo", "-cf", "{path}"],
        "allow": ["access_loss"],
    },
    "file:/etc/profile.d/second.sh": {"content": "export SECOND=1\n"},
}
DECLARED: Final = sorted({name.removeprefix("file:") for name in (*FIRST, *SECOND)})
# How a pass may end whose disk takes nothing: not done, source or state unusable, host not observable.
HONEST: Final = (1, 69, 71, 74)
PAGE: Final = 4096
# What is locked, and left: by the programs for accounts, as datum init makes one, and by each pass.
_LOCKS: Final = ("/etc/.pwd.lock", str(HOST_LOCK))
# Where something came and went: turns for the lock, the new report, who holds the lock of the host.
EPHEMERAL: Final = ("/var/lib/datum/run", "/var/lib/datum/run/queue", REPORTS, str(HOST_LOCK))


@frozen
class Enrolled:
    """A Debian that is enrolled in a fleet."""

    machine: Machine
    fleet: FleetOnHost

    def files(self) -> dict[str, tuple[bytes, str] | None]:
        """Return bytes and rights of each declared path."""
        found: dict[str, tuple[bytes, str] | None] = {}
        for path in DECLARED:
            looked = self.machine.run(["stat", "-c", "%a %U %G", path], check=False)
            found[path] = (self.machine.read(path), looked.stdout) if looked.returncode == 0 else None
        return found


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def enrolled(make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost) -> Enrolled:
    fleet.commit(FIRST)
    machine = make_oneshot(binds=(fleet.bind,), size="8m")
    fleet.enrol(machine)
    return Enrolled(machine, fleet)


def test_a_whole_life_changes_what_is_declared_and_nothing_else(enrolled: Enrolled) -> None:
    machine, fleet = enrolled.machine, enrolled.fleet
    fresh = {path: change for path, change in machine.changes().items() if "datum" not in path}
    fleet.datum(machine, "plan")
    assert not {path for path in DECLARED if path in machine.changes()}
    fleet.datum(machine, "apply")
    assert machine.read("/etc/motd") == b"first\n"
    assert others_changed(machine, fresh, DECLARED) == {}

    written = disk(machine, but=EPHEMERAL)
    assert "nothing to do" in fleet.datum(machine, "apply")
    now = disk(machine, but=EPHEMERAL)
    assert {path for path in {*written, *now} if written.get(path) != now.get(path)} == {newest_report(now, written)}

    machine.write("/etc/motd", "drift\n", mode=0o666)
    machine.run(["chown", "daemon", "/etc/cron.d/nightly"])
    said = fleet.datum(machine, "apply")
    assert "drift" in said
    assert machine.read("/etc/motd") == b"first\n"
    assert machine.run(["stat", "-c", "%a", "/etc/motd"]).stdout == "644\n"
    assert machine.run(["stat", "-c", "%U", "/etc/cron.d/nightly"]).stdout == "daemon\n", "owner is not declared"

    fleet.commit(SECOND)
    fleet.datum(machine, "apply")
    assert machine.run(["stat", "-c", "%a %U %G", "/etc/motd"]).stdout == "600 root adm\n"
    assert machine.run(["test", "-e", "/etc/cron.d/nightly"], check=False).returncode == 1
    assert others_changed(machine, fresh, DECLARED) == {}

    enforced = enrolled.files()
    pointer = machine.read(POINTER)
    fleet.commit({"file:/etc/motd": {"content": "rewritten\n"}}, amend=True)
    fleet.datum(machine, "apply", code=76)
    assert enrolled.files() == enforced
    assert machine.read(POINTER) == pointer
    assert others_changed(machine, fresh, DECLARED) == {}


def newest_report(now: Mapping[str, object], before: Mapping[str, object]) -> str:
    """Return the one path that is there now and was not before, or what is wrong with that."""
    fresh = sorted(path for path in now if path not in before)
    return fresh[0] if len(fresh) == 1 and fresh[0].startswith("/var/log/datum/reports/") else f"not one: {fresh}"


def test_every_exception_has_a_reason() -> None:
    assert all(path.startswith("/") and len(reason) > 10 for path, reason in read_own_paths().items())


@pytest.mark.parametrize("options", [(), ("--json",), ("--detailed-exitcode",), ("--offline",)])
def test_plan_leaves_no_trace_on_the_whole_disk(enrolled: Enrolled, options: tuple[str, ...]) -> None:
    """With something to fetch, something to do, and drift; the folder that its temporary store was in is touched."""
    enrolled.fleet.datum(enrolled.machine, "apply")
    enrolled.machine.write("/etc/motd", "drift\n")
    enrolled.fleet.commit(SECOND)
    before = disk(enrolled.machine, but={"/tmp"})
    said = enrolled.fleet.datum(enrolled.machine, "plan", *options, code=(0, 2))
    assert "file:/etc/motd" in said
    assert disk(enrolled.machine, but={"/tmp"}) == before
    assert enrolled.machine.changes().get("/tmp") is None or enrolled.machine.changes()["/tmp"].kind is Kind.TOUCHED
    assert enrolled.machine.run(["ls", "-A", "/tmp"]).stdout == ""


@pytest.mark.parametrize("pages", [0, 1, 4, 8, 12, 20])
def test_a_disk_that_fills_up_ends_the_pass_with_old_or_new(enrolled: Enrolled, pages: int) -> None:
    """At every amount of room, from none to enough for the fetch but not for the report."""
    machine, fleet = enrolled.machine, enrolled.fleet
    fleet.datum(machine, "apply")
    old = enrolled.files()
    fleet.commit(SECOND)
    machine.fill()
    leave(machine, pages)
    said = fleet.datum(machine, "apply", code=(0, *HONEST))
    assert said.strip()
    between = enrolled.files()
    machine.free()
    fleet.datum(machine, "apply")
    new = enrolled.files()
    assert new["/etc/motd"] == (b"second\n", "600 root adm\n")
    assert all(between[path] in {old[path], new[path]} for path in DECLARED), between
    assert not leftovers(machine)
    assert "nothing to do" in fleet.datum(machine, "apply")


def leave(machine: Machine, pages: int) -> None:
    """Leave room for that many pages on a disk that is full."""
    ballast = machine._disk() / "disk" / "ballast"
    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - pages * PAGE)


def leftovers(machine: Machine) -> list[str]:
    """Return temporary names anywhere on the disk."""
    marks = (".dpkg-tmp", ".tmp", ".part", ".lock", "/quarantine", ".new")
    return [path for path in machine.changes() if path.endswith(marks) and path not in _LOCKS]


def test_a_full_disk_is_named_and_drift_repair_fails_as_such(enrolled: Enrolled) -> None:
    """Nothing to fetch, the disk full: the repair fails, naming the cause, and the report goes elsewhere, shortened."""
    machine, fleet = enrolled.machine, enrolled.fleet
    fleet.datum(machine, "apply")
    machine.write("/etc/motd", "drift\n", mode=0o644)
    machine.fill()
    said = fleet.datum(machine, "apply", code=1)
    assert "No space left on device" in said
    assert "file:/etc/motd" in said
    assert machine.read("/etc/motd") == b"drift\n"
    assert "file:/etc/motd" in fleet.datum(machine, "plan")
    machine.free()
    fleet.datum(machine, "apply")
    assert machine.read("/etc/motd") == b"first\n"


def test_a_read_only_disk_ends_every_command_with_a_word(enrolled: Enrolled) -> None:
    machine, fleet = enrolled.machine, enrolled.fleet
    fleet.datum(machine, "apply")
    old = enrolled.files()
    fleet.commit(SECOND)
    machine.set_read_only()
    assert fleet.datum(machine, "apply", code=HONEST).strip()
    assert fleet.datum(machine, "plan", code=(0, *HONEST)).strip()
    fleet.datum(machine, "status", code=(0, *HONEST))
    assert enrolled.files() == old
    machine.set_writable()
    fleet.datum(machine, "apply")
    assert machine.read("/etc/motd") == b"second\n"


def test_a_folder_that_is_read_only_fails_its_own_resources(enrolled: Enrolled) -> None:
    """/etc/cron.d cannot be written, so its file stays; the rest goes on."""
    machine, fleet = enrolled.machine, enrolled.fleet
    machine.run(["mkdir", "-p", "/etc/cron.d"])
    machine.set_read_only("/etc/cron.d")
    said = fleet.datum(machine, "apply", code=1)
    assert "Read-only file system" in said
    assert machine.read("/etc/motd") == b"first\n"
    assert machine.run(["test", "-e", "/etc/cron.d/nightly"], check=False).returncode == 1
    machine.set_writable("/etc/cron.d")
    fleet.datum(machine, "apply")
    assert machine.read("/etc/cron.d/nightly") == b"# first\n"
    assert "nothing to do" in fleet.datum(machine, "apply")
