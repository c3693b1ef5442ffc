"""Unit files count once the manager has read them: told once for many, verified after that (SettledProvider)."""

from typing import Any

import pytest

from datum.diagnostics import Severity
from datum.model.result import FailureCause, Outcome
from datum.provider.host import HostError
from tests.unit.fakes import declare, rid
from tests.unit.reconciler.bench import Batch
from tests.unit.reconciler.manager import Scene, of, scene, told

WEB = "daemon:web"
ONE, TWO, ALL = "unitfile:/etc/units/one", "unitfile:/etc/units/two", "unitfile:/etc/units/web"
FILE = "file:/etc/zz"


def unit(text: str, **others: Any) -> Any:
    return declare(text, content="[Service]\n", **others)


def units(*resources: Any, **others: Any) -> Scene:
    made = scene(*resources, **others)
    made.bench.host.add_directory("/etc/units")
    return made


def test_many_are_told_once_and_verified_after_that() -> None:
    """The results stand in the order of the plan."""
    made = units(unit(ONE), unit(TWO))
    results = made.run()
    assert told(results) == [f"create {ONE} applied", f"create {TWO} applied"]
    assert all(result.remarks == ("read again",) for result in results)
    assert made.manager.calls == ["daemon_reload"]
    assert made.is_converged()


def test_they_are_told_before_a_service_is_started() -> None:
    made = units(unit(ALL), declare(WEB, restart_on=[ALL]), unit(ONE))
    made.unit().active = False
    results = made.run()
    assert made.manager.calls == ["daemon_reload", "start web"]
    assert {one.outcome for one in results} == {Outcome.APPLIED, Outcome.ALREADY}


def test_marks_do_not_tell_and_a_restart_does() -> None:
    """Each change is marked before it; all of them are read before the one restart."""
    made = units(unit(ONE), unit(TWO), declare(WEB, restart_on=[ONE, TWO]))
    results = made.run()
    assert made.manager.calls == ["mark web restart", "daemon_reload", "restart web"]
    assert told(results) == [
        f"mark {WEB} applied",
        f"create {ONE} applied",
        f"mark {WEB} already",
        f"create {TWO} applied",
        f"restart {WEB} applied",
    ]


def test_changes_of_paths_wait_for_nothing() -> None:
    """Told once, at the end, although a file stands between two of them."""
    made = units(
        unit(ONE),
        declare("file:/etc/units/readme", content="x", after=[ONE]),
        unit(TWO, after=["file:/etc/units/readme"]),
    )
    made.run()
    assert made.manager.calls == ["daemon_reload"]


def test_what_requires_one_is_done_when_that_is_verified() -> None:
    """A failure reaches it, though it is a file."""
    made = units(unit(ONE), declare(FILE, content="x", requires=[ONE]))
    made.bench.host.fail(HostError("The manager does not answer."), method="daemon_reload")
    results = made.run()
    assert told(results) == [f"create {ONE} failed", f"create {FILE} skipped"]
    assert of(results, f"create {FILE}").blocked_by == rid(ONE)


def test_what_is_neither_is_told_before() -> None:
    """A type that does more than change paths may need what the units say."""
    made = units(
        unit(ONE), declare("batch:/etc/units/alone", content="x", after=[ONE]), providers={"batch": _Program()}
    )
    made.run()
    assert made.work() == ["write_file /etc/units/one", "daemon_reload", "write_file /etc/units/alone"]


class _Program(Batch):
    """No type whose steps can be staged."""

    can_stage = None  # type: ignore[assignment]  # not there, so that it is no StagedProvider


def test_telling_that_fails_leaves_each_to_its_own_verification() -> None:
    """What counts all the same is applied, with the complaint as a warning."""
    made = units(unit(ONE), unit(TWO))
    made.bench.host.fail(
        HostError("It took too long.", failure=FailureCause.DEADLINE), method="daemon_reload", after=True
    )
    results = made.run()
    assert [one.outcome for one in results] == [Outcome.APPLIED, Outcome.APPLIED]
    assert {item.severity for one in results for item in one.diagnostics} == {Severity.WARNING}


