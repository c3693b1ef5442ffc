"""The service manager of the host in memory keeps marks, ends jobs and reads unit files as systemd does."""

from collections.abc import Callable
from typing import Any

import pytest

from datum.host.refusing import RefusingManager
from datum.provider.host import HostError
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART, ManagerReader, ManagerWriter, UnitFacts
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, JournalEntry

FRAGMENT = b"[Service]\nExecStart=/bin/a\nExecReload=/bin/b\nUser=app\n[Install]\nWantedBy=multi-user.target\n"
UNIT = "/etc/systemd/system/a.service"
LINK = "/etc/systemd/system/multi-user.target.wants/a.service"
ONE = frozenset({NEEDS_RESTART})
BOTH = frozenset({NEEDS_RELOAD, NEEDS_RESTART})


def manager_of(host: FakeHost) -> ManagerWriter:
    found = host.writer().manager()
    assert found is not None
    return found


def running(**how: Any) -> FakeHost:
    host = FakeHost()
    host.add_unit("a.service", active="active", can_reload=True, **how)
    return host


def refusal(call: Callable[..., None], *arguments: object) -> tuple[str, str]:
    with pytest.raises(HostError) as caught:
        call(*arguments)
    return caught.value.diagnostics[0].code, caught.value.detail


def test_there_is_one_only_on_a_running_system_that_systemd_booted() -> None:
    reader: ManagerReader | None = FakeHost().reader().manager()
    assert reader is not None
    assert not hasattr(reader, "start")
    assert FakeHost(is_running_system=False).reader().manager() is None
    host = FakeHost()
    host.remove_manager()
    assert host.writer().manager() is None


def test_a_unit_that_was_added_is_complete() -> None:
    host = running()
    (facts,) = manager_of(host).units(["a.service"]).values()
    assert facts == UnitFacts(
        "a.service",
        frozenset({"a.service"}),
        active="active",
        sub="running",
        file_state="disabled",
        can_reload=True,
        invocation="f" * 32,
        kind="simple",
        result="success",
    )
    assert host.calls == [("manager", ""), ("units", "a.service")]


def test_names_that_are_none_and_units_that_are_not_there_say_so() -> None:
    found = manager_of(FakeHost()).units(["b.service", "x@.service", "a b"])
    assert [facts.load for facts in found.values()] == ["not-found", "error", "error"]
    assert found["x@.service"].load_error == "Unit name x@.service is missing the instance name."


def test_an_alias_is_the_unit() -> None:
    host = FakeHost()
    host.add_unit("ssh.service", names=frozenset({"sshd.service"}))
    facts = manager_of(host).units(["sshd.service"])["sshd.service"]
    assert (facts.name, facts.names) == ("ssh.service", frozenset({"ssh.service", "sshd.service"}))


def test_marks_are_set_as_a_whole_and_cleared_by_restart_and_stop() -> None:
    host = running()
    manager = manager_of(host)
    manager.mark("a.service", BOTH)
    assert host.unit("a.service").marks == BOTH
    manager.mark("a.service", [NEEDS_RESTART])
    assert host.unit("a.service").marks == ONE
    manager.restart("a.service")
    assert host.unit("a.service").marks == frozenset()
    manager.mark("a.service", BOTH)
    manager.stop("a.service")
    assert host.unit("a.service").marks == frozenset()
    assert host.journal[0] == JournalEntry("mark", "a.service", marks=(NEEDS_RELOAD, NEEDS_RESTART))


def test_an_inactive_unit_keeps_no_mark() -> None:
    host = FakeHost()
    host.add_unit("a.service")
    manager_of(host).mark("a.service", BOTH)
    assert host.unit("a.service").marks == frozenset()


def test_a_reload_takes_its_mark_even_if_it_fails() -> None:
    host = running(marks=BOTH, reload_result="failed")
    code, detail = refusal(manager_of(host).reload, "a.service")
    assert (code, detail) == ("job-failed", "The job to reload a.service ended 'failed': the unit failed.")
    assert host.unit("a.service").marks == ONE
    assert host.unit("a.service").active == "active"


