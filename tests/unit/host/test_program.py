"""Programs: environment, deadline, bounds, failures, other roots, and read-only questions."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from datum.host import child, namespaces, program
from datum.host.child import OUTPUT_LIMIT, PreparationError, run_prepared
from datum.host.local import LocalHost
from datum.host.names import Account
from datum.host.program import how_it_ended, run_program
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import Command, HostError
from tests.unit.host.in_child import NOBODY, in_child, names


def sh(script: str, **options: object) -> Command:
    return Command(("sh", "-c", script), **{"timeout": 10.0, **options})  # type: ignore[arg-type] # by the tests' word


def out(script: str, **options: object) -> str:
    return run_program(sh(script, **options)).stdout.decode()


def test_the_environment_is_fixed_and_nothing_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    lines = run_program(Command(("env",), 10, environment={"EXTRA": "1"})).stdout.decode().split()
    assert sorted(lines) == [
        "EXTRA=1",
        f"HOME={'/' if os.geteuid() else '/root'}",
        "LC_ALL=C.UTF-8",
        f"PATH={child.PATH}",
    ]


def test_the_working_directory_umask_and_session_are_its_own(tmp_path: Path) -> None:
    pwd, umask, group, own = out("pwd; umask; ps -o pgid= $$; echo $$", directory=str(tmp_path)).split()
    assert (pwd, umask, group) == (str(tmp_path), "0022", own)


def test_no_descriptor_is_inherited(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        assert set(out("ls /proc/$$/fd").split()) <= {"0", "1", "2", "10"}


def test_an_agent_without_standard_streams_can_run_programs() -> None:
    def run() -> tuple[bytes, bytes, bytes]:
        for number in range(3):
            os.close(number)
        outcome = run_program(sh("cat; echo out; echo err >&2", stdin=b"in "))
        empty = run_program(sh("cat"))
        return outcome.stdout, outcome.stderr, empty.stdout

    assert in_child(run) == (b"in out\n", b"err\n", b"")


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT], ids=lambda one: one.name)
def test_signals_are_as_at_a_login(ignored: signal.Signals, request: pytest.FixtureRequest) -> None:
    """Python ignores SIGPIPE: a program that inherits that never ends in `yes | head`; nohup and `&` ignore others."""
    request.addfinalizer(partial(signal.signal, ignored, signal.signal(ignored, signal.SIG_IGN)))
    assert out("grep -E 'Sig(Ign|Blk)' /proc/self/status").split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]


def test_stdin_is_empty_unless_given() -> None:
    assert out("cat | wc -c").strip() == "0"
    assert out("cat | wc -c", stdin=b"x" * 300_000).strip() == "300000"


def test_a_program_need_not_read_what_it_is_given() -> None:
    assert out("exec <&-; echo done", stdin=b"x" * 3_000_000) == "done\n"


def test_output_is_bounded_and_says_so() -> None:
    outcome = run_program(sh("head -c 3000000 /dev/zero; echo problem >&2"))
    assert (len(outcome.stdout), outcome.stderr, outcome.is_cut) == (OUTPUT_LIMIT, b"problem\n", True)
    whole = run_program(sh(f"head -c {OUTPUT_LIMIT} /dev/zero"))
    assert (len(whole.stdout), whole.is_cut) == (OUTPUT_LIMIT, False)


def test_the_caller_says_which_exit_codes_are_success() -> None:
    assert run_program(sh("exit 3", success=frozenset({0, 3}))).exit_code == 3
    with pytest.raises(HostError) as raised:
        run_program(sh("exit 0", success=frozenset({3})))
    assert "ended with exit code 0" in raised.value.detail


def test_a_failure_shows_the_quoted_line_and_the_last_lines_of_stderr() -> None:
    with pytest.raises(HostError) as raised:
        run_program(sh("seq 1 9 >&2; exit 4"))
    assert raised.value.detail == "sh -c 'seq 1 9 >&2; exit 4' ended with exit code 4. It wrote: 5\n6\n7\n8\n9"
    (found,) = raised.value.diagnostics
    assert (found.code, found.summary) == ("program-failed", "A program failed.")
    assert found.hint == "run it by hand to see more"


def test_a_program_that_ran_too_long_says_what_can_be_raised() -> None:
    with pytest.raises(HostError) as raised:
        run_program(sh("exec sleep 60", timeout=0.05))
    (found,) = raised.value.diagnostics
    assert (found.code, found.summary) == ("program-deadline", "A program ran too long.")
    assert "`timeout`" in found.hint


def test_the_last_lines_are_shown_even_when_the_output_was_cut() -> None:
    with pytest.raises(HostError, match=r"It wrote: .*the end"):
        run_program(sh("head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2; echo the end >&2; exit 1"))


def test_a_program_that_says_all_on_stdout_is_quoted_too() -> None:
    with pytest.raises(HostError, match=r"exit code 1\. It wrote: sorry"):
        run_program(sh("echo sorry; exit 1"))


def test_a_silent_failure_is_told_without_lines() -> None:
    with pytest.raises(HostError, match=r"exit code 1\.$"):
        run_program(sh("exit 1"))


def test_a_signal_is_named() -> None:
    with pytest.raises(HostError, match="was ended by SIGSEGV"):
        run_program(sh("kill -SEGV $$"))
    assert how_it_ended(-63) == "was ended by signal 63"


def test_a_missing_program_is_named_with_what_to_do() -> None:
    with pytest.raises(HostError) as raised:
        run_program(Command(("/usr/bin/no-such-tool", "-x"), 5))
    (found,) = raised.value.diagnostics
    assert (found.code, found.hint) == ("program-missing", "install what brings no-such-tool, or correct the path")
    assert "'/usr/bin/no-such-tool -x' cannot be run" in found.detail


def test_a_program_that_may_not_be_run_is_denied(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    with pytest.raises(HostError, match="Permission denied") as raised:
        run_program(Command((str(tmp_path / "tool"),), 5))
    assert raised.value.cause is Cause.DENIED


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot be run: .*/gone: No such file or directory"):
        run_program(sh("true", directory=str(tmp_path / "gone")))


def test_an_argument_that_no_program_can_get_is_refused() -> None:
    with pytest.raises(HostError, match="holds a NUL byte"):
        run_program(Command(("echo", "a\0b"), 5))


def test_without_room_for_a_process_the_host_is_sick(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = names("/proc/self/fd")

    def refuse() -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(HostError, match="Cannot allocate memory") as raised:
        run_program(sh("true"))
    assert raised.value.cause is Cause.NO_MEMORY
    assert names("/proc/self/fd") == opened


def test_at_the_deadline_the_program_and_what_it_started_are_killed(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(HostError) as raised:
        run_program(sh(f"sleep 60 & echo $! > {tmp_path}/pid; echo waiting >&2; wait", timeout=0.4))
    assert time.monotonic() - started < 5
    assert (raised.value.cause, raised.value.failure) == (Cause.DEADLINE, FailureCause.DEADLINE)
    assert "ran longer than 0.4 s and was killed. It wrote: waiting" in raised.value.detail
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(pid: int) -> bool:
    """Whether a process ended; a zombie that its new parent has not reaped yet did."""
    for _attempt in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


def test_a_program_that_closed_its_output_is_still_held_to_the_deadline() -> None:
    with pytest.raises(HostError, match=r"ran longer than 0.3 s"):
        run_program(sh("exec >&- 2>&-; sleep 60", timeout=0.3))
    assert out("exec >&- 2>&-; sleep 0.2") == ""


def test_a_program_ends_when_it_ends_whatever_a_child_of_it_keeps_open(tmp_path: Path) -> None:
    """A daemon started by a maintainer's script keeps stdout open, and must live on."""
    started = time.monotonic()
    assert out(f"sleep 30 & echo $! > {tmp_path}/pid; echo started") == "started\n"
    assert time.monotonic() - started < 5
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 15)
    assert is_gone(pid)