def test_telling_that_fails_and_tells_nothing_fails_each() -> None:
    made = units(unit(ONE), unit(TWO))
    made.bench.host.fail(HostError("It took too long.", failure=FailureCause.DEADLINE), method="daemon_reload")
    results = made.run()
    assert [(one.outcome, one.cause) for one in results] == [(Outcome.FAILED, FailureCause.DEADLINE)] * 2
    assert [one.diagnostics[0].resource for one in results] == [ONE, TWO]
    made.bench.host.heal()
    assert told(made.run()) == [f"update {ONE} applied", f"update {TWO} applied"]
    assert made.is_converged()


def test_a_bug_while_telling_is_a_breach() -> None:
    made = units(unit(ONE))
    made.bench.host.fail(RuntimeError("a bug"), method="daemon_reload")
    assert made.run()[0].cause is FailureCause.BREACH


def test_one_that_cannot_be_written_fails_at_once() -> None:
    """It keeps what requires it from being done; the others are told."""
    made = units(unit(ONE), unit(TWO, requires=[ONE]), unit(ALL))
    made.bench.host.fail(HostError("No space left."), method="write_file", subject="/etc/units/one")
    results = made.run()
    assert told(results) == [f"create {ONE} failed", f"create {TWO} skipped", f"create {ALL} applied"]
    assert made.manager.calls == ["daemon_reload"]


def test_where_nothing_was_written_nothing_is_told() -> None:
    made = units(unit(ONE))
    planned = made.bench.plan()
    made.bench.host.add_file("/etc/units/one", b"[Service]\n")
    made.manager.load()
    made.manager.calls.clear()
    assert told(made.run(planned=planned)) == [f"create {ONE} already"]
    assert made.manager.calls == []


@pytest.mark.parametrize("moment", [1, 2])
def test_a_signal_does_not_leave_them_untold(moment: int) -> None:
    made = units(unit(ONE), unit(TWO))
    asked = iter(range(100))
    results = made.run(is_stopping=lambda: next(asked) >= moment)
    assert of(results, f"create {ONE}").outcome is Outcome.APPLIED
    assert made.manager.calls == ["daemon_reload"]


def test_what_waits_to_be_told_marks_again_what_was_started() -> None:
    """Between mark and write it read the old one; seen once it is verified."""
    made = units(unit(ONE), declare(WEB, restart_on=[ONE]))
    planned = made.bench.plan()
    load = made.manager.load

    def loading() -> None:
        load()
        made.unit().owes = None

    made.bench.providers["unitfile"]._manager = _Loading(made, loading)  # type: ignore[attr-defined]  # a double
    results = made.run(planned=planned)
    assert of(results, f"create {ONE}").remarks == ("read again", f"{WEB} was started meanwhile, and is marked again")
    assert made.manager.calls[-1] == "restart web"


class _Loading:
    """A manager whose daemon-reload does more."""

    def __init__(self, made: Scene, load: Any) -> None:
        self._made, self.load = made, load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made.manager, name)


def test_candidates_of_a_check_are_told_after_they_are_in_place() -> None:
    check = declare("check:units", run=["/bin/verify", "/etc/units/one"], guards=[ONE, TWO])
    made = units(unit(ONE), unit(TWO), check, declare(WEB, restart_on=[ONE]))
    made.bench.host.add_check("/bin/verify", lambda _argv, _data: "")
    results = made.run()
    assert {one.outcome for one in results} == {Outcome.APPLIED}
    words = made.work()
    assert words.index("mark web") < words.index("commit") < words.index("daemon_reload") < words.index("restart web")
    assert of(results, f"create {ONE}").passed == (rid("check:units"),)


def test_candidates_that_are_refused_are_told_of_nothing() -> None:
    check = declare("check:units", run=["/bin/verify", "/etc/units/one"], guards=[ONE, TWO])
    made = units(unit(ONE), unit(TWO), check)
    made.bench.host.add_check("/bin/verify", lambda _argv, _data: "no")
    assert {one.outcome for one in made.run()} == {Outcome.FAILED}
    assert made.manager.calls == []


def test_a_commit_that_fails_halfway_is_told_for_what_it_did() -> None:
    check = declare("check:units", run=["/bin/verify", "/etc/units/one"], guards=[ONE, TWO])
    made = units(unit(ONE), unit(TWO), check)
    made.bench.host.add_check("/bin/verify", lambda _argv, _data: "")
    made.bench.host.fail(HostError("No space left."), method="write_file", subject="/etc/units/two")
    results = made.run()
    assert told(results) == [f"create {ONE} applied", f"create {TWO} failed"]
    assert made.manager.calls == ["daemon_reload"]
