"""What holds an action whatever the others are: audit, protection, hazards that nobody allowed (design 4.4). Pure."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from datum.model.graph import Node
from datum.model.identity import ResourceId
from datum.model.manifest import Hazard
from datum.model.plan import Hold, HoldReason, Step
from datum.planner.decide import is_protected, unallowed
from datum.planner.inputs import Declaration, PlanInput
from datum.planner.removals import names_of, removed_with


class Holds:
    """What the declarations of target and trail hold."""

    def __init__(self, given: PlanInput) -> None:
        """Begin with all that the plan is made from."""
        self._given = given

    def of(self, node: Node, step: Step, hazards: frozenset[Hazard]) -> Hold | None:
        """Return what holds a step of a resource that risks this; None where nothing does."""
        resource = node.resource
        older = self._given.declarations(resource.id)
        if resource.audit:
            return Hold(
                HoldReason.AUDIT,
                f"{resource.id} is declared with 'audit: true': drift is reported, not repaired.",
                "remove 'audit' from its declaration",
            )
        if (step.removes or hazards) and is_protected(node, older):
            return Hold(
                HoldReason.PROTECT,
                f"{resource.id} is declared with 'protect: true' by the target or a revision of the trail.",
                f"drop 'protect' in one revision, {step.operation} in the next",
            )
        if kept := self._protected_of(_removed(node, step)):
            return Hold(
                HoldReason.PROTECT,
                f"It would take along {kept}, which a revision of the trail declares with 'protect: true'.",
                f"declare {kept} again, or remove it by hand",
            )
        if risks := sorted(unallowed(node, hazards, older)):
            return Hold(
                HoldReason.HAZARD,
                f"This {step.operation} risks {', '.join(risks)}.",
                f"add 'allow: [{', '.join(risks)}]' to {resource.id} ({resource.location})",
            )
        return None

    def _protected_of(self, takes: Iterable[str]) -> ResourceId | None:
        return next((self._protected[name] for name in takes if name in self._protected), None)

    @cached_property
    def _protected(self) -> Mapping[str, ResourceId]:
        """What an older revision protects, by name; asked only where something is taken along."""
        declarations = [entry for entry in self._given.trail if isinstance(entry, Declaration)]
        nodes = [node for entry in declarations for node in entry.nodes.values() if node.resource.protect]
        return {name: node.resource.id for node in nodes for name in names_of(node.targets)}


def _removed(node: Node, step: Step) -> Iterable[str]:
    """Yield what goes: what is taken along, and the own things where what stands there is removed."""
    return (*removed_with(node), *step.takes) if step.removes else step.takes
