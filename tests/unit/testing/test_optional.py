"""The rules of related, predicting, checking and staged types pass one that keeps them, and find each breach."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Change, Operation, Step
from datum.provider.contract import AnyProvider, TargetIndex
from datum.provider.host import HostWriter
from datum.testing.conformance import ProviderConformance
from tests.unit.testing.test_conformance import DesiredNote, NoteProvider, TestNote, run


class Letter(NoteProvider):
    """A note that has everything a type may have beside the contract."""

    def relate(self, desired: DesiredNote, index: TargetIndex) -> DesiredNote:
        return evolve(desired, text=desired.text if index.is_exclusive("/") else (desired.text or "").strip() or None)

    def absent_name(self, name: str, desired: DesiredNote) -> str | None:
        return name if desired.text != "secret" else None

    def predict(self, desired: DesiredNote, observed: Observation) -> Present | Absent | None:
        return Present({"text": "stale"}) if isinstance(observed, Present) else Absent()

    def guards(self, desired: DesiredNote) -> tuple[ResourceId, ...]:
        return (ResourceId("note", desired.name),)

    def check(self, origin: ResourceId, desired: DesiredNote) -> Check:
        return Check(origin, ("true",), 1.0)

    def can_stage(self, desired: DesiredNote) -> bool:
        return desired.text != "secret"


def suite(**members: Any) -> type[ProviderConformance]:
    provider: type[AnyProvider] = type("Odd", (Letter,), members)
    return type("Suite", (TestNote,), {"provider_class": provider})


class Counting:
    """Answers something else each time."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers) * 99

    def __call__(self, *_: object) -> object:
        return self._answers.pop(0)


def _applies_at_once(self: NoteProvider, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
    world: Any = writer
    world._world.files["/etc/notes/at-once"] = evolve(world._world.files["/etc"])
    NoteProvider.apply(self, writer, desired, step)


def _keeps(self: NoteProvider, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
    if step.operation is not Operation.DELETE:
        NoteProvider.apply(self, writer, desired, step)


RELATE = "test_related_state_has_the_same_targets_and_is_related_once"
NAME = "test_the_name_by_which_it_goes_names_the_same_thing"
PREDICT = "test_predicted_state_can_be_planned_against"
CHECK = "test_checks_name_resources_and_are_programs"
STAGE = "test_what_can_be_staged_changes_nothing_until_it_is_committed"

BREACHES: Mapping[str, tuple[dict[str, Any], str]] = {
    "relate-changes": ({"relate": Counting(DesiredNote("a", "1"), DesiredNote("a", "2"))}, RELATE),
    "relate-adds": ({"relate": lambda self, desired, index: evolve(desired, text=f"{desired.text}+")}, RELATE),
    "relate-moves": ({"relate": lambda self, desired, index: evolve(desired, name="other")}, RELATE),
    "absent-name-changes": ({"absent_name": Counting("a", None)}, NAME),
    "absent-name-is-another": ({"absent_name": lambda *_: "zzz"}, NAME),
    "absent-name-is-none": ({"absent_name": lambda *_: " "}, NAME),
    "predict-changes": ({"predict": Counting(Absent(), None)}, PREDICT),
    "predict-nonsense": ({"predict": lambda *_: "stale"}, PREDICT),
    "predict-breach": (
        {
            "predict": lambda *_: Absent(),
            "plan": lambda self, desired, seen: Step(Operation.UPDATE, (Change("text", 1, 2),)),
        },
        PREDICT,
    ),
    "guards-texts": ({"guards": lambda *_: ("note:a",)}, CHECK),
    "guards-change": ({"guards": Counting((), (ResourceId("note", "a"),))}, CHECK),
    "check-of-another": ({"check": lambda *_: Check(ResourceId("note", "zzz"), ("true",), 1.0)}, CHECK),
    "check-of-nothing": ({"check": lambda self, origin, _: Check(origin, (), 1.0)}, CHECK),
    "check-without-time": ({"check": lambda self, origin, _: Check(origin, ("true",), 0.0)}, CHECK),
    "check-is-text": ({"check": lambda *_: "true"}, CHECK),
    "can-stage-text": ({"can_stage": lambda *_: "yes"}, STAGE),
    "can-stage-changes": ({"can_stage": Counting(True, False)}, STAGE),
    "applies-at-once": ({"apply": _applies_at_once}, STAGE),
    "does-nothing": ({"apply": lambda *_: None}, STAGE),
    "keeps-what-it-should-delete": ({"apply": _keeps}, STAGE),
}


def test_a_type_that_keeps_every_rule_passes() -> None:
    assert run(suite()) == []


@pytest.mark.parametrize("name", BREACHES)
def test_each_breach_is_found(name: str) -> None:
    members, caught_by = BREACHES[name]
    broken = suite(**members)
    with pytest.raises(Exception):  # noqa: B017  # whatever the rule raises is a test that fails
        getattr(broken(), caught_by)()


def test_what_cannot_be_staged_is_not_tried() -> None:
    def refuse(self: NoteProvider, writer: HostWriter, desired: DesiredNote, step: Step) -> None:
        assert not hasattr(writer, "commit")
        NoteProvider.apply(self, writer, desired, step)

    getattr(suite(can_stage=lambda *_: False, apply=refuse)(), STAGE)()


@pytest.mark.parametrize("takes", [("/b", "/a"), ("/a", "/a"), (1,)])
def test_what_a_step_takes_is_sorted_texts(takes: Any) -> None:
    def plan(self: NoteProvider, desired: DesiredNote, observed: Present | Absent) -> Step | None:
        step = NoteProvider.plan(self, desired, observed)
        return evolve(step, takes=takes) if step is not None and step.operation is Operation.UPDATE else step

    assert "test_plan_answers_the_operation_of_the_case" in run(suite(plan=plan))


def test_what_is_created_takes_nothing() -> None:
    def plan(self: NoteProvider, desired: DesiredNote, observed: Present | Absent) -> Step | None:
        step = NoteProvider.plan(self, desired, observed)
        return evolve(step, takes=("/a",)) if step is not None else None

    assert "test_plan_answers_the_operation_of_the_case" in run(suite(plan=plan))
