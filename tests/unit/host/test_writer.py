"""Changing what stands below a root."""

import ctypes
import errno
import hashlib
import io
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from datum.host import inplace, mounts, streams
from datum.host.identity import Actor, acting_as
from datum.host.local import LocalHost
from datum.host.root import HostRoot
from datum.host.writer import LocalWriter
from datum.model.content import Content, blob_id
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, FileFacts, FileWrite, Missing
from tests.unit.host.files import (
    acl_for,
    bind,
    changes,
    file_of,
    mount_tmpfs,
    names,
    needs_root,
    private_mounts,
    refused,
    remount_read_only,
    writing,
)
from tests.unit.host.in_child import NOBODY, in_child

BOB = 1234
RESIDUE = ".f.datum~.dpkg-tmp"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_new_file_is_0644_and_the_caller_s(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"hello\n"))
        assert writer.remarks == []
    assert (tmp_path / "f").read_bytes() == b"hello\n"
    assert mode_of(tmp_path / "f") == 0o644
    assert (tmp_path / "f").stat().st_uid == os.geteuid()
    assert names(tmp_path) == ["f"]


@needs_root
def test_declared_owner_and_setuid_mode_are_right_at_once(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"x", mode="6755", uid=BOB, gid=55))
        status = (tmp_path / "f").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o6755, BOB, 55)
        writer.write_file("/f", file_of(b"longer", mode="6755", uid=0, gid=0))
        status = (tmp_path / "f").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o6755, 0, 0)


@needs_root
def test_what_is_not_declared_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.chown(tmp_path / "f", BOB, 55)
    (tmp_path / "f").chmod(0o4750)
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new"))
    status = (tmp_path / "f").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o4750, BOB, 55)


def test_replacing_makes_a_new_inode_and_other_links_keep_the_old_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.link(tmp_path / "f", tmp_path / "g")
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new"))
        assert writer.remarks == ["hard_links_broken: 1"]
    assert (tmp_path / "g").read_bytes() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new"


def test_link_or_fifo_at_the_path_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"old")
    (tmp_path / "f").symlink_to("other")
    os.mkfifo(tmp_path / "p")
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new", takes=()))
        writer.write_file("/p", file_of(b"new", takes=()))
        assert writer.remarks == []
    assert (tmp_path / "other").read_bytes() == b"old"
    for name in ("f", "p"):
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == b"new"
        assert mode_of(tmp_path / name) == 0o644


def test_directory_in_the_way_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with writing(tmp_path) as writer:
        write, remove = "kind-in-the-way", "directory-in-the-way"
        for code, change in zip(
            (write, remove, write),
            changes(
                lambda: writer.write_file("/d", file_of(b"x")),
                lambda: writer.remove_file("/d"),
                lambda: writer.write_file("/", file_of(b"x", takes=())),
            ),
            strict=True,
        ):
            with refused(code) as found:
                change()
            assert found[0].diagnostics[0].hint
    assert names(tmp_path) == ["d"]


def test_directory_that_arrives_meanwhile_is_in_the_way_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.rename

    def late(*arguments: object, **options: object) -> None:
        (tmp_path / "f").mkdir()
        real(*arguments, **options)  # type: ignore[arg-type] # handed on

    monkeypatch.setattr(os, "rename", late)
    with writing(tmp_path) as writer, refused("kind-in-the-way"):
        writer.write_file("/f", file_of(b"x"))
    assert names(tmp_path) == ["f"]


def test_long_name_gets_a_short_one_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = os.rename

    def watch(source: str, target: str, **options: int) -> None:
        seen.append(source)
        real(source, target, **options)

    monkeypatch.setattr(os, "rename", watch)
    long = "n" * 250
    with writing(tmp_path) as writer:
        writer.write_file(f"/{long}", file_of(b"x"))
        writer.write_file("/f", file_of(b"x"))
        tmp_path.chmod(0o1777)
        writer.write_file("/f", file_of(b"y"))
    assert seen[:2] == [f".{hashlib.sha256(long.encode()).hexdigest()[:16]}.datum~.dpkg-tmp", RESIDUE]
    assert re.fullmatch(r"\.f\.[0-9a-f]{8}\.datum~\.dpkg-tmp", seen[2])


