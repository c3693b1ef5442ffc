"""`datum doctor` on a booted Debian: all is well, units that are broken in one way each, and a user without rights."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.changes import Change
from tests.harness.plugin import AgentBind
from tests.host.timer_host import PLACE, TimerHost, make_host
from tests.proofs.on_host import FleetOnHost

MOTD: Final = {"file:/etc/motd": {"content": "kept\n"}}
ENABLE: Final = "systemctl enable --now datum.timer"


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> TimerHost:
    """Give a host that converged, and whose timer is enabled."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit(MOTD)
    made = make_host(make_booted(binds=(fleet.bind,)), fleet, agent_bind)
    made.machine.run(["sh", "-c", ENABLE])
    made.machine.run(["/usr/bin/datum", "apply"])
    made.await_end()
    return made


def diagnose(host: TimerHost, *words: str) -> Mapping[str, Any]:
    done = host.machine.run(["/usr/bin/datum", "doctor", "--json", *words], check=False)
    assert "Traceback" not in done.stderr, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert done.returncode == found["exit_code"], done.stdout
    return found


def of(found: Mapping[str, Any], check: str, name: str = "") -> Mapping[str, Any]:
    """Return what one check found, of one thing."""
    one: Mapping[str, Any]
    (one,) = [each for each in found["checks"] if each["check"] == check and (not name or each["of"] == name)]
    return one


def everything(host: TimerHost) -> Mapping[str, Change]:
    """Return what differs from a fresh host, but for what runs by itself."""
    runs = ("/var/log/journal", "/run", "/tmp", "/var/tmp", "/var/lib/systemd")
    return {path: change for path, change in host.machine.changes().items() if not path.startswith(runs)}


def test_a_host_that_is_well_has_no_fault(host: TimerHost) -> None:
    """Units, private mounts and programs of a real Debian among them; nothing is changed by looking."""
    before = everything(host)
    found = diagnose(host)
    assert found["counts"]["fault"] == 0, [each for each in found["checks"] if each["state"] == "fault"]
    assert everything(host) == before
    good = ("service-manager", "failed-units", "private-mounts", "unnamed-files", "pointer", "mirror", "last-pass")
    assert {of(found, name)["state"] for name in good} == {"ok"}
    timer = of(found, "timer-unit", "datum.timer")
    assert (timer["state"], timer["facts"]["file_state"]) == ("ok", "enabled")
    assert timer["facts"]["next"] > "2026"
    assert of(found, "service-unit")["state"] == "ok"
    assert of(found, "program-version", "apt")["facts"]["version"].startswith("2.6")
    text = host.machine.run(["/usr/bin/datum", "doctor"]).stdout
    assert "datum.timer is enabled, and elapses next at 20" in " ".join(text.split())


@pytest.mark.parametrize(
    ("spoil", "check", "unit", "state", "words"),
    [
        ("systemctl disable --now datum.timer", "timer-unit", "datum.timer", "fault", "is disabled"),
        ("systemctl stop datum.timer", "timer-unit", "datum.timer", "fault", "is inactive"),
        ("systemctl mask datum.timer", "timer-unit", "datum.timer", "fault", "is masked"),
        ("systemctl mask datum.service", "service-unit", "datum.service", "fault", "is masked"),
        (
            f"systemctl disable --now datum.timer; rm {PLACE}/datum.timer; systemctl daemon-reload",
            "timer-unit",
            "datum.timer",
            "fault",
            "There is no datum.timer",
        ),
        (f"echo >> {PLACE}/datum.service", "service-unit", "datum.service", "warning", "files changed"),
        (
            "rm -r /srv/fleet/.git /srv/fleet; echo 'x: y' >> /etc/datum/agent.yaml; systemctl start datum.service",
            "service-unit",
            "datum.service",
            "warning",
            "ended with 78 (CONFIG)",
        ),
        ("systemctl stop systemd-logind; systemctl mask systemd-logind", "login-manager", "", "warning", "logind"),
    ],
    ids=["disabled", "stopped", "masked", "service-masked", "missing", "changed", "failed", "logind"],
)
def test_units_that_are_broken(host: TimerHost, spoil: str, check: str, unit: str, state: str, words: str) -> None:
    host.sh(spoil)
    found = diagnose(host)
    said = of(found, check, unit)
    assert (said["state"], words in said["found"]) == (state, True), said
    assert said["cure"]
    assert {of(found, name)["state"] for name in ("pointer", "resource-types", "service-manager")} == {"ok"}


def test_an_ordinary_user_is_told_what_only_root_can_check(host: TimerHost) -> None:
    """No traceback, no guess: what is shut is not checked, the rest is."""
    host.machine.run(["chmod", "0700", "/var/lib/datum"])
    host.machine.run(["useradd", "--create-home", "ann"])
    run = ["setpriv", "--reuid", "ann", "--regid", "ann", "--clear-groups", "/usr/bin/datum", "doctor"]
    done = host.machine.run([*run, "--json"], check=False)
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert done.returncode == found["exit_code"] == 0, [e for e in found["checks"] if e["state"] == "fault"]
    assert of(found, "rights-of-root")["state"] == "warning"
    shut = {each["check"] for each in found["checks"] if each["needs_root"]}
    assert {"pointer", "mirror"} <= shut
    assert {each["state"] for each in found["checks"] if each["needs_root"]} == {"not_checked"}
    assert of(found, "timer-unit", "datum.timer")["state"] == "ok"
    text = host.machine.run(run, check=False).stdout
    last = " ".join(text.split()).rpartition("As root datum doctor also checks ")[2]
    assert "pointer" in last


def test_a_container_without_rights_says_what_it_lacks(host: TimerHost) -> None:
    """Without CAP_SYS_ADMIN nothing can be enclosed, and checks see candidates late: with the call that was refused."""
    run = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "/usr/bin/datum", "doctor", "--json"]
    found = json.loads(host.machine.run(run, check=False).stdout)
    assert "CAP_SYS_ADMIN" in of(found, "capabilities")["found"]
    mounts = of(found, "private-mounts")
    assert (mounts["state"], "unshare" in mounts["found"]) == ("warning", True)
