"""Looking below a root."""

import errno
import hashlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from datum.host import look, mounts
from datum.host.local import LocalHost, LocalReader
from datum.host.residue import residue_name
from datum.model.content import blob_id
from datum.model.observation import Cause, Scope
from datum.provider.host import Command, FileFacts, FileKind, Missing
from tests.unit.host.files import bind, file_of, mount_tmpfs, names, needs_root, private_mounts, refused, writing
from tests.unit.host.in_child import NOBODY, in_child

BIG = b"line\n" * 500_000


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[LocalReader]:
    with LocalHost(str(tmp_path)) as host:
        yield host.reader()


def facts(reader: LocalReader, path: str, *, blob: str = "") -> FileFacts:
    found = reader.examine(path, blob=blob)
    assert isinstance(found, FileFacts)
    return found


@pytest.mark.parametrize("data", [b"", b"hello\n", BIG, b"x" * (1 << 20), b"x" * ((1 << 20) - 1)])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_blob_is_the_id_that_git_gives(tmp_path: Path, reader: LocalReader, data: bytes, algorithm: str) -> None:
    (tmp_path / "f").write_bytes(data)
    (tmp_path / "f").chmod(0o4711)
    found = facts(reader, "/f", blob=algorithm)
    assert found.blob == blob_id(data, algorithm)
    assert found.size == len(data)
    assert (found.kind, found.mode, found.links) == (FileKind.REGULAR, "4711", 1)
    assert (found.uid, found.gid) == (os.geteuid(), os.getegid())
    assert not found.has_residue
    assert not found.is_mount_point
    assert found.without == frozenset()
    assert facts(reader, "/f").blob == ""


def test_every_kind_is_told_and_none_but_files_is_opened(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "p")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tmp_path, os.O_PATH)
        listening.bind(f"/proc/self/fd/{here}/s")
        os.close(here)
        kinds = {name: facts(reader, f"/{name}", blob="sha1").kind for name in "dlps"}
    assert kinds == {"d": FileKind.DIRECTORY, "l": FileKind.SYMLINK, "p": FileKind.FIFO, "s": FileKind.SOCKET}
    assert facts(reader, "/").kind is FileKind.DIRECTORY
    assert {name: facts(reader, f"/{name}").link for name in "dlps"} == {"d": "", "l": "/nowhere", "p": "", "s": ""}


def test_text_of_a_link_and_the_time_of_a_file_are_told(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "f").touch()
    os.utime(tmp_path / "f", ns=(5, 1_234_567_890_123_456_789))
    (tmp_path / "l").symlink_to("caf\udce9/../x")
    assert facts(reader, "/f").modified == 1_234_567_890_123_456_789
    assert facts(reader, "/l").link == "caf\udce9/../x"


def test_link_that_is_replaced_while_it_is_read_is_looked_at_again(
    tmp_path: Path, reader: LocalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "l").symlink_to("x")
    real = os.readlink

    def swapping(name: str, *, dir_fd: int) -> str:
        (tmp_path / "l").unlink()
        (tmp_path / "l").write_bytes(b"now")
        return real(name, dir_fd=dir_fd)

    def denied(*_: object, **__: object) -> str:
        raise OSError(errno.EACCES, "")

    monkeypatch.setattr(os, "readlink", swapping)
    assert facts(reader, "/l").kind is FileKind.REGULAR
    (tmp_path / "k").symlink_to("x")
    monkeypatch.setattr(os, "readlink", denied)
    with refused() as found:
        reader.examine("/k")
    assert found[0].cause is Cause.DENIED


