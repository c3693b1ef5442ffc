"""Carry out one step on one link. Changes the host."""

from datum.model.plan import Operation, Step
from datum.model.result import FailureCause
from datum.provider.host import HostError, HostWriter, LinkWrite, Missing
from datum_providers.link.desired import DesiredLink
from datum_providers.shared.kinds import remove_whatever


def apply_link(writer: HostWriter, desired: DesiredLink, step: Step) -> None:
    """Do the step: what it does not change is left as it is, except where the link is made.

    Raises:
        HostError: it failed.
    """
    if step.operation is Operation.DELETE:
        remove_whatever(writer, desired.path, step)
        return
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        writer.remove_residue(desired.path)
    if step.operation is not Operation.UPDATE:
        uid, gid = desired.owners.ids(writer)
        takes = step.takes if step.operation is Operation.REPLACE else None
        writer.write_link(desired.path, LinkWrite(_target(desired), uid, gid, takes))
    elif "target" in changed:
        _point(writer, desired, changed)
    elif changed & {"owner", "group"}:
        uid, gid = desired.owners.only(changed).ids(writer)
        writer.set_attributes(desired.path, uid=uid, gid=gid)


def _point(writer: HostWriter, desired: DesiredLink, changed: set[str]) -> None:
    """Point the link elsewhere; it is another link then, and belongs to whom the old one did."""
    uid, gid = desired.owners.only(changed).ids(writer)
    old = writer.examine(desired.path)
    if not isinstance(old, Missing):
        uid = old.uid if uid is None else uid
        gid = old.gid if gid is None else gid
    writer.write_link(desired.path, LinkWrite(_target(desired), uid, gid))


def _target(desired: DesiredLink) -> str:
    if desired.target is None:
        raise HostError(f"No target is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    return desired.target
