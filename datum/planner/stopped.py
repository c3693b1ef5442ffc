"""What is stopped while others change (`while_stopped`; ADR 0043): what asks for it, and what keeps it running. Pure.

Rules enforced here: every change of what names a service has it stopped, attributes alone included, but neither a
leftover that is cleared nor a daemon-reload; nothing is stopped that could not be started again, or whose stop or start
is held; a stop that the same pass takes back is no outage.
"""

from collections.abc import Collection, Container, Iterable, Mapping

from attrs import evolve, field, frozen

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Present, Unobservable
from datum.model.plan import LOADED, Action, Change, Hold, HoldReason, Need, Operation, Step, Verdict, VerdictKind
from datum.planner.decide import BreachError, all_are, decide, guarded, hazards_of
from datum.planner.holds import Holds
from datum.planner.inputs import PlanInput
from datum.planner.makers import Makers
from datum.planner.owes import fields_after
from datum.provider.contract import AnyProvider
from datum.provider.stopped import RUNNING, StoppedProvider, Stopping


@frozen
class Stop:
    """What stopping one service while others change takes."""

    node: Node
    says: Stopping
    step: Step
    hazards: frozenset[Hazard]
    # As it is then.
    stopped: Present | Absent


@frozen
class Kept:
    """Why a service is not stopped."""

    service: ResourceId
    # Full sentence.
    detail: str
    # What holds it, where something does.
    hold: Hold | None = None
    # Nothing makes what its start needs, of all that is known so far.
    is_lacking: bool = False


@frozen
class Learnt:
    """What earlier drafts of the same plan told of its stops."""

    # What their steps make: what a start needs may be made by what comes after the change.
    foreseen: Makers | None = None
    # What was stopped, and whose start turned out to be stuck.
    kept: Mapping[ResourceId, Kept] = field(factory=dict)


def unknown_in(observed: Present | Absent) -> Unobservable | None:
    """Return why nobody knows whether something runs; None where that is known."""
    found = observed.fields.get(RUNNING)
    return found if isinstance(found, Unobservable) else None


def stop_step(node: Node, observed: Present | Absent, provider: AnyProvider) -> Step | None:
    """Return the step that stops it; None where nothing of it runs, or its type never does.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if not isinstance(provider, StoppedProvider):
        return None
    step = guarded(provider, "stop", lambda: provider.stop(node.desired, observed))
    if step is None:
        return None
    all_are(provider, "stop", (step,), Step)
    all_are(provider, "stop", step.changes, Change)
    if step.operation is not Operation.STOP or not step.changes or step.needs or step.takes:
        raise BreachError(provider, "stop answered a step that does more than stop it")
    return step


def stop_hazards(node: Node, step: Step, provider: AnyProvider) -> frozenset[Hazard]:
    """Return what a stop risks: no outage where it is started again.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    says = stopping_of(node, provider)
    taken_back = {Hazard.OUTAGE} if says is not None and says.runs else set()
    return hazards_of(node, step, provider) - taken_back


