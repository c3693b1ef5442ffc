"""Files, links and directories that take their place, and what gives way to them."""

import errno
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.host import atomic, mounts, renames
from datum.host.atomic import prepare_candidate, prepare_directory, prepare_link, put, wanted_attributes
from datum.host.candidates import Candidate
from datum.host.place import Place
from datum.host.writer import LocalWriter
from datum.model.content import Content
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileWrite, LinkWrite
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
    writing,
)
from tests.unit.host.in_child import in_child

BOB = 1234
RESIDUE = ".x.datum~.dpkg-tmp"
KINDS = ("regular", "link", "fifo", "directory", "full directory")
TAKES = ("/x/a", "/x/sub", "/x/sub/b")


def make(path: Path, kind: str) -> None:
    match kind:
        case "regular":
            path.write_bytes(b"old")
        case "link":
            path.symlink_to("old")
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            (path / "sub").mkdir(parents=True)
            (path / "a").write_bytes(b"a")
            (path / "sub/b").symlink_to("/etc/passwd")


def kind_of(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return "full directory" if names(path) else "directory"
    return "link" if stat.S_ISLNK(mode) else "fifo" if stat.S_ISFIFO(mode) else "regular"


def write(writer: LocalWriter, kind: str, takes: tuple[str, ...] | None) -> None:
    match kind:
        case "regular":
            writer.write_file("/x", file_of(b"new", takes=takes))
        case "link":
            writer.write_link("/x", LinkWrite("new", takes=takes))
        case _:
            writer.make_directory("/x", DirectoryWrite(replaces=takes is not None))


def is_new(path: Path, kind: str) -> bool:
    if kind == "regular":
        return path.is_file() and path.read_bytes() == b"new"
    return str(path.readlink()) == "new" if kind == "link" else path.is_dir() and not names(path)


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize("kind", ["regular", "link", "directory"])
@pytest.mark.parametrize("can_exchange", [True, False])
def test_every_kind_gives_way_to_every_other_when_it_may_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, kind: str, can_exchange: bool
) -> None:
    """And where names cannot be exchanged, the result says that there was a moment with nothing in it."""
    if not can_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    make(tmp_path / "x", there)
    is_directory = "directory" in there
    with writing(tmp_path) as writer:
        if kind == there:
            if kind == "directory":
                with refused("kind-in-the-way"):
                    write(writer, kind, ())
                return
            write(writer, kind, None)
        else:
            with refused("kind-in-the-way") as found:
                write(writer, kind, None)
            assert "mv /x" in found[0].diagnostics[0].hint
            assert kind_of(tmp_path / "x") == there
            if is_directory and kind == "directory":
                return
            write(writer, kind, TAKES)
        is_crossing = is_directory != (kind == "directory")
        assert writer.remarks == (["not_atomic"] if is_crossing and not can_exchange else [])
    assert is_new(tmp_path / "x", kind)
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_directory_that_holds_more_than_may_go_stays_with_all_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    make(tmp_path / "x", "full directory")
    with writing(tmp_path) as writer:
        for takes in ((), ("/x/a", "/x/sub"), ("/x/sub/b", "/x/a", "/y")):
            for kind in ("regular", "link"):
                with refused("directory-not-empty") as found:
                    write(writer, kind, takes)
                assert "'/x/sub" in found[0].detail
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["a", "sub"]
    assert names(tmp_path / "x/sub") == ["b"]


def arriving(monkeypatch: pytest.MonkeyPatch, module: object, call: str, arrive: Callable[[], None]) -> None:
    """Let something happen right before a call, once."""
    real = getattr(module, call)
    done: list[bool] = []

    def late(*arguments: object, **options: object) -> object:
        if not done:
            done.append(True)
            arrive()
        return real(*arguments, **options)

    monkeypatch.setattr(module, call, late)


