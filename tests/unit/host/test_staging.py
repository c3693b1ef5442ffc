"""Staged sets: nothing shows before `commit`, checks see all of it, and what is refused directly is refused here."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from datum.host import staging_changes
from datum.host.local import LocalHost
from datum.host.place import Place
from datum.host.staging import StagingWriter
from datum.host.staging_puts import Put
from datum.host.writer import LocalWriter
from datum.model.content import Content
from datum.model.result import FailureCause
from datum.provider.host import Command, DirectoryWrite, FileWrite, HostError, LinkWrite
from tests.unit.host.files import bind, file_of, mount_tmpfs, names, needs_root, private_mounts, refused
from tests.unit.host.in_child import NOBODY, in_child
from tests.unit.host.sets import CHANGED, SEEN, WHOLE, check, fill, stage, tree


def residues(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.endswith(".datum~.dpkg-tmp")]


def seen_by_check(writer: StagingWriter, script: str = WHOLE) -> str:
    """Return what a program says of the set; it refuses, so that its words are told."""
    with pytest.raises(HostError) as caught:
        writer.judge([check(f"{script}\nexit 1")])
    return caught.value.detail.partition("It said:\n")[2].removesuffix("\nIt ended with exit code 1.")


def test_a_set_of_every_kind_is_seen_whole_by_the_program_and_by_nobody_else(
    enclosing_root: None, shell_root: Path
) -> None:
    fill(shell_root)
    before = tree(shell_root)
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        stage(writer)
        hidden = {path: entry for path, entry in tree(shell_root).items() if ".datum~.dpkg-tmp" not in path}
        assert hidden == before
        assert seen_by_check(writer) == SEEN
        writer.discard()
        assert tree(shell_root) == before
        assert writer.remarks == []


def test_while_a_check_runs_the_host_shows_the_old_set(enclosing_root: None, shell_root: Path) -> None:
    """A second process looks while the first one's check waits for it."""
    fill(shell_root)
    before = tree(shell_root)
    os.mkfifo(shell_root / "go")
    os.mkfifo(shell_root / "ready")
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        stage(writer)
        looker = os.fork()
        if looker == 0:
            (shell_root / "ready").read_text()
            seen = {path: entry for path, entry in tree(shell_root / "etc").items() if ".datum~.dpkg-tmp" not in path}
            is_old = {f"etc/{path}": entry for path, entry in seen.items()}.items() <= before.items()
            (shell_root / "go").write_text("old" if is_old and seen else "mixed")
            os._exit(0)
        said = seen_by_check(writer, "echo > /ready; cat /go; echo; " + WHOLE)
        os.waitpid(looker, 0)
        assert said == f"old\n{SEEN}"
        writer.discard()


def test_a_set_that_every_check_passes_is_put_in_place_and_leaves_nothing_beside(
    enclosing_root: None, shell_root: Path
) -> None:
    fill(shell_root)
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        stage(writer)
        staged = (shell_root / "etc/.new.datum~.dpkg-tmp").stat()
        writer.judge([check(), check("test -e /etc/new", name="second")])
        writer.commit()
        writer.discard()
        done = tree(shell_root / "etc")
        assert residues(shell_root / "etc") == []
        assert os.path.samestat(staged, (shell_root / "etc/new").stat())
        assert done["new.d/sub/deep"].content == b"deep\n"
        assert (done["new.d"].mode & 0o777, done["replaced"].mode & 0o777) == (0o750, 0o640)
        assert (done["attributes"].mode & 0o777, done["attributes"].content) == (0o600, b"kept\n")
        assert not {"gone", "old.d", "old.d/sub", "kind/in"} & set(done)
        assert seen_by_check(host.staging()) == SEEN


