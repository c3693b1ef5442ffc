"""What a unit file holds, comes after and costs, and what `apply` and `settle` do on their own account."""

from pathlib import Path

import pytest

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import (
    DesiredError,
    ImplicitEdge,
    OrderedProvider,
    RelatedProvider,
    Removal,
    SettledProvider,
    Stage,
    StagedProvider,
    ValidatedProvider,
)
from datum.provider.host import Command, CommandOutcome, HostError
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum.testing.world import FakeWorld
from datum_providers.unit import provider as module
from datum_providers.unit.desired import DesiredUnit
from datum_providers.unit.provider import UnitProvider
from tests.providers.index import index_of

PROVIDER = UnitProvider()
SYSTEM = "/etc/systemd/system"
TEXT = "[Service]\nExecStart=/bin/app\n"


def unit(name: str = "app.service", **attributes: AttributeValue) -> DesiredUnit:
    return PROVIDER.parse(name, attributes)


def see(host: FakeHost, desired: DesiredUnit) -> Observation:
    return PROVIDER.observe(host.reader(), {"it": desired})["it"]


def make_host(**files: str) -> FakeHost:
    host = FakeHost()
    host.add_directory(SYSTEM)
    for path, text in files.items():
        host.add_file(path, text.encode())
    return host


def test_the_engine_finds_what_it_can_do() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, SettledProvider)
    assert isinstance(PROVIDER, StagedProvider)
    assert isinstance(PROVIDER, OrderedProvider)
    assert isinstance(PROVIDER, ValidatedProvider)
    assert PROVIDER.order_stage is Stage.UNITS


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("app.service", ("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"{SYSTEM}/app.service")),
        ("app@.service/own", ("app@.service", "app@i.service", f"{SYSTEM}/app@.service.d/own.conf")),
    ],
)
def test_what_lies_there_is_judged_before_anything_is_started(name: str, shown: tuple[str, ...]) -> None:
    origin = ResourceId("unit", name)
    check = PROVIDER.validation(origin, unit(name, content=TEXT))
    assert check is not None
    assert (check.resource, check.argv[:2], check.argv[3:]) == (origin, ("sh", "-c"), shown)


def test_a_drop_in_of_many_is_judged_by_nobody() -> None:
    assert PROVIDER.validation(ResourceId("unit", "app-.service/own"), unit("app-.service/own", content=TEXT)) is None


LOAD = Step(Operation.UPDATE, (Change("loaded", "stale", "current"),))


@pytest.mark.parametrize(("exit_code", "has_analyze"), [(1, True), (1, False), (0, True)])
def test_what_is_wrong_on_the_disk_is_not_loaded(exit_code: int, has_analyze: bool) -> None:
    """The file is as declared, and something else of its unit is broken: a reload would not help, and not tell why."""
    host = make_host(**({"/usr/bin/systemd-analyze": ""} if has_analyze else {}))
    host.add_query("sh", lambda _world, _command: CommandOutcome(exit_code, b"", b"hand.conf:1: Invalid section\n"))
    writer = host.writer()
    if not (exit_code and has_analyze):
        PROVIDER.apply(writer, unit(content=TEXT), LOAD)
        return
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(writer, unit(content=TEXT), LOAD)
    assert caught.value.failure is FailureCause.CHECK
    assert "hand.conf:1: Invalid section" in caught.value.detail


@pytest.mark.parametrize(
    ("name", "active", "stays"),
    [
        ("datum.service", "activating", True),
        ("datum.service", "inactive", False),
        ("datum.service/own", "activating", False),
        ("datum.timer", "active", False),
    ],
)
@pytest.mark.parametrize("is_gone", [False, True])
def test_the_file_of_the_agent_stays_while_that_runs(name: str, active: str, stays: bool, is_gone: bool) -> None:
    host, desired = make_host(), unit(name)
    if not is_gone:
        host.add_file(desired.path, b"[Service]\nExecStart=/bin/true\n")
    is_own = {"drop_ins": (desired.path,)} if desired.drop_in else {"fragment": desired.path}
    host.add_unit(desired.unit.full, active=active, load="loaded", **is_own)
    seen = PROVIDER.observe(host.reader(), {name: desired})[name]
    assert isinstance(seen, Present)
    assert bool(seen.obstacles) is stays


