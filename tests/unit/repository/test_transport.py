"""What is made of a git program's answers; real ones are in tests/integration/test_repository.py."""

import errno
import os
import time
from pathlib import Path

import pytest
from attrs import evolve

from datum.errors import DatumError, RepositoryUnreachableError, RevisionNotFoundError, StateError
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, HostError
from datum.repository.remote import Remote
from datum.repository.route import GIT_ENVIRONMENT, Download
from datum.repository.transport import ask_remote, fetch_commit, repack

COMMIT = "a" * 40
ADVERT = b"000eversion 2\n0000"


class Door:
    """Gives one answer to every program, and remembers what was run."""

    def __init__(self, answer: CommandOutcome | HostError) -> None:
        self.answer = answer
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> CommandOutcome:
        self.commands.append(command)
        if isinstance(self.answer, HostError):
            raise self.answer
        return self.answer


def code_of(error: pytest.ExceptionInfo[DatumError]) -> str:
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.detail
    assert diagnostic.hint
    return diagnostic.code


def download(byte_limit: int = 1000) -> Download:
    return Download(Remote("/srv/fleet"), "main", COMMIT, 5.0, byte_limit)


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def test_one_process_with_exact_names_and_our_environment_asks() -> None:
    door = Door(CommandOutcome(0, ADVERT + packet(f"{COMMIT} refs/heads/main\n") + b"0000", b""))
    revision = ask_remote(door, Remote("/srv/fleet"), "main", timeout=7.0)
    assert str(revision) == f"main@sha1:{COMMIT}"
    (command,) = door.commands
    assert command.argv == ("git", "upload-pack", "--", "/srv/fleet")
    assert command.timeout == 7.0
    assert command.stdin.count(b"ref-prefix ") == 3
    assert command.environment == {**GIT_ENVIRONMENT, "GIT_PROTOCOL": "version=2"}
    assert Path(command.environment["GIT_CONFIG_GLOBAL"]).is_file()


def test_a_name_that_only_begins_like_the_ref_is_not_the_ref() -> None:
    answer = packet(f"{'b' * 40} refs/heads/main2\n") + packet(f"{COMMIT} refs/heads/main")
    door = Door(CommandOutcome(0, ADVERT + answer + b"0000", b""))
    assert ask_remote(door, Remote("/srv/fleet"), "main", timeout=7.0).commit == COMMIT


def test_a_ref_with_an_at_sign_does_not_spoil_the_text_form() -> None:
    door = Door(CommandOutcome(0, ADVERT + packet(f"{COMMIT} refs/heads/a@b\n") + b"0000", b""))
    assert str(ask_remote(door, Remote("/srv/fleet"), "a@b", timeout=7.0)) == f"sha1:{COMMIT}"


@pytest.mark.parametrize("answer", [b"hello world", b"0003", b"zzzz"])
def test_an_answer_in_no_protocol_is_unreachable(answer: bytes) -> None:
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(Door(CommandOutcome(0, answer, b"")), Remote("/srv/fleet"), "main", timeout=1.0)
    assert code_of(caught) == "remote-malformed"


@pytest.mark.parametrize(
    "failure",
    [HostError("late", cause=Cause.DEADLINE), HostError("late", failure=FailureCause.DEADLINE)],
)
def test_a_late_answer_is_unreachable_and_names_the_time(failure: HostError) -> None:
    with pytest.raises(RepositoryUnreachableError, match="3 seconds") as caught:
        ask_remote(Door(failure), Remote("/srv/fleet"), "main", timeout=3.0)
    assert code_of(caught) == "remote-timeout"


def test_a_missing_git_program_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(RepositoryUnreachableError) as caught:
        fetch_commit(Door(HostError("'git' is not on this host", code="program-missing")), tmp_path, download())
    assert code_of(caught) == "git-not-runnable"
    assert "apt install git" in caught.value.diagnostics[0].hint


def test_a_git_that_cannot_be_started_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """Too many open files ended with the advice to install git."""
    with pytest.raises(RepositoryUnreachableError) as caught:
        fetch_commit(Door(HostError("Too many open files")), tmp_path, download())
    assert code_of(caught) == "git-not-runnable"
    assert "apt install git" not in caught.value.diagnostics[0].hint


