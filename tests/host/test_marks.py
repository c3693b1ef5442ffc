"""Marks of units as a real systemd keeps them: the facts on which restarts rest (design 4.1)."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python, write_unit

SLEEP: Final = "ExecStart=/bin/sleep 1000"
BOTH: Final = ["needs-reload", "needs-restart"]

Tell = Callable[[str], Any]


@pytest.fixture
def tell(booted: Booted, agent_bind: AgentBind) -> Tell:
    """Give a host with a unit that can reload, and one whose reload fails; returns how it is told something."""
    write_unit(booted, "good.service", SLEEP, "ExecReload=/bin/true")
    write_unit(booted, "bad.service", SLEEP, "ExecReload=/bin/false")
    booted.run(["systemctl", "start", "good.service", "bad.service"])
    before = """
import subprocess
def marks(name="good.service"):
    return sorted(facts(name).marks)
def mark(*wanted, name="good.service"):
    manager.mark(name, wanted)
    return marks(name)
"""
    return lambda source: python(booted, agent_bind, before + source)


def test_a_mark_is_exactly_what_was_set(tell: Tell) -> None:
    answer = tell("answer = [mark(*each) for each in (['needs-restart'], ['needs-reload', 'needs-restart'], [])]")
    assert answer == [["needs-restart"], BOTH, []]


def test_an_unknown_mark_is_refused(tell: Tell) -> None:
    answer = tell("answer = error_of(manager.mark, 'good.service', ['needs-tea'])")
    assert answer["code"] == "manager-refused"
    assert 'Unknown marker "needs-tea"' in answer["detail"]


def test_a_restart_is_owed_across_daemon_reload_and_reexec(tell: Tell) -> None:
    answer = tell(
        """
mark("needs-restart")
manager.daemon_reload()
answer = [marks()]
subprocess.run(["systemctl", "daemon-reexec"], check=True)
answer.append(marks())
"""
    )
    assert answer == [["needs-restart"]] * 2


def test_a_reload_leaves_the_restart_owed_and_takes_the_other_mark(tell: Tell) -> None:
    answer = tell(
        """
answer = [mark("needs-restart", "needs-reload")]
manager.reload("good.service")
answer.append(marks())
"""
    )
    assert answer == [BOTH, ["needs-restart"]]


def test_a_reload_that_fails_takes_its_mark_too(tell: Tell) -> None:
    answer = tell(
        """
mark("needs-restart", "needs-reload", name="bad.service")
answer = [error_of(manager.reload, "bad.service")["code"], marks("bad.service")]
"""
    )
    assert answer == ["job-failed", ["needs-restart"]]


def test_restart_stop_and_a_crash_clear_the_marks(tell: Tell, booted: Booted) -> None:
    write_unit(booted, "crash.service", SLEEP, "Restart=always", "RestartSec=10ms")
    answer = tell(
        """
mark("needs-restart", "needs-reload")
manager.restart("good.service")
answer = [marks()]
mark("needs-restart", "needs-reload")
manager.stop("good.service")
manager.start("good.service")
answer.append(marks())
manager.start("crash.service")
mark("needs-restart", name="crash.service")
first = facts("crash.service").invocation
subprocess.run(["systemctl", "kill", "--signal=KILL", "crash.service"], check=True)
while facts("crash.service").invocation == first or facts("crash.service").active != "active":
    time.sleep(0.02)
answer.append(marks("crash.service"))
"""
    )
    assert answer == [[], [], []]


def test_an_inactive_unit_keeps_none(tell: Tell) -> None:
    answer = tell(
        """
manager.stop("good.service")
answer = [mark("needs-restart")]
manager.start("good.service")
answer.append(marks())
"""
    )
    assert answer == [[], []]


def test_a_mark_is_written_to_no_disk(tell: Tell, booted: Booted) -> None:
    before = booted.changes()
    places = ["find", "/run/systemd/system.control", "/run/systemd/transient", "/etc/systemd", "-name", "good.service*"]
    files = booted.run(places, check=False).stdout
    tell("answer = mark('needs-restart')")
    assert booted.run(places, check=False).stdout == files
    assert {path for path in booted.changes() if "systemd/system" in path} == {
        path for path in before if "systemd/system" in path
    }
