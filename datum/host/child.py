"""One child process: fork, prepare, exec, exchange, end. Effects: processes and pipes.

Knows nothing of what is run or why; `program` is the door that judges.
"""

import fcntl
import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NoReturn

from attrs import define, field, frozen

from datum.provider.host import Command

OUTPUT_LIMIT: Final = 1 << 20
"""Bytes kept of each of stdout and stderr."""

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_CHUNK: Final = 1 << 16
_TAIL: Final = 2048
# Seconds. Output that a program left to a child of its own is waited for this long after the program ended.
_QUIET: Final = 0.05
# Seconds for a killed program to go; one in uninterruptible sleep is left to process 1.
_GRACE: Final = 5.0
_NOT_STARTED: Final = 127
# What a process may have been started with ignored, by nohup(1) or a shell in the background, or handles itself.
_DEFAULT: Final = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGALRM,
    signal.SIGQUIT,
    signal.SIGHUP,
)


class PreparationError(OSError):
    """A step between fork and exec was refused; the program did not run."""

    @property
    def reason(self) -> str:
        """The call that was refused and the system's words."""
        return str(self.strerror)


@frozen
class Ended:
    """How a program ended, before anyone judged it."""

    # Negative: the number of the signal that ended it.
    exit_code: int
    stdout: bytes
    stderr: bytes
    # The last bytes of each, whether or not they were kept above.
    stdout_tail: bytes
    stderr_tail: bytes
    is_cut: bool
    is_late: bool


@define
class _Output:
    """What arrives on one stream: the first bytes up to the bound, and the last."""

    head: bytearray = field(factory=bytearray)
    tail: bytes = b""
    is_cut: bool = False

    def move(self, descriptor: int) -> bool:
        """Read what is there; return whether there may be more."""
        data = os.read(descriptor, _CHUNK)
        space = OUTPUT_LIMIT - len(self.head)
        self.head += data[:space]
        self.is_cut = self.is_cut or len(data) > space
        self.tail = (self.tail + data)[-_TAIL:]
        return bool(data)


@define
class _Input:
    """What a program is given."""

    rest: memoryview

    def move(self, descriptor: int) -> bool:
        """Write what goes; return whether some is left."""
        try:
            self.rest = self.rest[os.write(descriptor, self.rest[:_CHUNK]) :]
        except BrokenPipeError:
            # a program need not read what it is given
            return False
        return bool(self.rest)


@define
class Child:
    """A started program and this side of its pipes."""

    pid: int
    # Closed, without a byte, by a successful exec.
    status: int
    stdin: int
    stdout: int
    stderr: int

    def close(self, name: str) -> None:
        """Close one of the pipes, named by its field; done again it does nothing."""
        descriptor = getattr(self, name)
        if descriptor >= 0:
            setattr(self, name, -1)
            os.close(descriptor)

    def close_all(self) -> None:
        """Close every pipe."""
        for name in ("status", "stdin", "stdout", "stderr"):
            self.close(name)


def run_prepared(
    command: Command,
    prepare: Callable[[], None],
    *,
    is_root: bool = False,
    kill_rest: bool = False,
    fork: Callable[[], int] | None = None,
) -> Ended:
    """Fork, prepare, exec, and wait; the deadline covers all of it.

    Args:
        command: what to run; its `directory` is left to `prepare`.
        prepare: called in the child. It must import nothing, since the child may have changed its root.
        is_root: whether the program will stand as root, for its HOME.
        kill_rest: whether processes that it leaves behind in its session's group are killed.
        fork: makes the child, in place of `os.fork`.

    Raises:
        PreparationError: `prepare` was refused; the text names the call.
        OSError: no process could be made, or the program cannot be executed.
        ValueError: an argument that no program can get.
    """
    end = time.monotonic() + command.timeout
    child = start(command, prepare, is_root=is_root, fork=fork)
    outputs = {"status": _Output(), "stdout": _Output(), "stderr": _Output()}
    is_late = True
    try:
        is_late = not (_exchange(child, command.stdin, outputs, end) and has_ended_by(child.pid, end))
    finally:
        if is_late or kill_rest:
            kill_group(child.pid)
        child.close_all()
        exit_code = reap(child.pid)
    if outputs["status"].head:
        raise_refusal(bytes(outputs["status"].head))
    out, err = outputs["stdout"], outputs["stderr"]
    return Ended(
        exit_code, bytes(out.head), bytes(err.head), out.tail, err.tail, out.is_cut or err.is_cut, is_late=is_late
    )


def start(
    command: Command, prepare: Callable[[], None], *, is_root: bool = False, fork: Callable[[], int] | None = None
) -> Child:
    """Fork, prepare and exec; whether that worked is told by `status`. Arguments and errors as `run_prepared`."""
    environment = _environment(command, is_root=is_root)
    opened: list[int] = []
    try:
        for _pipe in ("status", "stdout", "stderr"):
            opened.extend(os.pipe())
        # an empty stdin is a pipe that nobody writes: no device needed below a bare root
        opened.extend(reversed(os.pipe()))
        status, stdout, stderr, stdin = opened[1::2]
        pid = (fork or os.fork)()
        if pid == 0:
            _become(command, prepare, environment, (stdin, stdout, stderr, status))
    except BaseException:
        for descriptor in opened:
            os.close(descriptor)
        raise
    for descriptor in (status, stdout, stderr, stdin):
        os.close(descriptor)
    child = Child(pid, *(opened[index] for index in (0, 6, 2, 4)))
    if not command.stdin:
        child.close("stdin")
    return child


