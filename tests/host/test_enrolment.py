"""`datum init` and `datum leave` on a booted Debian: timer, units, and what docs/enrolment.md has for cloud-init.

Cloud-init itself is not on the image: what it would write and run, the test writes and runs.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from datum.agent.units import UNITS
from tests.docs.test_examples import ROOT, read_document
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.timer_host import PLACE as PACKAGED
from tests.host.timer_host import TimerHost
from tests.passes.terminal import Terminal
from tests.proofs.on_host import FleetOnHost

MOTD: Final = {"file:/etc/motd": {"content": "kept\n"}}
INIT: Final = ("init", "--repo", "/srv/fleet", "--host", "web1")
CONFIG: Final = "/etc/datum/agent.yaml"
OWN: Final = "/etc/systemd/system"
# What the page says for the repository and the commit of whoever reads it.
REPO: Final = "/srv/fleet.git"
ANCHOR: Final = "ANCHOR"


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> TimerHost:
    """Give a host with the command alone, as pip installs it, and a fleet that it is not enrolled in."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit(MOTD)
    made = TimerHost(make_booted(binds=(fleet.bind,)), fleet)
    made.install(agent_bind)
    made.machine.run(["rm", *(f"{PACKAGED}/{unit}" for unit in UNITS)])
    made.machine.run(["systemctl", "daemon-reload"])
    return made


def datum(host: TimerHost, *words: str, code: int = 0) -> str:
    """Run the installed command, and return what it said."""
    done = host.machine.run(["/usr/bin/datum", *words], check=False)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in said
    return said


def head(host: TimerHost) -> str:
    return host.machine.run(["git", "-c", "safe.directory=*", "-C", "/srv/fleet", "rev-parse", "main"]).stdout.strip()


def cloud_config(name: str, host: TimerHost) -> dict[str, Any]:
    """Return an example of the page, for this repository and its commit."""
    page = (ROOT / "docs" / "enrolment.md").read_text()
    _, _, rest = page.partition(f"<!-- cloud-init: {name} -->")
    text = read_document(rest).blocks[0][1].replace(REPO, "/srv/fleet").replace(ANCHOR, head(host))
    assert text.startswith("#cloud-config\n")
    value = yaml.safe_load(text)
    assert isinstance(value, dict)
    return value


def boot_with(host: TimerHost, config: dict[str, Any]) -> None:
    """Do what cloud-init does with these two keys."""
    for file in config.get("write_files", ()):
        host.machine.run(["mkdir", "-p", str(Path(file["path"]).parent)])
        host.machine.write(file["path"], file["content"], mode=int(file["permissions"], 8))
    for command in config["runcmd"]:
        host.machine.run(command)


def await_pass(host: TimerHost) -> None:
    """Wait until a pass of the timer has put the file there."""
    host.machine.run(["systemctl", "start", "--no-block", "datum.service"])
    host.await_true("grep -qx kept /etc/motd")
    host.await_end()


def is_on(host: TimerHost) -> tuple[str, str]:
    return host.sh("systemctl is-enabled datum.timer"), host.sh("systemctl is-active datum.timer")


def test_init_shows_the_plan_enables_the_timer_and_applies_nothing(host: TimerHost) -> None:
    """Units with the command that ran; again nothing changes; the service then runs the first pass."""
    said = datum(host, *INIT)
    assert said.index("Plan: 1 to") < said.index("datum.timer runs passes from now on")
    assert is_on(host) == ("enabled", "active")
    assert "ExecStart=/usr/bin/datum apply" in host.machine.read(f"{OWN}/datum.service").decode()
    assert not host.all_reports()
    value = json.loads(datum(host, *INIT, "--json"))
    assert value["timer"] == {"is_enabled": True, "is_changed": False, "has_manager": True}
    await_pass(host)
    assert host.newest()["outcome"] == "converged"


def test_without_a_timer_no_unit_is_touched_and_a_later_init_enables_it(host: TimerHost) -> None:
    datum(host, *INIT, "--no-timer")
    assert not host.machine.run(["sh", "-c", f"ls {OWN} | grep datum"], check=False).stdout
    datum(host, "init")
    assert is_on(host) == ("enabled", "active")


@pytest.mark.parametrize(("keys", "state"), [(b"y\n", "active"), (b"n\n", "inactive"), (b"\x04", "inactive")])
def test_a_person_decides_on_the_timer_once_the_plan_was_seen(host: TimerHost, keys: bytes, state: str) -> None:
    """Whatever the answer, the host is enrolled by then; nothing is applied before it."""
    with Terminal([*host.machine._way_in(), "/usr/bin/datum", "init"]) as terminal:
        terminal.answer("or a path on this host): ", "/srv/fleet")
        terminal.answer("Name of this host in the fleet", "web1")
        terminal.answer("Branch or tag to follow [main]: ", "")
        terminal.answer("what the source names now): ", head(host))
        assert "Plan: 1 to" in terminal.expect(
            "Let the timer run passes from now on? The first one does this plan. [y/N]: "
        )
        assert is_on(host)[1] == "inactive"
        terminal.press(keys)
        assert terminal.end() == 0
        assert ("No timer runs passes. To let it: datum init" in terminal.said) == (state == "inactive")
    assert is_on(host)[1] == state