@pytest.mark.parametrize(
    ("on_change", "meaning"), [(None, ["restart"]), ("restart", ["restart"]), ("reload", ["reload"]), ("nothing", [])]
)
def test_it_holds_its_path_and_what_its_change_means(on_change: str | None, meaning: list[str]) -> None:
    path, *parts = PROVIDER.targets(unit("app.service/x", on_change=on_change))
    assert (path, path.leaf) == (Target("path", f"{SYSTEM}/app.service.d/x.conf"), True)
    assert parts == [Target("unit_part", f"{word}:{SYSTEM}/app.service.d/x.conf") for word in meaning]


def test_what_it_is_judged_with_comes_first() -> None:
    index = index_of(
        {
            f"path {SYSTEM}": f"directory:{SYSTEM}",
            f"path {SYSTEM}/app.service": "unit:app.service",
            f"path {SYSTEM}/app@.service": "unit:app@.service",
        }
    )
    parent = ImplicitEdge(ResourceId("directory", SYSTEM), "parent directory")

    def first(name: str) -> list[tuple[str, str]]:
        found = PROVIDER.edges(unit(name), index)
        assert found[0] == parent
        assert all((edge.kind, edge.soft) == (DependencyKind.AFTER, True) for edge in found[1:])
        return [(str(edge.target), edge.reason) for edge in found[1:]]

    assert first("app.service") == []
    assert first("app.service/x") == [("unit:app.service", "unit file")]
    assert first("app@one.service/x") == [("unit:app@.service", "unit file")]
    assert first("app.socket") == [("unit:app.service", "what the socket starts")]
    assert first("app.timer") == [("unit:app.service", "what the timer starts")]
    assert PROVIDER.edges(unit("app.timer"), index_of({})) == ()


NEW = "new_unit_file app.service"


@pytest.mark.parametrize(("field", "is_new"), [("content", True), ("loaded", True), ("mode", False)])
def test_other_text_or_a_daemon_reload_makes_another_unit_of_it(field: str, is_new: bool) -> None:
    effects = PROVIDER.effects(unit("app.service/x"), Step(Operation.UPDATE, (Change(field, "a", "b"),)))
    assert [str(effect.target) for effect in effects] == ([NEW] if is_new else [])


@pytest.mark.parametrize(
    ("name", "operation", "targets"),
    [
        ("app.service", Operation.CREATE, [f"path {SYSTEM}/app.service", NEW, "unit app.service"]),
        ("app.service", Operation.REPLACE, [f"path {SYSTEM}/app.service", NEW, "unit app.service"]),
        ("app.service/x", Operation.CREATE, [f"path {SYSTEM}/app.service.d/x.conf", NEW]),
        ("app.service", Operation.UPDATE, []),
    ],
)
def test_what_is_made_is_the_path_and_the_unit(name: str, operation: Operation, targets: list[str]) -> None:
    effects = PROVIDER.effects(unit(name), Step(operation, (Change("mode", "0600", "0644"),)))
    assert [str(effect.target) for effect in effects] == targets
    assert all(effect.certain for effect in effects)


@pytest.mark.parametrize(
    ("name", "change", "hazards"),
    [
        ("app.service", Change("kind", "regular", None), set()),
        ("app.service", Change("kind", "mask", "regular"), set()),
        ("app.service", Change("kind", "gone", None), set()),
        ("app.service", Change("kind", "directory", "regular"), {Hazard.DATA_LOSS}),
        ("networking.service/x", Change("content", "a", "b"), {Hazard.ACCESS_LOSS}),
        ("datum.service", Change("content", "a", "b"), {Hazard.ACCESS_LOSS}),
        ("ssh.service", Change("loaded", "stale", "current"), set()),
    ],
)
def test_what_a_step_costs(name: str, change: Change, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(unit(name), Step(Operation.REPLACE, (change,))) == hazards


@pytest.mark.parametrize(
    ("name", "removal"),
    [("app.service", Removal.DELETE), ("app.service/x", Removal.DELETE), ("datum.service/x", Removal.NEVER)],
)
def test_what_is_dropped_is_deleted_but_the_agent(name: str, removal: Removal) -> None:
    assert PROVIDER.removal(unit(name)) is removal


def test_only_what_needs_no_stop_can_be_a_candidate() -> None:
    assert PROVIDER.can_stage(unit(content=TEXT))
    assert PROVIDER.can_stage(unit("app.service/x"))
    assert not PROVIDER.can_stage(unit())


def test_its_text_is_adopted() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT})
    seen = see(host, unit())
    assert isinstance(seen, Present)
    assert PROVIDER.adopt("app.service", seen) == {"content": TEXT}


