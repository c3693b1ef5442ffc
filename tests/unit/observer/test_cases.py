"""The case table of design 1.2: what cannot be looked at, what depends on it, and what becomes of the pass."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from attrs import evolve, frozen

from datum.model.identity import ResourceId
from datum.model.manifest import Resource
from datum.model.observation import Cause, Observation, Present, Unobservable
from datum.model.outcome import PassEnd, PassFacts, exit_code, pass_outcome
from datum.model.plan import HoldReason, Plan
from datum.model.result import ActionResult, Outcome
from datum.observer.observe import Look, observe_state
from datum.planner.inputs import PlanInput
from datum.planner.plan import plan_pass
from datum.provider.host import HostError, HostReader
from datum.report.build import count_outcomes
from tests.unit.fakes import Want, declare, declared_by, given, rid
from tests.unit.observer.support import SOUND, answering, look

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "cases" / "observer"
SUBJECT: Final = "folder:/srv"
BYSTANDER: Final = "leaf:/etc/b"
ORPHAN: Final = "leaf:/etc/c.d/old"
DRIFTED: Final = Present({"value": "old"})


@frozen
class ObserverCase:
    """One row: a file of the folder and one of its dependants."""

    title: str
    file: Mapping[str, Any]
    row: Mapping[str, Any]

    @property
    def seen(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.file["seen"]
        return found

    @property
    def twin(self) -> str:
        return str(self.seen.get("twin", ""))

    @property
    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = self.row.get("declares", {})
        return found

    def resources(self) -> tuple[Resource, ...]:
        own = [declare(SUBJECT), declare(BYSTANDER), *([declare(self.twin)] if self.twin else [])]
        for text, about in self.declared.items():
            wanted = {name: value for name, value in about.items() if name != "is"}
            own.append(declare(text, **wanted))
        return tuple(sorted(own, key=lambda one: one.id))

    def unobservable(self) -> Unobservable:
        error = HostError(
            "It cannot be looked at.", cause=Cause(self.seen["cause"]), discounted=self.seen.get("discounted", False)
        )
        return error.unobservable()

    def look(self) -> Look:
        drifted = {rid(text).name: DRIFTED for text, about in self.declared.items() if about["is"] == "drifted"}
        return look(leaf=answering({**drifted, rid(BYSTANDER).name: DRIFTED}), folder=self._folder)

    def _folder(self, _reader: HostReader, desired: Mapping[str, Want]) -> Any:
        if "breaks" in self.seen:
            return _break(self.seen["breaks"], desired)
        if self.twin:
            return dict.fromkeys(desired, Present({"value": "x"}, identity="8:1/77"))
        if self.seen.get("known"):
            return dict.fromkeys(desired, SOUND)
        return {name: self.unobservable() if name == rid(SUBJECT).name else SOUND for name in desired}


def _break(how: str, desired: Mapping[str, Want]) -> Any:
    match how:
        case "raises":
            raise RuntimeError("no such luck")
        case "hangs":
            raise HostError("It took longer than 1 s.", code="deadline-passed", cause=Cause.DEADLINE)
        case "too-little":
            return {}
        case "too-much":
            return {**dict.fromkeys(desired, SOUND), "/etc/other": SOUND}
        case "no-mapping":
            return list(desired)
        case "wrong-type":
            return dict.fromkeys(desired, "present")
        case "wrong-part":
            return {name: Present(("value", "x")) for name in desired}  # type: ignore[arg-type]  # the point
        case "wrong-evidence":
            return {name: Present({}, stale=("/etc/a",)) for name in desired}  # type: ignore[arg-type]  # the point
        case "evidence-in-a-list":
            return {name: Present({}, stale=[]) for name in desired}  # type: ignore[arg-type]  # the point
        case _:
            raise AssertionError(how)


def _cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.yaml")):
        file = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, row in file["dependants"].items():
            yield pytest.param(ObserverCase(f"{path.stem}: {name}", file, row), id=f"{path.stem}: {name}")


CASES: Final = tuple(_cases())
GOING_ON: Final = tuple(case for case in CASES if not case.values[0].file["ends"])


def _input(case: ObserverCase) -> PlanInput:
    old = declare("leaf:/etc/c.d/old")
    start = given(*case.resources(), trail=(declared_by(1, old),), orphans={ORPHAN: SOUND})
    known = {rid(SUBJECT): case.unobservable()} if case.seen.get("known") else None
    return evolve(start, observed=observe_state(start.graph.nodes, case.look(), known=known))


def _done(plan: Plan) -> tuple[ActionResult, ...]:
    """Do the plan as a host does on which everything works."""
    return tuple(ActionResult(action, Outcome.HELD if action.hold else Outcome.APPLIED) for action in plan.actions)


def _facts(made: PlanInput, plan: Plan) -> PassFacts:
    if made.observed.sickness:
        return PassFacts(ended=PassEnd.UNOBSERVED)
    has_breach = any(
        verdict.unobservable is not None and verdict.unobservable.cause is Cause.BREACH
        for verdict in plan.verdicts.values()
    )
    outcomes = frozenset(count_outcomes(plan, _done(plan))) - {Outcome.ORPHAN}
    return PassFacts(outcomes=outcomes, closing_empty=False, bug=has_breach)


@pytest.mark.parametrize("case", CASES)
def test_pass_ends_or_goes_on(case: ObserverCase) -> None:
    """The pass ends with the host untouched where the host is sick, and there alone."""
    made = _input(case)
    assert bool(made.observed.sickness) is case.file["ends"]
    facts = _facts(made, plan_pass(made))
    assert str(pass_outcome(facts)) == case.file["outcome"]
    assert exit_code(facts) == case.file["exit"]


@pytest.mark.parametrize("case", GOING_ON)
def test_verdicts(case: ObserverCase) -> None:
    """What requires it and has something to do is skipped; what is in sync is; `after` does not spread."""
    plan = plan_pass(_input(case))
    acted = {action.resource: action for action in plan.actions}
    for text, wanted in case.row["verdicts"].items():
        origin = rid(text)
        if wanted == "none":
            assert origin in acted, text
            assert origin not in plan.verdicts
        else:
            assert origin not in acted, text
            assert str(plan.verdicts[origin].kind) == wanted
    skipped = [verdict for verdict in plan.verdicts.values() if str(verdict.kind) == "skipped"]
    assert all(verdict.blocked_by in {rid(SUBJECT), rid(case.twin or SUBJECT)} for verdict in skipped)


@pytest.mark.parametrize("case", GOING_ON)
def test_removals_are_held(case: ObserverCase) -> None:
    """While something cannot be looked at nothing is removed, neither an orphan nor what is declared absent."""
    plan = plan_pass(_input(case))
    holds = {action.resource: action.hold for action in plan.actions if action.hold}
    wanted: set[ResourceId] = {rid(ORPHAN), *(rid(text) for text in case.row.get("holds", []))}
    assert case.file["removals"] == "held"
    assert set(holds) == wanted
    assert {hold.reason for hold in holds.values()} == {HoldReason.UNOBSERVABLE}


@pytest.mark.parametrize("case", CASES)
def test_breach_is_recorded(case: ObserverCase) -> None:
    """A provider that broke its contract is named, with the words; nobody else is."""
    breaches = _input(case).observed.breaches
    assert set(breaches) == ({"folder"} if "breaks" in case.seen else set())
    assert all(words.startswith("observe ") for words in breaches.values())


@pytest.mark.parametrize("case", CASES)
def test_every_resource_has_an_answer(case: ObserverCase) -> None:
    """An answer for every resource of the graph, and none for others."""
    made = _input(case)
    answers: Mapping[ResourceId, Observation] = made.observed.observations
    assert set(answers) == set(made.graph.nodes)
    found = answers[rid(SUBJECT)]
    assert isinstance(found, Unobservable)
    assert str(found.cause) == case.seen["cause"]


def test_removal_goes_on_where_everything_can_be_seen() -> None:
    """The table's orphan is one that is removed otherwise."""
    start = given(declare(SUBJECT), trail=(declared_by(1, declare(ORPHAN)),), orphans={ORPHAN: SOUND})
    plan = plan_pass(evolve(start, observed=observe_state(start.graph.nodes, look())))
    assert [(str(action.resource), action.hold) for action in plan.actions] == [(ORPHAN, None)]
