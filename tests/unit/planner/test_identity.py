"""`plan_id` (design 1.3): what it is a function of, what it is not, and the bytes it is the digest of."""

import hashlib
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from datum.model.identity import HostName, ResourceId
from datum.model.json import canonical_json, digest
from datum.model.manifest import Hazard
from datum.model.observation import Present
from datum.model.plan import Action, Change, Hold, HoldReason, Label, Operation, Plan, Step, Verdict, VerdictKind
from datum.model.revision import Revision
from datum.planner.identity import identity_object, plan_identity
from tests.unit.fakes import HIDDEN, OTHER, at, declare, declared_by, nodes_of, plan_of, rid

ACTION = Action(
    ResourceId("file", "/etc/motd"),
    "file 1",
    Operation.UPDATE,
    (Change("mode", "0600", "0644"), Change("content", None, "blob:ab")),
    frozenset({Hazard.OUTAGE, Hazard.DATA_LOSS}),
)
PLAN = Plan(
    Revision("a" * 40, ref="main"),
    HostName("web1"),
    "sha256:00",
    (ACTION, Action(ResourceId("file", "/ü"), "file 1", Operation.DELETE, (Change("size", 1.5, None),))),
)

# The canonical form of RFC 8785, written by hand: members sorted, no white space, numbers as ECMAScript writes them,
# texts in UTF-8.
BY_HAND = (
    '{"actions":['
    '{"after":{"content":"blob:ab","mode":"0644"},"before":{"content":null,"mode":"0600"},'
    '"hazards":["data_loss","outage"],"operation":"update","resource":"file:/etc/motd"},'
    '{"after":{"size":null},"before":{"size":1.5},"hazards":[],"operation":"delete","resource":"file:/ü"}'
    '],"format":1,"host":"web1","manifest":"sha256:00","revision":"sha1:' + "a" * 40 + '"}'
)


def test_it_is_the_digest_of_the_canonical_form() -> None:
    assert plan_identity(PLAN) == "sha256:" + hashlib.sha256(BY_HAND.encode()).hexdigest()


def changed(**fields: Any) -> Plan:
    return evolve(PLAN, actions=(evolve(ACTION, **fields), *PLAN.actions[1:]))


def test_what_goes_along_stands_in_it_only_where_something_does() -> None:
    taking = changed(step=Step(Operation.UPDATE, (), takes=("/etc/motd/\udcff", "/etc/motd/x")))
    by_hand = BY_HAND.replace(
        '"resource":"file:/etc/motd"},',
        '"resource":"file:/etc/motd","takes":[{"bytes":"2f6574632f6d6f74642fedb3bf"},"/etc/motd/x"]},',
    )
    assert plan_identity(taking) == "sha256:" + hashlib.sha256(by_hand.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        changed(label=Label.RETRY),
        changed(hold=Hold(HoldReason.LIMIT, "Too many.")),
        changed(provider="file 2"),
        changed(known_after=(rid("user:u"),), requires=frozenset({rid("user:u")})),
        changed(location=at(9)),
        changed(changes=ACTION.changes[::-1]),
        changed(changes=(evolve(ACTION.changes[0], before_text="a", after_text="b"), ACTION.changes[1])),
        changed(changes=(evolve(ACTION.changes[0], sensitive=True), ACTION.changes[1])),
        changed(step=Step(Operation.DELETE, ())),
        changed(transaction="file/x"),
        evolve(PLAN, verdicts={rid("user:u"): Verdict(VerdictKind.UNOBSERVABLE, unobservable=HIDDEN)}),
        evolve(PLAN, plan_id="sha256:11"),
        evolve(PLAN, revision=Revision("a" * 40, ref="other")),
    ],
    ids=[
        "label",
        "hold",
        "provider",
        "known-after",
        "location",
        "field-order",
        "texts",
        "sensitive",
        "step",
        "transaction",
        "verdicts",
        "own-id",
        "ref",
    ],
)
def test_it_does_not_depend_on(other: Plan) -> None:
    assert plan_identity(other) == plan_identity(PLAN)