FULL = ["No space left on device", "Read-only file system", "Disk quota exceeded"]


@pytest.mark.parametrize("words", FULL)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_a_state_error(
    tmp_path: Path, words: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As this process finds it, whatever was said."""

    def refuse(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    door = Door(CommandOutcome(128, b"", f"fatal: cannot write: {words}\n".encode()))
    with pytest.raises(StateError, match=os.strerror(number)) as caught:
        fetch_commit(door, tmp_path / "store", download())
    assert code_of(caught) == "state-not-writable"


def test_a_disk_with_hardly_any_room_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git may have removed what it could not write."""
    status = os.statvfs(tmp_path)
    monkeypatch.setattr(os, "fstatvfs", lambda _descriptor: os.statvfs_result((*status[:4], 1, *status[5:])))
    with pytest.raises(StateError, match="No space left"):
        fetch_commit(Door(CommandOutcome(128, b"", b"No space left on device")), tmp_path / "store", download())


@pytest.mark.parametrize("words", FULL)
def test_a_server_that_says_so_does_not_end_the_pass(tmp_path: Path, words: str) -> None:
    """Over ssh nothing tells its words from git's; looked at is the state directory, where nothing is left."""
    door = Door(CommandOutcome(128, b"", f"fatal: cannot write: {words}\n".encode()))
    with pytest.raises(RepositoryUnreachableError, match=words) as caught:
        fetch_commit(door, tmp_path / "store", download())
    assert code_of(caught) == "fetch-failed"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("setpriv: failed to execute prlimit: No such file or directory", "prlimit"),
        ("prlimit: failed to execute ssh: No such file or directory", "ssh"),
        ("stdbuf: failed to run command \u2018git\u2019: No such file or directory", "git"),
        ("stdbuf: failed to run command 'git': No such file or directory", "git"),
        ("error: cannot run ssh: No such file or directory\nfatal: unable to fork", "ssh"),
        ("git: 'remote-https' is not a git command. See 'git --help'.", "remote-https"),
    ],
)
def test_a_missing_program_is_named(words: str, name: str) -> None:
    """It is another one that says so: the one that is to become it."""
    door = Door(CommandOutcome(127, b"", f"{words}\n".encode()))
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(door, Remote("/srv/fleet"), "main", timeout=1.0)
    assert code_of(caught) == "git-not-runnable"
    assert name in caught.value.diagnostics[0].detail
    assert "coreutils" in caught.value.diagnostics[0].hint


def test_a_program_that_may_not_run_is_not_said_to_be_missing() -> None:
    door = Door(CommandOutcome(126, b"", b"prlimit: failed to execute ssh: Permission denied\n"))
    with pytest.raises(RepositoryUnreachableError, match="ssh cannot be run: Permission denied") as caught:
        ask_remote(door, Remote("/srv/fleet"), "main", timeout=1.0)
    assert "apt install" not in caught.value.diagnostics[0].hint


def test_a_server_cannot_have_a_program_missing() -> None:
    """Those words count only where nothing else was said before."""
    words = b"debug1: x\nprlimit: failed to execute ssh: No such file or directory\n"
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(Door(CommandOutcome(255, b"", words)), Remote("/srv/fleet"), "main", timeout=1.0)
    assert code_of(caught) == "repository-missing"


def test_what_is_said_beside_a_list_does_not_make_it_long() -> None:
    """Only what a server answers with is the list."""
    door = Door(CommandOutcome(0, ADVERT[:-4], b"x" * 9000, is_cut=True))
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(door, Remote("/srv/fleet"), "main", timeout=1.0)
    assert code_of(caught) != "remote-list-too-long"
    door = Door(CommandOutcome(0, ADVERT + packet(f"{COMMIT} refs/heads/main"), b"", is_cut=True))
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(door, Remote("/srv/fleet"), "main", timeout=1.0)
    assert code_of(caught) == "remote-list-too-long"


