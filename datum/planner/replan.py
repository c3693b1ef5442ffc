"""One action whose turn has come, planned again against what is there now (design 1.4). Pure.

A mark and a refresh look at what the service owes now, every other action at everything else. Equal to what was
planned: done as planned. Nothing left to do: `already`. Anything else may only be as weak as the planned step, or
weaker, add no hazard and take nothing along that the planned one does not; otherwise it is held, since nobody saw a
plan that says it.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve

from datum.model.graph import SAFE_FOLDER, Node, Target
from datum.model.manifest import Hazard
from datum.model.observation import Absent, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import (
    ATTRIBUTES,
    LOADED,
    OWES,
    READ_BY_NOBODY,
    Action,
    Change,
    Hold,
    HoldReason,
    Need,
    Operation,
    Replan,
    Step,
)
from datum.planner.anew import foreseen_absent
from datum.planner.decide import BreachError, decide, deletion, equals, hazards_of, sweep, unallowed
from datum.planner.owes import AnyRefreshed, mark_step, marked_by, owed_in, refresh_step, runs, starts
from datum.planner.stopped import counts, stop_hazards, stop_step, unknown_in
from datum.provider.contract import AnyProvider, RefreshedProvider


def replan(  # noqa: PLR0913  # named parts of one question, those after the first three with a default or by name
    action: Action,
    node: Node,
    observation: Observation,
    *,
    providers: Mapping[str, AnyProvider],
    older: tuple[Node, ...] = (),
    package: str | None = None,
    owners: frozenset[str] = frozenset(),
    provided: frozenset[Target] = frozenset(),
    is_done: bool = False,
) -> Replan:
    """Plan one action again.

    Args:
        action: as planned.
        node: its resource; for an orphan the declaration of the older revision.
        observation: what is there now.
        providers: every type.
        older: what the trail declared under this id.
        package: the package that owns what is there, if one does.
        owners: the users who own what is there, where that may have come along with its directory.
        provided: targets of what is staged together with it: there, or gone, as soon as it is.
        is_done: whether it was done and is looked at once more: what is left is told, whatever rank that has and
            whatever it would risk. What it would take along besides, and what it lacks, is told as a hold all the same.
    """
    folders = {target.key for target in provided if target.kind == "path" and not target.leaf}
    observation = foreseen_absent(node, observation, folders) or observation
    if isinstance(observation, Unobservable):
        return Replan(hold=_changed(action, f"it cannot be looked at any more: {observation.detail}"))
    if action.operation is Operation.DELETE:
        return _replan_deletion(action, observation, provided)
    provider = providers[action.resource.type]
    try:
        step, unknown = _step(action, node, observation, provider)
        if unknown is not None:
            what = "whether it runs" if action.operation is Operation.STOP else "what it owes"
            return Replan(hold=_changed(action, f"{what} cannot be looked at any more: {unknown.detail}"))
        if step is None:
            return Replan()
        hazards = frozenset[Hazard]() if is_done else _hazards(node, step, provider)
        is_found = action.operation is Operation.CREATE and isinstance(observation, Present) and not is_done
        is_made = _keeps_all(step) or _came_along(action, owners)
        if is_found and not is_made and not _is_nobodys(observation, provider, older, package):
            hazards |= {Hazard.DATA_LOSS}
        if not is_done and (unasked := _unasked(action, node, observation, step, provider)):
            return Replan(hold=_changed(action, unasked))
    except BreachError as error:
        return Replan(hold=_changed(action, error.unobservable.detail), is_breach=True)
    rank = Operation.REPLACE.rank if is_done else action.operation.rank
    return _compare(action, _without(step, provided), unallowed(node, hazards - action.hazards, older), rank)


def _hazards(node: Node, step: Step, provider: AnyProvider) -> frozenset[Hazard]:
    """Return what a step risks: a mark nothing, a stop no outage where it is taken back.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if step.operation is Operation.MARK:
        return frozenset()
    return (stop_hazards if step.operation is Operation.STOP else hazards_of)(node, step, provider)


def _keeps_all(step: Step) -> bool:
    """Whether the step leaves what is there as it is but for rights: the mount point that a mount has made."""
    return step.operation is Operation.UPDATE and all(change.name in ATTRIBUTES for change in step.changes)


def _came_along(action: Action, owners: frozenset[str]) -> bool:
    """Whether what is found was made by this pass: with its directory, by whom that brings things along.

    A home comes with the files of its skeleton, and a package with what its script writes.
    """
    return bool(owners) and owners <= action.along


def _unasked(action: Action, node: Node, observed: Present | Absent, step: Step, provider: AnyProvider) -> str:
    """Return why a step does more than what others were marked or stopped for; empty where it does not.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if action.unmarked and _is_read(node, observed, step, provider):
        return f"{min(action.unmarked)} lists it, and is not marked for what changed"
    if action.unstopped and counts(step):
        return f"it changes only while {min(action.unstopped)} is stopped, and no stop of that is planned"
    return ""


def _is_read(node: Node, observed: Present | Absent, step: Step, provider: AnyProvider) -> bool:
    """Whether a step changes what a service that lists the resource may have read.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if isinstance(provider, RefreshedProvider):
        return starts(node, step, observed, provider)
    is_repair = all(change.sweeps or change.name in READ_BY_NOBODY for change in step.changes)
    return step.operation is not Operation.UPDATE or not is_repair


