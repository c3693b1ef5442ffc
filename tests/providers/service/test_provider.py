"""What a service lists, comes after and costs, and what `apply` does with the manager on its own account."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, field, frozen

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Cause, NotApplicable, Present, Unobservable
from datum.model.plan import OWES, Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import (
    ImplicitEdge,
    OrderedProvider,
    PredictingProvider,
    RefreshedProvider,
    RelatedProvider,
    Removal,
    Stage,
)
from datum.provider.host import HostError
from datum.provider.manager import NEEDS_RELOAD, NEEDS_RESTART, UnitFacts
from datum.testing.host import FakeHost
from datum_providers.service import provider as module
from datum_providers.service.desired import DesiredService
from datum_providers.service.doing import SETTLE
from datum_providers.service.provider import ServiceProvider
from tests.providers.index import index_of

PROVIDER = ServiceProvider()
RESTART, RELOAD = Operation.REFRESH_RESTART, Operation.REFRESH_RELOAD
SYSTEM = "/etc/systemd/system"


def service(name: str = "app", /, **attributes: AttributeValue) -> DesiredService:
    return PROVIDER.parse(name, {"settle": 0, **attributes})


def related(declared: Mapping[str, str], name: str = "app", /, **attributes: AttributeValue) -> DesiredService:
    return PROVIDER.relate(service(name, **attributes), index_of(declared))


def of(text: str) -> ResourceId:
    return ResourceId.parse(text)


def test_the_engine_finds_what_it_can_do() -> None:
    assert isinstance(PROVIDER, RefreshedProvider)
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, PredictingProvider)
    assert isinstance(PROVIDER, OrderedProvider)
    assert PROVIDER.order_stage is Stage.SERVICES


def test_it_holds_the_state_of_its_unit() -> None:
    assert PROVIDER.targets(service("ssh.socket")) == (Target("unit_state", "ssh.socket"),)


OWN = {
    f"path {SYSTEM}/app.service": "unit:app.service",
    f"unit_part restart:{SYSTEM}/app.service": "unit:app.service",
    f"path {SYSTEM}/app.service.d/a.conf": "unit:app.service/a",
    f"unit_part reload:{SYSTEM}/app.service.d/a.conf": "unit:app.service/a",
    f"path {SYSTEM}/app.service.d/b.conf": "unit:app.service/b",
    f"path {SYSTEM}/app.service.d/c.conf": "file:/etc/systemd/system/app.service.d/c.conf",
    f"path {SYSTEM}/app.service.d/notes": "file:/etc/systemd/system/app.service.d/notes",
    f"path {SYSTEM}/other.service": "unit:other.service",
}


def test_its_own_files_are_listed_unless_they_say_otherwise() -> None:
    """A unit file and drop-ins as they say themselves; a plain file at such a path means a restart."""
    assert PROVIDER.triggers(related(OWN)) == {
        of(f"file:{SYSTEM}/app.service.d/c.conf"): RESTART,
        of("unit:app.service"): RESTART,
        of("unit:app.service/a"): RELOAD,
    }


def test_files_of_its_template_are_its_own() -> None:
    declared = {
        f"path {SYSTEM}/app@.service": "unit:app@.service",
        f"unit_part restart:{SYSTEM}/app@.service": "unit:app@.service",
        f"path {SYSTEM}/app@.service.d/a.conf": "unit:app@.service/a",
        f"unit_part restart:{SYSTEM}/app@.service.d/a.conf": "unit:app@.service/a",
    }
    assert set(PROVIDER.triggers(related(declared, "app@one"))) == {of("unit:app@.service"), of("unit:app@.service/a")}


def test_a_restart_beats_a_reload() -> None:
    desired = related(OWN, restart_on=["file:/a", "unit:app.service/a"], reload_on=["file:/a", "file:/b"])
    found = PROVIDER.triggers(desired)
    assert (found[of("file:/a")], found[of("unit:app.service/a")], found[of("file:/b")]) == (RESTART, RESTART, RELOAD)


@pytest.mark.parametrize("attributes", [{"running": False}, {"enabled": "masked"}])
def test_what_shall_not_run_lists_nothing(attributes: dict[str, AttributeValue]) -> None:
    assert PROVIDER.triggers(related(OWN, restart_on=["file:/a"], **attributes)) == {}


def test_the_agent_lists_nothing() -> None:
    """A pass runs in it, and a unit file of it that changed is read by the next."""
    declared = {
        f"path {SYSTEM}/datum.service.d/a.conf": "unit:datum.service/a",
        f"unit_part restart:{SYSTEM}/datum.service.d/a.conf": "unit:datum.service/a",
    }
    assert PROVIDER.triggers(related(declared, "datum")) == {}
    seen = Present({"running": True, "enabled": "static", OWES: "restart"})
    assert PROVIDER.refresh(PROVIDER.parse("datum", {}), seen) is None


def test_it_requires_its_files_and_comes_after_socket_and_package() -> None:
    declared = {
        **OWN,
        "unit_state app.socket": "service:app.socket",
        "package app": "package:app",
        "package app-plugins:i386": "package:app-plugins:i386",
        "package apple": "package:apple",
    }
    found = PROVIDER.edges(service(), index_of(declared))
    assert [(str(edge.target), edge.reason) for edge in found if not edge.soft] == [
        ("unit:app.service", "unit file"),
        ("unit:app.service/a", "drop-in"),
        ("unit:app.service/b", "drop-in"),
        (f"file:{SYSTEM}/app.service.d/c.conf", "drop-in"),
    ]
    assert [edge for edge in found if edge.soft] == [
        ImplicitEdge(of("package:app"), "package of its name", DependencyKind.AFTER, soft=True),
        ImplicitEdge(of("package:app-plugins:i386"), "package of its name", DependencyKind.AFTER, soft=True),
        ImplicitEdge(of("service:app.socket"), "its socket", DependencyKind.AFTER, soft=True),
    ]


@pytest.mark.parametrize(
    ("package", "name", "is_its"),
    [
        ("nginx-light", "nginx", True),
        ("redis", "redis-server", True),
        ("postgresql-15", "postgresql@15-main", True),
        ("openssh-server", "ssh", True),
        ("openssh-server", "ssh.socket", True),
        ("openssh-client", "ssh", False),
        ("cronie", "cron", False),
    ],
)
def test_a_package_is_its_own_by_the_name(package: str, name: str, is_its: bool) -> None:
    found = PROVIDER.edges(service(name), index_of({f"package {package}": f"package:{package}"}))
    assert bool(found) is is_its


def test_it_comes_after_configuration_of_its_name_that_it_does_not_list() -> None:
    places = ("/etc/app/a", "/etc/app", "/etc/app.conf", "/etc/default/app", "/etc/app/b", "/etc/app/c", "/etc/apple/a")
    index = index_of({f"path {path}": f"file:{path}" for path in places})
    found = PROVIDER.edges(service("app@one", restart_on=["file:/etc/app/b"], reload_on=["file:/etc/app/c"]), index)
    assert found == tuple(
        ImplicitEdge(of(f"file:{path}"), "configuration of its name", DependencyKind.AFTER, soft=True)
        for path in ("/etc/app.conf", "/etc/default/app", "/etc/app", "/etc/app/a")
    )


def test_options_of_all_services_are_not_those_of_one_that_is_called_default() -> None:
    places = ("/etc/default", "/etc/default/app", "/etc/default/default", "/etc/default.conf")
    found = PROVIDER.edges(service("default"), index_of({f"path {path}": f"file:{path}" for path in places}))
    assert [str(edge.target) for edge in found] == ["file:/etc/default.conf", "file:/etc/default/default"]


def test_a_socket_does_not_come_after_itself() -> None:
    assert PROVIDER.edges(service("app.socket"), index_of({"unit_state app.socket": "service:app.socket"})) == ()


MISSING = Absent({"unit_known": False, "running": False})


@pytest.mark.parametrize("attributes", [{"running": False}, {"enabled": False}])
def test_what_shall_be_off_is_expected_on_once_its_package_is_there(attributes: dict[str, AttributeValue]) -> None:
    """Debian's packages start and enable what they bring."""
    desired = service(**attributes)
    foreseen = PROVIDER.predict(desired, MISSING)
    assert foreseen is not None
    step = PROVIDER.plan(desired, foreseen)
    assert step is not None
    assert [(change.name, change.before, change.after) for change in step.changes] == [(*attributes, True, False)]


