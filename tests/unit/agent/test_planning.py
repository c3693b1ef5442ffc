"""Observing and planning as often as a pass needs it, and what an action's turn asks."""

import errno
from collections.abc import Mapping

import pytest
from attrs import evolve

from datum.agent.desired import Wanted
from datum.agent.planning import Basis, Planned, Turn, package_of, plan_given, plan_now, without_history
from datum.graph.build import build_graph
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Expectation, Hazard, OnRemoval, Resource
from datum.model.observation import Absent, Cause, Machine, Unobservable, UnsafeFolder
from datum.model.plan import Label, Operation, OrphanState
from datum.observer.observe import Look
from datum.planner.inputs import Declaration
from datum.planner.replan import replan
from datum.provider.contract import AnyProvider
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.trees import MemoryTree
from datum.testing.world import FakeFile
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.file.provider import FileProvider
from datum_providers.link.provider import LinkProvider
from tests.unit.fakes import HOST, declare, manifest, revision, rid
from tests.unit.reconciler.bench import no_deadline

A, OLD = "file:/etc/a", "file:/etc/x.d/old"
PROVIDERS: Mapping[str, AnyProvider] = {
    "file": FileProvider(),
    "link": LinkProvider(),
    "directory": DirectoryProvider(),
}


def declaration(number: int, *resources: Resource) -> Declaration:
    graph = build_graph(manifest(*resources), PROVIDERS)
    return Declaration(revision(number), graph.nodes, graph.order)


def basis(host: FakeHost, *resources: Resource, trail: tuple[Declaration, ...] = ()) -> Basis:
    made = manifest(*resources)
    seen = Look(providers=PROVIDERS, reader=host.reader(), deadline=no_deadline)
    wanted = Wanted(made, build_graph(made, PROVIDERS), MemoryTree({}), Machine())
    return Basis(wanted, HOST, seen, trail)


def test_plan_is_made_of_what_is_observed_now() -> None:
    """Each time anew; the same basis plans again after the last action."""
    host = FakeHost()
    made = basis(host, declare(A, content="a\n"))
    first = plan_now(made)
    assert [action.operation for action in first.plan.actions] == [Operation.CREATE]
    host.add_file("/etc/a", b"a\n")
    assert plan_now(made, made.look).plan.is_empty
    assert first.sickness == ()


def test_sickness_comes_through() -> None:
    """The pass ends with it."""
    host = FakeHost()
    host.fail(errno.EIO, method="examine")
    assert [what for what, _ in plan_now(basis(host, declare(A, content="a\n"))).sickness] == [A]


def test_late_values_that_cannot_be_had_are_known() -> None:
    """They are not asked for."""
    host = FakeHost()
    made = basis(host, declare(A, content="a\n"))
    late = Unobservable(Cause.LATE_VALUE, "There is no eth9.")
    made = evolve(made, wanted=evolve(made.wanted, known={rid(A): late}))
    assert plan_now(made).given.observed.observations[rid(A)] is late
    assert ("examine", "/etc/a") not in host.calls


def test_converged_is_asked_only_for_labels() -> None:
    """Resolving it costs a pass with nothing to do nothing."""
    host = FakeHost()
    asked: list[bool] = []
    resource = declare(A, content="a\n")

    def converged() -> Mapping[ResourceId, Node]:
        asked.append(True)
        return declaration(1, resource).nodes

    made = evolve(basis(host, resource), converged=converged)
    assert [action.label for action in plan_now(made).plan.actions] == [Label.DRIFT]
    assert asked == [True]
    host.add_file("/etc/a", b"a\n")
    plan_now(made)
    assert asked == [True]


def older(made: Basis, index: int) -> Declaration:
    found = made.trail[index]
    assert isinstance(found, Declaration)
    return found


def orphaned() -> tuple[FakeHost, Basis]:
    host = FakeHost()
    host.add_file("/etc/x.d/old", b"old\n")
    host.add_file("/etc/a", b"a\n")
    trail = (
        declaration(2, declare(OLD, content="newer\n")),
        declaration(1, declare(OLD, content="old\n"), declare("file:/etc/x.d/older", content="o\n")),
    )
    return host, basis(host, declare(A, content="a\n"), trail=trail)


def test_orphans_are_seen_in_the_terms_of_each_declaration() -> None:
    """Newest first, with the package that owns what is there."""
    host, made = orphaned()
    host.world.packages["/etc/x.d/old"] = "base-files"
    sights = plan_now(made).given.orphans
    assert set(sights) == {rid(OLD), rid("file:/etc/x.d/older")}
    assert [sight.revision for sight in sights[rid(OLD)].sights] == [revision(2), revision(1)]
    assert sights[rid(OLD)].package == "base-files"
    other = sights[rid("file:/etc/x.d/older")]
    assert isinstance(other.sights[0].observation, Absent)
    assert other.package is None


