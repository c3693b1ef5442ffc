"""The file of a pause: whole or not at all, and none that somebody else could have written."""

import errno
import os
import threading
from pathlib import Path

import pytest

from datum.errors import ExitCode, StateError
from datum.state.pause import MOST_BYTES, UnusablePauseError, read_pause_bytes, remove_pause, write_pause_bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pause.yaml"


def test_what_was_written_is_read(path: Path) -> None:
    assert read_pause_bytes(path) is None
    write_pause_bytes(path, b"one")
    write_pause_bytes(path, b"two")
    assert read_pause_bytes(path) == b"two"
    assert [one.name for one in path.parent.iterdir()] == ["pause.yaml"]


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_everybody_may_read_it_and_nobody_else_write_it(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_pause_bytes(path, b"x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o644


def test_removing_says_whether_there_was_one(path: Path) -> None:
    assert remove_pause(path) is False
    write_pause_bytes(path, b"x")
    assert remove_pause(path) is True
    assert read_pause_bytes(path) is None


def test_nothing_is_removed_where_nothing_is_even_on_a_read_only_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert remove_pause(path) is False


def test_an_empty_folder_in_its_place_goes_and_a_full_one_stays(path: Path) -> None:
    path.mkdir()
    assert remove_pause(path) is True
    path.mkdir()
    write_pause_bytes(path, b"x")
    assert read_pause_bytes(path) == b"x"
    path.unlink()
    (path / "foreign").mkdir(parents=True)
    for act in (lambda: remove_pause(path), lambda: write_pause_bytes(path, b"x")):
        with pytest.raises(StateError) as caught:
            act()
        assert caught.value.diagnostics[0].code == "pause-unwritable"
        assert "move away" in caught.value.diagnostics[0].hint
    assert (path / "foreign").is_dir()


def test_what_a_killed_write_left_is_no_pause_and_goes_with_the_next_command(path: Path) -> None:
    part = path.with_name(".pause.yaml.part")
    part.write_text("half")
    assert read_pause_bytes(path) is None
    write_pause_bytes(path, b"x")
    assert not part.exists()
    part.write_text("half")
    remove_pause(path)
    assert not part.exists()


def test_a_link_a_directory_and_a_pipe_are_none(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("x")
    path.symlink_to(real)
    with pytest.raises(UnusablePauseError, match="symbolic link"):
        read_pause_bytes(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(UnusablePauseError, match="not a regular file"):
        read_pause_bytes(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(UnusablePauseError, match="not a regular file"):
        read_pause_bytes(path)


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_one_that_others_can_write_is_none(path: Path, mode: int) -> None:
    write_pause_bytes(path, b"x")
    path.chmod(mode)
    with pytest.raises(UnusablePauseError, match="others can write it"):
        read_pause_bytes(path)


def test_one_of_somebody_else_is_none(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    write_pause_bytes(path, b"x")
    os.chown(path, 65534, 65534)
    with pytest.raises(UnusablePauseError, match="belongs to user 65534"):
        read_pause_bytes(path)


def test_one_that_is_too_large_or_cannot_be_read_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(UnusablePauseError, match="larger"):
        read_pause_bytes(path)

    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    for name in ("fdopen", "open"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, refuse)
            with pytest.raises(UnusablePauseError, match="Input/output error"):
                read_pause_bytes(path)


def test_what_cannot_be_written_or_removed_is_told_and_the_old_one_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pause_bytes(path, b"old")

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(StateError) as caught:
            write_pause_bytes(path, b"new")
    (found,) = caught.value.diagnostics
    assert (found.code, caught.value.exit_code) == ("pause-unwritable", ExitCode.IOERR)
    assert "No space left" in found.detail
    assert read_pause_bytes(path) == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["pause.yaml"]
    with pytest.raises(StateError, match="cannot be removed"):
        remove_pause(path.parent / "missing" / "pause.yaml")


def test_many_that_write_at_once_leave_one_of_theirs(path: Path) -> None:
    texts = [str(number).encode() * 5000 for number in range(8)]
    threads = [threading.Thread(target=write_pause_bytes, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_pause_bytes(path) in texts
    assert [one.name for one in path.parent.iterdir()] == ["pause.yaml"]
