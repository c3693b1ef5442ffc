"""The host in memory says, does and refuses what the real one says, does and refuses."""

import errno
from collections.abc import Callable
from functools import partial

import pytest

from datum.model.content import Content, blob_id
from datum.model.observation import Cause, Machine, Scope
from datum.model.result import FailureCause
from datum.provider.host import (
    Below,
    Command,
    CommandOutcome,
    DirectoryWrite,
    FileFacts,
    FileKind,
    FileWrite,
    HostError,
    HostReader,
    HostWriter,
    LinkWrite,
    Missing,
)
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld, JournalEntry, system_error

NEW = Content.from_bytes(b"new\n")


def facts(host: FakeHost, path: str, blob: str = "") -> FileFacts:
    found = host.examine(path, blob=blob)
    assert isinstance(found, FileFacts)
    return found


def test_it_is_a_host() -> None:
    host = FakeHost(machine=Machine({"cpus": 2}), caller=(1, 2), is_running_system=False)
    reader: HostReader = host.reader()
    writer: HostWriter = host.writer()
    assert (reader.caller, reader.is_running_system, reader.machine()) == ((1, 2), False, Machine({"cpus": 2}))
    assert not hasattr(reader, "write_file")
    writer.remark("x")
    assert host.remarks == []
    host.close()


def test_a_file_is_examined_as_it_is() -> None:
    host = FakeHost()
    host.add_file("/srv/app/x", b"abc", mode="4755", uid=7, gid=8)
    assert facts(host, "/srv/app/x", "sha1") == FileFacts(
        FileKind.REGULAR, "4755", 7, 8, 3, blob=blob_id(b"abc"), identity="fake:/srv/app/x"
    )
    assert facts(host, "/srv/app/x").blob == ""
    assert facts(host, "/srv").kind is FileKind.DIRECTORY


def test_a_missing_path_names_its_topmost_missing_component() -> None:
    host = FakeHost()
    host.world.residues.add("/etc/x")
    assert host.examine("/etc/x") == Missing("/etc/x", has_residue=True)
    assert host.examine("/srv/a/b") == Missing("/srv")
    host.add_file("/srv/a")
    assert host.examine("/srv/a/b/c") == Missing("/srv/a")


def test_no_link_on_the_way_is_followed() -> None:
    host = FakeHost()
    host.add("/srv", FakeFile(FileKind.SYMLINK))
    with pytest.raises(HostError) as caught:
        host.examine("/srv/x")
    assert caught.value.cause is Cause.LOOP


def test_well_known_links_lead_to_their_place() -> None:
    host = FakeHost()
    host.world.aliases["/var/run"] = "/run"
    host.add_file("/run/a", b"old")
    assert facts(host, "/var/run/a").identity == facts(host, "/run/a").identity
    host.write_file("/var/run/a", FileWrite(NEW))
    assert host.files["/run/a"].data == b"new\n"
    assert host.list_directory("/var/run") == ("a",)
    host.remove_file("/var/run/a")
    assert "/run/a" not in host.files


@pytest.mark.parametrize("path", ["etc", "/etc/", "/etc/../x"])
def test_only_normal_paths_are_paths(path: str) -> None:
    with pytest.raises(HostError, match="no normal path"):
        FakeHost().examine(path)


def test_files_are_read_up_to_a_limit() -> None:
    host = FakeHost()
    host.add_file("/etc/a", b"abcdef")
    assert host.read_file("/etc/a", limit=3) == b"abc"
    with pytest.raises(HostError, match="No such file"):
        host.read_file("/etc/b", limit=3)
    with pytest.raises(HostError, match="no regular file"):
        host.read_file("/etc", limit=3)


def test_directories_are_listed() -> None:
    host = FakeHost(folders=("/etc",))
    host.add_file("/etc/b")
    host.add_file("/etc/a/c")
    assert host.list_directory("/etc") == ("a", "b")
    assert host.list_directory("/") == ("etc",)
    with pytest.raises(HostError):
        host.list_directory("/etc/b")