def test_without_a_manager_only_what_is_enabled_is_foreseen() -> None:
    na = NotApplicable("no-manager")
    foreseen = PROVIDER.predict(service(running=False, enabled=False), Absent({"unit_known": False, "running": na}))
    assert foreseen is not None
    step = PROVIDER.plan(service(running=False, enabled=False), foreseen)
    assert step is not None
    assert [change.name for change in step.changes] == ["enabled"]


def test_nothing_else_is_foreseen() -> None:
    unseen = Unobservable(Cause.OTHER, "No.")
    assert PROVIDER.predict(service(running=False), unseen) is None
    assert PROVIDER.predict(service(running=True, enabled=True), MISSING) is None
    assert PROVIDER.predict(service(running=False), Absent({"running": False, "enabled": False, OWES: None})) is None


@pytest.mark.parametrize(
    ("name", "operation", "hazards"),
    [
        ("nginx", RESTART, set()),
        ("ssh", RESTART, {Hazard.ACCESS_LOSS}),
        ("ssh", RELOAD, set()),
        ("ssh.socket", RESTART, {Hazard.ACCESS_LOSS}),
        ("networking", RESTART, {Hazard.ACCESS_LOSS}),
        ("wg-quick@wg0", RESTART, {Hazard.ACCESS_LOSS}),
    ],
)
def test_what_a_refresh_costs(name: str, operation: Operation, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(service(name), Step(operation, (Change(OWES, "restart", None),))) == hazards


@pytest.mark.parametrize(
    ("name", "change", "hazards"),
    [
        ("nginx", Change("running", True, None), {Hazard.OUTAGE}),
        ("nginx", Change("enabled", True, None), set()),
        ("nginx", Change("running", False, True), set()),
        ("ssh", Change("enabled", True, "masked"), {Hazard.ACCESS_LOSS}),
        ("datum.timer", Change("enabled", True, False), {Hazard.ACCESS_LOSS}),
        ("datum.timer", Change("running", True, False), {Hazard.OUTAGE, Hazard.ACCESS_LOSS}),
    ],
)
def test_what_a_stop_costs(name: str, change: Change, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(service(name), Step(Operation.UPDATE, (change,))) == hazards


def test_dropped_services_are_kept() -> None:
    assert PROVIDER.removal(service()) is Removal.KEEP
    assert PROVIDER.removal(PROVIDER.parse("datum.timer", {})) is Removal.NEVER


@pytest.mark.parametrize(
    ("fields", "attributes"),
    [
        ({"running": True, "enabled": True}, {"running": True, "enabled": True}),
        ({"running": False, "enabled": True}, {"running": False, "enabled": True}),
        ({"running": True, "enabled": "static"}, {"running": True}),
        ({"running": True, "enabled": False}, {"running": True, "enabled": False}),
        ({"running": False, "enabled": True, "stays": False}, {"enabled": True}),
        ({"running": False, "enabled": "masked"}, {"enabled": "masked"}),
    ],
)
def test_what_is_there_is_adopted(fields: dict[str, bool | str], attributes: dict[str, bool | str]) -> None:
    assert PROVIDER.adopt("app", Present(fields)) == attributes


def test_the_page_names_every_field_and_every_cause_of_not_applicable() -> None:
    page = (Path(module.__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in ("no-manager", "no-marks", *PROVIDER.fields):
        assert f"`{word}`" in page


# What `apply` does.


def up(host: FakeHost, **how: Any) -> None:
    host.add_unit("app.service", active="active", file_state="enabled", **how)


def do(host: FakeHost, step: Step, desired: DesiredService | None = None) -> list[str]:
    PROVIDER.apply(host.writer(), desired or service(), step)
    return [entry.method for entry in host.journal]


def owing(operation: Operation, before: str | None, after: str | None) -> Step:
    return Step(operation, (Change(OWES, before, after),))


@pytest.mark.parametrize(
    ("after", "marks"),
    [("restart", {NEEDS_RESTART}), ("reload", {NEEDS_RESTART, NEEDS_RELOAD}), (None, set())],
)
def test_marks_are_as_the_design_has_them(after: str | None, marks: set[str]) -> None:
    host = FakeHost()
    up(host, marks=frozenset({NEEDS_RELOAD}))
    assert do(host, owing(Operation.MARK, "reload", after)) == ["mark"]
    assert set(host.unit("app.service").marks or ()) == marks


def test_after_a_good_reload_nothing_is_owed() -> None:
    host = FakeHost()
    up(host, can_reload=True, marks=frozenset({NEEDS_RESTART, NEEDS_RELOAD}))
    assert do(host, owing(RELOAD, "reload", None)) == ["reload", "mark"]
    assert not host.unit("app.service").marks


def test_after_a_reload_that_failed_one_is_owed_as_before() -> None:
    """The manager clears `needs-reload` when a reload begins, also when it fails (tried with 252)."""
    host = FakeHost()
    up(host, can_reload=True, reload_result="failed", marks=frozenset({NEEDS_RESTART, NEEDS_RELOAD}))
    host.add_journal("app.service", "bad directive")
    with pytest.raises(HostError, match="bad directive"):
        do(host, owing(RELOAD, "reload", None))
    assert set(host.unit("app.service").marks or ()) == {NEEDS_RESTART, NEEDS_RELOAD}


@pytest.mark.parametrize(
    ("before", "during", "left"),
    [
        ({NEEDS_RESTART, NEEDS_RELOAD}, {NEEDS_RESTART, NEEDS_RELOAD}, {NEEDS_RESTART, NEEDS_RELOAD}),
        ({NEEDS_RESTART, NEEDS_RELOAD}, {NEEDS_RESTART}, set()),
        ({NEEDS_RESTART, NEEDS_RELOAD}, set(), set()),
        ({NEEDS_RELOAD}, {NEEDS_RELOAD}, {NEEDS_RELOAD}),
        ({NEEDS_RESTART}, {NEEDS_RESTART}, {NEEDS_RESTART}),
        (set(), {NEEDS_RESTART}, {NEEDS_RESTART}),
    ],
)
def test_what_others_mark_during_a_reload_stays_owed(before: set[str], during: set[str], left: set[str]) -> None:
    """The manager clears `needs-reload` when the job begins; `needs-restart` beside it was the pair of that one."""
    seen = evolve(UP, can_reload=True, marks=frozenset(before))
    manager = Manager((seen, evolve(seen, marks=frozenset(during))))
    PROVIDER.apply(Writer(manager), service(), owing(RELOAD, "reload", None))  # type: ignore[arg-type]  # as above
    marked = manager.marked[-1] if manager.marked else during
    assert set(marked) == left
    assert len(manager.marked) == (left != during)


def test_marks_are_cleared_before_the_unit_is_watched() -> None:
    """A mark that comes while the unit settles is of a change that the reload did not see."""
    manager = Manager(
        (evolve(UP, marks=frozenset({NEEDS_RESTART, NEEDS_RELOAD})), evolve(UP, marks=frozenset({NEEDS_RESTART})), UP)
    )
    PROVIDER.apply(Writer(manager), service(), owing(RELOAD, "reload", None))  # type: ignore[arg-type]  # as above
    assert manager.asked == ["units", "reload", "units", "mark", "units"]


def socket_host(*names: str, **how: Any) -> FakeHost:
    host = FakeHost()
    host.add_unit("app.socket", file_state="enabled", triggers=names, **how)
    for name in names:
        host.add_unit(name, active="active", triggered_by=("app.socket",))
    return host


START = Step(Operation.UPDATE, (Change("running", False, True),))


def test_what_cannot_be_stopped_for_its_socket_leaves_all_services_running() -> None:
    host = socket_host("a.service", "b.service")
    host.world.manager.units["b.service"].stop_result = "timeout"
    host.add_journal("app.socket", "busy")
    writer = host.writer()
    with pytest.raises(HostError, match=r"start app\.socket ended 'failed'(.|\n)*busy"):
        PROVIDER.apply(writer, service("app.socket"), START)
    assert host.unit("a.service").active == host.unit("b.service").active == "active"
    assert host.unit("app.socket").active == "inactive"
    assert "that failed: The job to restart b.service ended 'timeout'" in writer.remarks[1]


def test_what_does_not_start_again_after_its_socket_failed_the_step() -> None:
    host = socket_host("a.service", "b.service")
    host.world.manager.units["a.service"].start_result = "failed"
    host.add_journal("a.service", "no database")
    with pytest.raises(HostError, match=r"restart a\.service ended 'failed'(.|\n)*no database") as caught:
        do(host, START, service("app.socket"))
    assert "systemctl status a.service" in caught.value.diagnostics[0].hint
    assert host.unit("b.service").active == host.unit("app.socket").active == "active"


def test_what_does_not_start_again_beside_its_socket_is_told() -> None:
    host = socket_host("a.service", "b.service", start_result="failed")
    host.world.manager.units["a.service"].start_result = "failed"
    writer = host.writer()
    with pytest.raises(HostError, match=r"start app\.socket ended 'failed'"):
        PROVIDER.apply(writer, service("app.socket"), START)
    assert host.unit("b.service").active == "active"
    assert [remark.partition(",")[0] for remark in writer.remarks] == [
        "a.service had to be restarted with its socket",
        "b.service was restarted with its socket",
    ]


@pytest.mark.parametrize(("step", "verb"), [(START, "start"), (owing(RESTART, "restart", None), "restart")])
def test_an_instance_that_a_socket_names_is_no_connection(step: Step, verb: str) -> None:
    host = socket_host("app@one.service", "back@1-2.service")
    assert do(host, step, service("app.socket")) == ["restart", "restart", verb]


def test_changed_unit_files_are_loaded_before_a_refresh() -> None:
    for operation in (RESTART, RELOAD):
        host = FakeHost()
        up(host, can_reload=True, needs_daemon_reload=True)
        assert do(host, owing(operation, "restart", None))[0] == "daemon_reload"


def test_what_failed_moments_ago_is_not_started_again() -> None:
    """Back-off comes from the host: the unit's own time of failure (design 1.5)."""
    host = FakeHost()
    now = int(time.time() * 1e6)
    host.add_unit("app.service", active="failed", result="exit-code", file_state="enabled", changed=now)
    host.add_journal("app.service", "no such database")
    with pytest.raises(HostError, match="is not started again before 30 s are over") as caught:
        do(host, Step(Operation.UPDATE, (Change("running", False, True),)))
    assert caught.value.failure is FailureCause.BUSY
    assert "no such database" in caught.value.detail
    assert not host.journal


@pytest.mark.parametrize("changed", [0, 1, int((time.time() + 3600) * 1e6)], ids=["never", "long ago", "to come"])
def test_what_failed_long_ago_or_at_no_known_time_is_started(changed: int) -> None:
    host = FakeHost()
    host.add_unit("app.service", active="failed", result="exit-code", file_state="enabled", changed=changed)
    assert do(host, Step(Operation.UPDATE, (Change("running", False, True),))) == ["reset_failed", "start"]


def test_a_deletion_stops_and_disables() -> None:
    host = FakeHost()
    up(host)
    step = Step(
        Operation.DELETE, (Change("enabled", True, None), Change(OWES, None, None), Change("running", True, None))
    )
    assert do(host, step) == ["stop", "disable", "daemon_reload"]


def test_a_deletion_of_what_only_runs_disables_nothing() -> None:
    host = FakeHost()
    host.add_unit("app.service", active="active", file_state="generated")
    step = Step(Operation.DELETE, (Change("enabled", "generated", None), Change("running", True, None)))
    assert do(host, step) == ["stop"]


def test_the_agent_is_not_stopped_by_itself() -> None:
    host = FakeHost()
    host.add_unit("datum.service", active="activating", file_state="static")
    step = Step(Operation.DELETE, (Change("running", True, None),))
    with pytest.raises(HostError, match="cannot stop itself") as caught:
        PROVIDER.apply(host.writer(), PROVIDER.parse("datum", {}), step)
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert not host.journal


@pytest.mark.parametrize(
    ("name", "active", "stays"),
    [
        ("datum", "active", True),
        ("datum", "inactive", False),
        ("datum.timer", "active", False),
        ("app", "active", False),
    ],
)
def test_the_agent_is_told_to_stay_before_anybody_plans_to_stop_it(name: str, active: str, stays: bool) -> None:
    host, desired = FakeHost(), PROVIDER.parse(name, {})
    host.add_unit(desired.unit.full, active=active, file_state="enabled")
    seen = PROVIDER.observe(host.reader(), {name: desired})[name]
    assert isinstance(seen, Present)
    assert [text.partition(",")[0] for text in seen.obstacles] == (["datum.service is the agent"] if stays else [])


def test_without_a_manager_nothing_is_marked_or_started() -> None:
    host = FakeHost()
    host.remove_manager()
    for step in (owing(Operation.MARK, None, "restart"), Step(Operation.UPDATE, (Change("running", False, True),))):
        with pytest.raises(HostError, match="no service manager") as caught:
            do(host, step)
        assert caught.value.failure is FailureCause.IMPOSSIBLE


@frozen
class Manager:
    """A manager that says one thing after the other of a unit."""

    says: Sequence[UnitFacts]
    asked: list[str] = field(factory=list)
    marked: list[frozenset[str]] = field(factory=list)

    def mark(self, name: str, marks: Collection[str]) -> None:
        self.asked.append("mark")
        self.marked.append(frozenset(marks))

    def units(self, names: Sequence[str]) -> Mapping[str, UnitFacts]:
        self.asked.append("units")
        turn = min(self.asked.count("units"), len(self.says)) - 1
        return dict.fromkeys(names, self.says[turn])

    def journal(self, name: str, *, lines: int) -> str:
        return ""

    def __getattr__(self, verb: str) -> Callable[..., None]:
        return lambda *_: self.asked.append(verb)


@frozen
class Writer:
    """As much of a writer as is needed."""

    says: Manager
    remarks: list[str] = field(factory=list)

    def manager(self) -> Manager:
        return self.says

    def remark(self, text: str) -> None:
        self.remarks.append(text)


UP = UnitFacts("app.service", active="active", sub="running", invocation="1", kind="simple", result="success")
DOWN = UnitFacts("app.service", kind="simple")


def start(*says: UnitFacts, settle: float | None = 0) -> Manager:
    manager = Manager((DOWN, *says))
    desired = PROVIDER.parse("app", {} if settle is None else {"settle": settle})
    step = Step(Operation.UPDATE, (Change("running", False, True),))
    PROVIDER.apply(Writer(manager), desired, step)  # type: ignore[arg-type]  # as much of a writer as it needs
    return manager


def test_what_stays_up_is_up() -> None:
    assert start(UP, UP, settle=0.01).asked == ["units", "start", "units", "units"]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            evolve(UP, active="failed", sub="failed", result="exit-code"),
            r"it is failed \(failed\), with the result exit",
        ),
        (evolve(UP, active="activating", sub="auto-restart"), r"it is activating \(auto-restart\)"),
        (evolve(UP, invocation="2"), "it was started again by itself"),
        (evolve(UP, restarts=1), "it was started again by itself"),
    ],
)
def test_what_does_not_stay_up_failed(after: UnitFacts, words: str) -> None:
    with pytest.raises(HostError, match=words) as caught:
        start(UP, after)
    assert caught.value.diagnostics[0].code == "unit-not-up"


def test_a_unit_that_is_down_after_its_job_is_not_watched() -> None:
    """Else a pass would wait for what has ended."""
    with pytest.raises(HostError, match="does not stay up"):
        start(DOWN, settle=300)


@pytest.mark.parametrize(
    "facts",
    [
        evolve(UP, kind="notify"),
        evolve(UP, kind="notify-reload"),
        evolve(UP, kind="oneshot", remains=True),
        evolve(UP, name="app.socket", kind=""),
    ],
)
def test_what_says_itself_that_it_is_up_is_not_watched(facts: UnitFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("datum_providers.service.doing.time.sleep", slept.append)
    start(facts, facts, settle=None)
    assert slept == [0.0]


def test_everything_else_is_watched_for_three_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("datum_providers.service.doing.time.sleep", slept.append)
    start(UP, UP, settle=None)
    assert slept == [SETTLE] == [3.0]


def test_all_services_are_asked_for_in_one_conversation() -> None:
    host = FakeHost()
    desired = {name: service(name, running=True) for name in ("c", "a", "b")}
    assert list(PROVIDER.observe(host.reader(), desired)) == ["a", "b", "c"]
    assert host.calls == [("manager", ""), ("units", "a.service b.service c.service")]


def test_two_names_of_one_unit_have_one_identity() -> None:
    host = FakeHost()
    host.add_unit("ssh.service", names=frozenset({"ssh.service", "sshd.service"}), active="active")
    found = PROVIDER.observe(host.reader(), {name: service(name, running=True) for name in ("ssh", "sshd")})
    assert {each.identity for each in found.values() if isinstance(each, Present)} == {"ssh.service"}
    assert len(found) == 2
