"""One action whose turn has come (design 1.4): as planned, already, weaker, or held."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.graph import Node, Target
from datum.model.manifest import Hazard, Resource
from datum.model.observation import Absent, Cause, Observation, Present, Scope, Unobservable, UnsafeFolder
from datum.model.plan import Action, Change, HoldReason, Need, Operation, Replan, Step
from datum.planner.replan import replan
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    OTHER,
    PROVIDERS,
    action_of,
    declare,
    nodes_of,
    odd,
    plan_of,
    raising,
    target_of,
)

OTHER_KIND = Present({"kind": "folder"})
NEWER = Present({"value": "newer"})


def planned(resource: Resource, seen: "Observation") -> tuple[Action, Node]:
    text = str(resource.id)
    return action_of(plan_of(resource, seen={text: seen}), text), nodes_of(resource)[resource.id]


def again(resource: Resource, before: "Observation", now: "Observation", **others: Any) -> Replan:
    action, node = planned(resource, before)
    return replan(action, node, now, providers=others.pop("providers", PROVIDERS), **others)


def is_held(answer: Replan, words: str) -> bool:
    """Whether the action is held because the host changed, with these words and without a step."""
    assert answer.hold is not None, answer
    assert answer.step is None
    assert words in answer.hold.detail
    assert answer.hold.release
    return answer.hold.reason is HoldReason.CHANGED_UNDER_US


# --- as planned, already ---


@pytest.mark.parametrize(
    ("resource", "seen"),
    [
        (declare("fake:a"), Absent()),
        (declare("fake:a"), OTHER),
        (declare("fake:a", allow=[Hazard.DATA_LOSS]), OTHER_KIND),
        (declare("fake:a", absent=True), OTHER),
        (declare("fake:a", risks=["outage"], allow=[Hazard.OUTAGE]), OTHER),
        # A hold is the plan's business; a hazard that the plan named is not added.
        (declare("fake:a", risks=["outage"]), OTHER),
    ],
    ids=["create", "update", "replace", "delete", "allowed-hazard", "known-hazard"],
)
def test_equal_to_what_was_planned_is_applied_as_planned(resource: Resource, seen: "Observation") -> None:
    answer = again(resource, seen, seen)
    assert answer.step is not None
    assert answer.hold is None
    assert not answer.differs


@pytest.mark.parametrize(
    ("absent", "before", "now"),
    [(False, Absent(), IN_SYNC), (False, OTHER, IN_SYNC), (False, OTHER_KIND, IN_SYNC), (True, OTHER, Absent())],
)
def test_equal_to_what_is_wanted_is_already(absent: bool, before: "Observation", now: "Observation") -> None:
    assert again(declare("fake:a", absent=absent), before, now) == Replan()


# --- weaker, stronger ---


@pytest.mark.parametrize(
    ("before", "now", "operation"),
    [
        (OTHER, NEWER, Operation.UPDATE),
        (OTHER, Absent(), Operation.CREATE),
        (OTHER_KIND, OTHER, Operation.UPDATE),
        (OTHER_KIND, Absent(), Operation.CREATE),
        (OTHER_KIND, Present({"kind": "socket"}), Operation.REPLACE),
    ],
    ids=["other-update", "update-create", "replace-update", "replace-create", "other-replace"],
)
def test_what_is_as_weak_or_weaker_is_accepted(before: "Observation", now: "Observation", operation: Operation) -> None:
    answer = again(declare("fake:a", allow=[Hazard.DATA_LOSS]), before, now)
    assert answer.step is not None
    assert answer.step.operation is operation
    assert answer.differs
    assert answer.hold is None


RANKS = ("mark", ("create", "update"), "reload", "restart", "replace")
ORDER = [
    (rank, Operation(name))
    for rank, found in enumerate(RANKS)
    for name in (found if isinstance(found, tuple) else (found,))
]


@pytest.mark.parametrize(("planned_rank", "was"), ORDER, ids=str)
@pytest.mark.parametrize(("rank", "now"), ORDER, ids=str)
def test_every_stronger_step_is_held(planned_rank: int, was: Operation, rank: int, now: Operation) -> None:
    """`none < mark < create = update < refresh(reload) < refresh(restart) < replace < delete`."""
    step = Step(now, (Change("value", "a", "b"),))
    action, node = planned(declare("odd:/a"), OTHER)
    before = Absent() if now is Operation.CREATE else OTHER
    providers = odd(plan=lambda *_: step, hazards=lambda *_: frozenset())
    answer = replan(evolve(action, operation=was), node, before, providers=providers)
    if was is Operation.CREATE and now is not Operation.CREATE and rank <= planned_rank:
        assert is_held(answer, "data_loss"), "a create that finds something"
    elif rank > planned_rank:
        assert is_held(answer, str(now))
    else:
        assert answer.step == step


def test_an_added_hazard_is_held() -> None:
    action, node = planned(declare("odd:/a"), OTHER)
    risky = odd(hazards=lambda *_: frozenset({Hazard.OUTAGE}))
    assert is_held(replan(action, node, NEWER, providers=risky), "outage")
    assert is_held(replan(action, node, OTHER, providers=risky), "outage")
    known = evolve(action, hazards=frozenset({Hazard.OUTAGE}))
    assert replan(known, node, NEWER, providers=risky).step is not None


def test_an_added_hazard_that_the_target_allows_is_not_held() -> None:
    action, node = planned(declare("odd:/a", allow=[Hazard.OUTAGE]), OTHER)
    risky = odd(hazards=lambda *_: frozenset({Hazard.OUTAGE}))
    assert replan(action, node, NEWER, providers=risky).step is not None
    protected = nodes_of(declare("odd:/a", protect=True)).values()
    assert is_held(replan(action, node, NEWER, providers=risky, older=tuple(protected)), "outage")


# --- a create that finds something ---


def test_a_create_that_finds_something_is_held_for_what_would_be_lost() -> None:
    assert is_held(again(declare("fake:a"), Absent(), OTHER), "data_loss")


@pytest.mark.parametrize(
    ("maker", "owner", "is_made"),
    [
        (declare("package:p", may_make=["path:*"]), "root", True),
        (declare("package:p", may_make=["path:*"]), "a", False),
        (declare("package:p", may_make=["path:*"]), None, False),
        (declare("user:a", makes=["path:/home/a"]), "a", True),
        (declare("user:a", makes=["path:/home/a"]), "root", True),
        (declare("user:a", makes=["path:/home/a"]), "b", False),
        (declare("fake:m", makes=["path:/home/a"], may_make=["user:a"]), "a", False),
        (declare("folder:/home/a"), "root", False),
    ],
)
def test_a_create_that_finds_what_came_along_with_its_directory_becomes_an_update(
    maker: Resource, owner: str | None, is_made: bool
) -> None:
    """The skeleton of a home, and what a package's script wrote; a directory of its own comes empty."""
    resource = declare("leaf:/home/a/f", after=[str(maker.id)])
    plan = plan_of(maker, resource, seen={"leaf:/home/a/f": Absent({"missing_parent": "/home/a"})})
    action, node = action_of(plan, "leaf:/home/a/f"), nodes_of(maker, resource)[resource.id]
    assert action.known_after == (maker.id,)
    owners = frozenset({owner} if owner else ())
    answer = replan(action, node, OTHER, providers=PROVIDERS, owners=owners)
    assert is_held(replan(action, node, OTHER, providers=PROVIDERS, owners=owners | {"c"}), "data_loss")
    if is_made:
        assert (answer.hold, answer.step) == (None, Step(Operation.UPDATE, (Change("value", "old", "x"),)))
    else:
        assert is_held(answer, "data_loss")


