"""The plan of one pass (design 1.2, 1.3): actions, verdicts, what spreads and what does not, needs and effects."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.graph import SAFE_FOLDER, Target
from datum.model.observation import (
    Absent,
    Cause,
    NotApplicable,
    Observation,
    Present,
    Unobservable,
    UnsafeFolder,
)
from datum.model.plan import Change, Effect, Operation, Plan, Step, VerdictKind
from datum.planner.plan import plan_pass
from tests.unit.fakes import (
    HIDDEN,
    IN_SYNC,
    OTHER,
    PROVIDERS,
    Folder,
    Package,
    Want,
    action_of,
    at,
    declare,
    given,
    names,
    odd,
    plan_of,
    raising,
    rid,
    target_of,
)

NO_OWNER = Absent({"owner_known": False})


def verdict_of(plan: Plan, text: str) -> tuple[VerdictKind, str]:
    found = plan.verdicts[rid(text)]
    return found.kind, str(found.blocked_by or "")


def skipped_by(text: str) -> tuple[VerdictKind, str]:
    return VerdictKind.SKIPPED, text


# --- actions ---


def test_what_is_in_sync_needs_no_action() -> None:
    plan = plan_of(declare("fake:a"), declare("user:b", absent=True), seen={"fake:a": IN_SYNC})
    assert plan.is_empty
    assert plan.actions == ()
    assert set(plan.verdicts) == {rid("fake:a"), rid("user:b")}


def test_a_plan_of_nothing_is_empty() -> None:
    assert plan_of().is_empty


def test_what_is_absent_is_created() -> None:
    action = action_of(plan_of(declare("leaf:/a", 7)), "leaf:/a")
    assert action.operation is Operation.CREATE
    assert action.changes == (Change("kind", None, "leaf"), Change("value", None, "x"))
    assert (action.provider, action.location, action.hold) == ("leaf 1", at(7), None)


def test_what_differs_is_updated_from_what_it_is() -> None:
    action = action_of(plan_of(declare("fake:a"), seen={"fake:a": OTHER}), "fake:a")
    assert (action.operation, action.changes) == (Operation.UPDATE, (Change("value", "old", "x"),))


def test_what_shall_be_absent_and_is_there_is_deleted_field_by_field() -> None:
    seen = Present({"value": "old", "owner": HIDDEN, "mode": NotApplicable("no modes"), "kind": "fake"})
    action = action_of(plan_of(declare("fake:a", absent=True), seen={"fake:a": seen}), "fake:a")
    assert action.operation is Operation.DELETE
    assert action.changes == (Change("kind", "fake", None), Change("value", "old", None))


def test_an_unmanaged_field_is_not_written() -> None:
    plan = plan_of(
        declare("fake:a", unmanaged=["value"], owner="u"), seen={"fake:a": Present({"value": "old", "owner": "v"})}
    )
    assert action_of(plan, "fake:a").changes == (Change("owner", "v", "u"),)


@pytest.mark.parametrize("unknown", [HIDDEN, NotApplicable("no owners")])
def test_a_field_that_is_unknown_or_not_applicable_is_not_written(unknown: Unobservable | NotApplicable) -> None:
    seen: dict[str, Observation] = {"fake:a": Present({"value": "x", "owner": unknown})}
    assert plan_of(declare("fake:a", owner="u"), seen=seen).is_empty
    seen = {"fake:a": Present({"value": "old", "owner": unknown})}
    assert action_of(plan_of(declare("fake:a", owner="u"), seen=seen), "fake:a").changes == (
        Change("value", "old", "x"),
    )


def test_when_a_resource_is_created_every_field_is_written() -> None:
    plan = plan_of(declare("fake:a", owner="u"), seen={"fake:a": Absent({"owner": HIDDEN})})
    assert [change.name for change in action_of(plan, "fake:a").changes] == ["kind", "value", "owner"]


def test_every_resource_has_either_an_action_or_a_verdict() -> None:
    plan = plan_of(
        declare("fake:a"),
        declare("fake:b"),
        declare("fake:c"),
        declare("fake:d", requires=["fake:c"]),
        seen={"fake:a": IN_SYNC, "fake:c": HIDDEN},
    )
    assert names(plan.actions) == ["fake:b"]
    assert {str(origin) for origin in plan.verdicts} == {"fake:a", "fake:c", "fake:d"}


def test_actions_stand_in_the_order_of_the_graph() -> None:
    plan = plan_of(declare("leaf:/d/f", owner="u"), declare("folder:/d", after=["user:u"]), declare("user:u"))
    assert names(plan.actions) == ["user:u", "folder:/d", "leaf:/d/f"]


def test_an_action_knows_whose_failure_skips_it() -> None:
    plan = plan_of(
        declare("fake:a", requires=["fake:b"], after=["fake:d"]),
        declare("fake:b", requires=["fake:c"]),
        declare("fake:c"),
        declare("fake:d"),
        seen={"fake:c": IN_SYNC},
    )
    assert action_of(plan, "fake:a").requires == {rid("fake:b"), rid("fake:c")}


# --- unobservable ---


def test_what_cannot_be_looked_at_gets_no_action() -> None:
    plan = plan_of(declare("fake:a"), declare("fake:b", absent=True), seen={"fake:a": HIDDEN, "fake:b": HIDDEN})
    assert plan.actions == ()
    assert plan.verdicts[rid("fake:a")].unobservable == HIDDEN
    assert not plan.is_empty


def test_what_requires_something_unobservable_is_skipped_naming_it_if_it_has_something_to_do() -> None:
    plan = plan_of(
        declare("fake:a"),
        declare("fake:b", requires=["fake:a"]),
        declare("fake:c", requires=["fake:b"]),
        declare("fake:d", requires=["fake:c"]),
        seen={"fake:a": HIDDEN, "fake:b": OTHER, "fake:c": IN_SYNC},
    )
    assert plan.actions == ()
    assert verdict_of(plan, "fake:b") == skipped_by("fake:a")
    assert verdict_of(plan, "fake:c") == (VerdictKind.IN_SYNC, "")
    assert verdict_of(plan, "fake:d") == skipped_by("fake:a")
    skipped = plan.verdicts[rid("fake:b")].step
    assert skipped is not None
    assert skipped.operation is Operation.UPDATE


def test_an_implicit_edge_spreads_as_a_declared_one() -> None:
    plan = plan_of(declare("folder:/d"), declare("leaf:/d/f"), seen={"folder:/d": HIDDEN})
    assert verdict_of(plan, "leaf:/d/f") == skipped_by("folder:/d")


def test_after_alone_does_not_spread() -> None:
    plan = plan_of(declare("fake:a"), declare("fake:b", after=["fake:a"]), seen={"fake:a": HIDDEN})
    assert names(plan.actions) == ["fake:b"]


def test_one_unknown_never_blocks_an_unrelated_branch() -> None:
    plan = plan_of(
        declare("fake:a"),
        declare("fake:b", requires=["fake:a"]),
        declare("fake:c", after=["fake:b"]),
        declare("fake:d", requires=["fake:c"]),
        declare("leaf:/x", needs=["user:nobody"]),
        seen={"fake:a": HIDDEN},
    )
    assert names(plan.actions) == ["fake:c", "fake:d"]


def test_something_that_is_not_applicable_blocks_nothing() -> None:
    seen = {"fake:a": Present({"value": NotApplicable("no manager")})}
    plan = plan_of(declare("fake:a"), declare("fake:b", requires=["fake:a"]), seen=seen)
    assert verdict_of(plan, "fake:a") == (VerdictKind.IN_SYNC, "")
    assert names(plan.actions) == ["fake:b"]


# --- needs and effects ---


def test_a_need_that_an_earlier_action_meets_is_known_after_it() -> None:
    plan = plan_of(declare("leaf:/f", owner="u"), declare("user:u"), seen={"leaf:/f": NO_OWNER})
    action = action_of(plan, "leaf:/f")
    assert action.known_after == (rid("user:u"),)
    assert rid("user:u") in action.requires


def test_what_a_package_may_make_counts_as_well() -> None:
    plan = plan_of(
        declare("leaf:/f", owner="u", after=["package:p"]),
        declare("package:p", may_make=["user:u"]),
        seen={"leaf:/f": NO_OWNER},
    )
    action = action_of(plan, "leaf:/f")
    assert action.known_after == (rid("package:p"),)
    assert rid("package:p") in action.requires, "if the package fails the file is skipped"


def test_what_makes_a_thing_for_certain_is_preferred_to_what_only_may() -> None:
    plan = plan_of(
        declare("leaf:/f", needs=["user:u"], after=["fake:p", "fake:q"]),
        declare("fake:p", may_make=["user:u"]),
        declare("fake:q", makes=["user:u"]),
    )
    assert action_of(plan, "leaf:/f").known_after == (rid("fake:q"),)


def test_what_nothing_can_provide_is_impossible_and_spreads() -> None:
    plan = plan_of(
        declare("leaf:/f", 5, owner="u"),
        declare("leaf:/g", requires=["leaf:/f"]),
        declare("leaf:/h"),
        seen={"leaf:/f": NO_OWNER},
    )
    assert verdict_of(plan, "leaf:/f") == (VerdictKind.IMPOSSIBLE, "")
    found = plan.verdicts[rid("leaf:/f")]
    assert "There is no user u." in found.detail
    assert found.location == at(5)
    assert found.step is not None
    assert verdict_of(plan, "leaf:/g") == skipped_by("leaf:/f")
    assert names(plan.actions) == ["leaf:/h"]
    assert not plan.is_empty


def test_what_comes_later_provides_nothing() -> None:
    plan = plan_of(declare("fake:a", needs=["user:u"]), declare("fake:b", makes=["user:u"]))
    assert verdict_of(plan, "fake:a")[0] is VerdictKind.IMPOSSIBLE


def test_a_resource_does_not_meet_its_own_need() -> None:
    plan = plan_of(declare("fake:a", needs=["user:u"], makes=["user:u"]))
    assert verdict_of(plan, "fake:a")[0] is VerdictKind.IMPOSSIBLE


def test_every_need_must_be_met() -> None:
    plan = plan_of(declare("fake:b", needs=["user:u", "user:v"], after=["fake:a"]), declare("fake:a", makes=["user:u"]))
    assert verdict_of(plan, "fake:b")[0] is VerdictKind.IMPOSSIBLE
    assert "user v" in plan.verdicts[rid("fake:b")].detail


def test_needs_of_several_resources_are_known_after_each() -> None:
    plan = plan_of(
        declare("fake:c", needs=["user:v", "user:u", "user:u"], after=["fake:a", "fake:b"]),
        declare("fake:a", makes=["user:v"]),
        declare("fake:b", makes=["user:u"]),
    )
    assert action_of(plan, "fake:c").known_after == (rid("fake:a"), rid("fake:b"))


@pytest.mark.parametrize("effect", ["makes", "may_make"])
def test_what_a_skipped_resource_would_make_is_skipped_and_not_impossible(effect: str) -> None:
    said: dict[str, Any] = {effect: ["user:u"]}
    plan = plan_of(
        declare("fake:a"),
        declare("fake:b", requires=["fake:a"], **said),
        declare("fake:c", needs=["user:u"], after=["fake:b"]),
        seen={"fake:a": HIDDEN},
    )
    assert verdict_of(plan, "fake:c") == skipped_by("fake:a")


def test_what_a_held_resource_would_make_is_skipped_by_it() -> None:
    plan = plan_of(
        declare("fake:b", makes=["user:u"], audit=True), declare("fake:c", needs=["user:u"], after=["fake:b"])
    )
    assert verdict_of(plan, "fake:c") == skipped_by("fake:b")


def test_of_two_that_make_a_thing_one_that_is_not_blocked_is_enough() -> None:
    plan = plan_of(
        declare("fake:a", makes=["user:u"], audit=True),
        declare("fake:b", may_make=["user:u"]),
        declare("fake:c", needs=["user:u"], after=["fake:a", "fake:b"]),
    )
    assert action_of(plan, "fake:c").known_after == (rid("fake:b"),)


def test_a_deletion_makes_nothing() -> None:
    seen = {"odd:/a": IN_SYNC}
    made = odd(effects=lambda _desired, _step: (Effect(target_of("user:u")),))
    plan = plan_of(
        declare("odd:/a", absent=True), declare("user:b", needs=["user:u"], after=["odd:/a"]), seen=seen, providers=made
    )
    assert verdict_of(plan, "user:b")[0] is VerdictKind.IMPOSSIBLE


def test_what_a_resource_that_is_in_sync_would_make_is_not_in_this_plan() -> None:
    plan = plan_of(
        declare("fake:a", makes=["user:u"]),
        declare("fake:b", needs=["user:u"], after=["fake:a"]),
        seen={"fake:a": IN_SYNC},
    )
    assert verdict_of(plan, "fake:b")[0] is VerdictKind.IMPOSSIBLE


# --- transactions ---


def test_adjacent_actions_of_one_key_share_a_transaction() -> None:
    plan = plan_of(
        declare("package:alone"),
        declare("package:p"),
        declare("package:q"),
        declare("fake:a"),
        seen={"package:q": OTHER},
    )
    assert {str(action.resource): action.transaction for action in plan.actions} == {
        "fake:a": "",
        "package:alone": "",
        "package:p": "package/apt",
        "package:q": "package/apt",
    }


def test_a_deletion_is_staged_like_every_other_step() -> None:
    plan = plan_of(declare("package:p", absent=True), seen={"package:p": IN_SYNC})
    assert action_of(plan, "package:p").transaction == "package/apt"


# --- providers that raise or lie ---

_CHANGE = Change("value", "a", "b")
_UPDATE = Step(Operation.UPDATE, (_CHANGE,))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"plan": raising}, "plan raised RuntimeError"),
        ({"effects": raising}, "effects raised RuntimeError"),
        ({"hazards": raising}, "hazards raised RuntimeError"),
        ({"effects": lambda *_: None}, "effects raised TypeError"),
        ({"effects": lambda *_: ("user:u",)}, "effects answered 'user:u'"),
        ({"hazards": lambda *_: None}, "hazards raised TypeError"),
        ({"hazards": lambda *_: {"loss"}}, "hazards answered 'loss'"),
        ({"plan": lambda *_: "update"}, "plan answered str"),
        ({"plan": lambda *_: Step(Operation.UPDATE, ())}, "changes nothing"),
        ({"plan": lambda *_: Step(Operation.UPDATE, (Change("value", "a", "a"),))}, "changes nothing"),
        ({"plan": lambda *_: Step(Operation.UPDATE, (_CHANGE, Change("value", "c", "d")))}, "two changes of one field"),
        ({"plan": lambda *_: Step(Operation.UPDATE, (Change("value", "a", float("nan")),))}, "JSON cannot carry"),
        ({"plan": lambda *_: Step(Operation.UPDATE, (Change("value", 2**53, "b"),))}, "JSON cannot carry"),
        ({"plan": lambda *_: Step(Operation.CREATE, (_CHANGE,))}, "although something is there"),
        ({"plan": lambda *_: Step(Operation.DELETE, (_CHANGE,))}, "only the engine plans"),
    ],
    ids=[
        "plan-raises",
        "effects-raise",
        "hazards-raise",
        "no-effects",
        "texts-for-effects",
        "no-hazards",
        "texts-for-hazards",
        "text-for-step",
        "no-changes",
        "same-before-and-after",
        "one-field-twice",
        "nan",
        "beyond-json",
        "create-of-what-is-there",
        "delete",
    ],
)
def test_a_provider_that_breaks_its_contract_makes_its_resource_unobservable(answers: object, words: str) -> None:
    assert isinstance(answers, dict)
    plan = plan_of(
        declare("odd:/a"),
        declare("user:b", requires=["odd:/a"]),
        declare("user:c"),
        seen={"odd:/a": OTHER},
        providers=odd(**answers),
    )
    found = plan.verdicts[rid("odd:/a")].unobservable
    assert found is not None
    assert found.cause is Cause.BREACH
    assert words in found.detail
    assert "'odd'" in found.detail
    assert found.discounted
    assert verdict_of(plan, "user:b") == skipped_by("odd:/a")
    assert names(plan.actions) == ["user:c"]


def test_an_update_of_what_is_absent_is_a_breach() -> None:
    plan = plan_of(declare("odd:/a"), providers=odd(plan=lambda *_: _UPDATE))
    assert "although nothing is there" in plan.verdicts[rid("odd:/a")].detail


@pytest.mark.parametrize(
    ("changes", "needs"),
    [(("value",), ()), ((_CHANGE,), ("user:u",))],
    ids=["text-for-change", "text-for-need"],
)
def test_parts_of_a_step_of_another_kind_are_a_breach(changes: object, needs: object) -> None:
    step = Step(Operation.UPDATE, changes, needs)  # type: ignore[arg-type]  # what the test is about
    plan = plan_of(declare("odd:/a"), seen={"odd:/a": OTHER}, providers=odd(plan=lambda *_: step))
    assert verdict_of(plan, "odd:/a")[0] is VerdictKind.UNOBSERVABLE


@pytest.mark.parametrize("answer", [raising, lambda *_: 7], ids=["raises", "number"])
def test_a_transaction_that_is_no_key_is_a_breach(answer: object) -> None:
    torn = Package()
    torn.__dict__["transaction"] = answer
    plan = plan_of(declare("package:p"), providers={**PROVIDERS, "package": torn})
    assert "transaction" in plan.verdicts[rid("package:p")].detail
    assert plan.actions == ()


def test_a_breach_while_planning_holds_all_removals() -> None:
    plan = plan_of(
        declare("odd:/a"), declare("fake:b", absent=True), seen={"fake:b": IN_SYNC}, providers=odd(plan=raising)
    )
    assert action_of(plan, "fake:b").hold is not None


# --- determinism ---


def test_equal_inputs_give_an_equal_plan() -> None:
    def make() -> Plan:
        return plan_pass(
            given(
                declare("leaf:/d/f", owner="u"),
                declare("folder:/d"),
                declare("user:u"),
                declare("fake:z", absent=True),
                seen={"leaf:/d/f": NO_OWNER, "fake:z": OTHER},
            )
        )

    assert make() == make()
    assert make().plan_id == make().plan_id


def test_a_target_is_met_whether_or_not_it_is_shared() -> None:
    assert Target("path", "/f", shared=True) == Target("path", "/f")
    plan = plan_of(declare("entry:/f#a", needs=["path:/f"], after=["fake:m"]), declare("fake:m", makes=["path:/f"]))
    assert action_of(plan, "entry:/f#a").known_after == (rid("fake:m"),)


WAY = (UnsafeFolder("/d", "'/d' is writable by everybody."),)


@pytest.mark.parametrize("seen", [Absent(unsafe=WAY), evolve(OTHER, unsafe=WAY), Absent({"residue": True}, WAY)])
@pytest.mark.parametrize("is_absent", [False, True])
def test_what_somebody_else_could_turn_elsewhere_is_impossible(seen: Present | Absent, is_absent: bool) -> None:
    plan = plan_of(declare("leaf:/d/f", absent=is_absent), declare("leaf:/e"), seen={"leaf:/d/f": seen})
    if is_absent and seen == Absent():
        assert plan.verdicts[rid("leaf:/d/f")].kind is VerdictKind.IN_SYNC
        return
    verdict = plan.verdicts[rid("leaf:/d/f")]
    assert verdict.kind is VerdictKind.IMPOSSIBLE
    assert verdict.detail == f"{WAY[0].detail} Nothing that comes before it in this plan corrects that directory."
    assert names(plan.actions) == ["leaf:/e"]


def test_what_is_in_sync_or_only_reported_is_not_written() -> None:
    resources = declare("leaf:/d/f"), declare("leaf:/d/g", audit=True)
    seen: dict[str, Observation] = {"leaf:/d/f": evolve(IN_SYNC, unsafe=WAY), "leaf:/d/g": evolve(OTHER, unsafe=WAY)}
    plan = plan_of(*resources, seen=seen)
    assert plan.verdicts[rid("leaf:/d/f")].kind is VerdictKind.IN_SYNC
    assert action_of(plan, "leaf:/d/g").hold is not None


def test_a_directory_that_is_corrected_before_is_awaited() -> None:
    class Correcting(Folder):
        type_name = "folder"

        def effects(self, desired: Want, step: Step) -> tuple[Effect, ...]:
            return (Effect(Target(SAFE_FOLDER, desired.name)),)

    plan = plan_of(
        declare("folder:/d"),
        declare("leaf:/d/f"),
        seen={"folder:/d": OTHER, "leaf:/d/f": Absent(unsafe=WAY)},
        providers={**PROVIDERS, "folder": Correcting()},
    )
    assert action_of(plan, "leaf:/d/f").known_after == (rid("folder:/d"),)
