"""Orphans whose place or surroundings the target decides about: taken over, taken along, cleared, out of reach."""

from typing import Any, ClassVar

import pytest
from attrs import evolve

from datum.model.graph import Target
from datum.model.manifest import Hazard, LimitClass, Limits, OnRemoval, Resource
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, HoldReason, Label, Operation, Orphan, OrphanState, Plan, Step
from datum.planner.ground import find_unreachable
from datum.planner.inputs import Declaration
from datum.planner.plan import plan_pass, relabel
from datum.provider.contract import AnyProvider, Removal
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    OTHER,
    PROVIDERS,
    Fake,
    Want,
    declare,
    declared_by,
    given,
    graph_of,
    names,
    nodes_of,
    odd,
    plan_of,
    raising,
    revision,
    rid,
)

LOSS = [Hazard.DATA_LOSS]
ANOTHER_KIND = Present({"kind": "folder"})


def dropping(old: Resource, *target: Resource, seen: dict[str, Observation], at: Observation, **others: Any) -> Plan:
    """Plan a target that no longer declares one resource, which is looked at as `at`."""
    return plan_of(*target, seen=seen, trail=(declared_by(1, old),), orphans={str(old.id): at}, **others)


def word_of(plan: Plan, text: str) -> Orphan:
    (word,) = [word for word in plan.orphans if word.resource == rid(text)]
    return word


def words(plan: Plan) -> dict[str, tuple[OrphanState, str]]:
    return {str(word.resource): (word.state, word.rule) for word in plan.orphans}


# --- taken over ---


@pytest.mark.parametrize("seen", [IN_SYNC, OTHER], ids=["as declared", "to be updated"])
@pytest.mark.parametrize(
    ("old", "new"), [("folder:/x", "leaf:/x"), ("leaf:/x", "folder:/x"), ("entry:/x#a", "leaf:/x")]
)
def test_what_has_another_resource_in_its_place_is_settled(old: str, new: str, seen: Observation) -> None:
    """There is nothing to declare absent: that would contradict the target."""
    plan = dropping(declare(old), declare(new), seen={new: seen}, at=ANOTHER_KIND)
    word = word_of(plan, old)
    assert (word.state, word.rule, word.release) == (OrphanState.ABSENT, "taken_over", "")
    assert new in word.detail


def test_a_part_that_another_type_holds_in_part_is_not_taken_over() -> None:
    """Both parts may be there."""
    plan = dropping(declare("entry:/f#a"), declare("twin:/f#a"), seen={"twin:/f#a": IN_SYNC}, at=IN_SYNC)
    word = word_of(plan, "entry:/f#a")
    assert (word.state, word.rule) == (OrphanState.KEPT, "declared_below")
    assert "twin:/f#a" in word.release


def test_a_part_does_not_go_with_another_part_of_its_file() -> None:
    """What was edited by hand is kept, and told so, while the line beside it is removed."""
    beside = declare("entry:/f#b", absent=True)
    plan = dropping(declare("entry:/f#a"), beside, seen={"entry:/f#b": IN_SYNC}, at=OTHER)
    assert names(plan.actions) == ["entry:/f#b"]
    assert word_of(plan, "entry:/f#a").state is OrphanState.KEPT


def test_what_will_have_its_place_taken_goes_with_the_replacement() -> None:
    new = declare("leaf:/x", allow=LOSS)
    plan = dropping(declare("folder:/x"), new, seen={"leaf:/x": ANOTHER_KIND}, at=IN_SYNC)
    word = word_of(plan, "folder:/x")
    assert (word.state, word.rule, word.release) == (OrphanState.REMOVE, "taken_over", "")
    assert names(plan.actions) == ["leaf:/x"]


def test_what_holds_the_replacement_keeps_what_would_give_way() -> None:
    plan = dropping(declare("folder:/x"), declare("leaf:/x"), seen={"leaf:/x": ANOTHER_KIND}, at=IN_SYNC)
    word = word_of(plan, "folder:/x")
    assert (word.state, word.rule, word.release) == (OrphanState.KEPT, "taken_over", "")


