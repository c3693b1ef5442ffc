"""The units that run passes, on a booted host: what starts a pass, what a stop does, what shows as failed."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from datum.agent.units import UNITS
from datum.errors import ExitCode
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python
from tests.host.timer_host import SERVICE, TimerHost, make_host
from tests.proofs.on_host import FleetOnHost

MOTD: Final = {"file:/etc/motd": {"content": "kept\n"}}
# What an action waits for that a test lets go on.
SLOW: Final = "touch /srv/begun; while [ ! -e /srv/go ]; do sleep 0.05; done; touch /srv/done"
SLOWLY: Final = {"run": ["sh", "-c", SLOW], "creates": "/srv/done", "timeout": 300}
# `systemd-analyze security` of datum.service: no figure to be proud of, and one that shall not get worse.
EXPOSURE: Final = 9.5


@pytest.fixture
def host(make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind) -> TimerHost:
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit(MOTD)
    return make_host(make_booted(binds=(fleet.bind,)), fleet, agent_bind)


@pytest.fixture
def trixie_host(make_trixie_booted: Callable[..., Booted], tmp_path: Path, trixie_agent: AgentBind) -> TimerHost:
    fleet = FleetOnHost(tmp_path, trixie_agent)
    fleet.commit(MOTD)
    return make_host(make_trixie_booted(binds=(fleet.bind,)), fleet, trixie_agent)


def enable(host: TimerHost, agent: AgentBind) -> None:
    """Switch the timer on as `datum init` does."""
    python(
        host.machine,
        agent,
        """
        from datum.agent.settings import Options, read_settings
        from datum.agent.units import enable_timer
        from datum.host.program import run_program
        answer = enable_timer(read_settings(Options()), run_program).is_changed
        """,
    )


def soon(host: TimerHost, *, boot: str, calendar: str = "2099-01-01") -> None:
    """Let the timers elapse without their spread."""
    host.drop_in("datum-boot.timer", "[Timer]", "OnBootSec=", f"OnBootSec={boot}", "RandomizedDelaySec=0")
    host.drop_in("datum.timer", "[Timer]", "OnCalendar=", f"OnCalendar={calendar}", "RandomizedDelaySec=0")


def test_systemd_finds_nothing_wrong_with_the_units(host: TimerHost) -> None:
    done = host.machine.run(["systemd-analyze", "verify", "--man=no", *UNITS], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_systemd_of_trixie_finds_nothing_wrong_with_the_units(trixie_host: TimerHost) -> None:
    done = trixie_host.machine.run(["systemd-analyze", "verify", "--man=no", *UNITS], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_exposure_of_the_service_is_what_the_docs_say(host: TimerHost) -> None:
    last = host.sh(f"systemd-analyze security --no-pager {SERVICE} | tail -n 1")
    figure = float(last.partition("datum.service: ")[2].split()[0])
    print(last)
    assert figure <= EXPOSURE
    text = (Path(__file__).resolve().parents[2] / "docs" / "timer.md").read_text()
    assert f"`{figure}`" in text


def test_h7_a_pass_at_boot_converges_whether_or_not_anything_changed(host: TimerHost, agent_bind: AgentBind) -> None:
    """Row H7: what drifted while the host was down is repaired by the first pass after boot, every time."""
    enable(host, agent_bind)
    soon(host, boot="1s")
    host.machine.write("/etc/motd", "drifted\n")
    for count in (1, 2):
        host.machine.reboot()
        host.await_true(f"[ $(ls /var/log/datum/reports/*.json | wc -l) -ge {count} ]")
        host.await_end()
        assert host.machine.read("/etc/motd") == b"kept\n"
        assert host.newest()["outcome"] == "converged"
        assert host.newest()["trigger"]["kind"] == "boot"
    assert [bool(report["resources"]) for report in host.all_reports()] == [True, False]


def test_h3_a_tick_runs_a_pass(host: TimerHost, agent_bind: AgentBind) -> None:
    enable(host, agent_bind)
    soon(host, boot="1h", calendar="*:*:0/2")
    host.machine.run(["systemctl", "restart", "datum.timer"])
    host.await_true("ls /var/log/datum/reports/*.json")
    # The next tick is due before a slow machine has looked.
    host.machine.run(["systemctl", "stop", "datum.timer"])
    host.await_end()
    report = host.newest()
    assert report["outcome"] == "converged"
    assert report["trigger"]["kind"] == "timer"


def test_the_place_of_a_host_in_the_interval_is_its_own_and_stays(host: TimerHost, agent_bind: AgentBind) -> None:
    """The same after a reboot, another for another machine-id."""
    enable(host, agent_bind)
    places = []
    for machine_id in ("1" * 32, "1" * 32, "2" * 32):
        host.machine.write("/etc/machine-id", f"{machine_id}\n")
        host.machine.reboot()
        text = host.show("datum.timer", "NextElapseUSecRealtime")
        clock = text.split()[2]
        minute, second = int(clock[3:5]), int(clock[6:8])
        places.append(minute % 10 * 60 + second)
    first, again, other = places
    print(places)
    assert first == again
    assert first != other
    assert all(place <= 540 for place in places)


def test_enabling_is_done_once_and_disabling_takes_the_boot_timer_along(host: TimerHost, agent_bind: AgentBind) -> None:
    answer = python(
        host.machine,
        agent_bind,
        """
        from attrs import asdict
        from datum.agent import units
        from datum.agent.settings import Options, read_settings
        from datum.host.program import run_program as run
        settings = read_settings(Options())
        def states():
            return [(one.enabled, one.active) for one in units.standing(settings, run)]
        answer = [units.are_installed(settings), units.are_packaged(settings)]
        answer.append(units.install_units(settings, run, executable="/usr/bin/datum"))
        for switch in (units.enable_timer, units.enable_timer, units.disable_timer, units.disable_timer):
            answer += [switch(settings, run).is_changed, states()]
        """,
    )
    on, off = (
        [["static", "inactive"], ["enabled", "active"], ["enabled", "inactive"]],
        [
            ["static", "inactive"],
            ["disabled", "inactive"],
            ["disabled", "inactive"],
        ],
    )
    assert answer == [True, True, [], True, on, False, on, True, off, False, off]


def test_without_a_package_the_units_are_written_and_removed_again(host: TimerHost, agent_bind: AgentBind) -> None:
    host.sh("rm /usr/lib/systemd/system/datum*; systemctl daemon-reload")
    answer = python(
        host.machine,
        agent_bind,
        """
        from datum.agent import units
        from datum.agent.settings import Options, read_settings
        from datum.host.program import run_program as run
        settings = read_settings(Options())
        answer = [units.are_installed(settings)]
        answer.append(units.install_units(settings, run, executable="/opt/my venv/bin/datum"))
        answer.append(units.install_units(settings, run, executable="/opt/my venv/bin/datum"))
        answer.append([one.load for one in units.standing(settings, run)])
        """,
    )
    written = [f"/etc/systemd/system/{unit}" for unit in UNITS]
    assert answer == [False, written, [], ["loaded", "loaded", "loaded"]]
    assert host.show(SERVICE, "ExecStart").startswith(
        "{ path=/opt/my venv/bin/datum ; argv[]=/opt/my venv/bin/datum apply"
    )
    assert host.sh("systemd-analyze verify --man=no datum.timer 2>&1 | grep -v 'my venv'") == ""
    removed = python(
        host.machine,
        agent_bind,
        """
        from datum.agent import units
        from datum.agent.settings import Options, read_settings
        from datum.host.program import run_program as run
        settings = read_settings(Options())
        answer = [units.remove_units(settings, run), units.are_installed(settings)]
        """,
    )
    assert removed == [written, False]


def test_what_shows_as_failed(host: TimerHost) -> None:
    """What waits for a window, and a pass that was told to stop, is no failure; everything that needs a person is."""
    results = {}
    for code in (*ExitCode, 128 + signal.SIGTERM):
        if code == ExitCode.CHANGES:
            # Nobody asks for it in a unit.
            continue
        host.drop_in(SERVICE, "[Service]", "ExecStart=", f"ExecStart=/bin/sh -c 'exit {int(code)}'")
        host.machine.run(["systemctl", "start", SERVICE], check=False)
        results[int(code)] = host.show(SERVICE, "Result")
    good = {code for code, result in results.items() if result == "success"}
    assert good == {ExitCode.OK, ExitCode.WAITING, 143}
    assert set(results.values()) == {"success", "exit-code"}


@pytest.mark.parametrize(("name", "result"), [("TERM", "success"), ("KILL", "signal")])
def test_a_stop_that_meets_no_pass_is_no_failure_and_a_kill_is(host: TimerHost, name: str, result: str) -> None:
    """SIGTERM before Python has taken it over, or after it has let go of it."""
    host.drop_in(SERVICE, "[Service]", "ExecStart=", f"ExecStart=/bin/sh -c 'kill -{name} $$$$'")
    host.machine.run(["systemctl", "start", SERVICE], check=False)
    assert host.show(SERVICE, "Result") == result


def test_a_stop_finishes_the_action_in_hand_and_writes_the_report(host: TimerHost) -> None:
    """Nothing that the action runs is told to end; what comes after it is not begun."""
    host.begin({"command:slow": SLOWLY, "file:/srv/later": {"content": "", "requires": ["command:slow"]}})
    host.await_true("[ -e /srv/begun ]")
    host.machine.run(["systemctl", "stop", "--no-block", SERVICE])
    host.await_true(f"[ $(systemctl show --property=SubState --value {SERVICE}) != start ]")
    assert host.sh("pgrep -f srv/begun | wc -l") != "0"
    host.machine.write("/srv/go", "")
    host.await_end()
    assert host.show(SERVICE, "Result") == "success"
    assert host.sh("ls /srv") == "begun\ndone\nfleet\ngo"
    report = host.newest()
    assert (report["outcome"], report["exit_code"]) == ("interrupted", 143)
    host.machine.run(["systemctl", "start", SERVICE])
    assert host.newest()["outcome"] == "converged"


def test_starts_that_coincide_run_one_pass(host: TimerHost) -> None:
    """Two of the unit are one; a person's own request waits for it, and runs after it."""
    host.begin({"command:slow": SLOWLY})
    host.await_true("[ -e /srv/begun ]")
    host.machine.run(["systemctl", "start", "--no-block", SERVICE])
    own = host.machine.popen([*host.fleet.argv, "apply"], env=host.fleet.env)
    try:
        host.await_true("ls /var/lib/datum/run/queue | grep -q '[.]w[.]'")
        host.machine.write("/srv/go", "")
        own.communicate(timeout=60)
    finally:
        own.kill()
        own.communicate()
    host.await_end()
    assert own.returncode == 0
    assert [report["outcome"] for report in host.all_reports()] == ["converged", "converged"]
    assert [bool(report["resources"]) for report in host.all_reports()] == [True, False]