def start_with_files(
    command: Command, prepare: Callable[[], None], files: tuple[int, int, int], *, is_root: bool = False
) -> Child:
    """As `start`, with open files as stdin, stdout and stderr, which stay the caller's: nothing is exchanged."""
    environment = _environment(command, is_root=is_root)
    opened = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _become(command, prepare, environment, (*files, opened[1]))
    except BaseException:
        os.close(opened[0])
        raise
    finally:
        os.close(opened[1])
    return Child(pid, opened[0], -1, -1, -1)


def _environment(command: Command, *, is_root: bool) -> dict[str, str]:
    """Return the whole environment of a program.

    Raises:
        ValueError: an argument that no program can get.
    """
    if any(b"\0" in os.fsencode(part) for part in command.argv):
        raise ValueError("an argument holds a NUL byte")
    home = "/root" if is_root or not os.geteuid() else "/"
    return {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": home, **command.environment}


def _become(
    command: Command,
    prepare: Callable[[], None],
    environment: Mapping[str, str],
    pipes: tuple[int, int, int, int],
) -> NoReturn:
    """Turn this forked process into the program, or tell the other side what refused."""
    try:
        stage = "start"
        # out of the way of the standard ones, where the agent itself was started without these
        *sources, status = (fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 3) for pipe in pipes)
        try:
            os.setsid()
            for number in _DEFAULT:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.umask(0o022)
            for target, source in enumerate(sources):
                os.dup2(source, target)
            _keep_nothing_open()
            stage = "prepare"
            prepare()
            stage = "start"
            os.execvpe(command.argv[0], command.argv, environment)  # noqa: S606 - this is the door
        except OSError as error:
            place = f"{error.filename}: " if stage == "prepare" and error.filename else ""
            _report(status, stage, error.errno or 0, place + (error.strerror or str(error)))
        except BaseException as error:  # noqa: BLE001 - a bug in a preparation is told, too
            _report(status, stage, 0, repr(error))
    finally:
        # nothing may return into the copy of the agent, an exception neither
        os._exit(_NOT_STARTED)


def _keep_nothing_open() -> None:
    """Have exec close all but stdin, stdout and stderr, whatever the agent itself was started with."""
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names only
            if int(name) not in {0, 1, 2}:
                # the one that listed the directory is gone by now
                with suppress(OSError):
                    os.set_inheritable(int(name), False)  # noqa: FBT003 - as it is


def _report(status: int, stage: str, number: int, text: str) -> None:
    os.write(status, f"{stage}\0{number}\0{text}".encode("utf-8", "replace")[:_TAIL])


def raise_refusal(message: bytes) -> NoReturn:
    """Raise what a started child wrote to `status`.

    Raises:
        PreparationError: `prepare` was refused.
        OSError: the program cannot be executed.
    """
    stage, number, text = message.decode("utf-8", "replace").split("\0", 2)
    kind: type[OSError] = PreparationError if stage == "prepare" else OSError
    raise kind(int(number), text)


def _exchange(child: Child, data: bytes, outputs: Mapping[str, _Output], end: float) -> bool:
    """Write stdin and read the outputs until the program closed them or ended; return whether that was in time."""
    with selectors.DefaultSelector() as selector:
        for name, output in outputs.items():
            selector.register(getattr(child, name), selectors.EVENT_READ, (name, output))
        if data:
            os.set_blocking(child.stdin, False)
            selector.register(child.stdin, selectors.EVENT_WRITE, ("stdin", _Input(memoryview(data))))
        while selector.get_map():
            remaining = end - time.monotonic()
            if remaining <= 0:
                return _has_ended(child.pid)
            events = _events(selector, min(remaining, _QUIET), child.pid)
            if events is None:
                return True
            for key, _mask in events:
                name, stream = key.data
                if not stream.move(key.fd):
                    selector.unregister(key.fd)
                    child.close(name)
    return True


def _events(
    selector: selectors.BaseSelector, seconds: float, pid: int
) -> list[tuple[selectors.SelectorKey, int]] | None:
    """Return what can be moved now or soon; None when the program has ended and left nothing."""
    events = selector.select(seconds)
    if events or not _has_ended(pid):
        return events
    # what it wrote between the look at the pipes and its end is there by now
    return selector.select(0) or None


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it is not reaped, so that its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def has_ended_by(pid: int, end: float) -> bool:
    """Whether a child has ended, or does until a moment of the monotonic clock; it is not reaped."""
    pause = 0.0005
    while not _has_ended(pid):
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, _QUIET)
    return True


def kill_group(pid: int) -> None:
    """Kill a child that has not been reaped, and its group; it may not have reached its own session yet."""
    for kill in (os.killpg, os.kill):
        # a program with the rights of another user is left alone
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def reap(pid: int) -> int:
    """Return the exit code of a child that ended or was killed."""
    if not has_ended_by(pid, time.monotonic() + _GRACE):
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
