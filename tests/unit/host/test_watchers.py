"""What a program hears that waits in a folder for finished files, as dnsmasq does for hosts (inotify(7))."""

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.host.writer import LocalWriter
from datum.provider.host import LinkWrite
from tests.unit.host.files import file_of, writing

CLOSE_WRITE = 0x8
MOVED_TO = 0x80
_EVENT = struct.Struct("iIII")


def heard(folder: Path, change: Callable[[], None]) -> list[str]:
    """Return the names that are told as written and closed, or as moved in, while something is changed."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        assert libc.inotify_add_watch(fd, os.fsencode(folder), ctypes.c_uint32(CLOSE_WRITE | MOVED_TO)) >= 0
        change()
        data = os.read(fd, 1 << 16)
    finally:
        os.close(fd)
    found: list[str] = []
    while data:
        length = _EVENT.unpack_from(data)[3]
        found.append(os.fsdecode(data[_EVENT.size : _EVENT.size + length].rstrip(b"\0")))
        data = data[_EVENT.size + length :]
    return found


CHANGES: dict[str, Callable[[LocalWriter], None]] = {
    "new": lambda writer: writer.write_file("/conf.d/new", file_of(b"x")),
    "old": lambda writer: writer.write_file("/conf.d/old", file_of(b"x")),
    "link": lambda writer: writer.write_link("/conf.d/link", LinkWrite("old")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_or_link_is_heard_of_once_by_its_name_when_it_is_complete(tmp_path: Path, name: str) -> None:
    """Also where nothing stood: a link(2) to the name would be told as a creation only, which is no finished file."""
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "old").write_bytes(b"old")
    with writing(tmp_path) as writer:
        assert heard(folder, lambda: CHANGES[name](writer)).count(name) == 1