def test_leftover_is_replaced(tmp_path: Path) -> None:
    (tmp_path / RESIDUE).write_bytes(b"half")
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"x"))
    assert names(tmp_path) == ["f"]


@needs_root
@pytest.mark.parametrize(
    "kind", ["fifo", "foreign-link", "foreign-folder", "full-foreign-folder", "two-links", "foreign"]
)
def test_name_taken_by_anything_else_fails_and_is_named(tmp_path: Path, kind: str) -> None:
    taken = tmp_path / RESIDUE
    match kind:
        case "fifo":
            os.mkfifo(taken)
        case "foreign-link":
            taken.symlink_to("/etc/shadow")
            os.chown(taken, BOB, BOB, follow_symlinks=False)
        case "foreign-folder" | "full-foreign-folder":
            taken.mkdir()
            os.chown(taken, BOB, BOB)
            if kind == "full-foreign-folder":
                (taken / "x").touch()
        case "two-links":
            taken.touch()
            os.link(taken, tmp_path / "other")
        case _:
            taken.touch()
            os.chown(taken, BOB, BOB)
    before = names(tmp_path)
    with writing(tmp_path) as writer:
        with refused("unsafe-path") as found:
            writer.write_file("/f", file_of(b"x"))
        assert RESIDUE in found[0].detail
        # Where only root makes names, owner and caller say less than the name.
        if kind in {"fifo", "full-foreign-folder", "two-links"}:
            for change in (writer.remove_residue, writer.remove_file):
                with refused("unsafe-path"):
                    change("/f")
    assert names(tmp_path) == before


def without_tmpfile(monkeypatch: pytest.MonkeyPatch, code: int = errno.EOPNOTSUPP) -> None:
    real = os.open

    def no_tmpfile(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(code, "")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", no_tmpfile)


def test_file_system_without_unnamed_files_gets_a_named_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_tmpfile(monkeypatch)
    (tmp_path / RESIDUE).write_bytes(b"half")
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"x"))
        assert names(tmp_path) == ["f"]
        with refused("content-mismatch"):
            writer.write_file("/f", FileWrite(Content(blob_id(b"y"), inline=b"z", source="files/f")))
    assert names(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"x"


def test_without_proc_a_named_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"x"))
    assert names(tmp_path) == ["f"]


def test_another_error_of_an_unnamed_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_tmpfile(monkeypatch, errno.EIO)
    with writing(tmp_path) as writer, refused() as found:
        writer.write_file("/f", file_of(b"x"))
    assert found[0].cause is Cause.IO


def test_bytes_that_are_not_those_of_the_object_get_no_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with writing(tmp_path) as writer, refused("content-mismatch"):
        writer.write_file("/f", FileWrite(Content(blob_id(b"y"), inline=b"z")))
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_bytes_may_come_from_the_tree(tmp_path: Path) -> None:
    content = Content(blob_id(b"tree"))
    with writing(tmp_path, open_content=lambda _: io.BytesIO(b"tree")) as writer:
        writer.write_file("/f", FileWrite(content))
    assert (tmp_path / "f").read_bytes() == b"tree"
    with writing(tmp_path) as writer, refused("content-unreachable"):
        writer.write_file("/g", FileWrite(content))


