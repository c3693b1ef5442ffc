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

SCOPE = "systemctl list-units --state=running --plain --no-legend 'datum-apt-*.scope' | cut -d ' ' -f 1"
UNIT_OF_AGENT = "datum.service"
WAITED = "waited-for-program"
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
# It asks nobody, and ends with the first error.
BOLD = """#!/bin/sh -e
systemctl daemon-reload
systemctl enable bold.service
systemctl restart bold.service
ls -d /run/systemd/system/*.d > /srv/withheld || :
"""
WAITS = "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
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
    """A service of the fleet is not started with the configuration that its package brings; one of others is.

    Whether its script asks for the policy, or has the service manager start it.
    """
    conf = "/etc/bold.conf"
    files = {conf: "theirs\n", "/lib/systemd/system/bold.service": UNIT.replace("/etc/app.conf", conf)}
    bold = Deb("bold", control={"postinst": BOLD, "conffiles": f"{conf}\n"}, files=files)
    host.archive.publish(app(), app(name="other"), bold)
    declared: Resources = {
        "package:bold": {},
        f"file:{conf}": {"content": "ours\n", "requires": ["package:bold"]},
        "service:bold": {"running": True, "enabled": True, "requires": [f"file:{conf}"]},
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
    assert host.sh(f"ls {POLICY}; cat /srv/withheld; ls /run/systemd/system") == (
        "/run/systemd/system/app.service.d\n/run/systemd/system/bold.service.d"
    )
    assert host.sh("journalctl -u bold -o cat --no-pager | grep -x -e ours -e theirs") == "ours"
    assert host.sh("systemctl show -p NeedDaemonReload,DropInPaths bold") == "DropInPaths=\nNeedDaemonReload=no"
    assert "nothing to do" in host.apply(declared)


def test_a_service_that_shall_not_run_is_not_started_by_installing(host: Host) -> None:
    """One without which the installation of its package cannot end is started by the pass after that."""
    script = BOLD.replace("bold", "waits") + "systemctl is-active waits\n"
    waits = Deb("waits", control={"postinst": script}, files={"/lib/systemd/system/waits.service": WAITS})
    host.archive.publish(app(), waits)
    declared: Resources = {"package:app": {}, "service:app": {"running": False}}
    declared = {**declared, "package:waits": {}, "service:waits": {"running": True}}
    host.apply(declared, code=1)
    assert host.sh("systemctl is-active app waits") == "inactive\ninactive"
    assert host.sh("journalctl -u app -o cat --no-pager | grep -c Started") == "0"
    host.apply(declared)
    assert host.sh("systemctl is-active app waits") == "inactive\nactive"
    assert "nothing to do" in host.apply(declared)


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


def kill(host: Host) -> None:
    """End the agent and whatever else is in its unit, and run it again at once."""
    host.machine.run(["systemctl", "kill", "--kill-whom=all", "--signal=KILL", UNIT_OF_AGENT])
    host.await_true(f"! systemctl is-active --quiet {UNIT_OF_AGENT}")
    host.machine.run(["systemctl", "start", UNIT_OF_AGENT])


def stop(host: Host) -> None:
    """Stop the agent, which waits for its action and is killed for that, and run it again at once."""
    host.machine.run(["systemctl", "stop", UNIT_OF_AGENT])
    host.machine.run(["systemctl", "start", UNIT_OF_AGENT])


def restart(host: Host) -> None:
    """Restart the agent, as an upgrade of its own package may do."""
    host.machine.run(["systemctl", "restart", UNIT_OF_AGENT])


@pytest.mark.parametrize("end", [kill, stop, restart])
def test_apt_outlives_the_agent_and_the_next_pass_says_that_it_waits_for_it(
    host: Host, end: Callable[[Host], None]
) -> None:
    """Whether the agent is killed, or its unit is stopped with everything in it: apt is in a scope of its own."""
    host.archive.publish(Deb("slow", control={"postinst": SLOW}), Deb("next"))
    host.fleet.commit({"package:slow": {}, "package:next": {}, "service:slow": {"running": False}})
    env = "".join(f"Environment={name}={value}\n" for name, value in host.fleet.env.items())
    command = f"ExecStart={' '.join(host.fleet.argv)} apply\n"
    # Else the stop would wait for as long as the agent does.
    host.machine.write(f"/etc/systemd/system/{UNIT_OF_AGENT}", f"[Service]\n{env}{command}TimeoutStopSec=1\n")
    host.machine.run(["systemctl", "daemon-reload"])
    host.machine.run(["systemctl", "start", UNIT_OF_AGENT])
    host.await_true("[ -e /srv/begun ]")
    scope = host.sh(SCOPE)
    assert scope.startswith("datum-apt-")
    assert host.sh(f"ls {POLICY} /run/systemd/system") == f"{POLICY}\n\n/run/systemd/system:\nslow.service.d"
    end(host)
    assert host.sh(SCOPE) == scope, "apt goes on"
    env = " ".join(f"{name}={value}" for name, value in host.fleet.env.items())
    host.await_true(f"{env} {' '.join(host.fleet.argv)} status | grep -q 'waiting for {scope}'")
    assert host.sh(f"systemctl is-active {UNIT_OF_AGENT}; ls /srv/done") == "active"
    host.machine.write("/srv/go", "")
    host.await_true(f"! systemctl is-active --quiet {UNIT_OF_AGENT}")
    assert host.sh(f"systemctl show -p Result --value {UNIT_OF_AGENT}; ls /srv/done") == "success\n/srv/done"
    newest = reports(host.machine)[-1]
    assert newest["outcome"] == "converged"
    assert [note["detail"].split()[0] for note in newest["diagnostics"] if note["code"] == WAITED] == [scope]
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow next") == "ii ii"
    assert host.sh("dpkg --audit; ls /var/lib/dpkg/updates") == ""
    assert host.sh(f"ls {POLICY} /run/systemd/system") == "/run/systemd/system:"
    assert "nothing to do" in host.fleet.datum(host.machine, "apply")


def test_a_stopped_pass_finishes_the_transaction_and_reports(host: Host) -> None:
    """SIGTERM lets the action in hand end."""
    host.archive.publish(Deb("slow", control={"postinst": SLOW}))
    declared: Resources = {"package:slow": {}, "file:/srv/later": {"content": "", "requires": ["package:slow"]}}
    host.fleet.commit(declared)
    with host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env) as running:
        host.await_true("[ -e /srv/begun ]")
        agent = host.sh("pgrep --oldest --full -- '-m datum apply$'")
        host.machine.run(["kill", "-TERM", agent])
        # Nothing is pending once the kernel has handed it over.
        host.await_true(f"! grep -q 'Pnd:.*[1-9a-f]' /proc/{agent}/status")
        host.machine.write("/srv/go", "")
        running.communicate(timeout=120)
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow") == "ii"
    assert reports(host.machine)[-1]["exit_code"] == 128 + signal.SIGTERM
    assert host.sh("ls /srv/later") == ""
    assert host.apply(declared)
    assert host.sh("ls /srv/later") == "/srv/later"
