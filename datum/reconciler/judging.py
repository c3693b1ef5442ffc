"""Checks that judge the host as it is, before a unit is started or refreshed (design 4.2).

Effects: child processes, through a staging writer that stages nothing.
"""

from contextlib import suppress

from attrs import evolve, frozen

from datum.model.identity import ResourceId
from datum.provider.host import HostError
from datum.reconciler.means import Staging
from datum.reconciler.work import Failure, Ready, Work


@frozen
class Judgement:
    """What the checks say of the host as it is."""

    # What one of them refuses.
    failure: Failure | None = None
    remarks: tuple[str, ...] = ()
    # Those that passed, in their order.
    passed: tuple[ResourceId, ...] = ()


def judge_as_it_is(work: Work, ready: Ready) -> Judgement:
    """Run the checks that guard an action."""
    guards = ready.action.guards
    if not guards:
        return Judgement()
    order = tuple(check.resource for check in guards)
    writer = work.means.staging()
    patience = sum(check.timeout for check in guards) + work.means.providers[ready.action.resource.type].apply_deadline
    try:
        failure = work.attempt(ready.action, lambda: writer.judge(guards), patience)
    finally:
        discard(writer)
    remarks = tuple(writer.remarks)
    if failure is None:
        return Judgement(remarks=remarks, passed=order)
    check = next((one for one in guards if one.resource == failure.refused_by), None)
    if check is None:
        return Judgement(failure, remarks)
    found = evolve(failure.found, resource=str(check.resource), location=check.location)
    return Judgement(evolve(failure, found=found), remarks, order[: order.index(check.resource)])


def discard(writer: Staging) -> bool:
    """Remove what was prepared; what cannot be removed is a leftover that the next pass sees.

    Returns:
        Whether nothing is left of it.
    """
    with suppress(HostError):
        writer.discard()
        return True
    return False