@pytest.mark.parametrize("call", ["fsync", "rename", "link", "fchmod", "write"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_every_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def broken(*_: object, **__: object) -> None:
        raise OSError(code, "")

    with writing(tmp_path) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, call, broken)
            with refused() as found:
                writer.write_file("/f", file_of(b"new"))
        assert os.strerror(code) in found[0].detail
        no_space = code in {errno.ENOSPC, errno.EDQUOT}
        assert (found[0].failure is FailureCause.NO_SPACE) == no_space
        assert bool(found[0].diagnostics[0].hint) == no_space
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_interruption_after_linking_unlinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        assert names(tmp_path) == [RESIDUE]
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with writing(tmp_path) as writer, pytest.raises(KeyboardInterrupt):
        writer.write_file("/f", file_of(b"x"))
    assert names(tmp_path) == []


@needs_root
def test_full_and_read_only_file_systems(tmp_path: Path) -> None:
    def work() -> None:
        private_mounts()
        (tmp_path / "m").mkdir()
        mount_tmpfs(tmp_path / "m", "size=64k,mode=755")
        (tmp_path / "m/f").write_bytes(b"old")
        with writing(tmp_path) as writer:
            with refused() as found:
                writer.write_file("/m/f", file_of(b"x" * 200_000))
            assert found[0].failure is FailureCause.NO_SPACE
            assert (tmp_path / "m/f").read_bytes() == b"old"
            assert names(tmp_path / "m") == ["f"]
            remount_read_only(tmp_path / "m")
            for change in changes(
                lambda: writer.write_file("/m/f", file_of(b"x")),
                lambda: writer.set_attributes("/m/f", mode="0600"),
                lambda: writer.remove_file("/m/f"),
            ):
                with refused() as found:
                    change()
                assert found[0].failure is FailureCause.READ_ONLY
                assert found[0].cause is Cause.READ_ONLY

    in_child(work)


@needs_root
def test_mount_point_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        private_mounts()
        (tmp_path / "f").touch()
        (tmp_path / "real").write_bytes(b"old and longer")
        bind(tmp_path / "real", tmp_path / "f")
        os.setxattr(tmp_path / "real", "security.capability", CAPABILITY)
        with writing(tmp_path) as writer:
            writer.write_file("/f", file_of(b"new", mode="4711"))
            assert writer.remarks == ["not_atomic"]
            assert (tmp_path / "real").read_bytes() == b"new"
            assert mode_of(tmp_path / "real") == 0o4711
            assert os.getxattr(tmp_path / "real", "security.capability") == CAPABILITY
            with refused() as found:
                writer.remove_file("/f")
            assert found[0].failure is FailureCause.BUSY
            assert "umount /f" in found[0].diagnostics[0].hint

            def broken(*_: object) -> None:
                raise OSError(errno.EIO, "")

            for step in ("own_and_mode", "keep_capabilities"):
                with monkeypatch.context() as patch:
                    patch.setattr(inplace, step, broken)
                    with refused():
                        writer.write_file("/f", file_of(b"third"))
                assert (tmp_path / "real").read_bytes() == b"new"
        (tmp_path / "fifo").touch()
        os.mkfifo(tmp_path / "pipe")
        bind(tmp_path / "pipe", tmp_path / "fifo")
        with writing(tmp_path) as writer:
            with refused("kind-in-the-way"):
                writer.write_file("/fifo", file_of(b"x"))
            with refused("not-a-file"):
                writer.write_file("/fifo", file_of(b"x", takes=()))
        assert names(tmp_path) == ["f", "fifo", "pipe", "real"]

    in_child(work)


@needs_root
def test_mount_point_is_written_in_place_where_the_folder_has_no_unnamed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes are kept under a leftover's name that goes at once, and come back when the write fails."""

    def work() -> None:
        private_mounts()
        (tmp_path / "f").touch()
        (tmp_path / "real").write_bytes(b"old and longer" * 100_000)
        bind(tmp_path / "real", tmp_path / "f")
        without_tmpfile(monkeypatch)
        kept: list[list[str]] = []

        def broken(*_: object) -> None:
            kept.append(names(tmp_path))
            raise OSError(errno.EIO, "")

        with writing(tmp_path) as writer:
            with monkeypatch.context() as patch:
                patch.setattr(inplace, "own_and_mode", broken)
                with refused() as found:
                    writer.write_file("/f", file_of(b"new" * 500_000))
            assert found[0].cause is Cause.IO
            assert (tmp_path / "real").read_bytes() == b"old and longer" * 100_000
            (tmp_path / RESIDUE).write_bytes(b"half")
            writer.write_file("/f", file_of(b"new"))
        assert (tmp_path / "real").read_bytes() == b"new"
        assert kept == [["f", "real"]]
        assert names(tmp_path) == ["f", "real"]

    in_child(work)


CAPABILITY = bytes.fromhex("0100000200200000000000000000000000000000")


@needs_root
@pytest.mark.parametrize("change", ["write", "attributes"])
def test_extended_attributes_acl_and_capabilities_are_kept(tmp_path: Path, change: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    os.setxattr(file, "user.note", b"mine")
    os.setxattr(file, "system.posix_acl_access", acl_for(BOB))
    os.setxattr(file, "security.capability", CAPABILITY)
    with writing(tmp_path) as writer:
        if change == "write":
            writer.write_file("/f", file_of(b"new", uid=55, mode="0664"))
        else:
            writer.set_attributes("/f", uid=55, gid=56, mode="0664")
        assert writer.remarks == []
    assert file.stat().st_uid == 55
    assert mode_of(file) == 0o664
    assert os.getxattr(file, "user.note") == b"mine"
    assert os.getxattr(file, "security.capability") == CAPABILITY
    assert os.getxattr(file, "system.posix_acl_access") == acl_for(BOB)


def test_list_of_the_folder_s_default_does_not_replace_having_none(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", acl_for(BOB))
    except OSError as error:
        pytest.skip(f"no access control lists here: {error}")
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new"))
        writer.write_file("/g", file_of(b"new"))
    assert "system.posix_acl_access" not in os.listxattr(tmp_path / "f")
    assert "system.posix_acl_access" in os.listxattr(tmp_path / "g")


def test_attribute_that_cannot_be_set_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.setxattr(tmp_path / "f", "user.note", b"mine")

    def broken(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "setxattr", broken)
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new"))
        assert writer.remarks == ["attribute_not_kept: user.note (Operation not permitted)"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_attribute_that_a_broken_or_full_disk_does_not_take_fails_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.setxattr(tmp_path / "f", "user.note", b"mine")

    def broken(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "setxattr", broken)
    with writing(tmp_path) as writer:
        with refused():
            writer.write_file("/f", file_of(b"new"))
        assert writer.remarks == []
    assert ((tmp_path / "f").read_bytes(), os.getxattr(tmp_path / "f", "user.note")) == (b"old", b"mine")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(("code", "fails"), [(errno.ENOTSUP, False), (errno.EPERM, False), (errno.EIO, True)])
def test_list_of_the_folder_s_default_that_cannot_be_dropped_fails_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def broken(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "removexattr", broken)
    with writing(tmp_path) as writer:
        if fails:
            with refused():
                writer.write_file("/f", file_of(b"new"))
        else:
            writer.write_file("/f", file_of(b"new"))
    assert (tmp_path / "f").read_bytes() == (b"old" if fails else b"new")


@pytest.mark.parametrize(("code", "fails"), [(errno.ENOTSUP, False), (errno.EIO, True)])
def test_file_system_without_extended_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def broken(*_: object) -> list[str]:
        raise OSError(code, "")

    monkeypatch.setattr(os, "listxattr", broken)
    with writing(tmp_path) as writer:
        if fails:
            with refused():
                writer.write_file("/f", file_of(b"new"))
        else:
            writer.write_file("/f", file_of(b"new"))
    assert (tmp_path / "f").read_bytes() == (b"old" if fails else b"new")


def test_file_that_vanishes_meanwhile_has_nothing_to_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"old")
    real = os.fsync
    fill = streams.fill

    def vanish(fd: int, source: io.BytesIO) -> None:
        (tmp_path / "f").unlink()
        fill(fd, source)

    monkeypatch.setattr("datum.host.atomic.fill", vanish)
    monkeypatch.setattr(os, "fsync", real)
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"new"))
    assert (tmp_path / "f").read_bytes() == b"new"


@needs_root
def test_immutable_file_or_folder_gives_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "f").write_bytes(b"old")
    for flag, target, where in (("i", folder / "f", "/d/f"), ("i", folder, "/d"), ("a", folder / "f", "/d/f")):
        if subprocess.run(["chattr", f"+{flag}", target], check=False).returncode:
            pytest.skip("chattr is not to be had on this file system")
        try:
            with writing(tmp_path) as writer:
                set_owner = partial(writer.set_attributes, "/d/f", uid=5)
                for change in changes(
                    partial(writer.write_file, "/d/f", file_of(b"new", mode="0600")),
                    partial(writer.remove_file, "/d/f"),
                    *([] if target == folder else [set_owner]),
                ):
                    with refused() as found:
                        change()
                    assert f"chattr -{flag} {where}" in found[0].diagnostics[0].hint
                    assert found[0].cause is Cause.DENIED
        finally:
            subprocess.run(["chattr", f"-{flag}", target], check=True)
    assert names(folder) == ["f"]
    assert (folder / "f").read_bytes() == b"old"


