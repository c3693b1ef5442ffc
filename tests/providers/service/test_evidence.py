"""What changed after a unit was started: which inputs are looked at, against which time, and what says nothing."""

from typing import Any, Final

import pytest

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Observation, Present, StaleInput
from datum.model.plan import Operation
from datum.provider.contract import StaleProvider
from datum.provider.host import FileKind, HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.service.desired import DesiredService, Input
from datum_providers.service.provider import ServiceProvider
from tests.providers.index import Index

PROVIDER: Final = ServiceProvider()
CONF: Final = "/etc/app.conf"
START: Final = 100
UP: Final[dict[str, Any]] = {
    "active": "active", "kind": "simple", "began": 90, "main_started": START, "up_since": 110, "changed": 110,
}  # fmt: skip


def of(text: str) -> ResourceId:
    return ResourceId.parse(text)


def files(*ids: str) -> Index:
    """Return what declares one file each."""
    return Index({Target("path", of(text).name, leaf=True): of(text) for text in ids})


def desired(index: Index | None = None, **attributes: Any) -> DesiredService:
    said = attributes or {"restart_on": [f"file:{CONF}"]}
    return PROVIDER.relate(PROVIDER.parse("app", {"running": True, **said}), index or files(f"file:{CONF}"))


def host(changed: int, *, path: str = CONF, kind: FileKind = FileKind.REGULAR, **facts: Any) -> FakeHost:
    """Return a host with one file that changed then, in microseconds, and a unit that runs since `START`."""
    made = FakeHost()
    made.add_directory("/etc")
    made.add(path, FakeFile(kind, modified=changed * 1000))
    made.add_unit("app.service", **{**UP, **facts})
    return made


def seen(made: FakeHost, service: DesiredService | None = None) -> Observation:
    return PROVIDER.observe(made.reader(), {"app": service or desired()})["app"]


def stale(made: FakeHost, service: DesiredService | None = None) -> tuple[StaleInput, ...]:
    found = seen(made, service)
    assert isinstance(found, Present)
    return found.stale


def test_a_file_that_changed_after_the_start_is_evidence() -> None:
    assert stale(host(START + 1)) == (StaleInput(of(f"file:{CONF}"), CONF, START + 1, START),)


@pytest.mark.parametrize("changed", [0, START - 1, START])
def test_what_was_there_at_the_start_is_none(changed: int) -> None:
    assert stale(host(changed)) == ()


def test_evidence_is_no_field_and_nothing_to_do() -> None:
    found, usual = seen(host(START + 1)), seen(host(START))
    assert found == usual
    assert isinstance(found, Present)
    assert PROVIDER.plan(desired(), found) is None
    assert PROVIDER.refresh(desired(), found) is None


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [(START + 1, False), (500, False), (501, True)],
    ids=["reloaded-since", "at-its-end", "after"],
)
def test_what_is_listed_for_a_reload_is_compared_with_the_last_one(changed: int, is_stale: bool) -> None:
    service = desired(reload_on=[f"file:{CONF}"])
    found = stale(_reloaded(changed), service)
    assert [one.since for one in found] == ([500] if is_stale else [])


def test_what_asks_for_a_restart_is_not_settled_by_a_reload() -> None:
    assert len(stale(_reloaded(START + 1))) == 1


def _reloaded(changed: int) -> FakeHost:
    made = host(changed)
    made.add_unit("app.service", **{**UP, "changed": 500})
    return made


@pytest.mark.parametrize(
    ("facts", "since"),
    [
        ({"main_started": 80}, 110),
        ({"main_started": 0}, 110),
        ({"main_started": 0, "up_since": 0}, None),
        ({"main_started": 120, "up_since": 110}, 120),
    ],
    ids=["of-an-earlier-life", "no-main-process", "no-times", "main-process-replaced"],
)
def test_since_when_it_has_what_it_read(facts: dict[str, Any], since: int | None) -> None:
    found = stale(host(200, **facts))
    assert [one.since for one in found] == ([since] if since else [])


@pytest.mark.parametrize(
    ("active", "sub"),
    [("activating", "start"), ("activating", "auto-restart"), ("inactive", "dead"), ("failed", "failed")],
)
def test_what_does_not_run_yet_or_any_more_has_read_nothing(active: str, sub: str) -> None:
    found = seen(host(START + 1, active=active, sub=sub, file_state="enabled"))
    assert isinstance(found, Present)
    assert found.stale == ()
    assert isinstance(seen(host(START + 1, active="inactive")), Absent)


