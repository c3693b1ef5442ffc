"""What is said of a resource that gets no action. Pure."""

from typing import Final

from datum.model.graph import NOTHING, SAFE_FOLDER, Node
from datum.model.identity import ResourceId
from datum.model.observation import Unobservable
from datum.model.plan import Need, Step, Verdict, VerdictKind
from datum.planner.decide import UNMOUNTED

# What would fulfil a need that is no thing to be provided.
_FULFILLED: Final = {UNMOUNTED: "unmounts it", SAFE_FOLDER: "corrects that directory"}


def skipped(node: Node, step: Step, blocker: ResourceId, detail: str = "") -> Verdict:
    """Return the verdict on what another resource keeps from being done; it requires that one, or `detail` says why."""
    return Verdict(
        VerdictKind.SKIPPED,
        blocked_by=blocker,
        detail=detail or f"It requires {blocker}.",
        step=step,
        location=node.resource.location,
    )


def impossible(node: Node, step: Step, need: Need) -> Verdict:
    """Return the verdict on what needs something that nothing before it provides."""
    what = _FULFILLED.get(need.target.kind, f"provides the {need.target}")
    hope = "" if need.target.kind == NOTHING else f" Nothing that comes before it in this plan {what}."
    return Verdict(VerdictKind.IMPOSSIBLE, detail=f"{need.detail}{hope}", step=step, location=node.resource.location)


def unobservable(node: Node, found: Unobservable) -> Verdict:
    """Return the verdict on what cannot be looked at."""
    return Verdict(VerdictKind.UNOBSERVABLE, detail=found.detail, unobservable=found, location=node.resource.location)