def _is_nobodys(observation: Observation, provider: AnyProvider, older: Iterable[Node], package: str | None) -> bool:
    """Whether nothing is lost where something stands that was not there: what runs holds nothing that could be.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    if package is not None or isinstance(provider, RefreshedProvider):
        return True
    return any(equals(old, observation, provider) for old in older)


def _step(
    action: Action, node: Node, observed: Present | Absent, provider: AnyProvider
) -> tuple[Step | None, Unobservable | None]:
    """Return what is left to do; why that is not known.

    What a mark, a refresh or a stop was planned as tells it apart, whatever the action may become.

    Raises:
        BreachError: the provider raised or broke its contract.
    """
    planned = action.step
    if action.operation is Operation.STOP:
        unknown = unknown_in(observed)
        return (None, unknown) if unknown is not None else (stop_step(node, observed, provider), None)
    if planned.operation is Operation.MARK and action.stale and not _is_stale(action, observed):
        # It was started meanwhile, or what was evidence is owed by now.
        return None, None
    if not (planned.operation is Operation.MARK or planned.operation.refreshes):
        return decide(node, observed, provider), None
    assert isinstance(provider, RefreshedProvider)  # noqa: S101  # nothing else is marked or refreshed
    owes = owed_in(observed, provider)
    if isinstance(owes, Unobservable):
        return None, owes
    if planned.operation.refreshes:
        return refresh_step(node, observed, provider), None
    return (None, None) if isinstance(owes, NotApplicable) else (_mark(planned, node, observed, provider, owes), None)


def _is_stale(action: Action, observed: Present | Absent) -> bool:
    """Whether there still is evidence of what a mark was planned for, and a restart would settle it."""
    planned = {one.resource for one in action.stale}
    return isinstance(observed, Present) and any(one.resource in planned and not one.is_ahead for one in observed.stale)


def _mark(
    planned: Step, node: Node, observed: Present | Absent, provider: AnyRefreshed, owes: str | None
) -> Step | None:
    """Return the mark that is missing: what does not run owes nothing, and a stronger mark is one too."""
    if isinstance(observed, Absent) or not runs(node, observed.fields, provider):
        return None
    step = mark_step(owes, marked_by(planned))
    return step if marked_by(step) != owes else None


def _without(step: Step, provided: frozenset[Target]) -> Step:
    """Return the step without what candidates of its set see to: what they provide, and what they remove."""
    if not provided:
        return step
    paths = {target.key for target in provided if target.kind == "path"}
    return evolve(
        step,
        needs=tuple(need for need in step.needs if need.target not in provided and not _is_corrected(need, paths)),
        takes=tuple(path for path in step.takes if path not in paths),
    )


def _is_corrected(need: Need, paths: set[str]) -> bool:
    """Whether what is unsafe on the way is staged together with the action, as it shall be."""
    return need.target.kind == SAFE_FOLDER and need.target.key in paths


def _replan_deletion(action: Action, observation: Present | Absent, provided: frozenset[Target]) -> Replan:
    """A delete is never planned again: what is there must be what was to be deleted, or a leftover beside it."""
    if isinstance(observation, Absent):
        left = sweep(observation)
        return _compare(action, left, frozenset(), action.operation.rank) if left is not None else Replan()
    step = _without(deletion(observation), provided)
    if _own(step.changes) != _own(action.changes):
        return Replan(hold=_changed(action, "what is there is not what was to be deleted"))
    return _compare(action, evolve(step, changes=action.changes), frozenset(), action.operation.rank)


def _own(changes: Iterable[Change]) -> list[Change]:
    """Return what is said of the thing itself, without what actions on others make of it: a mark, a stale unit."""
    return [change for change in changes if change.name not in {OWES, LOADED}]


def _compare(action: Action, step: Step, added: frozenset[Hazard], rank: int) -> Replan:
    """Compare a step with what was planned; `rank` is that of the most that it may be."""
    if step.operation.rank > rank:
        return Replan(hold=_changed(action, f"it would now take a {step.operation}, not a {action.operation}"))
    if added:
        return Replan(hold=_changed(action, f"it would now risk {', '.join(sorted(added))}"))
    if grown := sorted(set(step.takes).difference(action.takes)):
        return Replan(hold=_changed(action, f"it would now take along {grown[0]}"))
    if step.needs:
        return _lacking(action, step.needs[0])
    now = (step.operation, step.changes, step.takes)
    return Replan(step, differs=now != (action.operation, action.changes, action.takes))


def _lacking(action: Action, need: Need) -> Replan:
    """Say what is not there: gone since it was planned, or never brought by what was to bring it."""
    maker = action.hoped.get(need.target)
    if maker is None:
        return Replan(hold=_changed(action, need.detail))
    detail = f"{need.detail} {maker} was to bring the {need.target}, and did not."
    release = f"see what {maker} brings and correct the name, or declare what does bring it"
    return Replan(hold=Hold(HoldReason.CHANGED_UNDER_US, detail, release), is_impossible=True)


def _changed(action: Action, what: str) -> Hold:
    return Hold(
        HoldReason.CHANGED_UNDER_US,
        f"{action.resource} changed after it was planned: {what.removesuffix('.')}.",
        "the next pass plans it anew",
    )