def stopping_of(node: Node, provider: AnyProvider) -> Stopping | None:
    """Return what a declaration says of stopping it; None: nothing would start it again.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if not isinstance(provider, StoppedProvider):
        return None
    if node.resource.absent:
        return Stopping(runs=False)
    says = guarded(provider, "stopping", lambda: provider.stopping(node.desired))
    if says is not None:
        all_are(provider, "stopping", (says,), Stopping)
    return says


def counts(step: Step) -> bool:
    """Whether a step is a change that is made while services are stopped: neither a sweep nor a daemon-reload alone."""
    return not step.changes or not all(change.sweeps or change.name == LOADED for change in step.changes)


def without(marks: Mapping[ResourceId, Operation], others: Container[ResourceId]) -> Mapping[ResourceId, Operation]:
    """Return the marks of all services but some."""
    return {one: due for one, due in marks.items() if one not in others}


class Stops:
    """What is stopped for what, for one plan."""

    def __init__(self, given: PlanInput, holds: Holds, makers: Makers, *, removals_wait: bool, learnt: Learnt) -> None:
        """Begin.

        Args:
            given: all that the plan is made from.
            holds: what the declarations hold.
            makers: of the plan so far, as it grows.
            removals_wait: whether every removal of this plan is held.
            learnt: what earlier drafts told.
        """
        self._given = given
        self._holds = holds
        self._makers, self._foreseen = makers, learnt.foreseen
        self._is_lacking = False
        self._removals_wait = removals_wait
        self._found: dict[ResourceId, Stop | Kept | None] = {**learnt.kept}
        # Deletions of orphans for which each is stopped.
        self._removals: dict[ResourceId, list[ResourceId]] = {}

    def of(self, node: Node, step: Step) -> frozenset[ResourceId]:
        """Return what must not run while a step of a resource is done.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        if self._removals_wait and (step.operation is Operation.DELETE or step.takes):
            return frozenset()
        return self._named_by(node) if counts(step) else frozenset()

    def not_for(self, node: Node, step: Step) -> frozenset[ResourceId]:
        """Return what a resource names and is not stopped for a step of it, which changes nothing that counts.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        return frozenset() if counts(step) else self._named_by(node)

    def of_own(self, node: Node) -> frozenset[ResourceId]:
        """Return what must not run while something that is stopped changes in more than that it runs.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        origin = node.resource.id
        observed = self._given.observed.observations[origin]
        if isinstance(observed, Unobservable) or not node.resource.while_stopped:
            return frozenset()
        step = decide(node, observed, self._given.providers[origin.type])
        return self.of(node, step) if step is not None else frozenset()

    def _named_by(self, node: Node) -> frozenset[ResourceId]:
        named = node.resource.while_stopped
        graph, providers = self._given.graph, self._given.providers
        return frozenset(
            one
            for one in named
            if one in graph.nodes
            and one != node.resource.id
            and stopping_of(graph.nodes[one], providers[one.type]) is not None
        )

    def naming(self, service: ResourceId) -> tuple[ResourceId, ...]:
        """Return what it may be stopped for."""
        return (*self._given.graph.stopped.get(service, ()), *self._removals.get(service, ()))

    def kept_of(self, services: Iterable[ResourceId]) -> Kept | None:
        """Return why one of these is not stopped; None where each is, or does not run.

        Raises:
            BreachError: a provider raised or broke its contract.
        """
        return next((found for one in sorted(services) if isinstance(found := self._find(one), Kept)), None)

    def stop_of(self, service: ResourceId) -> Stop | None:
        """Return what stops it; None where it does not run, or is not stopped.

        Raises:
            BreachError: its provider raised or broke its contract.
        """
        found = self._find(service)
        return found if isinstance(found, Stop) else None

    @property
    def lacking(self) -> Makers | None:
        """What the steps of this draft make, where something was kept running since nothing made what its start needs.

        It was asked before all of these were known: the plan is drafted again with them.
        """
        return self._makers if self._is_lacking else None

    def _find(self, service: ResourceId) -> Stop | Kept | None:
        if service in self._found:
            return self._found[service]
        found = self._decide(service)
        if isinstance(found, Kept) and found.is_lacking:
            # Something that stands later may make what it lacks.
            self._is_lacking = True
        else:
            self._found[service] = found
        return found

    def _decide(self, service: ResourceId) -> Stop | Kept | None:
        node, provider = self._given.graph.nodes[service], self._given.providers[service.type]
        observed = self._given.observed.observations[service]
        if isinstance(observed, Unobservable) or unknown_in(observed) is not None:
            return Kept(service, f"{service} would have to be stopped for it, and cannot be looked at.")
        step, says = stop_step(node, observed, provider), stopping_of(node, provider)
        if step is None or says is None:
            return None
        hazards = stop_hazards(node, step, provider)
        hold = self._holds.of(node, step, hazards)
        if hold is not None:
            return Kept(service, f"{service} would have to be stopped for it, and that is held: {hold.detail}", hold)
        stop = Stop(node, says, step, hazards, evolve(observed, fields=fields_after(observed, step)))
        return (self._kept_down(stop, provider) if says.runs else None) or stop

    def _kept_down(self, stop: Stop, provider: AnyProvider) -> Kept | None:
        """Return why it could not be started again."""
        node = stop.node
        service = node.resource.id
        step = decide(node, stop.stopped, provider)
        if step is None:
            return Kept(service, f"{service} would have to be stopped for it, and nothing would start it again.")
        for need in step.needs:
            if not self._is_made(service, need):
                detail = f"{service} would have to be stopped for it, and stay so: {need.detail}"
                return Kept(service, detail, is_lacking=True)
        hold = self._holds.of(node, step, hazards_of(node, step, provider))
        if hold is not None:
            detail = f"{service} would have to be stopped for it, and its start is held: {hold.detail}"
            return Kept(service, detail, hold)
        kept = self.kept_of(self.of_own(node))
        if kept is None:
            return None
        return evolve(kept, detail=f"{service} would have to be stopped for it, and changes itself. {kept.detail}")

    def _is_made(self, service: ResourceId, need: Need) -> bool:
        """Whether something makes what a start needs, and stands before it."""
        if self._makers.of(service, need.target):
            return True
        makers = self._foreseen.of(service, need.target) if self._foreseen is not None else ()
        if not makers:
            return False
        order = self._given.graph.order
        return not set(makers).isdisjoint(order[: order.index(service)])

    def stuck_in(
        self, stops: Iterable[ResourceId], verdicts: Mapping[ResourceId, Verdict]
    ) -> Mapping[ResourceId, Kept]:
        """Return what this draft stops and cannot start again, since what its start needs is not done after all.

        Whether a maker is stuck is known at the turn of the start only: the plan is drafted again without these stops.

        Args:
            stops: what is stopped.
            verdicts: of what gets no action.
        """
        found = {}
        for service in stops:
            stop, verdict = self.stop_of(service), verdicts.get(service)
            if stop is None or not stop.says.runs or verdict is None:
                continue
            if verdict.kind is VerdictKind.SKIPPED:
                detail = f"{service} would have to be stopped for it, and its start waits for {verdict.blocked_by}."
                found[service] = Kept(service, detail)
        return found

    def left_of(
        self, marks: Mapping[ResourceId, Operation], services: Collection[ResourceId]
    ) -> Mapping[ResourceId, Operation]:
        """Return the marks that a change needs for which these are stopped: what is started after it owes nothing.

        What does not run is marked as ever, since somebody may start it.
        """
        return {one: due for one, due in marks.items() if one not in services or self.stop_of(one) is None}

    def removing(self, deletion: Action, node: Node, marks: Mapping[ResourceId, Operation]) -> Action:
        """Return the deletion of an orphan with its marks, and with what its newest declaration wants stopped."""
        try:
            services = self.of(node, deletion.step)
            kept = self.kept_of(services)
        except BreachError as error:
            services, kept = frozenset(), Kept(deletion.resource, error.unobservable.detail)
        if kept is None:
            for service in services:
                self._removals.setdefault(service, []).append(deletion.resource)
            left = self.left_of(marks, services)
            return evolve(deletion, marks=left, while_stopped=services, marks_if_up=without(marks, left))
        found = kept.hold or Hold(HoldReason.UNOBSERVABLE, "")
        return evolve(deletion, hold=evolve(found, detail=kept.detail))

    def action(self, stop: Stop) -> Action:
        """Return the action that stops a service."""
        service = stop.node.resource.id
        provider = self._given.providers[service.type]
        return Action(
            resource=service,
            provider=f"{provider.type_name} {provider.version}",
            operation=stop.step.operation,
            changes=stop.step.changes,
            hazards=stop.hazards,
            location=stop.node.resource.location,
            step=stop.step,
        )

    def in_order(self, stops: Mapping[ResourceId, Action], own: Mapping[ResourceId, Action]) -> list[Action]:
        """Return stops as they follow each other: what starts others first, then in the reverse order of the graph.

        Without those that their service's own action does not take back, whatever came in between: what they are for
        finds it running, and is held.

        Args:
            stops: by service.
            own: what each resource needs for itself.
        """
        place = {origin: number for number, origin in enumerate(self._given.graph.order)} if len(stops) > 1 else {}
        found: list[tuple[bool, int, ResourceId]] = []
        for service in stops:
            stop, start = self.stop_of(service), own.get(service)
            is_taken_back = start is not None and start.hold is None
            if stop is not None and (is_taken_back or not stop.says.runs):
                found.append((not stop.says.starts_others, -place.get(service, 0), service))
        return [stops[service] for _, _, service in sorted(found)]
