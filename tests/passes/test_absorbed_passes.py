"""Rows of what neighbouring systems do, where passes, who asks for them, and what is told of them are concerned."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from datum.state.lock import HOST_LOCK
from datum.state.turns import Turn
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.timer_host import make_host
from tests.passes.scene import HOST, REPORTS, STATE, Scene, kill
from tests.passes.test_concurrency import SLOW, passes, wait_for
from tests.proofs.archive import Archive, Deb
from tests.proofs.on_host import PLACE, FleetOnHost, disk
from tests.proofs.owed_host import OwedHost, app, owed_host

ADDED: Final = {"file:/etc/app.more": {"content": "x\n"}}


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("passes")) as host:
        yield host


@pytest.fixture
def host(shared: OwedHost) -> OwedHost:
    return shared.fresh()


def asked(name: str) -> dict[str, str]:
    """Return the environment of somebody who called sudo, as root."""
    return {"SUDO_USER": name}


def wait_for_requests(scene: Scene, count: int) -> None:
    """Wait until that many requests stand in the queue, the one that runs included."""
    queue = scene.root / STATE / "run/queue"
    end = time.monotonic() + 60
    while sum(Turn.parse(path.name) is not None for path in queue.iterdir()) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


# --- H2: who asked


def test_h2_equal_requests_that_wait_are_one_pass_whose_report_says_who_asked(scene: Scene, odd_types: Path) -> None:
    """A request during a pass runs after it, and those that come while it waits are named with their time."""
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.processes.append(scene.start("apply", "--json", env=asked("alice")))
        wait_for(odd_types / "begun")
        for number, name in enumerate(("bob", "carol", "dave"), 1):
            made.processes.append(scene.start("apply", "--json", env=asked(name)))
            wait_for_requests(scene, 1 + number)
        (odd_types / "go").touch()
        first, second, third, fourth = made.finish()
    assert first.json["trigger"] == {"kind": "operator", "who": "alice"}
    assert first.json["joined"] == [], "a pass that runs is joined by nobody: it may have asked the source already"
    assert second.json["trigger"]["who"] == "bob"
    joined = second.json["joined"]
    assert [one["who"] for one in joined] == ["carol", "dave"]
    assert [one["pid"] for one in joined] == [process.pid for process in made.processes[2:]]
    assert all(one["asked_at"] <= second.json["started"] for one in joined)
    assert {ran.json["joined"]["exit_code"] for ran in (third, fourth)} == {0}
    shown = scene.run("report").out
    assert "asked by operator bob" in shown
    assert f"also requested by operator carol at {joined[0]['asked_at']} (process {joined[0]['pid']})" in shown
    assert len(list((scene.root / REPORTS).iterdir())) == 2


def test_h2_a_request_with_other_flags_has_a_pass_of_its_own(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start("--json")
        wait_for(odd_types / "begun")
        made.start("--json", "--detailed-exitcode")
        wait_for_requests(scene, 2)
        made.start("--json", "--offline")
        wait_for_requests(scene, 3)
        (odd_types / "go").touch()
        found = made.finish()
    assert [ran.json["joined"] for ran in found] == [[], [], []]
    assert len({ran.json["id"] for ran in found}) == 3


def test_h2_a_request_of_another_version_that_says_nothing_is_counted(scene: Scene, odd_types: Path) -> None:
    """Its file in the queue is empty: who asked is not known, and nothing is decided on it."""
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start("--json")
        wait_for(odd_types / "begun")
        made.start("--json")
        wait_for_requests(scene, 2)
        made.start("--json")
        wait_for_requests(scene, 3)
        (rider,) = [path for path in (scene.root / STATE / "run/queue").iterdir() if ".j." in path.name]
        rider.write_bytes(b"")
        (odd_types / "go").touch()
        _, second, third = made.finish()
    assert second.json["joined"] == [{"kind": "operator", "who": "", "asked_at": "", "pid": made.processes[2].pid}]
    assert third.json["joined"]["exit_code"] == 0
    assert "also requested by operator (process" in scene.run("report").out


# --- H3: triggers


@pytest.mark.parametrize("kind", ["timer", "boot"])
def test_h3_the_report_names_its_trigger(scene: Scene, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.enrolled({"file:/etc/a": {"content": "a\n"}})
    monkeypatch.setenv("DATUM_TRIGGER", kind)
    scene.apply()
    assert scene.report["trigger"] == {"kind": kind, "who": ""}
    assert f"asked by {kind}" in scene.run("report").out
    assert f"asked by    {kind}" in scene.run("status").out
    assert scene.run("status", "--json").json["newest"]["trigger"]["kind"] == kind


def test_h3_an_operator_is_named_by_who_called_sudo(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.enrolled({"file:/etc/a": {"content": "a\n"}})
    monkeypatch.setenv("SUDO_USER", "alice")
    scene.apply()
    assert scene.report["trigger"] == {"kind": "operator", "who": "alice"}
    assert "asked by operator alice" in scene.run("report").out


def test_h3_who_starts_the_unit_by_hand_is_no_timer(
    make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind
) -> None:
    """Its timers name themselves (tests/host/test_timer.py); nobody knows who asked systemd."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"file:/etc/motd": {"content": "kept\n"}})
    host = make_host(make_booted(binds=(fleet.bind,)), fleet, agent_bind)
    host.machine.run(["systemctl", "start", "datum.service"])
    assert host.newest()["trigger"] == {"kind": "operator", "who": ""}
    assert "next pass   none by itself: datum.timer is inactive" in host.fleet.datum(host.machine, "status")
    host.machine.run(["systemctl", "start", "datum.timer"])
    (line,) = [line for line in host.fleet.datum(host.machine, "status").splitlines() if "next pass" in line]
    _, day, time, zone = host.show("datum.timer", "NextElapseUSecRealtime").split()
    assert zone == "UTC"
    assert f"{day}T{time}Z" in line


