"""stdout and stderr of this process, whatever a command may find there: closed, full, gone.

What is lost on stdout was the result, so that is an error; what is lost on stderr is lost, and never ends a pass.
"""

import io
import os
import select
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT: Final = 1
_STDERR: Final = 2


class LostResultError(Exception):
    """The result of a command cannot be written to stdout; the system's words."""


def secure() -> None:
    """Give this process three standard descriptors, and a stdout and stderr that behave as promised above.

    A descriptor that was closed becomes /dev/null: else the next file that is opened would get its number, and take
    what is printed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Result(_STDOUT, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Lossy(_STDERR, "w", closefd=False), sys.stderr)


def _text(raw: io.FileIO, like: object) -> io.TextIOWrapper:
    encoding = like.encoding if isinstance(like, io.TextIOWrapper) else "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=isinstance(raw, _Lossy) or raw.isatty(),
    )


class _Result(io.FileIO):
    """A descriptor that says what cannot be written."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some of the bytes; wait where whoever shares the descriptor made it one that does not."""
        try:
            while True:
                count: int | None = super().write(data)
                if count is not None:
                    return count
                select.select((), (self.fileno(),), ())
        except BrokenPipeError:
            raise
        except OSError as error:
            # What is still in a buffer is written once more when Python ends.
            _drop(self.fileno())
            raise LostResultError(error.strerror) from error


class _Lossy(io.FileIO):
    """A descriptor whose failures nobody hears of."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some of the bytes, or let them go."""
        size = memoryview(data).nbytes
        try:
            count: int | None = super().write(data)
        except OSError:
            return size
        return size if count is None else count


def _drop(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
