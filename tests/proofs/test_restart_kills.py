"""A pass that is killed between mark, write and restart: the restart is owed, and the next pass does it, once."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.harness.strace import WRITING, Call, Strace
from tests.proofs.on_host import FleetOnHost, Resources

CONF: Final = "/etc/app.conf"
KILLS: Final = 6
FEWEST_POINTS: Final = 40
# What is said to the manager, and what changes the disk.
_TALK: Final = ("sendmsg", "sendto", "connect")
_UNIT: Final = f"""\
[Service]
ExecStart=/bin/sh -c 'cat {CONF} >> /run/app.log; exec sleep infinity'
"""


def resources(text: str) -> Resources:
    return {
        f"file:{CONF}": {"content": f"{text}\n"},
        "unit:app.service": {"content": _UNIT},
        "service:app": {"running": True, "settle": 0.1, "restart_on": [f"file:{CONF}"]},
    }


@frozen
class Host:
    """A booted Debian whose service has read its configuration."""

    machine: Booted
    fleet: FleetOnHost

    def declare(self, text: str) -> None:
        self.fleet.commit(resources(text), fleet={"limits": {"changed": "none"}})

    def sh(self, script: str) -> str:
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    @property
    def read(self) -> list[str]:
        """What the starts so far read, oldest first."""
        return self.sh("cat /run/app.log").splitlines()


@pytest.fixture
def host(make_booted: Callable[..., Booted], agent_bind: AgentBind, tmp_path: Path) -> Host:
    fleet = FleetOnHost(tmp_path, agent_bind)
    found = Host(make_booted(binds=(fleet.bind,)), fleet)
    found.declare("begin")
    fleet.enrol(found.machine)
    fleet.datum(found.machine, "apply")
    assert found.read == ["begin"]
    return found


def test_a_restart_is_owed_wherever_a_pass_is_killed(host: Host) -> None:
    points = trace(host)
    print(f"{len(points)} points between the beginning and the end of a pass that restarts")
    assert len(points) >= FEWEST_POINTS
    assert {call.name for call in points} & set(_TALK)
    chosen = random.Random("datum").sample(points, KILLS)
    wrong = [
        f"{call.name} {call.nth} ({call.arguments[:120]}): {what}"
        for number, call in enumerate(chosen)
        for what in kill(host, call, f"text {number}")
    ]
    assert not wrong, "\n".join(wrong)


def trace(host: Host) -> list[Call]:
    """Return the calls of one clean pass with which it changes anything or talks to the manager."""
    host.declare("traced")
    strace = Strace(host.machine, host.fleet.env, timeout=120)
    calls = strace.trace([*host.fleet.argv, "apply"], [*WRITING, *_TALK])
    assert host.read == ["begin", "traced"]
    return [call for call in calls if call.pid == calls[0].pid]


def kill(host: Host, call: Call, text: str) -> Iterator[str]:
    """Kill a pass at one call; say what does not hold right after, and after the next passes."""
    before = host.read
    host.declare(text)
    strace = Strace(host.machine, host.fleet.env, timeout=120)
    strace.inject([*host.fleet.argv, "apply"], call.name, when=call.nth, signal="KILL")
    # A restart that the manager was told of goes on without the agent.
    host.sh("systemctl is-active app --wait; systemctl list-jobs; sleep 0.3")
    is_new, is_read = host.sh(f"cat {CONF}") == text, host.read[-1] == text
    owes = "needs-restart" in host.sh("systemctl show -p Markers --value app")
    if is_new and not is_read and not owes:
        yield "the file is new, the service has not read it, and nothing is owed"
    host.fleet.datum(host.machine, "apply")
    if host.read != [*before, text]:
        yield f"the starts after it read {host.read[len(before) :]}"
    if "nothing to do" not in host.fleet.datum(host.machine, "apply"):
        yield "a pass after that has something to do"