def test_accounts_have_names_and_numbers() -> None:
    host = FakeHost()
    host.add_user("app", 900, gid=901)
    host.add_user("toor", 0)
    assert (host.user_id("app"), host.group_id("app"), host.user_id("x"), host.group_id("x")) == (900, 901, None, None)
    assert (host.user_name(900), host.user_name(0), host.user_name(5)) == ("app", "root", "5")
    assert (host.group_name(901), host.group_name(5)) == ("app", "5")


def test_packages_own_paths() -> None:
    host = FakeHost()
    host.world.packages["/etc/motd"] = "base-files"
    assert (host.package_of("/etc/motd"), host.package_of("/etc/x")) == ("base-files", None)


def test_unknown_programs_are_refused() -> None:
    host = FakeHost()
    host.add_query(("uname",), b"Linux\n")

    def touch(world: FakeWorld) -> CommandOutcome:
        world.files.clear()
        return CommandOutcome(0, b"", b"")

    host.add_program(("touch",), touch)
    assert host.query(Command(("uname",), 1)).stdout == b"Linux\n"
    with pytest.raises(HostError, match="knows no query"):
        host.query(Command(("touch",), 1))
    with pytest.raises(HostError, match="knows no run"):
        host.run(Command(("uname",), 1))
    host.run(Command(("touch",), 1))
    assert host.files == {}
    assert [entry.method for entry in host.journal] == ["run", "run"]


def test_an_exit_code_that_is_no_success_is_an_error() -> None:
    host = FakeHost()
    host.add_query(("false",), exit_code=1)
    with pytest.raises(HostError, match="exit code 1"):
        host.query(Command(("false",), 1))
    assert host.query(Command(("false",), 1, success=frozenset({0, 1}))).exit_code == 1


def test_a_new_file_has_defaults() -> None:
    host = FakeHost(caller=(5, 6))
    host.write_file("/etc/a", FileWrite(NEW))
    assert host.files["/etc/a"] == FakeFile(uid=5, gid=6, data=b"new\n")
    assert host.journal == [JournalEntry("write_file", "/etc/a", wanted=FileWrite(NEW))]


def test_a_replaced_file_keeps_what_is_not_wanted_otherwise() -> None:
    host = FakeHost()
    host.add_file("/etc/a", b"old", mode="0600", uid=7, gid=8)
    host.world.residues.add("/etc/a")
    host.write_file("/etc/a", FileWrite(NEW, gid=9))
    assert host.files["/etc/a"] == FakeFile(mode="0600", uid=7, gid=9, data=b"new\n")
    assert host.world.residues == set()


def test_a_replaced_link_gives_nothing_to_the_file() -> None:
    host = FakeHost()
    host.add_link("/etc/a", "b", uid=7)
    host.write_file("/etc/a", FileWrite(NEW, takes=()))
    assert host.files["/etc/a"] == FakeFile(data=b"new\n")


def full_directory() -> FakeHost:
    host = FakeHost()
    host.add_directory("/etc/d/s")
    host.add_file("/etc/d/s/f", b"f")
    host.add_link("/etc/d/l", "s")
    host.add_file("/etc/dd", b"beside")
    return host


ALL = ("/etc/d/l", "/etc/d/s", "/etc/d/s/f")


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(HostError) as caught:
        call()
    return caught.value.diagnostics[0].code


def test_what_lies_below_is_told() -> None:
    host = full_directory()
    assert host.below("/etc/d", limit=3) == Below(ALL)
    assert host.below("/etc/d/s", limit=3) == Below(("/etc/d/s/f",))
    for path in ("/etc/d/l", "/etc/dd", "/none", "/none/x"):
        assert host.below(path, limit=3) == Below()
    assert code_of(lambda: host.below("/etc/d", limit=2)) == "too-many-entries"
    host.files["/etc/d/s"].is_mount_point = True
    assert host.below("/etc/d", limit=3) == Below(ALL[:2], ("/etc/d/s",))
    assert host.below("/etc/d/s", limit=3) == Below(("/etc/d/s/f",), ("/etc/d/s",))
    found = host.below("/", limit=9)
    assert found == Below(("/etc", "/etc/d", "/etc/d/l", "/etc/d/s", "/etc/dd", "/tmp", "/usr", "/var"), ("/etc/d/s",))
    host.world.aliases["/lib"] = "/etc"
    assert host.below("/lib/d", limit=3).paths == ("/lib/d/l", "/lib/d/s")


