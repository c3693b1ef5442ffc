"""What killed writes leave behind is found, and cleared where it is certain to be theirs."""

import errno
import os
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from datum.host.residue import residue_name
from datum.provider.host import DirectoryWrite, FileFacts, LinkWrite, Missing
from tests.unit.host.files import bind, changes, file_of, names, needs_root, private_mounts, refused, writing
from tests.unit.host.in_child import in_child

BOB = 1234
RESIDUE = ".x.datum~.dpkg-tmp"


def make(path: Path, kind: str) -> None:
    match kind:
        case "file":
            path.write_bytes(b"half")
        case "link":
            path.symlink_to("/etc/passwd")
        case "directory":
            path.mkdir()
        case _:
            (path / "a/b").mkdir(parents=True)
            (path / "a/c").symlink_to("/etc")
            (path / ".c.datum~.dpkg-tmp").touch()


def has_residue(root: Path, path: str = "/x") -> bool:
    with LocalHost(str(root)) as host:
        found = host.reader().examine(path)
    assert isinstance(found, FileFacts | Missing)
    return found.has_residue


@pytest.mark.parametrize("kind", ["file", "link", "directory", "full directory"])
def test_every_kind_is_found_and_cleared(tmp_path: Path, kind: str) -> None:
    make(tmp_path / RESIDUE, kind)
    with writing(tmp_path) as writer:
        assert has_residue(tmp_path)
        writer.remove_residue("/x")
        assert not has_residue(tmp_path)
        writer.remove_residue("/x")
        for write in changes(
            lambda: writer.write_file("/x", file_of(b"x")),
            lambda: writer.write_link("/x", LinkWrite("x", takes=())),
            lambda: writer.make_directory("/x", DirectoryWrite(replaces=True)),
            lambda: writer.remove_directory("/x"),
            lambda: writer.remove_file("/x"),
        ):
            make(tmp_path / RESIDUE, kind)
            write()
            assert RESIDUE not in names(tmp_path)
    assert names(tmp_path) == []


@needs_root
def test_full_directory_of_somebody_else_or_where_others_make_names_stays(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    sticky = ".x.01234567.datum~.dpkg-tmp"
    make(tmp_path / "tmp" / sticky, "full directory")
    make(tmp_path / RESIDUE, "full directory")
    os.chown(tmp_path / RESIDUE, BOB, BOB)
    with writing(tmp_path) as writer:
        for path, name in (("/tmp/x", sticky), ("/x", RESIDUE)):
            assert has_residue(tmp_path, path)
            with refused("unsafe-path") as found:
                writer.remove_residue(path)
            assert name in found[0].detail
            assert f"remove '{path[:-1]}{name}'" in found[0].diagnostics[0].hint
    assert names(tmp_path / "tmp" / sticky) == [".c.datum~.dpkg-tmp", "a"]
    assert names(tmp_path / RESIDUE) == [".c.datum~.dpkg-tmp", "a"]


@needs_root
def test_empty_directory_and_link_where_others_make_names_go_if_they_are_ours(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    make(folder / ".x.00000000.datum~.dpkg-tmp", "directory")
    make(folder / ".x.11111111.datum~.dpkg-tmp", "link")
    for name, kind in ((".x.22222222.datum~.dpkg-tmp", "directory"), (".x.33333333.datum~.dpkg-tmp", "link")):
        make(folder / name, kind)
        os.chown(folder / name, BOB, BOB, follow_symlinks=False)
    with writing(tmp_path) as writer:
        writer.remove_residue("/tmp/x")
    assert names(folder) == [".x.22222222.datum~.dpkg-tmp", ".x.33333333.datum~.dpkg-tmp"]


@needs_root
def test_directory_in_which_something_is_mounted_stays(tmp_path: Path) -> None:
    def work() -> None:
        private_mounts()
        make(tmp_path / RESIDUE, "full directory")
        (tmp_path / "m").mkdir()
        (tmp_path / "m/kept").touch()
        bind(tmp_path / "m", tmp_path / RESIDUE / "a/b")
        with writing(tmp_path) as writer, refused("holds-mount") as found:
            writer.remove_residue("/x")
        assert f"umount /{RESIDUE}/a/b" in found[0].diagnostics[0].hint
        assert names(tmp_path / "m") == ["kept"]

    in_child(work)


def test_a_kill_between_exchange_and_removal_is_cleared_by_the_next_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "x", "full directory")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with writing(tmp_path) as writer:
        with monkeypatch.context() as patch:
            patch.setattr("datum.host.atomic.drop_swapped", killed)
            with pytest.raises(KeyboardInterrupt):
                writer.write_file("/x", file_of(b"new", takes=("/x/a", "/x/a/b", "/x/a/c")))
        assert (tmp_path / "x").read_bytes() == b"new"
        assert has_residue(tmp_path)
        writer.remove_residue("/x")
    assert names(tmp_path) == ["x"]


def test_leftover_that_cannot_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / RESIDUE, "directory")
    real = os.stat

    def broken(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if path == RESIDUE:
            raise OSError(errno.EIO, "")
        return real(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "stat", broken)
    with writing(tmp_path) as writer, refused():
        writer.remove_residue("/x")


@pytest.mark.parametrize("name", ["site", "x" * 255])
def test_where_logrotate_reads_a_leftover_has_no_leading_dot(name: str) -> None:
    """Logrotate's taboo patterns do not hold for names that begin with one."""
    assert not residue_name(name, "/etc/logrotate.d").startswith(".")
    assert residue_name(name, "/etc/cron.d").startswith(".")
    assert len(residue_name(name, "/etc/logrotate.d", is_random=True)) <= 255
