"""The units that run passes below a root, and what systemctl is asked for."""

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from attrs import define, field

from datum.agent import unit_files, units
from datum.agent.settings import Settings
from datum.agent.units import (
    BOOT_TIMER,
    SERVICE,
    TIMER,
    UNITS,
    are_installed,
    are_packaged,
    disable_timer,
    enable_timer,
    install_units,
    remove_units,
    standing,
)
from datum.errors import DatumError, SettingsError, StateError, UsageError
from datum.model.identity import HostName
from datum.provider.host import Command, CommandOutcome, HostError
from datum.provider.own_units import RESERVED

OWN: Final = "etc/systemd/system"
PACKAGED: Final = "usr/lib/systemd/system"
DATUM: Final = "/usr/bin/datum"


@define
class Systemctl:
    """Answers as it is told, and notes what it was asked."""

    answers: dict[str, str] = field(factory=dict)
    refuses: str = ""
    code: str = "program-failed"
    asked: list[tuple[str, ...]] = field(factory=list)

    def __call__(self, command: Command) -> CommandOutcome:
        words = tuple(word for word in command.argv[1:] if not word.startswith("--no-"))
        self.asked.append(words)
        verb = next(word for word in words if not word.startswith("-"))
        if verb == self.refuses:
            raise HostError("systemctl ended with 1.", code=self.code)
        return CommandOutcome(
            0, self.answers.get(" ".join(w for w in words if not w.startswith("-")), "").encode(), b""
        )

    @property
    def verbs(self) -> list[str]:
        """What it was asked for, without about what."""
        return [words[0] for words in self.asked]


def settings_at(root: Path, *, config: str = "/etc/datum/agent.yaml") -> Settings:
    return Settings(
        repo="/srv/fleet",
        ref="main",
        host=HostName("web1"),
        root=str(root),
        config=root / config.lstrip("/"),
        state_dir=root / "var/lib/datum",
        reports_dir=root / "var/log/datum/reports",
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_at(tmp_path)


def pack(root: Path) -> None:
    (root / PACKAGED).mkdir(parents=True)
    for unit in UNITS:
        (root / PACKAGED / unit).write_text("[Unit]\n")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def code_of(error: DatumError) -> str:
    return error.diagnostics[0].code


def test_units_are_written_once_with_the_command_of_this_agent(tmp_path: Path, settings: Settings) -> None:
    run = Systemctl()
    assert not are_installed(settings)
    written = install_units(settings, run, executable="/opt/datum/bin/datum")
    assert written == tuple(f"/{OWN}/{unit}" for unit in UNITS)
    assert are_installed(settings)
    assert not are_packaged(settings)
    text = (tmp_path / OWN / SERVICE).read_text()
    assert "\nExecStart=/opt/datum/bin/datum apply\n" in text
    assert text.startswith("# Written by datum init")
    status = (tmp_path / OWN / SERVICE).stat()
    assert stat.S_IMODE(status.st_mode) == 0o644
    inode = status.st_ino
    assert install_units(settings, run, executable="/opt/datum/bin/datum") == ()
    assert (tmp_path / OWN / SERVICE).stat().st_ino == inode
    assert run.asked == [], "below another root no manager has to read them"
    assert names(tmp_path / OWN) == sorted(UNITS)


def test_another_place_of_the_command_is_written_over_the_old_one(tmp_path: Path, settings: Settings) -> None:
    install_units(settings, Systemctl(), executable="/opt/one/datum")
    assert install_units(settings, Systemctl(), executable="/opt/two/datum") == (f"/{OWN}/{SERVICE}",)
    assert "ExecStart=/opt/two/datum apply" in (tmp_path / OWN / SERVICE).read_text()


@pytest.mark.parametrize(
    ("executable", "line"),
    [
        ("/opt/my venv/datum", 'ExecStart="/opt/my venv/datum" apply'),
        ("/opt/100%/datum", 'ExecStart="/opt/100%%/datum" apply'),
        ("/opt/$HOME/datum", 'ExecStart="/opt/$$HOME/datum" apply'),
        ('/opt/"x"\\y/datum', 'ExecStart="/opt/\\"x\\"\\\\y/datum" apply'),
    ],
)
def test_a_command_is_quoted_as_systemd_wants_it(
    tmp_path: Path, settings: Settings, executable: str, line: str
) -> None:
    install_units(settings, Systemctl(), executable=executable)
    assert f"\n{line}\n" in (tmp_path / OWN / SERVICE).read_text()


@pytest.mark.parametrize("executable", ["", "datum", "bin/datum", "/opt/a\nb/datum", "/opt/../datum"])
def test_a_command_that_no_unit_can_name_is_refused(settings: Settings, executable: str) -> None:
    with pytest.raises(UsageError) as caught:
        install_units(settings, Systemctl(), executable=executable)
    assert code_of(caught.value) == "units-executable"
    assert not are_installed(settings)


def test_units_of_a_package_are_used_and_those_of_an_earlier_init_go(tmp_path: Path, settings: Settings) -> None:
    """They would stand before those of the package, with a command that may be gone."""
    install_units(settings, Systemctl(), executable="/opt/datum/bin/datum")
    pack(tmp_path)
    assert install_units(settings, Systemctl(), executable=DATUM) == tuple(f"/{OWN}/{unit}" for unit in UNITS)
    assert names(tmp_path / OWN) == []
    assert are_packaged(settings)
    assert are_installed(settings)


def test_what_a_person_wrote_stays(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / OWN).mkdir(parents=True)
    (tmp_path / OWN / SERVICE).write_text("[Service]\nExecStart=/mine\n")
    (tmp_path / OWN / TIMER).symlink_to("/dev/null")
    assert install_units(settings, Systemctl(), executable=DATUM) == (f"/{OWN}/{BOOT_TIMER}",)
    assert (tmp_path / OWN / SERVICE).read_text() == "[Service]\nExecStart=/mine\n"
    assert (tmp_path / OWN / TIMER).is_symlink()
    assert remove_units(settings, Systemctl()) == (f"/{OWN}/{BOOT_TIMER}",)
    assert names(tmp_path / OWN) == [SERVICE, TIMER]


def test_a_configuration_at_another_place_is_named_in_the_command(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, config="/srv/agent.yaml")
    install_units(settings, Systemctl(), executable=DATUM)
    assert "ExecStart=/usr/bin/datum apply --config /srv/agent.yaml\n" in (tmp_path / OWN / SERVICE).read_text()
    remove_units(settings, Systemctl())
    pack(tmp_path)
    drop_in = f"/{OWN}/{SERVICE}.d/10-datum-init.conf"
    assert install_units(settings, Systemctl(), executable=DATUM) == (drop_in,)
    text = (tmp_path / drop_in.lstrip("/")).read_text()
    assert text.endswith("[Service]\nExecStart=\nExecStart=/usr/bin/datum apply --config /srv/agent.yaml\n")
    assert remove_units(settings, Systemctl()) == (drop_in,)
    assert names(tmp_path / OWN) == []


def test_a_link_that_leads_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "etc").mkdir(parents=True)
    outside.mkdir()
    (root / "etc/systemd").symlink_to(outside)
    with pytest.raises(UsageError) as caught:
        install_units(settings_at(root), Systemctl(), executable=DATUM)
    assert code_of(caught.value) == "leaves-the-root"
    assert names(outside) == []