def test_marks_survive_a_daemon_reload() -> None:
    host = running(marks=BOTH)
    manager_of(host).daemon_reload()
    assert host.unit("a.service").marks == BOTH


def test_a_socket_is_refused_while_a_service_of_it_runs_but_for_its_connections() -> None:
    host = running(triggered_by=("a.socket",))
    host.add_unit("a.socket")
    assert refusal(manager_of(host).start, "a.socket") == (
        "job-failed",
        "The job to start a.socket ended 'failed': the unit failed.",
    )
    host.add_unit("a.service", triggered_by=("a.socket",))
    host.add_unit("a@3-1.service", active="active", triggered_by=("a.socket",))
    manager_of(host).start("a.socket")
    assert host.unit("a.socket").active == "active"


def test_a_service_that_does_not_stop_holds_its_socket_back_and_both_are_told() -> None:
    host = running(triggered_by=("a.socket",), stop_result="timeout")
    host.add_unit("a.socket")
    found = manager_of(host).start_socket("a.socket", ["a.service"], restart=False)
    assert sorted(found) == ["a.service", "a.socket"]
    assert "ended 'timeout'" in found["a.service"].detail
    assert (host.unit("a.service").active, host.unit("a.socket").active) == ("active", "inactive")


def test_an_old_manager_has_no_marks() -> None:
    host = running()
    host.world.manager.has_marks = False
    assert host.unit("a.service").marks is None
    assert refusal(manager_of(host).mark, "a.service", BOTH)[0] == "manager-refused"
    assert refusal(manager_of(running()).mark, "a.service", ["needs-tea"]) == (
        "manager-refused",
        'The service manager refused to mark a.service: Unknown marker "needs-tea".',
    )


def test_every_start_has_an_invocation_of_its_own() -> None:
    host = FakeHost()
    host.add_unit("a.service")
    manager = manager_of(host)
    manager.start("a.service")
    first = host.unit("a.service").invocation
    manager.start("a.service")
    assert host.unit("a.service").invocation == first
    manager.restart("a.service")
    assert host.unit("a.service").invocation != first


@pytest.mark.parametrize(
    ("result", "active", "why"),
    [("failed", "failed", "exit-code"), ("timeout", "failed", "timeout"), ("dependency", "inactive", "success")],
)
def test_a_start_that_does_not_end_well_says_how(result: str, active: str, why: str) -> None:
    host = FakeHost()
    host.add_unit("a.service", start_result=result)
    assert refusal(manager_of(host).start, "a.service")[0] == "job-failed"
    facts = host.unit("a.service")
    assert (facts.active, facts.result) == (active, why)
    manager_of(host).reset_failed("a.service")
    assert host.unit("a.service").active == "inactive"


def test_what_does_not_stay_is_inactive_when_it_has_run() -> None:
    host = FakeHost()
    host.add_unit("a.service", kind="oneshot", stays=False)
    host.add_unit("b.service", kind="oneshot", remains=True)
    manager_of(host).start("a.service")
    manager_of(host).start("b.service")
    assert host.unit("a.service").active == "inactive"
    assert host.unit("a.service").invocation
    assert (host.unit("b.service").active, host.unit("b.service").sub) == ("active", "exited")


def test_a_stop_that_fails_leaves_it_active() -> None:
    host = running(stop_result="timeout")
    assert refusal(manager_of(host).stop, "a.service")[0] == "job-failed"
    assert host.unit("a.service").active == "active"


@pytest.mark.parametrize(
    ("how", "verb", "words"),
    [
        ({"load": "masked"}, "start", "Unit a.service is masked"),
        ({"load": "bad-setting"}, "restart", "Unit a.service has a bad unit file setting"),
        ({"load": "not-found"}, "stop", "Unit a.service not found"),
        ({"can_start": False}, "start", "Operation refused, unit may be requested by dependency only"),
        ({"active": "active"}, "reload", "Job type reload is not applicable for unit a.service"),
    ],
)
def test_what_the_manager_refuses_it_refuses(how: dict[str, Any], verb: str, words: str) -> None:
    host = FakeHost()
    host.add_unit("a.service", **how)
    expected = ("manager-refused", f"The service manager refused to {verb} a.service: {words}.")
    assert refusal(getattr(manager_of(host), verb), "a.service") == expected