@pytest.mark.parametrize(
    ("marks", "listed", "count"),
    [
        (["needs-restart"], "restart_on", 0),
        (["needs-restart"], "reload_on", 0),
        (["needs-restart", "needs-reload"], "restart_on", 1),
        (["needs-restart", "needs-reload"], "reload_on", 0),
    ],
)
def test_what_is_owed_already_is_no_evidence(marks: list[str], listed: str, count: int) -> None:
    lists: dict[str, Any] = {listed: [f"file:{CONF}"]}
    service = desired(**lists)
    assert len(stale(host(900, marks=frozenset(marks)), service)) == count


def test_a_time_to_come_is_told_as_such() -> None:
    (found,) = stale(host(4_000_000_000_000_000))
    assert found.is_ahead
    (found,) = stale(host(START + 1))
    assert not found.is_ahead


def test_a_link_has_a_time_of_its_own_and_what_is_no_file_has_none() -> None:
    service = desired(files(f"link:{CONF}"), restart_on=[f"link:{CONF}"])
    assert len(stale(host(START + 1, kind=FileKind.SYMLINK), service)) == 1
    for kind in (FileKind.DIRECTORY, FileKind.SOCKET, FileKind.FIFO):
        assert stale(host(START + 1, kind=kind), service) == ()


def test_what_is_not_there_or_cannot_be_looked_at_says_nothing() -> None:
    assert stale(host(START + 1, path="/etc/other")) == ()
    made = host(START + 1)
    made.fail(HostError("No."), method="examine")
    assert stale(made) == ()


def test_after_a_restart_nothing_is_stale() -> None:
    made = host(START + 1)
    made.world.manager.starts = START + 1
    made.writer().manager().restart("app.service")  # type: ignore[union-attr]
    assert stale(made) == ()


def test_without_a_manager_nothing_runs_and_nothing_is_evidence() -> None:
    made = host(START + 1)
    made.add_link("/etc/systemd/system/multi-user.target.wants/app.service", "/usr/lib/systemd/system/app.service")
    made.add_file("/usr/lib/systemd/system/app.service", b"[Install]\nWantedBy=multi-user.target\n")
    made.remove_manager()
    assert stale(made) == ()


# Which inputs.


def test_every_listed_file_is_an_input_and_its_own_unit_files_are() -> None:
    own = "/etc/systemd/system/app.service"
    index = Index(
        {
            Target("path", CONF, leaf=True): of(f"file:{CONF}"),
            Target("path", "/etc/app.more", leaf=True): of("link:/etc/app.more"),
            Target("path", own, leaf=True): of("unit:app.service"),
            Target("unit_part", f"restart:{own}"): of("unit:app.service"),
            Target("path", "/etc/systemd/system/b.timer", leaf=True): of("timer:b"),
            Target("path", "/etc/systemd/system/b.service", leaf=True): of("timer:b"),
        }
    )
    service = desired(index, restart_on=[f"file:{CONF}", "timer:b"], reload_on=["link:/etc/app.more"])
    restart, reload = Operation.REFRESH_RESTART, Operation.REFRESH_RELOAD
    assert service.inputs == (
        Input(of(f"file:{CONF}"), CONF, restart),
        Input(of("link:/etc/app.more"), "/etc/app.more", reload),
        Input(of("timer:b"), "/etc/systemd/system/b.service", restart),
        Input(of("timer:b"), "/etc/systemd/system/b.timer", restart),
        Input(of("unit:app.service"), own, restart),
    )
    assert PROVIDER.relate(service, index).inputs == service.inputs


@pytest.mark.parametrize(
    "targets",
    [
        (Target("path", "/etc/app.d"),),
        (Target("path", "/etc/app.d"), Target("path", "/etc/app.d/a", leaf=True)),
        (Target("path", CONF, leaf=True, shared=True),),
        tuple(Target("path", f"/etc/{number}", leaf=True) for number in range(5)),
        (Target("user", "app"),),
        (),
    ],
    ids=["directory", "tree", "part-of-a-file", "many-files", "account", "undeclared"],
)
def test_what_is_no_file_of_its_own_is_not_looked_at(targets: tuple[Target, ...]) -> None:
    """Backups and hard links in a directory change its time, and parts of a file that of all others."""
    assert desired(Index(dict.fromkeys(targets, of("x:y"))), restart_on=["x:y"]).inputs == ()


def test_what_shall_not_run_has_no_inputs() -> None:
    service = PROVIDER.parse("app", {"running": False, "restart_on": [f"file:{CONF}"]})
    assert PROVIDER.relate(service, files(f"file:{CONF}")).inputs == ()


def test_it_is_acted_on_where_the_declaration_says_so() -> None:
    assert isinstance(PROVIDER, StaleProvider)
    assert PROVIDER.acts_on_stale(desired(restart_on=[f"file:{CONF}"], when_stale="restart"))
    assert not PROVIDER.acts_on_stale(desired())
