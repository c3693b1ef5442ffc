"""Sets that stand on the host before they are judged, where nothing else can be had: all of it, or what was there."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from datum.host import atomic, staging_checks, staging_puts
from datum.host.local import LocalHost
from datum.host.showing import Outcome
from datum.host.staging import StagingWriter
from datum.host.staging_changes import AttributesChange, Removal
from datum.host.staging_puts import Put
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileWrite, HostError, LinkWrite
from tests.unit.host.files import (
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
from tests.unit.host.in_child import NOBODY, in_child
from tests.unit.host.sets import CHANGED, SEEN, WHOLE, check, fill, stage, tree

GREP = ("/bin/sh", "-c", "while read line; do [ $line = good ] && exit 0; done < {path}; echo bad config >&2; exit 3")
REMARK = "checked_after_writing: no namespaces"


def wanted(data: bytes, argv: tuple[str, ...] = GREP, **options: object) -> FileWrite:
    return file_of(data, validate=argv, validate_timeout=10.0, **options)


@pytest.fixture(autouse=True)
def afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Outcome(passed=False, output="", reason_unavailable="no namespaces")
    monkeypatch.setattr(staging_checks, "run_shown", lambda *_, **__: outcome)


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot exchange names."""
    monkeypatch.setattr(atomic, "exchange", lambda *_: False)


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch, no_exchange: None) -> None:
    """One on which no file has two names either."""
    real = os.link

    def link(source: str, *rest: object, **options: object) -> None:
        if not source.startswith("/proc/self/fd/"):
            raise OSError(errno.EPERM, "")
        real(source, *rest, **options)  # type: ignore[arg-type] # as given

    monkeypatch.setattr(os, "link", link)


@pytest.fixture
def root(shell_root: Path) -> Path:
    fill(shell_root)
    return shell_root


@pytest.fixture
def writer(root: Path) -> Iterator[StagingWriter]:
    with LocalHost(str(root)) as host:
        yield host.staging()


