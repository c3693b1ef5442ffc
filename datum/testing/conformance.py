"""What every provider must do, as tests that any provider runs: subclass `ProviderConformance` in a test file.

    class TestMyType(ProviderConformance):
        provider_class: ClassVar[type[AnyProvider]] = MyProvider
        cases: ClassVar[tuple[ConformanceCase, ...]] = (
            ConformanceCase("create", "one", {"size": 1}, Operation.CREATE),
            ...
        )

Every rule of `datum.provider.contract` that can be seen from outside is tried on every case, on a host in memory.
"""

import re
from collections.abc import Mapping
from typing import ClassVar

from attrs import evolve

from datum.model.graph import Target
from datum.model.manifest import AttributeValue, Hazard
from datum.model.observation import Absent, Observation, Present
from datum.model.plan import Effect, Step
from datum.provider.contract import CONTRACT_VERSION, AnyProvider, ImplicitEdge, Provider, Removal, SettledProvider
from datum.provider.host import HostError
from datum.testing.cases import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.optional import (
    check_absent_name,
    check_access,
    check_checking,
    check_predicted,
    check_related,
    check_staged,
    check_stale,
    check_stopped,
    deletion_by_engine,
)
from datum.testing.rules import (
    EveryTarget,
    Refusal,
    adopted,
    agrees,
    all_are,
    apply_raises,
    check_step,
    complaints_of,
    parsed,
    plain_attributes,
    properties_of,
    require,
    require_json,
    steps_for,
    visible,
)

__all__ = ["ConformanceCase", "ProviderConformance"]

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*")


