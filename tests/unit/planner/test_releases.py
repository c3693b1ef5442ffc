"""The line that settles what an orphan is kept or held for: by which name, and with what allowed, it could go."""

from typing import Any

import pytest
from attrs import evolve

from datum.model.manifest import Hazard
from datum.model.observation import Absent, Observation, Present
from datum.planner.inputs import OrphanSight, PlanInput
from datum.planner.releases import line_of_held, line_of_kept, release_of
from tests.unit.fakes import IN_SYNC, PROVIDERS, declare, declared_by, given, nodes_of, odd, raising, rid

LEAVE = "leave it: it is kept"
ODD = rid("odd:o")


def kept(observation: Observation = IN_SYNC, risks: frozenset[Hazard] = frozenset(), **answers: Any) -> str:
    """Return the line on an `odd` that is kept."""
    provider = odd(hazards=lambda *_: risks, **answers)["odd"]
    return line_of_kept(nodes_of(declare("odd:o"))[ODD], observation, provider)


def test_what_is_kept_is_declared_absent_with_what_that_risks() -> None:
    assert kept() == f"declare odd:o with 'absent: true' to remove it, or {LEAVE}"
    risks = frozenset({Hazard.OUTAGE, Hazard.ACCESS_LOSS})
    assert kept(risks=risks) == (
        f"declare odd:o with 'absent: true' and 'allow: [access_loss, outage]' to remove it, or {LEAVE}"
    )


def test_what_goes_along_is_a_loss() -> None:
    assert "'allow: [data_loss]'" in kept(Present({"value": "x"}, holds=("/srv/a",)))


def test_what_is_not_there_risks_nothing() -> None:
    assert "allow" not in kept(Absent(), frozenset({Hazard.OUTAGE}))


def test_what_nothing_removes_is_left() -> None:
    assert kept(Present({"value": "x"}, obstacles=("A host has a name.",))) == LEAVE


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("p", f"declare odd:p with 'absent: true' to remove it, or {LEAVE}"),
        (None, f"remove it by hand, or {LEAVE}"),
    ],
)
def test_another_name_may_be_needed_or_none_does(name: str | None, line: str) -> None:
    assert kept(absent_name=lambda *_: name) == line


def test_what_is_held_is_allowed_by_that_name() -> None:
    node, risks = nodes_of(declare("odd:o"))[ODD], (Hazard.OUTAGE,)
    assert line_of_held(node, risks, PROVIDERS["odd"]) == "declare odd:o with 'absent: true' and 'allow: [outage]'"
    none = odd(absent_name=lambda *_: None)["odd"]
    assert line_of_held(node, risks, none) == "remove it by hand, or declare it again"


def orphaned(**others: Any) -> PlanInput:
    trail = (declared_by(1, declare("odd:o")),)
    return given(declare("user:anchor"), orphans={"odd:o": IN_SYNC}, trail=trail, **others)


def test_an_orphan_that_no_pass_removes_has_its_line() -> None:
    assert release_of(ODD, orphaned()) == f"declare odd:o with 'absent: true' to remove it, or {LEAVE}"


@pytest.mark.parametrize("answer", [raising, lambda *_: 7])
def test_a_provider_that_breaks_its_contract_says_no_line(answer: Any) -> None:
    assert release_of(ODD, orphaned(providers=odd(absent_name=answer))) == ""


def test_a_type_that_is_gone_or_that_nobody_could_look_at_has_no_line() -> None:
    without = {name: one for name, one in PROVIDERS.items() if name != "odd"}
    assert release_of(ODD, orphaned(providers=without)) == ""
    assert release_of(ODD, evolve(orphaned(), orphans={ODD: OrphanSight(())})) == ""
