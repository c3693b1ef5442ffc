"""What the type says of targets, edges, hazards and adoption, and what `apply` does on its own account."""

import json
from pathlib import Path

import pytest

from datum.model.check import Check
from datum.model.content import Content
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, FieldValue, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Effect, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import DesiredError, ImplicitEdge, RelatedProvider, Removal, StagedProvider
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.file import provider as module
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider
from tests.providers.index import Index

PROVIDER = FileProvider()
CONTENT = Content.from_bytes(b"x\n")


def removal_step(kind: str) -> Step:
    return Step(Operation.DELETE, (Change("kind", kind, None),))


def test_a_file_holds_its_path() -> None:
    assert PROVIDER.targets(DesiredFile("/etc/motd")) == (Target("path", "/etc/motd"),)


def test_directory_owner_and_group_come_first() -> None:
    user, group, folder = ResourceId("user", "app"), ResourceId("group", "web"), ResourceId("directory", "/etc")
    index = Index.of({"user:app": None, "group:web": None, "directory:/etc": None})
    assert PROVIDER.edges(DesiredFile("/etc/motd", owner="app", group="web"), index) == (
        ImplicitEdge(folder, "parent directory"),
        ImplicitEdge(user, "owner"),
        ImplicitEdge(group, "group"),
    )


def test_validate_judges_the_file_where_it_stands() -> None:
    origin = ResourceId("file", "/etc/sudoers")
    declared = DesiredFile("/etc/sudoers", CONTENT, validate=("visudo", "-cf", "{path}"))
    assert PROVIDER.validation(origin, declared) == Check(origin, ("visudo", "-cf", "/etc/sudoers"), 60.0)
    assert PROVIDER.validation(origin, DesiredFile("/etc/sudoers", CONTENT)) is None


def test_nothing_declared_gives_no_edge() -> None:
    assert PROVIDER.edges(DesiredFile("/etc/motd", owner="app"), Index()) == ()


@pytest.mark.parametrize(
    ("operation", "makes"),
    [(Operation.CREATE, True), (Operation.REPLACE, True), (Operation.UPDATE, False), (Operation.DELETE, False)],
)
def test_what_is_made_is_the_path(operation: Operation, makes: bool) -> None:
    effects = PROVIDER.effects(DesiredFile("/etc/motd"), Step(operation, (Change("mode", "0600", "0644"),)))
    assert effects == ((Effect(Target("path", "/etc/motd")),) if makes else ())


