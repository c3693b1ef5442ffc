"""One look at the host: every provider is asked once, for all resources of its type (design 1.2).

Reads only. Rules enforced here: an answer for every resource, unknown is never absent, a provider that raises or
breaks its contract makes its own resources unobservable and nothing else, a host that is sick ends the pass. Of what
may be removed it is known what would go along, and what is mounted there.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from attrs import evolve, field, frozen

from datum.diagnostics import Diagnostic, Severity
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Expectation, OnObservationFailure
from datum.model.observation import (
    Absent,
    Cause,
    Machine,
    Observation,
    ObservedState,
    Present,
    Scope,
    StaleInput,
    Unobservable,
)
from datum.observer.below import has_room, with_holds
from datum.provider.contract import AnyProvider, Removal
from datum.provider.host import HostError, HostReader

MASS_AT_LEAST: Final = 5
"""Fewer unobservable resources of a type than this never say that the host is sick."""

Deadline = Callable[[float], AbstractContextManager[None, None]]
"""`with deadline(seconds):` raises `HostError` in this thread when the time is over."""


@frozen
class Look:
    """How to look: what stays the same during one pass."""

    providers: Mapping[str, AnyProvider]
    reader: HostReader
    deadline: Deadline
    on_failure: OnObservationFailure = OnObservationFailure.AUTO
    expect: Expectation = field(factory=Expectation)
    machine: Machine = field(factory=Machine)
    # What is looked at may be removed, whether or not it is declared absent: orphans.
    is_removal: bool = False


def observe_state(
    nodes: Mapping[ResourceId, Node], look: Look, *, known: Mapping[ResourceId, Observation] | None = None
) -> ObservedState:
    """Return an answer for every node.

    Args:
        nodes: what to look at.
        look: by which means.
        known: answers that need no look: a late value could not be computed, a file of the target is in the way.
    """
    observations: dict[ResourceId, Observation] = {**(known or {}), **_leaving_nothing(nodes, look)}
    breaches: dict[str, str] = {}
    for kind, group in _by_type(nodes, observations).items():
        answers, breach = _ask(kind, group, look)
        observations.update(answers)
        if breach:
            breaches[kind] = breach
    _separate_aliases(observations)
    sickness = [*_unexpected(look, warned=False), *_sick(observations), *_mass(observations)]
    warnings = [_warning(what, found) for what, found in _unexpected(look, warned=True)]
    match look.on_failure:
        case OnObservationFailure.CONTINUE:
            warnings += [_warning(what, found) for what, found in sickness if found.cause is not Cause.IDENTITY]
            sickness = [(what, found) for what, found in sickness if found.cause is Cause.IDENTITY]
        case OnObservationFailure.END:
            sickness += _any(observations)
        case OnObservationFailure.AUTO:
            pass
    return ObservedState(observations, look.machine, tuple(sickness), tuple(warnings), breaches)


def excuse(state: ObservedState, origins: Collection[ResourceId]) -> ObservedState:
    """Return the state without the sickness that rests on what could not be looked at, and is cleared by a plan.

    Args:
        state: as observed.
        origins: resources that could not be looked at, and that the plan has something to do about all the same.
    """
    names = {str(origin) for origin in origins}
    still = dict(_mass(state.observations, origins))
    sickness = tuple(
        (what, found)
        for what, found in state.sickness
        if (what in still if found.cause is Cause.MASS else what not in names)
    )
    return evolve(state, sickness=sickness)


def _leaving_nothing(nodes: Mapping[ResourceId, Node], look: Look) -> Mapping[ResourceId, Absent]:
    """Answer for what may be removed and is nothing on the host: what an old revision would have run is not run."""
    if not look.is_removal:
        return {}
    return {origin: Absent() for origin, node in nodes.items() if _leaves_nothing(node, look.providers[origin.type])}


def _leaves_nothing(node: Node, provider: AnyProvider) -> bool:
    try:
        return provider.removal(node.desired) is Removal.NOTHING
    except Exception:  # noqa: BLE001  # the planner asks it again, and says that it is a breach
        return False


def observe_one(origin: ResourceId, node: Node, look: Look) -> Observation:
    """Look at a single resource again, when its turn has come or after its action."""
    answers, _ = _ask(origin.type, {origin.name: (origin, node)}, look)
    return answers[origin]


_Group = Mapping[str, tuple[ResourceId, Node]]


def _by_type(nodes: Mapping[ResourceId, Node], known: Mapping[ResourceId, Observation]) -> Mapping[str, _Group]:
    groups: dict[str, dict[str, tuple[ResourceId, Node]]] = {}
    for origin, node in nodes.items():
        if origin not in known:
            groups.setdefault(origin.type, {})[origin.name] = (origin, node)
    return groups


def _ask(kind: str, group: _Group, look: Look) -> tuple[dict[ResourceId, Observation], str]:
    """Call a provider's `observe` through the one guard; return the answers and the breach, if any."""
    provider = look.providers[kind]
    desired = {name: node.desired for name, (_, node) in group.items()}
    try:
        answers = _call(provider, desired, look)
    except HostError as error:
        found, breach = _failed_batch(kind, error)
    except Exception as error:  # noqa: BLE001  # a provider is untrusted code: whatever it raises stays its own
        breach = str(error) if isinstance(error, _OddAnswerError) else f"observe raised {error!r}"
        found = Unobservable(
            Cause.BREACH, f"The provider '{kind}' broke its contract: {breach}. This is a bug in it.", discounted=True
        )
    else:
        return {origin: _looked_below(node, answers[name], look) for name, (origin, node) in group.items()}, ""
    return {origin: found for origin, _ in group.values()}, breach


