"""What a tree holds, comes after, costs, and becomes when it is no longer declared."""

from collections.abc import Mapping

import pytest

from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.provider.contract import (
    DesiredError,
    ImplicitEdge,
    RelatedProvider,
    Removal,
    StagedProvider,
)
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.provider import TreeProvider
from datum_providers.tree.steps import is_content_change
from tests.providers.tree.cases import folder_of

PROVIDER = TreeProvider()


class Index:
    """A graph in which some paths are declared."""

    def __init__(self, *paths: str, exclusive: str = "") -> None:
        self._paths = paths
        self._exclusive = exclusive

    def holder(self, target: Target) -> ResourceId | None:
        return ResourceId(target.kind, target.key) if target.kind in {"user", "group"} else None

    def nearest_parent(self, path: str) -> ResourceId | None:
        return ResourceId("directory", "/opt") if path.startswith("/opt/") else None

    def keys(self, kind: str) -> tuple[str, ...]:
        raise AssertionError(kind)

    def targets_of(self, origin: ResourceId) -> tuple[Target, ...]:
        raise AssertionError(origin)

    def paths_below(self, path: str) -> tuple[str, ...]:
        return tuple(other for other in self._paths if other.startswith(f"{path}/"))

    def is_absent(self, path: str) -> bool:
        return path == "/nowhere"

    def is_exclusive(self, path: str) -> bool:
        return path == self._exclusive


def tree(
    files: Mapping[str, object] | None = None, name: str = "/opt/app", **attributes: AttributeValue
) -> DesiredTree:
    return PROVIDER.parse(name, {"source": folder_of(files or {"a": "a", "b/c": "c"}), **attributes})


def test_it_holds_every_path_and_others_may_lie_in_its_folders() -> None:
    targets = PROVIDER.targets(tree())
    assert [(target.key, target.leaf, target.exclusive) for target in targets] == [
        ("/opt/app", False, False),
        ("/opt/app/b", False, False),
        ("/opt/app/a", True, False),
        ("/opt/app/b/c", True, False),
    ]
    assert PROVIDER.targets(PROVIDER.parse("/opt/app", {})) == (Target("path", "/opt/app"),)


def test_folders_of_an_exclusive_tree_are_exclusive_at_every_level() -> None:
    targets = PROVIDER.targets(tree(exclusive=True))
    assert [target.key for target in targets if target.exclusive] == ["/opt/app", "/opt/app/b"]


def test_a_folder_that_a_group_can_write_says_which() -> None:
    shared = PROVIDER.targets(tree(directory_mode="2775", group="dev"))
    assert [target.shared_with for target in shared] == ["dev", "dev", "", ""]
    assert not any(target.shared_with for target in PROVIDER.targets(tree(directory_mode="2775")))
    assert not any(target.shared_with for target in PROVIDER.targets(tree(group="dev")))


def test_it_comes_after_the_directory_above_and_every_account() -> None:
    desired = tree(owner="root", group=0, rules=[{"match": "a", "owner": "app"}])
    assert PROVIDER.edges(desired, Index()) == (
        ImplicitEdge(ResourceId("directory", "/opt"), "parent directory"),
        ImplicitEdge(ResourceId("user", "app"), "owner"),
        ImplicitEdge(ResourceId("group", "0"), "group"),
        ImplicitEdge(ResourceId("user", "root"), "owner"),
    )
    assert PROVIDER.edges(tree(name="/srv/app"), Index()) == ()


def test_it_learns_what_others_declare_in_it() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    index = Index("/opt/app/a", "/opt/app/b/other", "/srv/x", exclusive="/opt")
    related = PROVIDER.relate(tree(), index)
    assert related.neighbours == {"/opt/app/b/other"}
    assert related.is_in_exclusive
    # What the neighbours are is no part of what is wanted.
    assert related == tree()


@pytest.mark.parametrize(
    ("name", "parent", "removal"),
    [
        ("/opt/app", "", Removal.KEEP),
        ("/opt/app", "/opt", Removal.DELETE),
        ("/etc/app.d/tree", "", Removal.KEEP),
        ("/etc/ssh", "/etc", Removal.NEVER),
    ],
)
def test_what_becomes_of_it_is_decided_by_its_place(name: str, parent: str, removal: Removal) -> None:
    assert PROVIDER.removal(PROVIDER.relate(tree(name=name), Index(exclusive=parent))) is removal


def test_every_step_can_be_staged() -> None:
    assert isinstance(PROVIDER, StagedProvider)
    assert PROVIDER.can_stage(tree())


def test_it_is_not_adopted() -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.adopt("/opt/app", Present({}))
    assert "/opt/app" in caught.value.hint


