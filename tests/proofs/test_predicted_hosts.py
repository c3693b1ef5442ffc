"""Package or unit file, configuration, accounts and service on a host that has none of them: one plan and one pass."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import FleetOnHost
from tests.proofs.predicted import APP, Fidelity, assert_quiet, enrol, fleet_files, plan_and_apply

CONF: Final = "/etc/app/conf.d/site.conf"
IMAGE: Final = "/srv/image"
# What must be known before what comes after it.
ORDER: Final = {
    "packaged": ["package:app", f"file:{CONF}", "service:app"],
    "declared": ["user:app", "directory:/etc/app", "directory:/etc/app/conf.d", f"file:{CONF}", "service:app"],
}


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


def sh(machine: Machine, script: str) -> str:
    return machine.run(["sh", "-c", script], check=False).stdout.strip()


def prepared(machine: Machine, name: str) -> None:
    """Offer the package, where the fleet asks for one."""
    if name == "packaged":
        Archive(machine).publish(APP)


def judge(found: Fidelity, name: str) -> None:
    """The plan said everything, in the order in which it was done."""
    found.judge()
    order = [origin for origin, operation in found.operations if operation == "create"]
    assert [origin for origin in order if origin in ORDER[name]] == ORDER[name]
    # Everything is made once, and what is started once owes no restart.
    assert len(order) == len(set(order))
    assert {entry["operation"] for entry in found.done if entry["outcome"] == "applied"} == {"create"}
    # What only a package could have started has a refresh planned that may come to nothing; a unit file starts nothing.
    refreshed = [origin for origin, operation in found.operations if operation in {"restart", "reload"}]
    assert set(refreshed) <= ({"service:app"} if name == "packaged" else set())


def known_after(found: Fidelity, origin: str) -> list[str]:
    return list(found.entry(origin, "create")["known_after"])


@pytest.mark.parametrize("name", ["packaged", "declared"])
def test_a_booted_host_that_has_none_is_made_in_one_pass(
    make_booted: Callable[..., Booted], fleet: FleetOnHost, name: str
) -> None:
    fleet.commit({}, files=fleet_files(name))
    machine = make_booted(binds=(fleet.bind,))
    prepared(machine, name)
    enrol(fleet, machine)
    found = plan_and_apply(fleet, machine)
    judge(found, name)
    assert sh(machine, "systemctl is-active app; systemctl is-enabled app") == "active\nenabled"
    assert sh(machine, f"stat -c '%U %G %a' {CONF}") == "app app 640"
    assert sh(machine, "systemctl show --value -p LimitNOFILE -p NRestarts -p Markers app") == "0\n4096"
    assert sh(machine, "systemctl show --value -p NeedDaemonReload app") == "no"
    # It never ran without its configuration, and was started once.
    read = sh(machine, "journalctl -u app -o cat --no-pager")
    assert (read.count("listen = 8080"), read.count("Started")) == (1, 1), read
    assert sh(machine, "id -nG deploy") == "deploy ops"
    assert_quiet(fleet, machine)


def test_a_plan_says_what_each_step_waits_for(make_booted: Callable[..., Booted], fleet: FleetOnHost) -> None:
    """What the package may bring is known after it; nothing else is."""
    fleet.commit({}, files=fleet_files("packaged"))
    machine = make_booted(binds=(fleet.bind,))
    prepared(machine, "packaged")
    enrol(fleet, machine)
    found = plan_and_apply(fleet, machine)
    assert known_after(found, f"file:{CONF}") == ["package:app"]
    assert known_after(found, "service:app") == ["package:app"]
    assert known_after(found, "user:deploy") == ["group:ops"]
    assert not known_after(found, "package:app")
    assert not known_after(found, "group:ops")


def test_a_wish_that_a_changed_unit_makes_possible_is_known_after_it(
    make_booted: Callable[..., Booted], fleet: FleetOnHost
) -> None:
    """What the loaded unit cannot do says nothing of the unit that the same plan makes of it."""
    text = "[Service]\nType=oneshot\nExecStart=/bin/true\n"
    fleet.commit({"unit:app.service": {"content": text}})
    machine = make_booted(binds=(fleet.bind,))
    enrol(fleet, machine)
    fleet.datum(machine, "apply")
    more = "RemainAfterExit=yes\n[Install]\nWantedBy=multi-user.target\n"
    fleet.commit({"unit:app.service": {"content": text + more}, "service:app": {"running": True, "enabled": True}})
    found = plan_and_apply(fleet, machine)
    found.judge()
    assert known_after(found, "service:app") == ["unit:app.service"]
    assert sh(machine, "systemctl is-active app; systemctl is-enabled app") == "active\nenabled"
    assert_quiet(fleet, machine)


def test_what_comes_with_a_home_or_a_package_is_nobodys_loss(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    """The skeleton of a home and what a package's script writes were not there when the pass began."""
    script = "#!/bin/sh -e\nmkdir -p /etc/app; echo of the script > /etc/app/app.conf\n"
    fleet.commit(
        {
            "user:deploy": {"home": "/srv/deploy"},
            "file:/srv/deploy/.profile": {"content": "umask 022\n", "requires": ["user:deploy"]},
            "package:app": {},
            "file:/etc/app/app.conf": {"content": "ours\n"},
        }
    )
    machine = make_oneshot(binds=(fleet.bind,))
    Archive(machine).publish(Deb("app", control={"postinst": script}))
    enrol(fleet, machine)
    plan_and_apply(fleet, machine).judge()
    assert sh(machine, "cat /srv/deploy/.profile /etc/app/app.conf") == "umask 022\nours"
    assert_quiet(fleet, machine)


