"""The rules of what a provider may have beside the contract: related, predicting, checking, staged, stopped types.

Each rule does nothing for a type that has not what it is about. A rule that is broken raises `AssertionError`.
"""

from collections.abc import Callable

from attrs import evolve

from datum.model.access import Consumer, GroupAccount, Rights, UserAccount
from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Cause, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.observer.below import with_holds
from datum.provider.contract import (
    AbsentNameProvider,
    AccessProvider,
    AnyProvider,
    CheckingProvider,
    PredictingProvider,
    RelatedProvider,
    StagedProvider,
    StaleProvider,
)
from datum.provider.stopped import StoppedProvider
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.rules import EveryTarget, all_are, check_step, deletion_of, require, steps_for, visible


def check_related(provider: AnyProvider, case: ConformanceCase) -> None:
    """`relate` is pure, changes no target, and has nothing to add to its own answer."""
    if not isinstance(provider, RelatedProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    related = provider.relate(desired, EveryTarget())
    require(related == provider.relate(desired, EveryTarget()), f"{case.title}: relate answers differently each time")
    require(related == provider.relate(related, EveryTarget()), f"{case.title}: relate adds to its own answer")
    same = provider.targets(related) == provider.targets(desired)
    require(same, f"{case.title}: relate changes what the resource holds")
    require(desired == provider.parse(case.name, case.attributes), f"{case.title}: relate changes its argument")


def check_absent_name(provider: AnyProvider, case: ConformanceCase) -> None:
    """`absent_name` is pure, and nothing but that name is needed to mean something that the resource holds."""
    if not isinstance(provider, AbsentNameProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    name = provider.absent_name(case.name, desired)
    again = provider.absent_name(case.name, desired)
    require(name == again, f"{case.title}: absent_name answers differently each time")
    if name is None:
        return
    require(provider.normal_name(name) == name, f"{case.title}: absent_name answers no normal name")
    meant = set(provider.targets(provider.parse(name, {}))) & set(provider.targets(desired))
    require(bool(meant), f"{case.title}: absent_name names something else")


def check_stopped(provider: AnyProvider, case: ConformanceCase, host: FakeHost) -> None:
    """`stopping` and `stop` are pure, a stop does nothing else, and what it leaves needs no other one."""
    if not isinstance(provider, StoppedProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    require(provider.stopping(desired) == provider.stopping(desired), f"{case.title}: stopping answers differently")
    seen = provider.observe(host.reader(), {case.name: desired})[case.name]
    if isinstance(seen, Unobservable):
        return
    step = provider.stop(desired, seen)
    require(step == provider.stop(desired, seen), f"{case.title}: stop answers differently each time")
    if step is None:
        return
    is_stop = step.operation is Operation.STOP and bool(step.changes) and not step.needs and not step.takes
    require(is_stop, f"{case.title}: stop answers a step that does more than stop it")
    fields = {**seen.fields, **{change.name: change.after for change in step.changes}}
    require(provider.stop(desired, evolve(seen, fields=fields)) is None, f"{case.title}: what is stopped still runs")


def check_predicted(provider: AnyProvider, case: ConformanceCase, host: FakeHost) -> None:
    """`predict` is pure, from whatever was observed, and what it answers is what `plan` understands."""
    if not isinstance(provider, PredictingProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    seen = provider.observe(host.reader(), {case.name: desired})[case.name]
    for observation in (seen, Unobservable(Cause.OTHER, "It cannot be looked at yet.")):
        found: object = provider.predict(desired, observation)
        require(found == provider.predict(desired, observation), f"{case.title}: predict answers differently each time")
        if found is None:
            continue
        if not isinstance(found, (Present, Absent)):
            raise AssertionError(f"{case.title}: predict answers {found}")  # noqa: TRY004 - a rule is broken
        step = provider.plan(desired, found)
        if step is not None:
            check_step(step, found, f"{case.title}, predicted")


def check_stale(provider: AnyProvider, case: ConformanceCase) -> None:
    """`acts_on_stale` is pure, and answers yes or no."""
    if not isinstance(provider, StaleProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    answer: object = provider.acts_on_stale(desired)
    all_are((answer,), bool, case.title)
    require(answer is provider.acts_on_stale(desired), f"{case.title}: acts_on_stale answers differently each time")


def check_access(provider: AnyProvider, case: ConformanceCase) -> None:
    """`access` is pure, answers values of the contract for what it was asked, also where no text can be had."""
    if not isinstance(provider, AccessProvider):
        return
    desired = {case.name: provider.parse(case.name, case.attributes)}
    for text_of in (lambda _content: None, lambda content: (content.inline or b"").decode("utf-8", "replace")):
        answers = provider.access(desired, text_of)
        require(answers.keys() <= {case.name}, f"{case.title}: access answers for what it was not asked")
        kinds = (Rights, UserAccount, GroupAccount, Consumer)
        said: list[object] = [one for sayings in answers.values() for one in sayings]
        odd = [one for one in said if not isinstance(one, kinds)]
        require(not odd, f"{case.title}: access answers {odd}")
        same = answers == provider.access(desired, text_of)
        require(same, f"{case.title}: access answers differently each time")


def check_checking(provider: AnyProvider, case: ConformanceCase) -> None:
    """`guards` and `check` are pure, and a check is that of its own resource."""
    if not isinstance(provider, CheckingProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    origin = ResourceId(provider.type_name, case.name)
    guards, check = provider.guards(desired), provider.check(origin, desired)
    all_are(guards, ResourceId, case.title)
    all_are((check,), Check, case.title)
    require(check.resource == origin, f"{case.title}: {check} is the check of another resource")
    require(bool(check.argv) and check.timeout > 0, f"{case.title}: {check} cannot be run")
    same = (guards, check) == (provider.guards(desired), provider.check(origin, desired))
    require(same, f"{case.title}: guards or check answer differently each time")


def check_staged(provider: AnyProvider, case: ConformanceCase, arranged: Callable[[ConformanceCase], FakeHost]) -> None:
    """With a staging writer `apply` leaves candidates behind; thrown away they leave nothing, committed all."""
    if not isinstance(provider, StagedProvider):
        return
    desired = provider.parse(case.name, case.attributes)
    answer = provider.can_stage(desired)
    all_are((answer,), bool, case.title)
    require(answer is provider.can_stage(desired), f"{case.title}: can_stage answers differently each time")
    if not answer:
        return
    host = arranged(case)
    for step in steps_for(provider, desired, _seen(provider, case, desired, host)):
        is_deletion = step.operation is Operation.DELETE
        if case.can_delete if is_deletion else case.converges:
            for is_wanted in (False, True):
                _stage(provider, case, step, arranged(case), is_wanted=is_wanted)


def _stage(provider: AnyProvider, case: ConformanceCase, step: Step, host: FakeHost, *, is_wanted: bool) -> None:
    desired = provider.parse(case.name, case.attributes)
    is_deletion = step.operation is Operation.DELETE
    seen = _seen(provider, case, desired, host)
    if is_deletion and isinstance(seen, Present):
        step = deletion_by_engine(provider, desired, seen, host)
    before = host.snapshot()
    writer = host.staging()
    provider.apply(writer, desired, step)
    is_unchanged = not host.journal and host.snapshot() == before
    require(is_unchanged, f"{case.title}: staging {step.operation} changed the host")
    writer.judge(())
    if not is_wanted:
        writer.discard()
        require(host.snapshot() == before, f"{case.title}: what was thrown away left something behind")
        return
    writer.commit()
    left = visible(_seen(provider, case, desired, host), case.title)
    is_done = isinstance(left, Absent) if is_deletion else provider.plan(desired, left) is None
    require(is_done, f"{case.title}: {step.operation} was committed, and there is {left}")


def deletion_by_engine(provider: AnyProvider, desired: object, seen: Present, host: FakeHost) -> Step:
    """Return the deletion that the engine plans, with what it takes along."""
    return deletion_of(with_holds(provider.targets(desired), seen, host.reader()))


def _seen(provider: AnyProvider, case: ConformanceCase, desired: object, host: FakeHost) -> Observation:
    return provider.observe(host.reader(), {case.name: desired})[case.name]