def test_the_second_check_is_not_run_when_the_first_refuses(enclosing: None, shell_root: Path) -> None:
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        writer.write_file("/etc/a", file_of(b"a"))
        first = check("echo no; exit 7", name="first")
        with refused("check-failed") as found:
            writer.judge([check(name="good"), first, check("echo never", name="second")])
        assert getattr(found[0], "check", None) == first.resource
        assert found[0].failure is FailureCause.CHECK
        assert found[0].detail == (
            "check:first: /bin/sh -c 'echo no; exit 7' refuses the candidates; the host is as it was. It said:\n"
            "no\nIt ended with exit code 7."
        )
        writer.discard()
        assert names(shell_root / "etc") == []


def test_a_check_that_refuses_without_a_word_is_told_so(enclosing: None, shell_root: Path) -> None:
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        writer.write_file("/etc/a", file_of(b"a"))
        with refused("check-failed") as found:
            writer.judge([check("exit 7")])
        assert found[0].detail.endswith("the host is as it was. It said nothing. It ended with exit code 7.")
        writer.discard()


def test_a_check_that_cannot_be_run_is_told_with_its_name(enclosing: None, shell_root: Path) -> None:
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        writer.write_file("/etc/a", file_of(b"a", validate=("/no-such", "{path}")))
        with refused("check-not-run") as found:
            writer.judge([])
        assert getattr(found[0], "check", "") is None
        assert found[0].detail.startswith("The check of '/etc/a' could not be run; the host is as it was. ")
        writer.discard()
        writer.write_file("/etc/a", file_of(b"a"))
        with refused("check-not-run") as found:
            writer.judge([evolve(check(), argv=("/no-such", "{path}"))])
        assert found[0].detail.startswith("check:set could not be run; the host is as it was. /no-such '{path}' ")
        writer.discard()


def test_only_the_check_of_one_file_knows_its_path(enclosing: None, shell_root: Path) -> None:
    script = 'echo "$0 $(cat "$0")"; exit 1'
    with LocalHost(str(shell_root)) as host:
        for path in ("/etc/a", "/etc/new.d/b"):
            writer = host.staging()
            writer.make_directory("/etc/new.d", DirectoryWrite())
            writer.write_file(path, file_of(b"new", validate=("/bin/sh", "-c", script, "{path}")))
            with refused("check-failed") as found:
                writer.judge([])
            assert f"refuses the new '{path}'" in found[0].detail
            assert f"It said:\n{path} new\n" in found[0].detail
            writer.discard()
        writer = host.staging()
        writer.write_file("/etc/a", file_of(b"new"))
        assert seen_by_check(writer, "echo {path} $0") == "{path} /bin/sh"
        writer.discard()


def test_a_check_has_its_environment(enclosing: None, shell_root: Path) -> None:
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        writer.write_file("/etc/a", file_of(b"a"))
        writer.judge([check('test "$MODE" = strict -a "$LC_ALL" = C.UTF-8', environment={"MODE": "strict"})])
        writer.discard()


def test_reading_shows_the_host_and_running_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        assert writer.read_file("/a", limit=9) == b"old"
        assert writer.list_directory("/") == ("a",)
        with refused("cannot-be-staged"):
            writer.run(Command(("true",), 9.0))
        writer.discard()
        assert names(tmp_path) == ["a"]


def test_attributes_of_a_candidate_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o644)
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        writer.make_directory("/d", DirectoryWrite())
        writer.write_file("/d/b", file_of(b"b"))
        for path in ("/a", "/d", "/d/b"):
            writer.set_attributes(path, mode="0700")
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644
        writer.commit()
        assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "d", "d/b")] == [0o700] * 3