def test_names_and_reloads_that_make_no_sense_are_refused() -> None:
    host = FakeHost()
    host.add_unit("a.service", can_reload=True)
    assert refusal(manager_of(host).reload, "a.service") == (
        "job-failed",
        "The job to reload a.service ended 'invalid': it did not apply to the unit as that is now.",
    )
    assert refusal(manager_of(host).start, "a")[0] == "manager-refused"
    assert refusal(manager_of(host).start, "b.service")[0] == "manager-refused"


def test_a_unit_file_is_loaded_when_it_is_asked_for() -> None:
    host = FakeHost()
    host.add_file(UNIT, FRAGMENT)
    host.add_file(f"{UNIT}.d/x.conf", b"# one\n[Service]\nUser=\nUser=other\nType=oneshot\n")
    facts = host.unit("a.service")
    assert (facts.load, facts.file_state, facts.fragment) == ("loaded", "disabled", UNIT)
    assert (facts.kind, facts.user, facts.can_reload) == ("oneshot", "other", True)
    assert facts.drop_ins == (f"{UNIT}.d/x.conf",)
    assert not facts.needs_daemon_reload


def test_a_template_gives_its_instances() -> None:
    host = FakeHost()
    host.add_file("/usr/lib/systemd/system/t@.service", b"[Service]\nExecStart=/bin/a\n")
    facts = host.unit("t@x.service")
    assert (facts.load, facts.file_state) == ("loaded", "static")
    assert facts.fragment == "/usr/lib/systemd/system/t@.service"


def test_a_changed_file_needs_a_daemon_reload_and_what_runs_goes_on() -> None:
    host = FakeHost()
    host.add_file(UNIT, FRAGMENT)
    manager = manager_of(host)
    manager.start("a.service")
    manager.mark("a.service", [NEEDS_RESTART])
    first = host.unit("a.service")
    host.add_file(UNIT, FRAGMENT.replace(b"app", b"web"))
    assert host.unit("a.service").needs_daemon_reload
    assert host.unit("a.service").user == "app"
    manager.daemon_reload()
    facts = host.unit("a.service")
    assert (facts.user, facts.needs_daemon_reload) == ("web", False)
    assert (facts.active, facts.invocation, facts.marks) == ("active", first.invocation, ONE)


def test_a_unit_whose_file_goes_is_not_found_and_runs_on() -> None:
    host = FakeHost()
    host.add_file(UNIT, FRAGMENT)
    manager = manager_of(host)
    manager.start("a.service")
    host.world.remove(UNIT)
    manager.daemon_reload()
    assert (host.unit("a.service").load, host.unit("a.service").active) == ("not-found", "active")
    manager.stop("a.service")
    assert refusal(manager.start, "a.service")[0] == "manager-refused"
    host.add_file("/etc/systemd/system/b.service", FRAGMENT)
    assert host.unit("b.service").load == "loaded"
    host.world.remove("/etc/systemd/system/b.service")
    manager.daemon_reload()
    assert host.unit("b.service").load == "not-found"


def test_enabling_makes_links_that_show_after_a_daemon_reload() -> None:
    host = FakeHost()
    host.add_file(UNIT, FRAGMENT)
    host.add_unit("b.service", wanted_by=("timers.target",))
    assert host.unit("a.service").file_state == "disabled"
    manager = manager_of(host)
    manager.enable(["a.service", "b.service"])
    assert host.files[LINK].link == UNIT
    assert host.unit("a.service").file_state == "disabled"
    manager.daemon_reload()
    assert [host.unit(name).file_state for name in ("a.service", "b.service")] == ["enabled", "enabled"]
    manager.disable(["a.service", "b.service"])
    assert LINK not in host.files
    manager.daemon_reload()
    assert [host.unit(name).file_state for name in ("a.service", "b.service")] == ["disabled", "disabled"]
    assert refusal(manager.enable, ["c.service"])[0] == "manager-refused"