@pytest.mark.parametrize("kind", ["symlink", "gone"])
def test_what_is_no_file_is_not_adopted(kind: str) -> None:
    with pytest.raises(DesiredError):
        PROVIDER.adopt("app.service", Present({"kind": kind}))


def test_a_file_that_is_not_loaded_takes_one_reload() -> None:
    """Somebody wrote the wanted bytes by hand, or a pass was killed before it told the manager."""
    host = make_host(**{f"{SYSTEM}/app.service": "[Service]\nExecStart=/bin/old\n"})
    desired = unit(content=TEXT)
    see(host, desired)
    host.add_file(f"{SYSTEM}/app.service", TEXT.encode())
    seen = see(host, desired)
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    assert step.changes == (Change("loaded", "stale", "current"),)
    PROVIDER.apply(host.writer(), desired, step)
    assert not host.journal
    PROVIDER.settle(host.writer())
    assert [entry.method for entry in host.journal] == ["daemon_reload"]
    after = see(host, desired)
    assert isinstance(after, Present)
    assert PROVIDER.plan(desired, after) is None


def test_without_a_manager_there_is_nobody_to_tell() -> None:
    host = make_host()
    host.remove_manager()
    PROVIDER.settle(host.writer())
    assert not host.journal


def delete(host: FakeHost, desired: DesiredUnit) -> list[str]:
    seen = see(host, desired)
    assert isinstance(seen, Present)
    PROVIDER.apply(host.writer(), desired, deletion_of(seen))
    done = [f"{entry.method} {entry.subject}" for entry in host.journal]
    PROVIDER.settle(host.writer())
    assert isinstance(see(host, desired), Absent)
    return done


def test_what_runs_from_a_unit_file_is_stopped_and_disabled_before_that_goes() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT + "[Install]\nWantedBy=multi-user.target\n"})
    writer = host.writer().manager()
    assert writer is not None
    writer.enable(["app.service"])
    writer.start("app.service")
    host.journal.clear()
    assert delete(host, unit()) == ["stop app.service", "disable app.service", f"remove_file {SYSTEM}/app.service"]


def test_what_neither_runs_nor_is_enabled_only_goes() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT})
    assert delete(host, unit()) == [f"remove_file {SYSTEM}/app.service"]


def test_instances_of_a_template_are_disabled_before_that_goes() -> None:
    host = make_host(**{f"{SYSTEM}/app@.service": TEXT})
    host.add_link(f"{SYSTEM}/multi-user.target.wants/app@one.service", f"{SYSTEM}/app@.service")
    assert delete(host, unit("app@.service")) == ["disable app@.service", f"remove_file {SYSTEM}/app@.service"]


def test_instances_that_run_are_stopped_before_their_template_goes() -> None:
    """One that has a file of its own does not come from the template, and one that failed does not run."""
    host = make_host(**{f"{SYSTEM}/app@.service": TEXT, f"{SYSTEM}/app@own.service": TEXT})
    manager = host.writer().manager()
    assert manager is not None
    for name in ("app@two.service", "app@one.service", "app@own.service"):
        manager.start(name)
    host.add_unit("app@bad.service", active="failed", fragment=f"{SYSTEM}/app@.service")
    host.add_unit("apple@one.service", active="active", fragment=f"{SYSTEM}/apple@.service")
    host.journal.clear()
    assert delete(host, unit("app@.service")) == [
        "stop app@one.service",
        "stop app@two.service",
        f"remove_file {SYSTEM}/app@.service",
    ]
    assert host.unit("app@own.service").active == "active"


def test_an_instance_that_does_not_stop_keeps_its_template() -> None:
    host = make_host(**{f"{SYSTEM}/app@.service": TEXT})
    host.add_unit("app@one.service", active="active", stop_result="timeout", fragment=f"{SYSTEM}/app@.service")
    seen = see(host, unit("app@.service"))
    assert isinstance(seen, Present)
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), unit("app@.service"), deletion_of(seen))
    assert f"{SYSTEM}/app@.service" in host.files


def test_with_a_drop_in_of_a_template_no_instance_is_stopped() -> None:
    host = make_host(**{f"{SYSTEM}/app@.service": TEXT, f"{SYSTEM}/app@.service.d/x.conf": "[Service]\n"})
    host.add_unit("app@one.service", active="active", fragment=f"{SYSTEM}/app@.service")
    assert delete(host, unit("app@.service/x")) == [f"remove_directory {SYSTEM}/app@.service.d"]