def test_what_is_staged_in_a_new_directory_can_be_taken_out_again(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.make_directory("/d", DirectoryWrite())
        writer.make_directory("/d/e", DirectoryWrite())
        for name in ("a", "e/b", "c"):
            writer.write_file(f"/d/{name}", file_of(b"x"))
        writer.remove_file("/d/a")
        writer.remove_directory("/d/e", takes=("/d/e/b",))
        writer.remove_residue("/d/c")
        with refused("directory-in-the-way") as found:
            writer.make_directory("/d/f", DirectoryWrite())
            writer.remove_file("/d/f")
        assert "'/d/f'" in found[0].detail
        writer.commit()
    assert (names(tmp_path), names(tmp_path / "d")) == (["d"], ["c", "f"])


@needs_root
def test_a_new_directory_may_be_shared_with_a_declared_group(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path), shared={"/d": "4711"}) as host:
        writer = host.staging()
        writer.make_directory("/d", DirectoryWrite(mode="2775", gid=4711))
        writer.write_file("/d/a", file_of(b"a"))
        writer.commit()
        writer = host.staging()
        writer.make_directory("/e", DirectoryWrite(mode="2775", gid=4711))
        with refused("unsafe-path") as found:
            writer.write_file("/e/a", file_of(b"a"))
        assert "'/e'" in found[0].detail
        writer.discard()
    assert names(tmp_path) == ["d"]


