"""The actions and verdicts of what the target declares, resource by resource in the order of the graph. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Absent, Observation, Scope, Unobservable
from datum.model.plan import Action, Effect, Need, Operation, Step, Verdict, VerdictKind
from datum.planner.anew import folders_of, foreseen_absent
from datum.planner.bringers import bringers_of, may_start
from datum.planner.decide import (
    BreachError,
    decide,
    effects_of,
    hazards_of,
    predicted,
    transaction_of,
)
from datum.planner.holds import Holds
from datum.planner.inputs import PlanInput
from datum.planner.labels import label_of
from datum.planner.makers import Makers
from datum.planner.orphans import OrphanPlan
from datum.planner.refreshes import Refreshes
from datum.planner.removals import changes_left
from datum.planner.stopped import Learnt, Stops, without
from datum.planner.verdicts import impossible, skipped, unobservable
from datum.provider.contract import AnyProvider, PredictingProvider, TransactionalProvider


@frozen
class _Turn:
    """One resource whose turn it is."""

    node: Node
    # As it was looked at, predicted or not.
    observation: Observation
    provider: AnyProvider
    # What it requires keeps it from being done.
    blocker: ResourceId | None
    # It is stopped for others, and to be started again.
    starts_again: bool = False

    @property
    def origin(self) -> ResourceId:
        return self.node.resource.id


@frozen
class _Decision:
    """The step of one resource, and what it rests on."""

    step: Step
    # Actions without which it would need no step, or could not be looked at.
    awaits: frozenset[ResourceId] = frozenset()
    leans_on: frozenset[ResourceId] = frozenset()
    # Whose action provides what it needs.
    providing: Mapping[Need, ResourceId] = field(factory=dict)
    # What is marked before, what lists it and is not, and what does not run meanwhile, with the marks of that.
    marks: Mapping[ResourceId, Operation] = field(factory=dict)
    unmarked: frozenset[ResourceId] = frozenset()
    stops: frozenset[ResourceId] = frozenset()
    marks_if_up: Mapping[ResourceId, Operation] = field(factory=dict)


class Draft:
    """The plan while it is made."""

    def __init__(self, given: PlanInput, orphans: OrphanPlan, *, learnt: Learnt, removals_wait: bool) -> None:
        """Begin with what the deletions of orphans remove: they stand before what would take it along.

        Args:
            given: all that the plan is made from.
            orphans: what becomes of them.
            learnt: what earlier drafts told of what is stopped.
            removals_wait: whether it is known already that every removal of this plan is held.
        """
        # What each resource needs for itself, and the one refresh of a service, which stands after that.
        self.actions: dict[ResourceId, Action] = {}
        self.refreshes: dict[ResourceId, Action] = {}
        # Of what is stopped while others change.
        self.stops: dict[ResourceId, Action] = {}
        self.verdicts: dict[ResourceId, Verdict] = {}
        self.owing = Refreshes(given, removals_wait=removals_wait)
        self._given = given
        self._makers = Makers(given.graph)
        self._holds = Holds(given)
        self.stopping = Stops(given, self._holds, self._makers, removals_wait=removals_wait, learnt=learnt)
        self.deletions = tuple(map(self._marking, orphans.actions))
        self._deletions = {action.resource: action for action in self.deletions}
        self._removals = orphans.removals.copy()
        # For each resource, what would keep a dependant with something to do from doing it.
        self._blockers = {action.resource: action.resource for action in self.deletions if action.hold is not None}
        # Directories that steps so far make anew where something else stands: nothing is in them then.
        self._anew: dict[str, ResourceId] = {}
        self._required: dict[ResourceId, frozenset[ResourceId]] = {}
        # Asked once for each type: comparing an object with a protocol costs as much as planning a resource.
        kinds = {origin.type for origin in given.graph.nodes}
        self._predicting = frozenset(kind for kind in kinds if isinstance(given.providers[kind], PredictingProvider))
        self._joining = {
            kind: provider for kind in kinds if isinstance(provider := given.providers[kind], TransactionalProvider)
        }
        # The candidates of each set; once the last of a set was considered, all of them are skipped or none.
        self._sets: dict[str, list[ResourceId]] = {}
        for origin in given.graph.order:
            if origin in given.graph.guarded:
                self._sets.setdefault(given.graph.guarded[origin], []).append(origin)

    def consider(self, origin: ResourceId) -> None:
        """Give one resource its action or verdict."""
        given = self._given
        node = given.graph.nodes[origin]
        direct = given.graph.requires.get(origin, ())
        self._required[origin] = frozenset(direct).union(*(self._required[target] for target in direct))
        blocker = next((self._blockers[target] for target in direct if target in self._blockers), None)
        if blocker is not None:
            self._blockers[origin] = blocker
        turn = _Turn(node, given.observed.observations[origin], given.providers[origin.type], blocker)
        try:
            self.owing.check(origin)
            turn = self._as_stopped(turn)
            self._decide(turn)
            if origin in given.graph.triggers:
                self._refresh(turn)
        except BreachError as error:
            self.actions.pop(origin, None)
            self._end(node, unobservable(node, error.unobservable))
        key = given.graph.guarded.get(origin)
        if key is not None and self._sets[key][-1] == origin:
            self._settle(self._sets[key])

    def _as_stopped(self, turn: _Turn) -> _Turn:
        """Return the turn of what is stopped for others as that leaves it; nothing keeps it from starting again."""
        doing = (action for one in self.stopping.naming(turn.origin) for action in self._doing(one))
        is_needed = any(turn.origin in action.while_stopped and action.hold is None for action in doing)
        stop = self.stopping.stop_of(turn.origin) if is_needed else None
        if stop is None:
            return turn
        self.stops[turn.origin] = self.stopping.action(stop)
        blocker = None if stop.says.runs else turn.blocker
        return evolve(turn, observation=stop.stopped, blocker=blocker, starts_again=stop.says.runs)

    def _decide(self, turn: _Turn) -> None:
        found = self._step(turn)
        if found is None:
            return
        step, node = found.step, turn.node
        makers = {need: self._makers.of(turn.origin, need.target) for need in step.needs}
        # What this step would make is known even where it is skipped: what needs it is skipped too, not impossible.
        effects = effects_of(node, step, turn.provider)
        self._makers.add(turn.origin, effects)
        self._renew(turn, step, effects)
        blocker = turn.blocker or self._blocker_of(found.awaits)
        if blocker is not None:
            self._skip(node, step, blocker)
            return
        found = self._about_services(turn, found)
        if (unseen := self.owing.unseen_of(found.marks)) is not None:
            self._skip(node, step, unseen, f"{unseen} has to be marked before, and cannot be looked at.")
            return
        kept = None if turn.starts_again else self.stopping.kept_of(found.stops)
        if kept is not None:
            self._skip(node, step, kept.service, kept.detail)
            return
        providing = self._await(node, step, makers)
        if providing is None:
            return
        stuck = min((origin for origin in found.leans_on if origin in self._blockers), default=None)
        if stuck is not None:
            detail = f"It would take along what {stuck} removes, and that is held."
            self._skip(node, step, self._blockers[stuck], detail)
            return
        made = self._makers.found_at(node, step) & self._required[turn.origin]
        if providing or made:
            found = evolve(found, awaits=found.awaits.union(providing.values(), made), providing=providing)
        self._act(turn, found)

    def _about_services(self, turn: _Turn, found: _Decision) -> _Decision:
        """Return the decision with its marks, and what is stopped for it: that needs no mark.

        A start waits for nobody that cannot be looked at: the service would be down for as long as that lasts.
        """
        node, step = turn.node, found.step
        marks = self.owing.marks_of(node, step, turn.observation)
        stops = self.stopping.of_own(node) if turn.starts_again else self.stopping.of(node, step)
        unmarked = self.owing.unmarked_of(turn.origin, {*marks, *stops})
        if turn.starts_again or self.owing.starts(turn.origin, step, turn.observation):
            marks = self.owing.seen_of(marks)
        if not (marks or unmarked or stops):
            return found
        left = self.stopping.left_of(marks, stops)
        return evolve(found, marks=left, unmarked=unmarked, stops=stops, marks_if_up=without(marks, left))

    def _renew(self, turn: _Turn, step: Step, effects: Iterable[Effect]) -> None:
        """Remember which directories the step makes where something else stands, or where nobody can look yet."""
        if step.operation is not Operation.REPLACE and not isinstance(turn.observation, Unobservable):
            return
        made = {effect.target for effect in effects if effect.certain}
        for target in turn.node.targets:
            if target.kind == "path" and target in made and not target.leaf:
                self._anew[target.key] = turn.origin

    def _blocker_of(self, origins: Iterable[ResourceId]) -> ResourceId | None:
        return min((self._blockers[origin] for origin in origins if origin in self._blockers), default=None)

    def _step(self, turn: _Turn) -> _Decision | None:
        """Return what is to be done with a resource; where nothing is, it gets its verdict."""
        observation, node = turn.observation, turn.node
        step = None if isinstance(observation, Unobservable) else decide(node, observation, turn.provider)
        awaits: frozenset[ResourceId] = frozenset()
        if step is None:
            step, awaits = self._foresee(turn)
        if step is not None and not step.takes:
            return _Decision(step, awaits)
        if step is not None:
            taking = self._removals.left_of(step.takes)
            is_whole = step.operation is not Operation.UPDATE or not taking.leans_on.isdisjoint(self._blockers)
            changes = step.changes if is_whole else changes_left(node, step, taking)
            if changes:
                return _Decision(evolve(step, changes=changes, takes=taking.names), awaits, taking.leans_on)
        if isinstance(observation, Unobservable):
            self._end(node, unobservable(node, observation))
        else:
            self.verdicts[turn.origin] = Verdict(VerdictKind.IN_SYNC, location=node.resource.location)
        return None

    def _foresee(self, turn: _Turn) -> tuple[Step | None, frozenset[ResourceId]]:
        """Return the step that may be needed once what it requires has changed, and the actions that change that."""
        nothing: tuple[None, frozenset[ResourceId]] = (None, frozenset())
        observation = turn.observation
        if isinstance(observation, Unobservable):
            if observation.scope is not Scope.RESOURCE:
                return nothing
            if (absent := foreseen_absent(turn.node, observation, self._anew)) is not None:
                makers = frozenset(self._anew[folder] for folder in folders_of(turn.node))
                return decide(turn.node, absent, turn.provider), makers
        if turn.origin.type not in self._predicting:
            return nothing
        changing = frozenset(
            action.resource
            for origin in self._required[turn.origin]
            for action in (self.actions.get(origin), self.refreshes.get(origin))
            if action is not None and action.hold is None
        )
        foreseen = predicted(turn.node, observation, turn.provider) if changing else None
        if foreseen is None:
            return nothing
        return decide(turn.node, foreseen, turn.provider), changing

    def _await(
        self, node: Node, step: Step, makers: Mapping[Need, Sequence[ResourceId]]
    ) -> Mapping[Need, ResourceId] | None:
        """Return whose action provides what the step needs; None when none does, which is its verdict then."""
        found: dict[Need, ResourceId] = {}
        for need in step.needs:
            free = [maker for maker in makers[need] if maker not in self._blockers]
            if not makers[need]:
                self._end(node, impossible(node, step, need))
                return None
            if not free:
                self._skip(node, step, self._blockers[makers[need][0]])
                return None
            found[need] = free[0]
        return found

    def _act(self, turn: _Turn, found: _Decision) -> None:
        origin, node, step, provider = turn.origin, turn.node, found.step, turn.provider
        hazards = hazards_of(node, step, provider)
        if step.takes and step.operation.removes:
            hazards |= {Hazard.DATA_LOSS}
        action = evolve(
            self._action(turn, step, hazards, found.awaits, found.marks),
            requires=frozenset() if turn.starts_again else self._required[origin] | found.awaits | found.leans_on,
            transaction=self._transaction(turn, step),
            unmarked=found.unmarked,
            while_stopped=found.stops,
            marks_if_up=found.marks_if_up,
            unstopped=self.stopping.not_for(node, step),
            starts_again=turn.starts_again,
            hoped=self._makers.hoped(found.providing),
            along=self._makers.along(found.providing),
            guards=self.owing.guards_of_own(origin, step),
        )
        if action.hold is not None:
            self._blockers[origin] = origin
        self.actions[origin] = action
        if step.operation is Operation.DELETE and step.removes:
            self._removals.add(node, step.takes)

    def _action(
        self,
        turn: _Turn,
        step: Step,
        hazards: frozenset[Hazard],
        known_after: Iterable[ResourceId],
        marks: Mapping[ResourceId, Operation],
    ) -> Action:
        hold = self._holds.of(turn.node, step, hazards)
        return Action(
            resource=turn.origin,
            provider=f"{turn.provider.type_name} {turn.provider.version}",
            operation=step.operation,
            changes=step.changes,
            hazards=hazards,
            label=label_of(turn.node, turn.observation, self._given),
            hold=hold,
            known_after=tuple(sorted(known_after)),
            location=turn.node.resource.location,
            step=step,
            marks=marks if hold is None else {},
        )

    def _refresh(self, turn: _Turn) -> None:
        """Plan the one refresh of a service, where it will owe one after its own action."""
        origin, node = turn.origin, turn.node
        own, verdict = self.actions.get(origin), self.verdicts.get(origin)
        if verdict is not None and verdict.kind is not VerdictKind.IN_SYNC:
            return
        listed = self.owing.listed_by(origin)
        causes = [action for one in listed for action in self._doing(one) if origin in action.marks]
        does_own = own if own is not None and own.hold is None else None
        bringers: tuple[ResourceId, ...] = ()
        if isinstance(turn.observation, Absent):
            is_known = does_own is not None
            bringers = bringers_of(origin, self._makers, self._given, self._blockers, is_known=is_known)
        known_after = does_own.known_after if does_own is not None else bringers[:1]
        marking = [action.marks[origin] for action in causes]
        after = frozenset(self._given.graph.triggers[origin]).union(known_after, (one.resource for one in causes))
        blocker = turn.blocker or self._blocker_of(after)
        stale = self.owing.stale_of(origin, marking) if blocker is None and not turn.starts_again else ()
        marking += [Operation.REFRESH_RESTART] if stale else []
        may_run = any(may_start(one, self._given) for one in (*known_after, *bringers))
        step = self.owing.refresh_of(origin, does_own, marking, may_run=may_run)
        if step is None:
            return
        marks = self.owing.marks_of(node, step, turn.observation)
        unseen = self.owing.unseen_of(marks)
        waits_for = blocker or unseen
        if waits_for is not None and own is None:
            self._skip(node, step, waits_for, f"What it owes waits for {waits_for}.")
        if unseen is not None or (blocker is not None and own is None):
            return
        action = evolve(
            self._action(turn, step, hazards_of(node, step, turn.provider), known_after, marks),
            requires=self._required[origin] | after,
            guards=self.owing.guards_of(origin),
            stale=stale,
        )
        if action.hold is not None or blocker is not None:
            self._blockers.setdefault(origin, blocker or origin)
        self.refreshes[origin] = action
        self.verdicts.pop(origin, None)

    def _doing(self, origin: ResourceId) -> Iterable[Action]:
        """Return what is planned for a resource so far, and marks what lists it."""
        found = (self.actions.get(origin), self.refreshes.get(origin), self._deletions.get(origin))
        return [action for action in found if action is not None]

    def _marking(self, deletion: Action) -> Action:
        """Return the deletion of an orphan with the services that listed it, and what is stopped for it."""
        sight = self._given.orphans[deletion.resource].sights[0]
        marks = self.owing.marks_of(sight.node, deletion.step, sight.observation)
        return self.stopping.removing(deletion, sight.node, marks) if deletion.hold is None else deletion

    def _transaction(self, turn: _Turn, step: Step) -> str:
        key = self._given.graph.guarded.get(turn.origin)
        joining = self._joining.get(turn.origin.type)
        if key is None and joining is not None:
            return transaction_of(turn.node, step, joining)
        return key or ""

    def _settle(self, members: Iterable[ResourceId]) -> None:
        """Skip every candidate of a set of which one cannot be had: they make sense together only."""
        stuck = next((origin for origin in members if self._is_stuck(origin)), None)
        if stuck is None:
            return
        for origin in members:
            action = self.actions.get(origin)
            if action is not None and action.hold is None:
                del self.actions[origin]
                detail = f"It is a candidate of one set with {stuck}, which cannot be put in place."
                self._skip(self._given.graph.nodes[origin], action.step, self._blockers[stuck], detail)

    def _is_stuck(self, origin: ResourceId) -> bool:
        if origin in self.actions:
            return self.actions[origin].hold is not None
        return self.verdicts[origin].kind is not VerdictKind.IN_SYNC

    def _skip(self, node: Node, step: Step, blocker: ResourceId, detail: str = "") -> None:
        self._blockers[node.resource.id] = blocker
        self.verdicts[node.resource.id] = skipped(node, step, blocker, detail)

    def _end(self, node: Node, verdict: Verdict) -> None:
        """Say why nothing is done with a resource, which keeps what requires it from being done."""
        self._blockers[node.resource.id] = node.resource.id
        self.verdicts[node.resource.id] = verdict
