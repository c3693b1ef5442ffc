"""The agent changes itself in a pass of its own service: its package, unit, timer, configuration, Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from datum.agent.units import UNITS
from tests.harness.booted import Booted
from tests.harness.plugin import LIBRARIES, SOURCES, AgentBind
from tests.host.timer_host import SERVICE, SHIPPED, TimerHost, make_host
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import FleetOnHost

CODE: Final = "/usr/lib/datum"
CONFIG: Final = "/etc/datum/agent.yaml"
# What of Python's own is loaded late stands for all that an upgrade of it takes away.
STANDARD: Final = "/usr/lib/python3.11"
# The new code, of whatever version: no module of it fits to those of the old.
POISON: Final = "raise SystemExit('a module of the other version was loaded')\n"


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> TimerHost:
    """Give a host whose agent lies where a package may replace it."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"directory:/srv": {}})
    machine = make_booted(binds=(fleet.bind,))
    for place in (LIBRARIES, SOURCES):
        machine.run(["sh", "-c", f"mkdir -p {CODE}; cp -rL {place} {CODE}/"], timeout=120)
    moved = {"PYTHONPATH": f"{CODE}/src:{CODE}/lib", "PYTHONDONTWRITEBYTECODE": "1"}
    return make_host(machine, fleet, AgentBind((), moved))


def told(report: dict[str, Any]) -> list[Any]:
    """Return what a report says of what did not go well."""
    return [
        report["diagnostics"],
        *((one["id"], one["outcome"], one["detail"], one["diagnostics"]) for one in report["resources"]),
    ]


def replacing(script: str) -> Deb:
    """Return a package of the agent whose installation does what an upgrade does to the files of the one that runs."""
    return Deb("datum-agent", "2.0-1", control={"postinst": f"#!/bin/sh\nset -e\n{script}\n"})


POISONING: Final = (
    f"cp -r {CODE} /srv/old; find {CODE} -name '__pycache__' -prune -exec rm -r {{}} +; "
    f"find {CODE} -name '*.so*' -delete; find {CODE} -name '*.py' | while read file; do "
    f'printf "%s" "{POISON.strip()}" > "$file"; done; systemctl daemon-reload'
)


def test_an_upgrade_of_the_agent_neither_ends_the_pass_nor_is_mixed_into_it(host: TimerHost) -> None:
    """Every module on the disk is another one from the middle of the pass on; actions, verification, report go on."""
    Archive(host.machine).publish(replacing(POISONING))
    later = {"content": "later\n", "mode": "0640", "requires": ["package:datum-agent"]}
    report = host.tick(
        {
            "package:datum-agent": {"version": "2.0-1"},
            "file:/srv/later": later,
            "service:cron": {"running": True, "restart_on": ["file:/srv/later"], "requires": ["file:/srv/later"]},
            "user:app": {"requires": ["package:datum-agent"]},
            "unit:app.service": {
                "content": "[Service]\nExecStart=/bin/sleep infinity\n",
                "requires": ["package:datum-agent"],
            },
            "command:after": {"run": ["touch", "/srv/after"], "creates": "/srv/after", "requires": ["user:app"]},
        }
    )
    assert (report["outcome"], report["exit_code"]) == ("converged", 0), told(report)
    assert host.show(SERVICE, "Result") == "success"
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' datum-agent; dpkg --audit") == "ii"
    assert host.sh("cat /srv/later; ls /srv/after") == "later\n/srv/after"
    # The next tick is the other version's, here one that only says so.
    host.machine.run(["systemctl", "start", SERVICE], check=False)
    assert "a module of the other version was loaded" in host.sh(f"journalctl -o cat --no-pager -u {SERVICE}")
    host.sh(f"rm -r {CODE}; mv /srv/old {CODE}")
    host.machine.run(["systemctl", "start", SERVICE])
    assert host.newest()["outcome"] == "converged"
    assert not host.newest()["resources"]


def test_an_upgrade_of_python_takes_nothing_from_the_pass_that_runs(host: TimerHost) -> None:
    """As one from bookworm to trixie does, which takes the whole library of the old one away."""
    Archive(host.machine).publish(replacing(f"mv {STANDARD} {STANDARD}.away"))
    report = host.tick(
        {
            "package:datum-agent": {},
            "file:/srv/later": {"content": "later\n", "requires": ["package:datum-agent"]},
        }
    )
    assert (report["outcome"], report["exit_code"]) == ("converged", 0), told(report)
    assert host.sh("cat /srv/later") == "later"