def test_masking_links_to_nothing_and_unmasking_takes_the_link() -> None:
    host = FakeHost()
    host.add_file("/usr/lib/systemd/system/a.service", FRAGMENT)
    host.add_unit("b.service", file_state="static")
    manager = manager_of(host)
    manager.mask(["a.service", "b.service"])
    manager.daemon_reload()
    assert [host.unit(name).load for name in ("a.service", "b.service")] == ["masked", "masked"]
    assert host.files[UNIT].link == "/dev/null"
    assert refusal(manager.enable, ["a.service"])[0] == "manager-refused"
    manager.unmask(["a.service", "b.service"])
    manager.daemon_reload()
    assert [host.unit(name).load for name in ("a.service", "b.service")] == ["loaded", "loaded"]
    manager.unmask(["a.service"])
    host.add_file(UNIT, FRAGMENT)
    assert refusal(manager.mask, ["a.service"]) == (
        "manager-refused",
        f"The service manager refused to mask a.service: File {UNIT} already exists.",
    )
    host.world.remove(UNIT)
    host.add("/etc/systemd/system/m.service", FakeFile(host.files["/etc"].kind))
    assert host.unit("m.service").load == "not-found"


def test_a_unit_that_is_masked_before_it_is_asked_for() -> None:
    host = FakeHost()
    manager_of(host).mask(["a.service"])
    assert host.unit("a.service").load == "masked"


def test_it_has_a_journal() -> None:
    host = FakeHost()
    host.add_journal("a.service", "one", "two", "three")
    assert manager_of(host).journal("a.service", lines=2) == "two\nthree"
    assert manager_of(host).journal("b.service", lines=2) == ""


def test_instances_of_a_template_are_those_that_are_loaded() -> None:
    host = FakeHost()
    for name in ("a@two.service", "a@one.service", "ab@one.service", "a@one.socket", "a.service"):
        host.add_unit(name)
    assert manager_of(host).instances("a@.service") == ("a@one.service", "a@two.service")
    assert manager_of(host).instances("b@.service") == ()
    assert ("instances", "a@.service") in host.calls
    staged = host.staging().manager()
    assert staged is not None
    assert staged.instances("a@.socket") == ("a@one.socket",)


def test_what_a_unit_triggers_is_said_by_both() -> None:
    host = FakeHost()
    host.add_unit("a.socket", triggers=("b.service",))
    host.add_unit("a.service", triggered_by=("a.socket",))
    assert host.unit("a.socket").triggers == ("a.service", "b.service")
    manager_of(host).daemon_reload()
    assert host.unit("a.socket").triggers == ("a.service", "b.service")


def test_its_calls_go_wrong_on_demand() -> None:
    host = running()
    host.fail(HostError("No."), method="units", times=1)
    host.fail(HostError("No."), method="mark", subject="a.service", after=True)
    with pytest.raises(HostError, match="No"):
        manager_of(host).units(["a.service"])
    with pytest.raises(HostError, match="No"):
        manager_of(host).mark("a.service", BOTH)
    assert host.unit("a.service").marks == BOTH


def test_a_set_of_candidates_is_answered_and_gets_nothing_done() -> None:
    host = running()
    host.add_journal("a.service", "said")
    manager = host.staging().manager()
    assert isinstance(manager, RefusingManager)
    assert manager.units(["a.service"])["a.service"].active == "active"
    assert manager.journal("a.service", lines=1) == "said"
    for verb in ("start", "stop", "restart", "reload", "reset_failed"):
        assert refusal(getattr(manager, verb), "a.service")[0] == "cannot-be-staged"
    for verb in ("enable", "disable", "mask", "unmask"):
        assert refusal(getattr(manager, verb), ["a.service"])[0] == "cannot-be-staged"
    assert refusal(manager.mark, "a.service", [])[0] == refusal(manager.daemon_reload)[0] == "cannot-be-staged"
    for restart in (False, True):
        with pytest.raises(HostError, match=r"Cannot (re)?start a\.socket, a\.service for a candidate"):
            manager.start_socket("a.socket", ["a.service"], restart=restart)
    assert host.journal == []
    assert FakeHost(is_running_system=False).staging().manager() is None
