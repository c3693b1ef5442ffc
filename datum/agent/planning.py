"""Observing and planning, as often as one pass needs it: before the first action and after the last.

Effects: reads the host through the reader.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from attrs import evolve, field, frozen

from datum.agent.desired import Wanted
from datum.model.graph import Node
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import LimitClass
from datum.model.observation import Absent, Observation, ObservedState, Present, Unobservable
from datum.model.pause import Pause
from datum.model.plan import Action, Operation, Plan, Replan, VerdictKind
from datum.model.revision import Revision
from datum.observer.observe import Look, excuse, observe_one, observe_state
from datum.planner.ground import find_unreachable
from datum.planner.inputs import Declaration, OrphanSight, PlanInput, Sight, Unresolved
from datum.planner.orphans import find_orphans
from datum.planner.plan import plan_pass, relabel
from datum.planner.replan import replan
from datum.planner.stale import hangs_on_converged
from datum.provider.contract import AnyProvider
from datum.provider.host import FileFacts, HostError, HostReader


@frozen
class Basis:
    """What stays the same for every plan of one pass."""

    wanted: Wanted
    host: HostName
    look: Look
    # Newest first, without the target.
    trail: tuple[Declaration | Unresolved, ...] = ()
    is_retry: bool = False
    # What the last converged revision declared; asked only when there is an action to label.
    converged: Callable[[], Mapping[ResourceId, Node] | None] = field(default=lambda: None)
    # Limits raised for this pass.
    allowed: Mapping[LimitClass, int] = field(factory=dict)
    # As it was found, in force or not, and the moment of the pass: seconds since 1970.
    pause: Pause | None = None
    now: int = 0

    @property
    def providers(self) -> Mapping[str, AnyProvider]:
        """Every type."""
        return self.look.providers


@frozen
class Planned:
    """One plan, and what it was made from."""

    plan: Plan
    given: PlanInput

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it is a function of, sorted: of the target, the trail, and what converged last."""
        given = self.given
        trail = (entry.nodes for entry in given.trail if isinstance(entry, Declaration))
        return tuple(
            sorted({origin.type for nodes in (given.graph.nodes, *trail, given.converged or {}) for origin in nodes})
        )

    @property
    def sickness(self) -> tuple[tuple[str, Unobservable], ...]:
        """Why the pass ends here, if it does."""
        return self.given.observed.sickness


def plan_now(basis: Basis, look: Look | None = None) -> Planned:
    """Observe everything and plan.

    Args:
        basis: of this pass.
        look: another look than the first, for the closing plan.
    """
    seen = look or basis.look
    observed = observe_state(basis.wanted.graph.nodes, seen, known=basis.wanted.known)
    orphans, sickness = observe_orphans(basis, seen, observed.observations)
    given = PlanInput(
        revision=basis.wanted.manifest.revision,
        host=basis.host,
        manifest_digest=basis.wanted.manifest.digest,
        graph=basis.wanted.graph,
        providers=basis.providers,
        observed=observed,
        trail=basis.trail,
        is_retry=basis.is_retry,
        orphans=orphans,
        limits=basis.wanted.manifest.limits,
        allowed=basis.allowed,
        pause=basis.pause,
        now=basis.now,
    )
    planned = plan_given(given, basis.converged)
    if not (observed.sickness or sickness):
        return planned
    observed = excuse(observed, _seen_to(planned))
    observed = evolve(observed, sickness=(*observed.sickness, *sickness))
    return evolve(planned, given=evolve(planned.given, observed=observed))


def _seen_to(planned: Planned) -> frozenset[ResourceId]:
    """Return what could not be looked at, and what the plan knows nevertheless what is to be done with."""
    verdicts = planned.plan.verdicts
    return frozenset(
        origin
        for origin, seen in planned.given.observed.observations.items()
        if isinstance(seen, Unobservable)
        and (origin not in verdicts or verdicts[origin].kind is not VerdictKind.UNOBSERVABLE)
    )


def plan_given(given: PlanInput, converged: Callable[[], Mapping[ResourceId, Node] | None]) -> Planned:
    """Plan from an input; what converged last is resolved only when there is an action to label, or it decides one."""
    if hangs_on_converged(given):
        given = evolve(given, converged=converged())
        return Planned(plan_pass(given), given)
    plan = plan_pass(given)
    if plan.actions:
        given = evolve(given, converged=converged())
        plan = relabel(plan, given)
    return Planned(plan, given)


def without_history(planned: Planned, trail: frozenset[Revision]) -> Plan:
    """Plan again from what was observed, without what git says of the time before the trail.

    Args:
        planned: with `Request.has_history`.
        trail: the revisions of the pointer's trail.
    """
    given = planned.given
    entries = tuple(entry for entry in given.trail if entry.revision in trail)
    known = find_orphans(given.graph, entries)
    sights = {
        origin: evolve(sight, sights=tuple(seen for seen in sight.sights if seen.revision in trail))
        for origin, sight in given.orphans.items()
        if origin in known
    }
    return plan_pass(evolve(given, trail=entries, orphans=sights))


