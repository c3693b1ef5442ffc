"""The whole instruction: a total order of actions, and a verdict for every resource that gets none. Pure.

Rules enforced here and in the modules beside it: equal inputs give an equal plan; order respects every edge, ties
broken by id; no action has an unobservable resource among what it requires; what nothing can provide is `impossible`
and never blocks an unrelated branch; hazards need `allow`, every class stays within its limit, and nothing is removed
while something is unobservable.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from datum.model.identity import ResourceId
from datum.model.plan import Action, Hold, HoldReason, Operation, Plan, Verdict, VerdictKind
from datum.planner.along import tell_going
from datum.planner.draft import Draft
from datum.planner.identity import plan_identity
from datum.planner.inputs import PlanInput
from datum.planner.kept import kept_by
from datum.planner.labels import label_of
from datum.planner.limits import apply_limits
from datum.planner.orphans import plan_orphans


def plan_pass(given: PlanInput) -> Plan:
    """Plan one pass; never fails for what a host or a manifest can be."""
    orphans = plan_orphans(given)
    draft = Draft(given, orphans)
    for origin in given.graph.order:
        draft.consider(origin)
    hold = _removals_hold(draft.verdicts.values())
    arranged = [_hold_removal(action, hold) for action in _arranged(list(draft.actions.values()), orphans.actions)]
    actions = apply_limits(arranged, given)
    checks = given.graph.checks
    plan = Plan(
        revision=given.revision,
        host=given.host,
        manifest_digest=given.manifest_digest,
        actions=actions,
        verdicts=draft.verdicts,
        orphans=tell_going(orphans.orphans, actions, given),
        checks={key: checks[key] for key in sorted({action.transaction for action in actions}) if key in checks},
        kept=kept_by(given.observed.observations),
    )
    return evolve(plan, plan_id=plan_identity(plan))


def relabel(plan: Plan, given: PlanInput) -> Plan:
    """Return the plan of an input that differs in `converged` only from the one it was made from.

    What converged last decides labels, and with them what the limits count; nothing else of a plan, and not its id.
    """
    observations = given.observed.observations
    labelled = [
        action
        if action.orphan_of is not None
        else evolve(action, label=label_of(given.graph.nodes[action.resource], observations[action.resource], given))
        for action in plan.actions
    ]
    actions = apply_limits(labelled, given)
    if not plan.orphans or [action.hold for action in actions] == [action.hold for action in plan.actions]:
        return evolve(plan, actions=actions)
    return evolve(plan, actions=actions, orphans=tell_going(plan_orphans(given).orphans, actions, given))


def _arranged(actions: Sequence[Action], deletions: Sequence[Action]) -> Iterator[Action]:
    """Yield the actions of the graph, and after them the deletions of orphans.

    Deletions on which an action leans stand before it, or before the transaction that it belongs to.
    """
    waiting = {action.resource: action for action in deletions}
    for group in _transactions(actions):
        if waiting:
            needed = _needed(group, waiting)
            yield from [waiting.pop(origin) for origin in list(waiting) if origin in needed]
        yield from group
    yield from waiting.values()


def _needed(group: Sequence[Action], waiting: dict[ResourceId, Action]) -> frozenset[ResourceId]:
    """Return the deletions that any of these leans on, over any chain."""
    found: set[ResourceId] = set()
    fresh = {origin for action in group for origin in waiting.keys() & action.requires}
    while fresh:
        found |= fresh
        fresh = {origin for one in fresh for origin in waiting.keys() & waiting[one].requires} - found
    return frozenset(found)


def _transactions(actions: Iterable[Action]) -> list[list[Action]]:
    groups: list[list[Action]] = []
    for action in actions:
        if groups and action.transaction and groups[-1][0].transaction == action.transaction:
            groups[-1].append(action)
        else:
            groups.append([action])
    return groups


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
    is_removal = action.operation is Operation.DELETE or action.takes
    if hold is None or action.hold or not is_removal:
        return action
    return evolve(action, hold=hold)
