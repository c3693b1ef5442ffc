"""A child of this process that can compute and nothing else: it has no rights, no network, no file that it may write.

Effects: processes and namespaces. The child is a fork, not another program: what this process has loaded need not be
loaded again. So it is made before anything secret is open, and closes all but its end of a socket.

What the kernel holds it to: a user and group of its own without others, no capability in any set, no way to gain one
(`no_new_privs`); namespaces of its own of processes (with a /proc that shows no others), mounts (all read-only),
networks (none) and System V objects; no socket to be made, no namespace, and no process to be traced (`refused_calls`);
files of no byte; bounds of memory, CPU time and processes. It dies with this process, and what it started dies with it.
Where the agent lacks CAP_SYS_ADMIN, as in a container, there are no such namespaces (`Powerless.is_enclosed`), and what
it started may outlive both: it needs to start processes, since git is one.
"""

import ctypes
import gc
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from attrs import define, field, frozen

from datum.host.apart import fork_apart
from datum.host.child import PATH
from datum.host.namespaces import seclude
from datum.host.refused_calls import refuse_calls

_PR_SET_PDEATHSIG: Final = 1
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
# capget(2): version 3, of two words.
_CAPABILITY_VERSION: Final = 0x20080522
# More than any kernel knows; prctl says EINVAL at the first that there is not.
_CAPABILITIES: Final = 64
_OPEN_FILES: Final = 256
_PROCESSES: Final = 64
# Killed before the agent where memory is short.
_OOM_SCORE: Final = b"700"
# Seconds for a child that closed its side to end, and for one to give up its powers.
_GRACE: Final = 5.0
_START: Final = 30.0
_TOLD: Final = 4096
_READY: Final = "ready"

_libc: Final = ctypes.CDLL(None, use_errno=True)


@frozen
class Bounds:
    """What a child may use up."""

    # Bytes of data of each process.
    memory: int
    # Seconds of CPU of each process.
    cpu: int


@frozen
class Identity:
    """Whom it runs as: numbers that nothing else on the host has."""

    uid: int
    gid: int


@define
class Powerless:
    """Such a child, and this side of its socket."""

    pid: int
    socket: socket.socket
    # Only this process talks to it: a fork of it would read answers that are not its own.
    owner: int = field(factory=os.getpid)
    # Empty; else why it has no namespaces of its own.
    bare: str = ""
    _ended: int | None = None

    @property
    def is_enclosed(self) -> bool:
        """Whether it has namespaces of its own."""
        return not self.bare

    def end(self) -> int:
        """Kill it and what it started, and return how it ended, as `os.waitstatus_to_exitcode`; again: the same."""
        if self._ended is None:
            self.socket.close()
            self._ended = self._reap(0.0)
        return self._ended

    def wait(self) -> int:
        """Return how it ended, which it does soon, since it closed its side; else it is killed."""
        if self._ended is None:
            self._ended = self._reap(_GRACE)
            self.socket.close()
        return self._ended

    def _reap(self, seconds: float) -> int:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start_powerless(
    serve: Callable[[socket.socket], None],
    identity: Identity,
    bounds: Bounds,
    *,
    prepare: Callable[[], None] = lambda: None,
) -> Powerless:
    """Fork such a child, and return once it has no powers left.

    Args:
        serve: what it does, with its end of the socket, until that is closed.
        identity: whom it becomes.
        bounds: of what it uses.
        prepare: what it does with all its rights before it gives them up: imports, which its account may not read.

    Raises:
        OSError: it cannot be made, or a step was refused; the text names the step. Nothing of it is left.
    """
    own, other = socket.socketpair()
    bare = ""
    try:
        try:
            pid = fork_apart()
        except OSError as error:
            bare = str(error.strerror)
            pid = os.fork()
        if not pid:
            _live(other, _Life(prepare, serve, identity, bounds, is_enclosed=not bare))
    except BaseException:
        own.close()
        raise
    finally:
        other.close()
    child = Powerless(pid, own)
    try:
        own.settimeout(_START)
        told = own.recv(_TOLD)
    except OSError:
        child.end()
        raise
    is_ready, _, words = told.decode("utf-8", "replace").partition(" ")
    if is_ready != _READY:
        child.end()
        raise OSError(0, words or "it ended while it gave up its powers")
    child.bare = bare or words
    return child


@frozen
class _Life:
    """What a child does, from its first step on."""

    prepare: Callable[[], None]
    serve: Callable[[socket.socket], None]
    identity: Identity
    bounds: Bounds
    is_enclosed: bool


def _live(end: socket.socket, life: _Life) -> NoReturn:
    """In the child: give up everything, serve, and end; nothing of this process's own is flushed or cleaned up."""
    code = 1
    try:
        gc.freeze()
        try:
            _forget(end)
            life.prepare()
            bare = _give_up(life.identity, life.bounds, is_enclosed=life.is_enclosed)
        except OSError as error:
            end.send(f"refused {error.strerror or error}".encode()[:_TOLD])
        else:
            end.send(f"{_READY} {bare}".encode()[:_TOLD])
            life.serve(end)
            code = 0
    finally:
        os._exit(code)


def _forget(end: socket.socket) -> None:
    """Leave terminal, files, signals and environment of the agent."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What ends a pass is the agent's to decide; the child ends with it.
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    kept = end.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update({"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})
    os.chdir("/")


def _give_up(identity: Identity, bounds: Bounds, *, is_enclosed: bool) -> str:
    """Give up all rights; return why some namespace was refused, empty: none was.

    The order matters: each step needs a right that a later one takes.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(_OOM_SCORE)
    bare = ""
    if is_enclosed:
        try:
            seclude()
        except OSError as error:
            bare = str(error.strerror)
    _bound(bounds)
    for capability in range(_CAPABILITIES):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    _named("setgroups", lambda: os.setgroups([]))
    _named("setresgid", lambda: os.setresgid(identity.gid, identity.gid, identity.gid))
    _named("setresuid", lambda: os.setresuid(identity.uid, identity.uid, identity.uid))
    header, nothing = struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24)
    _check(_libc.capset(header, nothing), "capset")
    # Forgotten by the kernel when the user changed. What died before is seen by the end of the socket.
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl PDEATHSIG")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl NO_NEW_PRIVS")
    refuse_calls()
    return bare


def _bound(bounds: Bounds) -> None:
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_DATA, bounds.memory),
        # The first process of a namespace is ended by the hard limit alone: it has no default actions.
        (resource.RLIMIT_CPU, bounds.cpu),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_NPROC, _PROCESSES),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _named(step: str, take: Callable[[], None]) -> None:
    try:
        take()
    except OSError as error:
        raise OSError(error.errno, f"{step}: {error.strerror}") from error


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
