"""What lies in a directory, and removing exactly that."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.host import mounts, trees
from datum.host.identity import Actor, acting_as
from datum.host.local import LocalHost
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Below
from tests.unit.host.files import bind, mount_tmpfs, names, needs_root, private_mounts, refused, writing
from tests.unit.host.in_child import NOBODY, in_child

BOB = 1234
ALL = ("/d/a", "/d/l", "/d/p", "/d/s", "/d/s/t", "/d/s/t/c")
LEFTOVER = ".a.datum~.dpkg-tmp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three levels, and what a link in it leads to."""
    found = tmp_path / "d"
    (found / "s/t").mkdir(parents=True)
    (found / "a").touch()
    (found / "s/t/c").touch()
    os.mkfifo(found / "p")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/kept").touch()
    (found / "l").symlink_to("../other")
    return found


def below(root: Path, path: str = "/d", limit: int = 100) -> Below:
    with LocalHost(str(root)) as host:
        return host.reader().below(path, limit=limit)


def test_all_levels_are_named_and_links_are_not_followed(tmp_path: Path, folder: Path) -> None:
    assert below(tmp_path) == Below(ALL)
    assert below(tmp_path, "/d/s/t") == Below(("/d/s/t/c",))
    assert below(tmp_path, "/") == Below(("/d", *ALL, "/other", "/other/kept"))


def test_spelling_is_that_of_the_question(tmp_path: Path) -> None:
    (tmp_path / "usr/lib/x").mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "usr/lib/x/y").touch()
    assert below(tmp_path, "/lib/x") == Below(("/lib/x/y",))


def test_what_is_no_directory_holds_nothing(tmp_path: Path, folder: Path) -> None:
    for path in ("/d/a", "/d/l", "/d/p", "/none", "/none/x", "/d/a/x"):
        assert below(tmp_path, path) == Below()
    with refused("symlink-in-path"):
        below(tmp_path, "/d/l/kept")


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(path)).mkdir()
    os.close(os.open(path + b"/\xff", os.O_CREAT | os.O_WRONLY))
    assert below(tmp_path, "/caf\udce9") == Below(("/caf\udce9/\udcff",))
    with writing(tmp_path) as writer:
        writer.remove_directory("/caf\udce9", takes=("/caf\udce9/\udcff",))
    assert names(tmp_path) == []


def test_more_than_the_limit_is_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert below(tmp_path, limit=6) == Below(ALL)
    with refused("too-many-entries") as found:
        below(tmp_path, limit=5)
    assert "more than 5" in found[0].detail
    assert found[0].discounted
    monkeypatch.setattr(trees, "_DEPTH_LIMIT", 1)
    assert below(tmp_path, "/d/s") == Below(("/d/s/t", "/d/s/t/c"))
    with refused("too-many-entries") as found:
        below(tmp_path)
    assert "more than 1 deep" in found[0].detail


def test_leftovers_of_killed_writes_are_told_apart_and_not_held(tmp_path: Path, folder: Path) -> None:
    """What has two links, and a directory, may be more than that."""
    (folder / LEFTOVER).touch()
    (folder / "s/.l.datum~.dpkg-tmp").symlink_to("x")
    (folder / ".x.datum~.dpkg-tmp").mkdir()
    (folder / ".y.datum~.dpkg-tmp").touch()
    os.link(folder / ".y.datum~.dpkg-tmp", tmp_path / "z")
    with LocalHost(str(tmp_path)) as host:
        assert host.reader().list_directory("/d") == ("a", "l", "p", "s")
    leftovers = (f"/d/{LEFTOVER}", "/d/s/.l.datum~.dpkg-tmp")
    assert below(tmp_path) == Below(("/d/.x.datum~.dpkg-tmp", "/d/.y.datum~.dpkg-tmp", *ALL), leftovers=leftovers)
    (folder / ".x.datum~.dpkg-tmp").rmdir()
    (folder / ".y.datum~.dpkg-tmp").unlink()
    with writing(tmp_path) as writer:
        writer.remove_directory("/d", takes=ALL)
    assert names(tmp_path) == ["other", "z"]