def test_links_and_times_are_told() -> None:
    host = full_directory()
    assert facts(host, "/etc/d/l").link == "s"
    host.files["/etc/dd"].modified = 5
    assert (facts(host, "/etc/dd").modified, facts(host, "/etc/dd").link) == (5, "")


def test_links_and_directories_are_made() -> None:
    host = FakeHost(caller=(5, 6))
    host.write_link("/etc/l", LinkWrite("a"))
    host.write_link("/etc/l", LinkWrite("b", uid=5, gid=8))
    host.make_directory("/etc/d", DirectoryWrite())
    host.make_directory("/etc/d/e", DirectoryWrite("2750", gid=8))
    assert host.files["/etc/l"] == FakeFile(FileKind.SYMLINK, "0777", 5, 8, link="b")
    assert host.files["/etc/d"] == FakeFile(FileKind.DIRECTORY, "0755", 5, 6)
    assert host.files["/etc/d/e"] == FakeFile(FileKind.DIRECTORY, "2750", 5, 8)
    assert host.journal[1:3] == [
        JournalEntry("write_link", "/etc/l", wanted=LinkWrite("b", uid=5, gid=8)),
        JournalEntry("make_directory", "/etc/d", wanted=DirectoryWrite()),
    ]
    assert code_of(lambda: host.write_link("/etc/d", LinkWrite("a"))) == "kind-in-the-way"
    assert code_of(lambda: host.make_directory("/etc/d", DirectoryWrite(replaces=True))) == "kind-in-the-way"
    assert code_of(lambda: host.make_directory("/etc/l", DirectoryWrite())) == "kind-in-the-way"
    assert code_of(lambda: host.write_file("/etc/l", FileWrite(NEW))) == "kind-in-the-way"


@pytest.mark.parametrize("kind", [FileKind.REGULAR, FileKind.SYMLINK])
def test_what_may_gives_way_with_all_that_is_named(kind: FileKind) -> None:
    host = full_directory()
    host.world.residues.update({"/etc/d/l", "/etc/d"})

    def write() -> None:
        if kind is FileKind.REGULAR:
            host.write_file("/etc/d", FileWrite(NEW, takes=ALL))
        else:
            host.write_link("/etc/d", LinkWrite("x", takes=ALL))

    host.add_file("/etc/d/more")
    assert code_of(write) == "directory-not-empty"
    assert "/etc/d/l" in host.files
    del host.files["/etc/d/more"]
    write()
    assert facts(host, "/etc/d").kind is kind
    assert not any(path in host.files for path in ALL)
    assert host.files["/etc/dd"].data == b"beside"
    assert host.world.residues == set()
    host.make_directory("/etc/d", DirectoryWrite(replaces=True))
    assert facts(host, "/etc/d").kind is FileKind.DIRECTORY
    host.add("/etc/m", FakeFile(is_mount_point=True))
    with pytest.raises(HostError, match="busy"):
        host.make_directory("/etc/m", DirectoryWrite(replaces=True))


def test_a_directory_is_removed_with_exactly_what_is_named() -> None:
    host = full_directory()
    before = host.snapshot()
    assert code_of(lambda: host.remove_directory("/etc/dd")) == "not-a-directory"
    for takes in ((), ALL[1:], ALL[:1]):
        assert code_of(partial(host.remove_directory, "/etc/d", takes=takes)) == "directory-not-empty"
    host.files["/etc/d/s/f"].is_immutable = True
    assert code_of(lambda: host.remove_directory("/etc/d", takes=ALL)) == "host-error"
    host.files["/etc/d/s/f"].is_immutable = False
    host.files["/etc/d/s"].is_mount_point = True
    assert code_of(lambda: host.remove_directory("/etc/d", takes=ALL)) == "holds-mount"
    host.files["/etc/d/s"].is_mount_point = False
    assert host.snapshot() == before
    assert host.journal == []
    del host.files["/etc/d/l"]
    host.remove_directory("/etc/d", takes=ALL)
    host.remove_directory("/etc/d")
    assert sorted(host.files) == ["/etc", "/etc/dd", "/tmp", "/usr", "/var"]
    assert host.journal[0] == JournalEntry("remove_directory", "/etc/d", takes=ALL)


