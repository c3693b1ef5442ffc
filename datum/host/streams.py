"""Bytes from one open file to another, in bounded pieces: none is ever whole in memory."""

import os
from typing import BinaryIO, Final

_CHUNK: Final = 1 << 20


def fill(fd: int, source: BinaryIO) -> None:
    """Write a stream to an open file, from where that stands.

    Raises:
        OSError: it cannot be read or written.
    """
    while chunk := source.read(_CHUNK):
        _write_all(fd, chunk)


def copy_over(fd: int, source_fd: int) -> None:
    """Make the bytes of one open file those of another, and durable; where both stand makes no difference.

    Raises:
        OSError: it cannot be read or written; the first is a mixture then.
    """
    os.lseek(fd, 0, os.SEEK_SET)
    size = 0
    while chunk := os.pread(source_fd, _CHUNK, size):
        _write_all(fd, chunk)
        size += len(chunk)
    os.ftruncate(fd, size)
    os.fsync(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
