"""What is no longer declared goes in the reverse order: stopped, then its files, then the manager is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost
from tests.proofs.predicted import assert_quiet, plan_and_apply

SYSTEM: Final = "/etc/systemd/system"
LOG: Final = "/run/order"
# Notes what is still there.
LEFT: Final = "$(cd /etc; ls -d systemd/system/app.service app/app.conf 2>/dev/null)"
GENERATOR: Final = f"#!/bin/sh\necho loaded {LEFT} >> {LOG}\n"
UNIT: Final = f"""\
[Service]
User=app
ExecStart=/bin/sleep infinity
ExecStop=+/bin/sh -c 'echo stopped {LEFT.replace("$", "$$")} >> {LOG}'

[Install]
WantedBy=multi-user.target
"""
BASE: Final[dict[str, dict[str, Any]]] = {"file:/etc/base": {"content": ""}}
DECLARED: Final[dict[str, dict[str, Any]]] = {
    **BASE,
    "group:app": {},
    "user:app": {"group": "app"},
    "directory:/etc/app": {"exclusive": True},
    "file:/etc/app/app.conf": {"content": "x\n", "owner": "app"},
    "unit:app.service": {"content": UNIT},
    "unit:app.service/own": {"content": "[Service]\nNice=1\n"},
    "service:app": {"running": True, "enabled": True, "settle": 0.2, "restart_on": ["file:/etc/app/app.conf"]},
}
ACCOUNTS: Final = {name: DECLARED[name] for name in ("group:app", "user:app")}
GONE: Final[dict[str, dict[str, Any]]] = {
    name: {"absent": True, "allow": ["outage", "data_loss", "access_loss"]} for name in DECLARED if name not in BASE
}
UNLIMITED: Final = {"limits": {"removals": "none", "changed": "none"}}


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_booted: Callable[..., Booted], fleet: FleetOnHost) -> Booted:
    """Give a host that is as declared."""
    fleet.commit(DECLARED, fleet=UNLIMITED)
    machine = make_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    machine.run(["mkdir", "-p", "/etc/systemd/system-generators"])
    machine.write("/etc/systemd/system-generators/note", GENERATOR, mode=0o755)
    return machine


def sh(machine: Booted, script: str) -> str:
    return machine.run(["sh", "-c", script], check=False).stdout.strip()


def test_a_dropped_unit_is_stopped_then_removed_then_unloaded(machine: Booted, fleet: FleetOnHost) -> None:
    """Its accounts are never removed by dropping; what stood in a drop-in directory is."""
    fleet.commit(BASE, fleet=UNLIMITED)
    found = plan_and_apply(fleet, machine)
    found.judge()
    assert {("unit:app.service", "delete"), ("unit:app.service/own", "delete")} <= set(found.operations)
    stopped, *loaded = sh(machine, f"cat {LOG}").splitlines()
    assert stopped == "stopped app/app.conf systemd/system/app.service"
    assert len(loaded) == 1, "one daemon-reload"
    assert "app.service" not in loaded[0]
    assert sh(machine, "systemctl show --value -p LoadState -p ActiveState app") == "not-found\ninactive"
    assert sh(machine, f"find {SYSTEM} -name 'app*'") == ""
    assert sh(machine, "getent passwd app | cut -d: -f1") == "app"
    assert_quiet(fleet, machine)


def test_what_is_absent_goes_in_the_reverse_order(machine: Booted, fleet: FleetOnHost) -> None:
    """The service first, then its unit, its files, and their directory."""
    gone = {name: about for name, about in GONE.items() if name not in ACCOUNTS}
    fleet.commit({**BASE, **ACCOUNTS, **gone}, fleet=UNLIMITED)
    found = plan_and_apply(fleet, machine)
    found.judge()
    order = [origin for origin, operation in found.operations if operation == "delete"]
    assert sorted(order) == sorted(gone)
    assert order[0] == "service:app"
    assert order.index("file:/etc/app/app.conf") < order.index("directory:/etc/app")
    stopped, *loaded = sh(machine, f"cat {LOG}").splitlines()
    assert stopped == "stopped app/app.conf systemd/system/app.service"
    # What is disabled is seen after one daemon-reload, what was removed after the other.
    assert ["app.service" in line for line in loaded] == [True, False]
    assert sh(machine, "systemctl show --value -p LoadState app; ls -d /etc/app") == "not-found"
    assert_quiet(fleet, machine)


def test_an_account_goes_after_the_service_that_runs_as_it(machine: Booted, fleet: FleetOnHost) -> None:
    """In one pass: its processes are those of a service that the same plan stops."""
    fleet.commit({**BASE, **GONE}, fleet=UNLIMITED)
    found = plan_and_apply(fleet, machine)
    # userdel takes the group of the same name along.
    found.judge(needless={"group:app"})
    order = [origin for origin, operation in found.operations if operation == "delete"]
    assert sorted(order) == sorted(GONE)
    before = [
        ("service:app", "user:app"),
        ("unit:app.service", "user:app"),
        ("file:/etc/app/app.conf", "user:app"),
        ("user:app", "group:app"),
    ]
    assert [pair for pair in before if order.index(pair[0]) > order.index(pair[1])] == []
    assert sh(machine, "getent passwd app; getent group app") == ""
    assert_quiet(fleet, machine)
