"""When the next pass begins, as far as the service manager tells."""

from pathlib import Path

import pytest

from datum.agent import status as module
from datum.agent.ports import Ports
from datum.agent.settings import Options
from datum.agent.status import status
from datum.provider.host import Command, CommandOutcome, HostError

SAID = "Mon 2026-11-30 20:27:00 UTC"


def look(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, *, is_booted: bool = True) -> str:
    """Return what status knows of the next pass, where the manager answers this, or nothing."""
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
    return found.next_pass


def test_the_next_tick_of_the_timer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, monkeypatch, SAID) == SAID


def test_a_timer_that_is_off_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, monkeypatch, "") == ""


def test_a_manager_that_does_not_answer_hides_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, monkeypatch, None) == ""


def test_without_a_manager_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(tmp_path, monkeypatch, SAID, is_booted=False) == ""