def test_what_makes_something_else_that_is_needed_brings_nothing_along() -> None:
    """The owner of a file comes with its skeleton, and not with a directory that is declared."""
    makers = (declare("user:a"), declare("folder:/d"))
    resource = declare("leaf:/d/f", owner="a")
    seen = Absent({"missing_parent": "/d", "owner_known": False})
    action = action_of(plan_of(*makers, resource, seen={"leaf:/d/f": seen}), "leaf:/d/f")
    assert set(action.known_after) == {one.id for one in makers}
    node = nodes_of(*makers, resource)[resource.id]
    found = replan(action, node, Present({"value": "old", "owner": "a"}), providers=PROVIDERS, owners=frozenset("a"))
    assert is_held(found, "data_loss")


def test_a_create_that_finds_what_a_package_owns_becomes_an_update() -> None:
    answer = again(declare("fake:a"), Absent(), OTHER, package="nginx")
    assert answer.step == Step(Operation.UPDATE, (Change("value", "old", "x"),))
    assert answer.differs


def test_a_create_that_finds_a_declaration_of_the_trail_becomes_an_update() -> None:
    older = tuple(nodes_of(declare("fake:a", value=value))[declare("fake:a").id] for value in ("newer", "old"))
    answer = again(declare("fake:a"), Absent(), OTHER, older=older)
    assert answer.step is not None
    assert answer.step.operation is Operation.UPDATE


