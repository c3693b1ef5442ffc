"""Helpers of the tests that read and write below a root."""

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.host.writer import LocalWriter
from datum.model.content import Content
from datum.provider.host import FileWrite, HostError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")


def file_of(data: bytes, **options: object) -> FileWrite:
    return FileWrite(Content.from_bytes(data), **options)  # type: ignore[arg-type] # as each test names them


@contextmanager
def writing(root: Path, **options: object) -> Iterator[LocalWriter]:
    with LocalHost(str(root), **options) as host:  # type: ignore[arg-type] # as each test names them
        yield host.writer()


def changes(*found: Callable[[], object]) -> tuple[Callable[[], object], ...]:
    """Return calls to be made one after the other."""
    return found


@contextmanager
def refused(code: str = "") -> Iterator[list[HostError]]:
    """The block raises `HostError`, of this code if one is given; the list holds it afterwards."""
    found: list[HostError] = []
    with pytest.raises(HostError) as caught:
        yield found
    found.append(caught.value)
    assert not code or caught.value.diagnostics[0].code == code, caught.value


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def acl_for(uid: int) -> bytes:
    """A POSIX access control list, as the kernel stores it, that lets one more user read and write."""
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), (2, 6, uid), (4, 4, nobody), (16, 6, nobody), (32, 4, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def private_mounts() -> None:
    """Give this process, a child made for it, its own table of mounts."""
    _call("unshare", 0x00020000)
    _call("mount", b"none", b"/", None, 0x44000, None)


def mount_tmpfs(folder: Path, options: str = "size=64k") -> None:
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options.encode())


def bind(source: Path, target: Path) -> None:
    _call("mount", os.fsencode(source), os.fsencode(target), None, 4096, None)


def remount_read_only(folder: Path) -> None:
    _call("mount", b"none", os.fsencode(folder), None, 32 | 1, None)


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)):
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
