"""One resource: equality, comparability and the guards around what a provider answers."""

import pytest

from datum.model.observation import Absent, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.planner.decide import (
    BreachError,
    decide,
    deletion,
    effects_of,
    equals,
    guarded,
    is_comparable,
    is_rest_of,
    sweep,
)
from tests.unit.fakes import HIDDEN, IN_SYNC, OTHER, PROVIDERS, declare, nodes_of, odd, raising, rid

FAKE = PROVIDERS["fake"]
NODE = nodes_of(declare("fake:a"))[rid("fake:a")]
GONE = nodes_of(declare("fake:a", absent=True))[rid("fake:a")]


@pytest.mark.parametrize(
    ("seen", "equal"),
    [
        (IN_SYNC, True),
        (OTHER, False),
        (Absent(), False),
        (HIDDEN, False),
        (Present({"value": "x", "more": HIDDEN}), False),
        (Present({"value": "x", "more": NotApplicable("none")}), True),
    ],
)
def test_only_what_is_there_and_known_equals_a_declaration(seen: "Observation", equal: bool) -> None:
    assert equals(NODE, seen, FAKE) is equal


def test_nothing_equals_a_declaration_of_absence() -> None:
    assert not equals(GONE, IN_SYNC, FAKE)
    assert not equals(GONE, Absent(), FAKE)


@pytest.mark.parametrize(
    ("seen", "comparable"), [(IN_SYNC, True), (Absent(), True), (HIDDEN, False), (Present({"value": HIDDEN}), False)]
)
def test_what_is_comparable(seen: "Observation", comparable: bool) -> None:
    assert is_comparable(seen) is comparable


def test_absence_is_planned_without_asking_the_provider() -> None:
    silent = odd(plan=raising)["odd"]
    node = nodes_of(declare("odd:/a", absent=True))[rid("odd:/a")]
    assert decide(node, Absent(), silent) is None
    step = decide(node, OTHER, silent)
    assert step == deletion(OTHER)
    assert effects_of(node, deletion(OTHER), odd(effects=raising)["odd"]) == ()


@pytest.mark.parametrize(("left", "is_swept"), [(True, True), (False, False), (HIDDEN, False)])
def test_where_nothing_shall_be_a_leftover_beside_it_is_swept(left: "bool | Unobservable", is_swept: bool) -> None:
    step = decide(GONE, Absent({"residue": left}), FAKE)
    assert step == (Step(Operation.DELETE, (Change("residue", before=True, after=None),)) if is_swept else None)
    assert step is None or not step.removes
    assert sweep(Absent()) is None


PARTS = nodes_of(declare("odd:/d"))[rid("odd:/d")]


@pytest.mark.parametrize(
    ("changes", "is_equal", "is_rest"),
    [
        ((Change("residue", before=True, after=False),), True, True),
        ((Change(".", "residue line", "line"), Change("./a", "residue line", "line")), True, True),
        ((Change("target", "residue text", "text"),), False, False),
        ((Change("./a", "residue other", "line"),), False, False),
        ((Change("./a", "line residue", "line"),), False, False),
        ((Change("./a", "residue", None),), True, True),
        ((Change("a", "residue", None),), False, False),
        ((Change("./a", None, "line"), Change("./b", "residue", "line"), Change(".", "residue x", "x")), False, True),
        ((Change(".", None, "line"),), False, False),
        ((Change("mode", None, "0644"),), False, False),
        ((Change("./a", None, "line"), Change("./b", {"other": 1}, "line")), False, False),
        ((Change("./a", "file", None),), False, False),
    ],
)
def test_what_is_left_beside_something_is_no_difference_and_what_is_missing_in_it_is_told_apart(
    changes: tuple[Change, ...], is_equal: bool, is_rest: bool
) -> None:
    provider = odd(plan=lambda *_: Step(Operation.UPDATE, changes))["odd"]
    assert equals(PARTS, IN_SYNC, provider) is is_equal
    assert is_rest_of(PARTS, IN_SYNC, provider) is is_rest
    assert not is_rest_of(PARTS, Absent(), provider)


def test_a_deletion_may_have_no_field_that_is_known() -> None:
    assert deletion(Present({"value": HIDDEN})) == Step(Operation.DELETE, ())


def test_what_a_provider_raises_is_a_breach_with_its_cause() -> None:
    with pytest.raises(BreachError, match="plan raised") as caught:
        guarded(FAKE, "plan", raising)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_type_of_several_parts_says_itself_what_is_missing(is_missing: bool) -> None:
    asked: list[Change] = []
    change = Change("enabled", before=False, after=True)

    def answer(_provider: object, one: Change) -> bool:
        asked.append(one)
        return is_missing

    provider = odd(plan=lambda *_: Step(Operation.UPDATE, (change,)))["odd"]
    type(provider).is_missing = answer  # type: ignore[attr-defined]  # part of an optional protocol
    try:
        assert is_rest_of(PARTS, IN_SYNC, provider) is is_missing
    finally:
        del type(provider).is_missing  # type: ignore[attr-defined]
    assert asked == [change]
