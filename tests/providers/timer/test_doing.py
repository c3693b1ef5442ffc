"""What a timer does on its own account: what the manager is told, what is swept, what cannot be made."""

from typing import Any, Final

import pytest
from attrs import evolve

from datum.model.identity import ResourceId
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import CommandOutcome, HostError
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum_providers.timer.provider import TimerProvider
from tests.providers.timer.test_desired import JOB, parse, texts

PROVIDER: Final = TimerProvider()
SYSTEM: Final = "/etc/systemd/system"


def see(host: FakeHost, desired: Any) -> Present:
    seen = PROVIDER.observe(host.reader(), {"job": desired})["job"]
    assert isinstance(seen, Present)
    return seen


def made() -> FakeHost:
    """Return a host on which the timer was set up, with nothing in the journal."""
    host, desired = FakeHost(), parse(**JOB)
    host.add_directory(SYSTEM)
    host.add_file("/bin/true", b"")
    step = PROVIDER.plan(desired, Absent())
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    assert PROVIDER.plan(desired, see(host, desired)) is None
    host.journal.clear()
    return host


def done(host: FakeHost) -> list[str]:
    return [f"{entry.method} {entry.subject}".strip() for entry in host.journal]


def test_what_somebody_else_wrote_is_read_once() -> None:
    """The bytes are as wanted, and the manager has read others."""
    host, desired = made(), parse(**JOB)
    host.add_file(f"{SYSTEM}/job.service", b"[Service]\nExecStart=/bin/false\n")
    see(host, desired)
    manager = host.writer().manager()
    assert manager is not None
    manager.daemon_reload()
    host.add_file(f"{SYSTEM}/job.service", texts(desired)[1].encode())
    host.journal.clear()
    step = PROVIDER.plan(desired, see(host, desired))
    assert step is not None
    assert step.changes == (Change("loaded", "stale", "current"),)
    PROVIDER.apply(host.writer(), desired, step)
    assert done(host) == ["daemon_reload"]
    assert PROVIDER.plan(desired, see(host, desired)) is None


def test_other_times_are_read_and_the_timer_is_not_started_anew() -> None:
    host, desired = made(), parse(**{**JOB, "on_calendar": ("hourly",)})
    step = PROVIDER.plan(desired, see(host, desired))
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    assert done(host) == [f"write_file {SYSTEM}/job.timer", "daemon_reload"]
    assert PROVIDER.plan(desired, see(host, desired)) is None


def test_what_shall_not_run_is_stopped_and_disabled() -> None:
    host, desired = made(), parse(**JOB, running=False)
    step = PROVIDER.plan(desired, see(host, desired))
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    assert done(host) == ["stop job.timer", "daemon_reload", "disable job.timer", "daemon_reload"]
    assert PROVIDER.plan(desired, see(host, desired)) is None


def test_what_is_removed_is_stopped_and_disabled_first() -> None:
    host, desired = made(), parse(**JOB)
    PROVIDER.apply(host.writer(), desired, deletion_of(see(host, desired)))
    files = [f"remove_file {SYSTEM}/job.timer", f"remove_file {SYSTEM}/job.service"]
    assert done(host) == ["stop job.timer", "disable job.timer", *files, "daemon_reload"]
    assert isinstance(PROVIDER.observe(host.reader(), {"job": desired})["job"], Absent)


def test_a_timer_that_does_not_stop_keeps_its_files() -> None:
    host, desired = made(), parse(**JOB)
    host.world.manager.units["job.timer"].stop_result = "timeout"
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), desired, deletion_of(see(host, desired)))
    assert f"{SYSTEM}/job.timer" in host.files


def test_what_runs_is_left_to_end() -> None:
    host, desired = made(), parse(**JOB)
    host.add_unit("job.service", active="activating", fragment=f"{SYSTEM}/job.service")
    writer = host.writer()
    PROVIDER.apply(writer, desired, deletion_of(see(host, desired)))
    assert writer.remarks == ["job.service runs, and is left to end"]
    assert "stop job.service" not in done(host)


