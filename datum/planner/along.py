"""Orphans that no rule removes, and that go all the same with what the plan replaces or takes along. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve

from datum.model.graph import Target
from datum.model.plan import Action, Orphan, OrphanState
from datum.planner.inputs import PlanInput
from datum.planner.orphans import TAKEN_OVER
from datum.planner.removals import names_of, removed_with
from datum.provider.paths import parents

TAKEN_ALONG: Final = "taken_along"
"""The rule on what goes along with something that the target clears, deletes or replaces."""


def tell_going(orphans: tuple[Orphan, ...], actions: Sequence[Action], given: PlanInput) -> tuple[Orphan, ...]:
    """Return the words on orphans, where what is kept by its own rules does not stay.

    What the target says of a place is stronger than what an older revision said of a thing in it: where the plan
    replaces what is there, or clears the directory around it, and nothing holds that, it is not said to be kept.
    """
    doing = [action for action in actions if action.hold is None and action.orphan_of is None]
    takers = {name: action for action in doing for name in action.takes}
    for action in doing:
        if action.operation.removes:
            takers.update((name, action) for name in removed_with(given.graph.nodes[action.resource]))
    return tuple(_told(orphan, given, takers) for orphan in orphans) if takers else orphans


def _told(orphan: Orphan, given: PlanInput, takers: Mapping[str, Action]) -> Orphan:
    if orphan.state is not OrphanState.KEPT:
        return orphan
    targets = given.orphans[orphan.resource].sights[0].node.targets
    # What it shares stays for the others; what has nothing of its own goes with that.
    own = [target for target in targets if not target.shared] or targets
    found = [_taker_of(target, takers) for target in own]
    taker = next(iter(found), None)
    if taker is None or None in found:
        return orphan
    if orphan.rule == TAKEN_OVER:
        detail = f"{taker.resource}, which the target declares, takes its place."
        return evolve(orphan, state=OrphanState.REMOVE, detail=detail)
    detail = (
        f"The {taker.operation} of {taker.resource}, which the target declares, takes it along. By its own rules it "
        f"would be kept: {orphan.detail}"
    )
    return evolve(orphan, state=OrphanState.REMOVE, rule=TAKEN_ALONG, detail=detail, release="")


def _taker_of(target: Target, takers: Mapping[str, Action]) -> Action | None:
    above = parents(target.key) if target.kind == "path" else ()
    return next((takers[name] for name in (*names_of((target,)), *above) if name in takers), None)
