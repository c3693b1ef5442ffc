"""The way to a path."""

import errno
import os
from pathlib import Path

import pytest

from datum.host.walk import Folder, Walker
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError
from tests.unit.host.files import needs_root, refused


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def walker(tmp_path: Path) -> "Walker":
    return Walker.start(str(tmp_path), os.geteuid())


def test_folders_are_kept_open_up_to_a_bound(tmp_path: Path, walker: Walker) -> None:
    before = open_files()
    for number in range(50):
        (tmp_path / f"d{number:02}").mkdir()
        assert isinstance(walker.folder(f"/d{number:02}"), Folder)
    assert open_files() - before == 32
    assert walker.folder("/d49") is walker.folder("/d49")
    walker.forget()
    assert open_files() == before
    walker.close()
    assert open_files() == before - 1


def test_a_folder_that_is_opened_and_tells_nothing_is_said_and_closed(
    tmp_path: Path, walker: Walker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program shows to one user alone (FUSE) answers even root so."""
    (tmp_path / "private").mkdir()

    def deny(_fd: int) -> os.stat_result:
        raise PermissionError(errno.EACCES, "denied")

    before = open_files()
    with monkeypatch.context() as patch, pytest.raises(HostError, match="Cannot look at '/private'") as raised:
        patch.setattr(os, "fstat", deny)
        walker.folder("/private/x")
    assert (raised.value.cause, open_files()) == (Cause.DENIED, before)


def test_topmost_missing_component_is_named(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/file").touch()
    assert walker.folder("/etc/a/b/c") == "/etc/a"
    assert walker.folder("/etc/a") == "/etc/a"
    assert walker.folder("/etc/file/b/c") == "/etc/file"


@pytest.mark.parametrize("text", ["/run", "../run"])
def test_missing_component_is_named_in_the_spelling_asked_for(tmp_path: Path, walker: Walker, text: str) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "run/here").mkdir(parents=True)
    (tmp_path / "var/run").symlink_to(text)
    assert walker.folder("/var/run/a/b") == "/var/run/a"
    assert walker.folder("/var/run/here/b/c") == "/var/run/here/b"
    found = walker.folder("/var/run/here")
    assert isinstance(found, Folder)
    assert found.path == "/run/here"
    assert walker.folder("/var/run/here") is found


@pytest.mark.parametrize(
    ("link", "text", "normal"),
    [
        ("/lib", "usr/lib", "/usr/lib/x"),
        ("/lib", "/usr/lib", "/usr/lib/x"),
        ("/bin", "usr/sbin", "/bin/x"),
        ("/lib64", "elsewhere", "/lib64/x"),
        ("/var/lock", "/run/lock", "/run/lock/x"),
    ],
)
def test_only_links_as_distributions_ship_them_are_normalised(
    tmp_path: Path, walker: Walker, link: str, text: str, normal: str
) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / link[1:]).symlink_to(text)
    assert walker.normal(f"{link}/x") == normal
    assert walker.normal(link) == link
    assert walker.normal(f"{link}x/y") == f"{link}x/y"


@needs_root
def test_link_of_another_user_is_not_normalised(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "lib").symlink_to("usr/lib")
    os.lchown(tmp_path / "lib", 1234, 1234)
    assert walker.normal("/lib/x") == "/lib/x"


def test_link_below_a_missing_directory_is_not_normalised(walker: Walker) -> None:
    assert walker.normal("/var/run/x") == "/var/run/x"


def test_link_on_the_way_is_named(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/link").symlink_to("/elsewhere")
    for ask in (walker.folder, walker.trail):
        with refused("symlink-in-path") as found:
            ask("/etc/link/a/b")
        assert found[0].cause is Cause.LOOP
        assert "'/etc/link' is a symbolic link (to '/elsewhere')" in found[0].detail


def test_parent_of_the_root_is_out_of_reach(walker: Walker) -> None:
    for path in ("/..", "/../etc", "/./x"):
        with refused("bad-path"):
            walker.folder(path)
    for path in ("relative", "/a/../b", "/a//b", "/a/", "/nul\0"):
        with refused("bad-path"):
            walker.trail(path)


def test_root_must_be_a_directory(tmp_path: Path) -> None:
    with refused() as found:
        Walker.start(str(tmp_path / "none"), 0)
    assert "none" in found[0].detail


def test_trail_says_what_is_missing_or_in_the_way(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "file").touch()
    before = open_files()
    with refused("missing-directory"):
        walker.trail("/a/b")
    with refused("not-a-directory"):
        walker.trail("/file/b")
    assert open_files() == before


def test_every_folder_of_a_trail_is_open_until_its_end(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    before = open_files()
    with walker.trail("/a/b/c") as trail:
        assert [folder.path for folder in trail.folders] == ["/", "/a", "/a/b"]
        assert (trail.name, trail.normal, trail.path) == ("c", "/a/b/c", "/a/b/c")
    assert open_files() == before


def check(walker: Walker, path: str, *, owner: int = 0, shared: dict[str, int] | None = None) -> None:
    with walker.trail(path) as trail:
        trail.check(owner, 0, (shared or {}).get)


@needs_root
def test_every_folder_must_belong_to_root_or_the_owner(tmp_path: Path, walker: Walker) -> None:
    (tmp_path / "home/bob/x").mkdir(parents=True)
    os.chown(tmp_path / "home/bob", 1234, 1234)
    check(walker, "/home/bob/x/y", owner=1234)
    with refused("unsafe-path") as found:
        check(walker, "/home/bob/x/y", owner=0)
    assert "'/home/bob'" in found[0].detail
    assert found[0].cause is Cause.UNSAFE_PATH
    with refused("unsafe-path"):
        check(walker, "/home/bob/x/y", owner=1235)


@needs_root
def test_root_may_not_belong_to_the_resource_s_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, 1234, 1234)
    with refused("unsafe-path"):
        check(Walker.start(str(tmp_path), 0), "/x", owner=1234)


@needs_root
def test_folder_that_others_can_write_is_refused_unless_sticky_or_declared(tmp_path: Path, walker: Walker) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for mode, code in ((0o755, ""), (0o775, "unsafe-path"), (0o757, "unsafe-path"), (0o1777, ""), (0o1775, "")):
        folder.chmod(mode)
        if code:
            with refused(code) as found:
                check(walker, "/d/x")
            assert "'/d'" in found[0].detail
        else:
            check(walker, "/d/x")
    folder.chmod(0o2775)
    os.chown(folder, 0, 50)
    check(walker, "/d/x", shared={"/d": 50})
    with refused("unsafe-path"):
        check(walker, "/d/x", shared={"/d": 51})


def test_error_of_the_system_below_an_exposed_folder_is_discounted(
    tmp_path: Path, walker: Walker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    real = os.open

    def broken(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "bad":
            raise OSError(errno.EIO, "")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", broken)
    for path, discounted in (("/tmp/bad/x", True), ("/bad/x", False)):
        with refused() as found:
            walker.folder(path)
        assert (found[0].cause, found[0].discounted) == (Cause.IO, discounted)
        assert found[0].failure is FailureCause.OTHER


def test_what_vanishes_or_cannot_be_looked_at_meanwhile(
    tmp_path: Path, walker: Walker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A component that cannot be looked at is no link, and the system's word is kept."""
    (tmp_path / "file").touch()

    def broken(*_: object, **__: object) -> os.stat_result:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(os, "stat", broken)
    with refused() as found:
        walker.trail("/file/x")
    assert found[0].cause is Cause.IO
    assert walker.folder("/file/x") == "/file"


def test_link_that_vanishes_is_still_refused(tmp_path: Path, walker: Walker, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("x")

    def broken(*_: object, **__: object) -> str:
        raise OSError(errno.ENOENT, "")

    monkeypatch.setattr(os, "readlink", broken)
    with pytest.raises(HostError, match=r"to '\?'"):
        walker.folder("/link")
