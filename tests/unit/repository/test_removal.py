"""Removing what a program that is not trusted may have put there."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.repository.removal import remove_whatever


def dig(top: Path, depth: int) -> None:
    """Make folders in each other, deeper than any path can name."""
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for number in range(depth):
        os.mkdir("d" * 100, dir_fd=folder)
        with open(os.open(f"file{number}", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "w") as stream:  # noqa: PTH123
            stream.write("x")
        deeper = os.open("d" * 100, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    """Neither the stack, nor the length of a path, nor the number of open files is a bound."""
    dig(tmp_path / "deep", 3000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))  # noqa: PTH208
    try:
        remove_whatever(tmp_path / "deep")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["nothing", "file", "link", "dangling", "fifo", "folder"])
def test_anything_is_removed(tmp_path: Path, kind: str) -> None:
    kept, path = tmp_path / "kept", tmp_path / "path"
    (kept / "in").mkdir(parents=True)
    make: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "file": path.touch,
        "link": lambda: path.symlink_to(kept),
        "dangling": lambda: path.symlink_to("nowhere"),
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }
    make[kind]()
    remove_whatever(path)
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_links_below_are_not_followed(tmp_path: Path) -> None:
    kept, path = tmp_path / "kept", tmp_path / "path"
    (kept / "in").mkdir(parents=True)
    (path / "a/b").mkdir(parents=True)
    for place in (path, path / "a", path / "a/b"):
        (place / "link").symlink_to(kept)
        (place / "up").symlink_to("..")
        os.mkfifo(place / "fifo")
    remove_whatever(path)
    assert [each.name for each in kept.iterdir()] == ["in"]
    assert not path.exists()


def test_many_folders_with_equal_names(tmp_path: Path) -> None:
    for first in range(20):
        for second in range(20):
            (tmp_path / f"top/{first}/{second}/{first}").mkdir(parents=True)
    remove_whatever(tmp_path / "top")
    assert not list(tmp_path.iterdir())


def test_folders_that_shut_their_owner_out(tmp_path: Path) -> None:
    """What root may anyway an ordinary user has to allow himself."""
    folder = tmp_path / "top/shut/inner"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0)
    if os.geteuid():
        remove_whatever(tmp_path / "top")
    else:
        for each in (tmp_path, tmp_path / "top", tmp_path / "top/shut", folder):
            os.chown(each, 65534, 65534)
        here = os.open(tmp_path, os.O_RDONLY)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.fchdir(here)
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                remove_whatever(Path("top"))
                code = 0
            finally:
                os._exit(code)
        os.close(here)
        assert os.waitpid(pid, 0)[1] == 0
    assert not list(tmp_path.iterdir())
