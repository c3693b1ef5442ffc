"""What the type says of targets, edges, hazards, removal and adoption, and what `apply` does on its own account."""

from pathlib import Path

import pytest

from datum.fleet.resource_schema import ResourceTypes
from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import DesiredError, ImplicitEdge, RelatedProvider, Removal, StagedProvider
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum_providers.link import provider as module
from datum_providers.link.desired import DesiredLink
from datum_providers.link.provider import LinkProvider
from datum_providers.shared.accounts import Owners
from tests.providers.index import Index

PROVIDER = LinkProvider()
POINTED = Step(Operation.UPDATE, (Change("target", "a", "b"),))


def test_the_engine_finds_what_it_can_do() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, StagedProvider)
    assert PROVIDER.can_stage(DesiredLink("/etc/app"))


def test_what_is_no_link_is_named_and_can_be_adopted_as_what_it_is() -> None:
    with pytest.raises(DesiredError, match="a regular file stands at /etc/app, and no symbolic link") as caught:
        PROVIDER.adopt("/etc/app", Present({"kind": "regular"}))
    assert caught.value.hint == "datum adopt file:/etc/app"
    with pytest.raises(DesiredError, match="a named pipe stands at") as caught:
        PROVIDER.adopt("/etc/app", Present({"kind": "fifo"}))
    assert caught.value.hint == ""


def test_a_mode_of_a_link_is_told_to_be_none() -> None:
    types = ResourceTypes({"link": PROVIDER})
    found = types.get("link")
    assert found is not None
    assert "no mode" in found.hint_of_missing("mode")
    assert found.hint_of_missing("tarket") == ""


def test_a_link_holds_its_path_and_nothing_lies_below() -> None:
    (target,) = PROVIDER.targets(DesiredLink("/etc/app"))
    assert (target, target.leaf) == (Target("path", "/etc/app"), True)


def test_directory_and_accounts_are_required_and_what_it_leads_to_only_comes_first() -> None:
    index = Index.of({"user:app": None, "group:web": None, "directory:/etc": None, "file:/srv/app": None})
    wanted = DesiredLink("/etc/app", "../srv/app", Owners("app", "web"))
    assert PROVIDER.edges(wanted, index) == (
        ImplicitEdge(ResourceId("directory", "/etc"), "parent directory"),
        ImplicitEdge(ResourceId("user", "app"), "owner"),
        ImplicitEdge(ResourceId("group", "web"), "group"),
        ImplicitEdge(ResourceId("file", "/srv/app"), "target", DependencyKind.AFTER, soft=True),
    )


@pytest.mark.parametrize("target", ["/srv/other", None, "."])
def test_what_is_not_declared_or_required_already_gives_no_edge(target: str | None) -> None:
    edges = PROVIDER.edges(DesiredLink("/etc/app", target), Index.of({"directory:/etc": None}))
    assert [edge.reason for edge in edges] == ["parent directory"]
    assert PROVIDER.edges(DesiredLink("/etc/app", target), Index()) == ()


@pytest.mark.parametrize(
    ("path", "exclusive", "removal"),
    [
        ("/etc/systemd/system/default.target", "", Removal.DELETE),
        ("/etc/nginx/sites-enabled/app", "", Removal.DELETE),
        ("/etc/app.d/x", "", Removal.DELETE),
        ("/etc/localtime", "", Removal.KEEP),
        ("/srv/app/current", "", Removal.KEEP),
        ("/srv/app/current", "/srv/app", Removal.DELETE),
        ("/srv/app/current", "/srv", Removal.KEEP),
        ("/etc/resolv.conf", "/etc", Removal.NEVER),
        ("/var/run", "/var", Removal.NEVER),
        ("/etc/systemd/system/timers.target.wants/datum.timer", "", Removal.NEVER),
    ],
)
def test_the_place_says_what_happens_to_a_link_that_is_dropped(path: str, exclusive: str, removal: Removal) -> None:
    index = Index.of({f"directory:{exclusive}": "exclusive"} if exclusive else {})
    assert PROVIDER.removal(PROVIDER.relate(DesiredLink(path), index)) is removal


@pytest.mark.parametrize(
    ("operation", "makes"),
    [(Operation.CREATE, True), (Operation.REPLACE, True), (Operation.UPDATE, False), (Operation.DELETE, False)],
)
def test_what_is_made_is_the_path(operation: Operation, makes: bool) -> None:
    effects = PROVIDER.effects(DesiredLink("/etc/app"), Step(operation, POINTED.changes))
    assert effects == ((Effect(Target("path", "/etc/app")),) if makes else ())


@pytest.mark.parametrize(
    ("path", "change", "hazards"),
    [
        ("/etc/app", Change("kind", "symlink", None), set()),
        ("/etc/app", Change("kind", "directory", None), {Hazard.DATA_LOSS}),
        ("/etc/app", Change("kind", "empty_directory", None), set()),
        ("/etc/nsswitch.conf", Change("kind", "symlink", None), {Hazard.ACCESS_LOSS}),
        ("/etc/nsswitch.conf", Change("residue", before=True, after=False), set()),
    ],
)
def test_what_a_deletion_costs(path: str, change: Change, hazards: set[Hazard]) -> None:
    assert PROVIDER.hazards(DesiredLink(path), Step(Operation.DELETE, (change,))) == hazards


def test_taking_a_way_in_along_is_a_hazard() -> None:
    step = Step(Operation.REPLACE, (Change("kind", "directory", "symlink"),), takes=("/home/app/.ssh/authorized_keys",))
    assert PROVIDER.hazards(DesiredLink("/home/app/.ssh"), step) == {Hazard.DATA_LOSS, Hazard.ACCESS_LOSS}


def test_a_link_that_vanished_is_made_anew() -> None:
    host = FakeHost()
    PROVIDER.apply(host.writer(), DesiredLink("/etc/app", "b"), POINTED)
    assert host.files["/etc/app"].link == "b"


def test_a_link_without_a_target_cannot_be_made() -> None:
    with pytest.raises(HostError, match="No target") as caught:
        PROVIDER.apply(FakeHost().writer(), DesiredLink("/etc/app"), Step(Operation.CREATE, POINTED.changes))
    assert caught.value.failure is FailureCause.IMPOSSIBLE


def test_another_kind_that_appears_is_not_overwritten() -> None:
    """The step was planned for a link; a file that somebody put there since then stays."""
    host = FakeHost()
    host.add_file("/etc/app", b"precious")
    with pytest.raises(HostError, match="stands there"):
        PROVIDER.apply(host.writer(), DesiredLink("/etc/app", "b"), POINTED)
    assert host.files["/etc/app"].data == b"precious"


def test_what_is_there_is_adopted() -> None:
    seen = Present({"kind": "symlink", "target": "x", "owner": "root", "group": "root"})
    assert PROVIDER.adopt("/etc/app", seen) == {"target": "x", "owner": "root", "group": "root"}


def test_a_file_is_not_adopted_as_a_link() -> None:
    with pytest.raises(DesiredError, match="regular"):
        PROVIDER.adopt("/etc/app", Present({"kind": "regular"}))


def test_the_page_names_every_cause_of_not_applicable_and_every_field() -> None:
    page = (Path(module.__file__).parent / "README.md").read_text(encoding="utf-8")
    for word in ("no-owners", *PROVIDER.fields):
        assert f"`{word}`" in page
