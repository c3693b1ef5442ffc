"""What goes along with a deletion, a replacement, or in an exclusive directory (design 4.3, 4.4; ADR 0024)."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard, LimitClass, Limits, OnRemoval
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, HoldReason, Operation, OrphanState, Plan, Step, VerdictKind
from datum.planner.plan import plan_pass
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    PROVIDERS,
    Leaf,
    action_of,
    declare,
    declared_by,
    given,
    names,
    odd,
    plan_of,
    rid,
)

LOSS = [Hazard.DATA_LOSS]


def folder(*holds: str, **others: Any) -> Present:
    return Present({"value": "x"}, holds=holds, **others)


def in_the_way(*holds: str, **others: Any) -> Present:
    return Present({"kind": "folder"}, holds=holds, **others)


def words(plan: Plan) -> dict[str, str]:
    return {str(word.resource): word.rule for word in plan.orphans}


# --- what is declared absent, and what gives way ---


def test_a_deletion_takes_along_what_lies_below_and_that_is_a_loss() -> None:
    plan = plan_of(declare("folder:/d", absent=True), seen={"folder:/d": folder("/d/a", "/d/b")})
    action = action_of(plan, "folder:/d")
    assert action.takes == ("/d/a", "/d/b")
    assert action.hazards == {Hazard.DATA_LOSS}
    assert action.hold is not None
    assert action.hold.reason is HoldReason.HAZARD


def test_a_replacement_that_takes_something_along_is_a_loss_whatever_its_type_says() -> None:
    class Mild(Leaf):
        def hazards(self, desired: object, step: object) -> frozenset[Hazard]:
            return frozenset()

    providers = {**PROVIDERS, "leaf": Mild()}
    for holds, expected in ((("/r/a",), {Hazard.DATA_LOSS}), ((), set())):
        plan = plan_of(declare("leaf:/r"), seen={"leaf:/r": in_the_way(*holds)}, providers=providers)
        action = action_of(plan, "leaf:/r")
        assert (action.operation, action.takes) == (Operation.REPLACE, holds)
        assert action.hazards == expected


def test_what_an_exclusive_directory_clears_away_is_no_loss() -> None:
    """It says itself that nothing else stays there; the limit of removals is its brake."""
    plan = plan_of(declare("folder:/d", exclusive=True), seen={"folder:/d": folder("/d/a")})
    action = action_of(plan, "folder:/d")
    assert (action.operation, action.takes, action.hazards) == (Operation.UPDATE, ("/d/a",), frozenset())
    assert action.hold is None


def test_what_an_earlier_deletion_removes_is_not_taken_along() -> None:
    plan = plan_of(
        declare("folder:/d", absent=True),
        declare("folder:/d/e", absent=True, allow=LOSS),
        declare("leaf:/d/f", absent=True),
        seen={
            "folder:/d": folder("/d/e", "/d/e/x", "/d/f"),
            "folder:/d/e": folder("/d/e/x"),
            "leaf:/d/f": IN_SYNC,
        },
    )
    assert names(plan.actions) == ["folder:/d/e", "leaf:/d/f", "folder:/d"]
    assert [action.takes for action in plan.actions] == [("/d/e/x",), (), ()]
    action = action_of(plan, "folder:/d")
    assert (action.hazards, action.hold) == (frozenset(), None)
    assert {rid("folder:/d/e"), rid("leaf:/d/f")} <= action.requires


def test_what_is_declared_absent_in_the_way_of_a_leaf_goes_first() -> None:
    plan = plan_of(
        declare("leaf:/r", allow=LOSS),
        declare("leaf:/r/a", absent=True),
        seen={"leaf:/r": in_the_way("/r/a"), "leaf:/r/a": IN_SYNC},
    )
    assert names(plan.actions) == ["leaf:/r/a", "leaf:/r"]
    assert action_of(plan, "leaf:/r").takes == ()


def test_what_would_take_along_a_held_one_is_skipped() -> None:
    plan = plan_of(
        declare("leaf:/r", allow=LOSS),
        declare("leaf:/r/a", absent=True, protect=True),
        seen={"leaf:/r": in_the_way("/r/a"), "leaf:/r/a": IN_SYNC},
    )
    verdict = plan.verdicts[rid("leaf:/r")]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid("leaf:/r/a"))
    assert "take along" in verdict.detail


def test_a_part_of_a_file_that_goes_takes_the_file_from_nobody() -> None:
    plan = plan_of(
        declare("folder:/d", absent=True, allow=LOSS),
        declare("entry:/d/f#k", absent=True),
        seen={"folder:/d": folder("/d/f"), "entry:/d/f#k": IN_SYNC},
    )
    assert action_of(plan, "folder:/d").takes == ("/d/f",)


@pytest.mark.parametrize(
    ("text", "absent", "seen"),
    [
        ("folder:/d", True, folder("/d/m", mounts=("/d/m",))),
        ("leaf:/d", False, in_the_way("/d/m", mounts=("/d/m",))),
    ],
)
def test_what_something_is_mounted_on_is_neither_deleted_nor_replaced(text: str, absent: bool, seen: Present) -> None:
    plan = plan_of(declare(text, absent=absent, allow=LOSS), declare("fake:x", requires=[text]), seen={text: seen})
    verdict = plan.verdicts[rid(text)]
    assert verdict.kind is VerdictKind.IMPOSSIBLE
    assert verdict.detail == "Something is mounted on /d/m. Nothing that comes before it in this plan unmounts it."
    assert plan.verdicts[rid("fake:x")].blocked_by == rid(text)


def test_what_is_updated_may_have_mounts() -> None:
    seen = Present({"value": "old"}, mounts=("/d",))
    assert action_of(plan_of(declare("folder:/d"), seen={"folder:/d": seen}), "folder:/d").hold is None


def test_what_the_trail_protects_is_not_taken_along() -> None:
    trail = (declared_by(1, declare("leaf:/d/e/key", protect=True), declare("fake:key", protect=True)),)
    plan = plan_of(
        declare("folder:/d", exclusive=True),
        seen={"folder:/d": folder("/d/a", "/d/e", "/d/e/key")},
        trail=trail,
        orphans={"leaf:/d/e/key": IN_SYNC},
    )
    assert words(plan)["leaf:/d/e/key"] == "default_keep"
    hold = action_of(plan, "folder:/d").hold
    assert hold is not None
    assert hold.reason is HoldReason.PROTECT
    assert "leaf:/d/e/key" in hold.detail


def test_while_something_is_unobservable_nothing_is_taken_along() -> None:
    plan = plan_of(
        declare("folder:/d", exclusive=True),
        declare("folder:/e", exclusive=True, value="new"),
        declare("fake:x"),
        seen={"folder:/d": folder("/d/a"), "folder:/e": folder(), "fake:x": HIDDEN},
    )
    hold = action_of(plan, "folder:/d").hold
    assert hold is not None
    assert hold.reason is HoldReason.UNOBSERVABLE
    assert action_of(plan, "folder:/e").hold is None


def replaced(desired: Any, observed: Present | Absent, takes: Any) -> Step:
    step = Leaf().plan(desired, observed)
    assert step is not None
    return evolve(step, takes=takes)


@pytest.mark.parametrize("takes", [("/d/b", "/d/a"), ("/d/a", "/d/a"), (1,), ["/d/a"]])
def test_paths_that_are_not_sorted_texts_are_a_breach(takes: Any) -> None:
    def plan(desired: Any, observed: Present | Absent) -> Any:
        return replaced(desired, observed, takes)

    made = plan_of(declare("odd:/d"), seen={"odd:/d": Present({"kind": "folder"})}, providers=odd(plan=plan))
    assert "plan answered" in made.verdicts[rid("odd:/d")].detail
    assert made.verdicts[rid("odd:/d")].kind is VerdictKind.UNOBSERVABLE


def test_what_is_made_may_take_something_along() -> None:
    """A package whose installation removes another one: a removal that counts, and waits as every removal does."""

    def plan(desired: Any, observed: Present | Absent) -> Any:
        return Step(Operation.CREATE, (Change("value", None, "x"),), takes=("package:a", "package:b"))

    parts: dict[str, Any] = {"providers": odd(plan=plan)}
    made = action_of(plan_of(declare("odd:/d"), **parts), "odd:/d")
    assert (made.takes, made.hold) == (("package:a", "package:b"), None)
    hold = action_of(plan_of(declare("odd:/d"), limits=Limits(package_removals=1), **parts), "odd:/d").hold
    assert hold is not None
    assert (hold.reason, hold.limit) == (HoldReason.LIMIT, LimitClass.PACKAGE_REMOVALS)
    other = action_of(plan_of(declare("odd:/d"), limits=Limits(1), **parts), "odd:/d")
    assert other.hold is None, "packages are counted in a class of their own"
    waiting = plan_of(declare("odd:/d"), declare("fake:z"), seen={"fake:z": HIDDEN}, **parts)
    hold = action_of(waiting, "odd:/d").hold
    assert hold is not None
    assert hold.reason is HoldReason.UNOBSERVABLE


# --- what keeps something from being removed ---

ESSENTIAL = "It is an essential package."


@pytest.mark.parametrize(
    ("resource", "seen"),
    [
        (declare("user:u", absent=True), Present({"value": "x"}, obstacles=(ESSENTIAL, "More."))),
        (declare("leaf:/r", allow=LOSS), Present({"kind": "folder"}, obstacles=(ESSENTIAL, "More."))),
    ],
)
def test_what_cannot_be_removed_is_impossible_in_its_own_words(resource: Any, seen: Present) -> None:
    plan = plan_of(resource, seen={str(resource.id): seen})
    verdict = plan.verdicts[resource.id]
    assert (verdict.kind, verdict.detail) == (VerdictKind.IMPOSSIBLE, ESSENTIAL)


def test_what_cannot_be_removed_may_be_updated() -> None:
    seen = Present({"value": "old"}, obstacles=(ESSENTIAL,))
    assert action_of(plan_of(declare("user:u"), seen={"user:u": seen}), "user:u").operation is Operation.UPDATE


def test_an_orphan_that_cannot_be_removed_is_kept_in_its_own_words() -> None:
    plan = dropping({"leaf:/x.d/f": Present({"value": "x"}, obstacles=(ESSENTIAL,))}, declare("leaf:/x.d/f"))
    assert [(word.rule, word.state, word.detail) for word in plan.orphans] == [
        ("obstacle", OrphanState.KEPT, ESSENTIAL)
    ]


# --- packages that go along ---


def with_others(*holds: str) -> Present:
    return Present({"value": "x"}, holds=holds)


def test_a_package_that_goes_by_a_deletion_of_its_own_is_not_taken_along() -> None:
    gone = [declare("package:a", absent=True), declare("package:b", absent=True, allow=LOSS)]
    seen = {"package:a": with_others(), "package:b": with_others("package:a", "package:c")}
    plan = plan_of(*gone, seen=seen)
    assert action_of(plan, "package:b").takes == ("package:c",)
    assert rid("package:a") in action_of(plan, "package:b").requires


def test_a_package_does_not_go_along_where_a_revision_protects_it() -> None:
    trail = (declared_by(1, declare("package:c", protect=True), declare("user:c", protect=True)),)
    resource = declare("package:b", absent=True, allow=LOSS)
    for taken, is_held in (("package:c", True), ("package:d", False), ("/c", False)):
        plan = plan_of(resource, seen={"package:b": with_others(taken)}, trail=trail)
        hold = action_of(plan, "package:b").hold
        assert (hold is not None and hold.reason is HoldReason.PROTECT) is is_held


def test_an_orphan_package_that_goes_along_is_not_said_to_be_kept() -> None:
    trail = (declared_by(1, declare("package:c"), declare("user:c")),)
    plan = plan_of(
        declare("package:b", absent=True, allow=LOSS),
        seen={"package:b": with_others("package:c")},
        orphans={"package:c": IN_SYNC, "user:c": IN_SYNC},
        trail=trail,
    )
    assert words(plan) == {"package:c": "taken_along", "user:c": "protected_class"}


# --- orphans ---

ANCHOR = declare("user:anchor")
TRAIL = (declared_by(1, declare("leaf:/x.d/f")),)
DROP: dict[str, Any] = {"on_removal": OnRemoval.DELETE}


def dropping(orphans: dict[str, Observation], *older: Any, target: Any = (ANCHOR,), **others: Any) -> Plan:
    trail = others.pop("trail", (declared_by(1, *older),))
    return plan_of(*target, orphans=orphans, trail=trail, **{"seen": {"user:anchor": IN_SYNC}, **others})


def test_a_directory_and_what_lies_in_it_dropped_in_one_revision_go_in_one_pass_the_file_first() -> None:
    plan = dropping(
        {"folder:/etc/app": folder("/etc/app/a"), "leaf:/etc/app/a": IN_SYNC},
        declare("folder:/etc/app", **DROP),
        declare("leaf:/etc/app/a", **DROP),
    )
    assert words(plan) == {"folder:/etc/app": "removable", "leaf:/etc/app/a": "removable"}
    assert names(plan.actions) == ["leaf:/etc/app/a", "folder:/etc/app"]
    parent = action_of(plan, "folder:/etc/app")
    assert (parent.takes, parent.hold) == ((), None)
    assert parent.requires == {rid("leaf:/etc/app/a")}


def test_the_file_goes_first_also_where_an_older_revision_declares_it_alone() -> None:
    trail = (
        declared_by(2, declare("folder:/etc/app", **DROP), declare("leaf:/z", **DROP)),
        declared_by(1, declare("folder:/etc/app", **DROP), declare("leaf:/etc/app/a", **DROP)),
    )
    seen: dict[str, Observation] = {
        "folder:/etc/app": folder("/etc/app/a"),
        "leaf:/etc/app/a": IN_SYNC,
        "leaf:/z": IN_SYNC,
    }
    assert names(dropping(seen, trail=trail).actions) == ["leaf:/z", "leaf:/etc/app/a", "folder:/etc/app"]


def test_a_directory_stays_where_something_in_it_stays() -> None:
    plan = dropping(
        {"folder:/etc/app": folder("/etc/app/a", "/etc/app/b"), "leaf:/etc/app/a": IN_SYNC},
        declare("folder:/etc/app", **DROP),
        declare("leaf:/etc/app/a", **DROP),
    )
    assert words(plan) == {"folder:/etc/app": "holds_data", "leaf:/etc/app/a": "removable"}
    (word,) = (one for one in plan.orphans if one.state is OrphanState.KEPT)
    assert word.detail.endswith(": /etc/app/b.")
    assert word.release


def test_of_much_that_stays_the_first_are_named() -> None:
    plan = dropping({"folder:/d": folder(*(f"/d/{n}" for n in range(9)))}, declare("folder:/d", **DROP))
    assert plan.orphans[0].detail.endswith(": /d/0, /d/1, /d/2, /d/3, /d/4 and 4 more.")


def test_a_directory_on_or_in_which_something_is_mounted_stays() -> None:
    plan = dropping({"folder:/d": folder("/d/m", mounts=("/d/m",))}, declare("folder:/d", **DROP))
    assert words(plan) == {"folder:/d": "holds_mount"}
    assert "/d/m" in plan.orphans[0].detail
    assert plan.actions == ()


def test_a_dropped_directory_goes_with_what_the_target_declares_absent_in_it() -> None:
    plan = dropping(
        {"folder:/d": folder("/d/a")},
        declare("folder:/d", **DROP),
        target=(ANCHOR, declare("leaf:/d/a", absent=True)),
        seen={"user:anchor": IN_SYNC, "leaf:/d/a": IN_SYNC},
    )
    assert names(plan.actions) == ["leaf:/d/a", "folder:/d"]
    assert action_of(plan, "folder:/d").requires == {rid("leaf:/d/a")}


def test_what_is_dropped_below_something_that_gives_way_goes_first_and_is_no_loss() -> None:
    class Mild(Leaf):
        def hazards(self, desired: object, step: object) -> frozenset[Hazard]:
            return frozenset()

    plan = dropping(
        {
            "leaf:/r/x.d/f": IN_SYNC,
            "leaf:/r/x.d/g": IN_SYNC,
            "folder:/r/x.d": folder("/r/x.d/f"),
            "leaf:/q.d/f": IN_SYNC,
        },
        declare("leaf:/r/x.d/f"),
        declare("leaf:/r/x.d/g"),
        declare("folder:/r/x.d", **DROP),
        declare("leaf:/q.d/f"),
        target=(declare("fake:a"), declare("leaf:/r"), declare("user:z")),
        seen={"leaf:/r": in_the_way("/r/x.d", "/r/x.d/f")},
        providers={**PROVIDERS, "leaf": Mild()},
    )
    assert names(plan.actions) == [
        *("fake:a", "leaf:/r/x.d/f", "folder:/r/x.d", "leaf:/r", "user:z"),
        *("leaf:/r/x.d/g", "leaf:/q.d/f"),
    ]
    replaced = action_of(plan, "leaf:/r")
    assert (replaced.takes, replaced.hazards, replaced.hold) == ((), frozenset(), None)
    assert replaced.requires == {rid("leaf:/r/x.d/f"), rid("folder:/r/x.d")}


def test_what_is_dropped_below_a_declared_deletion_goes_first() -> None:
    plan = dropping(
        {"leaf:/d/x.d/f": IN_SYNC},
        declare("leaf:/d/x.d/f"),
        target=(declare("folder:/d", absent=True, allow=LOSS), declare("user:z")),
        seen={"folder:/d": folder("/d/x.d", "/d/x.d/f")},
    )
    assert names(plan.actions) == ["leaf:/d/x.d/f", "folder:/d", "user:z"]
    assert action_of(plan, "folder:/d").takes == ("/d/x.d",)


def test_what_is_dropped_in_an_exclusive_directory_goes_by_its_own_rules_first() -> None:
    plan = dropping(
        {"leaf:/x.d/f": IN_SYNC},
        declare("leaf:/x.d/f"),
        target=(declare("folder:/x.d", exclusive=True),),
        seen={"folder:/x.d": folder("/x.d/f", "/x.d/g")},
    )
    assert names(plan.actions) == ["leaf:/x.d/f", "folder:/x.d"]
    assert action_of(plan, "folder:/x.d").takes == ("/x.d/g",)
    assert [change.name for change in action_of(plan, "folder:/x.d").changes] == ["./g"]


def test_an_exclusive_directory_has_nothing_to_do_where_all_of_it_goes_by_its_own_rules() -> None:
    plan = dropping(
        {"leaf:/x.d/f": IN_SYNC},
        declare("leaf:/x.d/f"),
        target=(declare("folder:/x.d", exclusive=True),),
        seen={"folder:/x.d": folder("/x.d/f")},
    )
    assert names(plan.actions) == ["leaf:/x.d/f"]
    assert plan.verdicts[rid("folder:/x.d")].kind is VerdictKind.IN_SYNC


def test_what_is_kept_elsewhere_goes_where_the_target_wants_the_directory_to_itself() -> None:
    plan = dropping(
        {"leaf:/d/f": IN_SYNC},
        declare("leaf:/d/f"),
        target=(declare("folder:/d", exclusive=True),),
        seen={"folder:/d": folder("/d/f")},
    )
    assert names(plan.actions) == ["leaf:/d/f"]
    kept = dropping(
        {"leaf:/d/f": IN_SYNC},
        declare("leaf:/d/f"),
        target=(declare("folder:/d"),),
        seen={"folder:/d": folder("/d/f")},
    )
    assert words(kept) == {"leaf:/d/f": "default_keep"}


def test_an_exclusive_directory_is_not_in_sync_while_what_it_would_clear_is_held() -> None:
    plan = dropping(
        {"leaf:/x.d/f": IN_SYNC},
        declare("leaf:/x.d/f", protect=True),
        target=(declare("folder:/x.d", exclusive=True),),
        seen={"folder:/x.d": folder("/x.d/f")},
    )
    assert plan.verdicts[rid("folder:/x.d")].kind is VerdictKind.SKIPPED


def test_what_would_take_along_a_held_orphan_is_skipped() -> None:
    plan = dropping(
        {"leaf:/r/x.d/f": IN_SYNC},
        declare("leaf:/r/x.d/f", protect=True),
        target=(declare("leaf:/r", allow=LOSS), declare("user:z", requires=["leaf:/r"])),
        seen={"leaf:/r": in_the_way("/r/x.d/f")},
    )
    assert names(plan.actions) == ["leaf:/r/x.d/f"]
    for text in ("leaf:/r", "user:z"):
        assert plan.verdicts[rid(text)].blocked_by == rid("leaf:/r/x.d/f")


def test_deletions_stand_before_the_whole_transaction_of_what_leans_on_them() -> None:
    plan = dropping(
        {"leaf:/r/x.d/f": IN_SYNC},
        declare("leaf:/r/x.d/f"),
        target=(
            declare("page:/a"),
            declare("page:/r", allow=LOSS),
            declare("page:/z"),
            declare("judge:n", guards=["page:/a", "page:/r", "page:/z"]),
        ),
        seen={"page:/r": in_the_way("/r/x.d/f")},
    )
    assert names(plan.actions) == ["leaf:/r/x.d/f", "page:/a", "page:/r", "page:/z"]


def test_an_orphan_that_many_directories_hold_is_one_action() -> None:
    plan = dropping(
        {"folder:/d": folder("/d/e", "/d/e/f"), "folder:/d/e": folder("/d/e/f"), "leaf:/d/e/f": IN_SYNC},
        *(declare(text, **DROP) for text in ("folder:/d", "folder:/d/e", "leaf:/d/e/f")),
    )
    assert names(plan.actions) == ["leaf:/d/e/f", "folder:/d/e", "folder:/d"]


def test_an_orphan_that_an_edit_shares_below_a_dropped_directory_keeps_it() -> None:
    """The part goes, the file that it was part of stays."""
    plan = dropping(
        {"folder:/d": folder("/d/f"), "entry:/d/f#k": IN_SYNC},
        declare("folder:/d", **DROP),
        declare("entry:/d/f#k"),
    )
    assert words(plan) == {"folder:/d": "holds_data", "entry:/d/f#k": "removable"}


def test_while_it_is_not_known_whether_a_package_owns_it_nothing_is_removed() -> None:
    start = given(ANCHOR, seen={"user:anchor": IN_SYNC}, orphans={"leaf:/x.d/f": IN_SYNC}, trail=TRAIL)
    sight = start.orphans[rid("leaf:/x.d/f")]
    unknown = evolve(sight, package_unknown="The database of packages cannot be read.")
    plan = plan_pass(evolve(start, orphans={rid("leaf:/x.d/f"): unknown}))
    assert [(word.state, word.detail) for word in plan.orphans] == [
        (OrphanState.UNSETTLED, "The database of packages cannot be read.")
    ]
    assert plan.actions == ()


def test_an_orphan_of_another_space_than_paths_goes_by_its_targets() -> None:
    plan = dropping({"fake:gone": IN_SYNC}, declare("fake:gone", **DROP))
    assert names(plan.actions) == ["fake:gone"]
