"""Private namespaces: each step, in a child, as root and as an ordinary user."""

import errno
import os
from pathlib import Path

import pytest

from datum.host import namespaces
from tests.unit.host.in_child import NOBODY, in_child, names


def refusal(path: str) -> str | None:
    """Return the name of the error that a new file at a path meets."""
    try:
        Path(path).touch()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return None


def test_enclosed_everything_but_the_working_directory_is_read_only(enclosing: None, tmp_path: Path) -> None:
    def look() -> tuple[object, ...]:
        table = namespaces.enclose("/", is_offline=False)
        return (refusal("here"), str(Path.cwd()), *map(refusal, (f"{tmp_path}/x", "/dev/shm/x")), "/" in table.mounts)

    assert in_child(look) == (None, namespaces.WORKSPACE, "EROFS", "EROFS", True)


def test_an_ordinary_user_is_enclosed_below_its_root(enclosing_nobody: None, nobody_root: Path) -> None:
    for name in ("dev", "proc", "etc"):
        (nobody_root / name).mkdir()
        os.chown(nobody_root / name, NOBODY, NOBODY)

    def look() -> tuple[object, ...]:
        namespaces.enclose(str(nobody_root), is_offline=True)
        devices = names("/dev")
        before = refusal("/etc/x")
        namespaces.throw_away("/etc", "0", ())
        return os.geteuid(), os.getegid(), devices, before, refusal("/etc/x"), Path("/proc/self/stat").exists()

    devices = ["full", "null", "random", "urandom", "zero"]
    assert in_child(look, uid=NOBODY) == (0, 0, devices, "EROFS", None, True)
    assert names(nobody_root / "etc") == names(nobody_root / "dev") == []


def test_an_ordinary_user_keeps_its_ids_when_asked_to(enclosing_nobody: None) -> None:
    def look() -> tuple[int, int]:
        namespaces.enter(is_offline=False, inside_uid=NOBODY)
        return os.geteuid(), os.getegid()

    assert in_child(look, uid=NOBODY) == (NOBODY, NOBODY)


def test_devices_that_a_root_has_are_left_as_they_are(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/null").write_text("own")
    (tmp_path / "proc/self").mkdir(parents=True)

    def look() -> tuple[str, list[str]]:
        namespaces.enclose(str(tmp_path), is_offline=False)
        return Path("/dev/null").read_text(), names("/proc")

    assert in_child(look) == ("own", ["self"])


def test_a_root_may_have_neither_dev_nor_proc_nor_may_they_be_links(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "dev").symlink_to("/dev")

    def look() -> list[str]:
        namespaces.enclose(str(tmp_path), is_offline=False)
        return names("/")

    assert in_child(look) == ["dev"]


def test_an_overlay_keeps_mode_and_owner_of_the_directory_and_what_is_mounted_below(
    enclosing_root: None, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").write_text("lower")
    tmp_path.chmod(0o1770)
    os.chown(tmp_path, 11, 22)

    def look() -> tuple[object, ...]:
        namespaces.enter(is_offline=False, inside_uid=0)
        namespaces.mount("none", str(tmp_path / "sub"), "tmpfs")
        (tmp_path / "sub/inner").write_text("mounted")
        table = namespaces.enclose("/", is_offline=False)
        namespaces.throw_away(str(tmp_path), "0", table.below(str(tmp_path)))
        facts = tmp_path.stat()
        (tmp_path / "file").write_text("upper")
        return (
            oct(facts.st_mode),
            facts.st_uid,
            facts.st_gid,
            (tmp_path / "sub/inner").read_text(),
            refusal(f"{tmp_path}/sub/x"),
        )

    assert in_child(look) == ("0o41770", 11, 22, "mounted", "EROFS")
    assert (tmp_path / "file").read_text() == "lower"


def test_an_overlay_over_the_root_becomes_the_root(enclosing_root: None) -> None:
    def look() -> tuple[object, ...]:
        table = namespaces.enclose("/", is_offline=False)
        namespaces.throw_away("/", "0", table.below("/"))
        return (
            refusal("/datum-test"),
            Path("/proc/self/stat").exists(),
            Path("/dev/null").exists(),
            refusal("/dev/shm/x"),
        )

    assert in_child(look) == (None, True, True, "EROFS")
    assert not Path("/datum-test").exists()


def test_a_question_gets_throw_away_scratch(enclosing: None, tmp_path: Path) -> None:
    def look() -> tuple[object, ...]:
        namespaces.only_read("/", "/etc")
        return str(Path.cwd()), refusal("/tmp/datum-test"), refusal("/var/tmp/datum-test"), refusal("/etc/datum-test")

    assert in_child(look) == ("/etc", None, None, "EROFS")
    assert not Path("/tmp/datum-test").exists()

    (tmp_path / "tmp").mkdir()

    def below() -> tuple[object, ...]:
        namespaces.only_read(str(tmp_path), "/")
        return refusal("/tmp/x"), refusal("/x")

    assert in_child(below) == (None, "EROFS")


def test_an_ordinary_user_changes_its_root(enclosing_nobody: None, nobody_root: Path) -> None:
    (nobody_root / "inside").mkdir()

    def look() -> tuple[object, ...]:
        namespaces.change_root(str(nobody_root), "/inside")
        return os.geteuid(), str(Path.cwd()), names("/")

    assert in_child(look, uid=NOBODY) == (0, "/inside", ["inside"])


def test_a_refused_call_is_named(enclosing: None) -> None:
    def no_place() -> None:
        namespaces.enter(is_offline=False, inside_uid=0)
        namespaces.mount("none", "/no/where", "tmpfs")

    with pytest.raises(FileNotFoundError, match="mount tmpfs on /no/where: No such file or directory"):
        in_child(no_place)


def test_a_refused_map_is_named(enclosing_nobody: None) -> None:
    with pytest.raises(OSError, match="write /proc/self/uid_map: "):
        in_child(lambda: namespaces.enter(is_offline=False, inside_uid=-2), uid=NOBODY)


def test_only_a_directory_itself_is_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(".")
    (tmp_path / "file").touch()
    found = [namespaces.is_directory(f"{tmp_path}/{name}") for name in (".", "link", "file", "gone")]
    assert found == [True, False, False, False]


def test_an_overlay_that_keeps_no_notes_will_do(
    enclosing: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").touch()
    monkeypatch.setattr(namespaces, "_own_attributes", lambda _: "no_such_option=on")

    def look() -> list[str]:
        namespaces.enclose("/", is_offline=False)
        namespaces.throw_away(str(tmp_path), "0", ())
        (tmp_path / "new").touch()
        return names(tmp_path)

    assert in_child(look) == ["new", "old"]
    assert names(tmp_path) == ["old"]