def test_what_arrives_before_the_exchange_is_put_back_with_all_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "x", "full directory")
    arriving(monkeypatch, atomic, "exchange", (tmp_path / "x/late").touch)
    with writing(tmp_path) as writer, refused("directory-not-empty") as found:
        write(writer, "regular", TAKES)
    assert "'/x/late'" in found[0].detail
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["a", "late", "sub"]


def test_what_arrives_while_the_old_directory_is_removed_is_left_beside_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "x", "full directory")
    arriving(monkeypatch, os, "rmdir", (tmp_path / RESIDUE / "sub/late").touch)
    with writing(tmp_path) as writer:
        with refused("directory-not-empty") as found:
            write(writer, "regular", TAKES)
        assert f"'/{RESIDUE}/sub'" in found[0].detail
        assert names(tmp_path) == [RESIDUE, "x"]
        assert is_new(tmp_path / "x", "regular")
        assert names(tmp_path / RESIDUE) == ["sub"]
        assert names(tmp_path / RESIDUE / "sub") == ["late"]
        writer.remove_residue("/x")
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("there", ["regular", "full directory"])
def test_what_is_replaced_by_something_else_right_before_the_exchange_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    make(tmp_path / "x", there)

    def swap() -> None:
        (tmp_path / "x").rename(tmp_path / "moved")
        (tmp_path / "x").symlink_to("/etc")

    arriving(monkeypatch, atomic, "exchange", swap)
    with writing(tmp_path) as writer, refused("changed-meanwhile") as found:
        write(writer, "directory" if there == "regular" else "regular", TAKES)
    assert found[0].failure is FailureCause.BUSY
    assert str((tmp_path / "x").readlink()) == "/etc"
    assert names(tmp_path) == ["moved", "x"]
    assert kind_of(tmp_path / "moved") == there


def test_link_that_arrives_right_before_the_rename_does_not_give_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "x", "regular")

    def swap() -> None:
        (tmp_path / "x").unlink()
        (tmp_path / "x").symlink_to("elsewhere")

    arriving(monkeypatch, os, "link", swap)
    with writing(tmp_path) as writer, refused("kind-in-the-way"):
        write(writer, "regular", None)
    assert str((tmp_path / "x").readlink()) == "elsewhere"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("is_known", [True, False])
def test_new_directory_takes_no_name_that_somebody_else_got_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """Also where the kernel or file system does not know a rename that never replaces."""
    if not is_known:
        without_renameat2(monkeypatch)
    arriving(monkeypatch, renames, "_rename", (tmp_path / "x").mkdir)
    with writing(tmp_path) as writer:
        with refused("kind-in-the-way"):
            write(writer, "directory", None)
        (tmp_path / "x/mine").touch()
        (tmp_path / "y").mkdir()
        writer.make_directory("/y/z", DirectoryWrite())
    assert names(tmp_path) == ["x", "y"]
    assert names(tmp_path / "x") == ["mine"]
    assert names(tmp_path / "y") == ["z"]


def without_renameat2(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(renames, "_rename", unknown)


def test_exchange_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    make(tmp_path / "x", "full directory")
    monkeypatch.setattr(renames, "_rename", broken)
    with writing(tmp_path) as writer:
        for kind, takes in (("regular", TAKES), ("link", TAKES)):
            with refused():
                write(writer, kind, takes)
    assert kind_of(tmp_path / "x") == "full directory"
    assert names(tmp_path) == ["x"]


def test_old_thing_that_cannot_be_put_back_is_named_and_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "x", "full directory")
    real = renames.exchange
    calls: list[str] = []

    def once(place: Place, name: str) -> bool:
        calls.append(name)
        if len(calls) > 1:
            return False
        (tmp_path / "x/late").touch()
        return real(place, name)

    monkeypatch.setattr(atomic, "exchange", once)
    with writing(tmp_path) as writer, refused() as found:
        write(writer, "regular", TAKES)
    assert RESIDUE in found[0].detail
    assert names(tmp_path / RESIDUE) == ["a", "late", "sub"]
    assert is_new(tmp_path / "x", "regular")