@pytest.mark.parametrize("absent", [False, True])
def test_what_is_protected_under_its_former_id_is_not_replaced_or_removed(absent: bool) -> None:
    """Protection does not vanish with the block that declares it."""
    new = declare("leaf:/x", allow=LOSS, absent=absent)
    plan = dropping(declare("folder:/x", protect=True), new, seen={"leaf:/x": ANOTHER_KIND}, at=IN_SYNC)
    (action,) = [action for action in plan.actions if action.resource == rid("leaf:/x")]
    assert action.hold is not None
    assert action.hold.reason is HoldReason.PROTECT
    assert "folder:/x" in action.hold.detail


def test_while_its_place_cannot_be_looked_at_it_is_kept() -> None:
    plan = dropping(declare("folder:/x"), declare("leaf:/x"), seen={"leaf:/x": HIDDEN}, at=IN_SYNC)
    assert words(plan) == {"folder:/x": (OrphanState.KEPT, "taken_over")}


def test_what_cannot_be_planned_settles_nothing() -> None:
    """A provider that raises says nothing of what stands there."""
    new = declare("odd:/x")
    plan = dropping(declare("folder:/x"), new, seen={"odd:/x": IN_SYNC}, at=IN_SYNC, providers=odd(plan=raising))
    assert words(plan) == {"folder:/x": (OrphanState.UNSETTLED, "unobservable")}


def test_what_held_more_than_that_is_not_taken_over() -> None:
    """What the other resource does not hold may be there still; the advice contradicts nothing."""
    old = nodes_of(declare("folder:/x"), declare("leaf:/x/y"))
    found = given(
        declare("folder:/x"),
        seen={"folder:/x": IN_SYNC},
        trail=(declared_by(1, declare("odd:/t")),),
        providers=PROVIDERS,
    )
    targets = tuple(target for node in old.values() for target in node.targets)
    sight = found.orphans[rid("odd:/t")]
    (one,) = sight.sights
    wide = evolve(sight, sights=(evolve(one, node=evolve(one.node, targets=targets), observation=IN_SYNC),))
    plan = plan_pass(evolve(found, orphans={rid("odd:/t"): wide}))
    word = word_of(plan, "odd:/t")
    assert (word.state, word.rule) == (OrphanState.KEPT, "default_keep")
    assert "folder:/x" in word.release
    leaf = evolve(found, graph=graph_of(declare("leaf:/x")))
    seen = evolve(found.observed, observations={rid("leaf:/x"): IN_SYNC})
    plan = plan_pass(evolve(leaf, observed=seen, orphans={rid("odd:/t"): wide}))
    assert words(plan) == {"odd:/t": (OrphanState.ABSENT, "taken_over")}, "nothing lies below a file"


# --- taken along ---


@pytest.mark.parametrize("on_removal", [None, OnRemoval.KEEP])
def test_what_a_replacement_takes_along_is_not_said_to_stay(on_removal: OnRemoval | None) -> None:
    holding = Present({"kind": "folder"}, holds=("/x/in",))
    old, new = declare("leaf:/x/in", on_removal=on_removal), declare("leaf:/x", allow=LOSS)
    plan = dropping(old, new, seen={"leaf:/x": holding}, at=IN_SYNC)
    word = word_of(plan, "leaf:/x/in")
    assert (word.state, word.rule, word.release) == (OrphanState.REMOVE, "taken_along", "")
    assert "The replace of leaf:/x" in word.detail
    held = dropping(old, declare("leaf:/x"), seen={"leaf:/x": holding}, at=IN_SYNC)
    assert word_of(held, "leaf:/x/in").state is OrphanState.KEPT


def test_what_is_declared_absent_by_another_type_goes_with_it() -> None:
    gone = declare("leaf:/x", absent=True, allow=LOSS)
    plan = dropping(declare("folder:/x"), gone, seen={"leaf:/x": ANOTHER_KIND}, at=IN_SYNC)
    assert words(plan) == {"folder:/x": (OrphanState.REMOVE, "taken_along")}


@pytest.mark.parametrize("old", ["leaf:/y", "user:x"])
def test_what_lies_elsewhere_stays(old: str) -> None:
    new = declare("leaf:/x", allow=LOSS)
    plan = dropping(declare(old), new, seen={"leaf:/x": ANOTHER_KIND}, at=IN_SYNC)
    assert word_of(plan, old).state is OrphanState.KEPT


