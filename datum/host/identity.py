"""Doing the work of one moment as another user: the file system uid and gid of this thread (setfsuid(2))."""

import contextlib
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from datum.host.failures import unsafe_path


@frozen
class Actor:
    """A user in whose directories names are made and taken."""

    uid: int
    gid: int


_AS_IT_IS: Final = contextlib.nullcontext()


def acting_as(actor: Actor | None) -> contextlib.AbstractContextManager[None]:
    """Create, link and rename with the rights of this user; with the process's own if None.

    The kernel takes root's file capabilities from the thread meanwhile (capabilities(7)). Only the calling thread
    is concerned.

    Raises:
        HostError: the system did not take it, as for a process that is not root.
    """
    return _AS_IT_IS if actor is None else _acting_as(actor)


@contextlib.contextmanager
def _acting_as(actor: Actor) -> Iterator[None]:
    # Only where a user's directory is written: it costs milliseconds.
    import ctypes

    libc = ctypes.CDLL(None)
    unsigned = ctypes.c_uint32
    gid_before = libc.setfsgid(unsigned(actor.gid))
    uid_before = libc.setfsuid(unsigned(actor.uid))
    try:
        # setfsuid tells no failure; asking with -1 tells what is.
        ask = unsigned(0xFFFFFFFF)
        if (libc.setfsuid(ask), libc.setfsgid(ask)) != (actor.uid, actor.gid):
            raise unsafe_path(f"This process cannot act as uid {actor.uid} in that user's directory.")
        yield
    finally:
        libc.setfsuid(unsigned(uid_before))
        libc.setfsgid(unsigned(gid_before))