def test_what_does_not_stop_keeps_its_file() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT})
    host.add_unit("app.service", active="active", stop_result="timeout", fragment=f"{SYSTEM}/app.service")
    seen = see(host, unit())
    assert isinstance(seen, Present)
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), unit(), deletion_of(seen))
    assert f"{SYSTEM}/app.service" in host.files


def test_links_go_where_there_is_no_manager() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT})
    host.add_link(f"{SYSTEM}/multi-user.target.wants/app.service", f"{SYSTEM}/app.service")
    host.remove_manager()

    def play(world: FakeWorld, command: Command) -> CommandOutcome:
        assert command.argv == ("systemctl", "--root=/", "disable", "app.service")
        world.remove(f"{SYSTEM}/multi-user.target.wants/app.service")
        return CommandOutcome(0, b"", b"")

    host.add_program("systemctl", play)
    assert delete(host, unit())[-1] == f"remove_file {SYSTEM}/app.service"


def test_a_file_that_is_gone_and_still_loaded_is_forgotten() -> None:
    """A removal that was killed before the manager was told is gone on with."""
    host = make_host(**{f"{SYSTEM}/app.service.d/x.conf": "[Service]\n", "/usr/lib/systemd/system/app.service": TEXT})
    desired = unit("app.service/x")
    see(host, desired)
    host.world.remove(f"{SYSTEM}/app.service.d")
    seen = see(host, desired)
    assert isinstance(seen, Present)
    assert seen.fields == {"kind": "gone", "loaded": "stale"}
    delete(host, desired)


@pytest.mark.parametrize(
    ("declared", "others", "stays"),
    [({}, [], False), ({}, ["y.conf"], True), ({f"path {SYSTEM}/app.service.d": "directory:it"}, [], True)],
)
def test_with_the_last_drop_in_goes_its_directory(declared: dict[str, str], others: list[str], stays: bool) -> None:
    host = make_host(**{f"{SYSTEM}/app.service.d/{name}": "[Service]\n" for name in ("x.conf", *others)})
    delete(host, PROVIDER.relate(unit("app.service/x"), index_of(declared)))
    assert (f"{SYSTEM}/app.service.d" in host.files) is stays


def test_a_unit_file_without_content_cannot_be_made() -> None:
    with pytest.raises(HostError, match="No content") as caught:
        PROVIDER.apply(make_host().writer(), unit(), Step(Operation.CREATE, (Change("kind", None, "regular"),)))
    assert caught.value.failure is FailureCause.IMPOSSIBLE


def test_the_manager_is_asked_once_for_all_and_not_for_templates() -> None:
    host = make_host()
    names = ("b.service", "a.service/x", "a.service/y", "t@.service", "p-.service/x")
    PROVIDER.observe(host.reader(), {name: unit(name) for name in names})
    assert [call for call in host.calls if call[0] != "examine"] == [("manager", ""), ("units", "a.service b.service")]


def test_a_text_that_is_too_long_to_show_is_compared_all_the_same() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": "#" * 70_000})
    seen = see(host, unit(content=TEXT))
    assert isinstance(seen, Present)
    assert seen.detail == {}
    assert PROVIDER.plan(unit(content=TEXT), seen) is not None
    bare = see(host, unit())
    assert isinstance(bare, Present)
    assert "content" not in bare.fields


def test_a_leftover_beside_it_is_cleared_and_costs_nothing() -> None:
    host = make_host(**{f"{SYSTEM}/ssh.service": TEXT})
    host.world.residues.add(f"{SYSTEM}/ssh.service")
    desired = unit("ssh.service", content=TEXT)
    seen = see(host, desired)
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    assert (step.changes, PROVIDER.hazards(desired, step)) == ((Change("residue", True, False),), frozenset())
    PROVIDER.apply(host.writer(), desired, step)
    assert [entry.method for entry in host.journal] == ["remove_residue"]


def test_what_cannot_be_read_is_no_text_to_adopt() -> None:
    host = make_host(**{f"{SYSTEM}/app.service": TEXT})
    host.fail(13, method="read_file")
    bare = see(host, unit())
    assert isinstance(bare, Present)
    assert isinstance(bare.fields["content"], Unobservable)
    assert PROVIDER.adopt("app.service", bare) == {}
    declared = see(host, unit(content="other"))
    assert isinstance(declared, Present)
    assert isinstance(declared.fields["content"], str)


def test_the_page_names_every_field_and_every_cause_of_not_applicable() -> None:
    page = (Path(module.__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in ("no-manager", "no-owners", "no-modes", *PROVIDER.fields):
        assert f"`{word}`" in page
