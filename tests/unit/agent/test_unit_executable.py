"""The command that a unit of root's may name: one that nobody but root can change (ADR 0048)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from datum.agent import unit_files
from datum.agent.settings import Settings
from datum.agent.units import require_switchable
from datum.errors import UsageError
from tests.unit.agent.test_units import Systemctl, pack, settings_at

OTHER = 65534


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_at(tmp_path / "root")


@pytest.fixture(autouse=True)
def _below_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the folders above count for safe, whatever this machine has there."""
    judge = unit_files._is_foreign
    monkeypatch.setattr(unit_files, "_is_foreign", lambda path: path.is_relative_to(tmp_path) and judge(path))


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """Give `opt/venv/bin/datum`, which a link in `usr/bin` leads to."""
    place = tmp_path / "opt" / "venv" / "bin" / "datum"
    place.parent.mkdir(parents=True)
    place.touch(mode=0o755)
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "datum").symlink_to("../../opt/current/bin/datum")
    (tmp_path / "opt" / "current").symlink_to("venv")
    return tmp_path / "usr" / "bin" / "datum"


def refused(settings: Settings, executable: str) -> str:
    """Return why a command is refused."""
    with pytest.raises(UsageError) as caught:
        require_switchable(settings, Systemctl(), executable=executable)
    (found,) = caught.value.diagnostics
    assert found.code == "units-executable"
    return found.detail


def test_what_only_root_can_change_is_named(settings: Settings, command: Path) -> None:
    """A folder that all may write is no way where nobody may replace what is another's, as in /tmp."""
    (command.parents[2] / "opt").chmod(0o1777)
    require_switchable(settings, Systemctl(), executable=str(command))


@pytest.mark.parametrize("place", ["opt/venv/bin/datum", "opt/venv/bin", "opt/venv", "opt", "usr/bin", "usr"])
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_what_others_may_write_is_refused(settings: Settings, command: Path, place: str, mode: int) -> None:
    wrong = command.parents[2] / place
    wrong.chmod(mode)
    assert refused(settings, str(command)).endswith(f"others than root can change {wrong}.")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("place", ["opt/venv/bin/datum", "opt/venv", "opt/current", "usr/bin/datum", "usr"])
def test_what_is_of_another_user_is_refused(settings: Settings, command: Path, place: str) -> None:
    wrong = command.parents[2] / place
    os.chown(wrong, OTHER, OTHER, follow_symlinks=False)
    assert f"others than root can change {wrong}" in refused(settings, str(command))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.resolve().unlink(), "No such file"),
        (lambda path: (path.unlink(), path.symlink_to(path.name)), "symbolic links"),
    ],
)
def test_what_leads_nowhere_is_refused(
    settings: Settings, command: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(command)
    assert words in refused(settings, str(command))


@pytest.mark.parametrize("executable", ["", "bin/datum", "/usr/bin/da\ntum"])
def test_what_a_unit_cannot_name_is_told_before_the_host_is_enrolled(settings: Settings, executable: str) -> None:
    refused(settings, executable)


def test_units_of_a_package_name_their_own(settings: Settings) -> None:
    pack(Path(settings.root))
    require_switchable(settings, Systemctl(), executable="")