def test_what_a_limit_holds_after_labels_are_known_is_kept_again() -> None:
    """The words follow the holds of the plan as it is in the end."""
    resources = [declare("leaf:/x", allow=LOSS), *(declare(f"leaf:/f{number}") for number in range(10))]
    seen: dict[str, Observation] = {str(one.id): OTHER for one in resources}
    seen["leaf:/x"] = ANOTHER_KIND
    made = given(
        *resources,
        seen=seen,
        trail=(declared_by(1, declare("folder:/x"), *resources[1:]),),
        orphans={"folder:/x": IN_SYNC},
        limits=Limits(changed=50),
        converged=nodes_of(*(evolve(one, attributes={"value": "x"}) for one in resources)),
    )
    first = plan_pass(made)
    assert words(first) == {"folder:/x": (OrphanState.REMOVE, "taken_over")}
    assert {action.label for action in first.actions} == {Label.DRIFT}
    again = evolve(made, converged=nodes_of(*(declare(str(one.id), value="was") for one in resources)))
    second = relabel(first, again)
    assert all(action.hold is not None and action.hold.limit is LimitClass.CHANGED for action in second.actions)
    assert words(second) == {"folder:/x": (OrphanState.KEPT, "taken_over")}
    assert relabel(second, again).orphans is second.orphans


class Part(Fake):
    """A part of a file, and of nothing that anybody made; the file itself is shared."""

    type_name: ClassVar[str] = "part"

    def targets(self, desired: Want) -> tuple[Target, ...]:
        shared = (Target("path", "/parts", shared=True), Target("made_path", "/made", shared=True))
        return (Target("part", desired.name), *shared)

    def removal(self, desired: Want) -> Removal:
        return Removal.DELETE


def clearing(*takes: str, old: Resource, **others: Any) -> Plan:
    """Plan a target that takes parts away which nobody declares; one of them was declared before."""
    step = Step(Operation.UPDATE, (Change("unmanaged", takes, ()),), takes=takes)
    providers = {**odd(plan=lambda *_: step), "part": Part()}
    before = graph_of(old, providers=providers)
    trail = (Declaration(revision(1), before.nodes, before.order),)
    parts: dict[str, Any] = {"providers": providers, "trail": trail, "orphans": {str(old.id): IN_SYNC}, **others}
    return plan_of(declare("odd:/clears"), seen={"odd:/clears": OTHER}, **parts)


def test_what_is_no_path_is_taken_by_space_and_key() -> None:
    """It goes by its own rules, counts once, and is not taken where a revision protects it."""
    plan = clearing("part:a", "part:b", old=declare("part:a"), limits=Limits(2))
    assert [(action.takes, action.hold) for action in plan.actions] == [((), None), (("part:b",), None)]
    assert names(plan.actions) == ["part:a", "odd:/clears"]
    plan = clearing("part:a", "part:b", old=declare("part:a", protect=True))
    assert plan.verdicts[rid("odd:/clears")].blocked_by == rid("part:a")
    (action,) = clearing("part:a", old=declare("part:a", protect=True, on_removal=OnRemoval.KEEP)).actions
    assert action.hold is not None
    assert action.hold.reason is HoldReason.PROTECT


def test_what_shares_a_file_goes_without_it() -> None:
    kept = declare("part:a", on_removal=OnRemoval.KEEP)
    assert words(clearing("part:a", old=kept)) == {"part:a": (OrphanState.REMOVE, "taken_along")}
    for others in ("part:b", "made_path:/made"):
        assert words(clearing(others, old=kept)) == {"part:a": (OrphanState.KEPT, "on_removal")}


# --- cleared by an exclusive directory ---


def exclusive(at: Observation = IN_SYNC, seen: "Observation | None" = None, **others: Any) -> Plan:
    """Plan an exclusive folder that clears away whatever it holds, at every level."""
    holding = Present({"value": "x"}, holds=("/d/e", "/d/e/f"))
    old = declare("leaf:/d/e/f", **others.pop("old", {}))
    target = declare("folder:/d", exclusive=True)
    return dropping(old, target, seen={"folder:/d": holding if seen is None else seen}, at=at, **others)


def test_what_an_exclusive_directory_reaches_at_any_depth_goes_by_itself() -> None:
    plan = exclusive()
    assert words(plan) == {"leaf:/d/e/f": (OrphanState.REMOVE, "removable")}
    assert names(plan.actions) == ["leaf:/d/e/f", "folder:/d"]


