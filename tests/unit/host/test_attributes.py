"""Owners below a directory of a user: what is given to them, whoever has it now, and what is not."""

import os
import stat
from pathlib import Path

import pytest

from datum.host.local import LocalHost
from tests.unit.host.files import needs_root, refused, writing

BOB = 1234
EVE = 5


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory of Bob's with a file of Eve's."""
    folder = tmp_path / "home"
    folder.mkdir()
    os.chown(folder, BOB, BOB)
    place(folder / "f")
    return folder


def place(path: Path, uid: int = EVE, mode: int = 0o640) -> None:
    path.write_bytes(b"x")
    os.chown(path, uid, uid)
    path.chmod(mode)


def owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


@needs_root
def test_a_stranger_s_file_is_given_to_the_user_only_where_it_may_be_anybody_s(tmp_path: Path, home: Path) -> None:
    with writing(tmp_path) as writer:
        with refused("unsafe-path"):
            writer.set_attributes("/home/f", uid=BOB)
        assert owner(home / "f") == (EVE, EVE)
        writer.set_attributes("/home/f", uid=BOB, from_anybody=True)
    assert owner(home / "f") == (BOB, EVE)
    assert stat.S_IMODE((home / "f").stat().st_mode) == 0o640


@needs_root
def test_a_group_is_given_in_a_user_s_directory_whoever_owns_the_file(tmp_path: Path, home: Path) -> None:
    """The owner is not declared then, and stays."""
    place(home / "g", uid=0)
    with writing(tmp_path) as writer:
        for name in ("f", "g"):
            with refused("unsafe-path"):
                writer.set_attributes(f"/home/{name}", gid=7)
            writer.set_attributes(f"/home/{name}", gid=7, from_anybody=True)
    assert (owner(home / "f"), owner(home / "g")) == ((EVE, 7), (0, 7))


@needs_root
def test_neither_another_file_under_this_name_nor_what_lies_under_a_sticky_bit_is_given(
    tmp_path: Path, home: Path
) -> None:
    os.link(home / "f", tmp_path / "elsewhere")
    shared = home / "tmp"
    shared.mkdir()
    os.chown(shared, BOB, BOB)
    shared.chmod(0o1777)
    place(shared / "f")
    (shared / "d").mkdir()
    os.chown(shared / "d", EVE, EVE)
    with writing(tmp_path) as writer:
        for path in ("/home/f", "/home/tmp/f", "/home/tmp/d"):
            with refused("unsafe-path"):
                writer.set_attributes(path, uid=BOB, from_anybody=True)
    assert {owner(path) for path in (home / "f", shared / "f", shared / "d")} == {(EVE, EVE)}


@needs_root
def test_capabilities_stay_but_for_a_stranger_s_file(tmp_path: Path, home: Path) -> None:
    """Whoever has it open for writing could put other bytes under them."""
    raising = bytes.fromhex("0100000200040000000000000000000000000000")
    place(home / "own", uid=BOB)
    for name in ("f", "own"):
        os.setxattr(home / name, "security.capability", raising)
    with writing(tmp_path) as writer:
        for name in ("f", "own"):
            writer.set_attributes(f"/home/{name}", uid=BOB, gid=0, from_anybody=True)
    assert os.listxattr(home / "f") == []
    assert os.getxattr(home / "own", "security.capability") == raising


def test_a_set_that_is_checked_takes_nothing_from_anybody(tmp_path: Path) -> None:
    """What a stranger may have cannot be given back."""
    (tmp_path / "f").touch()
    with LocalHost(str(tmp_path)) as host:
        staging = host.staging()
        with refused("cannot-be-staged"):
            staging.set_attributes("/f", uid=os.geteuid(), from_anybody=True)
        staging.discard()
