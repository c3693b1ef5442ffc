"""The look itself: the mass rule, aliases, expectations, `observe.on_failure`, and what providers are asked."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from datum.diagnostics import Severity, SourceLocation
from datum.host.deadline import Deadline
from datum.model.manifest import Expectation, OnObservationFailure
from datum.model.observation import Absent, Cause, Machine, Observation, ObservedState, Present, Scope, Unobservable
from datum.observer.observe import excuse, observe_one, observe_state
from datum.provider.host import HostError, HostReader
from tests.unit.fakes import Want, declare, rid
from tests.unit.observer.support import SOUND, answering, look, nodes_of

DENIED = Unobservable(Cause.DENIED, "It may not be read.")
DISCOUNTED = Unobservable(Cause.DEADLINE, "A network mount hangs.", discounted=True)


def state_of(answers: Mapping[str, Observation], **others: Any) -> ObservedState:
    """Look at one leaf for each answer."""
    nodes = nodes_of(declare(f"leaf:{name}") for name in answers)
    return observe_state(nodes, look(leaf=answering(answers), **others))


def many(unseen: int, seen: int, found: Unobservable = DENIED) -> dict[str, Observation]:
    return {**{f"/u{n}": found for n in range(unseen)}, **{f"/s{n}": SOUND for n in range(seen)}}


@pytest.mark.parametrize(
    ("unseen", "seen", "ends"),
    [
        (1, 0, False),
        (4, 0, False),
        (5, 0, True),
        (5, 4, True),
        (5, 5, False),
        (6, 5, True),
        (6, 6, False),
        (7, 6, True),
    ],
)
def test_mass_is_more_than_half_and_at_least_five(unseen: int, seen: int, ends: bool) -> None:
    """Four never end a pass, exactly half does not, one more does."""
    found = state_of(many(unseen, seen)).sickness
    assert bool(found) is ends
    if ends:
        ((what, why),) = found
        assert (what, why.cause, why.scope) == ("leaf", Cause.MASS, Scope.HOST)
        assert why.detail == f"{unseen} of {unseen + seen} leaf resources could not be looked at."


def test_what_a_plan_clears_makes_no_mass() -> None:
    """It counts as one of its type that could be looked at; what is left may still be too much."""
    state = state_of(many(7, 0))
    assert excuse(state, ()) == state
    for excused, ends in ((2, True), (3, False)):
        found = excuse(state, [rid(f"leaf:/u{number}") for number in range(excused)])
        assert bool(found.sickness) is ends
        assert found.observations is state.observations


def test_what_a_plan_clears_ends_nothing_by_itself() -> None:
    """Where the fleet says that anything ends the pass; a sick disk is another matter."""
    state = state_of({"/a": DENIED, "/b": SICK, "/c": DENIED}, on_failure=OnObservationFailure.END)
    found = excuse(state, [rid("leaf:/a")])
    assert sorted(what for what, _ in found.sickness) == ["leaf:/b", "leaf:/c"]


def test_discounted_ones_do_not_make_a_mass() -> None:
    """Below network mounts, where others can write, and of a broken provider: they do not count."""
    assert not state_of(many(9, 0, DISCOUNTED)).sickness
    assert not state_of({**many(4, 0), **{f"/d{n}": DISCOUNTED for n in range(4)}}).sickness
    assert state_of({**many(5, 0), **{f"/d{n}": DISCOUNTED for n in range(4)}}).sickness


def test_mass_is_counted_for_each_type() -> None:
    """Many sound resources of one type do not hide that another cannot be seen."""
    resources = [declare(f"leaf:/u{n}") for n in range(5)] + [declare(f"folder:/s{n}") for n in range(20)]
    answers = {f"/u{n}": DENIED for n in range(5)}
    found = observe_state(nodes_of(resources), look(leaf=answering(answers))).sickness
    assert [what for what, _ in found] == ["leaf"]


def test_breach_of_a_provider_is_no_mass() -> None:
    """A provider with a bug makes all of its resources unobservable, and the pass goes on."""

    def answer(_reader: HostReader, _desired: Mapping[str, Want]) -> Any:
        raise ValueError("a bug")

    nodes = nodes_of(declare(f"leaf:/u{n}") for n in range(8))
    state = observe_state(nodes, look(leaf=answer))
    assert not state.sickness
    assert state.breaches == {"leaf": "observe raised ValueError('a bug')"}
    assert {found.cause for found in state.observations.values() if isinstance(found, Unobservable)} == {Cause.BREACH}


def test_failure_of_the_whole_batch_for_a_reason_of_the_host_ends_the_pass() -> None:
    """A provider may let the host's own failure through: then the host is to blame, not the provider."""

    def answer(_reader: HostReader, _desired: Mapping[str, Want]) -> Any:
        raise HostError("The database is locked.", cause=Cause.DATABASE)

    state = observe_state(nodes_of([declare("leaf:/a"), declare("leaf:/b")]), look(leaf=answer))
    assert [what for what, _ in state.sickness] == ["leaf:/a", "leaf:/b"]
    assert not state.breaches