@pytest.mark.parametrize("name", [b"refs/heads/a\tb", b"refs/heads/\xff", b"main", b"refs/heads/\x1b[1m"])
def test_head_that_leads_to_no_ref_is_not_followed(name: bytes) -> None:
    """The name is kept and shown."""
    line = b"%s HEAD symref-target:%s\n" % (COMMIT.encode(), name)
    door = Door(CommandOutcome(0, ADVERT + f"{len(line) + 4:04x}".encode() + line + b"0000", b""))
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(door, Remote("/srv/fleet"), "HEAD", timeout=1.0)
    assert code_of(caught) == "remote-malformed"
    assert str(caught.value).isascii()


def test_names_of_refs_are_shown_shortened() -> None:
    """A server says what it likes, and a report is kept."""
    names = b"".join(packet(f"{COMMIT} refs/heads/{number}\x1b{'x' * 50_000}\n") for number in range(8))
    door = Door(CommandOutcome(0, ADVERT + names + b"0000", b""))
    with pytest.raises(RevisionNotFoundError) as caught:
        ask_remote(door, Remote("/srv/fleet"), "main", timeout=1.0)
    assert len(caught.value.diagnostics[0].detail) < 1200
    assert "\x1b" not in caught.value.diagnostics[0].detail


def test_a_remote_has_one_end_for_all_tries(tmp_path: Path) -> None:
    """What a first try has used up a second one has not; told is what the remote was given."""
    door = Door(HostError("late", cause=Cause.DEADLINE))
    late = evolve(download(), timeout=90.0, end=time.monotonic() - 1)
    with pytest.raises(RepositoryUnreachableError, match="90 seconds"):
        fetch_commit(door, tmp_path, late)
    assert door.commands[0].timeout == 0
    with pytest.raises(RepositoryUnreachableError):
        fetch_commit(door, tmp_path, evolve(late, end=time.monotonic() + 40))
    assert door.commands[1].timeout <= 40


def test_a_failed_fetch_shows_the_words_of_git_bounded(tmp_path: Path) -> None:
    door = Door(CommandOutcome(128, b"", b"\nfatal: one\n\nfatal: " + b"x" * 9000))
    with pytest.raises(RepositoryUnreachableError, match="fatal: one / fatal: xxx") as caught:
        fetch_commit(door, tmp_path, download())
    assert code_of(caught) == "fetch-failed"
    assert len(str(caught.value)) < 1500


def test_a_silent_death_shows_the_exit_code(tmp_path: Path) -> None:
    with pytest.raises(RepositoryUnreachableError, match="exit code -9"):
        fetch_commit(Door(CommandOutcome(-9, b"", b"")), tmp_path, download())


def test_the_fetch_is_bounded_exact_and_writes_the_given_store_only(tmp_path: Path) -> None:
    door = Door(CommandOutcome(0, b"", b""))
    with pytest.raises(RepositoryUnreachableError):
        fetch_commit(door, tmp_path, download(byte_limit=77))
    argv = door.commands[0].argv
    assert (argv[0], "--fsize=77" in argv[: argv.index("--")]) == ("prlimit", True)
    assert f"--git-dir={tmp_path}" in argv
    assert argv[-2:] == ("/srv/fleet", f"+{COMMIT}:refs/incoming/commit")
    assert "--no-tags" in argv


@pytest.mark.parametrize(
    ("answer", "worked"),
    [(CommandOutcome(0, b"", b""), True), (CommandOutcome(1, b"", b""), False), (HostError("late"), False)],
)
def test_a_repack_that_fails_is_an_answer_and_no_error(
    tmp_path: Path, answer: CommandOutcome | HostError, worked: bool
) -> None:
    assert repack(Door(answer), tmp_path, timeout=1.0) is worked


def test_a_program_that_cannot_be_enclosed_is_told_with_its_cure() -> None:
    """It is an error of the remote: what is wrong on this host is repaired meanwhile."""
    refusal = HostError("No namespace.", code="program-not-enclosed", summary="Not enclosed.", hint="let it have that")
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(Door(refusal), Remote("/srv/fleet"), "main", timeout=5)
    assert caught.value.diagnostics == refusal.diagnostics
