"""Timers on a booted Debian: judged, enabled and started by its systemd, and what they start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.odd_words import ODD
from tests.proofs.on_host import FleetOnHost

SYSTEM: Final = "/etc/systemd/system"
LINK: Final = f"{SYSTEM}/timers.target.wants/job.timer"


@pytest.fixture
def fleet(tmp_path: Path, agent_bind: AgentBind) -> FleetOnHost:
    return FleetOnHost(tmp_path, agent_bind)


@pytest.fixture
def machine(make_booted: Callable[..., Booted], fleet: FleetOnHost) -> Booted:
    return make_booted(binds=(fleet.bind,))


def sh(machine: Booted | Oneshot, script: str) -> str:
    return machine.run(["sh", "-c", script], check=False).stdout.strip()


def prop(machine: Booted, unit: str, name: str) -> str:
    return sh(machine, f"systemctl show -p {name} --value {unit}")


def timer(**fields: Any) -> dict[str, Any]:
    return {"timer:job": {"on_calendar": ["*-*-* 04:30"], "argv": ["/bin/true"], **fields}}


def test_a_timer_is_made_repaired_and_removed(machine: Booted, fleet: FleetOnHost) -> None:
    fleet.commit(timer())
    fleet.enrol(machine)
    assert "1 to create" in fleet.datum(machine, "plan")
    fleet.datum(machine, "apply")
    assert sh(machine, "systemctl is-active job.timer; systemctl is-enabled job.timer") == "active\nenabled"
    assert sh(machine, "systemctl list-timers --no-legend job.timer").endswith("job.timer job.service")
    assert "nothing to do" in fleet.datum(machine, "apply")
    sh(machine, "systemctl disable --now job.timer")
    fleet.datum(machine, "apply")
    assert sh(machine, "systemctl is-active job.timer; systemctl is-enabled job.timer") == "active\nenabled"
    sh(machine, f"printf '#' >> {SYSTEM}/job.service")
    fleet.datum(machine, "apply")
    assert prop(machine, "job.service", "NeedDaemonReload") == "no"
    fleet.commit(timer(running=False))
    fleet.datum(machine, "apply")
    assert sh(machine, "systemctl is-active job.timer; systemctl is-enabled job.timer") == "inactive\ndisabled"
    assert "nothing to do" in fleet.datum(machine, "apply")
    fleet.commit(timer())
    fleet.datum(machine, "apply")
    fleet.commit({"file:/srv/other": {"content": ""}})
    fleet.datum(machine, "apply")
    assert sh(machine, f"find {SYSTEM} -name 'job*'") == ""
    assert prop(machine, "job.timer", "LoadState,ActiveState") == "not-found\ninactive"


def test_other_times_count_at_once_and_start_nothing(machine: Booted, fleet: FleetOnHost) -> None:
    """A start would make up for `on_boot`, which is past: the job would run because its time was changed."""
    job = {"on_boot": 1, "argv": ["sh", "-c", "echo ran >> /srv/ran"]}
    fleet.commit(timer(**job))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    sh(machine, "until [ -s /srv/ran ]; do sleep 0.1; done")
    since = prop(machine, "job.timer", "ActiveEnterTimestampMonotonic")
    before = prop(machine, "job.timer", "NextElapseUSecRealtime")
    fleet.commit(timer(**job, accuracy=1.5) | {"timer:job": {**job, "on_calendar": ["*-*-* 05:30"]}})
    fleet.datum(machine, "apply")
    assert "05:30:00" in prop(machine, "job.timer", "NextElapseUSecRealtime") != before
    assert prop(machine, "job.timer", "ActiveEnterTimestampMonotonic") == since
    assert sh(machine, "cat /srv/ran") == "ran"


def test_arguments_and_variables_arrive_as_they_are_declared(machine: Booted, fleet: FleetOnHost) -> None:
    script = 'printf "<%s>" "$@" "$A" "$B" "$(id -un)" "$PWD" > /srv/out/said'
    fleet.commit(
        {
            "user:job": {"system": True},
            "directory:/srv/out": {"owner": "job"},
            "directory:/srv/100% here": {},
            **timer(
                argv=["/bin/sh", "-c", script, "sh", *(word.replace("${", "$${") for word in ODD)],
                user="job",
                environment={"A": '$HOME %n "x" \\y', "B": " z "},
                working_directory="/srv/100% here",
                description="The job: 100% of it",
            ),
        }
    )
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    sh(machine, "systemctl start job.service")
    expected = [*ODD, '$HOME %n "x" \\y', " z ", "job", "/srv/100% here"]
    assert machine.read("/srv/out/said").decode() == "".join(f"<{word}>" for word in expected)
    assert prop(machine, "job.timer", "Description") == "The job: 100% of it"
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_what_systemd_does_not_take_does_not_reach_the_host(machine: Booted, fleet: FleetOnHost) -> None:
    fleet.commit(timer(on_calendar=["Monday at noon"]))
    fleet.enrol(machine)
    assert "Monday at noon" in fleet.datum(machine, "apply", code=1)
    assert sh(machine, f"ls {SYSTEM}/job.timer") == ""
    fleet.commit(timer(argv=["/no/where"]))
    assert "There is no program /no/where." in fleet.datum(machine, "plan", code=(0, 1))


def test_what_runs_when_its_timer_is_removed_is_left_to_end(machine: Booted, fleet: FleetOnHost) -> None:
    fleet.commit(timer(argv=["sh", "-c", "until [ -e /srv/go ]; do sleep 0.1; done; echo done > /srv/ended"]))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    sh(machine, "systemctl start --no-block job.service")
    fleet.commit({"timer:job": {"absent": True}})
    assert "job.service runs, and is left to end" in fleet.datum(machine, "apply")
    assert sh(machine, f"find {SYSTEM} -name 'job*'") == ""
    assert sh(machine, "touch /srv/go; until [ -e /srv/ended ]; do sleep 0.1; done; cat /srv/ended") == "done"


def test_a_mask_gives_way(machine: Booted, fleet: FleetOnHost) -> None:
    sh(machine, f"ln -s /dev/null {SYSTEM}/job.timer; systemctl daemon-reload")
    fleet.commit(timer())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(machine, "systemctl is-active job.timer") == "active"


def test_without_a_manager_the_link_is_the_one_that_systemd_would_make(
    make_oneshot: Callable[..., Oneshot], fleet: FleetOnHost
) -> None:
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.commit(timer())
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    assert sh(machine, "systemctl --root=/ is-enabled job.timer") == "enabled"
    made = sh(machine, f"readlink {LINK}; systemctl --root=/ disable job.timer; systemctl --root=/ enable job.timer")
    assert made == sh(machine, f"readlink {LINK}")
    assert "nothing to do" in fleet.datum(machine, "apply")
    fleet.commit({"timer:job": {"absent": True}})
    fleet.datum(machine, "apply")
    assert sh(machine, f"find {SYSTEM} -name 'job*'") == ""