@pytest.mark.parametrize(
    "older",
    [declare("fake:a", value="another"), declare("fake:a", absent=True)],
    ids=["another-value", "absent"],
)
def test_a_create_that_finds_something_that_no_declaration_of_the_trail_equals_is_held(older: Resource) -> None:
    assert is_held(again(declare("fake:a"), Absent(), OTHER, older=tuple(nodes_of(older).values())), "data_loss")


def test_a_create_that_finds_something_it_cannot_compare_is_held() -> None:
    older = tuple(nodes_of(declare("fake:a", value="old")).values())
    now = Present({"value": "old", "owner": HIDDEN})
    assert is_held(again(declare("fake:a"), Absent(), now, older=older), "data_loss")


def test_a_create_that_finds_something_and_may_lose_it_becomes_an_update() -> None:
    answer = again(declare("fake:a", allow=[Hazard.DATA_LOSS]), Absent(), OTHER)
    assert answer.step is not None
    assert answer.step.operation is Operation.UPDATE


def test_a_create_that_finds_another_kind_of_thing_is_held_even_if_a_package_owns_it() -> None:
    assert is_held(again(declare("fake:a"), Absent(), OTHER_KIND, package="nginx"), "replace")


def test_only_a_create_is_asked_what_it_found() -> None:
    assert again(declare("fake:a"), OTHER, NEWER).step is not None


# --- deletions ---


@pytest.mark.parametrize("now", [NEWER, OTHER_KIND, Present({"value": "old", "more": 1}), Present({"value": HIDDEN})])
def test_a_delete_is_never_planned_again(now: "Observation") -> None:
    assert is_held(again(declare("fake:a", absent=True), OTHER, now), "not what was to be deleted")


@pytest.mark.parametrize(("field", "before", "now"), [("loaded", "current", "stale"), ("owes", None, "restart")])
def test_a_delete_is_not_held_for_what_other_actions_make_of_a_unit(field: str, before: str | None, now: str) -> None:
    """Its drop-in that went before leaves the manager with an old idea of it; a listed file left a mark."""
    planned, found = (Present({**OTHER.fields, field: value}) for value in (before, now))
    answer = again(declare("fake:a", absent=True), planned, found)
    assert answer.step is not None
    assert (answer.step.operation, answer.differs) == (Operation.DELETE, False)


def test_a_delete_needs_no_provider() -> None:
    assert again(declare("fake:a", absent=True), OTHER, OTHER, providers={}).step is not None


# --- needs, unobservable, breaches ---


