"""A command at a terminal of its own, and a person who waits for a question before he answers."""

import os
import pty
import select
import signal
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

_SECONDS: Final = 60


class Terminal:
    """One command on a pty; a context manager that leaves no process behind."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self.said = ""
        self._read = 0
        self._code: int | None = None
        self._pid, self._fd = pty.fork()
        if not self._pid:  # pragma: no cover - the child is another program at once
            os.execvpe(argv[0], list(argv), {**os.environ, "TERM": "dumb", "NO_COLOR": "1", **(env or {})})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)

    def expect(self, text: str) -> str:
        """Wait until the command has written a text since the last one; return what it wrote up to there."""
        end = time.monotonic() + _SECONDS
        while text not in self.said[self._read :]:
            if not self._more(end - time.monotonic()):
                raise AssertionError(f"'{text}' was not written; instead:\n{self.said[self._read :]}")
        begin = self._read
        self._read = self.said.index(text, begin) + len(text)
        return self.said[begin : self._read]

    def answer(self, question: str, line: str) -> None:
        """Wait for a question and type a line."""
        self.expect(question)
        self.press(line.encode() + b"\n")

    def press(self, keys: bytes) -> None:
        """Type keys: 3 is Ctrl-C, 4 the end of input."""
        os.write(self._fd, keys)

    def end(self) -> int:
        """Wait until the command has ended; return its exit code, that of a shell where a signal ended it."""
        end = time.monotonic() + _SECONDS
        while self._more(end - time.monotonic()):
            pass
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._code = code if code >= 0 else 128 - code
        return self._code

    def _more(self, patience: float) -> bool:
        """Read some more; False when the command closed its terminal."""
        ready, _, _ = select.select([self._fd], [], [], max(patience, 0))
        if not ready:
            raise AssertionError(f"the command neither ends nor writes; so far:\n{self.said}")
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            return False
        self.said += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
