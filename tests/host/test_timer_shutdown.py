"""A shutdown, and whatever else ends things, in the middle of a pass of the service."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python, write_unit
from tests.host.test_timer import SLOWLY
from tests.host.timer_host import SERVICE, TimerHost, make_host
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import FleetOnHost, Resources

# Ends only when the host is about to stop, and after it as late as a real script might.
POSTINST: Final = "#!/bin/sh\ntouch /srv/begun; while [ ! -e /srv/go ]; do sleep 0.1; done; sleep 3; touch /srv/done\n"
LATER: Final = {"content": "", "requires": ["command:slow"]}
ANNOUNCED: Final = (
    "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
    "PreparingForShutdown"
)
INHIBITORS: Final = "systemd-inhibit --list --no-pager --no-legend | grep datum"


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> TimerHost:
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"directory:/srv": {}})
    return make_host(make_booted(binds=(fleet.bind,)), fleet, agent_bind)


def go_at_shutdown(host: TimerHost) -> None:
    """Have what waits for /srv/go go on when units are being stopped, and not before."""
    write_unit(host.machine, "last.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStop=/bin/touch /srv/go")
    host.machine.run(["systemctl", "start", "last.service"])


def test_a_shutdown_in_the_middle_of_a_transaction_of_apt(host: TimerHost) -> None:
    """The transaction reaches its end, the pass its report, and the next boot's pass has what was left to do."""
    Archive(host.machine).publish(Deb("slow", control={"postinst": POSTINST}), Deb("next"))
    declared: Resources = {
        "package:slow": {},
        "file:/srv/later": {"content": "", "requires": ["package:slow"]},
        "package:next": {"requires": ["file:/srv/later"]},
    }
    go_at_shutdown(host)
    host.begin(declared)
    host.await_true("[ -e /srv/begun ]")
    host.machine.power_off()
    host.machine.start()
    assert host.sh("ls /srv/done; dpkg --audit; ls /var/lib/dpkg/updates") == "/srv/done"
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow") == "ii"
    report = host.newest()
    assert (report["outcome"], report["exit_code"]) == ("interrupted", 143)
    assert host.sh("ls /srv/later") == ""
    host.machine.run(["systemctl", "start", SERVICE])
    assert host.newest()["outcome"] == "converged"
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' slow next; ls /srv/later") == "ii ii /srv/later"


def test_a_shutdown_waits_for_the_command_in_hand(host: TimerHost) -> None:
    go_at_shutdown(host)
    host.begin({"command:slow": SLOWLY, "file:/srv/later": LATER})
    host.await_true("[ -e /srv/begun ]")
    host.machine.power_off()
    host.machine.start()
    assert host.sh("ls /srv/done /srv/later 2>/dev/null") == "/srv/done"
    assert host.newest()["outcome"] == "interrupted"


def test_a_lock_delays_the_shutdown_while_actions_run_and_not_longer(host: TimerHost) -> None:
    host.begin({"command:slow": SLOWLY})
    host.await_true("[ -e /srv/begun ]")
    held = host.sh(INHIBITORS)
    assert "shutdown" in held
    assert "delay" in held
    assert "sleep" not in held
    host.machine.write("/srv/go", "")
    host.await_end()
    assert host.sh(INHIBITORS) == ""


def test_a_shutdown_that_is_announced_ends_a_pass_of_a_person_after_the_action_in_hand(host: TimerHost) -> None:
    """Nothing else tells it before everything is being stopped."""
    host.sh("mkdir -p /etc/systemd/logind.conf.d")
    host.machine.write("/etc/systemd/logind.conf.d/test.conf", "[Login]\nInhibitDelayMaxSec=60\n")
    host.sh("systemctl restart systemd-logind")
    host.fleet.commit({"command:slow": SLOWLY, "file:/srv/later": LATER})
    own = host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env)
    try:
        host.await_true(f"[ -e /srv/begun ] && {INHIBITORS}")
        host.machine.run(["systemctl", "--no-block", "poweroff"])
        host.await_true(f"{ANNOUNCED} | grep -q true")
        assert host.sh("systemctl is-system-running") == "running"
        host.machine.write("/srv/go", "")
        own.communicate(timeout=60)
    finally:
        own.kill()
        own.communicate()
    host.machine._await_down(60.0)
    host.machine.start()
    # The latter where what stops everything is quicker than the end of Python.
    assert own.returncode in {143, -signal.SIGTERM}
    assert host.sh("ls /srv/done /srv/later 2>/dev/null") == "/srv/done"
    assert host.newest()["outcome"] == "interrupted"


@pytest.mark.parametrize(
    "script",
    [
        "systemctl mask --now systemd-logind.service",
        "systemctl stop dbus.socket dbus.service; rm -f /run/dbus/system_bus_socket",
        "pkill -STOP -x dbus-daemon",
    ],
)
def test_without_logind_or_a_bus_that_answers_a_pass_does_what_it_always_does(host: TimerHost, script: str) -> None:
    host.sh(script)
    host.fleet.commit({"file:/srv/made": {"content": ""}})
    said = host.fleet.datum(host.machine, "apply")
    assert "Converged" in said
    assert host.sh("ls /srv/made") == "/srv/made"
    host.sh("pkill -CONT -x dbus-daemon")


def test_a_program_that_waits_for_the_agent_to_end_is_left_after_a_while(
    host: TimerHost, agent_bind: AgentBind
) -> None:
    """As a maintainer script that restarts the agent's service: each would wait for the other for ever."""
    answer = python(
        host.machine,
        agent_bind,
        """
        import os
        from datum.host import scope
        scope.LEAVING, scope._LOOK = 1.0, 0.1
        host.heed_stopping(lambda: True)
        script = "while [ ! -e /srv/go ]; do sleep 0.1; done; touch /srv/done"
        error = error_of(host.writer().run, Command(("sh", "-c", script), timeout=60, scope="datum-apt"))
        answer = [error["code"], error["failure"], reader.await_scope("datum-apt", 0)]
        open("/srv/go", "w").close()
        answer += [reader.await_scope("datum-apt", 30), os.path.exists("/srv/done")]
        """,
    )
    assert answer == ["program-left", "busy", False, True, True]


def test_a_pass_that_waits_for_a_program_of_an_earlier_one_can_be_stopped(
    host: TimerHost, agent_bind: AgentBind
) -> None:
    answer = python(
        host.machine,
        agent_bind,
        """
        import subprocess
        host.heed_stopping(lambda: True)
        child = subprocess.Popen(["sleep", "1000"])
        from datum.host.scope import _make_scope
        _make_scope("datum-apt", child.pid, "sleep")
        begun = time.monotonic()
        answer = [host.reader().await_scope("datum-apt", 1000), time.monotonic() - begun < 30]
        child.kill()
        """,
    )
    assert answer == [False, True]