def test_a_provider_that_hangs_loses_its_turn() -> None:
    """The deadline of the batch is one observation's times their number; the rest of the pass goes on."""

    def answer(_reader: HostReader, desired: Mapping[str, Want]) -> Any:
        time.sleep(30)
        return dict.fromkeys(desired, SOUND)

    asked: list[float] = []

    def deadline(seconds: float) -> Deadline:
        asked.append(seconds)
        return Deadline(0.05)

    begun = time.monotonic()
    resources = [declare(f"leaf:/u{n}") for n in range(6)] + [declare("folder:/f")]
    state = observe_state(nodes_of(resources), look(leaf=answer, deadline=deadline))
    assert time.monotonic() - begun < 10
    assert sorted(asked) == [1.0, 6.0]
    assert not state.sickness
    assert state.breaches == {"leaf": "observe did not answer in time: It took longer than 0.05 s."}
    found = state.observations[rid("leaf:/u0")]
    assert isinstance(found, Unobservable)
    assert (found.cause, found.scope) == (Cause.DEADLINE, Scope.RESOURCE)
    assert state.observations[rid("folder:/f")] == SOUND


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "observe did not answer for /a"),
        ({"/a": SOUND, "/z": SOUND}, "observe answered for /z, which it was not asked for"),
        ({"/a": SOUND, 7: SOUND}, "observe answered for 7, which it was not asked for"),
        (["/a"], "observe answered list, no mapping"),
        (None, "observe answered NoneType, no mapping"),
        ({"/a": None}, "observe answered NoneType for /a"),
        ({"/a": Present}, "observe answered type for /a"),
        ({"/a": Present(None)}, "observe answered Present with NoneType for Mapping for /a"),  # type: ignore[arg-type]
        ({"/a": Present({}, [])}, "observe answered Present with list for Mapping for /a"),  # type: ignore[arg-type]
        ({"/a": Present({}, {}, ["8:1"])}, "observe answered Present with list for str for /a"),  # type: ignore[arg-type]
        ({"/a": Absent(["x"])}, "observe answered Absent with list for Mapping for /a"),  # type: ignore[arg-type]
        ({"/a": Unobservable("denied", "")}, "observe answered Unobservable with str for Cause for /a"),  # type: ignore[arg-type]
        ({"/a": Unobservable(Cause.IO, "", scope="host")}, "observe answered Unobservable with str for Scope for /a"),  # type: ignore[arg-type]
    ],
)
def test_odd_answers_are_breaches(answers: Any, words: str) -> None:
    """What is not exactly an answer for each asked name is none, and the text says what is odd."""
    state = observe_state(nodes_of([declare("leaf:/a")]), look(leaf=lambda _reader, _desired: answers))
    assert state.breaches == {"leaf": words}
    found = state.observations[rid("leaf:/a")]
    assert isinstance(found, Unobservable)
    assert (found.cause, found.scope, found.discounted) == (Cause.BREACH, Scope.RESOURCE, True)
    assert words in found.detail
    assert "This is a bug in it." in found.detail


def test_answers_are_copied_before_they_are_judged() -> None:
    """A provider cannot change its answers after they were checked."""
    answers: dict[str, Any] = {"/a": SOUND}
    state = observe_state(nodes_of([declare("leaf:/a")]), look(leaf=lambda _reader, _desired: answers))
    answers["/a"] = "something else"
    assert state.observations == {rid("leaf:/a"): SOUND}


def test_every_type_is_asked_once_for_all_its_resources() -> None:
    """Each type gets one call with its own names, and none for what is known already."""
    asked: list[list[str]] = []

    def answer(_reader: HostReader, desired: Mapping[str, Want]) -> Any:
        asked.append(sorted(desired))
        return dict.fromkeys(desired, SOUND)

    nodes = nodes_of([declare("leaf:/a"), declare("leaf:/b"), declare("leaf:/k"), declare("folder:/f")])
    late = Unobservable(Cause.LATE_VALUE, "There is no eth9.")
    state = observe_state(nodes, look(leaf=answer, folder=answer), known={rid("leaf:/k"): late})
    assert sorted(asked) == [["/a", "/b"], ["/f"]]
    assert state.observations[rid("leaf:/k")] is late


def test_nothing_declared_asks_nobody() -> None:
    """An empty graph is an empty look."""
    assert observe_state({}, look()).observations == {}


def alias(identity: str) -> Present:
    return Present({"value": "x"}, identity=identity)


def test_ids_of_one_thing_are_all_unobservable() -> None:
    """Two names of one file: neither is acted on, and each says which they are."""
    state = state_of({"/a": alias("8:1/7"), "/b": alias("8:1/7"), "/c": alias("8:1/8"), "/d": alias("")})
    for name in ("/a", "/b"):
        found = state.observations[rid(f"leaf:{name}")]
        assert isinstance(found, Unobservable)
        assert found.cause is Cause.ALIAS
        assert "leaf:/a and leaf:/b are one thing on this host." in found.detail
    assert isinstance(state.observations[rid("leaf:/c")], Present)
    assert not state.sickness


