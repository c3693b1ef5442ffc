"""No kill, crash or error between mark and end of refresh loses a restart or makes one too many (design 4.1).

A seeded sample of the kills; `bench/faults/run.py` makes all of them.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.harness.plugin import AgentBind
from tests.proofs.owed_host import CONF, OwedHost, app, owed_host, unit_text
from tests.proofs.owed_judging import how_far, judge, prepare
from tests.proofs.owed_strikes import Scene, declare

# Of each phase: to the write, to the refresh, to its end.
RESTARTS: Final = (9, 9, 7)
RELOADS: Final = (2, 3, 4)
FEWEST_POINTS: Final = 400
_CRASH: Final = """
old=$(systemctl show -p InvocationID --value app)
systemctl kill --signal=KILL app
for i in $(seq 600); do
    [ "$(systemctl show -p NRestarts --value app)" = 1 ] && systemctl --quiet is-active app && exit 0
    sleep 0.1
done
exit 1
"""


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("owed")) as host:
        yield host


@pytest.fixture(scope="module")
def restarts(shared: OwedHost) -> Scene:
    return prepare(shared, "restarts")


def test_a_pass_that_is_killed_anywhere_loses_no_restart_and_makes_none_twice(restarts: Scene) -> None:
    assert len(restarts.points.calls) >= FEWEST_POINTS
    print(f"{len(restarts.points.calls)} points, of them {[len(phase) for phase in restarts.points.phases]} by phase")
    seen: Counter[str] = Counter()
    wrong, missed = [], 0
    for number, call in enumerate(restarts.points.choose(RESTARTS)):
        verdict = judge(restarts, "restarts", call, is_quiet=number % 8 == 0)
        wrong += [str(verdict)] if verdict.wrong else []
        missed += not verdict.is_struck
        seen[verdict.after] += verdict.is_struck
    print(f"right after the kills: {dict(seen)}")
    assert not wrong, "\n".join(wrong)
    # Where the calls of a run differ by a few, one near the end may not come.
    assert missed <= 2
    assert seen["one on the disk, needs-restart owed, the service did nothing"] >= 3
    assert seen["two on the disk, needs-restart owed, the service did nothing"] >= 3
    assert seen["two on the disk, nothing owed, the service did start two"] >= 3


def test_a_restart_that_is_owed_outlives_the_manager_s_reexec(restarts: Scene) -> None:
    host = leave_marked(restarts)
    host.sh("systemctl daemon-reexec")
    assert host.markers() == {"needs-restart"}
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def leave_marked(scene: Scene, *, written: bool = True) -> OwedHost:
    """Kill a pass where it is about to refresh, or to write: the mark is there, and nothing of what follows."""
    host = scene.reset()
    points = scene.points
    assert scene.kill(points.about_to_refresh if written else points.calls[points.write])
    text = "two" if written else "one"
    assert how_far(host) == f"{text} on the disk, needs-restart owed, the service did nothing"
    return host


def test_a_service_that_crashed_between_mark_and_write_is_marked_again(restarts: Scene) -> None:
    """The manager started it with the old file, and cleared the mark."""
    host = leave_marked(restarts, written=False)
    host.machine.run(["sh", "-c", _CRASH])
    assert how_far(host) == "one on the disk, nothing owed, the service did start one"
    host.apply()
    assert host.log() == ["start one", "start two"]
    host.quiet()


def test_a_service_that_crashes_between_mark_and_write_of_one_pass_is_marked_again_by_it(restarts: Scene) -> None:
    host = restarts.reset()
    points = restarts.points
    is_marked_and_not_written = f'[ "$(cat {CONF})" = one ] && systemctl show -p Markers app | grep -q needs-restart'
    code = restarts.stop_and_go(points.calls[points.write - 1], f"{is_marked_and_not_written}\n{_CRASH}")
    assert (code, host.log(), host.markers()) == (0, ["start one", "start two"], set())
    host.quiet()


def test_a_service_that_crashed_after_the_write_has_read_it_and_owes_nothing(restarts: Scene) -> None:
    host = leave_marked(restarts)
    host.machine.run(["sh", "-c", _CRASH])
    done = host.apply()
    assert done.owed == []
    assert host.log() == ["start two"]


def test_a_service_that_somebody_stopped_while_it_owed_a_restart_is_started_once(restarts: Scene) -> None:
    host = leave_marked(restarts)
    host.sh("systemctl stop app")
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


@pytest.mark.parametrize("written", [True, False])
def test_what_is_owed_is_done_though_the_fleet_went_back(restarts: Scene, written: bool) -> None:
    """Owed is drift, whatever it was owed to."""
    host = leave_marked(restarts, written=written)
    host.declare(declare("one"))
    planned, done = host.plan(), host.apply()
    assert planned.owed == done.owed
    assert (host.log(), host.markers()) == (["start one"], set())
    host.quiet()


def test_where_the_mark_cannot_be_set_the_file_is_not_changed(restarts: Scene) -> None:
    """The manager cannot be reached from just before the mark on."""
    host = restarts.reset()
    sockets = "/run/systemd/private /run/dbus/system_bus_socket"
    code = restarts.stop_and_go(restarts.points.staged, f"for i in {sockets}; do mv $i $i.away; done")
    host.sh(f"for i in {sockets}; do mv $i.away $i; done")
    assert code == 1
    assert how_far(host) == "one on the disk, nothing owed, the service did nothing"
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def test_where_the_file_cannot_be_changed_the_mark_is_taken_back(restarts: Scene) -> None:
    host = restarts.reset()
    done = restarts.fail(restarts.points.calls[restarts.points.write], "EPERM")
    assert done.returncode == 1, done.stdout + done.stderr
    assert how_far(host) == "one on the disk, nothing owed, the service did nothing"
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def test_a_mark_that_an_earlier_pass_left_is_not_taken_back(restarts: Scene) -> None:
    host = leave_marked(restarts, written=False)
    host.sh(f"chattr +i {CONF}")
    host.apply(code=1)
    marks = host.markers()
    host.sh(f"chattr -i {CONF}")
    assert marks == {"needs-restart"}
    assert host.log() == []
    host.apply()
    assert host.log() == ["start two"]
    host.quiet()


def test_a_listed_file_that_is_dropped_restarts_once_wherever_the_pass_is_killed(shared: OwedHost) -> None:
    """Once it is gone nothing but the mark tells of it."""
    dropped, folder = "file:/etc/app.d/x.conf", {"directory:/etc/app.d": {"mode": "0755"}}
    first = {**declare("one", restart_on=[f"file:{CONF}", dropped]), **folder, dropped: {"content": "x\n"}}
    scene = Scene.prepare(shared.fresh(), first, {**declare("one"), **folder}, ("unlinkat", "x.conf"))
    for call, left in ((scene.points.calls[scene.points.write], "x.conf"), (scene.points.about_to_refresh, "")):
        host = scene.reset()
        assert scene.kill(call)
        assert how_far(host) == "one on the disk, needs-restart owed, the service did nothing"
        assert host.sh("ls /etc/app.d") == left
        host.apply()
        assert (host.sh("ls /etc/app.d"), host.log(), host.markers()) == ("", ["start one"], set())
        host.quiet()


@pytest.fixture(scope="module")
def reloads(shared: OwedHost) -> Scene:
    return prepare(shared, "reloads")


def test_a_reload_whose_pass_is_killed_is_done_or_becomes_a_restart(reloads: Scene) -> None:
    """Before the manager is told, a reload is owed; once it began, only a restart is sure to read what is there."""
    assert len(reloads.points.calls) >= FEWEST_POINTS
    verdicts = [judge(reloads, "reloads", call, is_quiet=False) for call in reloads.points.choose(RELOADS)]
    wrong = [str(verdict) for verdict in verdicts if verdict.wrong]
    assert not wrong, "\n".join(wrong)
    assert sum(not verdict.is_struck for verdict in verdicts) <= 1
    assert sum("needs-reload needs-restart" in verdict.after for verdict in verdicts) >= 3


def test_a_reload_that_failed_and_then_a_kill_leave_a_restart_owed(shared: OwedHost) -> None:
    """The reload itself kills the pass, before that can say that it is owed again."""
    kills = "[ ! -e /run/app.kills ] || { pkill -KILL python3; exit 1; }"
    again = f'[ ! -e /run/app.broken ] && echo reload "$(cat {CONF})" >> /run/app.log'
    unit = unit_text(reloads=False, more=f"ExecReload=/bin/sh -c '{kills}; {again}'\n")
    lists = {"restart_on": None, "reload_on": [f"file:{CONF}"]}
    host = shared.fresh()
    host.begin(app(unit=unit, **lists))
    # It fails, and stays owed as a reload.
    host.sh("touch /run/app.broken")
    host.apply(app("two", unit=unit, **lists), code=1)
    assert host.markers() == {"needs-reload", "needs-restart"}
    host.sh("touch /run/app.kills")
    host.apply(code=None)
    assert host.markers() == {"needs-restart"}
    host.sh("rm /run/app.kills /run/app.broken")
    host.apply()
    assert (host.log(), host.markers()) == (["start two"], set())
    host.quiet()