def test_a_leftover_is_swept_and_nothing_else() -> None:
    host, desired = made(), parse(**JOB)
    host.world.residues.add(f"{SYSTEM}/job.service")
    sweep = Step(Operation.DELETE, (Change("residue", before=True, after=None),))
    PROVIDER.apply(host.writer(), desired, sweep)
    assert done(host) == [f"remove_residue {SYSTEM}/job.service"]


def test_both_units_are_judged_before_what_lists_it_is_started() -> None:
    origin = ResourceId("timer", "job")
    check = PROVIDER.validation(origin, parse(**JOB))
    verify = ("systemd-analyze", "verify", "--man=no", "--recursive-errors=no")
    shown = (*verify, f"{SYSTEM}/job.timer", f"{SYSTEM}/job.service")
    assert (check.resource, check.argv[:2], check.argv[3:]) == (origin, ("sh", "-c"), shown)


STARTED: Final = ["daemon_reload", "start job.timer"]
LOADED: Final = Change("loaded", "stale", "current")
UP: Final = Change("running", False, after=True)
DOWN: Final = Change("running", True, after=False)


@pytest.mark.parametrize(
    ("change", "exit_code", "has_analyze", "is_refused", "journal"),
    [
        (UP, 1, True, True, []),
        (UP, 1, False, False, STARTED),
        (UP, 0, True, False, STARTED),
        (LOADED, 1, True, True, []),
        (DOWN, 1, True, False, ["stop job.timer", "daemon_reload", "disable job.timer", "daemon_reload"]),
    ],
)
def test_what_others_broke_is_neither_loaded_nor_started(
    change: Change, exit_code: int, has_analyze: bool, is_refused: bool, journal: list[str]
) -> None:
    """Both files are as declared, and a drop-in that nobody declared is broken; a stop is kept by nothing."""
    host = made()
    if change is UP:
        manager = host.writer().manager()
        assert manager is not None
        manager.stop("job.timer")
        host.journal.clear()
    if has_analyze:
        host.add_file("/usr/bin/systemd-analyze", b"")
    host.add_query("sh", lambda _world, _command: CommandOutcome(exit_code, b"", b"hand.conf:1: Invalid section\n"))
    desired, step = parse(**JOB, running=change is not DOWN), Step(Operation.UPDATE, (change,))
    if is_refused:
        with pytest.raises(HostError, match="Invalid section") as caught:
            PROVIDER.apply(host.writer(), desired, step)
        assert caught.value.failure is FailureCause.CHECK
    else:
        PROVIDER.apply(host.writer(), desired, step)
    assert done(host) == journal


def test_what_shall_not_run_is_stopped_also_where_it_is_not_loaded_then() -> None:
    host = made()
    host.add_file("/usr/bin/systemd-analyze", b"")
    host.add_query("sh", lambda _world, _command: CommandOutcome(1, b"", b"hand.conf:1: Invalid section\n"))
    with pytest.raises(HostError, match="neither loaded nor started"):
        PROVIDER.apply(host.writer(), parse(**JOB, running=False), Step(Operation.UPDATE, (DOWN, LOADED)))
    assert done(host) == ["stop job.timer"]


@pytest.mark.parametrize("name", ["job.timer", "job.service"])
def test_what_the_manager_did_not_take_of_either_is_told(name: str) -> None:
    host, desired = made(), parse(**JOB)
    unit = host.world.manager.units[name]
    unit.facts = evolve(unit.facts, load="bad-setting")
    step = PROVIDER.plan(desired, see(host, desired))
    assert step is not None
    assert step.changes == (Change("loaded", "bad-setting", "current"),)


def test_nothing_is_made_of_no_declaration() -> None:
    host = FakeHost()
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(host.writer(), parse(), Step(Operation.CREATE, (Change("kind", None, "regular"),)))
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert not host.journal


def test_the_manager_is_asked_once_for_all() -> None:
    host = FakeHost()
    PROVIDER.observe(host.reader(), {name: PROVIDER.parse(name, JOB) for name in ("b", "a")})
    asked = [call for call in host.calls if call[0] != "examine"]
    assert asked == [("manager", ""), ("units", "a.timer a.service b.timer b.service")]