@pytest.mark.parametrize("seen", [IN_SYNC, Absent(), HIDDEN], ids=["keeps it", "not there", "not known"])
def test_what_it_does_not_reach_is_kept(seen: Observation) -> None:
    plan = exclusive(seen=seen)
    assert words(plan) == {"leaf:/d/e/f": (OrphanState.KEPT, "default_keep")}


def test_what_has_no_path_lies_in_no_directory() -> None:
    target = declare("folder:/d", exclusive=True)
    made = given(target, seen={"folder:/d": IN_SYNC}, trail=(declared_by(1, declare("leaf:/d/f")),))
    (sight,) = made.orphans[rid("leaf:/d/f")].sights
    bare = evolve(sight, node=evolve(sight.node, targets=()), observation=IN_SYNC)
    plan = plan_pass(evolve(made, orphans={rid("leaf:/d/f"): evolve(made.orphans[rid("leaf:/d/f")], sights=(bare,))}))
    assert words(plan) == {"leaf:/d/f": (OrphanState.KEPT, "default_keep")}


def test_the_target_clears_what_an_older_revision_would_keep_and_says_so() -> None:
    plan = exclusive(old={"on_removal": OnRemoval.KEEP})
    word = word_of(plan, "leaf:/d/e/f")
    assert (word.state, word.rule, word.release) == (OrphanState.REMOVE, "taken_along", "")
    assert "The update of folder:/d" in word.detail
    assert "would be kept: Revision 000000000000 declared it with 'on_removal: keep'" in word.detail
    assert words(exclusive(at=OTHER)) == {"leaf:/d/e/f": (OrphanState.REMOVE, "taken_along")}


def test_how_deep_a_directory_reaches_is_asked_once() -> None:
    asked: list[object] = []

    def counted(desired: object, observed: Present | Absent) -> object:
        asked.append(observed)
        return PROVIDERS["leaf"].plan(desired, observed)

    providers: dict[str, AnyProvider] = {**odd(plan=counted)}
    target = evolve(declare("odd:/d", exclusive=True))
    graph = evolve(graph_of(target, providers=providers), exclusive=frozenset({"/d"}))
    old = [declare("leaf:/d/e/f"), declare("leaf:/d/e/g")]
    made = given(
        target,
        seen={"odd:/d": Present({"value": "x"}, holds=("/d/e", "/d/e/f", "/d/e/g"))},
        trail=(declared_by(1, *old),),
        orphans={str(one.id): IN_SYNC for one in old},
        providers=providers,
    )
    plan = plan_pass(evolve(made, graph=graph))
    assert set(words(plan).values()) == {(OrphanState.REMOVE, "removable")}
    assert len(asked) == 2, "once for its own step, once for both orphans"


# --- out of reach ---


def unreachable(*old: str, target: Resource, seen: Observation, providers: Any = PROVIDERS) -> list[str]:
    nodes = {rid(text): nodes_of(declare(text))[rid(text)] for text in old}
    found = find_unreachable(nodes, graph_of(target, providers=providers), {target.id: seen}, providers)
    return sorted(map(str, found))


@pytest.mark.parametrize("seen", [IN_SYNC, OTHER], ids=["as declared", "to be updated"])
def test_below_a_file_or_link_of_the_target_nothing_is(seen: Observation) -> None:
    old = ("leaf:/x", "leaf:/x/a", "folder:/x/b/c", "leaf:/xy", "user:x")
    assert unreachable(*old, target=declare("leaf:/x"), seen=seen) == ["folder:/x/b/c", "leaf:/x/a"]


@pytest.mark.parametrize("seen", [Absent(), HIDDEN, ANOTHER_KIND], ids=["not there", "not known", "another kind"])
def test_what_does_not_stand_there_yet_hides_nothing(seen: Observation) -> None:
    assert unreachable("leaf:/x/a", target=declare("leaf:/x"), seen=seen) == []


def test_below_a_directory_and_what_is_declared_absent_anything_may_be() -> None:
    for target in (declare("folder:/x"), declare("leaf:/x", absent=True)):
        assert unreachable("leaf:/x/a", target=target, seen=IN_SYNC) == []


def test_a_provider_that_raises_hides_nothing() -> None:
    assert unreachable("leaf:/x/a", target=declare("odd:/x"), seen=IN_SYNC, providers=odd(plan=raising)) == []
