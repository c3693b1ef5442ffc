"""What may bring the unit of a service that is not there, and start it at once: a package (ADR 0034). Pure."""

from collections.abc import Container

from datum.model.identity import ResourceId
from datum.planner.inputs import PlanInput
from datum.planner.makers import Makers
from datum.provider.contract import StagedProvider


def may_start(origin: ResourceId, given: PlanInput) -> bool:
    """Whether what a service waits for may start it: not what only writes files, as its unit file."""
    return not isinstance(given.providers[origin.type], StagedProvider)


def bringers_of(
    service: ResourceId, makers: Makers, given: PlanInput, stuck: Container[ResourceId], *, is_known: bool
) -> tuple[ResourceId, ...]:
    """Return what may bring and start a service that is not there, the likeliest first.

    Args:
        service: what is not there.
        makers: of the plan so far.
        given: what the plan is made from.
        stuck: what is not done.
        is_known: whether its own action says what it waits for. Then it is only what it comes after: any package may
            bring any unit, and its unit file, which is likelier, may be declared as well.
    """
    found = [maker for maker in makers.of_unit(service) if maker not in stuck and may_start(maker, given)]
    earlier = makers.before(service) if found and is_known else frozenset(found)
    return tuple(maker for maker in found if maker in earlier)
