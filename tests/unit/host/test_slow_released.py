"""Who looks below a network or FUSE mount keeps nothing open there once something is changed."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from datum.host import mounts
from datum.host.local import LocalHost
from datum.model.content import Content
from datum.provider.host import Command, FileFacts, FileWrite, HostError

TABLE = b"20 1 8:1 / / rw - nfs server:/x rw\n"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: TABLE)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_text("old\n")
    with LocalHost(str(tmp_path)) as found:
        yield found


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    started: list[int] = []
    real = os.fork

    def fork() -> int:
        pid = real()
        started.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", fork)
    return started


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_program_finds_nothing_kept_open(host: LocalHost, children: list[int]) -> None:
    """A file system of which something is open cannot be unmounted."""
    host.reader().examine("/d/file")
    assert [is_there(pid) for pid in children] == [True]
    with suppress(HostError):
        # There is none in this root.
        host.writer().run(Command(("/bin/umount", "/d"), 5))
    assert not is_there(children[0])


def test_what_is_changed_is_looked_at_anew(host: LocalHost, children: list[int], tmp_path: Path) -> None:
    """Also in a directory that took the place of one that was looked into."""
    reader = host.reader()
    reader.examine("/d/file")
    (tmp_path / "d").rename(tmp_path / "e")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_text("longer\n")
    host.writer().write_file("/other", FileWrite(Content.from_bytes(b"")))
    assert not is_there(children[0])
    found = reader.examine("/d/file")
    assert isinstance(found, FileFacts)
    assert found.size == len("longer\n")
