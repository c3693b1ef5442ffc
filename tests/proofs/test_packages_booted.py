"""Packages on a running Debian: their services, and an agent that ends while apt works."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import FleetOnHost, Resources, reports

ALIVE = "systemctl is-active --quiet 'datum-apt-*.scope' && echo alive"
POLICY = "/usr/sbin/policy-rc.d"
UNIT = (
    "[Service]\nExecStart=/bin/sh -c 'cat /etc/app.conf; exec sleep infinity'\n[Install]\nWantedBy=multi-user.target\n"
)
# As debhelper writes them: started when installed, restarted by an upgrade.
POSTINST = """#!/bin/sh
deb-systemd-helper enable app.service >/dev/null || true
systemctl daemon-reload
[ -n "$2" ] && action=restart || action=start
deb-systemd-invoke $action app.service >/dev/null || true
"""
STOPPING = "#!/bin/sh\ndeb-systemd-invoke stop app.service >/dev/null || true\n"
SLOW = "#!/bin/sh\ntouch /srv/begun; while [ ! -e /srv/go ]; do sleep 0.1; done; touch /srv/done\n"


@frozen
class Host:
    """A running Debian, its archive, and the fleet that declares what it shall have."""

    machine: Booted
    fleet: FleetOnHost
    archive: Archive

    def apply(self, resources: Resources, code: int = 0) -> str:
        self.fleet.commit(resources)
        return self.fleet.datum(self.machine, "apply", code=code)

    def sh(self, script: str) -> str:
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def await_true(self, script: str) -> None:
        """Wait until a script succeeds."""
        end = time.monotonic() + 120
        while self.machine.run(["sh", "-c", script], check=False).returncode:
            assert time.monotonic() < end, script
            time.sleep(0.05)


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> Host:
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"directory:/srv": {}})
    machine = make_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    return Host(machine, fleet, Archive(machine))


def app(version: str = "1.0-1", name: str = "app") -> Deb:
    files = {f"/lib/systemd/system/{name}.service": UNIT}
    control = {"postinst": POSTINST.replace("app.service", f"{name}.service")}
    control["prerm"] = STOPPING.replace("app.service", f"{name}.service")
    return Deb(name, version, fields={"Depends": "init-system-helpers"}, control=control, files=files)


def test_configuration_comes_between_installing_and_starting(host: Host) -> None:
    """A service of the fleet is not started with the configuration that its package brings; one of others is."""
    host.archive.publish(app(), app(name="other"))
    declared: Resources = {
        "package:app": {},
        "package:other": {},
        "file:/etc/app.conf": {"content": "ours\n", "requires": ["package:app"]},
        "service:app": {"running": True, "requires": ["file:/etc/app.conf"]},
    }
    host.apply(declared)
    assert host.sh("systemctl is-active app other") == "active\nactive"
    lines = host.sh("journalctl -u app -o cat --no-pager | grep -c 'No such file'")
    assert lines == "0", "it was never started without its configuration"
    assert host.sh("systemctl show -p NRestarts --value app") == "0"
    assert host.sh(f"ls {POLICY}") == ""
    assert "nothing to do" in host.apply(declared)


def test_a_service_that_shall_not_run_is_not_started_by_installing(host: Host) -> None:
    host.archive.publish(app())
    host.apply({"package:app": {}, "service:app": {"running": False}})
    assert host.sh("systemctl is-active app") == "inactive"
    assert host.sh("journalctl -u app -o cat --no-pager | grep -c Started") == "0"


def test_an_upgrade_leaves_a_running_service_running(host: Host) -> None:
    """Its scripts stop it, and start it again."""
    host.archive.publish(app())
    declared: Resources = {"package:app": {}, "service:app": {"running": True}}
    host.apply(declared)
    before = host.sh("systemctl show -p MainPID --value app")
    host.archive.publish(app("1.1-1"))
    host.sh("touch -d '1 hour ago' /etc/apt/sources.list*; touch -d '2 minutes ago' /var/lib/apt/lists/partial")
    host.apply({**declared, "package:app": {"version": "1.1-1"}})
    assert host.sh("systemctl is-active app") == "active"
    assert host.sh("systemctl show -p MainPID --value app") != before


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_apt_outlives_the_agent_and_the_next_pass_waits_for_it(host: Host, is_killed: bool) -> None:
    """Whether the agent is killed, or its whole unit is stopped with everything in it."""
    host.archive.publish(Deb("slow", control={"postinst": SLOW}), Deb("next"))
    host.fleet.commit({"package:slow": {}, "package:next": {}})
    env = [f"--setenv={name}={value}" for name, value in host.fleet.env.items()]
    host.machine.run(["systemd-run", "--quiet", "--unit=pass", *env, "--", *host.fleet.argv, "apply"])
    host.await_true("[ -e /srv/begun ]")
    assert host.sh(ALIVE) == "alive"
    if is_killed:
        host.machine.run(["systemctl", "kill", "--kill-whom=all", "--signal=KILL", "pass.service"])
    else:
        host.machine.run(["systemctl", "kill", "--kill-whom=main", "--signal=KILL", "pass.service"])
        host.machine.run(["systemctl", "stop", "pass.service"])
    host.await_true("! systemctl is-active --quiet pass.service")
    assert host.sh(ALIVE) == "alive", "apt goes on"
    with host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env) as waiting:
        time.sleep(3)
        assert waiting.poll() is None, "it waits for what was begun"
        host.machine.write("/srv/go", "")
        out, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 0, out + err
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow next") == "ii ii"
    assert host.sh("dpkg --audit; ls /var/lib/dpkg/updates") == ""
    assert host.sh(f"ls {POLICY}") == ""
    assert "nothing to do" in host.fleet.datum(host.machine, "apply")


def test_a_stopped_pass_finishes_the_transaction_and_reports(host: Host) -> None:
    """SIGTERM lets the action in hand end."""
    host.archive.publish(Deb("slow", control={"postinst": SLOW}))
    host.fleet.commit({"package:slow": {}, "file:/srv/later": {"content": ""}})
    with host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env) as running:
        host.await_true("[ -e /srv/begun ]")
        host.sh("pkill -TERM -f 'datum apply'")
        time.sleep(1)
        host.machine.write("/srv/go", "")
        running.communicate(timeout=120)
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow") == "ii"
    assert reports(host.machine)[-1]["exit_code"] in {0, 128 + signal.SIGTERM}