def test_output_of_a_left_over_child_does_not_make_its_parent_late(tmp_path: Path) -> None:
    script = f"(while :; do echo y; sleep 0.01; done) & echo $! > {tmp_path}/pid"
    outcome = run_program(sh(script, timeout=0.5))
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert outcome.exit_code == 0


def test_what_a_question_leaves_behind_is_killed(tmp_path: Path) -> None:
    outcome = run_program(sh("sleep 60 & echo $!"), read_only=True)
    assert is_gone(int(outcome.stdout))


def test_an_interrupted_wait_kills_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []

    def interrupt(pid: int) -> bool:
        pids.append(pid)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(child, "_has_ended", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_program(sh("sleep 60"))
    assert is_gone(pids[0])


def test_a_program_that_cannot_be_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_GRACE", 0.0)
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    assert child.reap(pid) == -9
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def test_a_bug_while_preparing_is_no_silence() -> None:
    def broken() -> None:
        raise RuntimeError("oops")

    with pytest.raises(PreparationError) as raised:
        run_prepared(Command(("true",), 5), broken)
    assert raised.value.reason == "RuntimeError('oops')"


def become(prepare: Callable[[], None], refusal: BaseException) -> tuple[bytes, tuple[int, int]]:
    """Follow a child up to an exec that is refused; return what it reported, and its exit code and umask."""

    def refuse(*_arguments: object) -> None:
        raise refusal

    def leave(code: int) -> None:
        raise SystemExit(code)

    def follow() -> tuple[bytes, tuple[int, int]]:
        reading, status = os.pipe()
        really, os._exit, os.execvpe = os._exit, leave, refuse  # type: ignore[assignment] # this process ends soon
        try:
            child._become(sh("true"), prepare, {}, (0, 1, 2, status))
        except SystemExit as end:
            return os.read(reading, 4096), (int(str(end)), os.umask(0))
        finally:
            os._exit = really

    return in_child(follow)


def test_a_child_reports_what_refused_and_at_which_stage() -> None:
    assert become(lambda: None, OSError(8, "Exec format error")) == (b"start\x008\x00Exec format error", (127, 0o022))
    assert (
        become(lambda: os.chdir("/no/where"), OSError())[0] == b"prepare\x002\x00/no/where: No such file or directory"
    )
    assert become(lambda: None, ValueError("odd"))[0] == b"start\x000\x00ValueError('odd')"


def test_below_another_root_the_program_sees_only_that(shell_root: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root; an ordinary user's way has its own test")
    (shell_root / "etc/motd").write_text("inside\n")
    outcome = run_program(sh("cat /etc/motd; pwd", directory="/etc"), root=str(shell_root))
    assert outcome.stdout == b"inside\n/etc\n"


def test_a_root_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot be run: .*gone: No such file"):
        run_program(sh("true"), root=str(tmp_path / "gone"))


def test_an_ordinary_user_without_user_namespaces_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(root: str, directory: str) -> None:
        raise OSError(1, "unshare NEWNS, NEWUSER: Operation not permitted")

    monkeypatch.setattr(namespaces, "change_root", refuse)
    with pytest.raises(HostError, match="cannot be run: unshare NEWNS, NEWUSER: Operation not permitted") as raised:
        run_program(sh("true"), root=str(tmp_path))
    assert raised.value.diagnostics[0].hint == "run datum as root, or allow user namespaces"


def test_a_question_cannot_write(enclosing: None, tmp_path: Path) -> None:
    script = "touch /etc/datum-test || true; echo x > /tmp/datum-test && cat /tmp/datum-test; pwd"
    outcome = run_program(sh(script, directory="/etc"), read_only=True)
    assert outcome.stdout == b"x\n/etc\n"
    assert b"Read-only file system" in outcome.stderr
    assert not Path("/tmp/datum-test").exists()


def test_a_question_sees_what_lies_in_tmp(enclosing: None, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("seen")
    assert run_program(Command(("cat", str(tmp_path / "here")), 5), read_only=True).stdout == b"seen"


def test_a_question_below_another_root_has_devices_and_proc(enclosing: None, shell_root: Path) -> None:
    script = "echo x > /dev/null; cat /proc/self/comm; echo y > /etc/new || echo refused; echo z > /tmp/z; cat /tmp/z"
    outcome = run_program(sh(script), root=str(shell_root), read_only=True)
    assert outcome.stdout == b"cat\nrefused\nz\n"
    assert list((shell_root / "dev").iterdir()) == list((shell_root / "tmp").iterdir()) == []


def test_without_namespaces_a_question_is_asked_anyway(monkeypatch: pytest.MonkeyPatch, shell_root: Path) -> None:
    def refuse(root: str, directory: str) -> None:
        raise OSError(1, "unshare NEWNS: Operation not permitted")

    monkeypatch.setattr(namespaces, "only_read", refuse)
    assert run_program(sh("echo asked"), read_only=True).stdout == b"asked\n"
    if not os.geteuid():
        assert run_program(sh("echo asked"), root=str(shell_root), read_only=True).stdout == b"asked\n"


def test_an_ordinary_user_enters_a_root_too(enclosing_nobody: None, nobody_shell_root: Path) -> None:
    def ask() -> list[bytes]:
        command = sh("cat /proc/self/uid_map; echo made > /tmp/made; echo $HOME")
        plain = run_program(sh("echo made > /tmp/made; echo $HOME"), root=str(nobody_shell_root))
        enclosed = run_program(command, root=str(nobody_shell_root), read_only=True)
        return [plain.stdout, enclosed.stdout]

    plain, enclosed = in_child(ask, uid=NOBODY)
    assert plain == b"/root\n"
    assert enclosed.split() == [b"0", str(NOBODY).encode(), b"1", b"/root"]
    assert (nobody_shell_root / "tmp/made").stat().st_uid == NOBODY


def test_an_ordinary_users_question_keeps_the_user(enclosing_nobody: None) -> None:
    def ask() -> bytes:
        return run_program(sh("id -u; touch /var/tmp/x 2>/dev/null; pwd"), read_only=True).stdout

    assert in_child(ask, uid=NOBODY) == f"{NOBODY}\n/\n".encode()


WEB = Account("web", 33, 44, "/var/www", (5, 44, 1000))


@pytest.mark.parametrize("read_only", [False, True])
def test_a_program_runs_as_the_user_it_names(enclosing_root: None, tmp_path: Path, read_only: bool) -> None:
    """The directory is entered before: that user need not be able to."""
    script = "id -u; id -g; id -G; echo $HOME $USER $LOGNAME; pwd; cat /proc/self/status | grep CapEff; umask"
    command = sh(script, user="web", directory=str(tmp_path))
    words = run_program(command, account=WEB, read_only=read_only).stdout.decode().split("\n")
    assert words[:2] == ["33", "44"]
    assert sorted(words[2].split()) == ["1000", "44", "5"]
    assert words[3:5] == ["/var/www web web", str(tmp_path)]
    assert words[5].split() == ["CapEff:", "0000000000000000"]
    assert words[6] == "0022"


@pytest.mark.parametrize("uid", [None, NOBODY])
def test_rights_are_dropped_after_all_is_prepared_and_not_by_who_has_none(
    enclosing_root: None, uid: int | None
) -> None:
    seen: list[int] = []

    def become() -> tuple[object, ...]:
        program._prepare_and_become(lambda: seen.append(os.geteuid()), WEB)
        return seen, os.getresuid(), os.getresgid(), sorted(os.getgroups())

    expected = ([0], (33,) * 3, (44,) * 3, [5, 44, 1000])
    assert in_child(become, uid=uid) == (expected if uid is None else ([NOBODY], (NOBODY,) * 3, (NOBODY,) * 3, []))


def test_the_named_user_s_environment_gives_way_to_what_is_asked_for(enclosing_root: None) -> None:
    command = sh("echo $HOME $USER", user="web", environment={"HOME": "/srv"})
    assert run_program(command, account=WEB).stdout == b"/srv web\n"


def test_below_another_root_a_program_runs_as_a_user_of_that(enclosing_root: None, shell_root: Path) -> None:
    (shell_root / "etc/passwd").write_text("web:x:33:44::/var/www:/bin/sh\nnumber:x:77:78:::\n")
    (shell_root / "etc/group").write_text("www:x:44:\nmore:x:1000:alice,web\n")
    (shell_root / "tmp").chmod(0o1777)
    with LocalHost(str(shell_root)) as host:
        writer = host.writer()
        writer.run(sh("echo $HOME > /tmp/made", user="web"))
        assert (shell_root / "tmp/made").stat().st_uid == 33
        assert (shell_root / "tmp/made").stat().st_gid == 44
        assert (shell_root / "tmp/made").read_text() == "/var/www\n"
        asked = writer.query(sh("cat /proc/self/status; echo $HOME", user="77")).stdout.decode()
        assert "Uid:\t77\t77\t77\t77" in asked
        assert asked.endswith("\n/\n")
        for user in ("gone", "99", "-1", "²"):
            for run in (writer.run, writer.query):
                with pytest.raises(HostError, match=f"as '{user}': there is no such user") as raised:
                    run(sh("true", user=user))
                assert raised.value.diagnostics[0].code == "program-refused"
                assert raised.value.failure is FailureCause.IMPOSSIBLE


def test_only_root_runs_programs_as_others(enclosing_nobody: None) -> None:
    def ask() -> list[str]:
        own = Account("me", NOBODY, NOBODY, "/home/me")
        answers = [run_program(sh("echo $HOME; id -u", user="me"), account=own).stdout.decode()]
        for account in (WEB, Account("root", 0, 0)):
            with pytest.raises(HostError) as raised:
                run_program(sh("true", user=account.name), account=account)
            assert raised.value.failure is FailureCause.IMPOSSIBLE
            answers.append(raised.value.diagnostics[0].code)
        return answers

    assert in_child(ask, uid=NOBODY) == [f"/home/me\n{NOBODY}\n", "program-refused", "program-refused"]


def test_the_line_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger=program.__name__):
        run_program(Command(("echo", "a b"), 5))
    assert caplog.messages == ["run echo 'a b'"]
