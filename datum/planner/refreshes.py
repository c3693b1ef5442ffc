"""A restart is owed, not sent (design 4.1; ADR 0034): which changes are marked first, and who owes a refresh. Pure.

Rules enforced here: each change of what a wanted service lists has the service marked before it, a removal also where
only an older revision of the trail listed it; attributes alone that are made as they were declared before mark
nothing, and neither does clearing a leftover; what is started by its own action owes nothing; what is declared absent,
or shall not run, is neither marked nor refreshed.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from datum.model.check import Check
from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.observation import Absent, NotApplicable, Observation, Present, StaleInput, Unobservable
from datum.model.plan import OWES, READ_BY_NOBODY, Action, Operation, Step, sweeps
from datum.planner.decide import BreachError, all_are, decide, guarded
from datum.planner.inputs import Declaration, PlanInput, Unresolved
from datum.planner.owes import (
    AnyRefreshed,
    fields_after,
    mark_step,
    owed_in,
    refresh_step,
    restart_step,
    runs,
    starts,
    strongest,
    triggers_of,
)
from datum.planner.stale import acted_on, beyond
from datum.provider.contract import AnyProvider, CheckingProvider, RefreshedProvider, ValidatedProvider


@frozen
class _Service:
    """Something wanted that can be refreshed."""

    node: Node
    provider: AnyRefreshed
    observed: Present | Absent
    # As things are.
    owes: str | None
    # After whose change it owes what, as the target says.
    listed: Mapping[ResourceId, Operation]
    # The same of older revisions of the trail.
    listed_before: Mapping[ResourceId, Operation] = field(factory=dict)


class Refreshes:
    """What owes a refresh to what, for one plan."""

    def __init__(self, given: PlanInput, *, removals_wait: bool = False) -> None:
        """Ask the trail what it listed.

        Args:
            given: all that the plan is made from.
            removals_wait: whether every removal of this plan is held.
        """
        self._given = given
        self._removals_wait = removals_wait
        self._services: dict[ResourceId, _Service] = {}
        # Services that cannot be marked, since nobody can look at them.
        self._unseen: set[ResourceId] = set()
        self._breaches: dict[ResourceId, BreachError] = {}
        for origin, listed in given.graph.triggers.items():
            try:
                self._add(origin, listed)
            except BreachError as error:
                self._breaches[origin] = error
                self._unseen.add(origin)
        self._is_refreshed = {kind: isinstance(one, RefreshedProvider) for kind, one in self._types()}
        self._listing = _turned({origin: given.graph.triggers[origin] for origin in (*self._services, *self._unseen)})
        self._listing_before = _turned({origin: one.listed_before for origin, one in self._services.items()})

    def _types(self) -> Iterator[tuple[str, AnyProvider]]:
        """Yield the types of what is listed: whether a type can be refreshed is asked once."""
        triggers = self._given.graph.triggers
        kinds = {one.type for listed in triggers.values() for one in listed}
        kinds |= {one.type for service in self._services.values() for one in service.listed_before}
        return ((kind, self._given.providers[kind]) for kind in sorted(kinds) if kind in self._given.providers)

    def _add(self, origin: ResourceId, listed: Mapping[ResourceId, Operation]) -> None:
        given = self._given
        node, provider = given.graph.nodes[origin], _refreshed(given.providers[origin.type])
        observed = given.observed.observations[origin]
        owes = observed if isinstance(observed, Unobservable) else owed_in(observed, provider)
        if isinstance(observed, Unobservable) or isinstance(owes, Unobservable):
            self._unseen.add(origin)
        elif not isinstance(owes, NotApplicable):
            service = _Service(node, provider, observed, owes, listed)
            before = self._listed_before(service) if given.trail else {}
            self._services[origin] = _Service(node, provider, observed, owes, listed, before)

    def _listed_before(self, service: _Service) -> Mapping[ResourceId, Operation]:
        """Return what the trail lists for a service; nothing for one that shall not run any more."""
        found: dict[ResourceId, Operation] = {}
        for older in self._given.declarations(service.node.resource.id):
            for origin, operation in () if older.resource.absent else triggers_of(older, service.provider).items():
                found[origin] = _stronger(found.get(origin), operation)
        return found if found and (service.listed or self._may_run(service)) else {}

    def _may_run(self, service: _Service) -> bool:
        step = decide(service.node, service.observed, service.provider)
        return runs(service.node, fields_after(service.observed, step), service.provider)

    def check(self, origin: ResourceId) -> None:
        """Answer for what a provider did wrong when it was asked of this service.

        Raises:
            BreachError: it raised or broke its contract.
        """
        if origin in self._breaches:
            raise self._breaches[origin]

    # --- marks ---

    def marks_of(self, node: Node, step: Step, observation: Observation) -> Mapping[ResourceId, Operation]:
        """Return the services that must be marked before a step of a resource is done, and what each owes then."""
        origin = node.resource.id
        found = dict(self._listing.get(origin, {}))
        if step.operation is Operation.DELETE:
            for service, operation in self._listing_before.get(origin, {}).items():
                found[service] = _stronger(found.get(service), operation)
        return dict(sorted(found.items())) if found and self._counts(node, step, observation) else {}

    def unmarked_of(self, origin: ResourceId, marks: Container[ResourceId]) -> frozenset[ResourceId]:
        """Return the services that list a resource and are not marked before its step is done."""
        return frozenset(service for service in self._listing.get(origin, ()) if service not in marks)

    def unseen_of(self, marks: Mapping[ResourceId, Operation]) -> ResourceId | None:
        """Return a service that would have to be marked, and that cannot be looked at."""
        return next((service for service in marks if service in self._unseen), None)

    def seen_of(self, marks: Mapping[ResourceId, Operation]) -> Mapping[ResourceId, Operation]:
        """Return the marks of the services that can be looked at."""
        return {service: due for service, due in marks.items() if service not in self._unseen}

    def _counts(self, node: Node, step: Step, observation: Observation) -> bool:
        """Whether a step changes what a service may have read."""
        if self._removals_wait and (step.operation is Operation.DELETE or step.takes):
            return False
        if self._is_refreshed.get(node.resource.id.type):
            return step.operation.refreshes or self.starts(node.resource.id, step, observation)
        return not sweeps(step.changes) and not self._repairs_attributes(node, step)

    def _repairs_attributes(self, node: Node, step: Step) -> bool:
        """Whether nothing changes that a service has read.

        That is mode, owner or group, where no revision of the trail declares another one: they are repaired, or
        adopted; and what the service manager has to read again, where what it reads is as wanted.
        """
        names = {change.name for change in step.changes}
        if step.operation is not Operation.UPDATE or not names <= READ_BY_NOBODY:
            return False
        wanted = {name: node.resource.attributes.get(name) for name in names}
        return all(self._agrees(entry, node, wanted) for entry in self._given.trail)

    def _agrees(self, entry: Declaration | Unresolved, node: Node, wanted: Mapping[str, object]) -> bool:
        if isinstance(entry, Unresolved):
            return False
        older = entry.nodes.get(node.resource.id)
        if older is None:
            return True
        return not older.resource.absent and {name: older.resource.attributes.get(name) for name in wanted} == wanted

    def starts(self, origin: ResourceId, step: Step, observation: Observation) -> bool:
        """Whether a step of a service starts it.

        Raises:
            BreachError: the provider raised or broke its contract.
        """
        service = self._services.get(origin)
        if service is None or step.operation is Operation.DELETE or isinstance(observation, Unobservable):
            return False
        return starts(service.node, step, observation, service.provider)

    def mark(self, origin: ResourceId, owed: Iterable[str]) -> Action:
        """Return the action that marks a service with the strongest of what it will owe."""
        node, provider = self._given.graph.nodes[origin], self._given.providers[origin.type]
        step = mark_step(self._services[origin].owes, strongest(*owed))
        return Action(
            resource=origin,
            provider=f"{provider.type_name} {provider.version}",
            operation=step.operation,
            changes=step.changes,
            location=node.resource.location,
            step=step,
        )

    def mark_for(self, refresh: Action) -> Action:
        """Return the action that marks a service for evidence: what is restarted is owed from there on."""
        mark = self.mark(refresh.resource, (Operation.REFRESH_RESTART,))
        return evolve(mark, label=refresh.label, requires=refresh.requires, stale=refresh.stale)

    # --- refreshes ---

    def listed_by(self, origin: ResourceId) -> frozenset[ResourceId]:
        """Return what a service lists, and of the trail what may be removed."""
        service = self._services.get(origin)
        return frozenset((*service.listed, *service.listed_before)) if service else frozenset()

    def stale_of(self, origin: ResourceId, marks: Iterable[str]) -> tuple[StaleInput, ...]:
        """Return the evidence for which a service is restarted; nothing that is settled with what it owes anyway.

        Args:
            origin: of something whose turn it is.
            marks: what it is marked with before.
        """
        service = self._services.get(origin)
        if service is None:
            return ()
        return beyond(strongest(service.owes, *marks), acted_on(origin, self._given), service.listed)

    def refresh_of(self, origin: ResourceId, own: Action | None, marks: Iterable[str], *, may_run: bool) -> Step | None:
        """Return the refresh that a service will owe after its own action.

        Args:
            origin: of something whose turn it is.
            own: its own action, if it has one that is not held.
            marks: what it is marked with before.
            may_run: whether something earlier may start it, whatever its own action does.

        Raises:
            BreachError: the provider raised or broke its contract.
        """
        service = self._services.get(origin)
        if service is None:
            return None
        owes = strongest(service.owes, *marks)
        if owes is None:
            return None
        # What something earlier may have started is not started by its own action any more.
        if own is not None and not may_run and self.starts(origin, own.step, service.observed):
            return None
        fields = fields_after(service.observed, own.step if own is not None else None)
        step = refresh_step(service.node, Present({**fields, OWES: owes}), service.provider)
        return restart_step(owes) if step is None and may_run else step

    def guards_of_own(self, origin: ResourceId, step: Step) -> tuple[Check, ...]:
        """Return the checks that judge the host before a service's own action: of every one that leaves it running.

        What runs now may be dead at its turn, and any step is a start then.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        service = self._services.get(origin)
        if service is None or step.operation is Operation.DELETE:
            return ()
        fields = fields_after(service.observed, step)
        return self.guards_of(origin) if runs(service.node, fields, service.provider) else ()

    def guards_of(self, origin: ResourceId) -> tuple[Check, ...]:
        """Return the checks that judge the host before a service is started or refreshed, each once.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        found: dict[tuple[ResourceId, tuple[str, ...]], Check] = {}
        for listed in self._given.graph.triggers.get(origin, ()):
            for check in (*self._guarding.get(listed, ()), *self._validations(listed)):
                found.setdefault((check.resource, check.argv), check)
        return tuple(found.values())

    def _validations(self, origin: ResourceId) -> tuple[Check, ...]:
        node, provider = self._given.graph.nodes[origin], self._given.providers[origin.type]
        if node.resource.absent or not isinstance(provider, ValidatedProvider):
            return ()
        found = guarded(provider, "validation", lambda: provider.validation(origin, node.desired))
        if found is None:
            return ()
        all_are(provider, "validation", (found,), Check)
        return (found,)

    @cached_property
    def _guarding(self) -> Mapping[ResourceId, tuple[Check, ...]]:
        """The checks that guard each candidate."""
        graph = self._given.graph
        found: dict[ResourceId, tuple[Check, ...]] = {}
        for check in (one for some in graph.checks.values() for one in some):
            for guard in _guards_of(graph.nodes[check.resource], self._given.providers[check.resource.type]):
                found[guard] = (*found.get(guard, ()), check)
        return found


def _guards_of(node: Node, provider: AnyProvider) -> tuple[ResourceId, ...]:
    assert isinstance(provider, CheckingProvider)  # noqa: S101  # the graph has checks of nothing else
    return guarded(provider, "guards", lambda: tuple(provider.guards(node.desired)))


def _refreshed(provider: AnyProvider) -> AnyRefreshed:
    assert isinstance(provider, RefreshedProvider)  # noqa: S101  # the graph has triggers of nothing else
    return provider


def _stronger(one: Operation | None, other: Operation) -> Operation:
    return other if one is None or strongest(one, other) == other else one


def _turned(
    triggers: Mapping[ResourceId, Mapping[ResourceId, Operation]],
) -> Mapping[ResourceId, Mapping[ResourceId, Operation]]:
    """Return who lists each resource."""
    found: dict[ResourceId, dict[ResourceId, Operation]] = {}
    for service, listed in triggers.items():
        for origin, operation in listed.items():
            found.setdefault(origin, {})[service] = operation
    return found