def test_a_failed_action_fails_the_service_and_the_next_pass_clears_it(host: TimerHost) -> None:
    host.tick({"command:bad": {"run": ["false"], "creates": "/srv/done"}})
    assert (host.show(SERVICE, "Result"), host.sh("systemctl is-failed datum.service")) == ("exit-code", "failed")
    host.tick(MOTD)
    assert host.show(SERVICE, "Result") == "success"


def test_a_source_that_is_away_fails_the_service_and_drift_is_repaired(host: TimerHost) -> None:
    """Nobody else would tell of a host that gets no revisions any more."""
    host.tick(MOTD)
    host.machine.write("/etc/motd", "drifted\n")
    host.sh("sed -i 's|/srv/fleet|/srv/nowhere|' /etc/datum/agent.yaml")
    host.machine.run(["systemctl", "start", SERVICE], check=False)
    assert host.machine.read("/etc/motd") == b"kept\n"
    assert host.show(SERVICE, "ExecMainStatus") == "69"
    assert host.show(SERVICE, "Result") == "exit-code"


def test_masked_units_are_not_switched_on(host: TimerHost, agent_bind: AgentBind) -> None:
    host.sh("systemctl mask datum.timer")
    answer = python(
        host.machine,
        agent_bind,
        """
        from datum.agent import units
        from datum.agent.settings import Options, read_settings
        from datum.errors import DatumError
        from datum.host.program import run_program as run
        try:
            units.enable_timer(read_settings(Options()), run)
            answer = None
        except DatumError as error:
            answer = [error.diagnostics[0].code, error.diagnostics[0].hint, int(error.exit_code)]
        """,
    )
    assert answer == ["timer-masked", "systemctl unmask datum.timer", 78]


def test_the_timer_does_not_wait_for_a_clock_that_is_right(host: TimerHost) -> None:
    """A host whose time cannot be had from anywhere still has passes, which may be what gives it a source of time."""
    assert "time-sync.target" not in host.show("datum.timer", "After").split()
    assert {"sysinit.target", "time-set.target"} <= set(host.show("datum.timer", "After").split())
    assert "timers.target" in host.show("datum.timer", "Before").split()