def test_other_links_of_a_replaced_file_are_told() -> None:
    host = FakeHost()
    host.add("/etc/a", FakeFile(links=3))
    writer = host.writer()
    writer.write_file("/etc/a", FileWrite(NEW))
    assert writer.remarks == ["hard_links_broken: 2"]


def test_programs_run_as_users_of_the_host() -> None:
    host = FakeHost()
    host.add_user("web", 33)
    host.add_program(("make",), lambda _: CommandOutcome(0, b"", b""))
    host.add_query(("ask",))
    for user in ("web", "33"):
        host.run(Command(("make",), 1, user=user))
        host.query(Command(("ask",), 1, user=user))
    assert [entry.user for entry in host.journal] == ["web", "33"]
    for call in (host.run, host.query):
        with pytest.raises(HostError) as caught:
            call(Command(("make",) if call == host.run else ("ask",), 1, user="gone"))
        assert caught.value.diagnostics[0].code == "program-refused"
        assert caught.value.failure is FailureCause.IMPOSSIBLE


def test_a_link_has_no_mode() -> None:
    host = full_directory()
    assert code_of(lambda: host.set_attributes("/etc/d/l", mode="0600")) == "link-has-no-mode"
    host.set_attributes("/etc/d/l", uid=7)
    assert host.files["/etc/d/l"].uid == 7
    host.set_attributes("/etc/d", mode="0700")
    assert "/etc/d/s/f" in host.files


def test_a_mounted_file_is_written_in_place() -> None:
    host = FakeHost()
    host.add("/etc/hosts", FakeFile(is_mount_point=True))
    writer = host.writer()
    writer.write_file("/etc/hosts", FileWrite(NEW))
    assert writer.remarks == ["not_atomic"]
    assert facts(host, "/etc/hosts").is_mount_point
    with pytest.raises(HostError, match="busy") as caught:
        host.remove_file("/etc/hosts")
    assert caught.value.failure is FailureCause.BUSY


def test_a_file_system_gives_what_it_has() -> None:
    host = FakeHost()
    host.add_directory("/mnt/usb")
    host.world.without = {"/mnt": frozenset(), "/mnt/usb": frozenset({"owner", "mode"})}
    host.write_file("/mnt/usb/a", FileWrite(NEW, mode="0600", uid=7, gid=7))
    assert host.files["/mnt/usb/a"] == FakeFile(data=b"new\n")
    assert facts(host, "/mnt/usb/a").without == {"owner", "mode"}


def test_bytes_come_from_the_repository() -> None:
    host = FakeHost()
    content = Content(blob_id(b"git"))
    with pytest.raises(HostError, match="not in the repository"):
        host.write_file("/etc/a", FileWrite(content))
    host.add_content(content, b"git")
    host.write_file("/etc/a", FileWrite(content))
    assert host.files["/etc/a"].data == b"git"


def test_checks_see_the_candidate() -> None:
    host = FakeHost()
    seen: list[tuple[tuple[str, ...], bytes]] = []

    def check(argv: tuple[str, ...], data: bytes) -> str:
        seen.append((argv, data))
        return "" if data == b"new\n" else "line 1"

    host.add_check("check", check)
    host.write_file("/etc/a", FileWrite(NEW, validate=("check", "-f{path}")))
    assert seen == [(("check", "-f/etc/a"), b"new\n")]
    with pytest.raises(HostError, match="line 1") as caught:
        host.write_file("/etc/a", FileWrite(Content.from_bytes(b"bad"), validate=("check", "{path}")))
    assert caught.value.failure is FailureCause.CHECK
    with pytest.raises(HostError, match="knows no check"):
        host.write_file("/etc/a", FileWrite(NEW, validate=("other", "{path}")))
    assert host.files["/etc/a"].data == b"new\n"


