"""The whole instruction: a total order of actions, and a verdict for every resource that gets none. Pure.

Rules enforced here: equal inputs give an equal plan; order respects every edge, ties broken by id; no action has an
unobservable resource among what it requires; what nothing can provide is `impossible` and never blocks an unrelated
branch; hazards need `allow`, removals stay within the limit, and nothing is removed while something is unobservable.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from datum.model.graph import Node, Target
from datum.model.identity import ResourceId
from datum.model.json import JsonObject, JsonValue, canonical_json, digest
from datum.model.manifest import Hazard
from datum.model.observation import Observation, Unobservable
from datum.model.plan import Action, Hold, HoldReason, Operation, Plan, Step, Verdict, VerdictKind
from datum.planner.decide import BreachError, decide, effects_of, guarded, hazards_of
from datum.planner.inputs import Declaration, PlanInput
from datum.planner.labels import label_of
from datum.planner.orphans import plan_orphans
from datum.provider.contract import AnyProvider, TransactionalProvider

PLAN_FORMAT: Final = 1


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
        # Who provides a target that is not on the host yet.
        self._providers_of: dict[Target, ResourceId] = {}
        self._required: dict[ResourceId, frozenset[ResourceId]] = {}

    def consider(self, origin: ResourceId) -> None:
        """Give one resource its action or verdict."""
        given = self._given
        node = given.graph.nodes[origin]
        provider = given.providers[origin.type]
        observation = given.observed.observations[origin]
        direct = given.graph.requires.get(origin, ())
        self._required[origin] = frozenset(direct).union(*(self._required[target] for target in direct))
        blocker = next((self._blockers[target] for target in direct if target in self._blockers), None)
        if blocker is not None:
            self._blockers[origin] = blocker
        try:
            self._decide(node, observation, provider, blocker)
        except BreachError as error:
            self._refuse(node, error.unobservable)

    def _decide(self, node: Node, observation: Observation, provider: AnyProvider, blocker: ResourceId | None) -> None:
        if isinstance(observation, Unobservable):
            self._refuse(node, observation)
            return
        origin = node.resource.id
        step = decide(node, observation, provider)
        if step is None:
            self.verdicts[origin] = Verdict(VerdictKind.IN_SYNC, location=node.resource.location)
            return
        if blocker is not None:
            self._skip(node, step, blocker)
            return
        self._act(node, observation, step, provider)

    def _act(self, node: Node, observation: Observation, step: Step, provider: AnyProvider) -> None:
        origin = node.resource.id
        known_after: list[ResourceId] = []
        for need in step.needs:
            source = self._providers_of.get(need.target)
            if source is None:
                self._blockers[origin] = origin
                self.verdicts[origin] = Verdict(
                    VerdictKind.IMPOSSIBLE,
                    detail=f"{need.detail} Nothing in this plan provides the {need.target}.",
                    step=step,
                    location=node.resource.location,
                )
                return
            if source in self._blockers:
                self._skip(node, step, self._blockers[source])
                return
            known_after.append(source)
        for effect in effects_of(node, step, provider):
            self._providers_of.setdefault(effect.target, origin)
        hazards = hazards_of(node, step, provider)
        hold = _hold(node, step, hazards, self._given)
        if hold is not None:
            self._blockers[origin] = origin
        self.actions[origin] = Action(
            resource=origin,
            provider=f"{provider.type_name} {provider.version}",
            operation=step.operation,
            changes=step.changes,
            hazards=hazards,
            label=label_of(node, observation, self._given),
            hold=hold,
            known_after=tuple(sorted(set(known_after))),
            requires=self._required[origin] | frozenset(known_after),
            location=node.resource.location,
            step=step,
            transaction=_transaction(node, step, provider),
        )

    def _skip(self, node: Node, step: Step, blocker: ResourceId) -> None:
        self._blockers[node.resource.id] = blocker
        self.verdicts[node.resource.id] = Verdict(
            VerdictKind.SKIPPED,
            blocked_by=blocker,
            detail=f"It requires {blocker}.",
            step=step,
            location=node.resource.location,
        )

    def _refuse(self, node: Node, found: Unobservable) -> None:
        self._blockers[node.resource.id] = node.resource.id
        self.verdicts[node.resource.id] = Verdict(
            VerdictKind.UNOBSERVABLE, detail=found.detail, unobservable=found, location=node.resource.location
        )


def _transaction(node: Node, step: Step, provider: AnyProvider) -> str:
    if not isinstance(provider, TransactionalProvider):
        return ""
    key = guarded(provider, "transaction", lambda: provider.transaction(node.desired, step))
    return f"{provider.type_name}/{key}" if key else ""


def _hold(node: Node, step: Step, hazards: Iterable[Hazard], given: PlanInput) -> Hold | None:
    resource = node.resource
    if resource.audit:
        return Hold(
            HoldReason.AUDIT,
            f"{resource.id} is declared with 'audit: true': drift is reported, not repaired.",
            "remove 'audit' from its declaration",
        )
    protected = resource.protect or any(old.resource.protect for old in given.declarations(resource.id))
    if step.operation.removes and protected:
        return Hold(
            HoldReason.PROTECT,
            f"{resource.id} is declared with 'protect: true' by the target or a revision of the trail.",
            "drop 'protect' in one revision, remove or replace in the next",
        )
    if risks := sorted(hazards):
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


def plan_identity(plan: Plan) -> str:
    """Return `plan_id`: what `apply --expect` compares (design 1.3).

    Labels, holds, timings and observations without an action take no part.
    """
    return digest(canonical_json(identity_object(plan)))


def identity_object(plan: Plan) -> JsonObject:
    """Return the object whose RFC 8785 form `plan_id` is the SHA-256 of."""
    actions: list[JsonValue] = [_identity_action(action) for action in plan.actions]
    return {
        "format": PLAN_FORMAT,
        "revision": plan.revision.key,
        "host": str(plan.host),
        "manifest": plan.manifest_digest,
        "actions": actions,
    }


def _identity_action(action: Action) -> Mapping[str, JsonValue]:
    return {
        "resource": str(action.resource),
        "operation": str(action.operation),
        "hazards": sorted(str(hazard) for hazard in action.hazards),
        "before": {change.name: change.before for change in action.changes},
        "after": {change.name: change.after for change in action.changes},
    }