def test_expectations_are_not_asked_again_for_orphans() -> None:
    """The machine is another or not, once."""
    _, made = orphaned()
    made = evolve(made, look=evolve(made.look, expect=Expectation({"os": "debian-12"})))
    planned = plan_now(made)
    assert len(planned.sickness) == 1
    assert set(planned.given.orphans) == {rid(OLD), rid("file:/etc/x.d/older")}


def test_orphan_of_a_type_that_is_gone_has_no_sight() -> None:
    """Nothing can be said of it, so nothing is done to it."""
    host, made = orphaned()
    unknown = evolve(older(made, 0), nodes={rid("gone:x"): older(made, 0).nodes[rid(OLD)]})
    from datum.agent.planning import observe_orphans

    sights, sickness = observe_orphans(evolve(made, trail=(unknown,)), made.look, {})
    assert sickness == ()
    assert sights[rid("gone:x")].sights == ()
    assert host.journal == []


def test_owner_that_cannot_be_read_leaves_an_orphan_unsettled() -> None:
    """What may belong to a package is not removed, and the trail stays until it is known."""
    host, made = orphaned()
    host.fail(errno.EIO, method="package_of")
    words = {orphan.resource: orphan for orphan in plan_now(made).plan.orphans}
    assert (words[rid(OLD)].state, words[rid(OLD)].rule) == (OrphanState.UNSETTLED, "unobservable")
    host.heal()
    words = {orphan.resource: orphan for orphan in plan_now(made).plan.orphans}
    assert words[rid(OLD)].state is OrphanState.REMOVE


def test_a_sick_disk_below_an_orphan_ends_the_pass() -> None:
    """The disk does not ask whether the target declares the file (design 1.2)."""
    host, made = orphaned()
    host.fail(errno.EIO, method="examine", subject=OLD.partition(":")[2])
    assert [what for what, _ in plan_now(made).sickness] == [OLD]


def test_only_paths_have_owners() -> None:
    """A user or a port belongs to no package."""
    host = FakeHost()
    node = evolve(declaration(1, declare(A)).nodes[rid(A)], targets=())
    assert package_of(node, host.reader()) is None


def turn_of(host: FakeHost, made: Basis) -> tuple[Planned, Turn]:
    planned = plan_now(made)
    return planned, Turn(planned, made.look)


def test_turn_of_a_declared_resource() -> None:
    """Its own declaration, looked at again, planned again."""
    host = FakeHost()
    planned, turn = turn_of(host, basis(host, declare(A, content="a\n")))
    (action,) = planned.plan.actions
    assert turn.node_of(action).resource.id == rid(A)
    seen = turn.observe(action)
    assert isinstance(seen, Absent)
    assert turn.replan(action, seen).step == action.step
    assert ("package_of", "/etc/a") not in host.calls


def test_what_is_found_as_it_was_planned_from_gets_the_planner_s_own_word() -> None:
    """It is not asked again about the very observation it gave an answer for, and would say the same."""
    host = FakeHost()
    planned, turn = turn_of(host, basis(host, declare(A, content="a\n"), declare("file:/none/b", content="b\n")))
    for action in planned.plan.actions:
        seen, node = turn.observe(action), turn.node_of(action)
        assert turn.replan(action, seen) == replan(action, node, seen, providers=PROVIDERS)


def test_a_create_whose_directory_went_or_lies_open_since_is_planned_again() -> None:
    """Nothing stands there either way, and yet it is something else that was observed."""
    host = FakeHost()
    planned, turn = turn_of(host, basis(host, declare(A, content="a\n")))
    (action,) = planned.plan.actions
    before = turn.observe(action)
    assert isinstance(before, Absent)
    open_to_all = evolve(before, unsafe=(UnsafeFolder("/etc", "Everybody may write it."),))
    for seen in (Absent({"missing_parent": "/etc"}), open_to_all):
        again = turn.replan(action, seen)
        assert again == replan(action, turn.node_of(action), seen, providers=PROVIDERS)
        assert again.hold is not None


def test_turn_of_an_orphan_is_in_the_terms_of_its_newest_declaration() -> None:
    """It has none in the target."""
    host, made = orphaned()
    planned, turn = turn_of(host, made)
    (action,) = planned.plan.actions
    assert (action.resource, action.orphan_of) == (rid(OLD), revision(2))
    assert turn.node_of(action) is older(made, 0).nodes[rid(OLD)]
    assert turn.replan(action, turn.observe(action)).step is not None


def test_turn_asks_who_owns_what_it_finds() -> None:
    """Somebody's file is not overwritten; a package's is."""
    host = FakeHost()
    planned, turn = turn_of(host, basis(host, declare(A, content="a\n")))
    (action,) = planned.plan.actions
    host.add_file("/etc/a", b"other\n")
    assert turn.replan(action, turn.observe(action)).hold is not None
    host.world.packages["/etc/a"] = "base-files"
    assert turn.replan(action, turn.observe(action)).step is not None