def test_unit_and_timer_are_changed_by_a_pass_in_them(host: TimerHost) -> None:
    """The pass goes on; what runs from the changed unit is the next one."""
    text = (SHIPPED / SERVICE).read_text().replace("[Service]\n", "[Service]\nEnvironment=CHANGED=yes\n")
    timer = (SHIPPED / "datum.timer").read_text().replace("*:0/10", "*:0/20")
    host.machine.run(["systemctl", "enable", "--now", "datum.timer"])
    report = host.tick(
        {
            "unit:datum.service": {"content": text, "allow": ["access_loss"]},
            "unit:datum.service/nice": {"content": "[Service]\nNice=5\n", "allow": ["access_loss"]},
            "unit:datum.timer": {"content": timer, "allow": ["access_loss"]},
            "service:datum.timer": {"running": True, "enabled": True},
            "file:/srv/later": {"content": "", "requires": ["unit:datum.service/nice", "unit:datum.timer"]},
        }
    )
    assert (report["outcome"], report["exit_code"]) == ("converged", 0), told(report)
    assert host.sh("ls /srv/later") == "/srv/later"
    assert host.show(SERVICE, "Nice") == "5"
    assert "CHANGED=yes" in host.show(SERVICE, "Environment")
    assert "*:00/20" in host.show("datum.timer", "TimersCalendar")
    assert host.show("datum.timer", "ActiveState") == "active"
    assert host.show("datum.timer", "NeedDaemonReload") == "no"


@pytest.mark.parametrize("listed", ["restart_on", "reload_on"])
def test_a_restart_of_the_service_that_the_pass_runs_in_is_no_manifest(host: TimerHost, listed: str) -> None:
    host.fleet.commit({"file:/srv/a": {"content": ""}, "service:datum": {listed: ["file:/srv/a"]}})
    said = host.fleet.datum(host.machine, "apply", code=65)
    assert "is the agent, and a pass does not restart what it runs in" in said


def test_the_configuration_is_no_target_and_what_changes_it_meanwhile_is_for_the_next_pass(host: TimerHost) -> None:
    """A command or a package of the manifest may do so: the pass that runs goes on as it began."""
    host.fleet.commit({f"file:{CONFIG}": {"content": "repo: /elsewhere\n"}})
    before = host.machine.read(CONFIG)
    assert "/etc/datum" in host.fleet.datum(host.machine, "apply", code=65)
    assert host.machine.read(CONFIG) == before
    change = f"echo 'enforcement: observe' >> {CONFIG}; touch /srv/changed"
    resources = {
        "command:change": {"run": ["sh", "-c", change], "creates": "/srv/changed"},
        "file:/srv/later": {"content": "later\n", "requires": ["command:change"]},
    }
    report = host.tick(resources)
    assert (report["outcome"], report["exit_code"]) == ("converged", 0), told(report)
    assert host.sh("cat /srv/later") == "later"
    assert host.machine.read(CONFIG) == before + b"enforcement: observe\n", "nobody wrote it anew"
    report = host.tick({**resources, "file:/srv/later": {"content": "other\n"}})
    assert report["outcome"] == "planned", told(report)
    assert host.sh("cat /srv/later") == "later"


# Kills who asks it to read units anew, before it does, as long as a file says so.
KILLING: Final = """#!/bin/sh
case "$*" in *daemon-reload*) [ -e /srv/kill ] && kill -KILL $PPID && exit 1 ;; esac
exec systemctl.real "$@"
"""


def test_units_that_a_killed_init_changed_are_read_by_the_next(host: TimerHost) -> None:
    """With the timer on all the while, so that nothing else has them read; and leave takes back what init did."""
    host.machine.run(["systemctl", "enable", "--now", "datum.timer"])
    host.sh("mv /usr/bin/systemctl /usr/bin/systemctl.real; mkdir -p /srv/own; touch /srv/kill")
    host.machine.write("/usr/bin/systemctl", KILLING, mode=0o755)
    config = ("--config", "/srv/own/agent.yaml")
    init = ("/usr/bin/datum", "init", *config, "--repo", "/srv/fleet", "--host", "web1", "--no-plan")
    leave = ("/usr/bin/datum", "leave", *config, "--yes")
    assert host.machine.run(init, check=False).returncode in {-9, 137}
    assert config[1] not in host.show(SERVICE, "ExecStart")
    host.sh("rm /srv/kill")
    host.machine.run(init)
    assert config[1] in host.show(SERVICE, "ExecStart")
    host.sh("touch /srv/kill")
    assert host.machine.run(leave, check=False).returncode in {-9, 137}
    host.sh("rm /srv/kill")
    host.machine.run(leave)
    assert config[1] not in host.show(SERVICE, "ExecStart")
    assert {host.show(unit, "NeedDaemonReload") for unit in UNITS} == {"no"}