def test_a_masked_timer_is_told_before_anything_is_written(host: TimerHost) -> None:
    """The mask is a person's word; with --no-timer it may stay."""
    host.machine.run(["systemctl", "mask", "datum.timer"])
    said = datum(host, *INIT, code=78)
    assert "timer-masked" in said
    assert not host.machine.run(["ls", CONFIG], check=False).stdout
    datum(host, *INIT, "--no-timer")


def test_from_a_path_the_account_that_reads_revisions_is_made_alone(host: TimerHost) -> None:
    """No server is talked to; the next pass reads as that account what this init shared with nobody's."""
    said = datum(host, *INIT, "--no-timer")
    assert "made the account datum-resolve, under which revisions are read" in said
    assert not host.sh("getent passwd datum-source")
    assert host.sh("getent passwd datum-resolve").split(":")[4:] == [
        "datum, reading revisions",
        "/nonexistent",
        "/usr/sbin/nologin",
    ]
    assert "made the account" not in datum(host, *INIT, "--no-timer")
    datum(host, "apply")


def test_a_command_that_no_unit_can_name_is_told_before_anything_is_written(
    host: TimerHost, agent_bind: AgentBind
) -> None:
    """As `python -m datum` without the command beside it, and as one that others than root may write."""
    host.machine.run(["mv", "/usr/bin/datum", "/usr/bin/other"])
    done = host.machine.run([*agent_bind.argv, *INIT], env=agent_bind.env, check=False)
    assert (done.returncode, "[units-executable]" in done.stderr) == (64, True), done
    host.machine.run(["mv", "/usr/bin/other", "/usr/bin/datum"])
    host.machine.run(["chmod", "g+w", "/usr/bin/datum"])
    assert "others than root can change /usr/bin/datum" in datum(host, *INIT, code=64)
    host.machine.run(["test", "!", "-e", CONFIG])
    host.machine.run(["test", "!", "-e", "/var/lib/datum"])


def test_leaving_takes_the_timer_along_and_keeps_what_was_enforced(host: TimerHost) -> None:
    datum(host, *INIT)
    await_pass(host)
    assert "leave-not-confirmed" in datum(host, "leave", code=64)
    assert is_on(host) == ("enabled", "active")
    said = datum(host, "leave", "--yes")
    assert f"removed  {OWN}/datum.timer" in said
    assert is_on(host)[1] == "inactive"
    assert not host.machine.run(["sh", "-c", f"ls -d {OWN}/datum* {CONFIG} /var/lib/datum"], check=False).stdout
    assert host.machine.read("/etc/motd") == b"kept\n"
    assert json.loads(host.machine.read("/var/log/datum/reports/left.json"))["resources"] == ["file:/etc/motd"]
    assert "nothing to leave" in datum(host, "leave")


def test_units_of_a_package_stay_when_a_host_leaves(host: TimerHost, agent_bind: AgentBind) -> None:
    host.install(agent_bind)
    datum(host, *INIT)
    assert not host.machine.run(["sh", "-c", f"ls {OWN}/datum.service"], check=False).stdout
    datum(host, "leave", "--yes")
    assert is_on(host) == ("disabled", "inactive")
    assert host.machine.read(f"{PACKAGED}/datum.timer")


def test_the_page_for_cloud_init_enrols_by_the_command(host: TimerHost) -> None:
    boot_with(host, cloud_config("command", host))
    assert is_on(host) == ("enabled", "active")
    await_pass(host)


def test_the_page_for_cloud_init_enrols_by_the_file(host: TimerHost, agent_bind: AgentBind) -> None:
    """With the units of a package; the first pass makes first contact."""
    host.install(agent_bind)
    boot_with(host, cloud_config("file", host))
    await_pass(host)
    assert host.newest()["outcome"] == "converged"
    assert json.loads(host.machine.read("/var/lib/datum/pointer.json"))["accepted"] == f"sha1:{head(host)}"


def test_a_commit_that_is_not_the_anchor_is_refused_by_the_timer(host: TimerHost, agent_bind: AgentBind) -> None:
    host.install(agent_bind)
    config = cloud_config("file", host)
    config["write_files"][0]["content"] = config["write_files"][0]["content"].replace(head(host), "0" * 40)
    boot_with(host, config)
    host.machine.run(["systemctl", "start", "datum.service"], check=False)
    assert host.show("datum.service", "ExecMainStatus") == "76"
    assert "not-anchored" in host.sh("journalctl --unit=datum.service --output=cat --no-pager")
    assert host.machine.run(["cat", "/etc/motd"]).stdout != "kept\n"
