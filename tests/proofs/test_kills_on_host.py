"""A pass of every writing operation of every type at the root of a Debian: nothing else changes, and kills in it.

And the git program that fetches, struck in the middle of it.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.harness.machine import Machine
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.strace import WRITING, Call, Strace, own_calls, parse
from tests.proofs.judging import judge_host, unfinished
from tests.proofs.kinds_on_host import KindsOnHost, states
from tests.proofs.on_host import POINTER, FleetOnHost, others_changed

KILLS: Final = 4
FEWEST_POINTS: Final = 350
# What git makes while it fetches, and what is struck of it.
_GIT: Final = "/usr/local/sbin/git"
_GIT_LOG: Final = "/dev/shm/git.log"
_GIT_STRIKES: Final = (
    ("write", "signal=KILL"),
    ("write", "error=ENOSPC"),
    ("openat", "signal=KILL"),
    ("fsync", "error=EIO"),
    ("rename,link", "signal=KILL"),
    ("rename,link", "error=EACCES"),
    ("execve", "error=ENOMEM"),
)


def test_nothing_else_changes_and_a_pass_that_is_killed_leaves_old_or_new(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path
) -> None:
    kinds, machine = KindsOnHost.prepare(make_oneshot, agent_bind, tmp_path)
    declared = {f"/{path}" for path in kinds.stage.new}
    assert others_changed(machine, {}, declared | {"/mnt", "/mnt/kept", "/opt", "/srv", "/srv/fleet"}) == {}
    assert "nothing to do" in kinds.fleet.datum(machine, "apply")
    machine.close()
    points = trace(kinds)
    print(f"{len(points)} points in a Debian")
    assert len(points) >= FEWEST_POINTS
    chosen = random.Random("datum").sample(points, KILLS)
    wrong = [
        f"{call.name} {call.nth} ({call.arguments[:160]}): {what}" for call in chosen for what in kill(kinds, call)
    ]
    assert not wrong, "\n".join(wrong)


def trace(kinds: KindsOnHost) -> list[Call]:
    """Return the writing calls that one clean pass itself makes."""
    machine = kinds.fresh()
    calls = Strace(machine, kinds.fleet.env, timeout=120).trace([*kinds.fleet.argv, "apply"], WRITING)
    machine.close()
    return own_calls(calls)


def kill(kinds: KindsOnHost, call: Call) -> Iterator[str]:
    """Kill a pass on a fresh host at one call; say what does not hold right after, and after the next two."""
    machine = kinds.fresh()
    inject = f"inject={call.name}:signal=KILL:when={call.nth}"
    argv = [
        "strace",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call.name}",
        "-e",
        inject,
        "--",
        *kinds.fleet.argv,
        "apply",
    ]
    done = machine.run(argv, env=kinds.fleet.env, check=False, timeout=120)
    if done.returncode not in {-9, 137}:
        yield f"it was not killed: {done.returncode} {done.stdout[-200:]}{done.stderr[-200:]}"
    yield from judge_host(kinds.stage, machine.path, states(machine))
    kinds.fleet.datum(machine, "apply")
    yield from unfinished(kinds.stage.new, states(machine))
    if "nothing to do" not in kinds.fleet.datum(machine, "apply"):
        yield "one more pass has something to do"
    machine.close()


@pytest.fixture
def behind(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path) -> tuple[FleetOnHost, Oneshot]:
    """Give a host that enforces one revision, whose source has another one."""
    fleet = FleetOnHost(tmp_path, agent_bind)
    fleet.commit({"file:/etc/motd": {"content": "old\n"}})
    machine = make_oneshot(binds=(fleet.bind,))
    fleet.enrol(machine)
    fleet.datum(machine, "apply")
    machine.write("/etc/motd", "drift\n")
    fleet.commit({"file:/etc/motd": {"source": "files/new"}}, files={"files/new": "new\n" * 1000})
    return fleet, machine


def test_a_fetch_whose_git_is_killed_or_fails_ends_the_pass_with_the_old_state_and_the_next_converges(
    behind: tuple[FleetOnHost, Oneshot],
) -> None:
    """What is enforced stays enforced, and nothing of the fetch is left."""
    codes = {}
    fleet, machine = behind
    pointer = machine.read(POINTER)
    for name, fault in _GIT_STRIKES:
        machine.write("/etc/motd", "drift\n")
        # git's own first calls find its libraries, so later ones are struck.
        wrap(machine, f"-e trace={name} -e inject={name}:{fault}:when={'1' if name != 'openat' else '12'}")
        done = machine.run([*fleet.argv, "apply"], env=fleet.env, check=False)
        said = done.stdout + done.stderr
        assert done.returncode in {69, 74}, (name, fault, said)
        assert "Traceback" not in said
        log = machine.read(_GIT_LOG).decode(errors="replace")
        assert "INJECTED" in log or "killed by SIGKILL" in log, (name, fault, log[-500:])
        # 69: the source cannot be had, and what is enforced is enforced again. 74: nothing can be written down.
        assert machine.read("/etc/motd") == (b"old\n" if done.returncode == 69 else b"drift\n"), (name, fault, said)
        assert machine.read(POINTER) == pointer, (name, fault)
        codes[name, fault] = done.returncode
    print(f"exit codes while git was struck: {codes}")
    assert 69 in codes.values()
    machine.run(["rm", _GIT, _GIT_LOG])
    fleet.datum(machine, "apply")
    assert machine.read("/etc/motd") == b"new\n" * 1000
    left = [path for path in machine.changes() if "quarantine" in path or "tmp_pack" in path or "tmp_obj" in path]
    assert left == []
    assert "nothing to do" in fleet.datum(machine, "apply")


def test_the_git_that_is_struck_makes_what_is_struck(behind: tuple[FleetOnHost, Oneshot]) -> None:
    fleet, machine = behind
    wrap(machine, "")
    fleet.datum(machine, "apply")
    names = [call.name for call in parse(machine.read(_GIT_LOG).decode(errors="replace"))]
    assert {"execve", "openat", "write", "fsync"} <= set(names)
    assert {"rename", "link"} & set(names)


def wrap(machine: Machine, options: str) -> None:
    """Have every git that fetches run under a tracer with these options."""
    traced = f"strace -f -qq -o {_GIT_LOG} {options} /usr/bin/git"
    machine.write(
        _GIT, f'#!/bin/sh\ncase "$*" in *" fetch "*) exec {traced} "$@";; esac\nexec /usr/bin/git "$@"\n', mode=0o755
    )