def test_a_folder_that_takes_no_file_is_told(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/systemd").write_text("")
    with pytest.raises(StateError) as caught:
        install_units(settings, Systemctl(), executable=DATUM)
    assert code_of(caught.value) == "units-unwritable"


def test_below_a_root_the_timers_are_enabled_for_its_next_boot(tmp_path: Path, settings: Settings) -> None:
    install_units(settings, Systemctl(), executable=DATUM)
    run = Systemctl({f"is-enabled {unit}": "disabled\n" for unit in UNITS})
    switch = enable_timer(settings, run)
    assert (switch.is_changed, switch.has_manager) == (True, False)
    assert run.asked[-1] == (f"--root={tmp_path}", "enable", TIMER)
    again = Systemctl({f"is-enabled {unit}": "enabled\n" for unit in UNITS})
    assert not enable_timer(settings, again).is_changed
    assert all("enable" not in words for words in again.asked)
    assert disable_timer(settings, again).is_changed
    assert again.asked[-1] == (f"--root={tmp_path}", "disable", TIMER, BOOT_TIMER)


def test_what_is_masked_is_not_switched_on(settings: Settings) -> None:
    install_units(settings, Systemctl(), executable=DATUM)
    with pytest.raises(SettingsError) as caught:
        enable_timer(settings, Systemctl({f"is-enabled {TIMER}": "masked\n"}))
    assert code_of(caught.value) == "timer-masked"
    assert caught.value.diagnostics[0].hint == f"systemctl unmask {TIMER}"


def test_units_that_are_not_there_are_not_switched_on(settings: Settings) -> None:
    with pytest.raises(UsageError) as caught:
        enable_timer(settings, Systemctl())
    assert code_of(caught.value) == "units-missing"
    assert not disable_timer(settings, Systemctl()).is_changed


@pytest.mark.parametrize(
    ("code", "expected"), [("program-missing", "no-service-manager"), ("program-failed", "timer-refused")]
)
def test_a_systemctl_that_cannot_is_told(settings: Settings, code: str, expected: str) -> None:
    install_units(settings, Systemctl(), executable=DATUM)
    with pytest.raises(DatumError) as caught:
        enable_timer(settings, Systemctl(refuses="is-enabled", code=code))
    assert code_of(caught.value) == expected


def test_without_systemctl_nothing_has_to_be_switched_off(settings: Settings) -> None:
    assert not disable_timer(settings, Systemctl(refuses="is-enabled", code="program-missing")).is_changed


SHOWN: Final = "\n\n".join(
    f"Id={unit}\nLoadState=loaded\nUnitFileState={{state}}\nActiveState={{active}}\n"
    f"FragmentPath=/{PACKAGED}/{unit}\nDropInPaths={{drop_ins}}\nNeedDaemonReload={{stale}}\nResult=exit-code\n"
    "ExecMainStatus=69\nNextElapseUSecRealtime=Mon 2026-11-30 20:05:07 UTC"
    for unit in UNITS
)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Systemctl]:
    """Give what makes a service manager that has the units in some state."""
    monkeypatch.setattr(units, "_has_manager", lambda _settings: True)

    def make(*, state: str, active: str, stale: str = "no", drop_ins: str = "") -> Systemctl:
        shown = SHOWN.format(state=state, active=active, stale=stale, drop_ins=drop_ins)
        return Systemctl({f"show {' '.join(UNITS)}": shown})

    return make


