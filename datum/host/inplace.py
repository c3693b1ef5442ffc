"""Writing into a file that cannot be renamed over, since something is mounted there. Readers may see a mixture."""

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Final

from datum.host.attributes import keep_capabilities, read_extended
from datum.host.candidates import TEMPORARY_MODE, Attributes, create_named, despite_leftover, own_and_mode
from datum.host.identity import acting_as
from datum.host.place import Place
from datum.host.residue import residue_name
from datum.host.streams import copy_over
from datum.provider.host import HostError

_IN_PLACE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def write_in_place(place: Place, source_fd: int, attributes: Attributes) -> None:
    """Copy an open file over the bytes of what stands at a place; on failure the old bytes come back.

    Raises:
        OSError: it could not be written.
        HostError: no regular file is mounted there.
    """
    with acting_as(place.actor):
        fd = os.open(place.name, _IN_PLACE, dir_fd=place.folder.fd)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HostError(
                f"Cannot write '{place.path}': something else than a file is mounted there.", code="not-a-file"
            )
        kept = read_extended(fd)
        with _kept_bytes(place, fd) as old_fd:
            try:
                copy_over(fd, source_fd)
                own_and_mode(fd, place, attributes)
                keep_capabilities(fd, kept, lambda _: None)
            except BaseException:
                with contextlib.suppress(OSError):
                    copy_over(fd, old_fd)
                    keep_capabilities(fd, kept, lambda _: None)
                raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def _kept_bytes(place: Place, fd: int) -> Iterator[int]:
    """Copy the bytes of an open file to one without a name, beside the place."""
    copy_fd = _open_unnamed(place)
    try:
        copy_over(copy_fd, fd)
        yield copy_fd
    finally:
        os.close(copy_fd)


def _open_unnamed(place: Place) -> int:
    with contextlib.suppress(OSError), acting_as(place.actor):
        return os.open(".", os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE, TEMPORARY_MODE, dir_fd=place.folder.fd)
    name = residue_name(place.name, place.folder.path, is_random=place.folder.is_sticky)
    made: list[int] = []
    despite_leftover(place, name, lambda: made.append(create_named(place, name)))
    with acting_as(place.actor):
        os.unlink(name, dir_fd=place.folder.fd)
    return made[0]
