"""When the next pass begins, as far as the service manager tells, and what keeps the timer from beginning one."""

from pathlib import Path

import pytest

from datum.agent import status as module
from datum.agent.ports import Ports
from datum.agent.settings import Options
from datum.agent.status import Status, status
from datum.cli.views.standing import show
from datum.provider.host import Command, CommandOutcome, HostError

ON = "LoadState=loaded\nUnitFileState=enabled\nActiveState=active\nNextElapseUSecRealtime=Mon 2026-11-30 20:27:00 UTC"


def look(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, *, is_booted: bool = True) -> Status:
    """Return what status knows, where the manager answers this, or nothing."""
    asked: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        asked.append(command)
        if answer is None:
            raise HostError("It does not answer.")
        return CommandOutcome(0, f"{answer}\n".encode(), b"")

    monkeypatch.setattr(module, "_BOOTED", folder if is_booted else folder / "missing")
    config = folder / "agent.yaml"
    config.write_text(f"repo: /srv/fleet\nhost: web1\nstate_dir: {folder}\nreports_dir: {folder}\n")
    ports = Ports(providers={}, run=run, started="2026-11-29T12:00:00Z", monotonic=lambda: 0.0, pid=1)
    found = status(Options(config=str(config)), ports)
    assert len(asked) == int(is_booted)
    assert all(command.timeout <= 5 for command in asked), "a manager that hangs keeps nobody from looking"
    assert all(command.environment["TZ"] == "UTC" for command in asked), "systemctl writes times of its own zone"
    return found


def test_the_next_tick_of_the_timer_is_named_as_every_other_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look(tmp_path, monkeypatch, ON)
    assert (found.next_pass, found.timer) == ("2026-11-30T20:27:00Z", "")


@pytest.mark.parametrize(
    ("off", "timer", "shown"),
    [
        (ON.replace("=active", "=inactive"), "inactive", "none by itself: datum.timer is inactive"),
        (ON.replace("=active", "=failed"), "failed", "none by itself: datum.timer is failed"),
        (ON.replace("=loaded", "=masked"), "masked", "none by itself: datum.timer is masked"),
        (ON.replace("=loaded", "=not-found"), "not-found", "none by itself: datum.timer is not-found"),
        (
            ON.replace("=enabled", "=disabled"),
            "disabled",
            "2026-11-30T20:27:00Z; datum.timer is disabled: none after a boot",
        ),
    ],
)
def test_a_timer_that_is_off_is_said_to_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    off: str,
    timer: str,
    shown: str,
) -> None:
    found = look(tmp_path, monkeypatch, off)
    assert found.timer == timer
    show(found, is_json=False)
    assert f"next pass   {shown}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("answer", [None, "", "?", ON.replace("Mon ", "").replace("UTC", "CET")])
def test_what_the_manager_does_not_tell_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    """And hides nothing else."""
    found = look(tmp_path, monkeypatch, answer)
    assert (found.next_pass, found.timer) == ("", "")


def test_without_a_manager_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, monkeypatch, ON, is_booted=False).next_pass == ""
