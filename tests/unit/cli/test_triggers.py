"""Who asked for a pass."""

import os
import pwd
from pathlib import Path

import pytest

from datum.cli.triggers import read_trigger
from datum.model.trigger import Trigger, TriggerKind


@pytest.fixture
def nobody(tmp_path: Path) -> Path:
    """Give what the kernel says where no login began the process (proc_pid_loginuid(5))."""
    path = tmp_path / "loginuid"
    path.write_text("4294967295")
    return path


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.parametrize("kind", [TriggerKind.TIMER, TriggerKind.BOOT])
def test_a_unit_says_what_it_is(kind: TriggerKind, nobody: Path) -> None:
    found = read_trigger({"DATUM_TRIGGER": str(kind), "SUDO_USER": "alice"}, loginuid=nobody)
    assert (found, str(found)) == (Trigger(kind), str(kind))


@pytest.mark.parametrize(
    ("timer", "kind"),
    [("datum.timer", "timer"), ("datum-boot.timer", "boot"), ("other.timer", "timer"), ("", "operator")],
)
def test_what_began_the_unit_counts(timer: str, kind: str, nobody: Path) -> None:
    """Both timers start one service; whoever starts it by hand is no timer, and nobody knows who that is."""
    began = {
        "DATUM_TRIGGER": "timer",
        "SYSTEMD_EXEC_PID": str(os.getpid()),
        **({"TRIGGER_UNIT": timer} if timer else {}),
    }
    assert str(read_trigger(began, loginuid=nobody)) == kind


def test_what_is_no_unit_of_systemd_may_say_timer(nobody: Path) -> None:
    """A job of cron: it was begun by a process that systemd began."""
    assert str(read_trigger({"DATUM_TRIGGER": "timer", "SYSTEMD_EXEC_PID": "1"}, loginuid=nobody)) == "timer"


@pytest.mark.parametrize("text", ["", "operator", "cron", "TIMER", "timer "])
@pytest.mark.usefixtures("as_root")
def test_any_other_word_is_no_unit(text: str, nobody: Path) -> None:
    found = read_trigger({"DATUM_TRIGGER": text, "SUDO_USER": "alice"}, loginuid=nobody)
    assert (found, str(found)) == (Trigger(TriggerKind.OPERATOR, "alice"), "operator alice")


@pytest.mark.parametrize("text", ["", "a b", "x\x1b[2J", "x" * 65, "a\n"])
@pytest.mark.usefixtures("as_root")
def test_a_name_that_is_none_is_not_taken_from_sudo(text: str, nobody: Path) -> None:
    mine = pwd.getpwuid(os.getuid()).pw_name
    assert read_trigger({"SUDO_USER": text}, loginuid=nobody).who == mine


def test_without_root_nobody_called_sudo(monkeypatch: pytest.MonkeyPatch, nobody: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read_trigger({"SUDO_USER": "alice"}, loginuid=nobody).who == pwd.getpwuid(os.getuid()).pw_name


def test_who_logged_in_counts_before_who_this_process_runs_as(tmp_path: Path) -> None:
    path = tmp_path / "loginuid"
    path.write_text("65534\n")
    assert read_trigger({}, loginuid=path).who == "nobody"


def test_a_user_without_a_name_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "loginuid"
    path.write_text("4000000001")
    assert read_trigger({}, loginuid=path).who == "4000000001"


@pytest.mark.parametrize("text", ["", "-", "x"])
def test_a_kernel_that_does_not_tell_is_no_login(tmp_path: Path, text: str) -> None:
    path = tmp_path / "loginuid"
    path.write_text(text)
    mine = pwd.getpwuid(os.getuid()).pw_name
    assert read_trigger({}, loginuid=path).who == mine
    assert read_trigger({}, loginuid=tmp_path / "missing").who == mine