@needs_root
def test_leftover_of_somebody_else_is_listed(tmp_path: Path, folder: Path) -> None:
    (folder / LEFTOVER).touch()
    os.chown(folder / LEFTOVER, BOB, BOB)
    assert below(tmp_path).paths[0] == f"/d/{LEFTOVER}"
    os.chown(folder, BOB, BOB)
    assert below(tmp_path).paths == ALL


@needs_root
def test_mounts_are_named_and_not_entered(tmp_path: Path, folder: Path) -> None:
    def work() -> None:
        private_mounts()
        mount_tmpfs(folder / "s")
        (folder / "s/inside").mkdir()
        mount_tmpfs(folder / "s/inside")
        bind(folder / "a", folder / "p")
        found = below(tmp_path)
        assert found == Below(("/d/a", "/d/l", "/d/p", "/d/s"), ("/d/p", "/d/s"))
        assert below(tmp_path, "/d/s") == Below(("/d/s/inside",), ("/d/s", "/d/s/inside"))
        with writing(tmp_path) as writer:
            for path, takes in (("/d", ALL), ("/d/s", ("/d/s/inside",))):
                with refused("holds-mount") as refusal:
                    writer.remove_directory(path, takes=takes)
                assert refusal[0].failure is FailureCause.BUSY
        assert below(tmp_path) == found

    in_child(work)


@needs_root
def test_mount_that_the_table_does_not_have_yet_is_told_by_its_device(tmp_path: Path, folder: Path) -> None:
    def work() -> None:
        private_mounts()
        with LocalHost(str(tmp_path)) as host:
            reader, writer = host.reader(), host.writer()
            reader.examine("/d")
            writer.examine("/d")
            mount_tmpfs(folder / "s")
            (folder / "s/inside").touch()
            assert reader.below("/d", limit=9).mounts == ("/d/s",)
            with refused("holds-mount"):
                writer.remove_directory("/d", takes=("/d/s/inside", *ALL))
        assert names(folder / "s") == ["inside"]

    in_child(work)


@needs_root
def test_directory_that_an_ordinary_user_cannot_read_is_denied(nobody_root: Path) -> None:
    (nobody_root / "d/s").mkdir(parents=True)
    (nobody_root / "d/s").chmod(0o700)

    def work() -> None:
        for path, where in (("/d", "/d/s"), ("/d/s", "/d/s")):
            with refused() as found:
                below(nobody_root, path)
            assert found[0].cause is Cause.DENIED
            assert f"'{where}'" in found[0].detail

    in_child(work, uid=NOBODY)


def test_error_of_the_system_names_the_directory(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.listdir
    calls: list[object] = []

    def broken(where: int) -> list[str]:
        calls.append(where)
        if len(calls) > 1:
            raise OSError(errno.EIO, "")
        return real(where)

    monkeypatch.setattr(os, "listdir", broken)
    with refused() as found:
        below(tmp_path)
    assert found[0].cause is Cause.IO
    assert "'/d/s'" in found[0].detail


def test_directory_goes_with_exactly_what_was_said(tmp_path: Path, folder: Path) -> None:
    with writing(tmp_path) as writer:
        for takes in (ALL[1:], ALL[:-1], ("/other/kept",)):
            with refused("directory-not-empty"):
                writer.remove_directory("/d", takes=takes)
        with refused("directory-not-empty") as found:
            writer.remove_directory("/d")
        assert "'/d/a', '/d/l', '/d/p' and 3 more" in found[0].detail
        assert below(tmp_path) == Below(ALL)
        (folder / "a").unlink()
        (tmp_path / ".d.datum~.dpkg-tmp").touch()
        writer.remove_directory("/d", takes=ALL)
        assert names(tmp_path) == ["other"]
        writer.remove_directory("/d", takes=ALL)
        writer.remove_directory("/d")
        with refused("missing-directory"):
            writer.remove_directory("/none/d")
    assert names(tmp_path / "other") == ["kept"]


def test_only_a_directory_is_removed_as_one(tmp_path: Path, folder: Path) -> None:
    with writing(tmp_path) as writer:
        for path in ("/d/a", "/d/l", "/d/p"):
            with refused("not-a-directory"):
                writer.remove_directory(path)
        with refused("bad-path"):
            writer.remove_directory("/", takes=("/d",))
    assert names(folder) == ["a", "l", "p", "s"]
    assert names(tmp_path / "other") == ["kept"]


def test_nothing_protected_goes_along(tmp_path: Path, folder: Path) -> None:
    with writing(tmp_path, protected=("/d/s/t",)) as writer, refused("protected-path"):
        writer.remove_directory("/d", takes=ALL)
    assert below(tmp_path) == Below(ALL)


def before(monkeypatch: pytest.MonkeyPatch, call: str, name: str, act: Callable[[], None]) -> None:
    """Let somebody act right before a call on this name, once."""
    real = getattr(os, call)
    done: list[str] = []

    def acting(path: str, *arguments: object, **options: object) -> object:
        if path == name and options.get("dir_fd") is not None and not done:
            done.append(path)
            act()
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, call, acting)