@needs_root
def test_devices_are_told(tmp_path: Path, reader: LocalReader) -> None:
    os.mknod(tmp_path / "c", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.mknod(tmp_path / "b", 0o600 | stat.S_IFBLK, os.makedev(7, 99))
    assert facts(reader, "/c", blob="sha1").kind is FileKind.CHARACTER_DEVICE
    assert facts(reader, "/b", blob="sha1").kind is FileKind.BLOCK_DEVICE


def test_missing_names_the_topmost_missing_component(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "etc").mkdir()
    assert reader.examine("/etc/x") == Missing("/etc/x")
    assert reader.examine("/etc/x/y/z") == Missing("/etc/x")


def test_residue_is_seen_beside_a_file_and_beside_nothing(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "f").touch()
    (tmp_path / ".f.datum~.dpkg-tmp").touch()
    (tmp_path / ".g.datum~.dpkg-tmp").touch()
    assert facts(reader, "/f").has_residue
    assert reader.examine("/g") == Missing("/g", has_residue=True)
    long = "n" * 250
    assert not isinstance(reader.examine(f"/{long}"), FileFacts)
    (tmp_path / f".{hashlib.sha256(long.encode()).hexdigest()[:16]}.datum~.dpkg-tmp").touch()
    assert reader.examine(f"/{long}") == Missing(f"/{long}", has_residue=True)


@needs_root
def test_in_a_sticky_folder_only_files_of_ours_are_residue(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    name = residue_name("f", "/etc", is_random=True)
    assert name != residue_name("f", "/etc", is_random=True)
    (tmp_path / "tmp" / name).touch()
    assert reader.examine("/tmp/f") == Missing("/tmp/f", has_residue=True)
    os.chown(tmp_path / "tmp" / name, 1234, 1234)
    assert reader.examine("/tmp/f") == Missing("/tmp/f")
    (tmp_path / "tmp/f").touch()
    assert not facts(reader, "/tmp/f").has_residue
    os.chown(tmp_path / "tmp/f", 1234, 1234)
    assert facts(reader, "/tmp/f").has_residue


def test_residue_that_vanishes_while_it_is_looked_at_is_none(
    tmp_path: Path, reader: LocalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "listdir", lambda _: [".f.01234567.datum~.dpkg-tmp"])
    assert LocalHost(str(tmp_path)).reader().examine("/f") == Missing("/f")


def test_paths_that_could_leave_the_root_are_refused(reader: LocalReader) -> None:
    for path in ("/..", "/.", "/x/"):
        with refused("bad-path"):
            reader.examine(path)


def test_link_on_the_way_is_a_loop(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with refused("symlink-in-path") as found:
        reader.examine("/link/f")
    assert found[0].unobservable().cause is Cause.LOOP
    assert found[0].unobservable().scope is Scope.RESOURCE


def test_well_known_link_is_followed_on_the_way_and_told_at_the_end(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "usr/lib/f").touch()
    assert facts(reader, "/lib/f").kind is FileKind.REGULAR
    assert facts(reader, "/lib").kind is FileKind.SYMLINK


def test_access_time_stays(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "f").write_bytes(b"x")
    os.utime(tmp_path / "f", (1, 1))
    facts(reader, "/f", blob="sha1")
    assert (tmp_path / "f").stat().st_atime == 1


def test_where_the_access_time_cannot_be_kept_the_file_is_still_read(
    tmp_path: Path, reader: LocalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    real = os.open

    def grumpy(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_NOATIME:
            raise PermissionError(errno.EPERM, "")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", grumpy)
    assert facts(reader, "/f", blob="sha1").blob == blob_id(b"x")


def test_file_that_is_swapped_for_something_else_is_looked_at_again(
    tmp_path: Path, reader: LocalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    real = look.open_regular

    def swapping(folder: int, name: str, owner: int) -> int:
        (tmp_path / "f").unlink()
        os.mkfifo(tmp_path / "f")
        return real(folder, name, owner)

    monkeypatch.setattr(look, "open_regular", swapping)
    assert facts(reader, "/f", blob="sha1").kind is FileKind.FIFO

    def linking(folder: int, name: str, owner: int) -> int:
        (tmp_path / "g").unlink()
        (tmp_path / "g").symlink_to("/etc/shadow")
        return real(folder, name, owner)

    (tmp_path / "g").write_bytes(b"x")
    monkeypatch.setattr(look, "open_regular", linking)
    assert facts(reader, "/g", blob="sha1").kind is FileKind.SYMLINK


@pytest.mark.parametrize("after", [b"longer", b""])
def test_file_that_never_holds_still_is_unobservable(
    tmp_path: Path, reader: LocalReader, monkeypatch: pytest.MonkeyPatch, after: bytes
) -> None:
    real = os.pread
    rounds: list[int] = []

    def changing(fd: int, count: int, offset: int) -> bytes:
        rounds.append(1)
        (tmp_path / "f").write_bytes(after * len(rounds))
        return real(fd, count, offset)

    (tmp_path / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "pread", changing)
    if after:
        with refused("file-unsteady") as found:
            reader.examine("/f", blob="sha1")
        assert len(rounds) == 2
        assert found[0].cause is Cause.OTHER
    else:
        assert facts(reader, "/f", blob="sha1").size == 0


@pytest.mark.parametrize(
    ("code", "cause", "scope"),
    [
        (errno.EIO, Cause.IO, Scope.HOST),
        (errno.EROFS, Cause.READ_ONLY, Scope.HOST),
        (errno.ENOMEM, Cause.NO_MEMORY, Scope.HOST),
        (errno.EMFILE, Cause.TOO_MANY_FILES, Scope.HOST),
        (errno.EACCES, Cause.DENIED, Scope.RESOURCE),
    ],
)
def test_errors_of_the_system_get_their_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, cause: Cause, scope: Scope
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "f").touch()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "tmp/f").touch()
    with LocalHost(str(tmp_path)) as host:
        reader = host.reader()
        facts(reader, "/f")

        def broken(*_: object, **__: object) -> int:
            raise OSError(code, "")

        monkeypatch.setattr(look, "open_regular", broken)
        monkeypatch.setattr("datum.host.reader.open_regular", broken)
        monkeypatch.setattr("datum.host.reader.names_in", broken)
        for ask in (
            lambda: reader.examine("/f", blob="sha1"),
            lambda: reader.read_file("/f", limit=1),
            lambda: reader.list_directory("/"),
        ):
            with refused() as found:
                ask()
            answer = found[0].unobservable()
            assert (answer.cause, answer.scope, answer.discounted) == (cause, scope, False)
            assert os.strerror(code) in answer.detail
        with refused() as found:
            reader.examine("/tmp/f", blob="sha1")
        answer = found[0].unobservable()
        assert (answer.cause, answer.scope, answer.discounted) == (cause, Scope.RESOURCE, True)


@needs_root
def test_ordinary_user_is_denied_what_others_hide(nobody_root: Path) -> None:
    (nobody_root / "secret").write_bytes(b"x")
    (nobody_root / "secret").chmod(0o600)
    (nobody_root / "closed").mkdir(0o700)
    (nobody_root / "mine").write_bytes(b"x")
    os.chown(nobody_root / "mine", NOBODY, NOBODY)

    def look_around() -> None:
        with LocalHost(str(nobody_root)) as host:
            reader = host.reader()
            assert reader.caller == (NOBODY, NOBODY)
            assert facts(reader, "/mine", blob="sha1").blob == blob_id(b"x")
            assert facts(reader, "/secret").mode == "0600"
            for path in ("/secret", "/closed/x"):
                with refused() as found:
                    reader.examine(path, blob="sha1")
                assert found[0].cause is Cause.DENIED

    in_child(look_around, uid=NOBODY)


def test_files_and_folders_are_read(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/b").write_bytes(BIG)
    (tmp_path / "d/a").touch()
    (tmp_path / "d/.a.datum~.dpkg-tmp").touch()
    assert reader.list_directory("/d") == ("a", "b")
    assert reader.list_directory("/") == ("d",)
    assert reader.read_file("/d/b", limit=len(BIG)) == BIG
    assert reader.read_file("/d/b", limit=7) == BIG[:7]
    for path in ("/no", "/no/no"):
        with refused("missing-file"):
            reader.read_file(path, limit=1)
        with refused("missing-file"):
            reader.list_directory(path)
    with refused("not-a-file"):
        reader.read_file("/d", limit=1)
    with refused("missing-file"):
        reader.list_directory("/d/a")


def test_names_are_those_of_the_root(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(b"only-here:x:7:8::/:\n")
    (tmp_path / "etc/group").write_bytes(b"group-here:x:9:\n")
    assert reader.user_id("only-here") == 7
    assert reader.user_id("root") is None
    assert reader.user_name(7) == "only-here"
    assert reader.group_id("group-here") == 9
    assert reader.group_name(9) == "group-here"
    assert not reader.is_running_system


def test_running_system_is_told() -> None:
    with LocalHost() as host:
        reader = host.reader()
        assert reader.is_running_system
        assert reader.user_id("root") == 0
        assert "memory_mib" in reader.machine().values


def test_changes_through_the_same_host_are_seen_by_older_readers(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    with LocalHost(str(tmp_path)) as host:
        reader = host.reader()
        assert reader.user_id("new") is None
        assert reader.package_of("/x") is None
        host.writer().write_file("/etc/passwd", file_of(b"new:x:5:5::/:\n"))
        assert reader.user_id("new") == 5
        assert reader.examine("/etc/old") == Missing("/etc/old")
        (tmp_path / "etc").rename(tmp_path / "etc.old")
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/old").touch()
        with refused():
            host.writer().run(Command(("/no-such-program",), 5))
        assert isinstance(reader.examine("/etc/old"), FileFacts)


def test_query_runs_below_the_root(shell_root: Path, enclosing: None) -> None:
    with LocalHost(str(shell_root)) as host:
        assert host.reader().query(Command(("/bin/sh", "-c", "echo /v*"), 10)).stdout == b"/var\n"


def test_no_program_is_run_for_a_revision_that_is_not_trusted(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path), runs_programs=False) as host:
        writer = host.writer()
        for run in (writer.query, writer.run):
            with refused("programs-not-run") as found:
                run(Command(("touch", str(tmp_path / "made")), 10, user="nobody"))
            assert found[0].cause is Cause.DENIED
    assert names(tmp_path) == []


@needs_root
def test_mounts_are_told_and_read_again_by_each_reader(tmp_path: Path) -> None:
    def look_around() -> None:
        private_mounts()
        (tmp_path / "m").mkdir()
        (tmp_path / "f").touch()
        (tmp_path / "g").touch()
        with LocalHost(str(tmp_path)) as host:
            old = host.reader()
            assert not facts(old, "/m").is_mount_point
            mount_tmpfs(tmp_path / "m")
            bind(tmp_path / "g", tmp_path / "f")
            new = host.reader()
            assert facts(new, "/m").is_mount_point
            assert facts(new, "/f").is_mount_point
            assert not facts(new, "/g").is_mount_point

    in_child(look_around)


VFAT = b"20 1 8:1 / / rw - ext4 /dev/x rw\n21 20 8:2 / %s rw - vfat /dev/y rw\n22 20 0:9 / %s rw - nfs server:/x rw\n"


def test_file_system_without_owners_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("boot", "net"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_bytes(b"x")
    table = VFAT % (os.fsencode(tmp_path / "boot"), os.fsencode(tmp_path / "net"))
    monkeypatch.setattr(mounts, "read_mountinfo", lambda: table)
    with LocalHost(str(tmp_path)) as host:
        reader = host.reader()
        assert {"owner", "mode"} <= facts(reader, "/boot/f").without
        assert {"owner", "mode"} <= facts(reader, "/boot").without
        # Below the network mount a child answers.
        assert facts(reader, "/net/f", blob="sha1").blob == blob_id(b"x")
        assert reader.read_file("/net/f", limit=9) == b"x"
        assert reader.list_directory("/net") == ("f",)
        with refused("missing-file") as found:
            reader.read_file("/net/g", limit=9)
        assert found[0].discounted


def test_a_writer_is_a_reader(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        assert isinstance(writer, LocalReader)
        assert writer.examine("/x") == Missing("/x")


def test_what_keeps_a_path_from_being_written_is_told_from_the_root_down(tmp_path: Path) -> None:
    for folder, mode in (("open", 0o757), ("open/group", 0o2770), ("sticky", 0o1777), ("declared", 0o770)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder).chmod(mode)
    group = str((tmp_path / "declared").stat().st_gid)
    with LocalHost(str(tmp_path), shared={"/declared": group}) as host:
        reader = host.reader()
        assert [found.folder for found in reader.examine("/open/group/x").exposures] == ["/open", "/open/group"]
        assert [found.folder for found in facts(reader, "/open/group").exposures] == ["/open"]
        assert [found.folder for found in reader.examine("/open/none/x/y").exposures] == ["/open"]
        for path in ("/", "/open", "/sticky/x", "/declared/x"):
            assert reader.examine(path).exposures == (), path
        (found,) = facts(reader, "/open/group").exposures
        assert found.owner is None
        assert found.sentence("/open/group") == "'/open', on the way to '/open/group', is writable by everybody."
        assert "chmod o-w /open" in found.hint
    with LocalHost(str(tmp_path), shared={"/declared": "1" + group}) as host:
        (found,) = host.reader().examine("/declared/x").exposures
        assert f"(gid {group})" in found.why


def test_the_groups_of_a_root_may_lie_where_a_group_writes(tmp_path: Path) -> None:
    """What is asked for while that is judged is not judged."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc").chmod(0o770)
    (tmp_path / "etc/group").write_text(f"staff:x:{os.getegid()}:\n", encoding="utf-8")
    os.chown(tmp_path / "etc", -1, os.getegid())
    for name, count in (("staff", 0), ("others", 1)):
        with LocalHost(str(tmp_path), shared={"/etc": name}) as host:
            assert len(host.reader().examine("/etc/x").exposures) == count, name


@needs_root
def test_a_user_s_own_directory_is_told_with_its_owner(tmp_path: Path, reader: LocalReader) -> None:
    (tmp_path / "home/bob/d").mkdir(parents=True)
    os.chown(tmp_path / "home/bob", 1234, 1234)
    assert [(found.folder, found.owner) for found in reader.examine("/home/bob/d/x").exposures] == [("/home/bob", 1234)]
    os.chown(tmp_path, 1234, 1234)
    with LocalHost(str(tmp_path)) as host:
        found = host.reader().examine("/x").exposures
    assert [(one.folder, one.owner) for one in found] == [("/", None)]


def test_only_the_leftovers_of_a_directory_are_listed_where_they_are_asked_for(
    tmp_path: Path, reader: LocalReader
) -> None:
    for name in ("a", ".a.datum~.dpkg-tmp", ".b.datum~.dpkg-tmp"):
        (tmp_path / name).touch()
    assert reader.list_directory("/") == ("a",)
    assert reader.list_directory("/", leftovers=True) == (".a.datum~.dpkg-tmp", ".b.datum~.dpkg-tmp")
