"""Passes on a Debian: from a unit and a timer, stopped in mid pass, held at a call, and with the power gone."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.machine import HostError, Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.judging import judge_host, unfinished
from tests.proofs.kinds_on_host import KindsOnHost, states
from tests.proofs.on_host import POINTER, FleetOnHost, Resources, others_changed, reports
from tests.proofs.stage import Stage, State

UNIT = "pass-under-test"
MANY = 30


@frozen
class Enrolled:
    """A running Debian that is enrolled in a fleet."""

    machine: Booted
    fleet: FleetOnHost

    def start(self, *options: str) -> None:
        """Start a pass as the service that a timer starts."""
        env = [f"--setenv={name}={value}" for name, value in self.fleet.env.items()]
        # mixed: SIGTERM goes to datum alone, not to the program that it waits for
        service = ["--property=TimeoutStopSec=infinity", "--property=KillMode=mixed"]
        command = ["systemd-run", "--quiet", f"--unit={UNIT}", *service, *env, *options]
        self.machine.run([*command, "--", *self.fleet.argv, "apply"])


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def enrolled(make_booted: Callable[..., Booted], fleet: FleetOnHost) -> Enrolled:
    fleet.commit(resources("first\n"))
    machine = make_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    return Enrolled(machine, fleet)


def resources(text: str, count: int = 3) -> Resources:
    return {f"file:/etc/app-{number:02}.conf": {"content": text, "mode": "0644"} for number in range(count)}


def await_report(machine: Booted, count: int, seconds: float = 30) -> dict[str, Any]:
    """Wait until so many reports are there; return the newest."""
    end = time.monotonic() + seconds
    while len(found := reports(machine)) < count:
        assert time.monotonic() < end, machine.run(["journalctl", "--unit", UNIT, "--no-pager"]).stdout
        time.sleep(0.05)
    return found[-1]


def test_a_timer_starts_whole_passes_on_the_running_system(enrolled: Enrolled) -> None:
    machine, fleet = enrolled.machine, enrolled.fleet
    before = machine.changes()
    # Without it the manager may put a timer off by a minute (systemd.timer, AccuracySec=).
    enrolled.start("--on-active=0.1", "--timer-property=AccuracySec=10ms")
    report = await_report(machine, 1)
    assert (report["outcome"], report["exit_code"]) == ("converged", 0)
    assert machine.read("/etc/app-00.conf") == b"first\n"
    # A transient timer whose service has ended is gone by itself.
    machine.run(["systemctl", "stop", f"{UNIT}.timer"], check=False)
    assert "nothing to do" in fleet.datum(machine, "apply")
    declared = [name.removeprefix("file:") for name in resources("")]
    # what the manager and the journal write of the unit is theirs
    others = others_changed(machine, before, declared)
    assert not [path for path in others if not path.startswith(("/var/log/journal", "/var/lib/systemd", "/var/tmp"))]


def test_stopping_the_unit_finishes_the_action_in_hand_and_writes_the_report(enrolled: Enrolled) -> None:
    """And while it is frozen before that, no other pass does anything."""
    machine, fleet = enrolled.machine, enrolled.fleet
    slow = {"content": "slow\n", "validate": ["/bin/sh", "-c", "until [ -e /srv/go ]; do sleep 0.1; done", "{path}"]}
    fleet.commit({"file:/etc/a-slow.conf": slow, "file:/etc/b-later.conf": {"content": "later\n"}})
    enrolled.start()
    end = time.monotonic() + 30
    while machine.run(["pgrep", "-x", "sleep"], check=False).returncode:
        assert time.monotonic() < end
        time.sleep(0.02)
    machine.run(["systemctl", "freeze", f"{UNIT}.service"])
    before = machine.changes()
    fleet.datum(machine, "apply", "--wait", "0", code=75)
    assert others_changed(machine, before, ()) == {}
    machine.run(["systemctl", "thaw", f"{UNIT}.service"])
    machine.run(["systemctl", "stop", "--no-block", f"{UNIT}.service"])
    # It has its signal by then, and waits for the program none the less.
    state = ["systemctl", "show", "--property=ActiveState", "--value", f"{UNIT}.service"]
    while machine.run(state).stdout.strip() != "deactivating":
        assert time.monotonic() < end
        time.sleep(0.02)
    machine.write("/srv/go", "")
    machine.run(["systemctl", "stop", f"{UNIT}.service"])
    report = await_report(machine, 1)
    assert (report["outcome"], report["exit_code"]) == ("interrupted", 143)
    assert machine.read("/etc/a-slow.conf") == b"slow\n"
    assert machine.run(["test", "-e", "/etc/b-later.conf"], check=False).returncode == 1
    fleet.datum(machine, "apply")
    assert machine.read("/etc/b-later.conf") == b"later\n"


@pytest.mark.host
@pytest.mark.parametrize("kind", ["make_oneshot", "make_booted"])
def test_what_was_reported_survives_a_power_cut(kind: str, fleet: FleetOnHost, request: pytest.FixtureRequest) -> None:
    """The disk loses what was not synced; what the command said was done is there, and so is the pointer."""
    fleet.commit(resources("first\n"))
    machine: Oneshot | Booted = request.getfixturevalue(kind)(binds=(fleet.bind,), lossy=True, size="300m")
    fleet.enrol(machine)
    machine.run(["sync"])
    said = fleet.datum(machine, "apply", "--json")
    done = [entry["id"] for entry in json.loads(said)["resources"] if entry["outcome"] == "applied"]
    pointer = machine.read(POINTER)
    machine.cut()
    machine.start()
    assert len(done) == 3
    assert all(machine.read(name.removeprefix("file:")) == b"first\n" for name in done)
    assert machine.read(POINTER) == pointer
    assert "nothing to do" in fleet.datum(machine, "apply")


@pytest.mark.parametrize("written", [1, MANY // 2])
def test_a_power_cut_in_mid_pass_leaves_old_or_new(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost, written: int
) -> None:
    """Cut when so many files were seen new: each is whole, and the next pass converges."""
    fleet.commit(resources("old\n" * 100, MANY))
    machine = make_oneshot(binds=(fleet.bind,), lossy=True, size="300m")
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    fleet.commit(resources("new\n" * 200, MANY), fleet={"limits": {"changed": "none"}})
    last = machine.path / f"etc/app-{written - 1:02}.conf"
    running = machine.popen([*fleet.argv, "apply"], env=fleet.env)
    with running:
        end = time.monotonic() + 60
        while last.stat().st_size != 800:
            assert running.poll() is None
            assert time.monotonic() < end
        machine.cut()
        running.communicate()
    machine.start()
    found = [machine.read(name.removeprefix("file:")) for name in resources("", MANY)]
    assert set(found) <= {b"old\n" * 100, b"new\n" * 200}
    assert found.count(b"new\n" * 200) >= written - 1
    fleet.datum(machine, "apply")
    assert {machine.read(name.removeprefix("file:")) for name in resources("", MANY)} == {b"new\n" * 200}
    with pytest.raises((HostError, OSError)):
        machine.read("/etc/.app-00.conf.datum~.dpkg-tmp")


def test_a_power_cut_amid_a_set_and_after_a_pass_of_every_kind_of_write(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path
) -> None:
    """Held between two renames of a set: each path is old or new, then and with the power gone, and then it converges.

    What a whole pass did of any kind is there after the next cut.
    """
    kinds, other = KindsOnHost.prepare(make_oneshot, agent_bind, tmp_path)
    other.close()
    machine, stage = kinds.fresh(lossy=True, size="300m"), kinds.stage
    machine.run(["sync"])
    held = ["-P", "/etc/set.d", "-e", "trace=renameat", "-e", "inject=renameat:delay_enter=60000000:when=3"]
    argv = ["strace", "-qq", "-o", "/dev/null", *held, "--", *kinds.fleet.argv, "apply"]
    with machine.popen(argv, env=kinds.fleet.env) as running:
        end = time.monotonic() + 50
        news, earlier = set[str](), None
        # Until it is held nothing stays as it is for so long.
        while len(news) < 2 or news != earlier:
            assert running.poll() is None
            assert time.monotonic() < end
            time.sleep(2)
            news, earlier = changed_of_set(machine, stage), news
        seen = states(machine)
        assert [*judge_host(stage, machine.path, seen)] == []
        assert {path for path in stage.guarded if seen.get(path) != stage.old[path]} == news < stage.guarded
        machine.cut()
        running.communicate()
    machine.start()
    assert [*judge_host(stage, machine.path, states(machine))] == []
    kinds.fleet.datum(machine, "apply")
    machine.cut()
    machine.start()
    # what programs write is theirs to sync
    wanted = {path: state for path, state in stage.new.items() if path not in stage.loose}
    found = {path: state for path, state in states(machine).items() if path not in stage.loose}
    assert [*unfinished(wanted, found)] == []


def changed_of_set(machine: Machine, stage: Stage) -> set[str]:
    """Return the paths that one check guards and that are not as they were."""
    return {path for path in stage.guarded if State.read(machine.path / path) != stage.old[path]}
