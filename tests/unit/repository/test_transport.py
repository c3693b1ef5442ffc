"""What is made of a git program's answers; real ones are in tests/integration/test_repository.py."""

from pathlib import Path

import pytest

from datum.errors import DatumError, RepositoryUnreachableError, StateError
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, HostError
from datum.repository.transport import GIT_ENVIRONMENT, Download, ask_remote, fetch_commit, repack

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
    return Download("/srv/fleet", "main", COMMIT, 5.0, byte_limit)


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def test_one_process_with_exact_names_and_our_environment_asks() -> None:
    door = Door(CommandOutcome(0, ADVERT + packet(f"{COMMIT} refs/heads/main\n") + b"0000", b""))
    revision = ask_remote(door, "/srv/fleet", "main", timeout=7.0)
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
    assert ask_remote(door, "/srv/fleet", "main", timeout=7.0).commit == COMMIT


def test_a_ref_with_an_at_sign_does_not_spoil_the_text_form() -> None:
    door = Door(CommandOutcome(0, ADVERT + packet(f"{COMMIT} refs/heads/a@b\n") + b"0000", b""))
    assert str(ask_remote(door, "/srv/fleet", "a@b", timeout=7.0)) == f"sha1:{COMMIT}"


@pytest.mark.parametrize("answer", [b"hello world", b"0003", b"zzzz"])
def test_an_answer_in_no_protocol_is_unreachable(answer: bytes) -> None:
    with pytest.raises(RepositoryUnreachableError) as caught:
        ask_remote(Door(CommandOutcome(0, answer, b"")), "/srv/fleet", "main", timeout=1.0)
    assert code_of(caught) == "remote-malformed"


@pytest.mark.parametrize(
    "failure",
    [HostError("late", cause=Cause.DEADLINE), HostError("late", failure=FailureCause.DEADLINE)],
)
def test_a_late_answer_is_unreachable_and_names_the_time(failure: HostError) -> None:
    with pytest.raises(RepositoryUnreachableError, match="3 seconds") as caught:
        ask_remote(Door(failure), "/srv/fleet", "main", timeout=3.0)
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


@pytest.mark.parametrize("words", ["No space left on device", "Read-only file system", "Disk quota exceeded"])
def test_a_full_or_read_only_disk_is_a_state_error(tmp_path: Path, words: str) -> None:
    door = Door(CommandOutcome(128, b"", f"fatal: cannot write: {words}\n".encode()))
    with pytest.raises(StateError, match=words) as caught:
        fetch_commit(door, tmp_path, download())
    assert code_of(caught) == "state-not-writable"


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
    assert argv[:2] == ("prlimit", "--fsize=77")
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
