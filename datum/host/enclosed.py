"""Programs of which nothing is left when they have ended, whatever they started: each in a pid namespace of its own.

Effects: processes. Needs root with CAP_SYS_ADMIN. A session does not hold what makes one of its own; a namespace does:
with its first process the kernel kills all others, and that process counts as ended only when they are gone.
"""

import ctypes
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from attrs import evolve

from datum.host.child import Ended, run_prepared
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError

_CLONE_NEWPID: Final = 0x20000000
_PR_SET_PDEATHSIG: Final = 1
_OWN: Final = "/proc/self/ns/pid"
_EXIT_CODE: Final = 16

_libc: Final = ctypes.CDLL(None, use_errno=True)


def run_enclosed(command: Command, prepare: Callable[[], None]) -> Ended:
    """Run a program as `run_prepared` does; when this returns or raises, all that it started has ended.

    The program is not the first process of its namespace, which no signal of its own ends.

    Raises:
        HostError: `program-not-enclosed`: there is no such namespace to be had, and nothing ran.
        OSError: see `run_prepared`.
        ValueError: see `run_prepared`.
    """
    reader, writer = os.pipe()
    try:
        ended = run_prepared(command, partial(_watched, prepare, reader, writer), fork=_fork_apart)
        os.set_blocking(reader, False)
        told = b""
        with suppress(BlockingIOError):
            told = os.read(reader, _EXIT_CODE)
    finally:
        os.close(reader)
        os.close(writer)
    # An exit code has no place for a signal.
    return evolve(ended, exit_code=int(told)) if told and not ended.is_late else ended


def _fork_apart() -> int:
    """Fork a child that is the first process of a new namespace; this process stays in its own."""
    try:
        own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # The way back is tried before it is needed.
            _check(_libc.setns(own, _CLONE_NEWPID), "setns")
            _check(_libc.unshare(_CLONE_NEWPID), "unshare NEWPID")
            pid = -1
            try:
                pid = os.fork()
            finally:
                if pid:
                    _check(_libc.setns(own, _CLONE_NEWPID), "setns")
        finally:
            os.close(own)
    except OSError as error:
        raise HostError(
            f"No namespace of processes can be made ({error.strerror}), and what a program leaves behind could not be "
            "ended.",
            code="program-not-enclosed",
            summary="A program cannot be enclosed.",
            failure=FailureCause.IMPOSSIBLE,
            hint="let the agent have CAP_SYS_ADMIN, or set `source.account` to root to talk to servers as root",
        ) from error
    return pid


def _watched(prepare: Callable[[], None], reader: int, writer: int) -> None:
    """In the child: return in a child of its own, prepared; this one waits, tells how that ended, and ends."""
    os.close(reader)
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    watch = select.poll()
    watch.register(writer, 0)
    if watch.poll(0):
        # The agent ended before that could tell.
        os._exit(1)
    program = os.fork()
    if not program:
        prepare()
        return
    os.closerange(0, writer)
    os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX"))
    status = -1
    ended = 0
    while ended != program:
        # What lost its parent is this one's to reap.
        ended, status = os.waitpid(-1, 0)
    os.write(writer, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