@pytest.mark.parametrize(
    ("path", "arranged", "code"),
    [
        ("/srv/x", FakeFile(), "missing-directory"),
        ("/etc", None, "kind-in-the-way"),
        ("/etc/a", FakeFile(FileKind.SYMLINK), "kind-in-the-way"),
        ("/etc/a", FakeFile(is_immutable=True), "host-error"),
        ("/srv/open/x", None, "unsafe-path"),
        ("/srv/users/x", None, "unsafe-path"),
    ],
)
def test_what_the_real_host_refuses_is_refused(path: str, arranged: FakeFile | None, code: str) -> None:
    host = FakeHost()
    if path == "/srv/x":
        host.add_file("/srv")
    elif arranged is not None:
        host.add(path, arranged)
    elif path != "/etc":
        host.add_directory("/srv/open", mode="0777")
        host.add_directory("/srv/users", uid=7)
    before = host.snapshot()
    with pytest.raises(HostError) as caught:
        host.write_file(path, FileWrite(NEW))
    assert caught.value.diagnostics[0].code == code
    assert host.snapshot() == before
    assert host.journal == []


def test_the_owner_of_a_directory_may_have_files_there() -> None:
    host = FakeHost()
    host.add_directory("/srv/users", uid=7)
    host.write_file("/srv/users/x", FileWrite(NEW, uid=7))
    host.write_file("/srv/users/x", FileWrite(NEW))
    host.write_file("/tmp/x", FileWrite(NEW))
    assert host.files["/srv/users/x"].uid == 7


def test_attributes_change_in_place() -> None:
    host = FakeHost()
    host.add_file("/etc/a", b"old", mode="4755")
    host.set_attributes("/etc/a", uid=0)
    assert host.files["/etc/a"].mode == "4755"
    host.set_attributes("/etc/a", uid=7)
    assert host.files["/etc/a"] == FakeFile(mode="0755", uid=7, data=b"old")
    host.set_attributes("/etc/a", mode="4755", gid=8)
    assert host.files["/etc/a"] == FakeFile(mode="4755", uid=7, gid=8, data=b"old")
    assert host.journal[-1].attributes == {"mode": "4755", "gid": 8}
    with pytest.raises(HostError):
        host.set_attributes("/etc/b", mode="0600")


def test_directories_keep_their_special_bits() -> None:
    host = FakeHost()
    host.set_attributes("/tmp", gid=7)
    assert host.files["/tmp"].mode == "1777"


def test_removing_what_is_not_there_is_no_error() -> None:
    host = FakeHost()
    host.add_file("/etc/a")
    host.add_directory("/srv/users", uid=7)
    host.add_file("/srv/users/x", uid=8)
    host.world.residues.update({"/etc/a", "/etc/b"})
    for path in ("/etc/a", "/etc/a", "/srv/users/x"):
        host.remove_file(path)
    assert host.world.residues == {"/etc/b"}
    host.remove_residue("/etc/b")
    assert host.world.residues == set()
    with pytest.raises(HostError, match="a directory stands there"):
        host.remove_file("/etc")


@pytest.mark.parametrize(
    ("number", "cause", "scope"),
    [
        (errno.EACCES, Cause.DENIED, Scope.RESOURCE),
        (errno.EIO, Cause.IO, Scope.HOST),
        (errno.EROFS, Cause.READ_ONLY, Scope.HOST),
    ],
)
def test_errors_are_those_of_the_system(number: int, cause: Cause, scope: Scope) -> None:
    found = system_error(number, "/etc/a").unobservable()
    assert (found.cause, found.scope) == (cause, scope)
    assert "/etc/a" in found.detail


def test_faults_hit_the_calls_they_name() -> None:
    host = FakeHost()
    host.fail(errno.EIO, method="examine", subject="/etc/a", skip=1, times=1)
    host.examine("/etc/b")
    host.examine("/etc/a")
    with pytest.raises(HostError):
        host.examine("/etc/a")
    host.examine("/etc/a")
    assert host.calls.count(("examine", "/etc/a")) == 3


def test_faults_can_come_after_the_work() -> None:
    host = FakeHost()
    host.fail(KeyboardInterrupt(), method="write_file", after=True)
    with pytest.raises(KeyboardInterrupt):
        host.write_file("/etc/a", FileWrite(NEW))
    assert "/etc/a" in host.files
    host.heal()
    host.write_file("/etc/a", FileWrite(NEW))


def test_a_snapshot_does_not_change() -> None:
    host = FakeHost()
    host.add_file("/etc/a", b"old")
    before = host.snapshot()
    host.write_file("/etc/a", FileWrite(NEW))
    assert before["/etc/a"].data == b"old"
    assert before != host.snapshot()