def _looked_below(node: Node, answer: Observation, look: Look) -> Observation:
    """Look at what would go along as well, where the resource may go."""
    if not isinstance(answer, Present) or not (look.is_removal or node.resource.absent):
        return answer
    if not has_room(node.targets):
        return answer
    try:
        with look.deadline(look.providers[node.resource.id.type].observe_deadline):
            return with_holds(node.targets, answer, look.reader)
    except HostError as error:
        return error.unobservable()


def _failed_batch(kind: str, error: HostError) -> tuple[Unobservable, str]:
    """Return what a batch is that failed as a whole, and the breach, if it is one.

    Where the time of the whole batch is over, one path may have hung and taken the others along: their number says
    nothing of the host. The provider should have answered for that path alone.
    """
    if error.cause is not Cause.DEADLINE:
        return error.unobservable(), ""
    breach = f"observe did not answer in time: {error.detail}"
    found = Unobservable(Cause.DEADLINE, f"The provider '{kind}' did not answer: {error.detail}", discounted=True)
    return found, breach


class _OddAnswerError(Exception):
    """What a provider answered is not what the contract says."""


def _call(provider: AnyProvider, desired: Mapping[str, object], look: Look) -> Mapping[str, Observation]:
    """Ask, and return a copy of the answers: what was checked stays what it is."""
    with look.deadline(provider.observe_deadline * len(desired)):
        answers: object = provider.observe(look.reader, desired)
    if not isinstance(answers, Mapping):
        raise _OddAnswerError(f"observe answered {type(answers).__name__}, no mapping")
    copied = dict(answers)
    if odd := _odd_answers(copied, desired):
        raise _OddAnswerError(odd)
    return copied


def _odd_answers(answers: Mapping[str, object], desired: Mapping[str, object]) -> str:
    if missing := sorted(desired.keys() - answers.keys()):
        return f"observe did not answer for {missing[0]}"
    if extra := sorted(map(str, answers.keys() - desired.keys())):
        return f"observe answered for {extra[0]}, which it was not asked for"
    for name, answer in answers.items():
        if odd := _odd_answer(answer):
            return f"observe answered {odd} for {name}"
    return ""


