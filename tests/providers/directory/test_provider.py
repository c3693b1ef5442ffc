"""What the type says of edges, neighbours, hazards, removal and adoption, and what `apply` does on its own account."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from datum.model.graph import SAFE_FOLDER, Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Machine, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import DesiredError, ImplicitEdge, RelatedProvider, Removal, StagedProvider
from datum.provider.host import FileFacts, FileKind, HostError, Missing
from datum.testing.host import FakeHost
from datum.testing.reader import FakeReader
from datum.testing.world import FakeFile
from datum_providers.directory import provider as module
from datum_providers.directory.desired import DesiredDirectory
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.shared.accounts import Owners
from datum_providers.shared.exclusive import Neighbours
from tests.providers.index import Index

PROVIDER = DirectoryProvider()
APP = DesiredDirectory("/srv/app")


def test_the_engine_finds_what_it_can_do() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, StagedProvider)


def test_directory_owner_and_group_come_first() -> None:
    index = Index.of({"user:app": None, "group:web": None, "directory:/srv": None})
    assert PROVIDER.edges(DesiredDirectory("/srv/app", owners=Owners("app", "web")), index) == (
        ImplicitEdge(ResourceId("directory", "/srv"), "parent directory"),
        ImplicitEdge(ResourceId("user", "app"), "owner"),
        ImplicitEdge(ResourceId("group", "web"), "group"),
    )
    assert PROVIDER.edges(APP, Index()) == ()


def test_only_a_directory_that_looks_below_learns_what_is_declared_there() -> None:
    index = Index.of({"file:/srv/app/x": None, "directory:/srv": "exclusive"})
    assert PROVIDER.relate(APP, index).neighbours == Neighbours()
    assert PROVIDER.relate(APP, index).is_in_exclusive
    for wanted in (DesiredDirectory("/srv/app", exclusive=True), DesiredDirectory("/srv/app", recursive=("owner",))):
        assert PROVIDER.relate(wanted, index).neighbours.declared == {"/srv/app/x"}


@pytest.mark.parametrize(
    ("path", "is_in_exclusive", "removal"),
    [
        ("/srv/app", False, Removal.KEEP),
        ("/srv/app", True, Removal.DELETE),
        ("/etc/cron.d", False, Removal.KEEP),
        ("/etc/systemd/system/app.service.d", False, Removal.KEEP),
        ("/etc/systemd/system/app.service.d", True, Removal.DELETE),
        ("/etc", True, Removal.NEVER),
        ("/var/lib", True, Removal.NEVER),
        ("/boot", True, Removal.NEVER),
        ("/home/app/.ssh", True, Removal.NEVER),
        ("/etc/ssh/sshd_config.d", True, Removal.NEVER),
    ],
)
def test_a_directory_that_is_dropped_is_kept_but_in_an_exclusive_one(
    path: str, is_in_exclusive: bool, removal: Removal
) -> None:
    index = Index.of({f"directory:{path.rpartition('/')[0] or '/'}": "exclusive"} if is_in_exclusive else {})
    assert PROVIDER.removal(PROVIDER.relate(DesiredDirectory(path), index)) is removal


@pytest.mark.parametrize(
    ("operation", "makes"),
    [(Operation.CREATE, True), (Operation.REPLACE, True), (Operation.UPDATE, False), (Operation.DELETE, False)],
)
def test_what_is_made_is_the_path(operation: Operation, makes: bool) -> None:
    effects = PROVIDER.effects(APP, Step(operation, (Change("residue", before=True, after=False),)))
    assert effects == ((Effect(Target("path", "/srv/app")),) if makes else ())


@pytest.mark.parametrize("changed", ["mode", "owner", "group"])
def test_other_rights_make_the_way_below_it_safe(changed: str) -> None:
    step = Step(Operation.UPDATE, (Change(changed, "a", "b"),))
    assert PROVIDER.effects(APP, step) == (Effect(Target(SAFE_FOLDER, "/srv/app")),)
    assert PROVIDER.effects(evolve(APP, mode="0777"), step) == ()


@pytest.mark.parametrize(
    ("path", "change", "takes", "hazards"),
    [
        ("/etc", Change("mode", "0755", "0700"), (), {Hazard.ACCESS_LOSS}),
        ("/home/app/.ssh", Change("owner", "app", "root"), (), {Hazard.ACCESS_LOSS}),
        ("/etc", Change("residue", before=True, after=False), (), set()),
        ("/etc", Change("./x", "regular", None), ("/etc/x",), set()),
        ("/srv/app", Change("./.ssh/authorized_keys", "app", "web"), (), {Hazard.ACCESS_LOSS}),
        ("/srv/app", Change("./a", "app", "web"), (), set()),
        ("/etc", Change("./netplan", "directory", None), ("/etc/netplan", "/etc/netplan/1"), {Hazard.ACCESS_LOSS}),
        ("/srv/app", Change("mode", "0755", "0700"), (), set()),
    ],
)
def test_ways_in_are_guarded(path: str, change: Change, takes: tuple[str, ...], hazards: set[Hazard]) -> None:
    step = Step(Operation.UPDATE, (change,), takes=takes)
    assert PROVIDER.hazards(DesiredDirectory(path), step) == hazards


def test_a_step_clears_exactly_what_it_says() -> None:
    """What arrived in a directory after it was seen does not go with it; the rest of the step is done."""
    host = FakeHost()
    for path in ("/srv/app/a", "/srv/app/d/x", "/srv/app/d/late"):
        host.add_file(path)
    takes = ("/srv/app/GONE", "/srv/app/a", "/srv/app/d", "/srv/app/d/x")
    step = Step(Operation.UPDATE, (Change("./a", "regular", None),), takes=takes)
    with pytest.raises(HostError, match="late"):
        PROVIDER.apply(host.writer(), DesiredDirectory("/srv/app", exclusive=True), step)
    assert "/srv/app/a" not in host.files
    assert {"/srv/app/d/x", "/srv/app/d/late"} <= set(host.files)


def test_what_became_a_directory_is_not_cleared_as_the_file_it_was() -> None:
    host = FakeHost()
    host.add_file("/srv/app/a/late")
    step = Step(Operation.UPDATE, (Change("./a", "regular", None),), takes=("/srv/app/a",))
    with pytest.raises(HostError, match="late"):
        PROVIDER.apply(host.writer(), DesiredDirectory("/srv/app", exclusive=True), step)
    assert "/srv/app/a/late" in host.files


def test_a_name_that_goes_while_the_directory_is_looked_at_is_no_stranger() -> None:
    class Reader(FakeReader):
        def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
            return Missing(path) if path == "/srv/app/fleeting" else super().examine(path, blob=blob)

    host = FakeHost()
    host.add_file("/srv/app/fleeting")
    host.add_file("/srv/app/old")
    reader = Reader(host.world, machine=Machine(), caller=(0, 0), is_running_system=True)
    seen = PROVIDER.observe(reader, {"/srv/app": DesiredDirectory("/srv/app", exclusive=True)})["/srv/app"]
    assert isinstance(seen, Present)
    assert seen.fields["takes"] == ("/srv/app/old",)
    deep = DesiredDirectory("/srv/app", exclusive=True, keep=("old",), owners=Owners("7"), recursive=("owner",))
    seen = PROVIDER.observe(reader, {"/srv/app": deep})["/srv/app"]
    assert isinstance(seen, Present)
    assert seen.fields["recursive"] == "1 of others (./old)"


def test_what_is_cleared_away_gets_no_other_owner() -> None:
    host = FakeHost()
    host.add_directory("/srv/app", uid=7)
    host.add_file("/srv/app/old")
    wanted = DesiredDirectory("/srv/app", exclusive=True, owners=Owners("7"), recursive=("owner",))
    seen = PROVIDER.observe(host.reader(), {"/srv/app": wanted})["/srv/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(wanted, seen)
    assert step is not None
    assert step.changes == (Change("./old", "regular", None),)


def test_of_many_paths_that_get_another_owner_the_ways_in_are_always_named() -> None:
    host = FakeHost()
    host.add_directory("/home", uid=7)
    for number in range(1001):
        host.add_file(f"/home/{number:04}", gid=5)
    host.add_file("/home/z/.ssh/authorized_keys", uid=0)
    wanted = DesiredDirectory("/home", owners=Owners("7", "5"), recursive=("owner", "group"))
    seen = PROVIDER.observe(host.reader(), {"/home": wanted})["/home"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(wanted, seen)
    assert step is not None
    changes = {change.name: change.before for change in step.changes if change.name.startswith("./")}
    assert len(changes) == 1000
    assert changes["./z/.ssh/authorized_keys"] == "0:0"
    assert PROVIDER.hazards(wanted, step) == {Hazard.ACCESS_LOSS}


def test_owners_change_from_the_top() -> None:
    """Each path is reached through directories that belong to the new owner already."""
    host = FakeHost()
    host.add_directory("/srv/app", uid=900)
    host.add_directory("/srv/app/d", uid=901)
    host.add_file("/srv/app/d/x", uid=901)
    wanted = DesiredDirectory("/srv/app", owners=Owners("900"), recursive=("owner",))
    seen = PROVIDER.observe(host.reader(), {"/srv/app": wanted})["/srv/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(wanted, seen)
    assert step is not None
    PROVIDER.apply(host.writer(), wanted, step)
    assert [entry.subject for entry in host.journal] == ["/srv/app/d", "/srv/app/d/x"]


def test_what_others_made_under_a_sticky_bit_is_left_alone_and_told() -> None:
    """It is refused by the writer; root's and the owner's own are nobody else's."""
    host = FakeHost()
    host.add_directory("/srv/app", uid=900)
    host.add_directory("/srv/app/tmp", uid=900, mode="1777")
    host.add_file("/srv/app/tmp/by-root", uid=0)
    host.add_file("/srv/app/tmp/hers", uid=5)
    host.add_directory("/srv/app/tmp/their", uid=6)
    host.add_file("/srv/app/tmp/their/x", uid=6)
    owned = DesiredDirectory("/srv/app", owners=Owners("900"), recursive=("owner",))
    seen = PROVIDER.observe(host.reader(), {"/srv/app": owned})["/srv/app"]
    assert isinstance(seen, Present)
    assert seen.fields["recursive"] == "1 of others (./tmp/by-root)"
    words = "it is user {}'s, in a directory where everybody makes names"
    assert seen.detail["kept"] == {"./tmp/hers": words.format(5), "./tmp/their": words.format(6)}