def test_turn_asks_whose_it_is_where_something_may_have_come_along() -> None:
    """What a package's script wrote is root's; nobody vouches for what cannot be looked at, or for a user's file."""
    host = FakeHost()
    planned, turn = turn_of(host, basis(host, declare(A, content="a\n")))
    action = evolve(planned.plan.actions[0], along=frozenset({"root"}))
    host.add_user("eve", 1000)
    host.add_file("/etc/a", b"other\n", uid=1000)
    assert turn.replan(action, turn.observe(action)).hold is not None
    host.add_file("/etc/a", b"other\n")
    seen = turn.observe(action)
    assert turn.replan(action, seen).step is not None
    host.fail(errno.EIO, method="examine", subject="/etc/a")
    assert turn.replan(action, seen).hold is not None


def test_equal_inputs_give_an_equal_plan() -> None:
    """Planned from the input alone."""
    _, made = orphaned()
    first = plan_now(made)
    assert plan_given(first.given, lambda: None).plan == first.plan
    with pytest.raises(AttributeError):
        first.plan.plan_id = ""  # type: ignore[misc]


def crowded(target: Resource, count: int = 6) -> tuple[FakeHost, Basis]:
    """Have a link where files lay that the trail declares, in a number that would be a mass."""
    host = FakeHost()
    host.add("/srv/x", FakeFile(FileKind.SYMLINK, link="elsewhere"))
    old = [declare(f"file:/srv/x/{number}", content="x\n", on_removal=OnRemoval.DELETE) for number in range(count)]
    return host, basis(host, declare(A, content="a\n"), target, trail=(declaration(1, *old),))


@pytest.mark.parametrize("target", ["elsewhere", "otherwhere"])
def test_orphans_below_a_link_that_the_target_declares_are_not_on_the_host(target: str) -> None:
    """They are not asked for, and their number says nothing of the host, whether or not the link leads elsewhere."""
    host, made = crowded(declare("link:/srv/x", target=target))
    planned = plan_now(made)
    assert planned.sickness == ()
    assert {(orphan.state, orphan.rule) for orphan in planned.plan.orphans} == {(OrphanState.ABSENT, "absent")}
    assert not [path for method, path in host.calls if path.startswith("/srv/x/")]


def test_orphans_below_a_link_that_nobody_declares_are_not_known() -> None:
    _, made = crowded(declare("file:/etc/b", content="b\n"), count=4)
    assert {orphan.state for orphan in plan_now(made).plan.orphans} == {OrphanState.UNSETTLED}


def below_a_link(*more: Resource) -> Basis:
    host = FakeHost()
    host.add("/srv/x", FakeFile(FileKind.SYMLINK, link="elsewhere"))
    inside = [declare(f"file:/srv/x/{number}", content="x\n") for number in range(6)]
    return basis(host, *inside, *more)


def test_what_a_plan_makes_room_for_is_no_sickness() -> None:
    """A directory takes the place of a link, and everything declared in it is made in one pass, or waits for it."""
    for allow, done in ((["data_loss"], True), ([], False)):
        directory = declare("directory:/srv/x", value=None, allow=[Hazard(one) for one in allow])
        planned = plan_now(below_a_link(evolve(directory, attributes={})))
        assert planned.sickness == ()
        assert planned.given.observed.sickness == ()
        assert [action.operation for action in planned.plan.actions][:1] == [Operation.REPLACE]
        assert len(planned.plan.actions) == (7 if done else 1)


def test_what_no_plan_makes_room_for_is_sickness_as_ever() -> None:
    ((what, found),) = plan_now(below_a_link()).sickness
    assert (what, found.cause) == ("file", Cause.MASS)


def test_a_plan_without_history_is_made_from_one_look() -> None:
    """It is the plan that the trail alone gives; nothing is observed for it."""
    host, made = orphaned()
    whole = plan_now(made)
    looked = len(host.calls)
    short = evolve(made, trail=made.trail[:1])
    found = without_history(whole, frozenset({revision(2)}))
    assert len(host.calls) == looked
    assert found == plan_now(short).plan
    assert [orphan.resource for orphan in found.orphans] == [rid(OLD)]
    assert len(whole.plan.orphans) == 2


def test_types_of_a_plan_are_those_of_target_trail_and_what_converged() -> None:
    _, made = orphaned()
    assert plan_now(made).types == ("file",)
    other = rid("other:x")
    converged = {other: declaration(1, declare(A)).nodes[rid(A)]}
    assert plan_now(evolve(made, converged=lambda: converged)).types == ("file", "other")