def looked_at_first(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let somebody act between the look and the removal."""
    real = trees.Removal.remove

    def removing(self: trees.Removal, *arguments: object) -> None:
        act()
        real(self, *arguments)  # type: ignore[arg-type] # handed on

    monkeypatch.setattr(trees.Removal, "remove", removing)


@pytest.mark.parametrize("moment", ["looked at", "compared", "opened"])
def test_directory_swapped_for_a_link_leads_nowhere(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Between any two steps: what the link leads to has the same names, and keeps them."""
    (tmp_path / "other/c").touch()

    def swap() -> None:
        (folder / "s/t").rename(tmp_path / "moved")
        (folder / "s/t").symlink_to("../../other")

    match moment:
        case "looked at":
            looked_at_first(monkeypatch, swap)
        case "compared":
            real = os.open
            opened: list[str] = []

            def late(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
                opened.append(path)
                # the look opens it, then the removal does
                if path == "t" and opened.count("t") == 2:
                    swap()
                return real(path, flags, mode, dir_fd=dir_fd)

            monkeypatch.setattr(os, "open", late)
        case _:
            before(monkeypatch, "unlink", "c", swap)
    with writing(tmp_path) as writer, refused("changed-meanwhile") as found:
        writer.remove_directory("/d", takes=ALL)
    assert "'/d/s/t'" in found[0].detail
    assert found[0].failure is FailureCause.BUSY
    assert names(tmp_path / "other") == ["c", "kept"]
    # What had its name in the directory that was looked at went with it, where that was opened before the swap.
    assert names(tmp_path / "moved") == ([] if moment == "opened" else ["c"])


@pytest.mark.parametrize("is_replaced", [True, False])
def test_directory_that_is_gone_or_a_link_before_the_look(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    def swap() -> None:
        folder.rename(tmp_path / "moved")
        if is_replaced:
            folder.symlink_to("other")

    before(monkeypatch, "open", "d", swap)
    with writing(tmp_path) as writer:
        if is_replaced:
            with refused("changed-meanwhile"):
                writer.remove_directory("/d", takes=ALL)
        else:
            writer.remove_directory("/d", takes=ALL)
    assert names(tmp_path / "other") == ["kept"]
    assert names(tmp_path / "moved") == ["a", "l", "p", "s"]


def test_file_that_is_replaced_meanwhile_stays(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace() -> None:
        (folder / "s/t/new").touch()
        (folder / "s/t/new").rename(folder / "s/t/c")

    looked_at_first(monkeypatch, replace)
    with writing(tmp_path) as writer, refused("changed-meanwhile"):
        writer.remove_directory("/d", takes=ALL)
    assert below(tmp_path) == Below(("/d/s", "/d/s/t", "/d/s/t/c"))


@pytest.mark.parametrize(("call", "name"), [("unlink", "c"), ("unlink", "a"), ("rmdir", "t"), ("rmdir", "d")])
def test_what_somebody_removes_meanwhile_is_no_error(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    where = {"c": folder / "s/t/c", "a": folder / "a", "t": folder / "s/t", "d": folder}[name]
    real = getattr(os, call)
    before(monkeypatch, call, name, lambda: real(where))
    with writing(tmp_path) as writer:
        writer.remove_directory("/d", takes=ALL)
    assert names(tmp_path) == ["other"]


def test_what_is_gone_after_the_look_is_no_error(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish() -> None:
        (folder / "a").unlink()
        (folder / "s/t/c").unlink()
        (folder / "s/t").rmdir()

    looked_at_first(monkeypatch, vanish)
    with writing(tmp_path) as writer:
        writer.remove_directory("/d", takes=ALL)
    assert names(tmp_path) == ["other"]


def test_what_arrives_meanwhile_stays_with_its_directories(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at_first(monkeypatch, (folder / "s/t/late").touch)
    with writing(tmp_path) as writer, refused("directory-not-empty") as found:
        writer.remove_directory("/d", takes=ALL)
    assert "'/d/s/t'" in found[0].detail
    assert below(tmp_path) == Below(("/d/s", "/d/s/t", "/d/s/t/late"))


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS])
def test_error_of_the_system_while_it_is_removed_leaves_the_rest(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def broken() -> None:
        raise OSError(code, "")

    before(monkeypatch, "unlink", "p", broken)
    with writing(tmp_path) as writer:
        with refused() as found:
            writer.remove_directory("/d", takes=ALL)
        assert "'/d/p'" in found[0].detail
        assert (found[0].failure is FailureCause.READ_ONLY) == (code == errno.EROFS)
        assert below(tmp_path) == Below(ALL[2:])
        writer.remove_directory("/d", takes=ALL)
    assert names(tmp_path) == ["other"]


def test_mount_that_arrives_meanwhile_is_not_entered(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "rmdir", busy)
    with writing(tmp_path) as writer, refused("holds-mount"):
        writer.remove_directory("/d", takes=ALL)


def test_what_moves_while_it_is_looked_at_is_not_entered(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (folder / "s").rename(tmp_path / "moved")
        (folder / "s").mkdir()
        (folder / "s/x").touch()

    before(monkeypatch, "open", "s", swap)
    assert below(tmp_path) == Below(("/d/a", "/d/l", "/d/p", "/d/s"))


@pytest.mark.parametrize(("code", "is_error"), [(errno.ENOTDIR, False), (errno.EIO, True)])
def test_directory_that_cannot_be_entered_while_it_is_looked_at(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_error: bool
) -> None:
    def broken() -> None:
        raise OSError(code, "")

    before(monkeypatch, "open", "s", broken)
    if is_error:
        with refused() as found:
            below(tmp_path)
        assert "'/d/s'" in found[0].detail
    else:
        assert "/d/s/t" not in below(tmp_path).paths


def test_name_that_vanishes_while_it_is_looked_at(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before(monkeypatch, "stat", "a", (folder / "a").unlink)
    assert below(tmp_path) == Below(ALL[1:])


@needs_root
def test_what_a_user_placed_goes_with_that_user_s_rights(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each directory with those of its owner; what not even the owner can change stays."""
    os.chown(folder, BOB, BOB)
    os.chown(folder / "s", BOB + 1, BOB + 1)
    acted: list[int | None] = []

    def watch(actor: Actor | None) -> object:
        acted.append(actor.uid if actor else None)
        return acting_as(actor)

    monkeypatch.setattr(trees, "acting_as", watch)
    (folder / "s/t").chmod(0o555)
    os.chown(folder / "s/t", BOB, BOB)
    with writing(tmp_path) as writer:
        with refused() as found:
            writer.remove_directory("/d", takes=ALL)
        assert found[0].cause is Cause.DENIED
        assert "chmod u+rwx /d/s/t" in found[0].diagnostics[0].hint
        acted.clear()
        (folder / "s/t").chmod(0o755)
        writer.remove_directory("/d", takes=ALL)
    # c of t, t of s, s of d, d of the root
    assert acted == [BOB, BOB + 1, BOB, None]
    assert names(tmp_path) == ["other"]


@needs_root
def test_immutable_entry_gives_the_command(tmp_path: Path, folder: Path) -> None:
    if subprocess.run(["chattr", "+i", folder / "s/t/c"], check=False).returncode:
        pytest.skip("chattr is not to be had on this file system")
    try:
        with writing(tmp_path) as writer, refused() as found:
            writer.remove_directory("/d", takes=ALL)
        assert "chattr -i /d/s/t/c" in found[0].diagnostics[0].hint
    finally:
        subprocess.run(["chattr", "-i", folder / "s/t/c"], check=True)


def test_a_slow_mount_is_looked_at_by_a_child(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = b"20 1 8:1 / / rw - nfs server:/x rw\n"
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: table)
    asked: list[int] = []
    real = os.fork

    def fork() -> int:
        pid = real()
        asked.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", fork)
    assert below(tmp_path).paths == ALL
    assert len(asked) == 1