def test_a_step_brings_into_being_what_was_not_there() -> None:
    desired = tree()
    lines = {entry.name: entry.line for entry in desired.entries}

    def effects(operation: Operation, *changes: Change) -> list[str]:
        return [effect.target.key for effect in PROVIDER.effects(desired, Step(operation, changes))]

    made = Change("./b", None, lines["./b"])
    changed = Change("./a", "blob:1 0644", lines["./a"])
    assert effects(Operation.UPDATE, made, changed, Change("./x", "regular", None)) == ["/opt/app/b"]
    assert effects(Operation.UPDATE, Change("./a", "residue", lines["./a"])) == ["/opt/app/a"]
    assert effects(Operation.REPLACE, Change("./b", "fifo", lines["./b"])) == ["/opt/app/b"]


def everything(host: FakeHost) -> None:
    host.add_directory("/opt/app")
    host.add_directory("/opt/app/b")
    host.add_file("/opt/app/a", b"a")
    host.add_file("/opt/app/b/c", b"c")


def test_deleting_takes_its_own_paths_and_what_the_plan_named() -> None:
    host = FakeHost()
    everything(host)
    host.add_file("/opt/app/other")
    step = Step(Operation.DELETE, (Change(".", "directory 0755", None),), takes=("/opt/app/other",))
    PROVIDER.apply(host.writer(), tree(), step)
    assert not [path for path in host.files if path.startswith("/opt/app")]


def test_deleting_takes_nothing_that_the_plan_did_not_name() -> None:
    host = FakeHost()
    everything(host)
    host.add_file("/opt/app/other")
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), tree(), Step(Operation.DELETE, (Change(".", "directory 0755", None),)))
    assert "/opt/app/other" in host.files


def test_what_stands_in_its_place_is_deleted_with_a_hazard() -> None:
    host = FakeHost()
    host.add_file("/opt/app", b"data")
    host.world.residues.add("/opt/app")
    step = Step(Operation.DELETE, (Change(".", "regular", None), Change("residue", before=True, after=None)))
    bare = PROVIDER.parse("/opt/app", {})
    assert PROVIDER.hazards(bare, step) == {Hazard.DATA_LOSS}
    PROVIDER.apply(host.writer(), bare, step)
    assert "/opt/app" not in host.files
    assert not host.world.residues


def test_deleting_paths_in_which_a_way_in_hangs_is_a_hazard() -> None:
    step = Step(Operation.DELETE, (Change(".", "directory", None),), takes=("/etc/ssh/sshd_config",))
    assert PROVIDER.hazards(PROVIDER.parse("/etc", {}), step) == {Hazard.ACCESS_LOSS}


def test_an_older_declaration_is_compared_with_what_the_newer_one_saw() -> None:
    """At its turn a resource is compared with what the trail declared: equal only if every path of that is."""
    host = FakeHost()
    everything(host)
    newer, older = tree({"a": "a"}), tree()
    seen = PROVIDER.observe(host.reader(), {"/opt/app": newer})["/opt/app"]
    assert isinstance(seen, Present)
    assert PROVIDER.plan(newer, seen) is None
    assert PROVIDER.plan(older, seen) is not None


def test_many_failures_end_the_step_early() -> None:
    files = {f"f{number:02}": "new" for number in range(30)}
    host = FakeHost()
    host.add_directory("/opt/app")
    desired = tree(files)
    seen = PROVIDER.observe(host.reader(), {"/opt/app": desired})["/opt/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    host.fail(HostError("No."), method="write_file")
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), desired, step)
    assert sum(method == "write_file" for method, _ in host.calls) == 11


def test_several_failures_are_told_as_one_with_their_number() -> None:
    host = FakeHost()
    desired = tree({"a": "a", "b": "b", "d/e": "e"})
    step = PROVIDER.plan(desired, Absent())
    assert step is not None
    host.add_directory("/opt")
    host.world.blobs.clear()
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(host.writer(), desired, step)
    assert caught.value.detail.startswith("3 of 5 paths could not be written. The first: ")
    assert caught.value.diagnostics[0].code == "missing-object"


def test_what_would_lie_in_a_folder_that_could_not_be_made_is_not_tried() -> None:
    host = FakeHost()
    host.add_directory("/opt")
    desired = tree({"a": "a", "d/e": "e"})
    for text in ("a", "e"):
        host.world.blobs[next(entry.blob for entry in desired.entries if entry.path.endswith(text))] = text.encode()
    step = PROVIDER.plan(desired, Absent())
    assert step is not None
    host.fail(HostError("No."), method="make_directory", subject="/opt/app/d")
    with pytest.raises(HostError):
        PROVIDER.apply(host.writer(), desired, step)
    assert host.files["/opt/app/a"].data == b"a"
    assert ("write_file", "/opt/app/d/e") not in host.calls