def test_h3_who_asks_makes_no_other_pass(scene: Scene, odd_types: Path) -> None:
    """The timer's request joins that of an operator, and the other way round."""
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start("--json")
        wait_for(odd_types / "begun")
        made.processes.append(scene.start("apply", "--json", env={"DATUM_TRIGGER": "timer"}))
        wait_for_requests(scene, 2)
        made.processes.append(scene.start("apply", "--json", env=asked("alice")))
        wait_for_requests(scene, 3)
        (odd_types / "go").touch()
        _, second, _ = made.finish()
    assert second.json["trigger"]["kind"] == "timer"
    assert [one["who"] for one in second.json["joined"]] == ["alice"]


# --- H5: stages


def test_h5_status_shows_stage_action_and_how_long_both_have_lasted(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.processes.append(scene.start("apply", env=asked("alice")))
        wait_for(odd_types / "begun")
        told = scene.run("status", "--json").json["running"]
        assert (told["stage"], told["action"]) == ("reconciler", "2/2 create slow:/etc/slow")
        assert told["asked_by"] == "operator alice"
        assert 0 <= told["elapsed_in_action"] <= told["elapsed"]
        later = scene.run("status", "--json").json["running"]
        assert later["elapsed"] > told["elapsed"]
        shown = scene.run("status").out
        assert "reconciler 2/2 create slow:/etc/slow (" in shown
        assert ", asked by operator alice" in shown
        (odd_types / "go").touch()
        made.finish()
    assert scene.run("status", "--json").json["running"] is None


def test_h5_the_report_keeps_what_each_stage_and_action_took(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.enrolled({"file:/etc/a": {"content": "a\n"}})
    scene.commit({"file:/etc/a": {"content": "b\n"}})
    scene.apply()
    told = scene.report
    stages = ["repository", "fleet", "trail", "observer and planner", "reconciler", "closing"]
    assert sorted(told["stages"]) == sorted(stages)
    assert all(seconds >= 0 for seconds in told["stages"].values())
    assert sum(told["stages"].values()) <= told["duration"] + 0.01
    assert all(entry["duration"] >= 0 for entry in told["resources"])
    shown = scene.run("report").out
    (line,) = [line for line in shown.splitlines() if line.startswith("stages ")]
    assert sorted(stages, key=line.index) == stages, "in their order"
    monkeypatch.setattr("datum.cli.views.asking.SLOW", 0.0)
    assert "slow   update file:/etc/a" in scene.run("report").out


# --- M7: a plan leaves no trace


def disk_without_journal(host: OwedHost) -> dict[str, Any]:
    """Return the whole disk's difference but for what a running systemd writes at any time."""
    return {path: seen for path, seen in disk(host.machine).items() if not path.startswith("/var/log/journal")}


def test_m7_a_plan_of_an_unreviewed_branch_leaves_no_trace_on_the_whole_disk(host: OwedHost) -> None:
    """No pointer, ref, report, lock or cache; a pass after it does what it would have done without it."""
    host.begin({**app(), **ADDED})
    head = host.repository.head
    host.repository.git("checkout", "--quiet", "-b", "unreviewed")
    host.declare(app("two"))
    branch = host.repository.head
    host.repository.git("checkout", "--quiet", "--orphan", "foreign")
    host.declare(app("three"))
    host.repository.git("checkout", "--quiet", "main")
    before = disk_without_journal(host)
    for words in (
        ["--ref", "unreviewed"],
        ["--rev", "unreviewed"],
        ["--ref", "unreviewed", "--rev", branch],
        ["--ref", "foreign", "--untrusted"],
        ["--rev", "foreign", "--untrusted"],
    ):
        done = host.plan(*words)
        assert done.code == 0, done.said
        assert ("file:/etc/app.conf", "update") in done.operations
    assert host.plan("--ref", "foreign").code == 76
    assert disk_without_journal(host) == before
    assert host.log() == []
    host.quiet()
    assert host.repository.head == head


# --- M19: two controllers


class Watching(threading.Thread):
    """Notes who runs, by the files of the queue, until it is told to end."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self.queue = state / "run/queue"
        self.most = 0
        self.ends = threading.Event()

    def run(self) -> None:
        while not self.ends.wait(0.002):
            names = [path.name for path in self.queue.iterdir()] if self.queue.exists() else []
            self.most = max(self.most, sum(".r." in name for name in names))


def test_m19_of_many_controllers_one_works_and_the_others_stand_by(scene: Scene) -> None:
    """At different revisions, all at once: each finds the pointer as the one before it left it, and nobody forks it."""
    heads = [scene.commit({f"file:/etc/app.d/{number}": {"content": "x\n"}}) for number in range(4)]
    assert scene.init().code == 0
    begun = scene.run("status", "--json").json["pointer"]
    watching = Watching(scene.root / STATE)
    watching.start()
    with passes(scene) as made:
        for head in heads:
            made.start("--rev", head, "--json")
            made.start("--json")
        made.finish()
    watching.ends.set()
    watching.join()
    assert watching.most == 1, "two run at no time, and one does"
    files = sorted((scene.root / REPORTS).iterdir(), key=lambda path: path.stat().st_mtime_ns)
    moves = [json.loads(path.read_bytes())["pointer"] for path in files]
    assert len(moves) > len(heads)
    for before, after in pairwise([{"after": begun}, *moves]):
        assert after["before"] == before["after"]
    assert scene.run("status", "--json").json["pointer"] == moves[-1]["after"]
    # What the pointer names is in the mirror, whoever wrote the refs last.
    kept = scene.run("apply", "--offline", "--json")
    assert kept.code == 0, kept


def test_m19_a_controller_that_is_killed_leaves_the_next_one_what_it_had_written(scene: Scene, odd_types: Path) -> None:
    scene.commit(SLOW)
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start("--json")
        wait_for(odd_types / "begun")
        made.start("--json", "--detailed-exitcode")
        wait_for_requests(scene, 2)
        before = scene.run("status", "--json").json["pointer"]
        assert before["enforced"] is not None, "written before its first action"
        kill(made.processes[0])
        (odd_types / "go").touch()
        _, second = made.finish()
    assert second.json["pointer"]["before"] == before
    assert second.json["outcome"] == "converged"


# --- H1: one pass at a time

WRAPPED: Final = ("apt-get", "dpkg")
LOG: Final = "/srv/log"


def test_h1_whoever_asks_apt_dpkg_and_systemd_work_for_one_pass_at_a_time(
    make_booted: Callable[..., Booted], tmp_path: Path, agent_bind: AgentBind
) -> None:
    """Passes at once that each install a package and start a service: no two of either overlap.

    One is of another enrolment, with configuration and state of its own, as an agent that was installed beside.
    """
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"directory:/srv": {}})
    machine = make_booted(binds=(fleet.bind,))
    fleet.enrol(machine)
    slow = f"#!/bin/sh\necho begin postinst >> {LOG}; sleep 0.3; echo end postinst >> {LOG}\n"
    packages = [Deb(f"p{number}", control={"postinst": slow}) for number in range(3)]
    Archive(machine).publish(*packages)
    for name in WRAPPED:
        real = f"/usr/bin/{name}.real"
        machine.run(["mv", f"/usr/bin/{name}", real])
        noted = f'echo begin {name} >> {LOG}\n{real} "$@"; code=$?\necho end {name} >> {LOG}\nexit $code\n'
        machine.write(f"/usr/bin/{name}", f"#!/bin/sh\n{noted}", mode=0o755)
    heads = []
    declared: dict[str, Any] = {}
    for number in range(3):
        start = f"begin job >> {LOG}; sleep 0.3; echo end job >> {LOG}"
        unit = f"[Service]\nExecStartPre=/bin/sh -c 'echo {start}'\nExecStart=/bin/sleep infinity\n"
        declared |= {
            f"package:p{number}": {},
            f"unit:app{number}.service": {"content": unit},
            f"service:app{number}": {"running": True, "settle": 0.1},
        }
        heads.append(fleet.commit(declared))
    asking = [[*fleet.argv, "apply", "--rev", head] for head in heads]
    asking += [[*fleet.argv, "apply"], [*fleet.argv, "apply", "--detailed-exitcode"]]
    other = ("--config", "/etc/other/agent.yaml")
    fleet.datum(
        machine, "init", *other, "--repo", PLACE, "--host", HOST, "--state-dir", "/srv/other", "--no-timer", "--no-plan"
    )
    asking.insert(1, [*fleet.argv, "apply", *other])
    running = [machine.popen(words, env=fleet.env) for words in asking]
    for process in running:
        process.communicate(timeout=240)
    told = machine.read(LOG).decode().split()
    depth: Counter[str] = Counter()
    for word, name in zip(told[::2], told[1::2], strict=True):
        depth[name] += 1 if word == "begin" else -1
        assert 0 <= depth[name] <= 1, (name, told)
        assert depth["job"] + depth["postinst"] <= 1, told
    assert told.count("job") == told.count("postinst") == 6, "each was done once"
    assert "nothing to do" in fleet.datum(machine, "apply")
    assert "nothing to do" in fleet.datum(machine, "apply", *other)
    # What both wait for.
    held = ["flock", str(HOST_LOCK), *fleet.argv, "apply", "--wait", "0"]
    done = machine.run(held, env=fleet.env, check=False)
    assert done.returncode == 75, done.stderr
    assert "a pass with the state directory /srv/other comes first" in done.stderr