class ProviderConformance:
    """The rules of the contract; a subclass names the provider and at least one case of each kind it knows."""

    provider_class: ClassVar[type[AnyProvider]]
    cases: ClassVar[tuple[ConformanceCase, ...]]

    def make_host(self) -> FakeHost:
        """Return the host that each case arranges; override it to arrange what all cases share."""
        return FakeHost()

    def test_is_what_the_registry_accepts(self) -> None:
        """The provider says who it is, and describes every field it reads."""
        provider = self.provider_class()
        require(isinstance(provider, Provider), "it lacks a member of the contract")
        require(bool(_TYPE_NAME.fullmatch(provider.type_name)), f"'{provider.type_name}' is no name of a type")
        require(provider.contract_version == CONTRACT_VERSION, "it is made for another version of the contract")
        require(provider.apply_deadline > 0 and provider.observe_deadline > 0, "a deadline is not positive")
        properties = properties_of(provider)
        require(provider.schema.get("additionalProperties") is False, "its schema lets unknown fields through")
        require(set(properties) == set(provider.fields), "schema and `fields` do not name the same fields")
        for name, about in properties.items():
            require(isinstance(about, Mapping) and bool(about.get("description")), f"{name} has no description")

    def test_schema_is_one(self) -> None:
        """The schema is a JSON Schema, and accepts what every case declares."""
        provider = self.provider_class()
        schema_complaints = complaints_of(provider)
        for case in self.cases:
            errors = schema_complaints(plain_attributes(case.attributes))
            require(not errors, f"{case.title}: {errors}")

    def test_parse_answers_for_whatever_the_schema_lets_through(self) -> None:
        """`parse` returns, or raises `DesiredError`, for every value of the schema's shape; equal each time."""
        from datum.testing.schemas import attributes_for, check_all

        provider = self.provider_class()

        def parse(attributes: Mapping[str, AttributeValue]) -> None:
            first = parsed(provider, self.cases[0].name, attributes)
            require(first == parsed(provider, self.cases[0].name, attributes), "parse answers differently each time")

        check_all(attributes_for(provider.schema), parse)

    def test_normal_names_are_their_own_normal_form(self) -> None:
        """`normal_name` is idempotent, and the names of the cases are normal."""
        provider = self.provider_class()
        for case in self.cases:
            require(provider.normal_name(case.name) == case.name, f"{case.title}: {case.name} is not normal")

    def test_pure_functions_are_pure(self) -> None:
        """Equal arguments give equal answers; neither the provider nor an argument changes."""
        provider = self.provider_class()
        for case in self.cases:
            first, second = self._pure_answers(provider, case), self._pure_answers(provider, case)
            require(first == second, f"{case.title}: {first} is not {second}")
        require(not vars(provider), f"it keeps state: {sorted(vars(provider))}")

    def test_answers_have_the_types_of_the_contract(self) -> None:
        """Targets, edges, effects, hazards and removal are what they say."""
        provider = self.provider_class()
        for case in self.cases:
            desired = provider.parse(case.name, case.attributes)
            all_are(provider.targets(desired), Target, case.title)
            all_are(provider.edges(desired, EveryTarget()), ImplicitEdge, case.title)
            require(isinstance(provider.removal(desired), Removal), f"{case.title}: removal answers no Removal")
            seen = self._seen(provider, case, self._arranged(case))
            for step in steps_for(provider, desired, seen):
                all_are(provider.effects(desired, step), Effect, case.title)
                all_are(tuple(provider.hazards(desired, step)), Hazard, case.title)

    def test_observe_answers_exactly_what_it_was_asked(self) -> None:
        """Neither more nor fewer names; nothing when nothing is asked; together as alone."""
        provider = self.provider_class()
        require(not provider.observe(self.make_host().reader(), {}), "it answers for names that nobody asked for")
        host = self.make_host()
        desired = {}
        for case in self.cases:
            if case.name not in desired:
                case.arrange(host)
                desired[case.name] = provider.parse(case.name, case.attributes)
        together = provider.observe(host.reader(), desired)
        require(set(together) == set(desired), f"asked for {sorted(desired)}, answered for {sorted(together)}")
        for name, one in desired.items():
            alone = provider.observe(host.reader(), {name: one})
            require(alone == {name: together[name]}, f"{name} is another thing when it is looked at alone")

    def test_observing_changes_nothing(self) -> None:
        """`observe` gets no method that writes, and what it finds are JSON values."""
        provider = self.provider_class()
        for case in self.cases:
            host = self._arranged(case)
            before = host.snapshot()
            observation = self._seen(provider, case, host)
            require(not host.journal and host.snapshot() == before, f"{case.title}: observing changed the host")
            require_json(visible(observation, case.title), case.title)

    def test_plan_answers_the_operation_of_the_case(self) -> None:
        """In sync is None; create from absence only; a step changes something."""
        provider = self.provider_class()
        for case in self.cases:
            step = self._step(provider, case, self._arranged(case))
            found = None if step is None else step.operation
            require(found is case.operation, f"{case.title}: {found} is planned, {case.operation} is expected")

    def test_applied_steps_leave_nothing_to_do(self) -> None:
        """Apply, observe, plan: nothing is left; a second pass has nothing to write."""
        provider = self.provider_class()
        for case in self.cases:
            host = self._arranged(case)
            step = self._step(provider, case, host)
            if step is None or not case.converges:
                continue
            self._apply(provider, host, provider.parse(case.name, case.attributes), step)
            require(bool(host.journal), f"{case.title}: the step did nothing")
            left = self._step(provider, case, host)
            require(left is None, f"{case.title}: after its step there is left: {left}")

    def test_deleted_is_absent(self) -> None:
        """After a deletion that the engine planned nothing is there."""
        provider = self.provider_class()
        for case in self.cases:
            host = self._arranged(case)
            seen = self._seen(provider, case, host)
            if not isinstance(seen, Present) or not case.can_delete:
                continue
            desired = provider.parse(case.name, case.attributes)
            self._apply(provider, host, desired, deletion_by_engine(provider, desired, seen, host))
            gone = self._seen(provider, case, host)
            require(isinstance(gone, Absent), f"{case.title}: after its deletion there is {gone}")

    def test_what_cannot_be_looked_at_is_unobservable(self) -> None:
        """Whichever look fails: no exception, no absence, no other value than without the failure."""
        provider = self.provider_class()
        for case in self.cases:
            host = self._arranged(case)
            clean = self._seen(provider, case, host)
            for turn in range(len(host.calls)):
                host = self._arranged(case)
                host.fail(HostError("The look fails."), skip=turn, times=1)
                found = self._seen(provider, case, host)
                require(agrees(found, clean), f"{case.title}: look {turn + 1} fails, and it says {found}")

    def test_failures_spoil_no_neighbour(self) -> None:
        """What fails on a target of one resource changes nothing for another."""
        provider = self.provider_class()
        first, *others = self.cases
        for other in (case for case in others if case.name != first.name):
            host = self._arranged(other)
            first.arrange(host)
            desired = {case.name: provider.parse(case.name, case.attributes) for case in (first, other)}
            clean = provider.observe(host.reader(), desired)
            for target in (target for target in provider.targets(desired[first.name]) if not target.shared):
                host.fail(HostError("The look fails."), subject=target.key)
            found = provider.observe(host.reader(), desired)
            require(found[other.name] == clean[other.name], f"{other.title}: spoilt by a failure of {first.name}")

    def test_failed_actions_raise_and_can_be_repeated(self) -> None:
        """Whichever call fails, before or after its work: `apply` raises, and the next pass converges."""
        provider = self.provider_class()
        for case in self.cases:
            if not case.converges or case.operation is None:
                continue
            for turn in range(self._length_of_apply(provider, case)):
                for after in (False, True):
                    self._fail_and_repeat(provider, case, turn, after=after)

    def test_what_is_adopted_is_in_sync(self) -> None:
        """Attributes from an observation pass the schema, and declare what was observed."""
        provider = self.provider_class()
        schema_complaints = complaints_of(provider)
        for case in self.cases:
            if isinstance(parsed(provider, case.name, {}), Refusal):
                continue
            host = self._arranged(case)
            seen = self._seen(provider, evolve(case, attributes={}), host)
            attributes = adopted(provider, case.name, seen) if isinstance(seen, Present) else None
            if attributes is None:
                continue
            errors = schema_complaints(attributes)
            require(not errors, f"{case.title}: the schema refuses {attributes}: {errors}")
            step = self._step(provider, evolve(case, attributes=attributes), host)
            left = [change.name for change in step.changes if change.name in provider.fields] if step else []
            require(not left, f"{case.title}: adopted, and {left} would change")

    def test_related_state_has_the_same_targets_and_is_related_once(self) -> None:
        """`relate` is pure, changes no target, and has nothing to add a second time."""
        for case in self.cases:
            check_related(self.provider_class(), case)

    def test_the_name_by_which_it_goes_names_the_same_thing(self) -> None:
        """`absent_name` is pure, and nothing but that name is needed to mean something the resource holds."""
        for case in self.cases:
            check_absent_name(self.provider_class(), case)

    def test_predicted_state_can_be_planned_against(self) -> None:
        """`predict` is pure, from whatever was observed, and what it answers is what `plan` understands."""
        for case in self.cases:
            check_predicted(self.provider_class(), case, self._arranged(case))

    def test_a_stop_is_pure_and_leaves_nothing_running(self) -> None:
        """`stop` answers a step of its own operation that leaves nothing of the resource running."""
        for case in self.cases:
            check_stopped(self.provider_class(), case, self._arranged(case))

    def test_evidence_is_acted_on_or_not(self) -> None:
        """`acts_on_stale` is pure, and answers yes or no."""
        for case in self.cases:
            check_stale(self.provider_class(), case)

    def test_who_may_read_what_is_said_of_what_was_asked(self) -> None:
        """`access` is pure, and answers for the resources that it was asked for, with or without their texts."""
        for case in self.cases:
            check_access(self.provider_class(), case)

    def test_checks_name_resources_and_are_programs(self) -> None:
        """`guards` and `check` are pure, and a check is that of its own resource."""
        for case in self.cases:
            check_checking(self.provider_class(), case)

    def test_what_can_be_staged_changes_nothing_until_it_is_committed(self) -> None:
        """With a staging writer `apply` leaves candidates behind; thrown away they leave nothing, committed all."""
        for case in self.cases:
            check_staged(self.provider_class(), case, self._arranged)

    def _apply(self, provider: AnyProvider, host: FakeHost, desired: object, step: Step) -> None:
        """Do a step, and tell whom it concerns where that is the type's way."""
        provider.apply(host.writer(), desired, step)
        if isinstance(provider, SettledProvider):
            provider.settle(host.writer())

    def _arranged(self, case: ConformanceCase) -> FakeHost:
        host = self.make_host()
        case.arrange(host)
        return host

    def _seen(self, provider: AnyProvider, case: ConformanceCase, host: FakeHost) -> Observation:
        desired = provider.parse(case.name, case.attributes)
        return provider.observe(host.reader(), {case.name: desired})[case.name]

    def _step(self, provider: AnyProvider, case: ConformanceCase, host: FakeHost) -> Step | None:
        seen = visible(self._seen(provider, case, host), case.title)
        step = provider.plan(provider.parse(case.name, case.attributes), seen)
        if step is not None:
            check_step(step, seen, case.title)
        return step

    def _pure_answers(self, provider: AnyProvider, case: ConformanceCase) -> tuple[object, ...]:
        desired = provider.parse(case.name, case.attributes)
        seen = self._seen(provider, case, self._arranged(case))
        steps = steps_for(provider, desired, seen)
        return (
            desired,
            provider.targets(desired),
            provider.edges(desired, EveryTarget()),
            provider.removal(desired),
            steps,
            tuple((provider.effects(desired, step), provider.hazards(desired, step)) for step in steps),
        )

    def _length_of_apply(self, provider: AnyProvider, case: ConformanceCase) -> int:
        host = self._arranged(case)
        step = self._step(provider, case, host)
        host.calls.clear()
        if step is not None:
            provider.apply(host.writer(), provider.parse(case.name, case.attributes), step)
        return len(host.calls)

    def _fail_and_repeat(self, provider: AnyProvider, case: ConformanceCase, turn: int, *, after: bool) -> None:
        host = self._arranged(case)
        desired = provider.parse(case.name, case.attributes)
        step = self._step(provider, case, host)
        host.fail(HostError("The action fails."), skip=turn, times=1, after=after)
        has_raised = step is not None and apply_raises(provider, host, desired, step)
        was_hit = host.world.faults[0].times == 0
        require(has_raised or not was_hit, f"{case.title}: call {turn + 1} of apply fails, and apply does not raise")
        host.heal()
        again = self._step(provider, case, host)
        if again is not None:
            self._apply(provider, host, desired, again)
        left = self._step(provider, case, host)
        require(left is None, f"{case.title}: after a failure and a second pass there is left: {left}")