def test_a_running_manager_says_how_the_units_stand(settings: Settings, running: Callable[..., Systemctl]) -> None:
    one = standing(settings, running(state="enabled", active="active", stale="yes", drop_ins="/a.conf /b.conf"))[1]
    assert (one.name, one.load, one.file, one.enabled, one.active) == (
        TIMER,
        "loaded",
        f"/{PACKAGED}/{TIMER}",
        "enabled",
        "active",
    )
    assert (one.drop_ins, one.is_stale) == (("/a.conf", "/b.conf"), True)
    assert (one.result, one.exit_code, one.next_run) == ("exit-code", 69, "Mon 2026-11-30 20:05:07 UTC")


def test_a_running_manager_starts_the_regular_timer_and_not_that_of_the_boot(
    settings: Settings, running: Callable[..., Systemctl]
) -> None:
    run = running(state="disabled", active="inactive")
    switch = enable_timer(settings, run)
    assert (switch.is_changed, switch.has_manager) == (True, True)
    assert run.asked[1:] == [("enable", TIMER), ("start", TIMER)]


def test_what_is_on_is_left_alone(settings: Settings, running: Callable[..., Systemctl]) -> None:
    run = running(state="enabled", active="active")
    assert not enable_timer(settings, run).is_changed
    assert len(run.asked) == 1


def test_timers_are_stopped_and_disabled_and_the_pass_that_runs_is_not(
    settings: Settings, running: Callable[..., Systemctl]
) -> None:
    run = running(state="enabled", active="active")
    assert disable_timer(settings, run).is_changed
    assert run.asked[1:] == [("stop", TIMER, BOOT_TIMER), ("disable", TIMER, BOOT_TIMER)]
    off = running(state="disabled", active="inactive")
    assert not disable_timer(settings, off).is_changed
    assert len(off.asked) == 1


def test_a_running_manager_reads_what_was_written_or_removed(
    settings: Settings, running: Callable[..., Systemctl]
) -> None:
    run = running(state="disabled", active="inactive")
    install_units(settings, run, executable=DATUM)
    install_units(settings, run, executable=DATUM)
    assert run.verbs == ["daemon-reload", "show"]
    remove_units(settings, run)
    remove_units(settings, run)
    assert run.verbs == ["daemon-reload", "show"] * 2


def test_what_a_killed_command_had_written_or_removed_is_read_by_the_next(
    settings: Settings, running: Callable[..., Systemctl]
) -> None:
    """It was killed before the daemon-reload, or that was refused: no file changes any more."""
    refused = running(state="enabled", active="active")
    refused.refuses = "daemon-reload"
    for act in (partial(install_units, executable=DATUM), remove_units):
        with pytest.raises(StateError) as caught:
            act(settings, refused)
        assert code_of(caught.value) == "timer-refused"
        again = running(state="enabled", active="active", stale="yes")
        assert act(settings, again) == ()
        assert again.verbs == ["show", "daemon-reload"]


def test_a_drop_in_that_the_manager_does_not_know_of_is_read(tmp_path: Path, running: Callable[..., Systemctl]) -> None:
    """It does not say that it is stale where the folder of the drop-in is new."""
    settings = settings_at(tmp_path, config="/srv/agent.yaml")
    pack(tmp_path)
    for act in (partial(install_units, executable=DATUM), remove_units):
        act(settings, running(state="enabled", active="active"))
        is_there = unit_files.has_drop_in(settings)
        unread = running(state="enabled", active="active", drop_ins="" if is_there else unit_files.DROP_IN)
        assert act(settings, unread) == ()
        assert unread.verbs == ["show", "daemon-reload"]
        read = running(state="enabled", active="active", drop_ins=unit_files.DROP_IN if is_there else "")
        act(settings, read)
        assert read.verbs == ["show"]


def test_reserved_names_are_shipped_by_nobody() -> None:
    shipped = {path.name for path in unit_files._SHIPPED.iterdir() if path.suffix in {".service", ".timer"}}
    assert shipped == set(UNITS)
    assert not shipped & set(RESERVED)


def test_units_can_be_read_by_everybody_whatever_the_umask(settings: Settings) -> None:
    old = os.umask(0o077)
    try:
        install_units(settings, Systemctl(), executable=DATUM)
    finally:
        os.umask(old)
    folder = Path(settings.root) / OWN
    assert folder.stat().st_mode & 0o777 == 0o755
    assert {(folder / unit).stat().st_mode & 0o777 for unit in UNITS} == {0o644}