def observe_orphans(
    basis: Basis, look: Look, observations: Mapping[ResourceId, Observation]
) -> tuple[Mapping[ResourceId, OrphanSight], tuple[tuple[str, Unobservable], ...]]:
    """Look at everything that the trail declares and the target does not, in the terms of each declaration.

    Args:
        basis: of this pass.
        look: by which means.
        observations: of what the target declares: below a file or link of it there is nothing.

    Returns:
        What is known of each, and what says that the host is sick.
    """
    declared = find_orphans(basis.wanted.graph, basis.trail)
    by_revision: dict[Revision, dict[ResourceId, Node]] = {}
    for origin, sayings in declared.items():
        for revision, node in sayings:
            if origin.type in look.providers:
                by_revision.setdefault(revision, {})[origin] = node
    removal = evolve(look, expect=type(look.expect)(), is_removal=True)
    states = {
        revision: observe_state(nodes, removal, known=_hidden(nodes, basis, observations))
        for revision, nodes in by_revision.items()
    }
    sights = {origin: _sight(origin, sayings, states, look.reader) for origin, sayings in declared.items()}
    return sights, tuple(dict.fromkeys(found for state in states.values() for found in state.sickness))


def _hidden(
    nodes: Mapping[ResourceId, Node], basis: Basis, observations: Mapping[ResourceId, Observation]
) -> Mapping[ResourceId, Observation]:
    hidden = find_unreachable(nodes, basis.wanted.graph, observations, basis.providers)
    return dict.fromkeys(hidden, Absent())


def _sight(
    origin: ResourceId,
    sayings: tuple[tuple[Revision, Node], ...],
    states: Mapping[Revision, ObservedState],
    reader: HostReader,
) -> OrphanSight:
    sights = tuple(
        Sight(revision, node, states[revision].observations[origin])
        for revision, node in sayings
        if revision in states and origin in states[revision].observations
    )
    if not sights:
        return OrphanSight(())
    package, unknown = None, ""
    if isinstance(sights[0].observation, Present):
        try:
            package = package_of(sights[0].node, reader)
        except HostError as error:
            unknown = error.detail
    return OrphanSight(sights, package, unknown)


def package_of(node: Node, reader: HostReader) -> str | None:
    """Return the package that owns one of a resource's paths.

    Raises:
        HostError: the package database cannot be read.
    """
    for target in node.targets:
        if target.kind == "path" and (package := reader.package_of(target.key)) is not None:
            return package
    return None


def owners_of(node: Node, reader: HostReader) -> frozenset[str]:
    """Return the names of the users who own what stands at a resource's paths.

    Raises:
        HostError: one of them cannot be looked at.
    """
    seen = [reader.examine(target.key) for target in node.targets if target.kind == "path"]
    return frozenset(reader.user_name(facts.uid) for facts in seen if isinstance(facts, FileFacts))


@frozen
class Turn:
    """What the reconciler asks when an action's turn has come."""

    planned: Planned
    look: Look

    def node_of(self, action: Action) -> Node:
        """Return the declaration behind an action."""
        if action.orphan_of is None:
            return self.planned.given.graph.nodes[action.resource]
        return self.planned.given.orphans[action.resource].sights[0].node

    def observe(self, action: Action) -> Observation:
        """Look at one resource again."""
        look = self.look if action.orphan_of is None else evolve(self.look, is_removal=True)
        return observe_one(action.resource, self.node_of(action), look)

    def replan(
        self,
        action: Action,
        observation: Observation,
        staged: frozenset[ResourceId] = frozenset(),
        *,
        is_done: bool = False,
    ) -> Replan:
        """Return the planner's word on one action and what is there now.

        Args:
            action: as planned.
            observation: what is there now.
            staged: resources whose candidates are put in place together with this one.
            is_done: whether it was done, see `replan`.
        """
        node = self.node_of(action)
        given = self.planned.given
        if not staged and not is_done and self._is_as_planned(action, observation):
            return Replan(step=action.step)
        package, owners = None, frozenset[str]()
        if isinstance(observation, Present) and action.operation is Operation.CREATE and not is_done:
            # When it is not known whether a package owns what is there, or who does, nobody vouches for it.
            with suppress(HostError):
                package = package_of(node, self.look.reader)
            if action.along:
                with suppress(HostError):
                    owners = owners_of(node, self.look.reader)
        return replan(
            action,
            node,
            observation,
            providers=given.providers,
            older=given.declarations(action.resource),
            package=package,
            owners=owners,
            provided=frozenset(target for origin in staged for target in given.graph.nodes[origin].targets),
            is_done=is_done,
        )

    def _is_as_planned(self, action: Action, observation: Observation) -> bool:
        """Whether a create, still of nothing, is asked about what it was planned from: the answer would be the same.

        What rests on other actions was planned from more than its own observation.
        """
        if action.operation is not Operation.CREATE or not isinstance(observation, Absent) or action.starts_again:
            return False
        if action.known_after or action.hoped or action.takes or action.step.needs:
            return False
        before = self.planned.given.observed.observations[action.resource]
        return isinstance(before, Absent) and (observation, observation.unsafe) == (before, before.unsafe)