@pytest.mark.parametrize("name", ["packaged", "declared"])
def test_an_image_that_has_none_is_made_in_one_pass(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost, name: str
) -> None:
    """Below `--root` nothing runs; everything on the disk is as on a host, and the host around it stays as it was."""
    fleet.commit({}, files=fleet_files(name))
    machine = make_oneshot(binds=(fleet.bind,))
    prepared(machine, name)
    make_image(machine)
    before = outside(machine)
    enrol(fleet, machine, "--root", IMAGE)
    found = plan_and_apply(fleet, machine, "--root", IMAGE)
    judge(found, name)
    assert "mark" not in {operation for _, operation in found.operations}
    assert sh(machine, f"systemctl --root={IMAGE} is-enabled app") == "enabled"
    assert sh(machine, f"chroot {IMAGE} stat -c '%U %G %a' {CONF}") == "app app 640"
    assert sh(machine, f"chroot {IMAGE} id -nG deploy") == "deploy ops"
    assert_quiet(fleet, machine, IMAGE)
    assert outside(machine) == before


def make_image(machine: Machine) -> None:
    """Copy the host's own root into a folder of it."""
    folders = "bin sbin lib lib64 usr etc var root"
    machine.run(["sh", "-ec", f"mkdir -p {IMAGE}/srv; cd /; for one in {folders}; do cp -a $one {IMAGE}/; done"])
    machine.run(
        ["sh", "-ec", f"cd {IMAGE}; mkdir -p proc dev sys run tmp home; chmod 1777 tmp; cp -a /srv/archive srv/ || :"]
    )
    machine.run(["sh", "-ec", f"mknod -m 666 {IMAGE}/dev/null c 1 3"])


def outside(machine: Machine) -> dict[str, Any]:
    return {path: about for path, about in machine.changes().items() if not path.startswith((IMAGE, "/tmp", "/srv"))}


def test_a_service_goes_before_the_package_that_brought_it(
    make_booted: Callable[..., Booted], fleet: FleetOnHost
) -> None:
    """Else it would be gone when its turn comes, and the plan had said what was not done."""
    fleet.commit({"package:app": {}, "service:app": {"running": True, "enabled": True}})
    machine = make_booted(binds=(fleet.bind,))
    Archive(machine).publish(APP)
    enrol(fleet, machine)
    plan_and_apply(fleet, machine).judge()
    gone = {"absent": True, "allow": ["outage", "data_loss"]}
    fleet.commit({"package:app": gone, "service:app": gone})
    found = plan_and_apply(fleet, machine)
    found.judge()
    assert found.operations == [("service:app", "delete"), ("package:app", "delete")]
    assert {entry["outcome"] for entry in found.done} == {"applied"}
    assert_quiet(fleet, machine)
