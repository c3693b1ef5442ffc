"""Streams over the bytes of one file of a revision that end as promised or with an error. Effects: reads."""

import hashlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from datum.errors import RepositoryError
from datum.provider.host import Command, HostError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OpenOutput: TypeAlias = Callable[[Command], io.BufferedReader]
"""The door for programs with large output: starts one and returns a stream over it. It raises `HostError`, and so does
the stream where the program fails."""

_CHUNK: Final = 1 << 18


def blob_stream(
    source: io.BufferedReader, object_id: str, size: int, broken: Callable[[str], RepositoryError]
) -> BinaryIO:
    """Return a stream over what a source gives, which must be the bytes of an object.

    Its end is reached only where they are: short, long or other content raises, as does a source that fails.

    Args:
        source: closed with the stream.
        object_id: what the bytes must hash to.
        size: bytes.
        broken: makes the error from what is wrong.
    """
    return io.BufferedReader(_Checked(source, object_id, size, broken), _CHUNK)


class _Checked(io.RawIOBase):
    def __init__(
        self, source: io.BufferedReader, object_id: str, size: int, broken: Callable[[str], RepositoryError]
    ) -> None:
        super().__init__()
        self._source = source
        self._object_id = object_id
        self._left = size
        # No protection rests on it (ADR 0018).
        self._hash = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        self._broken = broken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        try:
            count = self._source.readinto(buffer)
        except (HostError, OSError) as error:
            raise self._broken(str(error)) from error
        self._left -= count
        if self._left < 0:
            raise self._broken("there are more bytes than its header says")
        self._hash.update(memoryview(buffer)[:count])
        if not count:
            self._check_end()
        return count

    def close(self) -> None:
        self._source.close()
        super().close()

    def _check_end(self) -> None:
        if self._left:
            raise self._broken(f"it ends {self._left} bytes before its end")
        if self._hash.hexdigest() != self._object_id:
            raise self._broken("its bytes are not those of its id")