def test_a_known_after_action_goes_on_when_its_need_is_met() -> None:
    resources = (declare("leaf:/f", owner="u"), declare("user:u"))
    plan = plan_of(*resources, seen={"leaf:/f": Absent({"owner_known": False})})
    node = nodes_of(*resources)[resources[0].id]
    action = action_of(plan, "leaf:/f")
    answer = replan(action, node, Absent({"owner_known": True}), providers=PROVIDERS)
    assert answer.step is not None
    assert answer.step.needs == ()
    assert not answer.differs


def test_a_need_that_nothing_has_brought_is_impossible() -> None:
    resources = (declare("leaf:/f", owner="u", after=["package:p"]), declare("package:p", may_make=["user:u"]))
    seen = Absent({"owner_known": False})
    plan = plan_of(*resources, seen={"leaf:/f": seen})
    node = nodes_of(*resources)[resources[0].id]
    answer = replan(action_of(plan, "leaf:/f"), node, seen, providers=PROVIDERS)
    assert is_held(answer, "There is no user u. package:p was to bring the user u, and did not.")
    assert answer.is_impossible
    assert answer.hold is not None
    assert "package:p" in answer.hold.release


def test_a_need_that_something_made_for_certain_and_that_is_gone_again_is_held() -> None:
    resources = (declare("leaf:/f", owner="u"), declare("user:u"))
    seen = Absent({"owner_known": False})
    action = action_of(plan_of(*resources, seen={"leaf:/f": seen}), "leaf:/f")
    answer = replan(action, nodes_of(*resources)[resources[0].id], seen, providers=PROVIDERS)
    assert is_held(answer, "leaf:/f changed after it was planned: There is no user u.")
    assert not answer.is_impossible


def test_a_new_need_is_held() -> None:
    step = Step(Operation.UPDATE, (Change("value", "a", "b"),), (Need(target_of("user:u"), "There is no user u."),))
    action, node = planned(declare("odd:/a"), OTHER)
    assert is_held(replan(action, node, NEWER, providers=odd(plan=lambda *_: step)), "There is no user u.")


@pytest.mark.parametrize(("absent", "before"), [(False, Absent()), (False, OTHER), (True, OTHER)])
def test_what_cannot_be_looked_at_any_more_is_held(absent: bool, before: "Observation") -> None:
    assert is_held(again(declare("fake:a", absent=absent), before, HIDDEN), HIDDEN.detail)


@pytest.mark.parametrize("method", ["plan", "hazards"])
def test_a_provider_that_breaks_its_contract_is_held(method: str) -> None:
    action, node = planned(declare("odd:/a"), OTHER)
    assert is_held(replan(action, node, NEWER, providers=odd(**{method: raising})), "bug")


# --- what goes along ---


def taking(*holds: str, **others: Any) -> Present:
    return Present({"kind": "folder", "value": "x"}, holds=holds, **others)


GOING = (
    declare("folder:/d", absent=True, allow=[Hazard.DATA_LOSS]),
    declare("leaf:/d", allow=[Hazard.DATA_LOSS]),
    declare("folder:/d", exclusive=True),
)


@pytest.mark.parametrize("resource", GOING, ids=["delete", "replace", "exclusive"])
def test_fewer_paths_than_planned_may_go_along_and_no_other(resource: Resource) -> None:
    def now(*holds: str) -> Replan:
        return again(resource, taking("/d/a", "/d/b"), taking(*holds))

    same = now("/d/a", "/d/b")
    assert same.step is not None
    assert (same.step.takes, same.differs) == (("/d/a", "/d/b"), False)
    fewer = now("/d/b")
    assert fewer.step is not None
    assert fewer.step.takes == ("/d/b",)
    assert is_held(now("/d/a", "/d/b", "/d/c"), "it would now take along /d/c")
    assert is_held(now("/d/c"), "it would now take along /d/c")