def test_a_path_is_changed_once_in_a_set(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        writer.remove_file("/b")
        writer.set_attributes("/c", mode="0600")
        for path in ("/a", "/b", "/c"):
            with refused("cannot-be-staged"):
                writer.write_file(path, file_of(b"newer"))
            with refused("cannot-be-staged"):
                writer.remove_file(path)
        writer.discard()


def test_a_directory_does_not_go_with_what_is_staged_below_it(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/d/a", file_of(b"new"))
        with refused("cannot-be-staged"):
            writer.remove_directory("/d")
        with refused("cannot-be-staged"):
            writer.write_file("/d", file_of(b"new", takes=()))
        writer.discard()
    assert names(tmp_path / "d") == []


def test_a_directory_gives_way_with_what_went_before(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").touch()
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.remove_file("/d/a")
        writer.write_link("/d", LinkWrite("elsewhere", takes=()))
        writer.commit()
    assert (tmp_path / "d").is_symlink()
    assert names(tmp_path) == ["d"]


@pytest.mark.parametrize(
    ("path", "code"),
    [("/locked/x", "protected-path"), ("/open/x", "unsafe-path"), ("/no/x", "missing-directory"),
     ("/link/x", "symlink-in-path"), ("/d", "kind-in-the-way"), ("relative", "bad-path")],
)  # fmt: skip
def test_what_is_refused_directly_is_refused_when_it_is_staged(tmp_path: Path, path: str, code: str) -> None:
    for name in ("locked", "open", "d"):
        (tmp_path / name).mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("d")
    with LocalHost(str(tmp_path), ("/locked",)) as host:
        for writer in (host.writer(), host.staging()):
            with refused(code):
                writer.write_file(path, file_of(b"x"))
            with refused("kind-in-the-way" if code == "kind-in-the-way" else code):
                writer.write_link(path, LinkWrite("x"))
    assert names(tmp_path) == ["d", "link", "locked", "open"]


def test_what_is_protected_is_so_inside_of_a_new_directory(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path), ("/d/locked",)) as host:
        writer = host.staging()
        with refused("protected-path"):
            writer.make_directory("/d", DirectoryWrite())
            writer.make_directory("/d/locked", DirectoryWrite())
        writer.discard()
    assert names(tmp_path) == []


def test_removals_are_judged_when_they_are_staged(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").touch()
    (tmp_path / "f").touch()
    (tmp_path / "l").symlink_to("f")
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        with refused("directory-not-empty"):
            writer.remove_directory("/d")
        with refused("directory-not-empty"):
            writer.write_file("/d", file_of(b"x", takes=()))
        with refused("directory-in-the-way"):
            writer.remove_file("/d")
        with refused("not-a-directory"):
            writer.remove_directory("/f")
        with refused():
            writer.set_attributes("/gone", mode="0600")
        with refused("link-has-no-mode"):
            writer.set_attributes("/l", mode="0600")
        writer.remove_file("/gone")
        writer.remove_directory("/gone.d")
        writer.commit()
    assert names(tmp_path) == ["d", "f", "l"]


def test_a_new_directory_where_others_make_names_is_refused_until_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        with refused("cannot-be-staged") as found:
            writer.make_directory("/tmp/d", DirectoryWrite())
        assert "directory:/tmp/d" in found[0].diagnostics[0].hint
        writer.write_file("/tmp/f", file_of(b"x"))
        assert len(residues(tmp_path / "tmp")) == 1
        writer.commit()
        writer.discard()
    assert names(tmp_path / "tmp") == ["f"]


def test_a_candidate_that_cannot_be_filled_leaves_nothing(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        with refused("content-mismatch"):
            writer.write_file("/f", FileWrite(Content("0" * 40, inline=b"other")))
        with refused("content-unreachable"):
            writer.write_file("/f", FileWrite(Content("0" * 40)))
        writer.discard()
    assert names(tmp_path) == []


def test_a_leftover_goes_after_the_set_has_its_place(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
        (tmp_path / f".{name}.datum~.dpkg-tmp").write_text("left")
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        for name in ("a", "b", "c", "no"):
            writer.remove_residue(f"/{name}")
        assert residues(tmp_path) == [f".{name}.datum~.dpkg-tmp" for name in ("a", "b", "c")]
        writer.write_file("/a", file_of(b"new"))
        writer.remove_file("/b")
        writer.remove_residue("/a")
        writer.commit()
    assert names(tmp_path) == ["a", "c"]
    assert (tmp_path / "a").read_text() == "new"


def test_a_commit_that_fails_says_what_stands_and_what_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("old")
    real = Put.commit

    def failing(put: Put, writer: LocalWriter) -> None:
        if put.path == "/b":
            raise HostError("No space.", failure=FailureCause.NO_SPACE)
        real(put, writer)

    monkeypatch.setattr(Put, "commit", failing)
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        for name in ("a", "b", "c"):
            writer.write_file(f"/{name}", file_of(b"new"))
        with refused("set-incomplete") as found:
            writer.commit()
        writer.discard()
    assert found[0].detail == "No space. Of the set that the checks passed, '/a' stands; not yet: '/b', '/c'."
    assert found[0].failure is FailureCause.NO_SPACE
    assert [(tmp_path / name).read_text() for name in ("a", "b", "c")] == ["new", "old", "old"]
    assert names(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("change", ["gone", "other"])
def test_a_candidate_that_was_touched_meanwhile_gets_no_place(tmp_path: Path, change: str) -> None:
    hidden = tmp_path / ".a.datum~.dpkg-tmp"
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        hidden.rename(tmp_path / "away")
        if change == "other":
            hidden.write_text("forged")
        with refused("set-incomplete"):
            writer.commit()
        writer.discard()
    assert names(tmp_path) == ([".a.datum~.dpkg-tmp", "away"] if change == "other" else ["away"])


def test_a_link_that_takes_a_candidate_s_name_right_after_the_look_is_no_bug_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not followed, and the set is incomplete: whoever makes names there does not end the pass."""
    hidden = tmp_path / ".a.datum~.dpkg-tmp"
    look = staging_changes.check_identity

    def late(*asked: Any) -> None:
        look(*asked)
        hidden.unlink(missing_ok=True)
        hidden.symlink_to("elsewhere")

    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        monkeypatch.setattr("datum.host.staging_puts.check_identity", late)
        with refused("set-incomplete"):
            writer.commit()
        monkeypatch.undo()
        writer.discard()
    assert names(tmp_path) == [".a.datum~.dpkg-tmp"]


def test_what_arrives_at_a_path_meanwhile_is_judged_again(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"new"))
        (tmp_path / "a").mkdir()
        with refused("set-incomplete") as found:
            writer.commit()
        assert "a directory stands there" in found[0].detail
        writer.discard()
    assert names(tmp_path) == ["a"]


def test_two_thousand_candidates_are_held_with_few_descriptors(enclosing: None, shell_root: Path) -> None:
    count = 2000
    for number in range(0, count, 2):
        (shell_root / f"etc/{number}").write_text("old\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    script = "cd /etc; n=0; for f in *; do read -r x < $f; [ $x = new ] && n=$((n+1)); done; [ $n = 2000 ]"
    with LocalHost(str(shell_root)) as host:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
        try:
            writer = host.staging()
            for number in range(count):
                writer.write_file(f"/etc/{number}", file_of(b"new\n"))
            writer.judge([check(script)])
            writer.commit()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert writer.remarks == []
    assert len(names(shell_root / "etc")) == count
    assert (shell_root / "etc/1999").read_text() == "new\n"


def test_an_ordinary_user_stages_a_set_of_every_kind(enclosing_nobody: None, nobody_shell_root: Path) -> None:
    fill(nobody_shell_root)
    for path in (nobody_shell_root / "etc").rglob("*"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def work() -> tuple[str, list[str]]:
        with LocalHost(str(nobody_shell_root)) as host:
            writer = host.staging()
            stage(writer)
            said = seen_by_check(writer)
            writer.judge([check()])
            writer.commit()
            writer.discard()
            return said, writer.remarks

    assert in_child(work, uid=NOBODY) == (SEEN, [])
    assert set(names(nobody_shell_root / "etc")) == {*CHANGED, "other"} - {"gone", "old.d"}


@needs_root
def test_in_a_users_directory_names_are_made_with_that_users_rights(enclosing_root: None, shell_root: Path) -> None:
    home = shell_root / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    for name in ("old", "gone", "link"):
        (home / name).write_text("old\n")
        os.chown(home / name, NOBODY, NOBODY)
    with LocalHost(str(shell_root)) as host:
        writer = host.staging()
        writer.write_file("/home/old", file_of(b"new\n"))
        writer.write_file("/home/new", file_of(b"new\n", uid=NOBODY, gid=NOBODY))
        writer.remove_file("/home/gone")
        writer.write_link("/home/link", LinkWrite("new", uid=NOBODY, gid=NOBODY, takes=()))
        assert seen_by_check(writer, "cd /home; cat old new link; test -e gone || echo gone") == "new\nnew\nnew\ngone"
        writer.commit()
    assert names(home) == ["link", "new", "old"]
    assert {path.lstat().st_uid for path in home.iterdir()} == {NOBODY}


def test_a_set_without_a_check_needs_no_judge(tmp_path: Path) -> None:
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.write_file("/a", file_of(b"a"))
        writer.judge([])
        writer.commit()
    assert (names(tmp_path), writer.remarks) == (["a"], [])


def test_a_directory_goes_where_others_make_names_one_name_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "tmp/d/e").mkdir(parents=True)
    (tmp_path / "tmp").chmod(0o1777)
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.remove_directory("/tmp/d", takes=("/tmp/d/e",))
        writer.commit()
    assert names(tmp_path / "tmp") == []


def test_what_arrives_in_a_directory_that_goes_is_put_back_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / ".d.datum~.dpkg-tmp").write_text("left by a killed write")
    real = staging_changes.rename

    def late(place: Place, name: str, other: str) -> None:
        (tmp_path / "d/arrived").touch()
        real(place, name, other)

    monkeypatch.setattr(staging_changes, "rename", late)
    with LocalHost(str(tmp_path)) as host:
        writer = host.staging()
        writer.remove_directory("/d")
        with refused("set-incomplete") as found:
            writer.commit()
        assert "'/d/arrived'" in found[0].detail
        writer.discard()
    assert (names(tmp_path), names(tmp_path / "d")) == (["d"], ["arrived"])


@needs_root
def test_what_is_mounted_on_is_not_removed(tmp_path: Path) -> None:
    def work() -> list[str]:
        private_mounts()
        for name in ("d", "f", "g"):
            (tmp_path / name).mkdir() if name == "d" else (tmp_path / name).touch()
        mount_tmpfs(tmp_path / "d")
        bind(tmp_path / "g", tmp_path / "f")
        with LocalHost(str(tmp_path)) as host:
            writer = host.staging()
            for remove, path in ((writer.remove_directory, "/d"), (writer.remove_file, "/f")):
                with refused("holds-mount"):
                    remove(path)
            writer.commit()
        return names(tmp_path)

    assert in_child(work) == ["d", "f", "g"]