@pytest.mark.parametrize("wanted", [{"exclusive": True, "recurse": True}, {"owner": "900", "recursive": ("owner",)}])
def test_what_holds_too_much_is_unobservable_with_the_number(wanted: dict[str, object]) -> None:
    host = FakeHost()
    host.add_directory("/srv/app")
    host.fail(HostError("'/srv/app' holds more than 100000 entries."), method="below")
    desired = PROVIDER.parse("/srv/app", wanted)  # type: ignore[arg-type]  # plain values of fields
    seen = PROVIDER.observe(host.reader(), {"/srv/app": desired})["/srv/app"]
    assert isinstance(seen, Unobservable)
    assert "100000" in seen.detail


def test_names_that_are_kept_are_shown_up_to_a_bound() -> None:
    host = FakeHost()
    host.add_directory("/srv/app")
    for number in range(103):
        host.add_file(f"/srv/app/{number:03}.local")
    wanted = DesiredDirectory("/srv/app", exclusive=True, keep=("*.local",))
    seen = PROVIDER.observe(host.reader(), {"/srv/app": wanted})["/srv/app"]
    assert isinstance(seen, Present)
    kept = seen.detail["kept"]
    assert isinstance(kept, dict)
    assert (len(kept), seen.detail["kept_more"]) == (100, 3)


