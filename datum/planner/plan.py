"""The whole instruction: a total order of actions, and a verdict for every resource that gets none. Pure.

Rules enforced here: equal inputs give an equal plan; order respects every edge, ties broken by id; no action has an
unobservable resource among what it requires; what nothing can provide is `impossible` and never blocks an unrelated
branch; hazards need `allow`, removals stay within the limit, and nothing is removed while something is unobservable.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve

from datum.model.graph import Node, Target
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.observation import Observation, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Need, Operation, Plan, Step, Verdict, VerdictKind
from datum.planner.decide import (
    BreachError,
    decide,
    effects_of,
    hazards_of,
    is_protected,
    transaction_of,
    unallowed,
)
from datum.planner.identity import plan_identity
from datum.planner.inputs import Declaration, PlanInput
from datum.planner.labels import label_of
from datum.planner.orphans import plan_orphans
from datum.provider.contract import AnyProvider


def plan_pass(given: PlanInput) -> Plan:
    """Plan one pass; never fails for what a host or a manifest can be."""
    draft = _Draft(given)
    for origin in given.graph.order:
        draft.consider(origin)
    hold = _removals_hold(draft.verdicts.values())
    actions = [_hold_removal(action, hold) for action in draft.actions.values()]
    orphans = plan_orphans(given, hold)
    ordered = _apply_limit([*actions, *orphans.actions], given)
    plan = Plan(
        revision=given.revision,
        host=given.host,
        manifest_digest=given.manifest_digest,
        actions=tuple(ordered),
        verdicts=draft.verdicts,
        orphans=orphans.orphans,
    )
    return evolve(plan, plan_id=plan_identity(plan))


class _Draft:
    """The plan while it is made, in the order of the graph."""

    def __init__(self, given: PlanInput) -> None:
        self._given = given
        self.actions: dict[ResourceId, Action] = {}
        self.verdicts: dict[ResourceId, Verdict] = {}
        # For each resource, what would keep a dependant with something to do from doing it.
        self._blockers: dict[ResourceId, ResourceId] = {}
        # Whose steps so far bring a target into being: certainly, or only possibly.
        self._makers: dict[Target, list[tuple[bool, ResourceId]]] = {}
        self._required: dict[ResourceId, frozenset[ResourceId]] = {}

    def consider(self, origin: ResourceId) -> None:
        """Give one resource its action or verdict."""
        given = self._given
        node = given.graph.nodes[origin]
        direct = given.graph.requires.get(origin, ())
        self._required[origin] = frozenset(direct).union(*(self._required[target] for target in direct))
        blocker = next((self._blockers[target] for target in direct if target in self._blockers), None)
        if blocker is not None:
            self._blockers[origin] = blocker
        try:
            self._decide(node, given.observed.observations[origin], given.providers[origin.type], blocker)
        except BreachError as error:
            self._refuse(node, error.unobservable)

    def _decide(self, node: Node, observation: Observation, provider: AnyProvider, blocker: ResourceId | None) -> None:
        if isinstance(observation, Unobservable):
            self._refuse(node, observation)
            return
        step = decide(node, observation, provider)
        if step is None:
            self.verdicts[node.resource.id] = Verdict(VerdictKind.IN_SYNC, location=node.resource.location)
            return
        makers = {need: self._makers.get(need.target, []) for need in step.needs}
        # What this step would make is known even where it is skipped: what needs it is skipped too, not impossible.
        for effect in effects_of(node, step, provider):
            self._makers.setdefault(effect.target, []).append((effect.certain, node.resource.id))
        if blocker is not None:
            self._skip(node, step, blocker)
            return
        known_after = self._await(node, step, makers)
        if known_after is not None:
            self._act(node, observation, step, known_after)

    def _await(
        self, node: Node, step: Step, makers: Mapping[Need, list[tuple[bool, ResourceId]]]
    ) -> frozenset[ResourceId] | None:
        """Return whose actions provide what the step needs; None when they do not, which is its verdict then."""
        found: set[ResourceId] = set()
        for need in step.needs:
            free = [maker for maker in makers[need] if maker[1] not in self._blockers]
            if not makers[need]:
                self._give_up(node, step, need)
                return None
            if not free:
                self._skip(node, step, self._blockers[makers[need][0][1]])
                return None
            found.add(next((maker for is_certain, maker in free if is_certain), free[0][1]))
        return frozenset(found)

    def _act(self, node: Node, observation: Observation, step: Step, known_after: frozenset[ResourceId]) -> None:
        origin = node.resource.id
        provider = self._given.providers[origin.type]
        hazards = hazards_of(node, step, provider)
        action = Action(
            resource=origin,
            provider=f"{provider.type_name} {provider.version}",
            operation=step.operation,
            changes=step.changes,
            hazards=hazards,
            label=label_of(node, observation, self._given),
            hold=_hold(node, step, hazards, self._given),
            known_after=tuple(sorted(known_after)),
            requires=self._required[origin] | known_after,
            location=node.resource.location,
            step=step,
            transaction=transaction_of(node, step, provider),
        )
        if action.hold is not None:
            self._blockers[origin] = origin
        self.actions[origin] = action

    def _skip(self, node: Node, step: Step, blocker: ResourceId) -> None:
        self._blockers[node.resource.id] = blocker
        self.verdicts[node.resource.id] = Verdict(
            VerdictKind.SKIPPED,
            blocked_by=blocker,
            detail=f"It requires {blocker}.",
            step=step,
            location=node.resource.location,
        )

    def _give_up(self, node: Node, step: Step, need: Need) -> None:
        self._blockers[node.resource.id] = node.resource.id
        self.verdicts[node.resource.id] = Verdict(
            VerdictKind.IMPOSSIBLE,
            detail=f"{need.detail} Nothing that comes before it in this plan provides the {need.target}.",
            step=step,
            location=node.resource.location,
        )

    def _refuse(self, node: Node, found: Unobservable) -> None:
        self._blockers[node.resource.id] = node.resource.id
        self.verdicts[node.resource.id] = Verdict(
            VerdictKind.UNOBSERVABLE, detail=found.detail, unobservable=found, location=node.resource.location
        )


def _hold(node: Node, step: Step, hazards: frozenset[Hazard], given: PlanInput) -> Hold | None:
    resource = node.resource
    older = given.declarations(resource.id)
    if resource.audit:
        return Hold(
            HoldReason.AUDIT,
            f"{resource.id} is declared with 'audit: true': drift is reported, not repaired.",
            "remove 'audit' from its declaration",
        )
    if (step.operation.removes or hazards) and is_protected(node, older):
        return Hold(
            HoldReason.PROTECT,
            f"{resource.id} is declared with 'protect: true' by the target or a revision of the trail.",
            f"drop 'protect' in one revision, {step.operation} in the next",
        )
    if risks := sorted(unallowed(node, hazards, older)):
        return Hold(
            HoldReason.HAZARD,
            f"This {step.operation} risks {', '.join(risks)}.",
            f"add 'allow: [{', '.join(risks)}]' to {resource.id} ({resource.location})",
        )
    return None


def _removals_hold(verdicts: Iterable[Verdict]) -> Hold | None:
    for verdict in verdicts:
        if verdict.kind is VerdictKind.UNOBSERVABLE:
            return Hold(
                HoldReason.UNOBSERVABLE,
                "Nothing is removed while something that the target declares cannot be looked at.",
                verdict.detail,
            )
    return None


def _hold_removal(action: Action, hold: Hold | None) -> Action:
    if hold is None or action.hold or action.operation is not Operation.DELETE:
        return action
    return evolve(action, hold=hold)


def _apply_limit(actions: list[Action], given: PlanInput) -> list[Action]:
    """Hold the class `removals` when the pass would remove more than the limit (design 4.4)."""
    removals = [action for action in actions if action.operation.removes and action.hold is None]
    limit = _limit(removals, given)
    if limit is None or len(removals) <= limit:
        return actions
    hold = Hold(
        HoldReason.LIMIT,
        f"This pass would remove or replace {len(removals)} resources; the limit is {limit}.",
        f"datum apply --allow removals={len(removals)} --expect PLAN_ID, or 'limits: {{allow: {{removals: "
        f"{len(removals)}, from: {_oldest(removals, given)}}}}}' in the fleet",
    )
    return [
        evolve(action, hold=hold) if action.operation.removes and action.hold is None else action for action in actions
    ]


def _limit(removals: list[Action], given: PlanInput) -> int | None:
    limits = given.limits
    if limits.removals is None:
        return None
    raised = [limits.removals]
    if given.allowed_removals is not None:
        raised.append(given.allowed_removals)
    if limits.allowed_removals is not None and limits.allowed_from is not None:
        oldest = _oldest(removals, given)
        if limits.allowed_from.commit == oldest:
            raised.append(limits.allowed_removals)
    return max(raised)


def _oldest(removals: list[Action], given: PlanInput) -> str:
    """Return the commit of the oldest trail revision that declares one of these, else the target's."""
    wanted = {action.resource for action in removals}
    for entry in reversed(given.trail):
        if isinstance(entry, Declaration) and wanted & entry.nodes.keys():
            return entry.revision.commit
    return given.revision.commit