@needs_root
def test_attributes_change_without_a_new_inode(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x")
    before = file.stat()
    with writing(tmp_path) as writer:
        writer.set_attributes("/f", mode="6755", uid=BOB, gid=55)
        after = file.stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        assert (mode_of(file), after.st_uid, after.st_gid) == (0o6755, BOB, 55)
        writer.set_attributes("/f", gid=56, mode="6755")
        assert (mode_of(file), file.stat().st_gid) == (0o6755, 56)
        writer.set_attributes("/f", uid=0)
        assert mode_of(file) == 0o755
        writer.set_attributes("/", mode="0711")
        assert mode_of(tmp_path) == 0o711


@needs_root
def test_attributes_of_directories_are_set_to_the_last_bit(tmp_path: Path) -> None:
    """chmod(1) would keep setgid where the mode does not say it; a change of owner clears nothing there."""
    folder = tmp_path / "d"
    folder.mkdir()
    default = acl_for(BOB)
    os.setxattr(folder, "system.posix_acl_default", default)
    with writing(tmp_path) as writer:
        for mode in ("2775", "0755", "7700", "0000", "1777"):
            writer.set_attributes("/d", mode=mode)
            assert f"{mode_of(folder):04o}" == mode
        writer.set_attributes("/d", mode="3750")
        writer.set_attributes("/d", uid=BOB, gid=55)
        assert (mode_of(folder), folder.stat().st_uid, folder.stat().st_gid) == (0o3750, BOB, 55)
    assert os.getxattr(folder, "system.posix_acl_default") == default


@needs_root
def test_mode_of_a_file_with_an_access_control_list_sets_its_mask(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    os.setxattr(tmp_path / "f", "system.posix_acl_access", acl_for(BOB))
    with writing(tmp_path) as writer:
        writer.set_attributes("/f", mode="0644")
    assert mode_of(tmp_path / "f") == 0o644
    entries = os.getxattr(tmp_path / "f", "system.posix_acl_access")
    # tag, permissions: the user's own entry says still 6, and the mask takes writing away
    assert [entries[at : at + 3 : 2] for at in range(4, len(entries), 8)][1] == bytes((2, 6))
    assert [entries[at : at + 3 : 2] for at in range(4, len(entries), 8)][3] == bytes((16, 4))


@needs_root
def test_attributes_of_links_and_fifos(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "l").symlink_to("target")
    os.mkfifo(tmp_path / "p")
    with writing(tmp_path) as writer:
        writer.set_attributes("/l", uid=BOB)
        assert (tmp_path / "l").lstat().st_uid == BOB
        assert (tmp_path / "target").stat().st_uid == 0
        with refused("link-has-no-mode"):
            writer.set_attributes("/l", mode="0600")
        writer.set_attributes("/p", mode="0600", gid=55)
        assert (mode_of(tmp_path / "p"), (tmp_path / "p").stat().st_gid) == (0o600, 55)
        with refused() as found:
            writer.set_attributes("/none", mode="0600")
        assert "/none" in found[0].detail


@needs_root
def test_attributes_where_others_make_names_are_not_given_to_a_strange_inode(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "f").touch()
    os.chown(folder / "f", BOB, BOB)
    (folder / "g").touch()
    os.link(folder / "g", folder / "h")
    (folder / "d").mkdir()
    os.chown(folder / "d", BOB, BOB)
    with writing(tmp_path) as writer:
        for path in ("/tmp/f", "/tmp/g", "/tmp/d"):
            with refused("unsafe-path"):
                writer.set_attributes(path, uid=0, mode="4755")
        writer.set_attributes("/tmp/f", uid=BOB, mode="0600")
        writer.set_attributes("/tmp/d", uid=BOB, mode="0700")
    assert (folder / "f").stat().st_uid == BOB
    assert mode_of(folder / "d") == 0o700


@needs_root
def test_a_stranger_s_file_hands_nothing_on_where_everybody_makes_names(tmp_path: Path) -> None:
    """Neither mode and owner that are not declared, nor the list of who else may read."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    for name, uid in (("theirs", BOB), ("declared", BOB), ("ours", 0)):
        (folder / name).touch()
        os.chown(folder / name, uid, uid)
        (folder / name).chmod(0o4777)
        os.setxattr(folder / name, "system.posix_acl_access", acl_for(BOB))
    os.link(folder / "ours", folder / "linked")
    (folder / "ours").unlink()
    (folder / "ours").touch(mode=0o755)
    os.setxattr(folder / "ours", "user.note", b"kept")
    os.link(folder / "linked", folder / "linked too")
    with writing(tmp_path) as writer:
        for name in ("theirs", "linked", "ours"):
            writer.write_file(f"/tmp/{name}", file_of(b"new"))
        writer.write_file("/tmp/declared", file_of(b"new", uid=BOB, mode="0640"))
    for name in ("theirs", "linked"):
        assert mode_of(folder / name) == 0o644
        assert (folder / name).stat().st_uid == 0
        assert "system.posix_acl_access" not in os.listxattr(folder / name)
    assert mode_of(folder / "ours") == 0o755
    assert os.getxattr(folder / "ours", "user.note") == b"kept"
    assert "system.posix_acl_access" in os.listxattr(folder / "declared")


@needs_root
def test_what_is_swapped_in_for_a_link_gets_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user's directory: a second name of a file of root, right before the link is given to the user."""
    (tmp_path / "secret").touch()
    home = tmp_path / "home"
    home.mkdir()
    (home / "l").symlink_to("x")
    os.chown(home, BOB, BOB)
    change = os.chown

    def late(path: str, uid: int, gid: int, **options: Any) -> None:
        (home / "l").unlink()
        os.link(tmp_path / "secret", home / "l")
        change(path, uid, gid, **options)

    monkeypatch.setattr(os, "chown", late)
    with writing(tmp_path) as writer:
        writer.set_attributes("/home/l", uid=BOB)
    assert (tmp_path / "secret").stat().st_uid == 0


@needs_root
def test_what_is_swapped_in_while_a_file_is_replaced_hands_nothing_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a user's directory: a second name of a file of root, whose attributes the user might not even read."""
    (tmp_path / "secret").touch()
    os.setxattr(tmp_path / "secret", "user.note", b"secret")
    home = tmp_path / "home"
    home.mkdir()
    (home / "f").touch()
    for path in (home, home / "f"):
        os.chown(path, BOB, BOB)
    with writing(tmp_path) as writer:
        source = writer.open_content

        def late(content: Content) -> BinaryIO:
            (home / "f").unlink()
            os.link(tmp_path / "secret", home / "f")
            return source(content)

        monkeypatch.setattr(writer, "open_content", late)
        writer.write_file("/home/f", file_of(b"new"))
    assert os.listxattr(home / "f") == []
    assert (home / "f").stat().st_uid == BOB


def test_removing(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / RESIDUE).touch()
    (tmp_path / "l").symlink_to("other")
    (tmp_path / "other").touch()
    with writing(tmp_path) as writer:
        writer.remove_file("/f")
        writer.remove_file("/f")
        writer.remove_file("/l")
        (tmp_path / RESIDUE).touch()
        (tmp_path / "f").touch()
        writer.remove_residue("/f")
    assert names(tmp_path) == ["f", "other"]


@needs_root
def test_leftovers_in_a_sticky_folder_are_found_and_those_of_others_are_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    ours, theirs = ".f.01234567.datum~.dpkg-tmp", ".f.89abcdef.datum~.dpkg-tmp"
    for name in (ours, theirs, ".f.datum~.dpkg-tmp"):
        (tmp_path / name).touch()
    os.chown(tmp_path / theirs, BOB, BOB)
    with writing(tmp_path) as writer:
        writer.remove_residue("/f")
    assert names(tmp_path) == [theirs, ".f.datum~.dpkg-tmp"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid():
        pytest.skip("makes files of other users")
    folder = tmp_path / "home/bob"
    folder.mkdir(parents=True)
    os.chown(folder, BOB, BOB)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(b"bob:x:1234:77::/home/bob:/bin/sh\n")
    yield folder
    assert ctypes.CDLL(None).setfsuid(ctypes.c_uint32(0xFFFFFFFF)) == 0


def test_in_a_user_s_directory_names_are_made_with_that_user_s_rights(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    libc = ctypes.CDLL(None)
    asked = ctypes.c_uint32(0xFFFFFFFF)
    for call in ("link", "rename", "unlink"):

        def watch(*arguments: object, real: object = getattr(os, call), **options: object) -> None:
            seen.append((libc.setfsuid(asked), libc.setfsgid(asked)))
            real(*arguments, **options)  # type: ignore[operator] # the call it stands for

        monkeypatch.setattr(os, call, watch)
    with writing(tmp_path) as writer:
        writer.write_file("/home/bob/f", file_of(b"x", uid=BOB, gid=78, mode="4711"))
        status = (home / "f").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o4711, BOB, 78)
        writer.write_file("/home/bob/f", file_of(b"y"))
        writer.set_attributes("/home/bob/f", mode="0600")
        writer.remove_file("/home/bob/f")
        writer.write_file("/f", file_of(b"x"))
    assert seen == [(BOB, 77)] * 5 + [(0, 0)] * 2
    assert names(home) == []


def test_user_s_directory_that_the_user_cannot_write_is_denied(tmp_path: Path, home: Path) -> None:
    home.chmod(0o555)
    (tmp_path / "etc/passwd").unlink()
    with writing(tmp_path) as writer, refused() as found:
        writer.write_file("/home/bob/f", file_of(b"x", uid=BOB))
    assert found[0].cause is Cause.DENIED


def test_root_s_file_does_not_go_to_a_user_s_directory_but_may_be_removed_from_it(tmp_path: Path, home: Path) -> None:
    (home / "f").touch()
    os.link(home / "f", home / "g")
    with writing(tmp_path) as writer:
        for change in changes(
            lambda: writer.write_file("/home/bob/f", file_of(b"x", uid=0)),
            lambda: writer.write_file("/home/bob/f", file_of(b"x")),
            lambda: writer.set_attributes("/home/bob/f", mode="0600"),
            lambda: writer.set_attributes("/home/bob/g", uid=BOB),
        ):
            with refused("unsafe-path"):
                change()
        writer.remove_file("/home/bob/f")
    assert names(home) == ["g"]


def test_acting_as_another_user_needs_root(nobody_root: Path) -> None:
    def work() -> None:
        with refused("unsafe-path"), acting_as(Actor(BOB, BOB)):
            pytest.fail("the block must not run")

    if os.geteuid():
        pytest.skip("needs root to become another user")
    in_child(work, uid=NOBODY)


@needs_root
def test_ordinary_user_writes_below_an_own_root(nobody_root: Path) -> None:
    def work() -> None:
        with LocalHost(str(nobody_root)) as host:
            writer = host.writer()
            (nobody_root / "etc").mkdir(0o755)
            writer.write_file("/etc/f", file_of(b"x", mode="4750"))
            found = writer.examine("/etc/f", blob="sha1")
            assert isinstance(found, FileFacts)
            assert (found.uid, found.gid, found.mode, found.blob) == (NOBODY, NOBODY, "4750", blob_id(b"x"))
            writer.write_file("/etc/f", file_of(b"y"))
            writer.set_attributes("/etc/f", mode="0000", uid=NOBODY)
            (nobody_root / "etc/.f.datum~.dpkg-tmp").touch()
            writer.remove_file("/etc/f")
            assert names(nobody_root / "etc") == []
            (nobody_root / "etc/h").touch()
            for change in changes(
                lambda: writer.write_file("/etc/g", file_of(b"x", uid=0)),
                lambda: writer.set_attributes("/etc/h", uid=0),
            ):
                with refused() as denied:
                    change()
                assert denied[0].cause is Cause.DENIED
                assert "only root" in denied[0].diagnostics[0].hint
            assert names(nobody_root / "etc") == ["h"]

    in_child(work, uid=NOBODY)


@needs_root
def test_ordinary_user_does_not_write_below_a_root_of_another(nobody_root: Path) -> None:
    os.chown(nobody_root, BOB, BOB)

    def work() -> None:
        with writing(nobody_root) as writer, refused("unsafe-path"):
            writer.write_file("/f", file_of(b"x"))

    in_child(work, uid=NOBODY)


def test_symbolic_link_swapped_in_on_the_way_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that was judged is the one that is written, wherever its name leads meanwhile."""
    (tmp_path / "d").mkdir()
    (tmp_path / "evil").mkdir()
    real = os.link

    def swapping(*arguments: object, **options: object) -> None:
        (tmp_path / "d").rename(tmp_path / "moved")
        (tmp_path / "d").symlink_to("evil")
        real(*arguments, **options)  # type: ignore[arg-type] # handed on

    monkeypatch.setattr(os, "link", swapping)
    with writing(tmp_path) as writer:
        writer.write_file("/d/f", file_of(b"x"))
        assert names(tmp_path / "evil") == []
        assert names(tmp_path / "moved") == ["f"]
        with refused("symlink-in-path"):
            writer.write_file("/d/f", file_of(b"x"))
        with refused("bad-path"):
            writer.write_file("/d/../../f", file_of(b"x"))


@needs_root
def test_group_writable_folder_needs_its_group_declared(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.chown(tmp_path / "d", 0, 55)
    (tmp_path / "d").chmod(0o2775)
    with writing(tmp_path) as writer, refused("unsafe-path"):
        writer.write_file("/d/f", file_of(b"x"))
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/group").write_bytes(b"team:x:55:\nother:x:56:\n55:x:57:\n")
    for group in ("other", "gone", "56", "57", "-1"):
        with writing(tmp_path, shared={"/d": group, "/e": "team"}) as writer, refused("unsafe-path"):
            writer.write_file("/d/f", file_of(b"x"))
    for group in ("team", "55"):
        with writing(tmp_path, shared={"/d": group}) as writer:
            writer.write_file("/d/f", file_of(b"x"))
    assert (tmp_path / "d/f").stat().st_gid == os.getegid()


def test_file_system_without_owners_is_not_asked_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = b"20 1 8:1 / / rw - vfat /dev/x rw\n"
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: table)

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "")

    monkeypatch.setattr(os, "chown", broken)
    monkeypatch.setattr(os, "fchmod", broken)
    with writing(tmp_path) as writer:
        writer.write_file("/f", file_of(b"x", uid=77, mode="4755"))
    assert (tmp_path / "f").read_bytes() == b"x"


def test_path_that_cannot_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "")

    with writing(tmp_path) as writer:
        monkeypatch.setattr(os, "stat", broken)
        with refused() as found:
            writer.write_file("/f", file_of(b"x"))
    assert found[0].cause is Cause.IO


def test_writer_of_a_set_does_not_write_unchecked_what_has_a_check(tmp_path: Path) -> None:
    writer = LocalWriter(HostRoot.open(str(tmp_path)), None)
    with refused("cannot-be-staged"):
        writer.write_file("/f", file_of(b"x", validate=("true",)))
    assert names(tmp_path) == []


def test_run_changes_what_is_below_the_root(shell_root: Path) -> None:
    if os.geteuid():
        pytest.skip("changes its root")
    with writing(shell_root) as writer:
        writer.run(Command(("/bin/sh", "-c", "echo x > /made"), 10))
        assert not isinstance(writer.examine("/made"), Missing)
