"""The type on a real directory tree, through the real host room, below a root of its own."""

import io
import os
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.model.content import Content, blob_id
from datum.model.observation import Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider

PROVIDER = FileProvider()
NEW = Content.from_bytes(b"new\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir(mode=0o755)
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n", encoding="utf-8")
    (tmp_path / "etc/group").write_text("root:x:0:\n", encoding="utf-8")
    return tmp_path


def see(host: LocalHost, desired: DesiredFile) -> Observation:
    return PROVIDER.observe(host.reader(), {desired.path: desired})[desired.path]


def converge(root: Path, desired: DesiredFile) -> Step:
    """Do what is to be done, and see that nothing is left."""
    host = LocalHost(str(root), open_content=lambda content: io.BytesIO({blob_id(b"git\n"): b"git\n"}[content.blob]))
    try:
        before = see(host, desired)
        assert not isinstance(before, Unobservable), before
        step = PROVIDER.plan(desired, before)
        assert step is not None
        PROVIDER.apply(host.writer(), desired, step)
        after = see(host, desired)
        assert isinstance(after, Present)
        assert PROVIDER.plan(desired, after) is None
    finally:
        host.close()
    return step


def test_a_file_is_made(root: Path) -> None:
    assert converge(root, DesiredFile("/etc/motd", NEW)).operation is Operation.CREATE
    status = (root / "etc/motd").stat()
    assert (root / "etc/motd").read_bytes() == b"new\n"
    assert (status.st_mode & 0o7777, status.st_uid) == (0o644, os.geteuid())


def test_bytes_of_the_repository_replace_others_and_the_mode_stays(root: Path) -> None:
    path = root / "etc/motd"
    path.write_bytes(b"old\n")
    path.chmod(0o600)
    assert converge(root, DesiredFile("/etc/motd", Content(blob_id(b"git\n")))).operation is Operation.UPDATE
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"git\n", 0o600)


def test_another_mode_keeps_the_inode(root: Path) -> None:
    path = root / "etc/motd"
    path.write_bytes(b"new\n")
    path.chmod(0o600)
    inode = path.stat().st_ino
    converge(root, DesiredFile("/etc/motd", NEW, "0640"))
    assert (path.stat().st_ino, path.stat().st_mode & 0o7777) == (inode, 0o640)


def test_a_link_is_replaced_and_its_end_stays(root: Path) -> None:
    (root / "etc/other").write_bytes(b"other")
    (root / "etc/motd").symlink_to("other")
    assert converge(root, DesiredFile("/etc/motd", NEW)).operation is Operation.REPLACE
    assert (root / "etc/other").read_bytes() == b"other"
    assert not (root / "etc/motd").is_symlink()


def test_a_leftover_goes(root: Path) -> None:
    (root / "etc/motd").write_bytes(b"new\n")
    (root / "etc/.motd.datum~.dpkg-tmp").write_bytes(b"half")
    step = converge(root, DesiredFile("/etc/motd", NEW))
    assert [change.name for change in step.changes] == ["residue"]
    assert sorted(path.name for path in (root / "etc").iterdir()) == ["group", "motd", "passwd"]


def test_a_directory_gives_way_with_what_was_seen_in_it(root: Path) -> None:
    (root / "etc/motd/sub").mkdir(parents=True)
    (root / "etc/motd/sub/x").write_bytes(b"x")
    step = converge(root, DesiredFile("/etc/motd", NEW))
    assert (step.operation, step.takes) == (Operation.REPLACE, ("/etc/motd/sub", "/etc/motd/sub/x"))
    assert (root / "etc/motd").read_bytes() == b"new\n"
    assert sorted(path.name for path in (root / "etc").iterdir()) == ["group", "motd", "passwd"]


def test_a_pipe_is_replaced_and_never_opened(root: Path) -> None:
    """Opening it would wait for a writer, for ever."""
    os.mkfifo(root / "etc/motd")
    assert converge(root, DesiredFile("/etc/motd", NEW)).operation is Operation.REPLACE
    assert (root / "etc/motd").read_bytes() == b"new\n"


def test_a_seed_stays_what_it_became(root: Path) -> None:
    (root / "etc/state").write_bytes(b"grown")
    converge(root, DesiredFile("/etc/state", NEW, "0600", is_seed=True))
    assert (root / "etc/state").read_bytes() == b"grown"


def test_another_name_of_the_old_bytes_keeps_them(root: Path) -> None:
    (root / "etc/motd").write_bytes(b"old\n")
    (root / "etc/other").hardlink_to(root / "etc/motd")
    converge(root, DesiredFile("/etc/motd", NEW))
    assert ((root / "etc/motd").read_bytes(), (root / "etc/other").read_bytes()) == (b"new\n", b"old\n")
