"""What the kernel refuses to a child without powers, and what it goes on to allow."""

import ctypes
import errno
import os
import signal
import socket
import subprocess
import threading

import pytest

from datum.host import refused_calls
from tests.unit.host.powerless_child import asked

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up rights")


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK])
def test_it_opens_no_socket(family: socket.AddressFamily) -> None:
    assert asked(lambda: str(socket.socket(family))) == ["PermissionError", 1]


def test_every_refused_call_is_refused() -> None:
    """By its number on this machine; each would fail otherwise, too, but not so."""
    numbers = refused_calls._MACHINES[os.uname().machine].numbers
    libc = ctypes.CDLL(None, use_errno=True)

    def call() -> list[int]:
        found = []
        for number in numbers:
            ctypes.set_errno(0)
            libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
            found.append(ctypes.get_errno())
        return found

    assert len(numbers) == len(refused_calls.REFUSED)
    assert asked(call) == [1] * len(numbers)


def test_each_machine_has_a_number_for_every_refused_call() -> None:
    for machine in refused_calls._MACHINES.values():
        assert len(machine.numbers) == len(set(machine.numbers)) == len(refused_calls.REFUSED)


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
def test_it_makes_no_pair_of_sockets(kind: socket.SocketKind) -> None:
    """One of datagrams could send to the sockets that programs of the host listen on."""
    assert asked(lambda: str(socket.socketpair(socket.AF_UNIX, kind))) == ["PermissionError", 1]


NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}


def _clone(flags: int) -> int:
    """Return the number of the error of clone(2), 0: it made a child."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = refused_calls._MACHINES[os.uname().machine].clone
    pid = libc.syscall(ctypes.c_long(number), ctypes.c_long(flags | signal.SIGCHLD), *[ctypes.c_long(0)] * 4)
    if not pid:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        return 0
    return ctypes.get_errno()


@pytest.mark.parametrize("name", NAMESPACES)
def test_it_makes_no_namespace(name: str) -> None:
    """With one of users it would have every capability, inside."""
    flag = NAMESPACES[name]
    assert asked(lambda: [_clone(flag), _clone(flag | NAMESPACES["user"]), _clone(0)]) == [1, 1, 0]


def test_clone_by_flags_in_memory_is_as_if_it_were_not_there() -> None:
    """So that the C library takes the other one; EPERM would end what starts threads."""

    def call() -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(ctypes.c_long(435), ctypes.c_long(0), ctypes.c_long(0))
        return ctypes.get_errno()

    assert asked(call) == errno.ENOSYS


def test_processes_threads_and_programs_can_be_started() -> None:
    """As git is, by the resolver, and what git starts."""

    def start() -> list[object]:
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append("thread"))
        thread.start()
        thread.join()
        found.append(subprocess.run(["sh", "-c", "echo a | cat"], capture_output=True, check=True).stdout.decode())
        found.append(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1]))
        return found

    assert asked(start) == ["thread", "a\n", 0]


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    assert not refused_calls.refuse_calls()