def _odd_answer(answer: object) -> str:
    parts: tuple[tuple[object, type], ...]
    if isinstance(answer, Present):
        parts = ((answer.fields, Mapping), (answer.detail, Mapping), (answer.identity, str))
        parts += ((answer.holds, tuple), (answer.mounts, tuple), (answer.unsafe, tuple), (answer.stale, tuple))
        parts += tuple((one, StaleInput) for one in _items(answer.stale))
    elif isinstance(answer, Absent):
        parts = ((answer.fields, Mapping), (answer.unsafe, tuple))
    elif isinstance(answer, Unobservable):
        parts = ((answer.cause, Cause), (answer.detail, str), (answer.scope, Scope))
    else:
        return type(answer).__name__
    for part, wanted in parts:
        if not isinstance(part, wanted):
            return f"{type(answer).__name__} with {type(part).__name__} for {wanted.__name__}"
    return ""


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def _separate_aliases(observations: dict[ResourceId, Observation]) -> None:
    """Make ids that turned out to be one thing on this host unobservable, all of them (design 4.5)."""
    same: dict[tuple[str, str], list[ResourceId]] = {}
    for origin, observation in observations.items():
        if isinstance(observation, Present) and observation.identity:
            same.setdefault((origin.type, observation.identity), []).append(origin)
    for origins in same.values():
        if len(origins) > 1:
            names = " and ".join(str(origin) for origin in sorted(origins))
            found = Unobservable(
                Cause.ALIAS, f"{names} are one thing on this host. Declare one of them; neither is acted on."
            )
            observations.update(dict.fromkeys(origins, found))


def _sick(observations: Mapping[ResourceId, Observation]) -> Iterable[tuple[str, Unobservable]]:
    for origin, observation in sorted(observations.items()):
        if isinstance(observation, Unobservable) and observation.scope is Scope.HOST:
            yield str(origin), observation


def _any(observations: Mapping[ResourceId, Observation]) -> Iterable[tuple[str, Unobservable]]:
    for origin, observation in sorted(observations.items()):
        if isinstance(observation, Unobservable) and observation.scope is not Scope.HOST:
            yield str(origin), evolve(observation, scope=Scope.HOST)


def _mass(
    observations: Mapping[ResourceId, Observation], excused: Collection[ResourceId] = ()
) -> Iterable[tuple[str, Unobservable]]:
    """Yield each type of which more than half, and at least five, could not be looked at."""
    total: dict[str, int] = {}
    unseen: dict[str, int] = {}
    for origin, observation in observations.items():
        total[origin.type] = total.get(origin.type, 0) + 1
        if isinstance(observation, Unobservable) and not observation.discounted and origin not in excused:
            unseen[origin.type] = unseen.get(origin.type, 0) + 1
    for kind, count in sorted(unseen.items()):
        if count >= MASS_AT_LEAST and count * 2 > total[kind]:
            yield (
                kind,
                Unobservable(
                    Cause.MASS, f"{count} of {total[kind]} {kind} resources could not be looked at.", scope=Scope.HOST
                ),
            )


def _unexpected(look: Look, *, warned: bool) -> Iterable[tuple[str, Unobservable]]:
    for name, wanted in sorted(look.expect.values.items()):
        if (name in look.expect.warn) is not warned:
            continue
        seen = look.machine.values.get(name)
        if seen != wanted:
            what = "could not be read" if seen is None else f"is '{seen}'"
            place = f" ({look.expect.location})" if look.expect.location else ""
            yield (
                f"expect.{name}",
                Unobservable(
                    Cause.IDENTITY,
                    f"The fleet expects {name} '{wanted}'{place}; on this machine it {what}. "
                    "Is this the machine that the host name stands for?",
                    scope=Scope.HOST,
                ),
            )


def _warning(what: str, found: Unobservable) -> Diagnostic:
    return Diagnostic(
        code="observation-overruled",
        summary="Something could not be looked at, and the fleet says to go on.",
        detail=f"{what}: {found.detail}",
        severity=Severity.WARNING,
    )
