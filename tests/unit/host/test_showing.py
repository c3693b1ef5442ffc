"""Candidates shown to a program: what it sees, what it cannot do, and what is left on the host (nothing)."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.host import namespaces, showing
from datum.host.mounts import Mount, MountTable
from datum.host.showing import Outcome, Shown, ShownAttributes, ShownCandidate, ShownRemoval, run_shown
from datum.provider.host import Command, HostError
from tests.unit.host.files import bind, mount_tmpfs, private_mounts, remount_read_only
from tests.unit.host.in_child import NOBODY, in_child, names


def waiting(path: Path, data: bytes = b"new\n", *, place: Path | None = None) -> ShownCandidate:
    """Put a candidate beside a path, or elsewhere."""
    hidden = place or path.with_name(f".{path.name}.datum~.dpkg-tmp")
    hidden.write_bytes(data)
    hidden.chmod(0o640)
    return ShownCandidate(str(path), str(hidden))


def run(*changes: Shown, script: str, **options: object) -> Outcome:
    values: dict[str, object] = {"root": "/", "timeout": 20.0, "online": False, **options}
    command = Command(("/bin/sh", "-c", script, "sh", changes[0].path), float(str(values["timeout"])))
    return run_shown(str(values["root"]), command, changes, is_online=bool(values["online"]))


def said(*changes: Shown, script: str, **options: object) -> str:
    outcome = run(*changes, script=script, **options)
    assert outcome.reason_unavailable == ""
    assert outcome.passed, outcome.output
    return outcome.output


def reason(*changes: Shown, root: str = "/") -> str:
    outcome = run(*changes, script="true", root=root)
    assert (outcome.passed, outcome.output) == (False, "")
    return outcome.reason_unavailable


@pytest.fixture
def existing(enclosing: None, tmp_path: Path) -> Path:
    path = tmp_path / "app.conf"
    path.write_text("old\n")
    path.chmod(0o600)
    return path


def test_a_replacement_is_seen_at_its_path_as_the_very_file_that_will_stand_there(existing: Path) -> None:
    shown = waiting(existing)
    os.chown(shown.hidden, 12 if not os.geteuid() else -1, -1)
    inode = Path(shown.hidden).stat()
    facts = said(shown, script='cat "$1"; stat -c "%a %u %i" "$1"')
    assert facts == f"new\n640 {inode.st_uid} {inode.st_ino}"
    assert (existing.read_text(), existing.stat().st_mode & 0o777) == ("old\n", 0o600)


def test_a_new_file_is_seen_in_its_directory_beside_its_siblings_under_its_own_name_only(existing: Path) -> None:
    shown = waiting(existing.with_name("b.conf"))
    assert said(shown, script='ls -A "$(dirname "$1")"; cat "$1"') == "app.conf\nb.conf\nnew"
    assert names(existing.parent) == [".b.conf.datum~.dpkg-tmp", "app.conf"]


def test_links_are_seen_with_their_text_whatever_it_leads_to(existing: Path) -> None:
    old = existing.with_name("link")
    old.symlink_to("app.conf")
    changes = []
    for name, text in (("link", "other"), ("new", "/no/where"), ("app.conf", "link")):
        hidden = existing.with_name(f".{name}.part")
        hidden.symlink_to(text)
        changes.append(ShownCandidate(str(existing.with_name(name)), str(hidden)))
    script = 'cd "$(dirname "$1")"; readlink link new app.conf'
    assert said(*changes, script=script) == "other\n/no/where\nlink"
    assert (str(old.readlink()), existing.read_text()) == ("app.conf", "old\n")


def test_a_directory_is_seen_with_all_that_waits_in_it(existing: Path) -> None:
    hidden = existing.with_name(".conf.d.part")
    (hidden / "a/b").mkdir(parents=True)
    (hidden / "a/b/c").write_text("deep\n")
    hidden.chmod(0o750)
    for path in (existing.with_name("conf.d"), existing):
        script = 'cat "$1/a/b/c"; stat -c "%a %F" "$1"; touch "$1/x" || echo refused'
        lines = said(ShownCandidate(str(path), str(hidden)), script=script).splitlines()
        assert [line for line in lines if "touch" not in line] == ["deep", "750 directory", "refused"]
    assert existing.read_text() == "old\n"


def test_what_goes_is_not_seen_files_links_and_whole_directories(existing: Path) -> None:
    folder = existing.with_name("conf.d")
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/x").touch()
    existing.with_name("link").symlink_to(existing)
    gone = [ShownRemoval(str(existing.with_name(name))) for name in ("app.conf", "link", "conf.d", "never-there")]
    assert said(*gone, script='ls -A "$(dirname "$1")" | wc -l') == "0"
    assert names(existing.parent) == ["app.conf", "conf.d", "link"]


def test_what_gives_way_to_another_kind_is_not_seen_below_it(existing: Path) -> None:
    folder = existing.with_name("conf.d")
    folder.mkdir()
    (folder / "x").touch()
    assert said(waiting(folder), script='cat "$1"') == "new"
    assert names(folder) == ["x"]


def test_other_attributes_are_seen_and_bytes_are_not_copied_for_that(existing: Path) -> None:
    folder = existing.with_name("conf.d")
    folder.mkdir()
    changes = (
        ShownAttributes(str(existing), 0o4711, None, None),
        ShownAttributes(str(folder), 0o700, os.getuid(), os.getgid()),
    )
    script = 'stat -c "%a" "$1" "$(dirname "$1")/conf.d"; cat "$1"'
    assert said(*changes, script=script) == "4711\n700\nold"
    assert (existing.stat().st_mode & 0o7777, folder.stat().st_mode & 0o777) == (0o600, 0o755)


def test_owners_are_seen_too(enclosing_root: None, existing: Path) -> None:
    existing.with_name("link").symlink_to("app.conf")
    changes = [ShownAttributes(str(existing.with_name(name)), None, 12, 34) for name in ("app.conf", "link")]
    assert said(*changes, script='stat -c "%u %g" "$1" "$(dirname "$1")/link"') == "12 34\n12 34"
    assert existing.stat().st_uid == 0


def test_attributes_of_a_mount_point_are_seen(enclosing_root: None, tmp_path: Path) -> None:
    def check() -> str:
        private_mounts()
        (tmp_path / "mounted").mkdir()
        mount_tmpfs(tmp_path / "mounted")
        (tmp_path / "mounted/in").write_text("in")
        change = ShownAttributes(str(tmp_path / "mounted"), 0o711, None, None)
        return said(change, script='stat -c "%a" "$1"; cat "$1/in"')

    assert in_child(check) == "711\nin"


def test_changes_are_seen_in_their_order(existing: Path) -> None:
    folder = existing.with_name("conf.d")
    folder.mkdir()
    (folder / "x").touch()
    changes = (ShownRemoval(str(folder / "x")), ShownRemoval(str(folder)), waiting(existing))
    assert said(*changes, script=f"test ! -e {folder}; cat {existing}") == "new"


def test_exit_code_zero_and_only_that_passes(existing: Path) -> None:
    outcome = run(waiting(existing), script="echo said; echo wrong >&2; exit 3")
    assert not outcome.passed
    assert outcome.output.splitlines() == ["said", "wrong", "It ended with exit code 3."]


def test_a_check_that_takes_too_long_fails(existing: Path) -> None:
    started = time.monotonic()
    outcome = run(waiting(existing), script="echo begun; sleep 60", timeout=0.5)
    assert time.monotonic() - started < 5
    assert not outcome.passed
    assert outcome.output == "begun\nIt ran longer than 0.5 s and was killed."


@pytest.mark.parametrize(
    ("program", "code"), [("/no-such-check", "program-missing"), ("/etc/passwd", "program-refused")]
)
def test_a_check_that_cannot_be_run_says_nothing_of_the_candidates(existing: Path, program: str, code: str) -> None:
    with pytest.raises(HostError) as caught:
        run_shown("/", Command((program,), 9.0), [waiting(existing)])
    assert caught.value.diagnostics[0].code == code


def test_the_end_of_what_a_check_writes_is_kept(existing: Path) -> None:
    for count in (100_000, 3_000_000):
        output = run(waiting(existing), script=f"head -c {count} /dev/zero | tr '\\0' x; echo; echo end").output
        assert len(output) <= showing.OUTPUT_LIMIT + 1
        assert output[-6:] == "xx\nend"


def test_a_candidate_is_shown_without_being_read(existing: Path) -> None:
    """One that is larger than all memory, most of it a hole, and only its end is looked at."""
    shown = waiting(existing)
    with Path(shown.hidden).open("r+b") as stream:
        stream.truncate(1 << 40)
        stream.seek(0, os.SEEK_END)
        stream.write(b"end\n")
    assert said(shown, script='stat -c %s "$1"; tail -c 4 "$1"') == f"{(1 << 40) + 4}\nend"


def test_a_check_cannot_change_the_host_or_a_candidate(enclosing_root: None, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    changes = (waiting(tmp_path / "old"), waiting(tmp_path / "new"))
    script = """
    for place in /etc /usr /root /dev/shm; do echo x 2>/dev/null > $place/datum-test && echo "wrote $place"; done
    for place in /run /tmp /var /var/lib; do echo x > $place/datum-test; cat $place/datum-test; done
    for file in "$1" "$(dirname "$1")/new"; do echo x > "$file" && echo "wrote $file"; done
    echo end
    """
    # sh tells its own refusals on a stderr that 2> does not reach
    output = said(*changes, script=script)
    assert [line for line in output.splitlines() if "cannot create" not in line] == ["x"] * 4 + ["end"]
    left = [place for place in ("/etc", "/run", "/tmp", "/var", "/var/lib") if Path(place, "datum-test").exists()]
    assert left == []
    assert [Path(change.hidden).read_text() for change in changes] == ["new\n"] * 2


@pytest.mark.parametrize("folder", ["/run", "/tmp", "/var/lib", "/dev/shm", "/etc", "/"])
def test_a_candidate_shows_below_every_kind_of_place(enclosing_root: None, tmp_path: Path, folder: str) -> None:
    path = Path(folder, "datum-test.conf")
    shown = waiting(path, place=tmp_path / "waiting")
    assert (
        said(shown, script='cat "$1"; test -e /etc/hostname; test -r /proc/self/stat; echo > /dev/null; echo seen')
        == "new\nseen"
    )
    assert not path.exists()


def test_what_is_mounted_below_the_directory_of_a_new_file_is_seen(enclosing_root: None, tmp_path: Path) -> None:
    assert (
        said(
            waiting(Path("/dev/datum-test"), place=tmp_path / "waiting"),
            script="echo > /dev/null; test -d /dev/shm; test -e /dev/pts/ptmx; mountpoint -q /dev/shm; echo ok",
        )
        == "ok"
    )


def test_mounts_of_their_own_below_a_scratch_directory(enclosing: None, tmp_path: Path) -> None:
    """A submount of /var, /run or /tmp vanishes from an overlay unless it is shown again; /var/tmp can be written."""

    def check() -> list[str]:
        namespaces.enter(is_offline=False, inside_uid=0)
        for path in ("/var/tmp", str(tmp_path)):
            namespaces.mount("none", path, "tmpfs")
            Path(path, "below").write_text("below")
        script = f"""
        cat /var/tmp/below {tmp_path}/below; echo x > /var/tmp/y && cat /var/tmp/y
        touch {tmp_path}/z || echo refused; cat "$1"
        """
        new = said(waiting(tmp_path / "a.conf"), script=script)
        old = said(waiting(tmp_path / "below"), script=script)
        return [new, old, *names("/var/tmp"), *names(tmp_path)]

    new, old, *left = in_child(check)
    seen = [[line for line in text.splitlines() if "cannot touch" not in line] for text in (new, old)]
    assert seen == [["belowbelowx", "refused", "new"], ["belownew", "x", "refused", "new"]]
    assert left == ["below", ".a.conf.datum~.dpkg-tmp", ".below.datum~.dpkg-tmp", "below"]


def test_a_set_across_mounts_bind_mounts_and_above_a_submount_is_seen_whole(
    enclosing_root: None, tmp_path: Path
) -> None:
    def check() -> tuple[str, list[str]]:
        private_mounts()
        for name in ("mounted/deep/sub", "source", "bound"):
            (tmp_path / name).mkdir(parents=True)
        mount_tmpfs(tmp_path / "mounted")
        (tmp_path / "mounted/deep/sub").mkdir(parents=True)
        mount_tmpfs(tmp_path / "mounted/deep/sub")
        (tmp_path / "mounted/deep/sub/kept").write_text("kept")
        (tmp_path / "mounted/goes").touch()
        (tmp_path / "source/old").write_text("old")
        bind(tmp_path / "source", tmp_path / "bound")
        wanted = ("top", "mounted/new", "mounted/deep/new", "mounted/deep/sub/new", "bound/old", "bound/new")
        changes: list[Shown] = [waiting(tmp_path / name, f"{name}\n".encode()) for name in wanted]
        changes.append(ShownRemoval(str(tmp_path / "mounted/goes")))
        script = f"cd {tmp_path}; cat {' '.join(wanted)} mounted/deep/sub/kept; test ! -e mounted/goes"
        seen = said(*changes, script=script)
        return seen, [name for name in wanted if (tmp_path / name).exists()]

    seen, there = in_child(check)
    assert seen.split() == ["top", "mounted/new", "mounted/deep/new", "mounted/deep/sub/new", *seen.split()[4:]]
    assert seen.split()[4:] == ["bound/old", "bound/new", "kept"]
    assert there == ["bound/old"]


def test_a_set_on_a_read_only_mount_is_seen_all_the_same(enclosing_root: None, tmp_path: Path) -> None:
    def check() -> str:
        private_mounts()
        mount_tmpfs(tmp_path)
        (tmp_path / "old").write_text("old")
        changes = (waiting(tmp_path / "old"), waiting(tmp_path / "new"))
        remount_read_only(tmp_path)
        return said(*changes, script='cat "$1" "$(dirname "$1")/new"')

    assert in_child(check) == "new\nnew"


def test_an_overlay_can_lie_over_one_overlay_and_over_two_it_is_said_that_it_cannot(
    enclosing_root: None, tmp_path: Path
) -> None:
    def stack(folder: Path, work: Path) -> None:
        for name in ("upper", "work"):
            (work / name).mkdir(parents=True)
        layers = f"lowerdir={folder},upperdir={work}/upper,workdir={work}/work"
        namespaces.mount("overlay", str(folder), "overlay", data=layers)

    def check() -> list[Outcome]:
        private_mounts()
        mount_tmpfs(tmp_path, "size=1m")
        root = tmp_path / "root"
        root.mkdir()
        found = []
        for level in ("one", "two"):
            stack(root, tmp_path / level)
            found.append(run(waiting(root / "new"), script='cat "$1"'))
            found.append(run(waiting(root / "old"), script='cat "$1"'))
            (root / "old").touch()
            found.append(run(waiting(root / "old"), script='cat "$1"'))
        return found

    first, _, first_bound, second, _, second_bound = in_child(check)
    assert first == first_bound == second_bound == Outcome(passed=True, output="new")
    assert second.reason_unavailable.startswith("mount overlay on ")


def test_there_is_no_network_but_addresses_of_the_host_can_be_bound(existing: Path) -> None:
    script = """
    cat /proc/net/route | wc -l
    python3 -c 'import socket
    for address in ("127.0.0.1", "192.0.2.77"): socket.socket().bind((address, 8080))'
    """
    script = script.replace("\n    ", "\n")
    assert said(waiting(existing), script=script) == "1"


def test_online_it_has_the_network_of_the_host(enclosing_root: None, existing: Path) -> None:
    script = "readlink /proc/self/ns/net"
    own = str(Path("/proc/self/ns/net").readlink())
    assert said(waiting(existing), script=script, online=True) == own
    assert said(waiting(existing), script=script) != own


def test_nothing_is_left_on_the_host(existing: Path) -> None:
    def look() -> tuple[object, ...]:
        return Path("/proc/self/mountinfo").read_text(), names("/proc/driver"), names("/proc/self/fd")

    before = look()
    shown = waiting(existing)
    pid = said(shown, script="sleep 60 & echo $!")
    said(waiting(existing.with_name("new")), script="true")
    run(shown, script="exit 1")
    assert look() == before
    for _attempt in range(100):
        if not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text():
            break
        time.sleep(0.02)
    else:
        pytest.fail("a process of the check lives on")


def test_below_another_root_the_check_sees_only_that(enclosing: None, shell_root: Path) -> None:
    (shell_root / "etc/app.conf").write_text("old\n")
    (shell_root / "etc/waits").write_text("new\n")
    script = (
        'cat "$1" /etc/app.conf; echo x > /dev/null; cat /proc/self/comm; echo y > /tmp/y; cat /tmp/y; echo z > /etc/z'
    )
    root = str(shell_root)
    new = run(ShownCandidate("/etc/b.conf", "/etc/waits"), script=script, root=root)
    assert new.output.splitlines()[:4] == ["new", "old", "cat", "y"]
    replaced = said(ShownCandidate("/etc/app.conf", "/etc/waits"), script='cat "$1"', root=root)
    assert replaced == "new"
    assert names(shell_root / "etc") == ["app.conf", "waits"]
    assert names(shell_root / "tmp") == names(shell_root / "dev") == []


@pytest.mark.parametrize("path", ["/etc/b.conf", "/top.conf"])
def test_where_a_candidate_has_a_new_name_nothing_else_can_be_made(
    enclosing: None, shell_root: Path, path: str
) -> None:
    """Also in the root itself, whose throw-away folders stay writable."""
    (shell_root / "etc/waits").write_text("new\n")
    script = """
    cat "$1"; for path in / /etc /tmp; do (: > $path/scribble) && echo $path; done 2>&-
    (: > "$1") 2>&- || echo refused
    """
    assert said(ShownCandidate(path, "/etc/waits"), script=script, root=str(shell_root)) == "new\n/tmp\nrefused"
    assert names(shell_root / "etc") == ["waits"]


def test_a_link_in_a_root_does_not_lead_the_candidate_out_of_it(enclosing: None, shell_root: Path) -> None:
    """Resolved outside of the root, the check would have passed without seeing the candidate."""
    (shell_root / "etc/app.conf").write_text("old\n")
    (shell_root / "etc/waits").write_text("new\n")
    (shell_root / "conf").symlink_to("/etc")
    shown = ShownCandidate("/conf/app.conf", "/etc/waits")
    assert said(shown, script='cat "$1" /etc/app.conf', root=str(shell_root)) == "new\nnew"


def test_an_ordinary_user_checks_below_a_root_of_its_own(enclosing_nobody: None, nobody_shell_root: Path) -> None:
    etc = nobody_shell_root / "etc"
    for name in ("app.conf", "waits", "gone"):
        (etc / name).write_text("new\n" if name == "waits" else "old\n")
        os.chown(etc / name, NOBODY, NOBODY)

    def check() -> list[str]:
        script = (
            'cat "$1"; echo x > /dev/null; test -O "$1" && echo own; echo z > /tmp/z; cat /tmp/z; test ! -e /etc/gone'
        )
        changes = (ShownRemoval("/etc/gone"), ShownAttributes("/etc", 0o711, None, None))
        return [
            said(ShownCandidate(path, "/etc/waits"), *changes, script=script, root=str(nobody_shell_root))
            for path in ("/etc/app.conf", "/etc/b.conf")
        ]

    assert in_child(check, uid=NOBODY) == ["new\nown\nz"] * 2
    assert names(etc) == ["app.conf", "gone", "waits"]


def test_an_ordinary_user_is_told_where_a_candidate_cannot_be_shown(enclosing_nobody: None) -> None:
    """The kernel shows no directory without the mounts below it to a namespace that did not make these mounts."""
    outcome = in_child(lambda: run(ShownRemoval("/etc"), script="true"), uid=NOBODY)
    assert outcome == Outcome(passed=False, output="", reason_unavailable="mount / on 0/lower: Invalid argument")


def test_where_namespaces_are_refused_the_reason_names_the_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(1, "unshare NEWNS, NEWNET: Operation not permitted")

    monkeypatch.setattr(namespaces, "enclose", refuse)
    assert reason(waiting(tmp_path / "x")) == "unshare NEWNS, NEWNET: Operation not permitted"


def test_what_cannot_be_shown_is_said(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown = waiting(tmp_path / "file")
    assert reason(ShownCandidate(f"{tmp_path}/file/x", shown.hidden)) == f"{tmp_path}/file: Not a directory"
    assert reason(ShownAttributes(f"{tmp_path}/gone", 0o600, None, None)).startswith(f"{tmp_path}/gone: No such file")
    assert reason(ShownCandidate(f"{tmp_path}/x", f"{tmp_path}/gone")).endswith("/gone: No such file or directory")
    assert reason(shown, root=str(tmp_path / "gone")) == f"{tmp_path}/gone: No such file or directory"


def test_a_full_disk_for_copies_is_said(enclosing: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = namespaces.mount

    def small(source: str, target: str, file_system: str, **options: object) -> None:
        if target == namespaces.WORKSPACE:
            options["data"] = "nr_inodes=8"
        real(source, target, file_system, **options)  # type: ignore[arg-type] # as given

    monkeypatch.setattr(namespaces, "mount", small)
    assert reason(waiting(tmp_path / "x")).endswith("No space left on device")


def showing_in_child(*changes: Shown, look: Callable[[], object]) -> object:
    """Make changes show without an exec behind it, so that the steps are measured."""

    def show() -> object:
        showing._show_all("/", changes, is_online=False)
        return look()

    return in_child(show)


def test_the_steps_in_the_child(enclosing: None, tmp_path: Path) -> None:
    for name in ("old", "gone", "other"):
        (tmp_path / name).write_text("old")
    (tmp_path / "folder/below").mkdir(parents=True)
    (tmp_path / ".link").symlink_to("text")
    (tmp_path / ".new.d").mkdir()
    changes = (
        waiting(tmp_path / "old"),
        waiting(tmp_path / "new"),
        ShownCandidate(f"{tmp_path}/link", f"{tmp_path}/.link"),
        ShownCandidate(f"{tmp_path}/new.d", f"{tmp_path}/.new.d"),
        ShownRemoval(f"{tmp_path}/gone"),
        ShownRemoval(f"{tmp_path}/folder"),
        ShownAttributes(f"{tmp_path}/other", 0o600, None, None),
    )

    def look() -> tuple[object, ...]:
        read = [(tmp_path / name).read_bytes() for name in ("old", "new")]
        return *read, str((tmp_path / "link").readlink()), (tmp_path / "other").stat().st_mode & 0o777, str(Path.cwd())

    assert showing_in_child(*changes, look=look) == (b"new\n", b"new\n", "text", 0o600, "/")
    with pytest.raises(NotADirectoryError):
        showing_in_child(ShownCandidate(f"{tmp_path}/old/x", f"{tmp_path}/.new.datum~.dpkg-tmp"), look=dict)


def test_a_candidate_that_does_not_show_at_its_path_is_told(
    enclosing: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a program would say then says nothing of the candidate."""
    (tmp_path / "old").write_text("old")
    (tmp_path / ".link").symlink_to("text")
    (tmp_path / "link").symlink_to("other")
    monkeypatch.setattr(showing, "_show", lambda *_: None)
    changes: tuple[Shown, ...] = (
        waiting(tmp_path / "old"),
        ShownCandidate(f"{tmp_path}/link", f"{tmp_path}/.link"),
        ShownRemoval(f"{tmp_path}/old"),
        ShownAttributes(f"{tmp_path}/old", 0o711, None, None),
        ShownAttributes(f"{tmp_path}/old", None, 4711, None),
        ShownAttributes(f"{tmp_path}/old", None, None, 4711),
    )
    for change in changes:
        with pytest.raises(OSError, match=f"the candidate does not show at {change.path}"):
            showing_in_child(change, look=dict)


def test_a_folder_on_the_file_system_of_an_outer_overlay_needs_none() -> None:
    table = MountTable({path: Mount(path, "ext4", "a", "8:1") for path in ("/", "/var/lib", "/run")}, None, ())
    wanted = {"/var", "/var/log/app", "/var/lib/app", "/run", "/variable"}
    assert showing._uncovered(wanted, table) == ["/run", "/var", "/var/lib/app", "/variable"]
    assert showing._uncovered({"/", "/var", "/run", "/etc"}, table) == ["/", "/run"]
    assert showing._uncovered({"/", "/var"}, MountTable({}, None, ())) == ["/"]
