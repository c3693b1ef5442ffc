"""The whole instruction: a total order of actions, and a verdict for every resource that gets none. Pure.

Rules enforced here and in the modules beside it: equal inputs give an equal plan; order respects every edge, ties
broken by stage and id; no action has an unobservable resource among what it requires, but a refresh that its service's
own action goes before; what nothing can provide is `impossible` and never blocks an unrelated branch; what a service
lists is marked before it changes; hazards need `allow`, what is paused is held, every class stays within its limit,
and nothing is removed while something is unobservable.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from datum.model.batches import batches_of
from datum.model.identity import ResourceId
from datum.model.plan import Action, Hold, HoldReason, Label, Operation, Plan, Verdict, VerdictKind
from datum.planner.along import tell_going
from datum.planner.draft import Draft
from datum.planner.identity import plan_identity
from datum.planner.inputs import PlanInput
from datum.planner.kept import kept_by
from datum.planner.labels import label_of, label_owed
from datum.planner.limits import apply_limits
from datum.planner.orphans import OrphanPlan, plan_orphans
from datum.planner.pauses import apply_pause
from datum.planner.refreshes import Refreshes
from datum.planner.stale import stale_in
from datum.planner.stopped import Learnt
from datum.provider.contract import SettledProvider


def plan_pass(given: PlanInput) -> Plan:
    """Plan one pass; never fails for what a host or a manifest can be."""
    orphans = plan_orphans(given)
    draft, learnt = _drafted(given, orphans, Learnt())
    hold = _removals_hold(draft.verdicts.values())
    if hold is not None and (given.graph.triggers or draft.stops):
        # Nothing is marked, stopped or refreshed for a removal that waits.
        draft, _ = _drafted(given, orphans, learnt, removals_wait=True)
    arranged = [
        _hold_removal(action, hold)
        for action in _with_stops(
            _arranged(_in_order(draft, given), draft.deletions, _settled(draft, given)),
            draft.stopping.in_order(draft.stops, draft.actions),
        )
    ]
    actions = apply_limits(apply_pause(label_owed(_marked(arranged, draft.owing)), given), given)
    checks = given.graph.checks
    plan = Plan(
        revision=given.revision,
        host=given.host,
        manifest_digest=given.manifest_digest,
        actions=actions,
        verdicts=_without_acting(draft.verdicts, actions),
        orphans=tell_going(orphans.orphans, actions, given),
        checks={key: checks[key] for key in sorted({action.transaction for action in actions}) if key in checks},
        kept=kept_by(given.observed.observations),
        stale=stale_in(given, actions),
    )
    return evolve(plan, plan_id=plan_identity(plan))


def _drafted(
    given: PlanInput, orphans: OrphanPlan, learnt: Learnt, *, removals_wait: bool = False
) -> tuple[Draft, Learnt]:
    """Draft the plan until nothing is learnt of its stops any more: each time more is kept running, so it ends."""
    while True:
        draft = Draft(given, orphans, removals_wait=removals_wait, learnt=learnt)
        for origin in given.graph.order:
            draft.consider(origin)
        stuck = draft.stopping.stuck_in(draft.stops, draft.verdicts)
        if learnt.foreseen is None and draft.stopping.lacking is not None:
            learnt = evolve(learnt, foreseen=draft.stopping.lacking)
        elif stuck:
            learnt = evolve(learnt, kept={**learnt.kept, **stuck})
        else:
            return draft, learnt


def _in_order(draft: Draft, given: PlanInput) -> list[Action]:
    """Return the actions of the graph in its order: the refresh of a service after its own action."""
    if not draft.refreshes:
        return list(draft.actions.values())
    found = ((draft.actions.get(origin), draft.refreshes.get(origin)) for origin in given.graph.order)
    return [action for some in found for action in some if action is not None]


def _without_acting(verdicts: Mapping[ResourceId, Verdict], actions: Iterable[Action]) -> Mapping[ResourceId, Verdict]:
    """Return the verdicts without that of a service which is in sync, and marked or stopped all the same."""
    acting = {action.resource for action in actions if action.operation in {Operation.MARK, Operation.STOP}}
    if not acting:
        return verdicts
    return {
        origin: verdict
        for origin, verdict in verdicts.items()
        if origin not in acting or verdict.kind is not VerdictKind.IN_SYNC
    }


def relabel(plan: Plan, given: PlanInput) -> Plan:
    """Return the plan of an input that differs in `converged` only from the one it was made from.

    What converged last decides labels, and with them what the limits count; nothing else of a plan, and not its id.
    """
    observations = given.observed.observations
    labelled = [
        action
        if action.orphan_of is not None
        else _labelled(action, label_of(given.graph.nodes[action.resource], observations[action.resource], given))
        for action in plan.actions
    ]
    actions = apply_limits(label_owed(labelled), given)
    if not plan.orphans or [action.hold for action in actions] == [action.hold for action in plan.actions]:
        return evolve(plan, actions=actions, stale=stale_in(given, actions))
    return evolve(
        plan,
        actions=actions,
        stale=stale_in(given, actions),
        orphans=tell_going(plan_orphans(given).orphans, actions, given),
    )


def _labelled(action: Action, label: Label) -> Action:
    return action if action.label is label else evolve(action, label=label)


def _settled(draft: Draft, given: PlanInput) -> frozenset[str]:
    """Return the types of deletions that others have to be told of."""
    kinds = {action.resource.type for action in draft.deletions if action.marks}
    return frozenset(kind for kind in kinds if isinstance(given.providers[kind], SettledProvider))


def _arranged(actions: Sequence[Action], deletions: Sequence[Action], settled: frozenset[str]) -> Iterator[Action]:
    """Yield the actions of the graph, and after them the deletions of orphans.

    Deletions on which an action leans, or which a service lists that it starts or refreshes, or that it is stopped for,
    stand before it, or before the transaction that it belongs to. Where such a service lists what others have to be
    told of, as unit files, that goes before any service is refreshed: they are told once.
    """
    waiting = {action.resource: action for action in deletions}
    for group in _groups(actions):
        if waiting:
            needed = _needed(group, waiting, settled)
            yield from [waiting.pop(origin) for origin in list(waiting) if origin in needed]
        yield from group
    yield from waiting.values()


def _needed(
    group: Sequence[Action], waiting: dict[ResourceId, Action], settled: frozenset[str]
) -> frozenset[ResourceId]:
    """Return the deletions that stand before any of these, over any chain."""
    found: set[ResourceId] = set()
    acting = {action.resource for action in group}
    fresh = {origin for origin, one in waiting.items() if not acting.isdisjoint(one.marks.keys() | one.while_stopped)}
    fresh |= {origin for action in group for origin in waiting.keys() & action.requires}
    if any(action.operation.refreshes for action in group):
        fresh |= {origin for origin, deletion in waiting.items() if deletion.marks and origin.type in settled}
    while fresh:
        found |= fresh
        fresh = {origin for one in fresh for origin in waiting.keys() & waiting[one].requires} - found
    return frozenset(found)


def _groups(actions: Iterable[Action]) -> Iterator[Sequence[Action]]:
    """Yield what is done together of a plan without marks."""
    return (batch.group for batch in batches_of(tuple(actions)))


def _with_stops(actions: Iterable[Action], stops: Iterable[Action]) -> Iterator[Action]:
    """Yield the actions, and before the first that it is for, or before its whole transaction, each stop."""
    waiting = {stop.resource: stop for stop in stops}
    for group in _groups(actions):
        needed = {service for action in group if action.hold is None for service in action.while_stopped}
        yield from [waiting.pop(service) for service in list(waiting) if service in needed]
        yield from group


def _marked(actions: Iterable[Action], owing: Refreshes) -> Iterator[Action]:
    """Yield the actions, and before each, or before its whole transaction, the marks of the services that list it.

    A restart for evidence has one of its own service before these: it is owed then.
    """
    for group in _groups(actions):
        owed: dict[ResourceId, list[str]] = {}
        for action in group:
            for service, operation in action.marks.items():
                owed.setdefault(service, []).append(operation)
        yield from (owing.mark_for(action) for action in group if action.stale and action.hold is None)
        yield from (owing.mark(service, owed[service]) for service in sorted(owed))
        yield from group


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
