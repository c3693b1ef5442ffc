"""What the trail declares and the target does not (design 4.3; ADR 0017), rule by rule."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.identity import ResourceId
from datum.model.manifest import Hazard, OnRemoval, Resource
from datum.model.observation import Absent, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Change, HoldReason, Operation, Orphan, OrphanState, Plan, Step
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass
from datum.provider.contract import Removal
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    OTHER,
    PROVIDERS,
    action_of,
    declare,
    declared_by,
    given,
    graph_of,
    names,
    odd,
    plan_of,
    raising,
    revision,
    rid,
)

# Its place is meant to be dropped into; that of the second is not.
DROPPED = "leaf:/x.d/f"
KEPT = "leaf:/x/f"
ANCHOR = declare("user:anchor")


def plan_with(text: str, seen: "Observation", *older: Resource, **others: Any) -> Plan:
    """Plan a target that declares something else; `older` are the declarations of the orphan, newest first."""
    sayings = older or (declare(text),)
    trail = tuple(declared_by(len(sayings) - index, one) for index, one in enumerate(sayings))
    return plan_of(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={text: seen}, trail=trail, **others)


def word_on(plan: Plan) -> Orphan:
    (word,) = plan.orphans
    return word


def is_removed(plan: Plan) -> bool:
    """Whether the only orphan is removed, with nothing in the way; its word says the same."""
    word = word_on(plan)
    deletions = [action for action in plan.actions if action.orphan_of is not None]
    assert all(action.operation is Operation.DELETE for action in deletions)
    assert bool(deletions) is (word.state is OrphanState.REMOVE)
    return bool(deletions)


def kept_by(plan: Plan) -> tuple[OrphanState, str]:
    assert not is_removed(plan)
    word = word_on(plan)
    assert word.detail
    assert bool(word.release) is (word.state is OrphanState.KEPT), "what is kept is named with the line that settles it"
    return word.state, word.rule


# --- what an orphan is ---


def found(*trail: Declaration | Unresolved, target: tuple[Resource, ...] = (ANCHOR,)) -> dict[str, list[int]]:
    orphans = find_orphans(graph_of(*target), trail)
    return {str(origin): [int(one.commit, 16) for one, _ in sayings] for origin, sayings in orphans.items()}


def test_orphans_are_what_any_revision_of_the_trail_declares_and_the_target_does_not() -> None:
    trail = (
        declared_by(3, declare("fake:c"), declare("fake:a"), ANCHOR),
        declared_by(2, declare("fake:b"), declare("fake:c")),
        declared_by(1, declare("fake:c")),
    )
    assert found(*trail) == {"fake:a": [3], "fake:b": [2], "fake:c": [3, 2, 1]}
    assert list(found(*trail)) == ["fake:a", "fake:b", "fake:c"]


def test_without_a_trail_there_are_none() -> None:
    assert found() == {}
    assert plan_of(ANCHOR).orphans == ()


def test_what_was_moved_is_no_orphan_where_it_holds_the_same_place() -> None:
    trail = declared_by(1, declare("folder:/old"), declare("folder:/gone"))
    assert found(trail, target=(declare("leaf:/old", moved="folder:/old"),)) == {"folder:/gone": [1]}
    elsewhere = declare("leaf:/new", moved="folder:/old")
    assert found(trail, target=(elsewhere,)) == {"folder:/gone": [1], "folder:/old": [1]}


def test_what_was_only_ever_absent_is_no_orphan() -> None:
    assert found(declared_by(1, declare("fake:a", absent=True))) == {}


def test_what_was_absent_in_one_revision_and_wanted_in_another_is_one() -> None:
    trail = (declared_by(2, declare("fake:a", absent=True)), declared_by(1, declare("fake:a")))
    assert found(*trail) == {"fake:a": [1]}


def test_what_the_target_declares_absent_is_no_orphan() -> None:
    assert found(declared_by(1, declare("fake:a")), target=(declare("fake:a", absent=True),)) == {}


def test_a_revision_that_cannot_be_resolved_declares_nothing_that_is_known() -> None:
    assert found(Unresolved(revision(2), "It is gone."), declared_by(1, declare("fake:a"))) == {"fake:a": [1]}


# --- the default by place ---


def test_what_lies_in_a_place_to_be_dropped_into_is_removed() -> None:
    plan = plan_with(DROPPED, IN_SYNC)
    action = action_of(plan, DROPPED)
    assert (action.operation, action.orphan_of, action.location) == (Operation.DELETE, revision(1), None)
    assert [(change.name, change.before, change.after) for change in action.changes] == [("value", "x", None)]
    word = word_on(plan)
    assert (word.state, word.resource, word.declared_by) == (OrphanState.REMOVE, rid(DROPPED), revision(1))


def test_everything_else_is_kept() -> None:
    assert kept_by(plan_with(KEPT, IN_SYNC)) == (OrphanState.KEPT, "default_keep")


# --- on_removal ---


def test_on_removal_delete_removes_it_from_any_place() -> None:
    assert is_removed(plan_with(KEPT, IN_SYNC, declare(KEPT, on_removal=OnRemoval.DELETE)))


def test_on_removal_keep_keeps_it_in_any_place() -> None:
    plan = plan_with(DROPPED, IN_SYNC, declare(DROPPED, on_removal=OnRemoval.KEEP))
    assert kept_by(plan) == (OrphanState.KEPT, "on_removal")


@pytest.mark.parametrize(
    ("newest", "older", "removed"),
    [
        (OnRemoval.DELETE, OnRemoval.KEEP, True),
        (OnRemoval.KEEP, OnRemoval.DELETE, False),
        (None, OnRemoval.DELETE, False),
        (None, OnRemoval.KEEP, False),
    ],
)
def test_on_removal_is_read_from_the_newest_revision_that_declares_it(
    newest: OnRemoval | None, older: OnRemoval | None, removed: bool
) -> None:
    plan = plan_with(KEPT, IN_SYNC, declare(KEPT, on_removal=newest), declare(KEPT, on_removal=older))
    assert is_removed(plan) is removed
    assert word_on(plan).declared_by == revision(2)


# --- protection ---


@pytest.mark.parametrize("newest", [True, False])
def test_protect_of_any_revision_of_the_trail_holds_the_removal(newest: bool) -> None:
    plan = plan_with(DROPPED, IN_SYNC, declare(DROPPED, protect=newest), declare(DROPPED, protect=not newest))
    hold = action_of(plan, DROPPED).hold
    assert hold is not None
    assert hold.reason is HoldReason.PROTECT


def test_protect_of_a_revision_that_declared_it_absent_counts_too() -> None:
    plan = plan_with(DROPPED, IN_SYNC, declare(DROPPED, absent=True, protect=True), declare(DROPPED))
    hold = action_of(plan, DROPPED).hold
    assert hold is not None
    assert hold.reason is HoldReason.PROTECT


@pytest.mark.parametrize("text", ["user:u", "leaf:/etc/ssh/x.d/f"])
def test_what_is_never_removed_by_dropping_is_kept_whatever_on_removal_says(text: str) -> None:
    plan = plan_with(text, IN_SYNC, declare(text, on_removal=OnRemoval.DELETE))
    assert kept_by(plan) == (OrphanState.KEPT, "protected_class")


def test_a_hazard_of_the_removal_holds_it_and_an_old_allow_does_not_release_it() -> None:
    plan = plan_with(DROPPED, IN_SYNC, declare(DROPPED, risks=["outage"], allow=[Hazard.OUTAGE]))
    action = action_of(plan, DROPPED)
    assert action.hazards == {Hazard.OUTAGE}
    assert action.hold is not None, "a hazard needs `allow` in the target, and the target is silent"
    assert action.hold.reason is HoldReason.HAZARD
    assert "absent: true" in action.hold.release


def test_what_was_only_audited_is_kept() -> None:
    assert kept_by(plan_with(DROPPED, IN_SYNC, declare(DROPPED, audit=True))) == (OrphanState.KEPT, "audit")


# --- equality ---


def test_what_was_changed_since_is_kept() -> None:
    assert kept_by(plan_with(DROPPED, OTHER)) == (OrphanState.KEPT, "modified")


def test_equal_to_some_revision_of_the_trail_is_enough() -> None:
    plan = plan_with(DROPPED, OTHER, declare(DROPPED), declare(DROPPED, value="old"))
    assert action_of(plan, DROPPED).orphan_of == revision(2)


def test_every_enforced_field_must_be_equal() -> None:
    resource = declare(DROPPED, owner="u")
    assert is_removed(plan_with(DROPPED, Present({"value": "x", "owner": "u"}), resource))
    assert kept_by(plan_with(DROPPED, Present({"value": "x", "owner": "v"}), resource))[1] == "modified"


def test_what_was_not_enforced_is_not_compared() -> None:
    assert is_removed(plan_with(DROPPED, Present({"value": "x", "owner": "anybody"})))
    assert is_removed(plan_with(DROPPED, OTHER, declare(DROPPED, unmanaged=["value"])))
    assert is_removed(
        plan_with(DROPPED, Present({"value": "x", "owner": NotApplicable("none")}), declare(DROPPED, owner="u"))
    )


def test_what_cannot_be_compared_is_kept_and_keeps_the_trail() -> None:
    plan = plan_with(DROPPED, Present({"value": "x", "owner": HIDDEN}), declare(DROPPED, owner="u"))
    assert kept_by(plan) == (OrphanState.UNSETTLED, "unobservable")


def test_another_kind_of_thing_is_modified() -> None:
    assert kept_by(plan_with(DROPPED, Present({"kind": "folder"})))[1] == "modified"


# --- packages, and what is declared still ---


def test_what_a_package_owns_is_kept() -> None:
    plan = plan_with(DROPPED, IN_SYNC, packages={DROPPED: "nginx"})
    assert kept_by(plan) == (OrphanState.KEPT, "package_owned")
    assert "nginx" in word_on(plan).detail


def with_target(text: str, *target: Resource, seen: "Observation" = IN_SYNC, **others: Any) -> Plan:
    return plan_of(
        *target,
        seen={str(one.id): IN_SYNC for one in target if not one.absent},
        orphans={text: seen},
        trail=(declared_by(1, declare(text, on_removal=OnRemoval.DELETE)),),
        **others,
    )


@pytest.mark.parametrize("below", ["leaf:/x/y", "leaf:/x/y/z", "entry:/x#a"])
def test_what_has_something_declared_on_or_below_it_is_kept(below: str) -> None:
    plan = with_target("folder:/x", declare(below))
    assert kept_by(plan) == (OrphanState.KEPT, "declared_below")
    assert below in word_on(plan).detail
    assert f"while {below} is declared" in word_on(plan).release, "to declare it absent would contradict the target"


@pytest.mark.parametrize("beside", ["leaf:/xy", "leaf:/y/x", "fake:/x/y"])
def test_what_is_declared_beside_it_does_not_keep_it(beside: str) -> None:
    assert is_removed(with_target("folder:/x", declare(beside)))


def test_what_is_declared_absent_below_it_does_not_keep_it() -> None:
    assert is_removed(with_target("folder:/x", declare("leaf:/x/y", absent=True)))


@pytest.mark.parametrize(("other", "removed"), [("8:1/7", False), ("8:1/8", True), ("", True)])
def test_what_is_declared_by_another_spelling_is_kept(other: str, removed: bool) -> None:
    plan = plan_of(
        declare("leaf:/run/f"),
        seen={"leaf:/run/f": Present({"value": "x"}, identity=other)},
        orphans={"leaf:/var/run.d/f": Present({"value": "x"}, identity="8:1/7")},
        trail=(declared_by(1, declare("leaf:/var/run.d/f")),),
    )
    assert is_removed(plan) is removed


def test_without_an_identity_nothing_is_the_same() -> None:
    plan = plan_of(
        declare("leaf:/a"),
        seen={"leaf:/a": IN_SYNC},
        orphans={DROPPED: IN_SYNC},
        trail=(declared_by(1, declare(DROPPED)),),
    )
    assert is_removed(plan)


def test_an_entry_of_a_file_goes_though_another_of_its_type_is_still_declared() -> None:
    assert is_removed(with_target("entry:/f#a", declare("entry:/f#b")))


def test_an_entry_of_a_file_that_another_type_holds_in_part_is_kept() -> None:
    assert kept_by(with_target("entry:/f#a", declare("twin:/f#a")))[1] == "declared_below"


# --- what is not there, or not known ---


def test_what_is_not_there_is_settled() -> None:
    assert kept_by(plan_with(DROPPED, Absent())) == (OrphanState.ABSENT, "absent")


def test_what_cannot_be_looked_at_is_unsettled() -> None:
    plan = plan_with(DROPPED, HIDDEN)
    assert kept_by(plan) == (OrphanState.UNSETTLED, "unobservable")
    assert word_on(plan).detail == HIDDEN.detail


def with_sights(newest: "Observation", older: "Observation") -> PlanInput:
    trail = (declared_by(2, declare(DROPPED, value="y")), declared_by(1, declare(DROPPED)))
    base = given(ANCHOR, seen={"user:anchor": IN_SYNC}, trail=trail)
    sayings = base.orphans[rid(DROPPED)].sights
    sights = tuple(Sight(one.revision, one.node, seen) for one, seen in zip(sayings, (newest, older), strict=True))
    return evolve(base, orphans={rid(DROPPED): OrphanSight(sights)})


@pytest.mark.parametrize(
    ("newest", "older", "expected"),
    [
        (Absent(), Absent(), (OrphanState.ABSENT, "absent")),
        (Absent(), HIDDEN, (OrphanState.UNSETTLED, "unobservable")),
        (Absent(), IN_SYNC, (OrphanState.KEPT, "declared_otherwise")),
        (HIDDEN, IN_SYNC, (OrphanState.UNSETTLED, "unobservable")),
        # The newest declaration differs, and the older one cannot be compared.
        (OTHER, HIDDEN, (OrphanState.UNSETTLED, "unobservable")),
        (OTHER, Absent(), (OrphanState.KEPT, "modified")),
    ],
    ids=["gone", "gone-or-hidden", "elsewhere", "hidden", "differs-or-hidden", "differs"],
)
def test_each_declaration_is_looked_at_in_its_own_terms(
    newest: "Observation", older: "Observation", expected: tuple[OrphanState, str]
) -> None:
    assert kept_by(plan_pass(with_sights(newest, older))) == expected


def test_while_a_revision_of_the_trail_cannot_be_resolved_nothing_is_removed() -> None:
    trail = (declared_by(2, declare(DROPPED)), Unresolved(revision(1), "Its type is unknown."))
    plan = plan_of(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={DROPPED: IN_SYNC}, trail=trail)
    assert kept_by(plan) == (OrphanState.UNSETTLED, "unresolvable")
    assert "Its type is unknown." in word_on(plan).detail


@pytest.mark.parametrize("unresolved", [True, False])
def test_what_is_not_there_is_settled_whatever_the_trail(unresolved: bool) -> None:
    trail: tuple[Declaration | Unresolved, ...] = (declared_by(2, declare(DROPPED)),)
    trail += (Unresolved(revision(1), "Gone."),) if unresolved else ()
    assert kept_by(plan_of(orphans={DROPPED: Absent()}, trail=trail)) == (OrphanState.ABSENT, "absent")


def test_an_empty_manifest_removes_nothing() -> None:
    plan = plan_of(orphans={DROPPED: IN_SYNC}, trail=(declared_by(1, declare(DROPPED)),))
    assert kept_by(plan) == (OrphanState.UNSETTLED, "empty_manifest")


@pytest.mark.parametrize("sights", [True, False])
def test_a_type_whose_provider_is_gone_is_unsettled(sights: bool) -> None:
    trail = (declared_by(1, declare(DROPPED)),)
    base = given(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={DROPPED: IN_SYNC}, trail=trail)
    parts: dict[str, Any] = {"providers": {kind: one for kind, one in PROVIDERS.items() if kind != "leaf"}}
    if not sights:
        parts["orphans"] = {rid(DROPPED): OrphanSight(())}
    plan = plan_pass(evolve(base, **parts))
    assert kept_by(plan) == (OrphanState.UNSETTLED, "unresolvable")
    assert "leaf" in word_on(plan).detail
    assert word_on(plan).declared_by == revision(1)


def test_while_something_declared_is_unobservable_every_removal_is_held() -> None:
    plan = plan_of(
        ANCHOR,
        seen={"user:anchor": Unobservable(HIDDEN.cause, "No.")},
        orphans={DROPPED: IN_SYNC},
        trail=(declared_by(1, declare(DROPPED)),),
    )
    hold = action_of(plan, DROPPED).hold
    assert hold is not None
    assert hold.reason is HoldReason.UNOBSERVABLE


def test_a_removal_that_is_protected_keeps_that_reason_while_something_is_unobservable() -> None:
    plan = plan_of(
        ANCHOR,
        seen={"user:anchor": HIDDEN},
        orphans={DROPPED: IN_SYNC},
        trail=(declared_by(1, declare(DROPPED, protect=True)),),
    )
    hold = action_of(plan, DROPPED).hold
    assert hold is not None
    assert hold.reason is HoldReason.PROTECT


@pytest.mark.parametrize(
    "answers",
    [{"removal": raising}, {"removal": lambda _: "delete"}, {"plan": raising}, {"hazards": raising}],
    ids=["removal-raises", "removal-lies", "plan-raises", "hazards-raise"],
)
def test_a_provider_that_breaks_its_contract_leaves_its_orphan_unsettled(answers: dict[str, Any]) -> None:
    trail = (declared_by(1, declare("odd:/x.d/f")),)
    base = given(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={"odd:/x.d/f": IN_SYNC}, trail=trail)
    plan = plan_pass(evolve(base, providers=odd(**answers)))
    assert kept_by(plan) == (OrphanState.UNSETTLED, "unobservable")
    assert "odd" in word_on(plan).detail


def test_a_type_that_answers_never_is_believed() -> None:
    trail = (declared_by(1, declare("odd:/x.d/f")),)
    base = given(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={"odd:/x.d/f": IN_SYNC}, trail=trail)
    plan = plan_pass(evolve(base, providers=odd(removal=lambda _: Removal.NEVER)))
    assert kept_by(plan) == (OrphanState.KEPT, "protected_class")


# --- order ---


def test_deletions_come_last_in_reverse_of_the_old_graphs_order() -> None:
    older = (
        declare("entry:/f#a", requires=["entry:/f#c"]),
        declare("entry:/f#b"),
        declare("entry:/f#c", requires=["entry:/f#b"]),
    )
    plan = plan_of(
        declare("user:z"),
        orphans={str(one.id): IN_SYNC for one in older},
        trail=(declared_by(1, *older),),
    )
    assert names(plan.actions) == ["user:z", "entry:/f#a", "entry:/f#c", "entry:/f#b"]


def test_what_only_an_older_revision_declares_goes_after_what_the_newer_one_does() -> None:
    first = (declare("entry:/f#a"), declare("entry:/f#d"), declare("entry:/f#b", requires=["entry:/f#a"]))
    second = (declare("entry:/f#a", requires=["entry:/f#c"]), declare("entry:/f#c"))
    plan = plan_of(
        ANCHOR,
        seen={"user:anchor": IN_SYNC},
        orphans={str(one.id): IN_SYNC for one in (*first, *second)},
        trail=(declared_by(2, *second), declared_by(1, *first)),
    )
    assert names(plan.actions) == ["entry:/f#a", "entry:/f#c", "entry:/f#d", "entry:/f#b"]
    assert [str(word.resource) for word in plan.orphans] == ["entry:/f#a", "entry:/f#b", "entry:/f#c", "entry:/f#d"]


def test_what_a_failed_revision_created_is_removed_when_the_next_one_drops_it() -> None:
    """A converged, B failed half way, C drops what B had created: B is in the trail though it never converged."""
    a = declared_by(1, declare("leaf:/x.d/a"))
    b = declared_by(2, declare("leaf:/x.d/a"), declare("leaf:/x.d/b"))
    plan = plan_of(
        declare("leaf:/x.d/a"),
        seen={"leaf:/x.d/a": IN_SYNC},
        orphans={"leaf:/x.d/b": IN_SYNC},
        trail=(b, a),
        converged=a.nodes,
    )
    assert names(plan.actions) == ["leaf:/x.d/b"]
    assert action_of(plan, "leaf:/x.d/b").orphan_of == revision(2)
    assert action_of(plan, "leaf:/x.d/b").hold is None


def test_an_orphan_does_not_spoil_an_empty_plan_unless_it_is_removed() -> None:
    assert plan_with(KEPT, IN_SYNC).is_empty
    assert not plan_with(DROPPED, IN_SYNC).is_empty


def test_the_word_on_an_orphan_names_the_orphan() -> None:
    for plan in (
        plan_with(KEPT, IN_SYNC),
        plan_of(orphans={DROPPED: IN_SYNC}, trail=(declared_by(1, declare(DROPPED)),)),
    ):
        assert word_on(plan).resource in {ResourceId("leaf", "/x/f"), ResourceId("leaf", "/x.d/f")}


# --- what killed writes and removals left ---

LEFT = Absent({"residue": True})


def test_what_is_left_beside_the_place_of_an_orphan_goes_where_the_orphan_would() -> None:
    plan = plan_with(DROPPED, LEFT)
    action = action_of(plan, DROPPED)
    assert is_removed(plan)
    assert [(change.name, change.before, change.after) for change in action.changes] == [("residue", True, None)]
    assert "left" in word_on(plan).detail
    assert kept_by(plan_with(KEPT, LEFT)) == (OrphanState.KEPT, "default_keep")


def test_a_sweep_takes_nothing_that_is_protected_and_is_not_held_for_it() -> None:
    plan = plan_with(DROPPED, LEFT, declare(DROPPED, protect=True))
    assert action_of(plan, DROPPED).hold is None


@pytest.mark.parametrize(
    ("changes", "removed"),
    [
        ((Change("residue", before=True, after=False),), True),
        ((Change("./a", None, "line"),), True),
        ((Change("./a", None, "line"), Change("./b", "other", "line")), False),
    ],
)
def test_an_orphan_of_which_a_killed_removal_left_some_is_removed(changes: tuple[Change, ...], removed: bool) -> None:
    """What is missing cannot be lost; what differs keeps the whole."""
    providers = odd(plan=lambda *_: Step(Operation.UPDATE, changes))
    plan = plan_with("odd:/x.d/f", IN_SYNC, providers=providers)
    assert is_removed(plan) is removed


# --- moved ---


def test_what_was_moved_to_another_place_is_told_and_never_removed() -> None:
    target = declare("leaf:/y", moved=DROPPED)
    plan = plan_of(
        target,
        seen={"leaf:/y": IN_SYNC},
        orphans={DROPPED: IN_SYNC},
        trail=(declared_by(1, declare(DROPPED, on_removal=OnRemoval.DELETE)),),
    )
    assert kept_by(plan) == (OrphanState.KEPT, "moved")
    word = word_on(plan)
    assert "leaf:/y" in word.detail
    assert f"drop 'moved: {DROPPED}' and declare {DROPPED} with 'absent: true'" in word.release


def test_what_was_moved_away_from_a_place_where_nothing_is_any_more_is_absent() -> None:
    plan = plan_of(declare("leaf:/y", moved=DROPPED), trail=(declared_by(1, declare(DROPPED)),))
    assert word_on(plan).state is OrphanState.ABSENT