def test_a_check_can_judge_all_but_thousands_of_owners() -> None:
    assert PROVIDER.can_stage(DesiredDirectory("/srv/app", exclusive=True))
    assert not PROVIDER.can_stage(DesiredDirectory("/srv/app", recursive=("owner",)))


def test_what_is_there_is_adopted_and_never_as_exclusive() -> None:
    host = FakeHost()
    host.add("/srv/app", FakeFile(FileKind.DIRECTORY, "2750", 900, 33))
    seen = PROVIDER.observe(host.reader(), {"/srv/app": APP})["/srv/app"]
    assert isinstance(seen, Present)
    assert PROVIDER.adopt("/srv/app", seen) == {"mode": "2750", "owner": "900", "group": "33"}
    without = Present({"kind": "directory", "mode": NotApplicable("no-modes"), "owner": "root"})
    assert PROVIDER.adopt("/srv/app", without) == {"owner": "root"}


def test_a_link_to_a_directory_is_not_adopted_as_one() -> None:
    with pytest.raises(DesiredError, match="a symbolic link stands at /srv/app, and no directory"):
        PROVIDER.adopt("/srv/app", Present({"kind": "symlink"}))


def test_the_page_names_every_cause_of_not_applicable_and_every_field() -> None:
    page = (Path(module.__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in ("no-owners", "no-modes", *PROVIDER.fields):
        assert f"`{word}`" in page


def test_the_schema_demands_quotes_for_a_mode() -> None:
    schema = json.loads((Path(module.__file__).parent / "schema.json").read_text(encoding="utf-8"))
    assert schema["properties"]["mode"]["x-datum"] == "quoted"