def test_a_text_that_cannot_be_read_again_is_not_shown() -> None:
    host = FakeHost()
    everything(host)
    host.add_file("/opt/app/a", b"other")
    host.fail(HostError("No."), method="read_file")
    seen = PROVIDER.observe(host.reader(), {"/opt/app": tree()})["/opt/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(tree(), seen)
    assert step is not None
    assert [change.before_text for change in step.changes] == [None]


def test_the_lines_of_a_bounded_number_of_files_are_shown() -> None:
    files = {f"f{number:02}": "new" for number in range(30)}
    host = FakeHost()
    for name in files:
        host.add_file(f"/opt/app/{name}", b"old")
    seen = PROVIDER.observe(host.reader(), {"/opt/app": tree(files)})["/opt/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(tree(files), seen)
    assert step is not None
    shown = [change for change in step.changes if change.after_blob]
    assert len(step.changes) == 30
    assert [change.before_text for change in shown] == ["old"] * 20


def test_names_that_are_not_utf_8_keep_their_bytes() -> None:
    host = FakeHost()
    host.add_directory("/opt")
    desired = tree({"caf\udce9": "x", "d\udcff/y": "x"}, exclusive=True)
    host.world.blobs[desired.entries[-1].blob] = b"x"
    step = PROVIDER.plan(desired, Absent())
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    assert host.files["/opt/app/caf\udce9"].data == b"x"
    host.add_file("/opt/app/d\udcff/\udcfe")
    seen = PROVIDER.observe(host.reader(), {"/opt/app": desired})["/opt/app"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    assert step.takes == ("/opt/app/d\udcff/\udcfe",)
    PROVIDER.apply(host.writer(), desired, step)
    assert "/opt/app/d\udcff/\udcfe" not in host.files


def test_names_that_differ_in_case_only_are_two() -> None:
    host = FakeHost()
    host.add_directory("/opt")
    desired = tree({"Readme": "1", "README": "2"})
    for entry, data in zip(desired.entries[1:], (b"2", b"1"), strict=True):
        host.world.blobs[entry.blob] = data
    step = PROVIDER.plan(desired, Absent())
    assert step is not None
    PROVIDER.apply(host.writer(), desired, step)
    assert (host.files["/opt/app/Readme"].data, host.files["/opt/app/README"].data) == (b"1", b"2")


def test_a_link_whose_text_begins_like_the_wanted_one_is_another() -> None:
    entry = tree({"l": {"link": "a"}}, links="keep", owner="root").entries[-1]
    assert not is_content_change(entry, "link:a app -")
    assert is_content_change(entry, "link:ab root -")


def test_an_unknown_path_is_named_though_the_error_does_not() -> None:
    host = FakeHost()
    everything(host)
    host.fail(HostError("The look fails."), method="examine", subject="/opt/app/b/c")
    seen = PROVIDER.observe(host.reader(), {"/opt/app": tree()})["/opt/app"]
    assert isinstance(seen, Unobservable)
    assert seen.detail == "/opt/app/b/c: The look fails."


def test_what_stays_in_an_exclusive_tree_is_named_with_its_reason() -> None:
    host = FakeHost()
    everything(host)
    host.add_file("/opt/app/lib.so")
    host.world.packages["/opt/app/lib.so"] = "app"
    for number in range(120):
        host.add_file(f"/opt/app/x{number}.local")
    desired = tree(exclusive=True, keep=["*.local"])
    seen = PROVIDER.observe(host.reader(), {"/opt/app": desired})["/opt/app"]
    assert isinstance(seen, Present)
    assert PROVIDER.plan(desired, seen) is None
    kept = seen.detail["kept"]
    assert isinstance(kept, Mapping)
    assert (kept["./lib.so"], kept["./x0.local"]) == ("the package app owns it", "keep says so")
    assert (len(kept), seen.detail["kept_more"]) == (100, 21)


def test_an_exclusive_tree_never_loses_the_places_of_the_agent() -> None:
    host = FakeHost()
    host.add_file("/etc/app.conf", b"a")
    host.add_file("/etc/datum/agent.yaml")
    host.add_file("/etc/passwd")
    host.add_file("/etc/other")
    desired = tree({"app.conf": "a"}, name="/etc", exclusive=True)
    seen = PROVIDER.observe(host.reader(), {"/etc": desired})["/etc"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    assert step.takes == ("/etc/other",)