@needs_root
def test_nothing_gives_way_in_which_something_is_mounted(tmp_path: Path) -> None:
    def work() -> None:
        private_mounts()
        make(tmp_path / "x", "full directory")
        (tmp_path / "m").mkdir()
        (tmp_path / "f").touch()
        bind(tmp_path / "f", tmp_path / "x/a")
        mount_tmpfs(tmp_path / "m", "mode=755")
        with writing(tmp_path) as writer:
            with refused("holds-mount") as found:
                write(writer, "regular", TAKES)
            assert "umount /x/a" in found[0].diagnostics[0].hint
            assert found[0].failure is FailureCause.BUSY
            with refused("holds-mount"):
                writer.write_file("/m", file_of(b"new", takes=()))
            bind(tmp_path / "f", tmp_path / "f")
            with refused() as found:
                writer.make_directory("/f", DirectoryWrite(replaces=True))
            assert found[0].failure is FailureCause.BUSY
            with refused() as found:
                writer.write_link("/f", LinkWrite("new", takes=()))
            assert "umount /f" in found[0].diagnostics[0].hint
        assert names(tmp_path) == ["f", "m", "x"]
        assert names(tmp_path / "x") == ["a", "sub"]

    in_child(work)


@needs_root
def test_link_has_its_owner_and_a_leftover_in_its_way_goes(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    for left in ("regular", "link", "directory", "full directory"):
        make(tmp_path / RESIDUE, left)
        with writing(tmp_path) as writer:
            writer.write_link("/x", LinkWrite("old", uid=BOB, gid=55))
        assert names(tmp_path) == ["old", "x"]
    status = (tmp_path / "x").lstat()
    assert (status.st_uid, status.st_gid) == (BOB, 55)
    assert (tmp_path / "old").stat().st_uid == 0
    with writing(tmp_path) as writer:
        writer.write_link("/x", LinkWrite("gone/nowhere"))
    status = (tmp_path / "x").lstat()
    assert (str((tmp_path / "x").readlink()), status.st_uid) == ("gone/nowhere", 0)


def test_file_system_without_owners_and_modes_is_not_asked_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = b"20 1 8:1 / / rw - vfat /dev/x rw\n"
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: table)

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "")

    monkeypatch.setattr(os, "chown", broken)
    monkeypatch.setattr(os, "fchmod", broken)
    with writing(tmp_path) as writer:
        writer.write_link("/l", LinkWrite("t", uid=77))
        writer.make_directory("/d", DirectoryWrite("0700", uid=77))
    assert names(tmp_path) == ["d", "l"]


def test_a_new_directory_on_the_way_to_what_is_protected_takes_nothing_from_it(tmp_path: Path) -> None:
    with writing(tmp_path, protected=("/etc/datum",)) as writer:
        writer.make_directory("/etc", DirectoryWrite())
        for change in changes(
            lambda: writer.make_directory("/etc/datum", DirectoryWrite()),
            lambda: writer.write_link("/etc/datum", LinkWrite("x")),
            lambda: writer.write_file("/etc", file_of(b"x", takes=())),
            lambda: writer.remove_directory("/etc"),
        ):
            with refused("protected-path"):
                change()
    assert names(tmp_path) == ["etc"]


@needs_root
@pytest.mark.parametrize("mode", ["0700", "2775", "1777", "3770", "0500", None])
def test_directory_is_complete_when_it_gets_its_name(tmp_path: Path, mode: str | None) -> None:
    """Whatever umask, setgid folder and default access control list say."""
    tmp_path.chmod(0o2755)
    os.chown(tmp_path, 0, 77)
    os.setxattr(tmp_path, "system.posix_acl_default", acl_for(BOB))
    before = os.umask(0o077)
    try:
        with writing(tmp_path) as writer:
            writer.make_directory("/x", DirectoryWrite(mode, uid=BOB, gid=55))
    finally:
        os.umask(before)
    status = (tmp_path / "x").stat()
    assert (f"{stat.S_IMODE(status.st_mode):04o}", status.st_uid, status.st_gid) == (mode or "0755", BOB, 55)
    assert "system.posix_acl_default" in os.listxattr(tmp_path / "x")


