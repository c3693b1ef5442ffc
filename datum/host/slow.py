"""Reading below network and FUSE mounts, where a look may hang for ever. Effects: one child per mount.

A child answers the questions about its mount one after the other. When an answer does not come in time the child is
killed and abandoned (what hangs in the kernel cannot be waited for), and every later question about this mount gets
the same answer at once.
"""

import os
import pickle
import select
import signal
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol, Self

from attrs import define, field, frozen

from datum.diagnostics import Diagnostic
from datum.errors import InternalError
from datum.host.child import has_ended_by
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Below, FileFacts, HostError, Missing

_LENGTH: Final = struct.Struct("!Q")
_CHUNK: Final = 1 << 20
# Seconds that one that was killed may take to be gone.
_GRACE: Final = 0.5


class FileReader(Protocol):
    """The part of `HostReader` that looks at files."""

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        """Look at a path without following a link."""
        ...

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file."""
        ...

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        """Return the names in a directory, sorted."""
        ...

    def below(self, path: str, *, limit: int) -> Below:
        """Return all that lies in a directory."""
        ...


@frozen
class _Child:
    pid: int
    requests: int
    answers: int


@define
class SlowReader:
    """A `FileReader` whose every answer comes within a deadline; close it, or use it in a `with` statement."""

    # Called in the child, where no descriptor of this process is open any more.
    reader_factory: Callable[[], FileReader]
    # Seconds for one answer.
    deadline: float
    # The mount point that a path lies below, as `MountTable.slow_mount` says it.
    mount_of: Callable[[str], str | None] = field(default=lambda _path: None)
    _children: dict[str, _Child] = field(factory=dict, init=False)
    _abandoned: dict[str, str] = field(factory=dict, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        """Look at a path without following a link.

        Raises:
            HostError: as the reader says it, or cause `deadline`; always discounted.
        """
        answer: FileFacts | Missing = self._ask("examine", path, blob=blob)
        return answer

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file.

        Raises:
            HostError: as the reader says it, or cause `deadline`; always discounted.
        """
        answer: bytes = self._ask("read_file", path, limit=limit)
        return answer

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        """Return the names in a directory, sorted.

        Raises:
            HostError: as the reader says it, or cause `deadline`; always discounted.
        """
        answer: tuple[str, ...] = self._ask("list_directory", path, leftovers=leftovers)
        return answer

    def below(self, path: str, *, limit: int) -> Below:
        """Return all that lies in a directory.

        Raises:
            HostError: as the reader says it, or cause `deadline`; always discounted.
        """
        answer: Below = self._ask("below", path, limit=limit)
        return answer

    def close(self) -> None:
        """End the children that still answer; the abandoned ones are left to the kernel."""
        while self._children:
            _mount, child = self._children.popitem()
            _end(child)
            # it waits for a question, so it goes at once
            os.waitpid(child.pid, 0)

    def _ask(self, method: str, path: str, **options: object) -> Any:
        mount = self.mount_of(path) or "/"
        if mount in self._abandoned:
            raise _hangs(mount, self._abandoned[mount])
        if mount not in self._children:
            self._children[mount] = _start(self.reader_factory)
        child = self._children[mount]
        end = time.monotonic() + self.deadline
        try:
            _send(child.requests, (method, path, options))
            kind, value = _receive(child.answers, end)
        except (TimeoutError, EOFError, BrokenPipeError) as error:
            words = (
                f"gave no answer within {self.deadline:g} s" if isinstance(error, TimeoutError) else "ended its reader"
            )
            raise self._abandon(mount, f"'{path}' {words}") from error
        except BaseException:
            # an answer under way would be taken for that to the next question
            self._abandon(mount, f"a look at '{path}' was interrupted")
            raise
        if kind == "refused":
            raise HostError(**value, discounted=True)
        if kind == "bug":
            detail = f"{method} of '{path}': {value}"
            raise InternalError(Diagnostic(code="internal-error", summary="This is a bug in datum.", detail=detail))
        return value

    def _abandon(self, mount: str, why: str) -> HostError:
        child = self._children.pop(mount)
        _end(child)
        _give_up(child.pid)
        self._abandoned[mount] = why
        return _hangs(mount, why)


def _give_up(pid: int) -> None:
    """Reap a child that was killed; one that hangs in the kernel is not waited for, nor by the unit of the agent."""
    with suppress(ChildProcessError):
        if has_ended_by(pid, time.monotonic() + _GRACE):
            os.waitpid(pid, 0)
            return
        from datum.host.scope import set_aside

        set_aside(pid)


def _hangs(mount: str, why: str) -> HostError:
    return HostError(
        f"The file system at {mount} does not answer: {why}.",
        code="mount-hangs",
        cause=Cause.DEADLINE,
        failure=FailureCause.DEADLINE,
        hint=f"Look at the server or program behind {mount}, or unmount it.",
        discounted=True,
    )


def _start(reader_factory: Callable[[], FileReader]) -> _Child:
    request_in, request_out = os.pipe()
    answer_in, answer_out = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(reader_factory, request_in, answer_out)
    os.close(request_in)
    os.close(answer_out)
    return _Child(pid, request_out, answer_in)


def _be_child(reader_factory: Callable[[], FileReader], requests: int, answers: int) -> NoReturn:
    """Answer until nobody asks any more.

    A child that hangs may outlive the pass: it must not hold the pass lock, a pipe of the caller, or a terminal.
    """
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        _keep_open(requests, answers)
        serve(reader_factory(), requests, answers)
    finally:
        # nothing may return into the copy of the agent, an exception neither
        os._exit(0)


def _keep_open(*wanted: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names only
        if int(name) not in {0, 1, 2, *wanted}:
            # the one that listed the directory is gone by now
            with suppress(OSError):
                os.close(int(name))


def serve(reader: FileReader, requests: int, answers: int) -> None:
    """Answer questions from one descriptor on another until the first is at its end."""
    while True:
        try:
            method, path, options = _receive(requests, None)
        except EOFError:
            return
        try:
            answer: tuple[str, object] = ("value", getattr(reader, method)(path, **options))
        except HostError as error:
            found = error.diagnostics[0]
            words = {"detail": error.detail, "code": found.code, "hint": found.hint}
            answer = ("refused", {**words, "cause": error.cause, "failure": error.failure})
        except Exception as error:  # noqa: BLE001 - handed to the one who asked
            answer = ("bug", repr(error))
        _send(answers, answer)


def _send(descriptor: int, message: object) -> None:
    data = pickle.dumps(message)
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _receive(descriptor: int, end: float | None) -> Any:
    """Return one message.

    Raises:
        TimeoutError: it was not whole at `end`, on the monotonic clock.
        EOFError: the other half is gone.
    """
    (size,) = _LENGTH.unpack(_read(descriptor, _LENGTH.size, end))
    return pickle.loads(_read(descriptor, size, end))  # noqa: S301 - from the own other half


def _read(descriptor: int, size: int, end: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        remaining = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([descriptor], [], [], remaining)[0]:
            raise TimeoutError
        chunk = os.read(descriptor, min(_CHUNK, size - len(data)))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _end(child: _Child) -> None:
    os.close(child.requests)
    os.close(child.answers)
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