@pytest.mark.parametrize(
    "other",
    [
        evolve(PLAN, revision=Revision("b" * 40)),
        evolve(PLAN, host=HostName("web2")),
        evolve(PLAN, manifest_digest="sha256:01"),
        evolve(PLAN, actions=PLAN.actions[::-1]),
        evolve(PLAN, actions=PLAN.actions[:1]),
        changed(resource=ResourceId("file", "/etc/issue")),
        changed(operation=Operation.REPLACE),
        changed(hazards=frozenset({Hazard.OUTAGE})),
        changed(changes=(evolve(ACTION.changes[0], before="0601"), ACTION.changes[1])),
        changed(changes=(evolve(ACTION.changes[0], after="0645"), ACTION.changes[1])),
        changed(changes=(evolve(ACTION.changes[0], name="modes"), ACTION.changes[1])),
        changed(changes=ACTION.changes[:1]),
        changed(step=evolve(ACTION.step, takes=("/etc/motd/x",))),
    ],
    ids=[
        "revision",
        "host",
        "manifest",
        "order",
        "actions",
        "resource",
        "operation",
        "hazards",
        "before",
        "after",
        "field",
        "fields",
        "takes",
    ],
)
def test_it_depends_on(other: Plan) -> None:
    assert plan_identity(other) != plan_identity(PLAN)


def test_texts_that_are_no_utf8_have_an_identity_of_their_own() -> None:
    names = ("\udcff", "\udcfe", {"bytes": "\udcff"}, ("\udcff",), "?")
    found = {plan_identity(changed(changes=(Change("owner", name, "root"),))) for name in names}
    assert len(found) == len(names)
    assert plan_identity(changed(resource=ResourceId("file", "/\udcff"))) != plan_identity(PLAN)


# Below and above half pairs of UTF-16, and beyond it: the order of code points is another one there.
NAMES = st.text(st.sampled_from("ab\u00fc\ud7ff\ue000\uffff\U00010000\U0001f600"), max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def only(*changes: Change) -> Plan:
    return evolve(PLAN, actions=(evolve(ACTION, changes=changes),))


@given(st.dictionaries(NAMES, st.tuples(VALUES, VALUES), max_size=4))
@example({"\uffff": (1, '\x00\x1f\x7f\u2028"\\/'), "\U00010000": (True, None)})
@example({"a": (1e21, -0.0), "b": (1.0, 2**53 - 1)})
def test_it_is_that_digest_for_any_value_however_it_is_encoded(values: dict[str, tuple[Any, Any]]) -> None:
    plan = only(*(Change(name, *sides) for name, sides in values.items()))
    assert plan_identity(plan) == digest(canonical_json(identity_object(plan)))


@pytest.mark.parametrize("number", [2**53, -(2**53), float("inf")])
def test_a_number_that_json_does_not_carry_has_none(number: float) -> None:
    with pytest.raises(ValueError, match=r"exceeds|not representable"):
        plan_identity(only(Change("size", number, None)))


def test_the_plan_carries_its_own_identity() -> None:
    plan = plan_of(declare("fake:a"))
    assert plan.plan_id == plan_identity(plan)
    assert plan.plan_id.startswith("sha256:")


def test_a_whole_plan_does_not_depend_on_labels_and_observations_without_an_action() -> None:
    plans = [
        plan_of(declare("fake:a"), seen={"fake:a": OTHER}, **others)
        for others in (
            {},
            {"is_retry": True, "trail": (declared_by(1, declare("fake:a")),)},
            {"converged": nodes_of(declare("fake:a"))},
        )
    ]
    assert len({plan.actions[0].label for plan in plans}) == 3
    assert len({plan.plan_id for plan in plans}) == 1
    one = plan_of(declare("fake:a"), declare("fake:b"), seen={"fake:b": HIDDEN})
    other = plan_of(declare("fake:a"), declare("fake:b"), seen={"fake:b": Present({"value": "x"})})
    assert one.plan_id == other.plan_id


@pytest.mark.parametrize(
    "others",
    [{"revision": Revision("b" * 40)}, {"host": HostName("web2")}, {"manifest_digest": digest(b"n")}],
    ids=["revision", "host", "manifest"],
)
def test_a_whole_plan_depends_on_what_it_is_made_for(others: dict[str, Any]) -> None:
    assert plan_of(declare("fake:a"), **others).plan_id != plan_of(declare("fake:a")).plan_id