def judged(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> None:
    """Let a check be what this says."""

    def run(*_: object, **__: object) -> None:
        look()

    monkeypatch.setattr(staging_checks, "run_program", run)


def test_a_set_that_a_check_refuses_is_taken_back_whole(root: Path, writer: StagingWriter) -> None:
    before = tree(root)
    inodes = {name: (root / "etc" / name).lstat().st_ino for name in CHANGED if (root / "etc" / name).exists()}
    stage(writer)
    with refused("check-failed") as found:
        writer.judge([check(f"{WHOLE}exit 1")])
    assert found[0].detail.endswith(f"the host is as it was. It said:\n{SEEN}\nIt ended with exit code 1.")
    assert {path: entry for path, entry in tree(root).items() if ".datum~.dpkg-tmp" not in path} == before
    writer.discard()
    assert tree(root) == before
    assert {name: (root / "etc" / name).lstat().st_ino for name in inodes} == inodes
    assert writer.remarks == [REMARK]


def test_a_written_set_that_is_refused_without_a_word_is_told_so(writer: StagingWriter) -> None:
    stage(writer)
    with refused("check-failed") as found:
        writer.judge([check("exit 1")])
    assert found[0].detail.endswith("It said nothing. It ended with exit code 1.")
    writer.discard()


def test_what_cannot_be_shown_and_must_not_be_written_is_not(root: Path, writer: StagingWriter) -> None:
    """Whoever asks has something to do before; judged again it is written."""
    before = tree(root)
    stage(writer)
    with refused("cannot-be-shown") as found:
        writer.judge([check(WHOLE)], writes=False)
    assert found[0].detail == "It cannot be shown to a check: no namespaces."
    assert {path: entry for path, entry in tree(root).items() if ".datum~.dpkg-tmp" not in path} == before
    assert writer.remarks == []
    with refused("cannot-be-shown"):
        writer.commit()
    assert {path: entry for path, entry in tree(root).items() if ".datum~.dpkg-tmp" not in path} == before
    writer.judge([check(WHOLE)])
    writer.commit()
    assert set(names(root / "etc")) == {*CHANGED, "other"} - {"gone", "old.d"}


@pytest.mark.parametrize("writes", [True, False])
def test_nothing_staged_is_the_host_as_it_is(root: Path, writer: StagingWriter, *, writes: bool) -> None:
    """Judged there; nothing would have to be written, so that is no question."""
    before = tree(root)
    with refused("check-failed"):
        writer.judge([check(f"{WHOLE}exit 1")], writes=writes)
    writer.discard()
    assert tree(root) == before
    assert writer.remarks == []


def test_a_set_that_every_check_passes_stays_and_what_was_kept_goes(root: Path, writer: StagingWriter) -> None:
    stage(writer)
    writer.judge([check(WHOLE), check()])
    assert len([name for name in names(root / "etc") if name.endswith(".datum~.dpkg-tmp")]) == len(CHANGED)
    writer.commit()
    writer.discard()
    assert set(names(root / "etc")) == {*CHANGED, "other"} - {"gone", "old.d"}
    assert (root / "etc/new.d/sub/deep").read_text() == "deep\n"
    assert (root / "etc/new").stat().st_nlink == 1
    assert writer.remarks == [REMARK]


def test_while_it_is_unjudged_a_leftover_stands_beside_every_path_of_the_set(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(writer)
    looked: list[bool] = []

    def look() -> None:
        with LocalHost(str(root)) as host:
            reader = host.reader()
            looked.extend(reader.examine(f"/etc/{name}").has_residue for name in CHANGED)
        raise HostError("no")

    judged(monkeypatch, look)
    with refused("check-failed"):
        writer.judge([check()])
    assert looked == [True] * len(CHANGED)
    writer.discard()


def test_the_next_pass_clears_what_a_killed_one_kept(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set stands unjudged, as after a kill; each leftover can be cleared once it is judged."""
    stage(writer)

    def pass_that_is_killed() -> None:
        judged(monkeypatch, lambda: os._exit(9))
        writer.judge([check()])

    with pytest.raises(EOFError):
        in_child(pass_that_is_killed)
    monkeypatch.undo()
    with LocalHost(str(root)) as host:
        again = host.staging()
        for name in CHANGED:
            assert host.reader().examine(f"/etc/{name}").has_residue
            again.remove_residue(f"/etc/{name}")
        again.judge([check(WHOLE)])
        again.commit()
        again.discard()
    assert set(names(root / "etc")) == {*CHANGED, "other"} - {"gone", "old.d"}


def test_what_cannot_be_written_lets_all_before_it_be_taken_back(root: Path, writer: StagingWriter) -> None:
    before = tree(root)
    stage(writer)
    (root / "etc/dir-kind").unlink()
    (root / "etc/dir-kind").mkdir()
    with refused("kind-in-the-way"):
        writer.judge([check()])
    writer.discard()
    (root / "etc/dir-kind").rmdir()
    (root / "etc/dir-kind").write_text("file\n")
    assert tree(root) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_an_interrupted_check_puts_everything_back(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    before = tree(root)
    stage(writer)

    def interrupted() -> None:
        assert (root / "etc/replaced").read_text() == "new\n"
        raise error

    judged(monkeypatch, interrupted)
    with pytest.raises(error):
        writer.judge([check()])
    writer.discard()
    assert tree(root) == before


def test_what_is_judged_and_not_committed_is_put_back(root: Path, writer: StagingWriter) -> None:
    before = tree(root)
    stage(writer)
    writer.judge([check()])
    assert (root / "etc/replaced").read_text() == "new\n"
    writer.discard()
    assert tree(root) == before


def test_a_check_that_runs_too_long_refuses(root: Path, writer: StagingWriter) -> None:
    writer.write_file("/etc/replaced", wanted(b"good\n", ("/bin/sh", "-c", "while :; do :; done")))
    writer._judges[0] = staging_checks.Judge.of_file(
        "/etc/replaced", file_of(b"", validate=("/bin/sh", "-c", "while :; do :; done"), validate_timeout=0.3)
    )
    with refused("check-failed") as found:
        writer.judge([])
    assert "ran longer than 0.3 s" in found[0].detail
    writer.discard()
    assert (root / "etc/replaced").read_text() == "old\n"


def test_what_cannot_be_put_back_is_named_and_left_beside(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write_file("/etc/replaced", file_of(b"new\n"))
    writer.write_file("/etc/new", file_of(b"new\n"))
    monkeypatch.setattr(staging_puts, "exchange", lambda *_: False)
    with refused("not-restored") as found:
        writer.judge([check("exit 1")])
    assert "'/etc/replaced'" in found[0].detail
    assert "refuses the candidates" in found[0].detail
    writer.discard()
    assert (root / "etc/.replaced.datum~.dpkg-tmp").read_text() == "old\n"
    assert not (root / "etc/new").exists()


def test_an_interruption_that_cannot_be_undone_is_told(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        (root / "etc/.replaced.datum~.dpkg-tmp").unlink()
        raise KeyboardInterrupt

    writer.write_file("/etc/replaced", file_of(b"new\n"))
    judged(monkeypatch, interrupted)
    with refused("not-restored") as found:
        writer.judge([check()])
    assert ".replaced.datum~.dpkg-tmp' is not what it was" in found[0].detail


def test_what_cannot_be_dropped_is_told_once_the_rest_is(
    root: Path, writer: StagingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(writer)
    writer.judge([check()])
    (root / "etc/.kind.datum~.dpkg-tmp/arrived").touch()
    with refused("directory-not-empty"):
        writer.commit()
    writer.discard()
    assert [name for name in names(root / "etc") if name.startswith(".")] == [".kind.datum~.dpkg-tmp"]
    assert (root / "etc/kind").read_text() == "kind\n"


@pytest.mark.parametrize("how", ["exchange", "no_exchange", "no_links"])
@pytest.mark.parametrize("is_refused", [True, False])
def test_files_are_kept_whatever_the_file_system_can(
    root: Path, writer: StagingWriter, request: pytest.FixtureRequest, how: str, is_refused: bool
) -> None:
    if how != "exchange":
        request.getfixturevalue(how)
    etc = root / "etc"
    (etc / "replaced").chmod(0o4751)
    if not os.geteuid():
        os.chown(etc / "replaced", 55, 56)
        (etc / "replaced").chmod(0o4751)
    before = tree(root)
    inode = (etc / "replaced").stat().st_ino
    writer.write_file("/etc/replaced", file_of(b"new\n", mode="0640"))
    writer.write_file("/etc/new", file_of(b"new\n"))
    if is_refused:
        with refused("check-failed"):
            writer.judge([check("exit 1")])
        writer.discard()
        assert tree(root) == before
        assert ((etc / "replaced").stat().st_ino == inode) == (how != "no_links")
    else:
        writer.judge([check()])
        writer.commit()
        writer.discard()
        assert [(etc / name).read_text() for name in ("replaced", "new")] == ["new\n"] * 2
        assert [name for name in names(etc) if name.startswith(".")] == []


def test_hard_links_that_are_broken_are_told(root: Path, writer: StagingWriter) -> None:
    os.link(root / "etc/replaced", root / "etc/second")
    writer.write_file("/etc/replaced", file_of(b"new\n"))
    writer.judge([check()])
    writer.commit()
    assert writer.remarks == [REMARK, "hard_links_broken: 1"]
    assert (root / "etc/second").read_text() == "old\n"


def test_what_the_file_system_could_not_put_back_is_not_changed(
    root: Path, writer: StagingWriter, no_links: None
) -> None:
    before = tree(root)
    os.mkfifo(root / "etc/fifo")
    for stage_one in changes(
        lambda: writer.write_link("/etc/link", LinkWrite("new")),
        lambda: writer.write_file("/etc/kind", file_of(b"x", takes=("/etc/kind/in",))),
        lambda: writer.make_directory("/etc/dir-kind", DirectoryWrite(replaces=True)),
        lambda: writer.remove_file("/etc/fifo"),
        lambda: writer.write_file("/etc/fifo", file_of(b"x", takes=())),
    ):
        stage_one()
        with refused("cannot-restore"):
            writer.judge([check()])
        writer.discard()
    (root / "etc/fifo").unlink()
    assert tree(root) == before


def test_a_directory_where_others_make_names_is_not_kept_there(root: Path, writer: StagingWriter) -> None:
    (root / "tmp").chmod(0o1777)
    (root / "tmp/d").mkdir()
    writer.remove_directory("/tmp/d")
    with refused("cannot-restore"):
        writer.judge([check()])
    writer.discard()
    assert names(root / "tmp") == ["d"]


@needs_root
def test_in_a_users_directory_a_set_is_taken_back_too(root: Path, writer: StagingWriter) -> None:
    home = root / "home"
    home.mkdir()
    for name in ("old", "gone", "attributes"):
        (home / name).write_text("old\n")
    for path in (home, *home.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    before = tree(home)
    for is_refused in (True, False):
        writer.write_file("/home/old", file_of(b"new\n"))
        writer.write_file("/home/new", file_of(b"new\n", uid=NOBODY, gid=NOBODY))
        writer.remove_file("/home/gone")
        writer.set_attributes("/home/attributes", mode="0600")
        if is_refused:
            with refused("check-failed"):
                writer.judge([check("exit 1")])
            writer.discard()
            assert tree(home) == before
        else:
            writer.judge([check()])
            writer.commit()
            writer.discard()
    assert names(home) == ["attributes", "new", "old"]
    assert {path.stat().st_uid for path in home.iterdir()} == {NOBODY}


@needs_root
def test_a_mount_point_is_written_in_place_and_put_back(root: Path) -> None:
    def work() -> list[str]:
        private_mounts()
        (root / "real").write_bytes(b"old")
        (root / "etc/bound").touch()
        bind(root / "real", root / "etc/bound")
        with writing(root) as writer:
            with refused("check-failed"):
                writer.write_file("/etc/bound", wanted(b"bad\n", mode="0600"))
            assert (root / "real").read_bytes() == b"old"
            writer.write_file("/etc/bound", wanted(b"good\n"))
            assert (root / "real").read_bytes() == b"good\n"
            assert writer.remarks == [REMARK, "not_atomic"] * 2
        with LocalHost(str(root)) as host:
            staging = host.staging()
            staging.write_link("/etc/bound", LinkWrite("x", takes=()))
            with refused() as found:
                staging.judge([check()])
            staging.discard()
            assert found[0].failure is FailureCause.BUSY
            assert (root / "real").read_bytes() == b"good\n"
        return [name for name in names(root / "etc") if name.startswith(".")]

    assert in_child(work) == []


@needs_root
def test_a_full_disk_lets_everything_be_as_it_was(root: Path) -> None:
    def work() -> list[str]:
        private_mounts()
        (root / "small").mkdir()
        mount_tmpfs(root / "small", "nr_inodes=6")
        for name in ("a", "b"):
            (root / "small" / name).write_text("old")
        with LocalHost(str(root)) as host:
            writer = host.staging()
            writer.write_file("/small/a", file_of(b"new"))
            writer.set_attributes("/small/b", mode="0600")
            writer.write_link("/small/l", LinkWrite("x"))
            for number in range(9):
                try:
                    (root / f"small/filler{number}").touch()
                except OSError:
                    break
            with refused() as found:
                writer.judge([check()])
            assert found[0].failure is FailureCause.NO_SPACE
            writer.discard()
        assert (root / "small/b").stat().st_mode & 0o777 == 0o644
        return [name for name in names(root / "small") if not name.startswith("filler")]

    assert in_child(work) == ["a", "b"]


@needs_root
@pytest.mark.parametrize("argv", [GREP, ("/no-such-program",), ("/bin/sh", "-c", "kill -9 $$")])
def test_a_refused_file_is_taken_back(root: Path, argv: tuple[str, ...]) -> None:
    etc = root / "etc"
    (etc / "replaced").chmod(0o4751)
    before = tree(etc)
    with writing(root) as writer:
        for path in ("/etc/replaced", "/etc/new"):
            with refused("check-not-run" if "no-such" in argv[0] else "check-failed") as found:
                writer.write_file(path, wanted(b"bad\n", argv, mode="0644"))
            assert argv is not GREP or "bad config" in found[0].detail
            assert (found[0].failure is FailureCause.CHECK) == (found[0].diagnostics[0].code == "check-failed")
        assert writer.remarks == [REMARK] * 2
    assert tree(etc) == before


def test_an_accepted_file_stays(root: Path) -> None:
    with writing(root) as writer:
        for path in ("/etc/replaced", "/etc/new"):
            writer.write_file(path, wanted(b"good\n"))
    assert [(root / "etc" / name).read_bytes() for name in ("replaced", "new")] == [b"good\n"] * 2
    assert [name for name in names(root / "etc") if name.startswith(".")] == []


def test_nothing_is_undone_that_was_not_done(root: Path) -> None:
    before = tree(root)
    with LocalHost(str(root)) as host:
        direct = host.writer()
        for change in (
            Removal("/etc/gone", "/etc/gone", None),
            AttributesChange("/etc/attributes", "/etc/attributes", "0600", None, None),
        ):
            change.restore(direct)
            change.drop(direct)
        writer = host.staging()
        writer.write_file("/etc/new", file_of(b"x"))
        (put,) = writer.set.ordered
        assert isinstance(put, Put)
        put.restore(direct)
        put.drop(direct)
        writer.discard()
    assert tree(root) == before