@pytest.mark.parametrize("kind", ["regular", "link", "directory"])
@pytest.mark.parametrize("call", ["fsync", "link", "rename", "symlink", "mkdir", "chown", "fchmod"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_every_failure_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, call: str, code: int
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(code, "")

    if kind == "directory" and call == "rename":
        call = "_rename"
        monkeypatch.setattr(renames, call, broken)
    else:
        monkeypatch.setattr(os, call, broken)
    applies = {
        "regular": {"fsync", "link", "rename", "fchmod"},
        "link": {"fsync", "rename", "symlink"},
        "directory": {"fsync", "_rename", "mkdir", "fchmod"},
    }
    with writing(tmp_path) as writer:
        if call in applies[kind]:
            with refused() as found:
                write(writer, kind, None)
            assert (found[0].failure is FailureCause.NO_SPACE) == (code == errno.ENOSPC)
        else:
            write(writer, kind, None)
    # the folder could not be synced after the rename: whether the new is durable nobody knows, but it is there
    is_put = call not in applies[kind] or (call == "fsync" and kind == "link")
    assert names(tmp_path) == (["x"] if is_put else [])


@needs_root
def test_in_a_user_s_directory_links_and_directories_are_made_with_that_user_s_rights(tmp_path: Path) -> None:
    home = tmp_path / "home/bob"
    home.mkdir(parents=True)
    os.chown(home, BOB, BOB)
    with writing(tmp_path) as writer:
        writer.write_link("/home/bob/l", LinkWrite("x", uid=BOB, gid=78))
        writer.make_directory("/home/bob/d", DirectoryWrite("0750", uid=BOB, gid=78))
        for name in ("l", "d"):
            status = (home / name).lstat()
            assert (status.st_uid, status.st_gid) == (BOB, 78)
        with refused("unsafe-path"):
            writer.write_link("/home/bob/l2", LinkWrite("x"))
        with refused("unsafe-path"):
            writer.make_directory("/home/bob/d2", DirectoryWrite(uid=0))
    assert names(home) == ["d", "l"]


@needs_root
@pytest.mark.parametrize("kind", ["link", "directory"])
def test_what_somebody_swaps_in_under_the_name_of_the_new_gets_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """In a user's directory that user could put a link to a file of root's there before it is given away."""
    home = tmp_path / "home/bob"
    home.mkdir(parents=True)
    os.chown(home, BOB, BOB)
    residue = home / RESIDUE
    real = os.open

    def swapping(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == RESIDUE and not os.path.lexists(home / "mine"):
            residue.rename(home / "mine")
            if kind == "link":
                (tmp_path / "roots").touch()
                os.link(tmp_path / "roots", residue)
            else:
                residue.mkdir()
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    with writing(tmp_path) as writer, refused("unsafe-path") as found:
        if kind == "link":
            writer.write_link("/home/bob/x", LinkWrite("t", uid=BOB))
        else:
            writer.make_directory("/home/bob/x", DirectoryWrite(uid=BOB))
    assert "somebody else" in found[0].detail
    other = tmp_path / "roots" if kind == "link" else home / "mine"
    assert other.lstat().st_uid == (0 if kind == "link" else BOB)


def prepared(writer: LocalWriter, place: Place, data: bytes = b"new") -> Candidate:
    content = Content.from_bytes(data)
    attributes = wanted_attributes(place, FileWrite(content, mode="0640"))
    return prepare_candidate(place, io.BytesIO(data), content, attributes, writer.remark)


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_candidates_are_prepared_before_their_directories_stand_and_put_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool
) -> None:
    if not has_unnamed:
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    (tmp_path / "d").touch()
    coming = ("/d", "/d/e")
    paths = ("/d/f", "/d/e/g", "/h")
    with writing(tmp_path) as writer:
        with writer.changing("/d", takes_name=True, coming=coming) as place:
            folder = prepare_directory(place, DirectoryWrite())
        with writer.changing("/d/e", takes_name=True, coming=coming) as place:
            assert (place.existing, place.trail.normal, place.trail.coming) == (None, "/d/e", ("d",))
            inner = prepare_directory(place, DirectoryWrite())
            link = prepare_link(place, LinkWrite("t"))
        candidates = []
        for path in paths:
            with writer.changing(path, takes_name=True, coming=coming) as place:
                candidates.append(prepared(writer, place))
        assert names(tmp_path) == (["d"] if has_unnamed else [".h.datum~.dpkg-tmp", "d"])
        order = (("/d", folder), ("/d/e", inner), ("/d/l", link), *zip(paths, candidates, strict=True))
        for path, candidate in order:
            with writer.changing(path, takes_name=True) as place:
                put(place, candidate, (), writer.remark)
            candidate.discard()
            candidate.discard()
        assert writer.remarks == []
        with refused("missing-directory"):
            writer.changing("/k/f", takes_name=True, coming=coming).__enter__()
    assert names(tmp_path) == ["d", "h"]
    assert names(tmp_path / "d") == ["e", "f", "l"]
    for path in paths:
        assert (tmp_path / path[1:]).read_bytes() == b"new"
        assert stat.S_IMODE((tmp_path / path[1:]).stat().st_mode) == 0o640


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_candidate_that_is_discarded_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool
) -> None:
    if not has_unnamed:
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    before = len(names(Path("/proc/self/fd")))
    with writing(tmp_path) as writer:
        with writer.changing("/x", takes_name=True) as place:
            candidate = prepared(writer, place)
        candidate.discard()
        with writer.changing("/x", takes_name=True) as place:
            candidate = prepared(writer, place)
            candidate.stand_beside(place)
            assert candidate.stand_beside(place) == RESIDUE
            assert names(tmp_path) == [RESIDUE]
        candidate.discard()
    assert names(tmp_path) == []
    assert len(names(Path("/proc/self/fd"))) == before


@needs_root
def test_candidate_is_copied_where_it_cannot_be_linked(tmp_path: Path) -> None:
    """A file system that was mounted after it was prepared."""

    def work() -> None:
        private_mounts()
        (tmp_path / "d").mkdir()
        with writing(tmp_path) as writer:
            with writer.changing("/d/f", takes_name=True) as place:
                candidate = prepared(writer, place, b"n" * 3_000_000)
            mount_tmpfs(tmp_path / "d", "mode=755,size=8m")
        with writing(tmp_path) as writer, writer.changing("/d/f", takes_name=True) as place:
            put(place, candidate, None, writer.remark)
            candidate.discard()
        assert (tmp_path / "d/f").read_bytes() == b"n" * 3_000_000
        assert names(tmp_path / "d") == ["f"]

        with writing(tmp_path) as writer, writer.changing("/f", takes_name=True) as place:
            candidate = prepared(writer, place, b"n" * 9_000_000)
        with writing(tmp_path) as writer, writer.changing("/d/f", takes_name=True) as place:
            with refused() as found:
                put(place, candidate, None, writer.remark)
            candidate.discard()
        assert found[0].failure is FailureCause.NO_SPACE
        assert (tmp_path / "d/f").read_bytes() == b"n" * 3_000_000
        assert names(tmp_path / "d") == ["f"]

    in_child(work)


def test_no_file_is_ever_whole_in_memory(tmp_path: Path) -> None:
    """A stream that gives what it is asked for, and would give it all."""
    asked: list[int] = []

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(size)

    data = b"x" * 5_000_000
    with writing(tmp_path, open_content=lambda _: Stream(data)) as writer:
        writer.write_file("/x", FileWrite(Content(Content.from_bytes(data).blob)))
    assert (tmp_path / "x").stat().st_size == len(data)
    assert len(asked) > 4
    assert all(0 < size <= 1 << 20 for size in asked)
