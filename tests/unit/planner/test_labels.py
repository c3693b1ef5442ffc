"""Labels, the first that fits (design 3.5): adopt, drift, retry, intent."""

import itertools

import pytest

from datum.model.manifest import Resource
from datum.model.observation import Observation
from datum.model.plan import Label
from datum.planner.inputs import Declaration, Unresolved
from datum.planner.labels import label_of
from tests.unit.fakes import OTHER, action_of, declare, declared_by, given, nodes_of, plan_of, revision, rid

PRESENT = (True, False)
# What `converged` says: nothing is converged, it does not declare the resource, the same as the target, or otherwise.
CONVERGED = ("none", "silent", "same", "other")
# What the trail without the target says.
TRAIL = ("empty", "silent", "declares")
RETRY = (True, False)


def expected(present: bool, converged: str, trail: str, retry: bool) -> Label:
    """Return the label by the letter of the design."""
    if present and trail != "declares" and converged in {"none", "silent"}:
        return Label.ADOPT
    if converged == "same":
        return Label.DRIFT
    return Label.RETRY if retry else Label.INTENT


def resource_of(what: str) -> Resource:
    return {
        "silent": declare("fake:b"),
        "declares": declare("fake:a", value="older"),
        "same": declare("fake:a"),
        "other": declare("fake:a", value="other"),
    }[what]


@pytest.mark.parametrize(
    ("present", "converged", "trail", "retry"), list(itertools.product(PRESENT, CONVERGED, TRAIL, RETRY))
)
def test_every_combination(present: bool, converged: str, trail: str, retry: bool) -> None:
    older: tuple[Declaration | Unresolved, ...] = (Unresolved(revision(7), "It is gone."),)
    if trail != "empty":
        older = (*older, declared_by(1, resource_of(trail)))
    plan = plan_of(
        declare("fake:a"),
        seen={"fake:a": OTHER} if present else {},
        trail=older,
        is_retry=retry,
        converged=None if converged == "none" else nodes_of(resource_of(converged)),
    )
    assert action_of(plan, "fake:a").label is expected(present, converged, trail, retry)


@pytest.mark.parametrize(
    ("target", "converged", "label"),
    [(True, True, Label.DRIFT), (True, False, Label.INTENT), (False, True, Label.INTENT)],
)
def test_absence_is_wanted_or_not_as_any_other_field(target: bool, converged: bool, label: Label) -> None:
    observed: dict[str, Observation] = {"fake:a": OTHER}
    plan = plan_of(
        declare("fake:a", absent=target), seen=observed, converged=nodes_of(declare("fake:a", absent=converged))
    )
    assert action_of(plan, "fake:a").label is label


def test_what_is_declared_in_another_place_or_with_other_brakes_is_wanted_the_same() -> None:
    converged = nodes_of(declare("fake:a", 77, protect=True))
    plan = plan_of(declare("fake:a", 1), seen={"fake:a": OTHER}, converged=converged)
    assert action_of(plan, "fake:a").label is Label.DRIFT


@pytest.mark.parametrize(("retry", "label"), [(False, Label.INTENT), (True, Label.RETRY)])
def test_the_removal_of_an_orphan_is_intended_and_then_tried_again(retry: bool, label: Label) -> None:
    plan = plan_of(
        declare("fake:a"),
        seen={"fake:a": OTHER},
        orphans={"entry:/f#k": OTHER},
        trail=(declared_by(1, declare("entry:/f#k", value="old")),),
        is_retry=retry,
    )
    assert action_of(plan, "entry:/f#k").label is label


def test_a_label_is_a_function_of_its_arguments() -> None:
    inputs = given(declare("fake:a"))
    node = inputs.graph.nodes[rid("fake:a")]
    assert label_of(node, OTHER, inputs) is label_of(node, OTHER, inputs) is Label.ADOPT
