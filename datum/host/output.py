"""The same door as `program`, for output that is too large to be held: a stream. Effects: child processes.

What `program` promises of a program holds here too, but for the bound of the output. The program ends with its reader:
it is killed when the stream is closed, and where the reader is killed it has nobody to write to.
"""

import io
import logging
import os
import select
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from datum.host.child import Child, has_ended_by, kill_group, raise_refusal, reap, start
from datum.host.program import how_it_ended, not_started, quoted
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_log: Final = logging.getLogger(__name__)
_CHUNK: Final = 1 << 18
# All that a pipe can hold (pipe(7), "pipe-max-size"): one read empties it.
_PIPE: Final = 1 << 20
_TAIL: Final = 2048
_ENDED: Final = select.POLLIN | select.POLLHUP | select.POLLERR


def open_output(command: Command) -> io.BufferedReader:
    """Start a program and return what it writes to stdout, as a stream; close it.

    Reading raises `HostError` where the program writes nothing for `timeout` seconds while it is asked, and at the end
    of its output where it ended otherwise than with an exit code that is success: what ends without an error is whole.

    Args:
        command: what to run; it gets no stdin.

    Raises:
        HostError: it could not be started.
    """
    _log.debug("run %s", quoted(command.argv))
    try:
        return io.BufferedReader(_Output(command), _CHUNK)
    except (OSError, ValueError) as error:
        raise not_started(command, error) from error


class _Output(io.RawIOBase):
    """The output of one program."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self._command = command
        # what a `close` finds where no child could be made
        self._child: Child | None = None
        self._child = child = start(command, partial(os.chdir, command.directory))
        self._said = b""
        refused = os.read(child.status, _TAIL)
        if refused:
            self.close()
            raise_refusal(refused)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read what is there, or wait for some."""
        child = self._child
        if child is None:
            return 0
        self._wait(child)
        count = os.readv(child.stdout, [buffer])
        if not count:
            self._end(child)
        return count

    def close(self) -> None:
        """Kill the program, unless it has ended."""
        child, self._child = self._child, None
        if child is not None:
            kill_group(child.pid)
            child.close_all()
            reap(child.pid)
        super().close()

    def _wait(self, child: Child) -> None:
        """Wait until there is output or its end; take what comes on stderr meanwhile."""
        while True:
            poll = select.poll()
            poll.register(child.stdout, _ENDED)
            if child.stderr >= 0:
                poll.register(child.stderr, _ENDED)
            ready = [descriptor for descriptor, _ in poll.poll(self._command.timeout * 1000)]
            if not ready:
                raise HostError(
                    f"{quoted(self._command.argv)} wrote nothing for {self._command.timeout:g} s.",
                    code="program-deadline",
                    cause=Cause.DEADLINE,
                    failure=FailureCause.DEADLINE,
                )
            if child.stdout in ready:
                return
            self._listen(child)

    def _listen(self, child: Child) -> None:
        words = os.read(child.stderr, _PIPE)
        self._said = (self._said + words)[-_TAIL:]
        if not words:
            child.close("stderr")

    def _end(self, child: Child) -> None:
        """Judge a program that closed its output.

        Raises:
            HostError: it goes on, or ended with an exit code that is no success.
        """
        has_ended = has_ended_by(child.pid, time.monotonic() + self._command.timeout)
        if child.stderr >= 0:
            os.set_blocking(child.stderr, False)
            with suppress(BlockingIOError):
                self._listen(child)
        if not has_ended:
            kill_group(child.pid)
        self._child = None
        child.close_all()
        exit_code = reap(child.pid)
        if exit_code not in self._command.success:
            said = self._said.decode("utf-8", "replace").strip()
            raise HostError(
                f"{quoted(self._command.argv)} {how_it_ended(exit_code)}.{f' It wrote: {said}' if said else ''}",
                code="program-failed",
                summary="A program failed.",
            )