@pytest.mark.parametrize("resource", GOING[:2], ids=["delete", "replace"])
def test_what_something_was_mounted_on_meanwhile_is_held(resource: Resource) -> None:
    assert is_held(again(resource, taking("/d/a"), taking("/d/a", mounts=("/d/a",))), "mounted on /d/a")


def test_a_creation_that_finds_something_takes_nothing_along() -> None:
    resource = declare("folder:/d", exclusive=True)
    assert is_held(again(resource, Absent(), Present({"value": "x"}, holds=("/d/a",)), package="p"), "/d/a")


@pytest.mark.parametrize(
    "resource",
    [declare("folder:/d", absent=True, allow=[Hazard.DATA_LOSS]), declare("leaf:/d", allow=[Hazard.DATA_LOSS])],
)
def test_what_another_candidate_of_the_set_removes_is_not_taken_along(resource: Resource) -> None:
    before, now = taking(), taking("/d/a")
    assert is_held(again(resource, before, now), "/d/a")
    answer = again(resource, before, now, provided=frozenset({target_of("path:/d/a"), target_of("user:/d/b")}))
    assert answer.step is not None
    assert answer.step.takes == ()


def test_what_another_candidate_of_the_set_makes_is_there() -> None:
    resource = declare("fake:a", owner="u")
    action, node = action_of(plan_of(resource, seen={"fake:a": OTHER}), "fake:a"), nodes_of(resource)[resource.id]
    now = Present({"value": "old", "owner_known": False})
    assert is_held(replan(action, node, now, providers=PROVIDERS), "There is no user u.")
    assert replan(action, node, now, providers=PROVIDERS, provided=frozenset({target_of("user:u")})).step is not None


LINK = Unobservable(Cause.LOOP, "'/d' is a link.")


@pytest.mark.parametrize(
    ("seen", "provided", "is_done"),
    [
        (LINK, Target("path", "/d"), True),
        (LINK, Target("path", "/d", leaf=True), False),
        (LINK, Target("path", "/e"), False),
        (LINK, Target("user", "/d"), False),
        (HIDDEN, Target("path", "/d"), False),
        (evolve(LINK, scope=Scope.HOST), Target("path", "/d"), False),
    ],
)
def test_what_a_link_hides_is_made_in_the_directory_that_is_staged_in_its_place(
    seen: Unobservable, provided: Target, is_done: bool
) -> None:
    resource = declare("leaf:/d/f")
    answer = again(resource, Absent(), seen, provided=frozenset({provided}))
    assert (answer.step is not None) is is_done
    assert (answer.hold is None) is is_done


LEFT = Absent({"residue": True})


@pytest.mark.parametrize(("planned", "differs"), [(LEFT, False), (OTHER, True)])
def test_a_deletion_that_finds_a_leftover_alone_sweeps_it(planned: Present | Absent, differs: bool) -> None:
    answer = again(declare("leaf:/d", absent=True), planned, LEFT)
    assert answer.step is not None
    assert (answer.step.changes[0].name, answer.differs) == ("residue", differs)


def test_a_sweep_that_finds_something_in_its_place_is_held() -> None:
    assert is_held(again(declare("leaf:/d", absent=True), LEFT, OTHER), "is not what was to be deleted")
    assert again(declare("leaf:/d", absent=True), LEFT, Absent()) == Replan()


def test_an_unsafe_directory_that_is_staged_with_an_action_is_corrected_with_it() -> None:
    way = (UnsafeFolder("/d", "'/d' is writable by everybody."),)
    resource = declare("leaf:/d/f")
    action, node = action_of(plan_of(resource), "leaf:/d/f"), nodes_of(resource)[resource.id]
    seen = Absent(unsafe=way)
    assert is_held(replan(action, node, seen, providers=PROVIDERS), "writable by everybody")
    staged = frozenset({Target("path", "/d")})
    assert replan(action, node, seen, providers=PROVIDERS, provided=staged).hold is None
