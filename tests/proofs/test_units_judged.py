"""A unit that is broken on the disk is not started and not restarted, whoever wrote its files (design 4.2)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost

SYSTEM: Final = "/etc/systemd/system"
PACKAGED: Final = "/usr/lib/systemd/system"
SLEEP: Final = "[Service]\nExecStart=/bin/sleep infinity\n"
SERVICE: Final = {"running": True, "settle": 0.2, "restart_on": ["file:/etc/app.conf"]}


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_booted: Callable[..., Booted], fleet: FleetOnHost) -> Booted:
    machine = make_booted(binds=(fleet.bind,))
    machine.write(
        f"{PACKAGED}/packaged.service", f"[Unit]\nNewerThanThis=yes\n{SLEEP}[Install]\nWantedBy=basic.target\n"
    )
    machine.run(["systemctl", "daemon-reload"])
    return machine


def declared(conf: str) -> dict[str, dict[str, Any]]:
    return {
        "file:/etc/app.conf": {"content": conf},
        "unit:app.service": {"content": SLEEP},
        "service:app": SERVICE,
        "unit:packaged.service/own": {"content": "[Service]\nNice=1\n"},
        "service:packaged": {**SERVICE, "enabled": True},
    }


def invocations(machine: Booted) -> list[str]:
    shown = machine.run(["systemctl", "show", "--value", "-p", "InvocationID", "app", "packaged"])
    return shown.stdout.split()


def failures(said: str) -> dict[str, tuple[str, str]]:
    """Return what failed: by whom it was refused, and why."""
    entries = json.loads(said)["resources"]
    failed = [each for each in entries if each["outcome"] in {"failed", "unverified"} and each["diagnostics"]]
    return {each["id"]: (each["refused_by"], each["diagnostics"][0]["detail"]) for each in failed}


def test_a_unit_broken_by_hand_is_not_restarted_until_it_is_right(machine: Booted, fleet: FleetOnHost) -> None:
    """A drop-in that nobody declared, and a package's unit file under a declared drop-in: both still run as before."""
    fleet.commit(declared("1\n"))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    before = invocations(machine)
    machine.run(["mkdir", f"{SYSTEM}/app.service.d"])
    machine.write(f"{SYSTEM}/app.service.d/hand.conf", "[Service]\nNice=high\n")
    machine.write(f"{PACKAGED}/packaged.service", "[Service]\nExecStart=/no/where\n")
    machine.run(["systemctl", "daemon-reload"])
    fleet.commit(declared("2\n"))
    found = failures(fleet.datum(machine, "apply", "--json", code=1))
    assert found["service:app"][0] == "unit:app.service"
    assert "hand.conf:2: Failed to parse nice priority" in found["service:app"][1]
    assert found["service:packaged"][0] == "unit:packaged.service/own"
    assert "/no/where is not executable" in found["service:packaged"][1]
    assert invocations(machine) == before
    assert machine.read("/etc/app.conf") == b"2\n"
    machine.run(["rm", f"{SYSTEM}/app.service.d/hand.conf"])
    machine.write(f"{PACKAGED}/packaged.service", SLEEP)
    fleet.datum(machine, "apply")
    after = invocations(machine)
    assert all(one != other for one, other in zip(before, after, strict=True)), "both were restarted"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_a_unit_broken_by_hand_is_not_started(machine: Booted, fleet: FleetOnHost) -> None:
    fleet.commit(declared("1\n"))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    machine.run(["systemctl", "stop", "app"])
    machine.run(["mkdir", f"{SYSTEM}/app.service.d"])
    machine.write(f"{SYSTEM}/app.service.d/hand.conf", "[Servic\nNice=3\n")
    machine.run(["systemctl", "daemon-reload"])
    found = failures(fleet.datum(machine, "apply", "--json", code=1))
    assert found.keys() == {"unit:app.service"}
    assert "hand.conf:1: Invalid section header" in found["unit:app.service"][1]
    assert machine.run(["systemctl", "is-active", "app"], check=False).stdout == "inactive\n"


def test_a_unit_that_the_manager_does_not_take_is_told(machine: Booted, fleet: FleetOnHost) -> None:
    """A daemon-reload cannot help: nothing of the drop-in is in effect, which is no mere matter of loading it."""
    fleet.commit(declared("1\n"))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    machine.write(f"{PACKAGED}/packaged.service", "[Service]\nExecStop=/bin/true\n")
    machine.run(["systemctl", "daemon-reload"])
    for _ in range(2):
        found = failures(fleet.datum(machine, "apply", "--json", code=1))
        assert "Service has no ExecStart=" in found["unit:packaged.service/own"][1]
    machine.write(f"{PACKAGED}/packaged.service", SLEEP)
    fleet.datum(machine, "apply")
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_what_a_service_begins_with_being_unmasked_is_judged_by_nobody(machine: Booted, fleet: FleetOnHost) -> None:
    """A masked unit has no text. What a package's unit is warned of is no reason."""
    machine.run(["systemctl", "mask", "packaged"])
    fleet.commit(declared("1\n"))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert machine.run(["systemctl", "is-active", "packaged"]).stdout == "active\n"
    assert "nothing to do" in fleet.datum(machine, "apply")


JOB: Final = {"timer:job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"]}}
LISTS: Final = {"service:app": {**SERVICE, "restart_on": ["file:/etc/app.conf", "timer:job"]}}
BROKEN: Final = {"timer": "[Timer]\nOnCalendar=Monday at noon\n", "service": "[Service]\nNice=high\n"}


@pytest.mark.parametrize("unit", ["timer", "service"])
def test_a_timer_broken_by_hand_is_neither_loaded_nor_started(machine: Booted, fleet: FleetOnHost, unit: str) -> None:
    """By a drop-in of either of its units. Once that is loaded by hand, what lists the timer is not restarted."""
    fleet.commit({**declared("1\n"), **JOB, **LISTS})
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    before = invocations(machine)
    folder = f"{SYSTEM}/job.{unit}.d"
    machine.run(["systemctl", "disable", "--now", "job.timer"])
    machine.run(["mkdir", folder])
    machine.write(f"{folder}/hand.conf", BROKEN[unit])
    fleet.commit({**declared("2\n"), **JOB, **LISTS})
    found = failures(fleet.datum(machine, "apply", "--json", code=1))
    assert f"{folder}/hand.conf:2: Failed to parse" in found["timer:job"][1]
    assert machine.run(["systemctl", "is-active", "job.timer"], check=False).stdout == "inactive\n"
    machine.run(["systemctl", "daemon-reload"])
    machine.run(["systemctl", "enable", "--now", "job.timer"])
    found = failures(fleet.datum(machine, "apply", "--json", code=1))
    assert found.keys() == {"service:app"}
    assert found["service:app"][0] == "timer:job"
    assert invocations(machine)[0] == before[0]
    machine.run(["rm", "-r", folder])
    fleet.datum(machine, "apply")
    assert invocations(machine)[0] != before[0]
    assert "nothing to do" in fleet.datum(machine, "apply")
