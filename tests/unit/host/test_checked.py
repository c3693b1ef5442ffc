"""Files that a program has to accept first, or afterwards where nothing else can be had."""

import errno
import os
from pathlib import Path

import pytest

from datum.host import atomic, candidate, checked
from datum.host.candidate import CandidateCheck, CheckOutcome
from datum.model.result import FailureCause
from datum.provider.host import FileWrite, HostError
from tests.unit.host.files import bind, file_of, names, needs_root, private_mounts, refused, writing
from tests.unit.host.in_child import in_child

GREP = ("/bin/sh", "-c", "while read line; do [ $line = good ] && exit 0; done < {path}; echo bad config >&2; exit 3")


def wanted(data: bytes, argv: tuple[str, ...] = GREP, **options: object) -> FileWrite:
    return file_of(data, validate=argv, validate_timeout=10.0, **options)


@pytest.fixture
def afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        candidate,
        "check_candidate",
        lambda _: CheckOutcome(passed=False, output="", reason_unavailable="no namespaces"),
    )


@pytest.fixture
def inodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot exchange names."""
    monkeypatch.setattr(checked, "exchange", lambda *_: False)


def test_candidate_is_seen_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("/run")
    asked: list[CandidateCheck] = []

    def check(request: CandidateCheck) -> CheckOutcome:
        asked.append(request)
        return CheckOutcome(passed=request.data == b"good", output="line 1: no")

    monkeypatch.setattr(candidate, "check_candidate", check)
    with writing(tmp_path) as writer:
        with refused("check-failed") as found:
            writer.write_file("/var/run/f", wanted(b"bad", mode="0640"))
        assert found[0].failure is FailureCause.CHECK
        assert "line 1: no" in found[0].detail
        assert names(tmp_path / "run") == []
        writer.write_file("/var/run/f", wanted(b"good", mode="0640"))
        assert (tmp_path / "run/f").read_bytes() == b"good"
        writer.write_file("/var/run/f", wanted(b"good"))
        assert writer.remarks == []
    first, second, third = asked
    assert (first.root, first.path, first.mode, first.exists) == (str(tmp_path), "/run/f", 0o640, False)
    assert (first.uid, first.gid, first.argv, first.timeout) == (os.geteuid(), os.getegid(), GREP, 10.0)
    assert not second.exists
    assert (third.exists, third.mode) == (True, 0o640)


def test_real_candidate_check_shows_the_file_at_its_path(shell_root: Path, enclosing: None) -> None:
    with writing(shell_root) as writer:
        with refused("check-failed") as found:
            writer.write_file("/etc/f", wanted(b"poor\n"))
        assert "bad config" in found[0].detail
        assert names(shell_root / "etc") == []
        writer.write_file("/etc/f", wanted(b"good\n"))
        assert writer.remarks == []
    assert (shell_root / "etc/f").read_bytes() == b"good\n"


@needs_root
@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("argv", [GREP, ("/no-such-program",), ("/bin/sh", "-c", "kill -9 $$")])
def test_afterwards_a_refused_file_is_taken_back(
    shell_root: Path, afterwards: None, request: pytest.FixtureRequest, can_exchange: bool, argv: tuple[str, ...]
) -> None:
    if not can_exchange:
        request.getfixturevalue("inodes")
    etc = shell_root / "etc"
    (etc / "old").write_bytes(b"old")
    os.chown(etc / "old", 55, 56)
    (etc / "old").chmod(0o4751)
    before = (etc / "old").stat()
    # Held open, its inode cannot be used again for the file that takes its place.
    with writing(shell_root) as writer, (etc / "old").open("rb"):
        for path in ("/etc/old", "/etc/new"):
            with refused("check-not-run" if "no-such" in argv[0] else "check-failed") as found:
                writer.write_file(path, wanted(b"bad\n", argv, mode="0644", uid=0, gid=0))
            assert argv is not GREP or "bad config" in found[0].detail
            assert (found[0].failure is FailureCause.CHECK) == (found[0].diagnostics[0].code == "check-failed")
        assert writer.remarks == ["checked_after_writing: no namespaces"] * 2
        after = (etc / "old").stat()
    assert (etc / "old").read_bytes() == b"old"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, 55, 56)
    assert (after.st_ino == before.st_ino) == can_exchange
    assert names(etc) == ["old"]


@needs_root
@pytest.mark.parametrize("can_exchange", [True, False])
def test_afterwards_an_accepted_file_stays(
    shell_root: Path, afterwards: None, request: pytest.FixtureRequest, can_exchange: bool
) -> None:
    if not can_exchange:
        request.getfixturevalue("inodes")
    etc = shell_root / "etc"
    (etc / "old").write_bytes(b"old")
    with writing(shell_root) as writer:
        for path in ("/etc/old", "/etc/new"):
            writer.write_file(path, wanted(b"good\n"))
    assert (etc / "old").read_bytes() == (etc / "new").read_bytes() == b"good\n"
    assert names(etc) == ["new", "old"]


def test_interrupted_check_puts_the_old_file_back(
    tmp_path: Path, afterwards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def interrupted(*_: object, **__: object) -> None:
        assert (tmp_path / "f").read_bytes() == b"bad"
        raise KeyboardInterrupt

    monkeypatch.setattr("datum.host.program.run_program", interrupted)
    with writing(tmp_path) as writer, pytest.raises(KeyboardInterrupt):
        writer.write_file("/f", wanted(b"bad"))
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_old_file_that_cannot_be_put_back_is_left_beside_and_named(
    tmp_path: Path, afterwards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"old")
    answers = [True]
    real = atomic.exchange
    monkeypatch.setattr(checked, "exchange", lambda *a: answers.pop() and real(*a) if answers else False)

    def fails(*_: object, **__: object) -> None:
        raise HostError("no")

    monkeypatch.setattr("datum.host.program.run_program", fails)
    with writing(tmp_path) as writer, refused() as found:
        writer.write_file("/f", wanted(b"bad"))
    assert ".f.datum.dpkg-tmp" in found[0].detail
    assert (tmp_path / ".f.datum.dpkg-tmp").read_bytes() == b"old"


def test_link_that_could_not_be_put_back_is_not_replaced(tmp_path: Path, afterwards: None, inodes: None) -> None:
    (tmp_path / "f").symlink_to("other")
    with writing(tmp_path) as writer, refused("cannot-restore"):
        writer.write_file("/f", wanted(b"x"))
    assert (tmp_path / "f").is_symlink()
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize(("code", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_kernel_that_does_not_exchange(
    tmp_path: Path, afterwards: None, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    (tmp_path / "f").write_bytes(b"old")

    class Libc:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def renameat2(self, *_: object) -> int:
            return -1

    with writing(tmp_path) as writer:
        monkeypatch.setattr("datum.host.program.run_program", lambda *_, **__: candidate_passed())
        with monkeypatch.context() as patch:
            patch.setattr("ctypes.CDLL", Libc)
            patch.setattr("ctypes.get_errno", lambda: code)
            if fails:
                with refused():
                    writer.write_file("/f", wanted(b"good"))
            else:
                writer.write_file("/f", wanted(b"good"))
    assert (tmp_path / "f").read_bytes() == (b"old" if fails else b"good")
    assert names(tmp_path) == ["f"]


def candidate_passed() -> object:
    from datum.provider.host import CommandOutcome

    return CommandOutcome(0, b"", b"")


@needs_root
def test_mount_point_is_checked_afterwards_too(shell_root: Path, afterwards: None) -> None:
    def work() -> None:
        private_mounts()
        (shell_root / "etc/f").touch()
        (shell_root / "real").write_bytes(b"old")
        bind(shell_root / "real", shell_root / "etc/f")
        with writing(shell_root) as writer:
            with refused("check-failed"):
                writer.write_file("/etc/f", wanted(b"bad\n"))
            assert (shell_root / "real").read_bytes() == b"old"
            writer.write_file("/etc/f", wanted(b"good\n"))
            assert (shell_root / "real").read_bytes() == b"good\n"

    in_child(work)