def test_things_without_identity_are_never_one() -> None:
    """What cannot be told apart for certain is not taken for one thing."""
    state = state_of({"/a": alias(""), "/b": alias("")})
    assert all(isinstance(found, Present) for found in state.observations.values())


def test_equal_identities_of_two_types_are_two_things() -> None:
    """An identity means something within its type only."""
    both = answering({"/a": alias("7"), "/b": alias("7")})
    state = observe_state(nodes_of([declare("leaf:/a"), declare("folder:/b")]), look(leaf=both, folder=both))
    assert all(isinstance(found, Present) for found in state.observations.values())


EXPECT = Expectation({"os": "debian-12", "arch": "amd64"}, location=SourceLocation("hosts/web1.yaml", 3, 1))


def test_machine_as_expected_is_no_finding() -> None:
    """The pass goes on."""
    state = observe_state({}, look(expect=EXPECT, machine=Machine({"os": "debian-12", "arch": "amd64"})))
    assert (state.sickness, state.warnings) == ((), ())


def test_another_machine_ends_the_pass() -> None:
    """A mismatch of `expect` ends the pass and says both values, the place, and the question to ask."""
    state = observe_state({}, look(expect=EXPECT, machine=Machine({"os": "debian-11"})))
    (arch, system) = state.sickness
    assert (arch[0], system[0]) == ("expect.arch", "expect.os")
    assert {found.cause for _, found in state.sickness} == {Cause.IDENTITY}
    assert "expects os 'debian-12' (hosts/web1.yaml:3:1); on this machine it is 'debian-11'." in system[1].detail
    assert "on this machine it could not be read." in arch[1].detail


def test_expect_warn_is_reported_only() -> None:
    """A name under `expect.warn` does not end the pass."""
    expect = Expectation({"os": "debian-12", "arch": "amd64"}, frozenset({"os"}))
    state = observe_state({}, look(expect=expect, machine=Machine({"os": "debian-11", "arch": "amd64"})))
    assert not state.sickness
    (warning,) = state.warnings
    assert (warning.code, warning.severity) == ("observation-overruled", Severity.WARNING)
    assert "expects os 'debian-12'; on" in warning.detail


SICK = Unobservable(Cause.IO, "The disk gives errors.", scope=Scope.HOST)


def test_on_failure_auto_ends_for_sickness_only() -> None:
    """The default: scope `host` ends, scope `resource` does not."""
    assert not state_of({"/a": DENIED}, on_failure=OnObservationFailure.AUTO).sickness
    assert state_of({"/a": SICK}, on_failure=OnObservationFailure.AUTO).sickness == (("leaf:/a", SICK),)


def test_on_failure_end_ends_for_anything() -> None:
    """One resource that cannot be looked at is enough, and none is told twice."""
    state = state_of({"/a": DENIED, "/b": SICK, "/c": SOUND}, on_failure=OnObservationFailure.END)
    assert sorted(what for what, _ in state.sickness) == ["leaf:/a", "leaf:/b"]
    assert all(found.scope is Scope.HOST for _, found in state.sickness)
    assert not state_of({"/c": SOUND}, on_failure=OnObservationFailure.END).sickness


def test_on_failure_continue_goes_on_and_says_so() -> None:
    """A sick host and a mass are warnings then."""
    state = state_of({**many(5, 0), "/b": SICK}, on_failure=OnObservationFailure.CONTINUE)
    assert not state.sickness
    assert [warning.detail.partition(":")[0] for warning in state.warnings] == ["leaf", "leaf"]
    assert state.observations[rid("leaf:/b")] is SICK


def test_on_failure_continue_does_not_overrule_identity() -> None:
    """On a machine that is another nothing is ever enforced."""
    state = state_of({"/b": SICK}, expect=EXPECT, on_failure=OnObservationFailure.CONTINUE)
    assert {found.cause for _, found in state.sickness} == {Cause.IDENTITY}
    assert len(state.warnings) == 1


def test_one_resource_is_looked_at_alone() -> None:
    """Verifying asks for one name."""
    asked: list[list[str]] = []

    def answer(_reader: HostReader, desired: Mapping[str, Want]) -> Any:
        asked.append(sorted(desired))
        return dict.fromkeys(desired, SOUND)

    nodes = nodes_of([declare("leaf:/a"), declare("leaf:/b")])
    origin = rid("leaf:/b")
    assert observe_one(origin, nodes[origin], look(leaf=answer)) == SOUND
    assert asked == [["/b"]]


def test_a_deadline_is_left_before_answers_are_judged() -> None:
    """The time of a provider does not run while the engine works."""
    events: list[str] = []

    @contextmanager
    def deadline(_seconds: float) -> Iterator[None]:
        events.append("begin")
        yield
        events.append("end")

    def answer(_reader: HostReader, desired: Mapping[str, Want]) -> Any:
        events.append("observe")
        return dict.fromkeys(desired, SOUND)

    observe_state(nodes_of([declare("leaf:/a")]), look(leaf=answer, deadline=deadline))
    assert events == ["begin", "observe", "end"]