@pytest.mark.parametrize(
    ("kind", "hazards"), [("regular", set()), ("symlink", {Hazard.DATA_LOSS}), ("fifo", {Hazard.DATA_LOSS})]
)
def test_deleting_something_else_than_a_file_loses_data(kind: str, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(DesiredFile("/etc/motd"), removal_step(kind)) == hazards


def test_deleting_a_way_in_is_a_hazard() -> None:
    assert PROVIDER.hazards(DesiredFile("/etc/sudoers.d/ops"), removal_step("regular")) == {Hazard.ACCESS_LOSS}


def test_a_deletion_takes_whatever_is_no_directory() -> None:
    host = FakeHost()
    host.add_file("/etc/motd")
    PROVIDER.apply(host.writer(), DesiredFile("/etc/motd"), removal_step("regular"))
    assert "/etc/motd" not in host.files


@pytest.mark.parametrize(("owner", "group"), [("app", None), (None, "app")])
def test_an_account_that_vanished_fails_the_action(owner: str | None, group: str | None) -> None:
    host = FakeHost()
    before = host.snapshot()
    step = Step(Operation.CREATE, (Change("kind", None, "regular"),))
    with pytest.raises(HostError, match="app does not exist") as caught:
        PROVIDER.apply(host.writer(), DesiredFile("/etc/motd", CONTENT, owner=owner, group=group), step)
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert host.snapshot() == before


def test_fields_that_were_not_looked_at_are_left_alone() -> None:
    desired = DesiredFile("/etc/motd", CONTENT, "0644", "root", "root")
    assert PROVIDER.plan(desired, Present({"kind": "regular"})) is None
    assert PROVIDER.plan(desired, Present({})) is None


def test_fields_that_are_unknown_or_do_not_exist_are_left_alone() -> None:
    seen = HostError("No.").unobservable()
    fields: dict[str, FieldValue] = {
        "kind": "regular",
        "content": seen,
        "mode": NotApplicable("no-modes"),
        "owner": seen,
    }
    assert PROVIDER.plan(DesiredFile("/etc/motd", CONTENT, "0644", "root"), Present(fields)) is None


def test_an_owner_that_is_not_changed_needs_no_account() -> None:
    fields: dict[str, FieldValue] = {"kind": "regular", "mode": "0600", "owner_known": False}
    step = PROVIDER.plan(DesiredFile("/etc/motd", mode="0644", owner="app"), Present(fields))
    assert step is not None
    assert step.needs == ()


def test_a_missing_directory_is_named_as_the_host_names_it() -> None:
    step = PROVIDER.plan(DesiredFile("/srv/a/b/c", CONTENT), Absent({"missing_parent": "/srv/a"}))
    assert step is not None
    assert [(str(need.target), need.detail) for need in step.needs] == [
        ("path /srv/a/b", "There is no directory /srv/a.")
    ]


def test_every_name_is_looked_at_in_order_and_each_account_once() -> None:
    host = FakeHost()
    host.add_user("app", 900)
    desired = {path: DesiredFile(path, owner="app") for path in ("/etc/c", "/etc/a", "/etc/b")}
    for path in desired:
        host.add_file(path)
    assert list(PROVIDER.observe(host.reader(), desired)) == ["/etc/a", "/etc/b", "/etc/c"]
    assert [subject for method, subject in host.calls if method == "examine"] == ["/etc/a", "/etc/b", "/etc/c"]
    assert [method for method, _ in host.calls if method != "examine"] == ["user_id", "user_name"]


def test_one_unreadable_file_spoils_no_other() -> None:
    host = FakeHost()
    host.add_file("/etc/a")
    host.add_file("/etc/b")
    host.fail(13, method="examine", subject="/etc/a")
    desired = {path: DesiredFile(path, mode="0644") for path in ("/etc/a", "/etc/b")}
    found = PROVIDER.observe(host.reader(), desired)
    assert isinstance(found["/etc/a"], Unobservable)
    assert found["/etc/b"] == Present({"kind": "regular", "mode": "0644"})


def test_adoption_takes_what_was_seen() -> None:
    host = FakeHost()
    host.add("/etc/motd", FakeFile(mode="0640", data=b"hi\n"))
    seen = PROVIDER.observe(host.reader(), {"/etc/motd": DesiredFile("/etc/motd")})["/etc/motd"]
    assert isinstance(seen, Present)
    assert PROVIDER.adopt("/etc/motd", seen) == {"content": "hi\n", "mode": "0640", "owner": "root", "group": "root"}


def test_adoption_leaves_out_what_it_cannot_declare() -> None:
    seen = Present({"kind": "regular", "mode": NotApplicable("no-modes"), "owner": "root"})
    assert PROVIDER.adopt("/etc/motd", seen) == {"owner": "root"}


def test_a_link_is_not_adopted_as_a_file() -> None:
    with pytest.raises(DesiredError, match="a symbolic link stands at"):
        PROVIDER.adopt("/etc/motd", Present({"kind": "symlink"}))


def test_the_schema_demands_quotes_for_a_mode() -> None:
    schema = json.loads((Path(module.__file__).parent / "schema.json").read_text(encoding="utf-8"))
    assert schema["properties"]["mode"]["x-datum"] == "quoted"


def test_the_page_names_every_cause_of_not_applicable_and_every_field() -> None:
    page = (Path(module.__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in ("no-owners", "no-modes", *PROVIDER.fields):
        assert f"`{word}`" in page


def test_texts_of_a_file_that_not_everybody_may_read_are_private() -> None:
    """Reports are readable by a group; what stood in a 0600 file, or will, must not get there."""
    host = FakeHost()
    host.add_file("/etc/open", b"old\n", mode="0644")
    host.add_file("/etc/closed", b"old\n", mode="0640")
    cases = {("/etc/open", None): False, ("/etc/open", "0600"): True, ("/etc/closed", "0644"): True}
    for (path, mode), is_private in cases.items():
        wanted = FileProvider().parse(path, {"content": "new\n"} | ({"mode": mode} if mode else {}))
        seen = FileProvider().observe(host.reader(), {path: wanted})[path]
        assert isinstance(seen, Present)
        step = FileProvider().plan(wanted, seen)
        assert step is not None
        assert [change.is_private for change in step.changes if change.name == "content"] == [is_private]


def test_the_engine_finds_what_it_can_do() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, StagedProvider)
    assert PROVIDER.can_stage(DesiredFile("/etc/motd"))


@pytest.mark.parametrize(
    ("path", "exclusive", "removal"),
    [
        ("/srv/app/x", "/srv/app", Removal.DELETE),
        ("/srv/app/x", "/srv", Removal.KEEP),
        ("/etc/passwd", "/etc", Removal.NEVER),
    ],
)
def test_a_file_that_an_exclusive_directory_loses_is_deleted(path: str, exclusive: str, removal: Removal) -> None:
    related = PROVIDER.relate(DesiredFile(path), Index.of({f"directory:{exclusive}": "exclusive"}))
    assert PROVIDER.removal(related) is removal
    assert related == DesiredFile(path), "where it lies is no part of what is wanted of it"


def test_taking_a_way_in_along_is_a_hazard() -> None:
    step = Step(Operation.REPLACE, (Change("kind", "directory", "regular"),), takes=("/home/app/.ssh/authorized_keys",))
    assert PROVIDER.hazards(DesiredFile("/home/app/.ssh"), step) == {Hazard.DATA_LOSS, Hazard.ACCESS_LOSS}


def test_another_kind_that_appears_is_not_overwritten() -> None:
    """The step was planned for a file; a directory that somebody put there since then stays."""
    host = FakeHost()
    host.add_file("/etc/motd/precious")
    with pytest.raises(HostError, match="stands there"):
        PROVIDER.apply(
            host.writer(), DesiredFile("/etc/motd", CONTENT), Step(Operation.CREATE, removal_step("x").changes)
        )
    assert "/etc/motd/precious" in host.files


def test_what_arrived_in_a_directory_does_not_go_with_it() -> None:
    host = FakeHost()
    for name in ("seen", "late"):
        host.add_file(f"/etc/motd/{name}")
    step = Step(Operation.REPLACE, (Change("kind", "directory", "regular"),), takes=("/etc/motd/seen",))
    with pytest.raises(HostError, match="late"):
        PROVIDER.apply(host.writer(), DesiredFile("/etc/motd", CONTENT), step)
    assert {"/etc/motd/seen", "/etc/motd/late"} <= set(host.files)
