"""A child that can compute and nothing else."""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datum.host import apart, namespaces
from datum.host.powerless import Bounds, Identity, Powerless, start_powerless
from tests.unit.host.powerless_child import BOUNDS, IDENTITY, NUMBER, asked

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up rights")


def idle(end: socket.socket) -> None:
    end.recv(1)


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_it_has_no_rights() -> None:
    found = asked(status)
    assert [found[name].split() for name in ("Uid", "Gid")] == [[str(NUMBER)] * 4] * 2
    assert found["Groups"] == ""
    assert {found[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """Give a folder that everybody can reach and write."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o777)
    return tmp_path


def test_it_writes_nowhere(open_folder: Path) -> None:
    """Not even where everybody may."""
    assert asked(lambda: (open_folder / "x").write_text("x")) == ["OSError", 30]
    assert asked((open_folder / "x").mkdir) == ["OSError", 30]
    assert asked(lambda: Path("/dev/shm/datum-x").write_text("x")) == ["OSError", 30]
    assert list(open_folder.iterdir()) == []


def test_it_writes_no_byte_where_mounts_cannot_be_had(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container without CAP_SYS_ADMIN; that it is so is told."""
    monkeypatch.setattr(apart, "_CLONE_NEWPID", 0x20000001)
    (open_folder / "x").touch(0o666)
    (open_folder / "x").chmod(0o666)
    assert asked(lambda: (open_folder / "x").write_text("x")) == ["OSError", 27]
    assert asked(lambda: Path("/proc/self/status").exists())
    child = start_powerless(idle, IDENTITY, BOUNDS)
    assert (child.is_enclosed, child.bare) == (False, "setns: Invalid argument")
    child.end()


def test_mounts_that_cannot_be_made_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(1, "mount_setattr /: Operation not permitted")

    monkeypatch.setattr("datum.host.powerless.seclude", refuse)
    child = start_powerless(idle, IDENTITY, BOUNDS)
    assert child.bare == "mount_setattr /: Operation not permitted"
    child.end()


def test_its_network_is_empty() -> None:
    assert asked(lambda: str(Path("/proc/self/ns/net").readlink())) != str(Path("/proc/self/ns/net").readlink())


def test_it_reads_no_secret(open_folder: Path) -> None:
    token = open_folder / "token"
    token.write_text("t0ken")
    token.chmod(0o600)
    assert asked(token.read_text) == ["PermissionError", 13]
    assert asked(Path("/etc/shadow").read_text) == ["PermissionError", 13]
    agent = os.getpid()
    assert asked(lambda: Path(f"/proc/{agent}/environ").read_text()) == ["FileNotFoundError", 2]
    assert asked(lambda: Path(f"/proc/{agent}/mem").read_bytes()) == ["FileNotFoundError", 2]


def test_it_sees_no_process_but_itself() -> None:
    assert asked(lambda: [each.name for each in Path("/proc").iterdir() if each.name.isdecimal()]) == ["1"]
    assert asked(lambda: Path("/proc/self/oom_score_adj").write_text("0")) == ["OSError", 30]


def test_without_a_proc_of_its_own_all_else_holds(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that covers parts of its own; it is told, and what it could read there is as shut as ever."""

    def refuse() -> None:
        raise OSError(1, "mount proc on /proc: Operation not permitted")

    monkeypatch.setattr(namespaces, "show_own_processes", refuse)
    child = start_powerless(idle, IDENTITY, BOUNDS)
    assert child.bare == "mount proc on /proc: Operation not permitted"
    child.end()
    assert asked((open_folder / "x").mkdir) == ["OSError", 30]
    agent = os.getpid()
    assert asked(lambda: Path(f"/proc/{agent}/environ").read_text()) == ["PermissionError", 13]


def test_it_holds_nothing_of_the_agent_open(open_folder: Path) -> None:
    """Standard streams lead nowhere, and the environment is gone."""
    with (open_folder / "secret").open("w+") as secret:
        number = secret.fileno()
        os.set_inheritable(number, True)
        assert asked(lambda: os.fstat(number).st_size) == ["OSError", 9]
    assert asked(lambda: [str(Path(f"/proc/self/fd/{each}").readlink()) for each in range(3)]) == ["/dev/null"] * 3
    os.environ["DATUM_SECRET"] = "x"
    try:
        assert "DATUM_SECRET" not in asked(lambda: dict(os.environ))
    finally:
        del os.environ["DATUM_SECRET"]


def test_it_neither_signals_nor_traces_the_agent() -> None:
    """It cannot even name it: it is process 1 of its own."""
    agent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True)

    def trace() -> int:
        libc.ptrace(16, agent, 0, 0)
        return ctypes.get_errno()

    assert asked(lambda: os.kill(agent, signal.SIGTERM)) == ["ProcessLookupError", 3]
    assert asked(trace) == 1
    assert asked(lambda: [os.getpid(), os.getppid()]) == [1, 0]


def test_it_neither_signals_nor_traces_the_agent_without_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_CLONE_NEWPID", 0x20000001)
    agent = os.getpid()
    assert asked(lambda: os.kill(agent, signal.SIGTERM)) == ["PermissionError", 1]


def test_no_right_is_gained_by_a_program(open_folder: Path) -> None:
    """A set-uid program runs with no other rights than its caller's."""
    program = open_folder / "id"
    program.write_bytes(Path("/usr/bin/id").read_bytes())
    program.chmod(0o4755)

    def run() -> str:
        reader, writer = os.pipe()
        if not os.fork():
            os.dup2(writer, 1)
            os.execv(program, ["id", "-u"])
        os.close(writer)
        return os.read(reader, 100).decode().strip()

    assert asked(run) == str(NUMBER)


def test_memory_is_bounded() -> None:
    assert asked(lambda: len(bytearray(1 << 30)), Bounds(256 << 20, 60)) == "MemoryError"


def test_time_is_bounded() -> None:
    """By the kernel: whatever it does, it ends."""

    def spin(_end: socket.socket) -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            pass

    child = start_powerless(spin, IDENTITY, Bounds(1 << 30, 1))
    assert child.socket.recv(1) == b""
    assert child.wait() == -signal.SIGKILL


def test_processes_are_bounded() -> None:
    def multiply() -> int:
        count = 0
        with contextlib.suppress(OSError):
            while count < 1000:
                if not os.fork():
                    signal.pause()
                count += 1
        return count

    # Those of one user are counted together, whatever test they are of.
    assert 0 < asked(multiply, identity=Identity(NUMBER + 1, NUMBER + 1)) < 200


def test_what_it_started_ends_with_it(open_folder: Path) -> None:
    """Also what made a session of its own."""
    number = NUMBER + 2
    child = start_powerless(_leave_something, Identity(number, number), BOUNDS)
    inner = int(child.socket.recv(100))
    assert inner
    before = _processes_of(number)
    assert len(before) >= 2
    child.end()
    assert _processes_of(number) == set()


def _leave_something(end: socket.socket) -> None:
    pid = os.fork()
    if not pid:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.pause()
    os.waitpid(pid, 0)
    end.sendall(str(pid).encode())
    end.recv(1)
    signal.pause()


def _processes_of(uid: int) -> set[int]:
    found = set()
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdecimal() and f"\nUid:\t{uid}\t" in (each / "status").read_text():
                found.add(int(each.name))
    return found


AGENT = """
import os, socket, sys, time
from datum.host.powerless import Bounds, Identity, start_powerless

def serve(end):
    end.recv(1)
    while True:
        time.sleep(60)

child = start_powerless(serve, Identity({uid}, {uid}), Bounds(1 << 30, 60))
child.socket.sendall(b"x")
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_it_dies_with_the_agent(number: signal.Signals) -> None:
    """However that ends, and whatever the child is at: here it does not look at its socket."""
    agent = subprocess.Popen([sys.executable, "-c", AGENT.format(uid=NUMBER)], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    with agent.stdout:
        pid = int(agent.stdout.readline())
        watch = os.pidfd_open(pid)
        agent.send_signal(number)
        agent.wait(20)
        import select

        poll = select.poll()
        poll.register(watch, select.POLLIN)
        assert poll.poll(20_000), "it outlived the agent"
        os.close(watch)


def test_signals_of_the_terminal_do_not_end_it() -> None:
    """Which the agent takes, and goes on until the action in hand is done."""
    child = start_powerless(lambda end: end.sendall(end.recv(1)), IDENTITY, BOUNDS)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(child.pid, number)
    child.socket.sendall(b"x")
    assert child.socket.recv(1) == b"x"
    assert child.wait() == 0


def test_ending_it_again_tells_the_same() -> None:
    child = start_powerless(idle, IDENTITY, BOUNDS)
    ended = child.end()
    # It may have seen that nobody asks any more before the signal came.
    assert ended in {0, -signal.SIGKILL}
    assert child.end() == child.wait() == ended


def test_a_step_that_is_refused_is_told_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "setresuid", refuse)
    before = _children()
    with pytest.raises(OSError, match="setresuid: Invalid argument"):
        start_powerless(idle, IDENTITY, BOUNDS)
    assert _children() <= before


def test_one_that_ends_while_it_gives_up_its_powers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datum.host.powerless._give_up", lambda *_args, **_more: os._exit(3))
    with pytest.raises(OSError, match="it ended while"):
        start_powerless(idle, IDENTITY, BOUNDS)


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_the_agent_stays_as_it_was() -> None:
    """In its namespaces, and with its rights and limits."""

    def facts() -> list[object]:
        names = [str(Path(f"/proc/self/ns/{name}").readlink()) for name in ("pid_for_children", "mnt", "net", "ipc")]
        return [*names, os.getuid(), resource.getrlimit(resource.RLIMIT_FSIZE), status()["CapEff"], status()["Seccomp"]]

    before = facts()
    asked(lambda: 1)
    assert facts() == before


def test_seclude_is_for_root_alone() -> None:
    def alone() -> None:
        namespaces.seclude()

    assert asked(alone) == ["PermissionError", 1]


def test_a_moment_is_given_to_one_that_closed_its_side() -> None:
    """So that it is known how it ended; one that does not end is killed."""

    def linger(end: socket.socket) -> None:
        end.close()
        time.sleep(0.05)

    child: Powerless = start_powerless(linger, IDENTITY, BOUNDS)
    assert child.socket.recv(1) == b""
    assert child.wait() == 0
